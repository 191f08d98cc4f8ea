from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import Hits, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.candidates import CandidateSettings, find_candidates, group_masks, merge_hits
from evenrank.retrieval.query.feedback import FeedbackSettings
from evenrank.retrieval.relevance import (
    LexicalModel,
    RelevanceModel,
    SearchSettings,
    probability_by_rank,
)
from tests.retrieval.conftest import MakeEngine, page

HORSE = [WeightedTerm("text", ("hors",))]
AFRICA, EUROPE, FEMALE, MALE = 0b10, 0b10000, 0b10, 0b100


@pytest.fixture
def engine(make_engine: MakeEngine) -> TantivyEngine:
    """300 pages on horses: the best 200 European men, then Europeans of no known gender, at the end two Africans."""

    def masks(page_id: int) -> dict[str, int]:
        if page_id > 298:
            return {"geography": AFRICA, "gender": FEMALE if page_id == 300 else MALE}
        return {"geography": EUROPE, "gender": MALE if page_id <= 200 else 1}

    return make_engine(page(i, "", "horse " + "filler " * i, masks=masks(i)) for i in range(1, 301))


def test_every_group_gets_its_pages(engine: TantivyEngine) -> None:
    plain = find_candidates(engine, HORSE, CandidateSettings(n_pages=50, n_per_group=0))
    assert plain.page_ids.tolist() == list(range(1, 51))
    aware = find_candidates(engine, HORSE, CandidateSettings(n_pages=50, n_per_group=5))
    assert aware.page_ids.tolist() == [*range(1, 51), 299, 300]


def test_candidates_keep_the_order_and_scores_of_the_search(engine: TantivyEngine) -> None:
    everything = engine.search(HORSE, 300)
    aware = find_candidates(engine, HORSE, CandidateSettings(n_pages=20, n_per_group=3))
    by_page = dict(zip(everything.page_ids.tolist(), everything.scores, strict=True))
    np.testing.assert_allclose(aware.scores, [by_page[page_id] for page_id in aware.page_ids.tolist()], rtol=1e-4)
    assert (np.diff(aware.scores) <= 0).all()


def test_a_window_holds_for_the_groups_as_well(engine: TantivyEngine) -> None:
    found = find_candidates(engine, HORSE, CandidateSettings(n_pages=50, n_per_group=5), up_to_page_id=299)
    assert found.page_ids.max() == 299


def test_groups_searched_for() -> None:
    masks = list(group_masks(CandidateSettings()))
    assert len(masks) == 7 + 3 + 7 * 3
    assert {"geography": AFRICA, "gender": FEMALE} in masks
    assert list(group_masks(CandidateSettings(dimensions=("gender",)))) == [{"gender": 1 << bit} for bit in (1, 2, 3)]


@given(st.lists(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 5)), max_size=10), min_size=1, max_size=4))
def test_merge_keeps_each_page_once_in_order(lists: list[list[tuple[int, int]]]) -> None:
    scores = {page_id: float(score) for found in lists for page_id, score in found}
    hits = [Hits(np.array([p for p, _ in found], np.int32), np.array([scores[p] for p, _ in found])) for found in lists]
    merged = merge_hits(hits)
    expected = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    assert list(zip(merged.page_ids.tolist(), merged.scores.tolist(), strict=True)) == expected


def test_untrained_model(engine: TantivyEngine) -> None:
    model: RelevanceModel = LexicalModel(engine, SearchSettings(feedback=FeedbackSettings(n_pages=0)))
    found = model.score(Topic(1, "Horses", ("horse",)), k=20)
    assert found.page_ids[:3].tolist() == [1, 2, 3]
    assert (np.diff(found.probabilities) <= 0).all()
    assert len(found.first(5)) == 5
    assert len(model.score(Topic(1, "Zebra"), k=20)) == 0


def test_probability_by_rank_is_what_it_says() -> None:
    p = probability_by_rank(np.arange(1000.0)[::-1])
    assert p[:10].mean() == pytest.approx(0.77, abs=0.03)
    assert p.sum() == pytest.approx(165, rel=0.05)
    assert probability_by_rank(np.empty(0)).shape == (0,)
