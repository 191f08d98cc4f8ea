"""Search: engines, queries, text encoders and relevance models."""
