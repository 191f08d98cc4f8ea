"""Data from a wiki: annotation of dumps, and a client of MediaWiki."""
