"""Page metadata from Wikipedia and Wikidata dumps."""
