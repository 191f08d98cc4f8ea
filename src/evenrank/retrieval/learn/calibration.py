"""Calibration: from scores of any engine to probabilities of relevance that mean what they say.

Scores of different topics live on different scales, so each topic is first described without a scale: the score
relative to the topic's best, and the logarithm of the rank. A logistic regression on the two, fitted on training
topics that all weigh the same, gives log-odds; a rising line with corners bends them to the shares that were found: a
straight line cannot fit both the few relevant pages and the thousands that are far from relevant, and a step function
would give the same probability to all of a topic's best pages. How many pages of a topic are relevant differs by three
orders of magnitude, so the prior is corrected for each topic.
Scores that are on one scale already, as learned log-odds are, keep it: how good a topic's best pages are then tells
how many of its pages are relevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.retrieval.learn.linear import expit, logistic_fit, logit

CORNERS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Where the corners are, unless said otherwise: shares of the relevant pages below them."""
FAR = 1e3
"""How far beyond the outer corners the line continues."""
MOST_OPEN = 0.999
"""Share of the candidates of uncertain relevance that can be relevant together."""
MOST_SHIFT, SHIFT_STEPS = 40.0, 60
"""How far log-odds are shifted beyond even odds, and bisection steps."""


def piecewise_linear_fit(
    scores: Floats,
    labels: Floats,
    weights: Floats,
    ridge: float,
    shares: Sequence[float] = CORNERS,
    tagging_rate: float = 1.0,
) -> tuple[Floats, Floats]:
    """Knots and log-odds at the knots; between them the line is straight. Corners are at `shares` of relevant pages."""
    relevant = scores[labels > 0.0]
    corners = np.unique(np.quantile(relevant, shares)) if len(relevant) else np.zeros(1)
    rows = _ramps(scores, corners)
    signs = np.ones(rows.shape[1], np.int64)
    signs[0] = 0
    slopes = logistic_fit(rows, labels, weights, ridge, signs, tagging_rate)
    knots = np.array([corners[0] - FAR, *corners, corners[-1] + FAR])
    return knots, np.asarray(_ramps(knots, corners) @ slopes)


def _ramps(scores: Floats, corners: Floats) -> Floats:
    """1, then how far a score goes through each stretch between corners; the coefficients are intercept and slopes."""
    stretches = [
        np.minimum(scores - corners[0], 0.0),
        *(np.clip(scores, low, high) - low for low, high in pairwise(corners)),
        np.maximum(scores - corners[-1], 0.0),
    ]
    return np.column_stack([np.ones(len(scores)), *stretches])


Scale = Literal["topic", "shared"]


@dataclass(frozen=True)
class CalibrationSettings:
    """How a calibration is fitted and applied."""

    method: Literal["piecewise-linear"] = "piecewise-linear"
    """A rising line with corners; model files name it."""
    scale: Scale = "topic"
    """`topic`: scores compare within a topic only; `shared`: the same score means the same in every topic."""
    ridge: float = 1e-2
    """Weight of the squared coefficients against the mean log-likelihood."""
    prior_strength: float = 0.1
    """How much the training prior counts when a topic's own prior is estimated, as a share of its candidates."""
    corners: tuple[float, ...] = CORNERS
    """Where a line with corners bends: shares of the relevant training pages below. Few topics support few corners."""
    tagging_rate: float = 1.0
    """Share of the relevant training pages that are labelled so; the others look like pages that are not relevant."""


@dataclass(frozen=True)
class Calibration:
    """A fitted map from the scores of a topic's candidates to probabilities."""

    settings: CalibrationSettings
    coefficients: Floats
    """Intercept, weight of the score and, for the scale `topic`, weight of the log rank."""
    prior: float
    """Share of relevant pages among the training candidates, topics weighing the same."""
    knots: Floats
    """Linear log-odds at the corners of the line."""
    values: Floats
    """Log-odds on the line, beside `knots`."""

    def log_odds(self, scores: Floats) -> Floats:
        """Log-odds of each candidate under the training prior; higher scores never get lower ones."""
        linear = calibration_features(scores, self.settings.scale) @ self.coefficients
        return np.interp(linear, self.knots, self.values)


def calibration_features(scores: Floats, scale: Scale = "topic") -> Floats:
    """Candidate by (1, score relative to the best, log rank): a topic's scores without their scale.

    Ranks are shared by equal scores. A topic whose scores are all equal gets relative score 1 throughout. On a shared
    scale, candidate by (1, score).
    """
    scores = np.asarray(scores, np.float64)
    if scale == "shared":
        return np.column_stack([np.ones(len(scores)), scores])
    rank = len(scores) - np.searchsorted(np.sort(scores), scores, side="right") + 1
    low, high = min(scores.min(initial=0.0), 0.0), scores.max(initial=0.0)
    relative = (scores - low) / (high - low) if high > low else np.ones(len(scores))
    return np.column_stack([np.ones(len(scores)), relative, np.log(rank)])


class JudgedScores(NamedTuple):
    """The scores of a training topic's candidates, whether each is relevant, and whether it was judged at all."""

    scores: Floats
    is_relevant: NDArray[np.bool_]
    is_judged: NDArray[np.bool_]

    @classmethod
    def complete(cls, scores: Floats, is_relevant: NDArray[np.bool_]) -> JudgedScores:
        """A topic all of whose candidates were judged."""
        return cls(scores, is_relevant, np.ones(len(scores), np.bool_))


def fit_calibration(
    topics: Iterable[tuple[Floats, NDArray[np.bool_]] | JudgedScores], settings: CalibrationSettings | None = None
) -> Calibration:
    """The calibration that training topics support; each is the scores of its candidates and their labels.

    Candidates that nobody judged say how good the others are beside them, and nothing about relevance. With a
    `tagging_rate` below 1, candidates are positive or unlabelled; the probabilities are still those of relevance.
    """
    settings = settings or CalibrationSettings()
    described = []
    for scores, is_relevant, *judged in topics:
        is_judged = np.asarray(judged[0], bool) if judged else np.ones(len(scores), bool)
        if is_judged.any():
            of_topic = calibration_features(np.asarray(scores, np.float64), settings.scale)[is_judged]
            described.append((of_topic, np.asarray(is_relevant, np.float64)[is_judged]))
    if not described:
        raise ValueError("calibration needs at least one topic with candidates")
    rows = np.concatenate([of_topic for of_topic, _ in described])
    labels = np.concatenate([labels for _, labels in described])
    weights = np.concatenate([np.full(len(y), 1.0 / (len(y) * len(described))) for _, y in described])
    signs = np.array([0, 1, -1])[: rows.shape[1]]
    rate = settings.tagging_rate
    coefficients = logistic_fit(rows, labels, weights, settings.ridge, signs, rate)
    knots, values = piecewise_linear_fit(rows @ coefficients, labels, weights, settings.ridge, settings.corners, rate)
    return Calibration(settings, coefficients, min(float(weights @ labels) / rate, 1.0), knots, values)


def predict(calibration: Calibration, scores: Floats, prior: float | None = None) -> Floats:
    """Probability of relevance of each candidate of one topic.

    `prior` is the topic's share of relevant candidates when it is known; otherwise it is estimated from the scores.
    """
    p = expit(calibration.log_odds(scores))
    if prior is None:
        prior = estimate_prior(p, calibration.prior, calibration.settings.prior_strength)
    return correct_prior(p, calibration.prior, prior)


def correct_prior(p: Floats, old: float, new: float) -> Floats:
    """Probabilities under prior `new` instead of `old`: the odds are multiplied by the ratio of the prior odds."""
    shift = logit(np.array([new]), 1e-9) - logit(np.array([old]), 1e-9)
    return expit(logit(p, 1e-12) + shift)


def shift_to_sum(p: Floats, total: float) -> Floats:
    """Probabilities whose log-odds are all shifted by what makes them sum to `total`, or to nearly as many as there
    are; what is impossible or certain stays so."""
    is_open = (p > 0.0) & (p < 1.0)
    n_open = int(is_open.sum())
    wanted = min(total - float(p[~is_open].sum()), MOST_OPEN * n_open)
    if not n_open or wanted <= 0.0:
        return p
    odds = np.log(p[is_open]) - np.log1p(-p[is_open])
    low, high = -float(odds.max()) - MOST_SHIFT, MOST_SHIFT - float(odds.min())
    for _ in range(SHIFT_STEPS):
        middle = 0.5 * (low + high)
        is_low = float((1.0 / (1.0 + np.exp(-odds - middle))).sum()) < wanted
        low, high = (middle, high) if is_low else (low, middle)
    shifted = p.copy()
    shifted[is_open] = 1.0 / (1.0 + np.exp(-odds - high))
    return shifted


def stretch_to_sum(p: Floats, total: float) -> Floats:
    """Probabilities stretched or compressed along their ranks so that they sum to `total`.

    A topic with a tenth of the relevant pages has the same curve in a tenth of the ranks: its best pages are as likely
    to be relevant as those of a large topic, and the probabilities fall ten times as fast. Equal shifts of all log-odds
    would make them flat and small instead. What an end of the list cuts off is made up for by a shift.
    """
    expected = float(p.sum())
    if not expected > 0.0 or not total > 0.0:
        return p
    order = np.argsort(-p, kind="stable")
    ranks = np.arange(len(p)) + 0.5
    stretched = np.empty_like(p)
    stretched[order] = np.interp(ranks * (expected / total), ranks, p[order])
    return shift_to_sum(stretched, total)


def estimate_prior(p: Floats, prior: float, strength: float, n_rounds: int = 100) -> float:
    """A topic's own prior from its probabilities under the training prior, by expectation maximisation.

    The expectation step of Saerens, Latinne and Decaestecker (2002), with the training prior as `strength · n`
    further pages in the maximisation step, which keeps small topics from running to 0 or 1.
    """
    current = prior
    for _ in range(n_rounds if len(p) else 0):
        mean = float(correct_prior(p, prior, current).mean())
        following = (mean + strength * prior) / (1.0 + strength)
        if abs(following - current) < 1e-9:
            break
        current = following
    return current


@dataclass(frozen=True)
class ReliabilityBins:
    """The reliability diagram as numbers, one entry per filled bin."""

    mean_probability: Floats
    share_relevant: Floats
    n_pages: NDArray[np.int64]

    @property
    def expected_calibration_error(self) -> float:
        """Mean distance between probability and share of relevant pages, bins weighted by their pages."""
        if not self.n_pages.sum():
            return 0.0
        gaps = np.abs(self.mean_probability - self.share_relevant)
        return float(np.average(gaps, weights=self.n_pages))


def reliability_bins(probabilities: Floats, labels: NDArray[np.bool_], n_bins: int = 10) -> ReliabilityBins:
    """Bins of equal width over [0, 1] that hold at least one page."""
    position = np.minimum((probabilities * n_bins).astype(np.intp), n_bins - 1)
    counts = np.bincount(position, minlength=n_bins)
    filled = counts > 0
    means = np.bincount(position, probabilities, n_bins)[filled] / counts[filled]
    shares = np.bincount(position, np.asarray(labels, np.float64), n_bins)[filled] / counts[filled]
    return ReliabilityBins(means, shares, counts[filled].astype(np.int64))
