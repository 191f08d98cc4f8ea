"""Which pages have some words: asked all at once, the same as by a search for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.retrieval.engine.protocol import MatchingEngine, Restriction, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from tests.retrieval.conftest import page

N_PAGES = 300
WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TantivyEngine:
    """Pages in three segments."""
    rng = np.random.default_rng(5)
    made = TantivyEngine.create(tmp_path_factory.mktemp("index"))
    for start in range(0, N_PAGES, 100):
        texts = [" ".join(rng.choice(WORDS, rng.integers(1, 30))) for _ in range(100)]
        made.add(page(3 * (start + n), text=text, lead=" ".join(text.split()[:3])) for n, text in enumerate(texts))
        made.commit()
    return made


terms = st.builds(
    WeightedTerm,
    st.sampled_from(["text", "lead"]),
    st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=3, unique=True).map(tuple),
    st.sampled_from([0.5, 1.0, 7.0]),
)


@given(
    asked=st.lists(st.lists(terms, max_size=3), max_size=50),
    pages=st.lists(st.integers(0, 3 * N_PAGES), unique=True, max_size=60),
)
def test_the_same_as_a_search_for_each(
    engine: TantivyEngine, asked: list[list[WeightedTerm]], pages: list[int]
) -> None:
    assert isinstance(engine, MatchingEngine)
    page_ids = np.array(pages, np.int32)
    found = engine.matches(asked, page_ids)
    assert found.shape == (len(asked), len(pages))
    for row, each in zip(found, asked, strict=True):
        hits = engine.search(each, N_PAGES, Restriction(page_ids=pages)) if each else None
        assert set(page_ids[row].tolist()) == set(hits.page_ids.tolist() if hits else ())


def test_a_phrase_is_asked_for_as_one(engine: TantivyEngine) -> None:
    first = engine.stored([0])[0]
    assert first is not None
    one, two = (engine.analyse("lead", word)[0] for word in first.opening.split()[:2])
    phrase = [WeightedTerm("lead", (one, two), is_phrase=True)]
    turned = [WeightedTerm("lead", (two, one), is_phrase=True)]
    found = engine.matches([phrase, turned], np.array([3, 0], np.int32))
    assert bool(found[0, 1])
    assert found[:, 0].tolist() == [
        bool(len(engine.search(each, 1, Restriction(page_ids=[3])).page_ids)) for each in (phrase, turned)
    ]
