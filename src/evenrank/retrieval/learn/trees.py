"""A sum of small decision trees, fitted elsewhere: numbers in a file, evaluated for many rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats


class Trees(NamedTuple):
    """A sum of small decision trees over columns of numbers, which is the log-odds; nodes below 0 are leaves."""

    columns: tuple[str, ...]
    column: NDArray[np.intp]
    threshold: Floats
    below: NDArray[np.intp]
    """The node for numbers up to the threshold; `~leaf` for a leaf."""
    above: NDArray[np.intp]
    leaves: Floats

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Trees:
        """Trees as the file has them: of each its nodes, and the values of its leaves."""
        n_nodes = max(len(tree["nodes"]) for tree in record["trees"])
        n_leaves = n_nodes + 1
        nodes = np.zeros((len(record["trees"]), n_nodes, 4))
        leaves = np.zeros((len(record["trees"]), n_leaves))
        for number, tree in enumerate(record["trees"]):
            nodes[number, : len(tree["nodes"])] = tree["nodes"]
            leaves[number, : len(tree["leaves"])] = tree["leaves"]
        column, below, above = (nodes[:, :, at].astype(np.intp) for at in (0, 2, 3))
        return cls(tuple(record["columns"]), column, nodes[:, :, 1], below, above, leaves)

    def chances(self, rows: Floats) -> Floats:
        """The probability that each row stands for."""
        trees = np.arange(len(self.column))
        at = np.zeros((len(rows), len(trees)), np.intp)
        pages = np.arange(len(rows))[:, None]
        while (inner := at >= 0).any():
            node = np.maximum(at, 0)
            is_below = rows[pages, self.column[trees, node]] <= self.threshold[trees, node]
            at = np.where(inner, np.where(is_below, self.below[trees, node], self.above[trees, node]), at)
        scores = self.leaves[trees, ~at].sum(axis=1)
        return np.asarray(1.0 / (1.0 + np.exp(-scores)))
