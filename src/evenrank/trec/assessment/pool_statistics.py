"""What a pool costs and where it comes from: sizes, overlap between runs, unique contributions, hours."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.trec.assessment.pool import Pool


@dataclass(frozen=True, slots=True)
class RunShare:
    """What one run has in the pool."""

    run: str
    task: int
    n_pages: int
    """Pooled pages that the run has inside a tier."""
    n_unique: int
    """Those that no other run has there."""


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """The counts of a pool."""

    n_pages: int
    n_by_topic_and_tier: dict[int, tuple[int, ...]]
    """Pages of each topic, by tier from 1."""
    shares: tuple[RunShare, ...]
    overlap: NDArray[np.float64]
    """Run by run: pages of both ÷ pages of either (Jaccard); runs as in `shares`."""

    @property
    def n_by_tier(self) -> tuple[int, ...]:
        """Pages of all topics, by tier from 1."""
        return tuple(map(sum, zip(*self.n_by_topic_and_tier.values(), strict=True)))

    def hours(self, seconds_per_page: float, overlap_share: float = 0.0, n_judges: int = 2) -> float:
        """Projected hours of assessors, when `overlap_share` of the pages go to `n_judges` of them."""
        n_judgments = self.n_pages * (1 + overlap_share * (n_judges - 1))
        return n_judgments * seconds_per_page / 3600


def pool_statistics(pool: Pool) -> PoolStatistics:
    """The counts of `pool`."""
    sizes = {entry.topic: [0] * len(pool.tiers) for entry in pool.pages}
    for entry in pool.pages:
        sizes[entry.topic][entry.tier - 1] += 1
    unique = Counter(entry.runs[0] for entry in pool.pages if len(entry.runs) == 1)
    both = shared_pages(pool)
    n_pages = np.diagonal(both)
    shares = tuple(
        RunShare(run.name, run.task, int(n), unique[run.name]) for run, n in zip(pool.runs, n_pages, strict=True)
    )
    either = n_pages[:, None] + n_pages[None, :] - both
    overlap = np.divide(both, either, out=np.zeros(both.shape), where=either > 0)
    return PoolStatistics(len(pool.pages), {topic: tuple(n) for topic, n in sizes.items()}, shares, overlap)


def shared_pages(pool: Pool) -> NDArray[np.int64]:
    """Run by run, the number of pooled pages that both have inside a tier."""
    index = {run.name: number for number, run in enumerate(pool.runs)}
    page_by_run = np.zeros((len(pool.pages), len(pool.runs)), np.float32)
    for row, entry in enumerate(pool.pages):
        page_by_run[row, [index[name] for name in entry.runs]] = 1
    # float32 counts are exact up to 2**24 pages and go through BLAS
    both: NDArray[np.float32] = page_by_run.T @ page_by_run
    return both.astype(np.int64)
