"""The desk's database: lists, searches, secret links."""
