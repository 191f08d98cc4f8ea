"""Fairness of pairs: AWRF row by row, and pairs in parts as all together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenrank
from evenrank.measures.awrf import awrf, awrf_rows


@given(st.lists(st.lists(st.floats(0, 10), min_size=4, max_size=4), min_size=1, max_size=5))
def test_rows_of_awrf_are_the_track_s_awrf(rows: list[list[float]]) -> None:
    target = np.array([0.1, 0.2, 0.3, 0.4])
    for row, found in zip(rows, awrf_rows(np.array(rows), np.tile(target, (len(rows), 1))), strict=True):
        exposure = np.array(row)
        assert found == pytest.approx(awrf(exposure, target) if exposure.sum() > 0 else 0.5, abs=1e-9)


@pytest.mark.parametrize("target", ["relevant", "equal", "population", "by query"])
@pytest.mark.parametrize("n_groupings", [1, 2])
def test_pairs_are_scored_in_parts_as_together(monkeypatch: pytest.MonkeyPatch, target: str, n_groupings: int) -> None:
    rng = np.random.default_rng(3)
    systems = {name: {f"q{q}": [f"i{i}" for i in rng.permutation(12)[:7]] for q in range(9)} for name in ("one", "two")}
    groupings = {
        "size": {f"i{i}": {"x": 0.5, "z": 0.25} if i == 4 else "xyz"[i % 3] for i in range(11)},
        "age": {f"i{i}": ("old", "new")[i % 2] for i in range(12)},
    }
    groups = groupings if n_groupings == 2 else groupings["size"]
    relevance = {f"q{q}": {f"i{i}": int(rng.integers(1, 4)) for i in range(q, 12, 2)} for q in range(1, 9)}
    shares: Any = {"x": 1, "y": 2, "z": 5}
    one = {"size": shares, "age": {"old": 1, "new": 3}} if n_groupings == 2 else shares
    wanted: Any = {f"q{q}": one for q in range(8)} if target == "by query" else target
    together = evenrank.score(systems, groups, relevance, wanted)
    monkeypatch.setattr("evenrank.scoring.score.CELLS_AT_ONCE", 25)
    apart = evenrank.score(systems, groups, relevance, wanted)
    assert apart.notes == together.notes
    assert apart.to_pandas(per_query=True).equals(together.to_pandas(per_query=True))
    pairs = zip(apart.shares, together.shares, strict=True)
    assert all((a.system, a.group, a.attention) == (b.system, b.group, pytest.approx(b.attention)) for a, b in pairs)
