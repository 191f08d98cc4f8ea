"""Measures of readers who go down a ranking and stop at a document that serves them.

Every function takes the rankings of many queries as flat arrays (see `segments`). `stop` is the chance that a reader
stops at a document after reading it; the chance that a reader gets as far as rank i is Π_{j<i} (1 − stop_j).

- ERR, expected reciprocal rank: Chapelle, Metzler, Zhang and Grinspan 2009.
- iRBU, intentwise rank-biased utility: Amigó, Spina and Carrillo-de-Albornoz 2018; Sakai and Zeng 2019.
- GF, group fairness, and GFR, its mean with relevance: Sakai, Kim and Kang 2023 (ACM TOIS 41(1)), which NTCIR FairWeb
  uses; JSD is for nominal groups, NMD and RNOD are for ordinal ones.
- Expected utility with a patience: Biega, Diaz, Ekstrand and Kohlmeier 2020 (TREC 2019 Fair Ranking Track).
"""

from __future__ import annotations

import numpy as np

from evenrank.core.types import Floats
from evenrank.measures.segments import Offsets, ranks, running, shifted, sums

IRBU_PERSISTENCE = 0.99
"""Of iRBU, as NTCIR FairWeb sets it."""


def stop_chances(gains: Floats, largest_gain: float) -> Floats:
    """Gain / (largest gain + 1), the chance that a reader stops: below 1 even for the best documents."""
    return gains / (largest_gain + 1.0)


def reach_chances(stop: Floats, offsets: Offsets) -> Floats:
    """The chance that a reader gets as far as each document: nobody stopped above it."""
    return shifted(running(np.multiply, 1.0 - stop, offsets), offsets, 1.0)


def stopping_chances(stop: Floats, offsets: Offsets) -> Floats:
    """The chance that a reader gets as far as each document and stops there; over a ranking they sum to at most 1."""
    return reach_chances(stop, offsets) * stop


def stopping_with_patience(stop: Floats, offsets: Offsets, patience: float) -> Floats:
    """The same for readers who also give up: at each rank a reader continues with the chance `patience`."""
    return patience ** ranks(offsets) * reach_chances(stop, offsets) * stop


def expected_utility(stop: Floats, offsets: Offsets, patience: float) -> Floats:
    """The chance that a reader with a patience is served: Σ_i γ^i c_i s_i, ranks from 0."""
    return sums(stopping_with_patience(stop, offsets, patience), offsets)


def expected_reciprocal_rank(stop: Floats, offsets: Offsets, depth: int | None = None) -> Floats:
    """ERR of each ranking: the mean of 1 / (rank at which a reader stops), and 0 for readers who never stop."""
    at = 1.0 + ranks(offsets)
    return _sum_to_depth(stopping_chances(stop, offsets) / at, offsets, depth)


def irbu(stop: Floats, offsets: Offsets, persistence: float = IRBU_PERSISTENCE, depth: int | None = None) -> Floats:
    """iRBU of each ranking: Σ_i p^i c_i s_i, ranks from 1. What a reader finds counts less the further down it is."""
    at = 1.0 + ranks(offsets)
    return _sum_to_depth(persistence**at * stopping_chances(stop, offsets), offsets, depth)


def group_fairness(stop: Floats, divergence: Floats, offsets: Offsets, depth: int | None = None) -> Floats:
    """GF of each ranking: the mean of 1 − divergence at the rank where a reader stops, 0 for readers who never stop.

    `divergence` is that of the shares of groups down to each rank (`running_shares`) from the target.
    """
    return _sum_to_depth(stopping_chances(stop, offsets) * (1.0 - divergence), offsets, depth)


def _sum_to_depth(values: Floats, offsets: Offsets, depth: int | None) -> Floats:
    if depth is not None:
        values = np.where(ranks(offsets) < depth, values, 0.0)
    return sums(values, offsets)


def running_shares(shares: Floats, offsets: Offsets) -> Floats:
    """Mean of the groups' shares over the documents down to each rank, relevant or not; a row per document."""
    return running(np.add, shares, offsets) / (1.0 + ranks(offsets))[:, None]


def jensen_shannon(shares: Floats, target: Floats) -> Floats:
    """JSD of each row of shares from the target in bits, for nominal groups; neither is divided by its sum."""
    middle = (shares + target) / 2.0
    return (_relative_entropy(shares, middle) + _relative_entropy(target, middle)) / 2.0


def _relative_entropy(p: Floats, q: Floats) -> Floats:
    """Σ p log2(p / q) over the last axis; groups of which p has nothing add nothing."""
    p = np.broadcast_to(p, q.shape)
    ratio = np.divide(p, q, out=np.ones_like(q), where=p > 0.0)
    return np.asarray((p * np.log2(ratio)).sum(axis=-1), np.float64)


def normalised_match_distance(shares: Floats, target: Floats) -> Floats:
    """NMD of each row of shares from the target, for ordinal groups: Σ |cumulated difference| / (groups − 1).

    At the last group the difference is that of the sums; where items without a group leave part of the shares empty,
    it is not part of a distance between distributions, and does not count.
    """
    gaps = np.abs(np.cumsum(shares, axis=-1) - np.cumsum(target, axis=-1))[..., :-1]
    return np.asarray(gaps.sum(axis=-1) / (shares.shape[-1] - 1), np.float64)


def ordinal_divergence(shares: Floats, target: Floats) -> Floats:
    """RNOD of each row of shares from the target, for ordinal groups: √(OD / (groups − 1)).

    OD is the mean over the groups g that are wanted of Σ_h |g − h| (share_h − target_h)².
    """
    places = np.arange(shares.shape[-1])
    distance = np.abs(places[:, None] - places)
    weights = distance[target > 0.0].mean(axis=0)
    squares = (shares - target) ** 2
    return np.asarray(np.sqrt((squares * weights).sum(axis=-1) / (shares.shape[-1] - 1)), np.float64)


DIVERGENCES = {"JSD": jensen_shannon, "NMD": normalised_match_distance, "RNOD": ordinal_divergence}
"""Divergences of GF by name; the first is for nominal groups, the others are for ordinal ones."""
ORDINAL = ("NMD", "RNOD")
