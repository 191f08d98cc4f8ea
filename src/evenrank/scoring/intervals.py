"""Confidence intervals of a mean over topics: BCa bootstrap, digit for digit that of scipy; and of draws, pooled.

Written out here because importing scipy.stats takes longer than scoring a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenrank.core.protocol import Protocol

if TYPE_CHECKING:
    from evenrank.core.uncertainty import Uncertainty
    from evenrank.io.assumptions import Assumptions

_NORMAL = NormalDist()
DRAWS_AT_ONCE = 1 << 24
"""Values drawn together: all resamples of a hundred thousand queries at once would fill the memory."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and the bootstrap's standard error."""

    low: float
    high: float
    se: float


def read_unknown(uncertainty: str | Sequence[str], assume: Assumptions) -> tuple[tuple[str, ...], Uncertainty] | None:
    """The sources that intervals should carry, and the model of what is unknown; None where no source is named.

    A model without a source is checked all the same.
    """
    if not uncertainty and assume is None:
        return None
    from evenrank.core.uncertainty import chosen_sources
    from evenrank.io.assumptions import read_assumptions

    sources = chosen_sources(uncertainty) if uncertainty else ()
    model = read_assumptions(assume)
    return (sources, model) if sources else None


def intervals(values_of_runs: list[NDArray[np.float64]], protocol: Protocol) -> list[Interval]:
    """The interval of each run's mean; runs must come sorted by name for the digits of the published tables."""
    generators = _generators(protocol)
    return [
        bca_interval(values, next(generators), protocol.n_resamples, protocol.confidence) for values in values_of_runs
    ]


def _generators(protocol: Protocol) -> Iterator[np.random.Generator]:
    """One generator drawn on from run to run, or a fresh one with the same stream for each run."""

    def fresh() -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(protocol.interval_seed).spawn(1)[0])

    shared = fresh()
    while True:
        yield shared if protocol.interval_stream == "sequential" else fresh()


def bca_interval(
    values: NDArray[np.float64],
    rng: np.random.Generator,
    n_resamples: int = 9999,
    confidence: float = 0.95,
) -> Interval:
    """Bias-corrected and accelerated interval of the mean (Efron 1987).

    Fewer than two values, or values that are all equal, have no spread: the interval is the mean itself. With an
    infinite value there is no interval.
    """
    n_values = len(values)
    if not np.isfinite(values).all():
        return Interval(math.nan, math.nan, math.nan)
    mean = float(values.mean()) if n_values else float("nan")
    if n_values < 2 or np.ptp(values) == 0.0:
        return Interval(mean, mean, 0.0)
    step = max(1, DRAWS_AT_ONCE // n_values)
    sizes = [min(step, n_resamples - first) for first in range(0, n_resamples, step)]
    means = np.sort(np.concatenate([values[rng.integers(0, n_values, (n, n_values))].mean(axis=-1) for n in sizes]))
    bias = _NORMAL.inv_cdf(_share_below(means, mean))
    acceleration = _acceleration(values)
    tail = (1.0 - confidence) / 2
    low, high = (_adjusted(share, bias, acceleration) for share in (tail, 1.0 - tail))
    return Interval(_quantile(means, low), _quantile(means, high), float(means.std(ddof=1)))


def _quantile(ordered: NDArray[np.float64], share: float) -> float:
    """The value that a share of ordered values is below, in proportion between two; `np.percentile` to the last bit."""
    place = (100 * share / 100) * (len(ordered) - 1)
    before = math.floor(place)
    low, high = float(ordered[before]), float(ordered[min(before + 1, len(ordered) - 1)])
    part = place - before
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def _share_below(ordered: NDArray[np.float64], value: float) -> float:
    """Share of resamples below `value`, those equal to it counted half; kept inside (0, 1)."""
    below = np.searchsorted(ordered, value, "left") + np.searchsorted(ordered, value, "right")
    share = float(below) / (2 * len(ordered))
    return min(max(share, 0.5 / len(ordered)), 1.0 - 0.5 / len(ordered))


def _acceleration(values: NDArray[np.float64]) -> float:
    """Skewness of the jackknife means, over six."""
    left_out = (values.sum() - values) / (len(values) - 1)
    deviation = left_out.mean() - left_out
    return float((deviation**3).sum() / (6.0 * (deviation**2).sum() ** 1.5))


def _adjusted(share: float, bias: float, acceleration: float) -> float:
    shifted = bias + _NORMAL.inv_cdf(share)
    return _NORMAL.cdf(bias + shifted / (1.0 - acceleration * shifted))


@dataclass(frozen=True, slots=True)
class PooledInterval(Interval):
    """An interval of a mean over topics that carries what is unknown of the topics as well."""

    mean: float
    """Mean over draws and topics."""
    of_topics: float
    """Variance of the mean that comes from the sample of topics."""
    of_draws: float
    """Variance of the mean between draws."""
    freedom: float


def pooled_interval(
    values: NDArray[np.float64], confidence: float = 0.95, *, samples_topics: bool = True
) -> PooledInterval:
    """The interval of the mean over topics from values in several draws of what is unknown: draw by topic.

    Rubin's rules (1987): the variance is that of a mean over topics, averaged over draws, plus that between draws.
    Quantiles are Student's with Satterthwaite's (1946) degrees of freedom of the two parts, those of a t interval when
    topics are all that varies; those of Barnard and Rubin (1999) fall to 0 where a stated range makes up the width.
    Undefined values are left out. Without `samples_topics` the topics are all there are.
    """
    from scipy.special import stdtrit

    n_draws = len(values)
    is_defined = ~np.isnan(values)
    n_topics = is_defined.sum(axis=1)
    usable = values[n_topics > 0]
    if not len(usable) or not np.isfinite(usable[is_defined[n_topics > 0]]).all():
        return PooledInterval(*(math.nan,) * 7)
    means = np.nanmean(usable, axis=1)
    mean = float(means.mean())
    counted = np.maximum(n_topics[n_topics > 0], 1)
    spread = np.nansum((usable - means[:, None]) ** 2, axis=1) / np.maximum(counted - 1, 1) / counted
    within = float(spread.mean()) if samples_topics else 0.0
    between = float(means.var(ddof=1)) if n_draws > 1 else 0.0
    total = within + (1.0 + 1.0 / n_draws) * between
    freedom = _pooled_freedom(within, float(counted.mean()) - 1.0, total - within, n_draws - 1.0)
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * math.sqrt(total)
    return PooledInterval(mean - half, mean + half, math.sqrt(total), mean, within, between, freedom)


def _pooled_freedom(within: float, of_topics: float, between: float, of_draws: float) -> float:
    """Satterthwaite's degrees of freedom of a sum of two variances."""
    parts = within**2 / max(of_topics, 1.0) + between**2 / max(of_draws, 1.0)
    return (within + between) ** 2 / parts if parts > 0.0 else 1.0
