"""How good a learned model is on topics that it did not see, and what its features add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.search.learn.calibration import fit_calibration, predict
from evenrank.search.learn.reliability import reliability_bins
from evenrank.search.learn.training import Example, Trained

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Quality:
    """Means over topics."""

    precision_at_10: float
    r_precision: float
    """Share of relevant pages among the first R, where R is the number of relevant pages of the topic."""


@dataclass(frozen=True)
class TrainingReport:
    """Leave-topics-out numbers: no topic is judged by a ranker, or by a calibration, that saw it."""

    n_topics: int
    learned: Quality
    untrained: Quality
    calibration_error: float
    """Expected calibration error over all candidates."""
    count_error: float
    """Mean over topics of the relative error of the expected number of relevant candidates."""
    contributions: dict[str, float]
    """Mean size of what each feature adds to a score, in log-odds, largest first."""


def report(trained: Trained) -> TrainingReport:
    """The numbers of a training."""
    examples, scores = trained.examples, trained.scores()
    given = held_out_probabilities(trained, scores)
    bins = reliability_bins(np.concatenate(given), np.concatenate([example.labels for example in examples]))
    errors = [abs(p.sum() / example.labels.sum() - 1.0) for p, example in zip(given, examples, strict=True)]
    return TrainingReport(
        n_topics=len(examples),
        learned=quality(examples, scores),
        untrained=quality(examples, [example.lexical for example in examples]),
        calibration_error=bins.expected_calibration_error,
        count_error=float(np.mean(errors)),
        contributions=contributions(trained),
    )


def quality(examples: Sequence[Example], scores: Sequence[Floats]) -> Quality:
    """P@10 and R-precision of topics whose candidates are ordered by scores, ties in the order of words."""
    ranked = [
        example.labels[np.argsort(-of_topic, kind="stable")] for example, of_topic in zip(examples, scores, strict=True)
    ]
    shares = [
        labels[: example.n_relevant].sum() / example.n_relevant
        for labels, example in zip(ranked, examples, strict=True)
    ]
    return Quality(float(np.mean([labels[:10].sum() / 10 for labels in ranked])), float(np.mean(shares)))


def held_out_probabilities(trained: Trained, scores: Sequence[Floats]) -> list[Floats]:
    """Probabilities of each topic's candidates, from a calibration on the topics of the other folds."""
    settings = trained.state.calibration.settings
    given: list[Floats] = [np.empty(0)] * len(scores)
    for fold in trained.state.cross_fit.folds:
        is_held = [example.topic_id in fold.held_out for example in trained.examples]
        others = [
            (of_topic, example.labels)
            for of_topic, example, held in zip(scores, trained.examples, is_held, strict=True)
            if not held
        ]
        calibration = fit_calibration(others, settings)
        for at in np.flatnonzero(is_held).tolist():
            given[at] = predict(calibration, scores[at])
    return given


def contributions(trained: Trained) -> dict[str, float]:
    """Mean size of what each feature adds to a score, on pages of topics that the rankers did not see."""
    parts = [trained.state.cross_fit.contributions(example.topic_id, example.features) for example in trained.examples]
    means = {name: float(np.mean([np.abs(part[name]).mean() for part in parts])) for name in parts[0] if name != "base"}
    return dict(sorted(means.items(), key=lambda item: (-item[1], item[0])))
