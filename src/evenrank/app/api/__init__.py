"""The JSON interface for bots, described by OpenAPI."""
