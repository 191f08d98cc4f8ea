"""Collections of the TREC Fair Ranking Track: import, protocols of each year, pooling and judgments."""
