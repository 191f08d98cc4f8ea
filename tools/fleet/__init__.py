"""Servers for trying and testing distributed operation on one machine: OpenSearch, Spark and PostgreSQL on loopback."""
