"""Lists as files and on pages of a wiki."""
