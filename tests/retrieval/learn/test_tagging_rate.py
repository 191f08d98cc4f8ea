"""Page lists as positive and unlabelled: fits with a tagging rate, against the truth that was simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.retrieval.learn.linear import expit, logistic_fit
from evenrank.retrieval.learn.tagging_rate import estimate_tagging_rate, tagging_rate_of, wilson_interval
from evenrank.trec.collection import Collection
from tests.real_dump import load_benchmark

simulation = load_benchmark("positive_unlabelled")


@settings(max_examples=12)
@given(st.sampled_from([0.1, 0.3, 0.5, 0.8]), st.integers(0, 1000))
def test_probabilities_are_nearer_to_the_truth_than_naive_ones(rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    topics = simulation.simulate(rate, 12, 800, rng)
    naive, informed = (simulation.errors(simulation.fit(topics, used), topics) for used in (1.0, rate))
    assert informed[1] < naive[1]
    if rate <= 0.5:
        assert informed[0] < 0.5 * naive[0]
        assert informed[2] < naive[2]


@settings(max_examples=15)
@given(st.floats(0.2, 1.0), st.integers(0, 1000))
def test_a_known_rate_recovers_the_coefficients(rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 1.5, 20_000)
    is_relevant = rng.random(len(x)) < expit(1.5 * x - 1.0)
    tagged = (is_relevant & (rng.random(len(x)) < rate)).astype(np.float64)
    rows, weights = np.column_stack([np.ones(len(x)), x]), np.full(len(x), 1.0 / len(x))
    intercept, slope = logistic_fit(rows, tagged, weights, 1e-9, tagging_rate=rate)
    assert slope == pytest.approx(1.5, abs=0.3)
    assert intercept == pytest.approx(-1.0, abs=0.3)


def test_a_fit_is_a_maximum_of_the_likelihood_of_tags() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(0.0, 1.0, 400)
    tagged = (rng.random(400) < 0.4 * expit(2.0 * x)).astype(np.float64)
    rows, weights = np.column_stack([np.ones(400), x]), np.full(400, 1.0 / 400)

    def likelihood(coefficients: np.ndarray) -> float:
        p = 0.4 * expit(rows @ coefficients)
        return float(weights @ np.where(tagged > 0, np.log(p), np.log1p(-p)))

    best = logistic_fit(rows, tagged, weights, 1e-9, tagging_rate=0.4)
    for step in rng.normal(0.0, 0.05, (50, 2)):
        assert likelihood(best + step) <= likelihood(best) + 1e-9


def test_a_judged_sample_gives_the_rate() -> None:
    topics = {
        1: Topic(1, "", rel_docs=np.arange(10, dtype=np.int32)),
        2: Topic(2, "", rel_docs=np.array([50], np.int32)),
    }
    found = tagging_rate_of(topics, {1: {0: 1, 1: 2, 77: 1, 5: 0}, 2: {60: 1}})
    assert (found.rate, found.n_relevant, found.n_tagged) == (0.5, 4, 2)
    assert found.low < 0.5 < found.high
    with pytest.raises(EvenrankError, match="none of the 1 judged relevant pages is tagged"):
        tagging_rate_of(topics, {1: {77: 1}})


def test_wilson_interval_of_the_textbook() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.4901, 0.9433), abs=1e-4)
    assert [wilson_interval(n, n)[1] for n in range(1, 40)] == [1.0] * 39
    assert [wilson_interval(0, n)[0] for n in range(1, 40)] == [0.0] * 39


def test_a_sample_without_training_topics_is_refused(golden_collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "sample.qrels").write_text("999999 0 5 1\n")
    with pytest.raises(EvenrankError, match="no judgments of training topics"):
        estimate_tagging_rate(golden_collection, tmp_path / "sample.qrels")
    topic = next(topic for topic in golden_collection.topics if topic.split == "train" and len(topic.rel_docs) > 1)
    listed = topic.rel_docs[0]
    (tmp_path / "sample.qrels").write_text(f"{topic.id} 0 {listed} 1\n{topic.id} 0 999999 1\n{topic.id} 0 999998 0\n")
    assert estimate_tagging_rate(golden_collection, tmp_path / "sample.qrels").rate == 0.5
