"""Pages whose group exists and is not in the data: what they are believed to be, against a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evenrank
from evenrank.core.alignment import align
from evenrank.core.groups import UNKNOWN_MASK, GroupSpace
from evenrank.core.records import Task
from evenrank.core.uncertainty import MissingGroups
from evenrank.errors import EvenrankError
from evenrank.io.assumptions import read_assumptions
from evenrank.ranking.build import BuildSettings, build_candidates
from evenrank.ranking.sources import Found
from evenrank.ranking.undisclosed import (
    assumed_texts,
    expected_groups,
    parse_assumed,
    parse_undisclosed,
    unknown_shares,
)
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import DIMENSIONS
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings

SPACE = GroupSpace.of(("geography", "gender"), DIMENSIONS)
MALE, FEMALE = 0b10, 0b100
RATE = 0.4


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = GenerateSettings(n_pages=3000, n_train_topics=1, n_eval_topics=1, seed=8)
    return generate_collection(tmp_path_factory.mktemp("undisclosed") / "c", settings)


def test_for_each_known_page_there_are_so_many_unknown_ones() -> None:
    assert unknown_shares({UNKNOWN_MASK: 100.0, MALE: 30.0, FEMALE: 10.0}, 0.5) == pytest.approx(
        {UNKNOWN_MASK: 0.6, MALE: 0.3, FEMALE: 0.1}
    )
    assert unknown_shares({UNKNOWN_MASK: 10.0, MALE: 30.0, FEMALE: 10.0}, 0.5) == pytest.approx(
        {MALE: 0.75, FEMALE: 0.25}
    )
    assert unknown_shares({UNKNOWN_MASK: 5.0}, 0.5) == {UNKNOWN_MASK: 1.0}
    assert unknown_shares({}, 0.5) == {UNKNOWN_MASK: 1.0}


def test_what_is_believed_is_what_was_hidden() -> None:
    rng = np.random.default_rng(3)
    n = 60_000
    place = np.where(rng.random(n) < 0.5, 0b10, 0b100).astype(np.uint8)
    share_of_men = np.where(place == 0b10, 0.9, 0.5)
    person = np.where(rng.random(n) < share_of_men, MALE, FEMALE)
    truth = np.where(rng.random(n) < 0.6, person, UNKNOWN_MASK).astype(np.uint8)
    seen = np.where(rng.random(n) < RATE, UNKNOWN_MASK, truth).astype(np.uint8)
    alignment, variance, _ = expected_groups([place, seen], np.ones(n), SPACE, {"gender": RATE}, [False, False])
    true = align([place, truth], SPACE, [False, False])
    for region in (0b10, 0b100):
        hidden = (place == region) & (seen == UNKNOWN_MASK)
        of_type = alignment.page_type[np.flatnonzero(hidden)[0]]
        rows = true.rows[true.page_type[hidden]]
        assert alignment.rows[of_type] == pytest.approx(rows.mean(axis=0), abs=0.02)
        assert variance[of_type] == pytest.approx(rows.var(axis=0).sum(), abs=0.02)
    is_seen = seen != UNKNOWN_MASK
    assert variance[alignment.page_type[is_seen]].max() < 1e-12
    assert (alignment.rows[alignment.page_type[is_seen]] == true.rows[true.page_type[is_seen]]).all()


def test_pages_of_little_relevance_say_little() -> None:
    place = np.full(400, 0b10, np.uint8)
    seen = np.array([MALE] * 100 + [FEMALE] * 100 + [UNKNOWN_MASK] * 200, np.uint8)
    relevance = np.array([0.9] * 100 + [0.1] * 100 + [0.5] * 200)
    alignment, *_ = expected_groups([place, seen], relevance, SPACE, {"gender": 0.5}, [False, False])
    by_group = alignment.rows[alignment.page_type[-1]].reshape(SPACE.shape)[1]
    assert by_group[1] == pytest.approx(9 * by_group[2])


def test_the_setting_reaches_candidates_and_target(collection: Collection) -> None:
    rng = np.random.default_rng(1)
    truth = np.asarray(collection.masks["gender"])
    holes = np.where(rng.random(len(truth)) < 0.5, UNKNOWN_MASK, truth).astype(truth.dtype)
    shown = replace(collection, masks={**collection.masks, "gender": holes})
    topic = next(topic for topic in collection.topics if topic.split == "train")
    found = Found(topic.rel_docs, np.ones(len(topic.rel_docs)), np.ones(len(topic.rel_docs)))

    def unknown_gender(settings: BuildSettings, seen: Collection) -> float:
        candidates, target = build_candidates(seen, topic.id, 2, found, settings)
        values = target.values if candidates.beliefs is None else candidates.beliefs.target.values
        return float(values.reshape(SPACE.shape)[:, 0].sum())

    plain = BuildSettings(sharpness=1.0, group_odds="none")
    true, naive = unknown_gender(plain, collection), unknown_gender(plain, shown)
    informed = unknown_gender(replace(plain, undisclosed=("gender:0.5",)), shown)
    assert naive > true + 0.1
    assert abs(informed - true) < 0.25 * (naive - true)


def test_faults_are_reported_together(collection: Collection) -> None:
    with pytest.raises(EvenrankError) as raised:
        parse_undisclosed(("age:0.5", "gender:2", "gender:", "geography:nan"), ("geography", "gender"), ("geography",))
    assert str(raised.value).splitlines() == [
        "undisclosed 'age:0.5': choose a dimension from geography, gender",
        "undisclosed 'gender:2': give a share above 0 and below 1, such as gender:0.5",
        "undisclosed 'gender:': give a share above 0 and below 1, such as gender:0.5",
        "undisclosed 'geography:nan': give a share above 0 and below 1, such as geography:0.5",
    ]
    with pytest.raises(EvenrankError, match="does not know gender at all"):
        parse_undisclosed(("geography:0.5",), ("geography",), ("geography", "gender"))
    settings = {"undisclosed": "gender:1.5"}
    with pytest.raises(EvenrankError, match="undisclosed 'gender:1"):
        evenrank.rank(collection, 2, settings=settings)


def test_odds_and_rates_of_groups_say_what_unknown_pages_are() -> None:
    first, second = 0b10, 0b100
    seen = {UNKNOWN_MASK: 100.0, first: 30.0, second: 30.0}
    by_odds = MissingGroups(share=(0.5, 0.5), odds={"second": (3.0, 3.0)})
    expected = {UNKNOWN_MASK: 0.5, first: 0.125, second: 0.375}
    assert unknown_shares(seen, by_odds, ("first", "second")) == pytest.approx(expected)
    by_rate = MissingGroups(rate={"first": 0.25, "second": 0.5})
    expected = {UNKNOWN_MASK: 0.6, first: 0.1, second: 0.3}
    assert unknown_shares(seen, by_rate, ("first", "second")) == pytest.approx(expected)
    assert unknown_shares(seen, MissingGroups(share=(0.0, 0.0)), ("first", "second")) == {UNKNOWN_MASK: 1.0}


def test_a_model_survives_as_settings() -> None:
    model = read_assumptions(["geography.odds.Africa=2..4", "geography.share=0.5", "gender.rate=0.25"])
    texts = assumed_texts(model, SPACE.dimensions)
    assert parse_assumed(texts, SPACE) == {name: found.missing for name, found in model.dimensions.items()}
    assert assumed_texts(read_assumptions(["missing=random"]), SPACE.dimensions) == ("geography.share=1.0..1.0",)


@pytest.mark.parametrize("task", [1, 2])
def test_rank_mixes_unknown_pages_into_groups(task: Task, tmp_path: Path) -> None:
    collection = evenrank.generate_collection(tmp_path / "c", n_pages=600, n_topics=4, seed=1)
    evenrank.build_index(collection)
    plain = evenrank.rank(collection, task, "optimal")
    mixed = evenrank.rank(collection, task, "optimal", assume=["missing=random"])
    assert list(mixed.record["candidates"]["assume"]) == ["geography.share=1.0..1.0"]
    assert not np.array_equal(plain.run.pages, mixed.run.pages)
    again = evenrank.rank(collection, task, "optimal", settings={"assume": "geography.share=1"})
    assert np.array_equal(again.run.pages, mixed.run.pages)
    with pytest.raises(EvenrankError, match="Atlantis"):
        evenrank.rank(collection, task, assume=["geography.odds.Atlantis=2"])
