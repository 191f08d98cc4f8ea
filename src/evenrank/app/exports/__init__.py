"""Lists as files: one format per file."""
