"""A short flood: those who behave are answered meanwhile. `make flood` runs a longer one and measures times."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from tests.robustness.flood import flood, small_collection


def test_a_flood_of_expensive_requests_leaves_the_rest_working(tmp_path: Path) -> None:
    state = flood(small_collection(tmp_path), tmp_path, seconds=6.0, n_connections=80, n_workers=2)
    assert state.failures == []
    assert all(len(seconds) >= 3 for seconds in state.seconds.values())
    assert set(state.statuses) <= {200, 201, 303, 400, 429, 503}
    assert max(state.memory) < 600
