"""Data to experiment on: a small collection with an index, and queries of one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evenrank
from evenrank.core.rng import derive
from evenrank.trec.generate.settings import world_settings


@pytest.fixture(scope="session")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of 1,200 pages with six topics and an index."""
    folder = tmp_path_factory.mktemp("experiments") / "world"
    evenrank.build_index(evenrank.generate_collection(folder, world_settings(n_pages=1200, n_topics=6, seed=4)))
    return folder


@pytest.fixture
def own_data() -> evenrank.OwnData:
    """Ten queries of twelve items each, half of them of each group; scores favour one group, relevance does not."""
    rng = derive(1, "own data")
    groups = {f"i{item}": "ab"[item % 2] for item in range(12)}
    bias = np.array([0.3 * (group == "a") for group in groups.values()])
    items, relevance = {}, {}
    for query in range(10):
        truth = rng.random(12)
        items[f"q{query}"] = dict(zip(groups, np.clip(0.6 * truth + bias, 0, 1).tolist(), strict=True))
        relevance[f"q{query}"] = {item: int(value > 0.6) for item, value in zip(groups, truth, strict=True)}
        relevance[f"q{query}"]["i0"] = 1
    return evenrank.OwnData(items, groups, relevance, "equal", name="own")
