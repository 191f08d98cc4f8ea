"""Files in and out; errors name file and line."""
