"""What is scored: rows of items inside the depth, and the pairs of system and query that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import Attention
from evenrank.core.types import Floats
from evenrank.items.ranked_items import RankedItems

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class ScoredRows:
    """What is scored: rows of items inside the depth, and the pairs of system and query that they belong to."""

    pair: Ints
    """Pair of system and query of each row, by number."""
    system: Ints
    """System of each pair."""
    query: Ints
    """Query of each pair."""
    n_rankings: Ints
    """Rankings of each pair."""
    depth: Ints
    """Ranks of each pair that are scored: `k`, or the length of its longest ranking."""
    rank: Ints
    """Rank of each row, from 0."""
    item: Ints
    weights: Floats
    """Attention by rank, as deep as anything here."""


def scored_rows(ranked: RankedItems, attention: Attention, k: int | None) -> ScoredRows:
    pairs, pair_of_ranking = np.unique(ranked.system * max(1, len(ranked.queries)) + ranked.query, return_inverse=True)
    rank = np.arange(len(ranked.items)) - np.repeat(ranked.starts[:-1], ranked.lengths)
    pair = np.repeat(pair_of_ranking.reshape(-1), ranked.lengths)
    depth = np.zeros(len(pairs), np.intp)
    np.maximum.at(depth, pair_of_ranking.reshape(-1), ranked.lengths)
    if k is not None:
        depth[:] = k
    kept = rank < depth[pair]
    return ScoredRows(
        pair=pair[kept],
        system=pairs // max(1, len(ranked.queries)),
        query=pairs % max(1, len(ranked.queries)),
        n_rankings=np.bincount(pair_of_ranking.reshape(-1), minlength=len(pairs)),
        depth=depth,
        rank=rank[kept],
        item=ranked.items[kept],
        weights=np.asarray(attention.weights(int(depth.max(initial=1))), np.float64),
    )
