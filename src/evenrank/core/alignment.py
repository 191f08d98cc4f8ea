"""Pages → group weights: the paper's alignment matrix, kept as few distinct rows and an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace

TABLE_LIMIT = 1 << 20
"""Codes below this are distinguished by a table instead of by sorting."""


@dataclass(frozen=True)
class Alignment:
    """The alignment of a list of pages: page i has row `rows[page_type[i]]`.

    Pages share a few hundred distinct rows, so sums over pages are a bincount and a small product.
    """

    rows: NDArray[np.float64]
    """Distinct rows: type by group."""
    page_type: NDArray[np.intp]
    """Row number of each page."""

    def __len__(self) -> int:
        return len(self.page_type)

    @property
    def n_groups(self) -> int:
        return int(self.rows.shape[1])

    @cached_property
    def is_identity(self) -> bool:
        """Whether the rows are those of the identity: sums over types are sums over groups, without a product."""
        n_types, n_groups = self.rows.shape
        is_square = n_types == n_groups == np.count_nonzero(self.rows)
        return bool(is_square and np.all(self.rows.diagonal() == 1.0))

    def total(self, weights: NDArray[np.floating] | None = None) -> NDArray[np.float64]:
        """Weighted sum of the rows of all pages (A^T w)."""
        counts = np.bincount(self.page_type, weights, minlength=len(self.rows))
        return np.asarray(counts @ self.rows, np.float64)

    def dense(self) -> NDArray[np.float64]:
        """The full matrix: page by group."""
        return self.rows[self.page_type]

    def take(self, positions: NDArray[np.integer]) -> Alignment:
        """The alignment of some of the pages, in the order asked for."""
        return Alignment(self.rows, self.page_type[positions])


def align(masks: Sequence[NDArray[np.unsignedinteger]], space: GroupSpace, normalise: Sequence[bool]) -> Alignment:
    """The alignment of pages with the given masks, one mask array per dimension of `space`.

    A row is the outer product of the page's memberships in each dimension: multi-hot, or divided by the number
    of groups the page is in where `normalise` says so for that dimension. A mask of 0 gives a row of zeros.
    """
    rows = np.ones((1, 1))
    page_type = np.zeros(len(masks[0]), np.intp)
    for mask, dimension, divide in zip(masks, space.dimensions, normalise, strict=True):
        n_groups = len(dimension.scored_groups)
        scored = mask if dimension.has_unknown else mask >> 1
        values, value_of_page = distinct_codes(scored, 1 << n_groups)
        pairs, page_type = distinct_codes(page_type * len(values) + value_of_page, len(rows) * len(values))
        members = _memberships(values, n_groups, divide)
        before, after = rows[pairs // len(values)], members[pairs % len(values)]
        rows = (before[:, :, None] * after[:, None, :]).reshape(len(pairs), before.shape[1] * after.shape[1])
    return Alignment(rows, page_type)


def distinct_codes(codes: NDArray[np.integer], limit: int) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """The codes that occur, ascending, and the number of each page's code among them; all are below `limit`."""
    if limit > TABLE_LIMIT or len(codes) < limit >> 4:
        found, number_of_page = np.unique(codes, return_inverse=True)
        return found.astype(np.int64), number_of_page.reshape(-1)
    found = np.flatnonzero(np.bincount(codes, minlength=limit))
    number = np.zeros(limit, np.intp)
    number[found] = np.arange(len(found))
    return found, number[codes]


def _memberships(masks: NDArray[np.int64], n_groups: int, divide: bool) -> NDArray[np.float64]:
    """Masks → multi-hot rows, divided by their sum when asked."""
    hot = ((masks[:, None] >> np.arange(n_groups)) & 1).astype(np.float64)
    return hot / np.maximum(hot.sum(axis=1, keepdims=True), 1.0) if divide else hot
