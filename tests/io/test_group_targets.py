"""Targets of `score`: by default, from tables of many queries, and with names that nobody knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenrank
from evenrank.errors import InputError
from tests.scoring.test_score import GROUPS, RANKINGS, RELEVANCE


def test_target_as_the_relevant_items_is_the_default() -> None:
    found = evenrank.score(RANKINGS, GROUPS, RELEVANCE)
    by_group = {share.group: share.target for share in found.shares}
    assert by_group == pytest.approx({"x": (1 / 3 + 1.0) / 2, "y": (2 / 3 + 0.0) / 2})
    assert evenrank.score(RANKINGS, GROUPS).shares[0].target == 0.5  # as all items
    equal = evenrank.score(RANKINGS, {**GROUPS, "e": "z"}, target="equal")
    assert [share.target for share in equal.shares] == pytest.approx([1 / 3] * 3)


def test_targets_of_many_queries_from_a_table() -> None:
    """Every row looked for its query among all of them: 20,000 took minutes."""
    names = [f"q{number}" for number in range(20_000)]
    rankings = pd.DataFrame({"query": names, "item": "a"})
    target = pd.DataFrame({"query": np.repeat(names, 2), "group": ["x", "y"] * 20_000, "share": [1.0, 3.0] * 20_000})
    found = evenrank.score(rankings, {"a": "x", "b": "y"}, target=target)
    assert [share.target for share in found.shares] == [0.25, 0.75]
    with pytest.raises(InputError, match="group has a share already: 'x'"):
        evenrank.score(rankings, {"a": "x", "b": "y"}, target=pd.concat([target, target[:1]]))
    numbered = pd.DataFrame({"query": [1, 2], "item": ["a", "b"]})
    shares = pd.DataFrame({"query": ["2", "1"], "group": ["x", "y"], "share": [1, 1]})
    assert evenrank.score(numbered, {"a": "x", "b": "y"}, target=shares).scores["AWRF"] == pytest.approx(0.0)


def test_unknown_names_of_a_target_are_told_a_few_times_and_counted(tmp_path: Path) -> None:
    """The nearest of all groups was looked up for every row: a megabyte of unknown groups took hours."""
    path = tmp_path / "target.csv"
    path.write_text("group,share\n" + "".join(f"g{number},1\n" for number in range(50_000)))
    with pytest.raises(InputError, match="unknown group 'g19'") as caught:
        evenrank.score(RANKINGS, {f"i{number}": f"h{number}" for number in range(900)}, target=path)
    assert "unknown group 'g20'" not in str(caught.value)
    assert "49,980 more" in str(caught.value)
