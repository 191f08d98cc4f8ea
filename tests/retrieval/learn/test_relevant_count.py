"""The number of relevant pages: intervals that cover what they promise, and evidence that narrows them."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.core.rng import derive
from evenrank.retrieval.learn.relevant_count import CountModel, count_by_strength, estimate_count, fit_count, n_strong


def simulated(n_topics: int, seed: int = 1) -> tuple[list[float], list[int]]:
    """Sums of probabilities that are half of the truth on average, and off by a factor."""
    rng = derive(seed, "counts")
    truth = np.exp(rng.normal(4.0, 1.0, n_topics))
    return (0.5 * truth * np.exp(rng.normal(0.0, 0.5, n_topics))).tolist(), np.round(truth).astype(int).tolist()


def test_intervals_cover_four_topics_in_five() -> None:
    sums, truth = simulated(60)
    model = fit_count(sums, truth, list(range(60)))
    assert model.residuals.tolist() == sorted(model.residuals.tolist())
    new_sums, new_truth = simulated(1000, seed=2)
    found = [estimate_count(model, np.array([s])) for s in new_sums]
    covered = np.mean([one.low <= n <= one.high for one, n in zip(found, new_truth, strict=True)])
    assert 0.74 <= covered <= 0.88
    ratio = np.median([one.median / n for one, n in zip(found, new_truth, strict=True)])
    assert ratio == pytest.approx(1.0, abs=0.2)


def test_a_topic_in_many_forms_does_not_vouch_for_itself() -> None:
    sums, truth = simulated(6)
    once = fit_count(sums, truth, list(range(6)))
    thrice = fit_count(sums * 3, truth * 3, list(range(6)) * 3)
    assert np.abs(thrice.residuals).max() == pytest.approx(np.abs(once.residuals).max(), rel=0.5)


def test_training_topics_that_are_all_alike_do_not_make_sure() -> None:
    """Seven relevant pages in every training topic; new topics have half as many, and vary as counts do."""
    rng = derive(3, "alike")
    sums = (7.0 * np.exp(rng.normal(0.0, 0.1, 50))).tolist()
    model = fit_count(sums, [7] * 50, list(range(50)))
    assert model.residuals.std() < 0.2 < model.deviation(7.0)
    found = [estimate_count(model, np.array([3.5])) for _ in range(500)]
    truth = rng.poisson(3.5, 500)
    covered = np.mean([one.low <= n <= one.high for one, n in zip(found, truth, strict=True)])
    assert 0.72 <= covered <= 0.92
    assert found[0].median == pytest.approx(3.5, rel=0.25)


MODEL = CountModel(0.0, 1.0, np.linspace(-1.5, 1.5, 61))
P = np.linspace(0.9, 0.01, 200)


def test_judgments_move_and_narrow_the_estimate() -> None:
    free = estimate_count(MODEL, P)
    assert free.low < free.median < free.high
    assert free.median == pytest.approx(P.sum(), rel=0.05)
    rng = derive(4, "judged")
    positions = rng.permutation(len(P))[:40].tolist()
    fewer = estimate_count(MODEL, P, [(at, bool(rng.random() < P[at] / 3)) for at in positions])
    assert fewer.median < free.median
    assert fewer.high - fewer.low < free.high - free.low
    all_of_them = estimate_count(MODEL, P, [(at, True) for at in positions])
    assert all_of_them.median > free.median
    assert all_of_them.low >= 40


def test_the_size_of_a_project_counts_most() -> None:
    known = estimate_count(MODEL, P, project_size=500)
    assert known.median == pytest.approx(500, rel=0.01)
    assert 300 < known.low < 400 < 600 < known.high < 800
    nothing = estimate_count(MODEL, np.empty(0))
    assert 0.0 <= nothing.low <= nothing.high <= 3.0


def test_strong_matches_do_not_depend_on_the_scale_of_scores() -> None:
    scores = np.array([10.0, 9.0, 3.0, 2.9, 0.5])
    assert n_strong(scores) == n_strong(0.01 * scores) == 3.0
    assert n_strong(np.array([-1.0, -1.0])) == 2.0
    assert n_strong(np.empty(0)) == 0.0


def scored_topics(counts: list[int], seed: int, *, is_telling: bool) -> list[np.ndarray]:
    """Scores of 500 pages a topic; where they tell, relevant ones are about half of the best, others a tenth."""
    rng = derive(seed, "strength")
    topics = []
    for n in counts:
        levels = np.full(500, 0.1)
        levels[: n if is_telling else 30] = 0.5
        topics.append(np.append(1.0, np.abs(levels + rng.normal(0.0, 0.05, 500))))
    return topics


def test_strong_matches_tell_how_many_pages_are_relevant_in_topics_unlike_those_of_training() -> None:
    """Training topics of about 100 relevant pages, and a topic of 5: their probabilities would be by rank."""
    rng = derive(5, "counts")
    counts = rng.integers(70, 140, 20).tolist()
    model = count_by_strength(scored_topics(counts, 1, is_telling=True), [100.0] * 20, counts, range(20))
    assert model is not None
    (few,) = scored_topics([5], 2, is_telling=True)
    assert 3.0 < estimate_count(model, np.array([n_strong(few)])).median < 9.0


def test_strong_matches_are_not_used_where_they_tell_less_than_probabilities() -> None:
    counts = derive(6, "counts").integers(20, 300, 20).tolist()
    sums = [float(count) for count in counts]
    assert count_by_strength(scored_topics(counts, 1, is_telling=False), sums, counts, range(20)) is None
    assert count_by_strength(scored_topics([0, 0], 1, is_telling=True), [1.0, 1.0], [0, 0], range(2)) is None


def test_strong_matches_decide_unless_held_out_topics_are_clearly_better_predicted_by_sums() -> None:
    """About ten relevant pages in every training topic: sums of ten predict them better, clearly so only beside strong
    matches that vary much. Otherwise a topic of 200 is not expected to have ten."""
    counts = derive(7, "counts").poisson(10.0, 20)
    sums = [10.0] * 20

    def model_from(deviation: float) -> CountModel | None:
        varied = np.round(counts * np.exp(derive(1, "matches").normal(0.0, deviation, 20))).astype(int).tolist()
        errors = [np.square(np.log((np.array(given) + 0.5) / (counts + 0.5))).mean() for given in (varied, sums)]
        assert errors[0] > errors[1]
        return count_by_strength(scored_topics(varied, 1, is_telling=True), sums, counts.tolist(), range(20))

    assert model_from(0.5) is None
    model = model_from(0.3)
    assert model is not None
    (many,) = scored_topics([200], 2, is_telling=True)
    assert estimate_count(model, np.array([n_strong(many)])).median > 100.0
