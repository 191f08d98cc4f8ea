"""Stores in SQLite files or in PostgreSQL, with the same SQL and the same promises."""
