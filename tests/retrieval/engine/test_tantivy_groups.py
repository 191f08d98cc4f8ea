"""One question for many groups: a few common searches find, page by page, what a search for each group finds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.retrieval.engine import tantivy_groups
from evenrank.retrieval.engine.protocol import Query, Restriction, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.candidates import CandidateSettings, group_masks
from tests.retrieval.conftest import page

N_PAGES = 400
WORDS = ("horse", "rider", "river", "cafe")
GROUPS = group_masks(CandidateSettings())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TantivyEngine:
    """Pages of few words, so that most scores occur many times; some groups are common, some rare, some empty."""
    rng = np.random.default_rng(5)
    made = TantivyEngine.create(tmp_path_factory.mktemp("index"))
    made.add(
        page(
            number,
            text=" ".join(rng.choice(WORDS, rng.integers(1, 5))),
            masks={
                "geography": int(1 << min(rng.geometric(0.4) - 1, 5)),
                "gender": int(rng.choice([1, 2, 4, 6], p=[0.6, 0.2, 0.18, 0.02])),
            },
        )
        for number in range(1, N_PAGES + 1)
    )
    made.commit()
    return made


def one_by_one(engine: TantivyEngine, queries: Sequence[Query]) -> list[tuple[list[int], list[float]]]:
    hits = [engine.search(query.terms, query.k, query.restriction) for query in queries]
    return [(found.page_ids.tolist(), found.scores.tolist()) for found in hits]


def together(engine: TantivyEngine, queries: Sequence[Query]) -> list[tuple[list[int], list[float]]]:
    return [(found.page_ids.tolist(), found.scores.tolist()) for found in engine.search_many(queries)]


@settings(max_examples=120, deadline=None)
@given(
    words=st.lists(st.sampled_from(["hors", "rider", "river", "cafe", "absent"]), min_size=1, max_size=3, unique=True),
    k=st.sampled_from([1, 2, 7, 40, 500]),
    first_depth=st.sampled_from([1, 2, 30]),
    up_to=st.one_of(st.none(), st.integers(0, N_PAGES)),
    groups=st.lists(st.sampled_from(GROUPS), min_size=4, max_size=len(GROUPS)),
    n_plain=st.sampled_from([None, 1, 5, 40, 300, 500]),
)
def test_the_same_pages_and_scores_as_a_search_for_each_group(
    engine: TantivyEngine,
    words: list[str],
    k: int,
    first_depth: int,
    up_to: int | None,
    groups: list[dict[str, int]],
    n_plain: int | None,
) -> None:
    terms = [WeightedTerm("text", (word,), weight) for word, weight in zip(words, (1.0, 0.5, 2.0), strict=False)]
    plain = [] if n_plain is None else [Query(terms, n_plain, Restriction(up_to_page_id=up_to))]
    queries = [*plain, *(Query(terms, k, Restriction(each, up_to_page_id=up_to)) for each in groups)]
    assert tantivy_groups.differ_in_groups_only(queries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tantivy_groups, "FIRST_DEPTH", first_depth)
        assert together(engine, queries) == one_by_one(engine, queries)


def test_all_groups_take_a_few_searches(engine: TantivyEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []
    original = tantivy_groups.find_common

    def counted(*arguments: Any) -> tantivy_groups.CommonHits:
        searches.append(original(*arguments))
        return searches[-1]

    monkeypatch.setattr(tantivy_groups, "find_common", counted)
    terms = [WeightedTerm("text", ("hors",))]
    queries = [Query(terms, 2, Restriction(each)) for each in GROUPS]
    assert together(engine, queries) == one_by_one(engine, queries)
    assert len(searches) < len(GROUPS) / 4
    assert sum(len(each.page_ids) for each in searches) < 3 * N_PAGES


def test_other_questions_are_searched_for_one_by_one(engine: TantivyEngine) -> None:
    terms = [WeightedTerm("text", ("hors",))]
    queries = [Query(terms, 3, Restriction(each)) for each in GROUPS]
    assert not tantivy_groups.differ_in_groups_only(queries[:2])
    for other in (
        Query(terms, 4, Restriction(GROUPS[0])),
        Query(list(terms), 3, Restriction(GROUPS[0])),
        Query(terms, 3),
        Query(terms, 3, Restriction(GROUPS[0], page_ids=[1, 2])),
        Query(terms, 3, Restriction(GROUPS[0], up_to_page_id=9)),
    ):
        mixed = [*queries, other]
        assert not tantivy_groups.differ_in_groups_only(mixed)
        assert together(engine, mixed) == one_by_one(engine, mixed)


def test_nothing_in_an_empty_index(tmp_path: Path) -> None:
    empty = TantivyEngine.create(tmp_path)
    empty.commit()
    terms = [WeightedTerm("text", ("hors",))]
    assert together(empty, [Query(terms, 3, Restriction(each)) for each in GROUPS]) == [([], [])] * len(GROUPS)
