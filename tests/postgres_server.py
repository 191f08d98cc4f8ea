"""A real PostgreSQL for tests: one server for a test session, tables that no other test has touched for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tools.fleet.postgres import PostgresServer, temporary_server
from tools.fleet.processes import FleetError


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server of its own; skips the test where PostgreSQL or its client is not installed."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    try:
        with temporary_server() as server:
            yield server
    except FleetError as error:
        pytest.skip(str(error))


def remove_tables(server: PostgresServer) -> None:
    """Leave the database as it was made."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        for name in ("evenrank_desk", "evenrank_judgments"):
            connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
