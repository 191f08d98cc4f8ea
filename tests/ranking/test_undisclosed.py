"""Pages whose group exists and is not in the data: what they are believed to be, against a simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import evenrank
from evenrank.core.alignment import align
from evenrank.core.groups import UNKNOWN_MASK, GroupSpace
from evenrank.errors import EvenrankError
from evenrank.ranking.build import BuildSettings, build_candidates
from evenrank.ranking.sources import Found
from evenrank.ranking.undisclosed import expected_groups, parse_undisclosed, unknown_shares
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
