"""Probabilities learned from incomplete page lists: naive, and as positive and unlabelled, at known tagging rates.

    python benchmarks/positive_unlabelled.py [--topics 60] [--pages 2000] [--repeats 5]

Topics are simulated: scores, true relevance given the scores, and tags that each relevant page has with the same
probability. Calibrations are fitted to the tags of training topics and compared with the truth of other topics. The
rate is stated, estimated from a judged sample (100 relevant pages), or estimated without one by Elkan and Noto's e1,
the mean probability of a tag over tagged pages of topics that the fit did not see.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from evenrank.core.rng import derive
from evenrank.core.types import Floats
from evenrank.retrieval.learn.calibration import (
    Calibration,
    CalibrationSettings,
    fit_calibration,
    predict,
    reliability_bins,
)
from evenrank.retrieval.learn.learned_model import LEARNED_CALIBRATION
from evenrank.retrieval.learn.linear import expit

RATES = (1.0, 0.8, 0.5, 0.3, 0.1)
N_JUDGED = 100
"""Relevant pages in the judged sample."""
SLOPE, INTERCEPT, SPREAD = 1.5, -3.5, 0.7
"""Log-odds of relevance: SLOPE · score + INTERCEPT, with a shift of the topic's own of this deviation."""
SimulatedTopic = tuple[Floats, np.ndarray, np.ndarray]
"""Scores of the candidates, which are relevant, which are tagged."""


def simulate(rate: float, n_topics: int, n_pages: int, rng: np.random.Generator) -> list[SimulatedTopic]:
    """Topics whose relevant pages are tagged at a rate."""
    topics = []
    for _ in range(n_topics):
        scores = rng.normal(0.0, 1.5, n_pages)
        is_relevant = rng.random(n_pages) < expit(SLOPE * scores + INTERCEPT + rng.normal(0.0, SPREAD))
        topics.append((scores, is_relevant, is_relevant & (rng.random(n_pages) < rate)))
    return topics


def fit(topics: Sequence[SimulatedTopic], rate: float) -> Calibration:
    """The calibration that a tagging rate makes of the tags; 1 is the naive one."""
    settings = CalibrationSettings(
        scale="shared", ridge=LEARNED_CALIBRATION.ridge, prior_strength=10.0, tagging_rate=rate
    )
    return fit_calibration([(scores, tagged) for scores, _, tagged in topics], settings)


def errors(calibration: Calibration, topics: Sequence[SimulatedTopic]) -> tuple[float, float, float]:
    """Expected calibration error, Brier score, and the median factor by which numbers of relevant pages are off."""
    given = [predict(calibration, scores) for scores, _, _ in topics]
    truth = [is_relevant for _, is_relevant, _ in topics]
    p, y = np.concatenate(given), np.concatenate(truth)
    off = [
        abs(np.log((p_topic.sum() + 0.5) / (y_topic.sum() + 0.5)))
        for p_topic, y_topic in zip(given, truth, strict=True)
    ]
    return (
        reliability_bins(p, y).expected_calibration_error,
        float(np.mean((p - y) ** 2)),
        float(np.exp(np.median(off))),
    )


def held_out_rate(topics: Sequence[SimulatedTopic]) -> float:
    """Elkan and Noto's e1: mean probability of a tag over tagged pages, each from the other half of the topics."""
    halves = topics[::2], topics[1::2]
    found = [
        predict(calibration, scores)[tagged]
        for one, other in (halves, halves[::-1])
        for calibration in [fit(one, 1.0)]
        for scores, _, tagged in other
    ]
    return float(np.clip(np.mean(np.concatenate(found)), 0.01, 1.0))


def compare(rate: float, n_topics: int, n_pages: int, seed: int) -> dict[str, tuple[float, tuple[float, float, float]]]:
    """Rate used and errors on other topics, by method."""
    rng = derive(seed, "positive and unlabelled", str(rate))
    training, test = (simulate(rate, n_topics, n_pages, rng) for _ in range(2))
    judged = np.clip(rng.binomial(N_JUDGED, rate), 1, N_JUDGED) / N_JUDGED
    rates = {"naive": 1.0, "stated": rate, "judged sample": float(judged), "e1": held_out_rate(training)}
    return {name: (used, errors(fit(training, used), test)) for name, used in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=60)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    print(
        f"{'tagged':>6}  {'rate':<13}  {'used':>5}  {'ECE':>6}  {'Brier':>6}  {'count off by':>12}  {'ECE / naive':>11}"
    )
    for rate in RATES:
        runs = [compare(rate, chosen.topics, chosen.pages, seed) for seed in range(chosen.repeats)]
        naive = np.mean([run["naive"][1][0] for run in runs])
        for name in runs[0]:
            used = np.mean([run[name][0] for run in runs])
            ece, brier, off = np.mean([run[name][1] for run in runs], axis=0)
            print(f"{rate:6.1f}  {name:<13}  {used:5.2f}  {ece:6.4f}  {brier:6.4f}  {off:12.2f}  {ece / naive:11.2f}")


if __name__ == "__main__":
    main()
