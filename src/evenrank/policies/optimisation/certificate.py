"""Certificates of `optimal`: how far a list or a sequence of lists is, at most, from the best there is (its gap)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.expected_loss import (
    ExposureProblem,
    LeastLoss,
    distance_bound,
    mean_exposure,
)

ROUNDING_ERROR = 1e-9
"""Relative error that floating-point arithmetic may make in a score or a bound."""


NO_SCORE = 1e-9
"""A bound below this means that no ranking can score."""


class BoundError(RuntimeError):
    """A score above its proven bound: an error in this program, never in its input."""


@dataclass(frozen=True)
class DepthProof:
    """What is known of one depth, scores in units of the most relevant ranking's nDCG at that depth."""

    depth: int
    score: float
    """Of the first `depth` ranks of the list."""
    upper_bound: float
    """No ranking of that depth has a higher score."""
    relaxed: float
    """Score of the best mixture of rankings found."""
    relevance_share: float
    """Discounted relevance, relative to the order by relevance."""
    awrf: float
    n_iterations: int

    @property
    def gap(self) -> float:
        """How far the list can be from the best one for this depth alone, as a share of the bound."""
        return (self.upper_bound - self.score) / self.upper_bound if self.upper_bound > NO_SCORE else 0.0


def certify_list(proofs: Sequence[DepthProof], depth_weights: Sequence[float]) -> dict[str, float]:
    """What is proven: for the whole list, for the mixture over depths, and for each depth.

    Scores are in units of the most relevant ranking's nDCG; `gap` and `rounding` are shares of the bound. `relaxed` is
    the score of the best mixture of rankings found, `rounding` what the list misses of it. The bound of the mixture
    over depths is the weighted sum of the bounds: no list exceeds it, but none need attain it.
    """
    whole, weights = proofs[-1], np.array(depth_weights)
    certificate = {
        "score": whole.score,
        "upper_bound": whole.upper_bound,
        "gap": whole.gap,
        "relaxed": whole.relaxed,
        "rounding": (whole.relaxed - whole.score) / (whole.upper_bound or 1.0),
        "relevance_share": whole.relevance_share,
        "AWRF": whole.awrf,
        "n_iterations": float(sum(proof.n_iterations for proof in proofs)),
        "mixture_score": float(weights @ [proof.score for proof in proofs]),
        "mixture_bound": float(weights @ [proof.upper_bound for proof in proofs]),
    }
    for proof, weight in zip(proofs, weights, strict=True):
        certificate |= {
            f"weight@{proof.depth}": float(weight),
            f"score@{proof.depth}": proof.score,
            f"upper_bound@{proof.depth}": proof.upper_bound,
            f"gap@{proof.depth}": proof.gap,
            f"relevance_share@{proof.depth}": proof.relevance_share,
            f"AWRF@{proof.depth}": proof.awrf,
        }
    return certificate


def certify_sequence(
    loss: ExposureProblem, unreachable: float, positions: NDArray[np.intp], best: LeastLoss | None = None
) -> dict[str, float]:
    """How far the sequence is from the best stochastic policy; EE-L is that of the groups as they are expected to be.

    `unreachable` is the loss of groups that no candidate is in. Without `best` relevance alone counts, and the
    rankings are the best there are.
    """
    exposure = mean_exposure(positions, loss.discounts, len(loss.gain))
    value = loss.loss(exposure)
    best = best or LeastLoss(exposure, value, value, 0)
    return {
        "objective": value + unreachable,
        "lower_bound": best.lower_bound + unreachable,
        "gap": value - best.lower_bound,
        "rounding": value - best.loss,
        "EE-L": loss.group_loss(exposure) + unreachable,
        "EE-L_lower_bound": distance_bound(loss, exposure) + unreachable,
        "n_pages_shown": float(len(np.unique(positions))),
        "n_distinct": float(len(np.unique(positions, axis=0))),
        "n_iterations": float(best.n_iterations),
    }
