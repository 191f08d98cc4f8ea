"""The store: saved requests, owners, sessions, administration, backups."""
