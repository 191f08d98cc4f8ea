"""Servers that exchange what they counted through a table of PostgreSQL: a row per server, replaced when it is newer.

connection = psycopg.connect(…, autocommit=True)
create_table(connection)
exchange(connection, stream)        # every few seconds, on every server
"""

from __future__ import annotations

from typing import Any

import evenrank

TABLE = """
CREATE TABLE IF NOT EXISTS stream_sums (server text PRIMARY KEY, version bigint NOT NULL, state bytea NOT NULL)
"""
PUSH = """
INSERT INTO stream_sums (server, version, state) VALUES (%s, %s, %s)
ON CONFLICT (server) DO UPDATE SET version = excluded.version, state = excluded.state
WHERE stream_sums.version < excluded.version
"""
PULL = "SELECT state FROM stream_sums WHERE server <> %s"


def create_table(connection: Any) -> None:
    """Make the table where it is missing."""
    connection.execute(TABLE)


def exchange(connection: Any, stream: evenrank.Stream) -> None:
    """Store what this server has counted, and take over what the others have."""
    state = stream.state.only(stream.server)
    connection.execute(PUSH, (stream.server, state.servers[stream.server].version, state.to_bytes()))
    for (other,) in connection.execute(PULL, (stream.server,)).fetchall():
        stream.absorb(bytes(other))
