"""Servers that tests of engines start are stopped when the tests have ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _stopped_afterwards() -> Iterator[None]:
    """Stop the nodes of OpenSearch that did not run before."""
    from tools.fleet import opensearch

    was_running = any(node.pid() is not None for node in opensearch.NODES)
    yield
    if not was_running and any(node.pid() is not None for node in opensearch.NODES):
        opensearch.stop()
