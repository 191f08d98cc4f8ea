"""How many pages of a topic are relevant: an estimate with its uncertainty.

The sum of a topic's probabilities says how many relevant pages to expect; how far off such sums were on training
topics says how sure that is. Chance sets a limit: of pages with some probability, the number that is relevant varies
like a Poisson number, however alike the training topics were. The width of the interval is then set so that it covers
training topics as often as it promises, within bounds, because they may be more alike than others. What is known of the
topic itself, a judged sample or the size of its project, narrows it down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.retrieval.learn.linear import expit, logit

LEVEL = 0.8
"""Probability that the number lies in the interval."""
SIZE_DEVIATION = 0.25
"""Standard deviation of the logarithm of a project's size as it is known: lists are never quite up to date."""
SLOPE_EVIDENCE = 30.0
"""How much speaks for a slope of 1 from the start, as a sum of squared deviations of log sums of probabilities."""
WIDTHS = (0.9, 1.5)
"""How far training topics may narrow and widen the interval."""
STRONG = 0.3
"""Score, as a share of the topic's best, from which a page is a strong match."""
CLEAR = 1.645
"""Deviations by which one prediction is nearer for more topics than the other when it is clearly better: 95 % of what
chance does."""
N_CASES = 399
"""Equally likely cases that stand for the distribution of the number."""


class RelevantCount(NamedTuple):
    """The number of relevant pages of a topic, found or not."""

    median: float
    low: float
    """The number is below this in about 10 % of the cases; rounded, as counts are."""
    high: float
    """The number is above this in about 10 % of the cases; rounded."""


@dataclass(frozen=True)
class CountModel:
    """log(n + ½) = intercept + slope · log(s + ½) + residual, for n relevant pages and a sum s of probabilities."""

    intercept: float
    slope: float
    residuals: Floats
    """Residuals of the training topics, ascending; each from a fit that did not see its topic."""
    chance: float = 0.0
    """Mean variance of the residuals that chance explains: 1/n for a Poisson number n."""
    width: float = 1.0
    """Factor of the deviation at which the interval covers training topics as often as it promises."""

    def deviation(self, n_expected: float) -> float:
        """Standard deviation of the logarithm for a topic with so many relevant pages: the topic's own, and chance."""
        own = max(float(self.residuals.var()) - self.chance, 0.0)
        return float(np.sqrt(own + 1.0 / (n_expected + 0.5)))


def fit_count(sums: Sequence[float], n_relevant: Sequence[int], topic_ids: Sequence[int]) -> CountModel:
    """The model that training topics support; a topic may be there in several forms."""
    x, y = _log(sums), _log(n_relevant)
    form_counts = Counter(topic_ids)
    weights = np.array([1.0 / form_counts[topic] for topic in topic_ids])
    expected = _held_out(x, y, weights, np.asarray(topic_ids))
    chance = float(np.average(np.exp(-expected), weights=weights)) if len(x) else 0.0
    free = CountModel(*_line(x, y, weights), np.sort(y - expected), chance)
    return replace(free, width=_fitted_width(free, expected, np.asarray(n_relevant, np.float64), weights))


def _log(numbers: Sequence[float]) -> Floats:
    return np.asarray(np.log(np.asarray(numbers, np.float64) + 0.5))


def _held_out(x: Floats, y: Floats, weights: Floats, topics: NDArray[np.int64]) -> Floats:
    """What is expected of each topic by the line through the others."""
    expected = np.empty(len(x))
    for topic in np.unique(topics):
        is_held = topics == topic
        intercept, slope = _line(x[~is_held], y[~is_held], weights[~is_held])
        expected[is_held] = intercept + slope * x[is_held]
    return expected


def n_strong(scores: Floats) -> float:
    """How many pages match a topic strongly, by untrained scores of any scale."""
    above_least = scores - min(float(scores.min(initial=0.0)), 0.0)
    return float(np.count_nonzero(above_least >= STRONG * above_least.max(initial=0.0)))


def count_by_strength(
    scores: Sequence[Floats], sums: Sequence[float], n_relevant: Sequence[int], topic_ids: Sequence[int]
) -> CountModel | None:
    """The number of relevant pages from the number of strong matches, unless the sums of their probabilities are nearer
    for clearly more than half of the held-out topics (a sign test, as single topics are far off for either).

    Where training topics have about the same number of relevant pages, their probabilities go by rank, and a topic
    with forty times fewer or more gets the same ones. Such sums predict topics like the training topics well, and no
    others; how many pages match nearly as well as the best one is seen in the topic itself. So where held-out topics
    cannot tell the two apart, the strong matches decide.
    """
    if not any(n_relevant):
        return None
    strong = [n_strong(of_topic) for of_topic in scores]
    y, weights, topics = _log(n_relevant), np.ones(len(topic_ids)), np.asarray(topic_ids)
    by_strength, by_sum = (np.abs(y - _held_out(_log(x), y, weights, topics)) for x in (strong, sums))
    lead = float(np.sign(by_strength - by_sum).sum())
    return None if lead > CLEAR * np.sqrt(len(topics)) else fit_count(strong, n_relevant, topic_ids)


def _fitted_width(model: CountModel, expected: Floats, n_relevant: Floats, weights: Floats) -> float:
    """The width at which intervals around what was expected without a topic cover the share of topics promised."""
    if not len(expected):
        return 1.0
    low, middle, high = (float(_quantiles(model, np.array([q]))[0]) for q in (0.5 - LEVEL / 2, 0.5, 0.5 + LEVEL / 2))
    centre = expected + middle
    unit = np.array([model.deviation(float(np.exp(at))) for at in centre]) / max(float(model.residuals.std()), 1e-9)
    above = (np.log(np.maximum(n_relevant, 1e-9)) - centre) / np.maximum(
        unit * (high - middle), 1e-9
    )  # ends are rounded
    below = (centre - np.log(n_relevant + 1.0)) / np.maximum(unit * (middle - low), 1e-9)
    needed = np.maximum(above, below)
    order = np.argsort(needed, kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    level = min(LEVEL * (1.0 + 1.0 / weights.sum()), 1.0)  # a new topic is one more
    at = min(int(np.searchsorted(shares, level - 1e-9)), len(order) - 1)
    return float(np.clip(needed[order[at]], *WIDTHS))


def _quantiles(model: CountModel, levels: Floats) -> Floats:
    """Quantiles of the residuals; a new topic is one more, so the tails are wider."""
    n = len(model.residuals)
    known = (np.arange(n) + 0.5) / n
    widened = np.clip((levels - 0.5) * (n + 1) / n + 0.5, 0.0, 1.0)
    return np.asarray(np.interp(widened, known, model.residuals))


def _line(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """Intercept and slope by weighted least squares, drawn towards a slope of 1.

    Where all training topics have about the same number of relevant pages, they say nothing about the slope, and a
    topic with half the probabilities has half the relevant pages.
    """
    if not len(x):
        return 0.0, 1.0
    x_mean, y_mean = np.average(x, weights=weights), np.average(y, weights=weights)
    dx, dy = x - x_mean, y - y_mean
    slope = float((weights @ (dx * dy) + SLOPE_EVIDENCE) / (weights @ (dx * dx) + SLOPE_EVIDENCE))
    return float(y_mean - slope * x_mean), slope


def estimate_count(
    model: CountModel,
    probabilities: Floats,
    judged: Sequence[tuple[int, bool]] = (),
    project_size: int | None = None,
) -> RelevantCount:
    """The number of relevant pages of a topic, from the probabilities of its candidates.

    `judged` are positions of candidates with what a person said of them; `project_size` is the number of pages that
    the topic's project has.
    """
    cases = _cases(model, float(probabilities.sum()), project_size)
    weights = _likelihoods(probabilities, cases, judged) if judged else np.ones(len(cases))
    n_known = sum(is_relevant for _, is_relevant in judged)
    order = np.argsort(cases, kind="stable")
    levels = np.cumsum(weights[order]) / weights.sum() - 0.5 * weights[order] / weights.sum()
    tail = (1.0 - LEVEL) / 2.0
    low, median, high = np.interp([tail, 0.5, 1.0 - tail], levels, cases[order])
    ends = (median, min(np.round(low), median), max(np.round(high), median))
    return RelevantCount(*(max(float(value), float(n_known)) for value in ends))


def _cases(model: CountModel, total: float, project_size: int | None) -> Floats:
    """Equally likely numbers of relevant pages."""
    levels = (np.arange(N_CASES) + 0.5) / N_CASES
    if project_size is not None:
        from statistics import NormalDist

        deviations = np.array([NormalDist().inv_cdf(level) for level in levels.tolist()])
        return np.asarray(project_size * np.exp(SIZE_DEVIATION * deviations))
    residuals = _quantiles(model, levels)
    middle = float(np.median(model.residuals))
    centre = model.intercept + model.slope * np.log(total + 0.5) + middle
    factor = model.width * model.deviation(float(np.exp(centre))) / max(float(model.residuals.std()), 1e-9)
    return np.asarray(np.maximum(np.exp(centre + factor * (residuals - middle)) - 0.5, 0.0))


def _likelihoods(probabilities: Floats, cases: Floats, judged: Sequence[tuple[int, bool]]) -> Floats:
    """How well each number explains the judgments, when it moves the log-odds of all pages alike."""
    log_odds = logit(probabilities, 1e-6)
    shifts = np.linspace(-8.0, 8.0, 321)
    totals = np.array([expit(log_odds + shift).sum() for shift in shifts])
    shift = np.interp(cases, totals, shifts)
    at = np.array([position for position, _ in judged])
    is_relevant = np.array([found for _, found in judged])
    p = expit(log_odds[at][None, :] + shift[:, None])
    log_likelihood = np.log(np.where(is_relevant[None, :], p, 1.0 - p) + 1e-12).sum(axis=1)
    return np.asarray(np.exp(log_likelihood - log_likelihood.max()))
