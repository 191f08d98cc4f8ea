"""Amortised unfairness: exposure and relevance of groups over a sequence of rankings, and their distance.

No single ranking can be fair to everybody, so that fairness is counted over all requests of a sequence (Biega, Gummadi
and Weikum 2018). The TREC 2019 Fair Ranking Track compares the groups' shares of exposure with their shares of
relevance (Biega, Diaz, Ekstrand and Kohlmeier 2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.measures.segments import sums_at


def group_shares(
    weights: Floats, sequence: NDArray[np.intp], group: NDArray[np.intp], n_sequences: int, n_groups: int
) -> Floats:
    """Share of each group in the weights of each sequence; a row per sequence, NaN where nothing has a weight.

    Each row of the input is a group of a ranked document: a group that a document has twice counts twice.
    """
    cells = sums_at(weights, sequence * n_groups + group, n_sequences * n_groups).reshape(n_sequences, n_groups)
    whole = cells.sum(axis=1, keepdims=True)
    shares = np.full_like(cells, np.nan)
    np.divide(cells, whole, out=shares, where=whole > 0.0)
    return shares


def l2_unfairness(exposure: Floats, relevance: Floats) -> Floats:
    """‖exposure − relevance‖₂ of each row: 0 where groups get the exposure that their relevance deserves."""
    return np.asarray(np.linalg.norm(exposure - relevance, axis=-1), np.float64)
