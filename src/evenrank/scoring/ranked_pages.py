"""The scored part of a run: pages cut at the protocol's depth, and their groups as an alignment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment, align
from evenrank.core.groups import UNKNOWN_MASK, Dimension, GroupSpace
from evenrank.core.protocol import Protocol
from evenrank.core.records import Run, no_pages
from evenrank.core.sparse import Memberships, SparseAlignment, align_sparsely, memberships_of_masks
from evenrank.errors import Fault, InputError
from evenrank.trec.collection import Collection


@dataclass(frozen=True)
class RankedPages:
    """Pages of one topic that are scored, ranking after ranking."""

    pages: NDArray[np.int32]
    ranks: NDArray[np.intp]
    """Rank of each page, from 0."""
    rankings: NDArray[np.intp]
    """Number of the ranking that each page is in, from 0."""
    n_rankings: int
    alignment: Alignment | SparseAlignment


def scored_pages(
    run: Run,
    collection: Collection,
    protocol: Protocol,
    space: GroupSpace,
    rows: NDArray[np.intp] | None = None,
) -> dict[int, RankedPages]:
    """The scored pages of a run by topic; `rows` are those of all its pages, if they are known already."""
    _refuse_long(run, protocol)
    depth = protocol.task1_depth if run.task == 1 else protocol.task2_depth
    last = None if run.task == 1 else protocol.task2_rankings
    keep = np.ones(run.n_rankings, bool) if last is None else run.repeats <= last
    lengths: NDArray[np.integer] = np.where(keep, np.diff(run.starts), 0)
    lengths = lengths if depth is None else np.minimum(lengths, depth)
    ranking_of = np.repeat(np.arange(run.n_rankings), lengths)
    firsts = np.cumsum(lengths) - lengths
    ranks = np.arange(len(ranking_of)) - np.repeat(firsts, lengths)
    scored = run.starts[ranking_of] + ranks
    pages = run.pages[scored]
    if protocol.repeated_page == "rejected" and count_repeats(pages, lengths):
        _refuse_repeated(run, pages, ranking_of)
    rows = collection.rows_of(pages) if rows is None else rows[scored]
    missing = UNKNOWN_MASK if protocol.unlisted_page == "unknown" else 0
    alignment = align_pages(collection, rows, space, protocol, missing)
    by_topic = {}
    for topic in dict.fromkeys(run.topic_ids[keep].tolist()):
        chosen = np.flatnonzero(keep & (run.topic_ids == topic))
        n_pages = lengths[chosen]
        shift = firsts[chosen] - (np.cumsum(n_pages) - n_pages)
        places = np.arange(n_pages.sum()) + np.repeat(shift, n_pages)
        by_topic[topic] = RankedPages(
            pages=pages[places],
            ranks=ranks[places],
            rankings=np.repeat(np.arange(len(chosen)), n_pages),
            n_rankings=len(chosen),
            alignment=alignment.take(places),
        )
    return by_topic


def unranked(collection: Collection, space: GroupSpace, protocol: Protocol) -> RankedPages:
    """The pages of a topic that a run does not answer."""
    none = np.empty(0, np.intp)
    return RankedPages(no_pages(), none, none, 0, align_pages(collection, none, space, protocol))


def _refuse_long(run: Run, protocol: Protocol) -> None:
    """InputError when a Task 1 ranking is longer than the protocol allows."""
    longest = protocol.task1_length
    too_long = np.flatnonzero(np.diff(run.starts) > longest)
    if run.task != 1 or protocol.longer_ranking != "rejected" or len(too_long) == 0:
        return
    faults = [
        Fault(
            run.name,
            0,
            f"topic {run.topic_ids[ranking]}: {run.starts[ranking + 1] - run.starts[ranking]:,} pages",
            f"{protocol.name} takes at most {longest}; `--set longer_ranking=cut` scores the first of them",
        )
        for ranking in too_long[:20].tolist()
    ]
    raise InputError(faults, len(too_long) - len(faults))


def count_repeats(pages: NDArray[np.int32], lengths: NDArray[np.integer]) -> int:
    """How many pages have appeared before in their ranking; rankings of those lengths follow each other."""
    lengths = lengths[lengths > 0]
    # Alike in nearly every run, and rows of a table are sorted faster than one long array.
    if len(lengths) and (lengths == lengths[0]).all():
        table = np.sort(pages.reshape(len(lengths), -1), axis=1)
        return int((table[:, 1:] == table[:, :-1]).sum())
    keys = np.sort(np.repeat(np.arange(len(lengths)), lengths) << 32 | pages)
    return int((keys[1:] == keys[:-1]).sum())


def _refuse_repeated(run: Run, pages: NDArray[np.int32], ranking_of: NDArray[np.intp]) -> None:
    """InputError with the pages that appear twice in a ranking."""
    key = ranking_of.astype(np.int64) << 32 | pages
    distinct, counts = np.unique(key, return_counts=True)
    repeated = distinct[counts > 1]
    faults = []
    for value in repeated[:20].tolist():
        ranking = value >> 32
        where = f"topic {run.topic_ids[ranking]}" + (f", ranking {run.repeats[ranking]}" if run.task == 2 else "")
        faults.append(
            Fault(run.name, 0, f"{where}: page {value & 0xFFFFFFFF} appears twice", "`evenrank run check` gives lines")
        )
    raise InputError(faults, len(repeated) - len(faults))


DENSE_ALIGNMENT = 1024
"""Largest number of groups over which page types are kept as dense rows."""


def align_pages(
    collection: Collection, rows: NDArray[np.intp], space: GroupSpace, protocol: Protocol, missing: int = 0
) -> Alignment | SparseAlignment:
    """The alignment of the pages in `rows` of a collection; a row of −1, without metadata, has the mask `missing`.

    In a dimension that the protocol normalises, a page is divided between its groups: equally, or by its counts.
    """
    shared = [protocol.normalises(dimension.name) for dimension in space.dimensions]
    uses_counts = any(d.name in collection.counts and s for d, s in zip(space.dimensions, shared, strict=True))
    if space.n_groups <= DENSE_ALIGNMENT and not uses_counts:
        return align(collection.masks_of(rows, space, missing), space, shared)
    return align_pages_sparsely(collection, rows, space, protocol, missing)


def align_pages_sparsely(
    collection: Collection, rows: NDArray[np.intp], space: GroupSpace, protocol: Protocol, missing: int = 0
) -> SparseAlignment:
    """The alignment of `align_pages` by the groups of each page, whatever their number."""
    distinct, row_of_page = np.unique(rows, return_inverse=True)
    memberships = [
        _memberships(collection, distinct, dimension, protocol.normalises(dimension.name), missing)
        for dimension in space.dimensions
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
