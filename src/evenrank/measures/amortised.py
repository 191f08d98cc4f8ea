"""Amortised unfairness: exposure and relevance of groups over a sequence of rankings, and their distance.

No single ranking can be fair to everybody, so that fairness is counted over all requests of a sequence (Biega, Gummadi
and Weikum 2018). The TREC 2019 Fair Ranking Track compares the groups' shares of exposure with their shares of
relevance (Biega, Diaz, Ekstrand and Kohlmeier 2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats


def group_shares(
    weights: Floats, sequence: NDArray[np.intp], group: NDArray[np.intp], n_sequences: int, n_groups: int
) -> Floats:
    """Share of each group in the weights of each sequence; a row per sequence, NaN where nothing has a weight.

    Each row of the input is a group of a ranked document: a group that a document has twice counts twice.
    """
    cells = np.bincount(sequence * n_groups + group, weights, minlength=n_sequences * n_groups)
    totals = np.asarray(cells, np.float64).reshape(n_sequences, n_groups)
    whole = totals.sum(axis=1, keepdims=True)
    return np.divide(totals, whole, out=np.full_like(totals, np.nan), where=whole > 0.0)


def l2_unfairness(exposure: Floats, relevance: Floats) -> Floats:
    """‖exposure − relevance‖₂ of each row: 0 where groups get the exposure that their relevance deserves."""
    return np.sqrt(((exposure - relevance) ** 2).sum(axis=-1))
