"""The store: lists, searches, owners, sessions, backups."""
