"""The groups of a collection's pages as an alignment: dense for few groups, sparse for many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment, align
from evenrank.alignment.dimension import Dimension
from evenrank.alignment.groups import GroupSpace
from evenrank.alignment.sparse import Memberships, SparseAlignment, align_sparsely, memberships_of_masks
from evenrank.collection.collection import Collection

DENSE_ALIGNMENT = 1024
"""Largest number of groups over which page types are kept as dense rows."""


def align_pages(
    collection: Collection, rows: NDArray[np.intp], space: GroupSpace, shared: Sequence[bool], missing: int
) -> Alignment | SparseAlignment:
    """The alignment of the pages in `rows` of a collection; a row of −1, without metadata, has the mask `missing`.

    Where `shared` says so for a dimension, a page is divided between its groups: equally, or by its counts.
    """
    uses_counts = any(d.name in collection.counts and s for d, s in zip(space.dimensions, shared, strict=True))
    if space.n_groups <= DENSE_ALIGNMENT and not uses_counts:
        return align(collection.masks_of(rows, space, missing), space, shared)
    distinct, row_of_page = np.unique(rows, return_inverse=True)
    memberships = [
        _memberships(collection, distinct, dimension, is_shared, missing)
        for dimension, is_shared in zip(space.dimensions, shared, strict=True)
    ]
    return align_sparsely(memberships, space, row_of_page.reshape(-1))


def _memberships(
    collection: Collection, rows: NDArray[np.intp], dimension: Dimension, is_shared: bool, missing: int
) -> Memberships:
    """The groups of rows in one dimension; those of unknown pages are left out where they are no group."""
    masks = collection.masks[dimension.name][rows]
    masks[rows < 0] = missing
    scored = masks if dimension.has_unknown else np.right_shift(masks, 1)
    groups = memberships_of_masks(scored, len(dimension.scored_groups))
    if is_shared and dimension.name in collection.counts:
        groups = collection.counts[dimension.name].weigh(rows, groups)
    return groups.divided() if is_shared else groups
