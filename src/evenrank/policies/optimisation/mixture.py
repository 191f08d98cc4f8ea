"""A mixture of rankings: what a stochastic policy is, seen through the outcome of each ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Mixture:
    """Rankings with weights. The outcome of a ranking is its exposure of each group, and last its relevance."""

    rankings: tuple[NDArray[np.intp], ...]
    """Positions of pages, rank 1 first."""
    outcomes: NDArray[np.float64]
    """Ranking by outcome."""
    weights: NDArray[np.float64]
    """Share of each ranking; sums to 1."""

    @classmethod
    def of(cls, ranking: NDArray[np.intp], outcome: NDArray[np.float64]) -> Mixture:
        """The mixture of a single ranking."""
        return cls((ranking,), outcome[None, :], np.ones(1))

    @property
    def outcome(self) -> NDArray[np.float64]:
        """Expected outcome."""
        return np.asarray(self.weights @ self.outcomes)

    def joined(self, ranking: NDArray[np.intp], outcome: NDArray[np.float64], weight: float = 0.0) -> Mixture:
        """The same mixture with one more ranking, of share `weight`."""
        weights = np.append(self.weights * (1.0 - weight), weight)
        return Mixture((*self.rankings, ranking), np.vstack([self.outcomes, outcome]), weights)

    def reweighted(self, weights: NDArray[np.float64]) -> Mixture:
        """Other shares for the same rankings; those left without any are dropped."""
        kept = np.flatnonzero(weights > 0.0)
        return Mixture(tuple(self.rankings[i] for i in kept), self.outcomes[kept], weights[kept] / weights[kept].sum())
