"""The scored part of a run: pages cut at the protocol's depth, with their groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment
from evenrank.alignment.dimension import UNKNOWN_MASK
from evenrank.alignment.groups import GroupSpace
from evenrank.alignment.sparse import SparseAlignment
from evenrank.collection.align_pages import align_pages
from evenrank.collection.collection import Collection
from evenrank.errors import Fault, InputError
from evenrank.protocol import Protocol
from evenrank.records import Run


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


def scored_pages(run: Run, collection: Collection, protocol: Protocol, space: GroupSpace) -> dict[int, RankedPages]:
    """The scored pages of a run by topic."""
    _refuse_long(run, protocol)
    depth = protocol.task1_depth if run.task == 1 else protocol.task2_depth
    last = None if run.task == 1 else protocol.task2_rankings
    keep = np.ones(run.n_rankings, bool) if last is None else run.repeats <= last
    lengths = np.diff(run.starts) * keep
    lengths = lengths if depth is None else np.minimum(lengths, depth)
    ranking_of = np.repeat(np.arange(run.n_rankings), lengths)
    ranks = np.arange(len(ranking_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pages = run.pages[run.starts[ranking_of] + ranks]
    if protocol.repeated_page == "rejected":
        _refuse_repeated(run, pages, ranking_of)
    rows = collection.rows_of(pages)
    missing = UNKNOWN_MASK if protocol.unlisted_page == "unknown" else 0
    alignment = align_pages(collection, rows, space, normalise_flags(protocol, space), missing)
    by_topic = {}
    for topic in dict.fromkeys(run.topic_ids[keep].tolist()):
        chosen = keep & (run.topic_ids == topic)
        places = np.flatnonzero(chosen[ranking_of])
        number = np.cumsum(chosen) - 1
        by_topic[topic] = RankedPages(
            pages=pages[places],
            ranks=ranks[places],
            rankings=number[ranking_of[places]],
            n_rankings=int(chosen.sum()),
            alignment=alignment.take(places),
        )
    return by_topic


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


def _refuse_repeated(run: Run, pages: NDArray[np.int32], ranking_of: NDArray[np.intp]) -> None:
    """InputError when a page appears twice in a ranking."""
    key = ranking_of.astype(np.int64) << 32 | pages
    distinct, counts = np.unique(key, return_counts=True)
    repeated = distinct[counts > 1]
    if len(repeated) == 0:
        return
    faults = []
    for value in repeated[:20].tolist():
        ranking = value >> 32
        where = f"topic {run.topic_ids[ranking]}" + (f", ranking {run.repeats[ranking]}" if run.task == 2 else "")
        faults.append(
            Fault(run.name, 0, f"{where}: page {value & 0xFFFFFFFF} appears twice", "`evenrank run check` gives lines")
        )
    raise InputError(faults, len(repeated) - len(faults))


def normalise_flags(protocol: Protocol, space: GroupSpace) -> tuple[bool, ...]:
    """Which dimensions of `space` the protocol shares pages in."""
    return tuple(protocol.normalises(dimension.name) for dimension in space.dimensions)
