"""The three OpenSearch nodes of the tests, started once in a session where Maven and Java are to be had."""

from __future__ import annotations

import os
import shutil

import pytest


def opensearch_address() -> str:
    """The address of a running cluster; skips where it cannot be started, except where all servers are required."""
    pytest.importorskip("opensearchpy", reason="the extra 'fleet' is not installed")
    from tools.fleet import opensearch
    from tools.fleet.processes import FleetError

    if shutil.which("mvn") is None and "CI" not in os.environ:
        pytest.skip("needs Maven to fetch OpenSearch: apt-get install maven")
    try:
        return opensearch.start()
    except FleetError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(f"OpenSearch could not be started: {error}")
