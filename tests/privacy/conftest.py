"""A collection of people who differ in nothing but region and gender, and two servers: as usual, and with totals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra web")

from evenrank.app.state import AppState, open_state
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.app.conftest import UNLIMITED

N_PEOPLE = 480
N_MISSING = 60
"""People without an article, who have the region and gender of the first ones with one."""
REGIONS = ("Africa", "Europe")
SEED = 11


def title_of(person: int) -> str:
    return f"Sculptor {person:04d}"


def are_women(seed: int = SEED) -> np.ndarray:
    """The gender of each person, which attackers want to know: a fair coin."""
    return np.random.default_rng(seed).permutation(N_PEOPLE) % 2 == 0


def make_people(folder: Path, women: np.ndarray) -> Collection:
    """Sculptors with the same words, class and length, half of whom are of one region; who is a woman is given. Some
    others have no article."""
    metadata, corpus, subjects = [], [], []
    for person, is_woman in enumerate(women.tolist()):
        groups = {"geographic_locations": [REGIONS[person % 2]], "gender": ["female" if is_woman else "male"]}
        metadata.append(
            {
                "page_id": person + 1,
                "quality_score": 0.1,
                "quality_score_disc": "Stub",
                **groups,
            }
        )
        text = f"{title_of(person)} (born 1950) is a sculptor. The sculptor works in bronze and stone."
        corpus.append({"id": person + 1, "title": title_of(person), "url": "", "text": text})
        if person < N_MISSING:
            about = {"item": f"Q{person + 1}", "label": title_of(1000 + person), "description": "sculptor", "wikis": 2}
            subjects.append({**about, "articles": {"dewiki": title_of(1000 + person)}, "fields": groups})
    for name, records in (("metadata", metadata), ("corpus", corpus), ("subjects", subjects)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    files = ImportFiles(folder / "metadata.jsonl", corpus=folder / "corpus.jsonl", subjects=folder / "subjects.jsonl")
    collection = import_collection(folder / "collection", files)
    build_index(collection, FaultLog(), n_threads=1).close()
    return collection


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return make_people(tmp_path_factory.mktemp("people"), are_women())


def opened(people: Collection, store: Path, **settings: Any) -> Iterator[AppState]:
    state = open_state(people.path, replace(UNLIMITED, store=store, **settings))
    yield state
    state.close()


@pytest.fixture
def usual(people: Collection, tmp_path: Path) -> Iterator[AppState]:
    """A server as it is by default, with a store of its own."""
    yield from opened(people, tmp_path / "usual.sqlite")


@pytest.fixture
def with_totals(people: Collection, tmp_path: Path) -> Iterator[AppState]:
    """A server whose operator shows totals."""
    yield from opened(people, tmp_path / "totals.sqlite", shows_totals=True)
