"""A calibration follows its training topics as closely as held-out topics support."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.learn.calibration import CORNERS, JudgedScores
from evenrank.retrieval.learn.cross_validation import simplest_choice
from evenrank.retrieval.learn.linear import expit
from evenrank.retrieval.learn.training import FEW_CORNERS, LEARNED_CHOICES, choose_calibration


def topics_with(n_topics: int, n_pages: int, bend: float, seed: int) -> list[JudgedScores]:
    """Topics whose log-odds bend in the middle of the scores."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n_topics):
        scores = rng.normal(-2.0, 2.0, n_pages)
        log_odds = np.interp(scores, [-10.0, -3.0, -2.5, 10.0], [-10.0, -3.0 - bend, -2.5 + bend, 10.0 + bend])
        made.append(JudgedScores.complete(scores, rng.random(n_pages) < expit(log_odds)))
    return made


def test_few_pages_of_like_topics_keep_to_the_simplest() -> None:
    topics = topics_with(12, 40, bend=0.0, seed=1)
    assert choose_calibration(topics, range(12), LEARNED_CHOICES, seed=0) == LEARNED_CHOICES[0]


def topics_of_sizes(shares: NDArray[np.float64], seed: int) -> list[JudgedScores]:
    """Topics with some share of relevant pages, whose scores are higher; the same ones in every topic."""
    rng = np.random.default_rng(seed)
    labels = [rng.random(400) < share for share in shares]
    scores = [np.where(relevant, 1.0, -1.0) + rng.normal(0.0, 1.0, 400) for relevant in labels]
    return [JudgedScores.complete(of_topic, relevant) for of_topic, relevant in zip(scores, labels, strict=True)]


def test_topics_of_very_different_sizes_get_a_prior_of_their_own() -> None:
    alike = choose_calibration(topics_of_sizes(np.full(30, 0.2), seed=2), range(30), LEARNED_CHOICES, seed=0)
    unlike = choose_calibration(topics_of_sizes(np.linspace(0.01, 0.8, 30), seed=2), range(30), LEARNED_CHOICES, seed=0)
    assert unlike.prior_strength < alike.prior_strength


def test_corners_are_added_where_many_pages_show_them() -> None:
    chosen = choose_calibration(topics_with(40, 2_000, bend=2.0, seed=3), range(40), LEARNED_CHOICES, seed=0)
    assert chosen.corners == CORNERS
    chosen = choose_calibration(topics_with(40, 2_000, bend=0.0, seed=3), range(40), LEARNED_CHOICES, seed=0)
    assert chosen.corners == FEW_CORNERS, "a straight line needs none of them"


def test_forms_of_a_topic_are_held_out_together() -> None:
    """A topic that comes twice is one topic: nothing can be held out from it, so the simplest is taken."""
    topics = topics_with(1, 500, bend=2.0, seed=4)
    assert choose_calibration([*topics, *topics], [7, 7], LEARNED_CHOICES, seed=0) == LEARNED_CHOICES[0]


def test_the_simplest_within_one_standard_error_wins() -> None:
    ids = np.arange(4)
    assert simplest_choice(np.array([[1.0, 1.1, 0.9, 1.0], [0.9, 1.2, 0.8, 1.0]]), ids) == 0
    assert simplest_choice(np.array([[2.0, 2.1, 1.9, 2.0], [1.0, 1.1, 0.9, 1.0]]), ids) == 1
    assert simplest_choice(np.full((2, 4), np.nan), ids) == 0


def test_only_judged_candidates_count() -> None:
    """Of a page that nobody judged, a wrong label changes nothing."""
    topics = topics_of_sizes(np.linspace(0.01, 0.8, 30), seed=5)
    hidden = [JudgedScores(t.scores, t.is_relevant, np.arange(400) < 300) for t in topics]
    flipped = [t._replace(is_relevant=np.where(t.is_judged, t.is_relevant, ~t.is_relevant)) for t in hidden]
    assert choose_calibration(hidden, range(30), LEARNED_CHOICES, seed=0) == choose_calibration(
        flipped, range(30), LEARNED_CHOICES, seed=0
    )
