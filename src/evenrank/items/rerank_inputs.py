"""What `rerank` is given: items with their expected relevance, groups and targets, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.errors import EvenrankError
from evenrank.items.columns import LARGEST
from evenrank.items.faults import SHOWN_PER_KIND, Faults
from evenrank.items.groupings import Groupings
from evenrank.items.mapped_rankings import ITEMS
from evenrank.items.query_results import Id
from evenrank.items.ranked_items import RankedItems
from evenrank.items.rankings import read_rankings, source_name
from evenrank.items.read_groups import read_groups
from evenrank.items.relevance import RelevantItems
from evenrank.items.vocabulary import Vocabulary
from evenrank.items.wanted import GroupTarget, targets_of
from evenrank.retrieval.relevance import probability_by_rank

MAX_ITEMS = 200_000
"""Items of one query, at most: policies compare hundreds of rankings of them."""
MAX_CELLS, LEAST_CELLS = 4_000_000, 1_000_000
"""Kinds of item of one query times groups, at most: in small tables, and in the largest ones."""
CELLS_PER_ROW = 2
"""A row of a table takes as much memory as this many cells."""


@dataclass(frozen=True)
class RerankInputs:
    """What was read, by number: what numbered the ids is no longer needed, and takes as much memory as the rest."""

    queries: list[Id]
    """The names of the queries, in the order of their rankings."""
    items: NDArray[np.object_]
    """The names of the items by number."""
    query: NDArray[np.intp]
    """The query of each ranking by number."""
    starts: NDArray[np.intp]
    """First row of each ranking, and the number of rows."""
    item: NDArray[np.intp]
    """The item of each row."""
    believed: NDArray[np.float64]
    """The expected relevance of each row."""
    scores: NDArray[np.float64]
    groupings: Groupings
    targets: Sequence[GroupTarget]
    notes: tuple[str, ...] = ()


def read_inputs(items: object, groups: object, target: object | None, relevance: str) -> RerankInputs:
    """All inputs; every fault of theirs in one error."""
    faults = Faults()
    vocabulary = Vocabulary.empty()
    ranked = read_rankings(items, vocabulary, faults, ITEMS)
    _check_scores(ranked, vocabulary, relevance, faults)
    grouped = read_groups(groups, vocabulary, faults)
    _check_single(ranked, faults)
    believed = _believed(ranked, relevance)
    expected = _as_relevance(ranked, believed, len(vocabulary))
    wanted = targets_of("relevant" if target is None else target, grouped, expected, ranked.queries, faults)
    faults.raise_if_any()
    if not len(ranked.items):
        raise EvenrankError(f"{source_name(items, 'items')}: nothing to rank (give a row for each item)")
    if not any(_has_known_group(part.alignment, ranked.items) for part in grouped.parts):
        raise EvenrankError("groups: none of the items to rank has a known group (are the ids the same in both?)")
    return RerankInputs(
        queries=_names(ranked.queries)[ranked.query].tolist(),
        items=_names(vocabulary),
        query=ranked.query,
        starts=ranked.starts,
        item=ranked.items,
        believed=believed,
        scores=believed if ranked.scores is None else ranked.scores,
        groupings=grouped,
        targets=wanted,
        notes=(*ranked.notes, *grouped.notes()),
    )


def _has_known_group(alignment: Alignment, items: NDArray[np.intp]) -> bool:
    return bool(alignment.rows[np.unique(alignment.page_type[items]), 1:].any())


def refuse_large_queries(given: RerankInputs) -> None:
    """EvenrankError for a query whose ranking would fill the memory."""
    lengths = np.diff(given.starts)
    if len(large := np.flatnonzero(lengths > MAX_ITEMS)):
        found = f"query {given.queries[large[0]]!r} has {lengths[large[0]]:,} items"
        raise EvenrankError(f"items: {found} (give up to {MAX_ITEMS:,} of each query, the most relevant ones)")
    joint = given.groupings.joint()
    n_kinds, n_groups = joint.rows.shape
    most = max(LEAST_CELLS, MAX_CELLS - CELLS_PER_ROW * len(given.item))
    for at in np.flatnonzero(np.minimum(lengths, n_kinds) * n_groups > most).tolist():
        kinds = np.unique(joint.page_type[given.item[given.starts[at] : given.starts[at + 1]]])
        if len(kinds) * n_groups > most:
            found = f"query {given.queries[at]!r} has items of {len(kinds):,} kinds over {n_groups:,} groups"
            raise EvenrankError(f"items: {found} (merge small groups, or give fewer items of each query)")


def _names(known: Vocabulary) -> NDArray[np.object_]:
    names = np.empty(len(known), object)
    names[:] = known.names
    return names


def _check_single(ranked: RankedItems, faults: Faults) -> None:
    """The items of a query come from one system, and in one ranking."""
    if len(ranked.systems) > 1 and not faults.rows:
        raise EvenrankError(f"items of several systems: {', '.join(ranked.systems)} (give those of one)")
    queries, counts = np.unique(ranked.query, return_counts=True)
    if len(several := queries[counts > 1]) and not faults.rows:
        names = ", ".join(repr(ranked.queries.names[query]) for query in several[:8].tolist())
        raise EvenrankError(f"items: several rankings of one query: {names} (give the items of a query once)")


def _check_scores(ranked: RankedItems, items: Vocabulary, relevance: str, faults: Faults) -> None:
    if relevance not in ("score", "rank"):
        raise EvenrankError(f"relevance is {relevance!r} (give 'score' or 'rank')")
    if ranked.scores is None or relevance == "rank":
        return
    query = np.repeat(ranked.query, ranked.lengths)
    inferred = "have it inferred from the rank: relevance='rank', or --relevance rank"
    fix = f"give expected relevance, such as probabilities, or {inferred}"
    kinds = {"score is negative:": ranked.scores < 0.0, f"score is above {LARGEST:g}:": ranked.scores > LARGEST}
    for kind, is_wrong in kinds.items():
        rows = np.flatnonzero(is_wrong)
        for row in rows[:SHOWN_PER_KIND].tolist():
            place = f"query {ranked.queries.names[query[row]]!r}, item {items.names[ranked.items[row]]!r}"
            faults.add(ITEMS, kind, place, float(ranked.scores[row]), fix)
        faults.n_more += max(0, len(rows) - SHOWN_PER_KIND)


def _believed(ranked: RankedItems, relevance: str) -> NDArray[np.float64]:
    """The expected relevance of every row: its score, or what its rank lets expect."""
    if ranked.scores is not None and relevance == "score":
        return ranked.scores
    lengths = np.unique(ranked.lengths).tolist()
    of_length = {length: probability_by_rank(-np.arange(length, dtype=np.float64)) for length in lengths}
    parts = [of_length[length] for length in ranked.lengths.tolist()]
    return np.concatenate(parts) if parts else np.empty(0)


def _as_relevance(ranked: RankedItems, believed: NDArray[np.float64], n_items: int) -> RelevantItems:
    query = np.repeat(ranked.query, ranked.lengths)
    order = np.argsort(query * n_items + ranked.items, kind="stable")
    return RelevantItems(query[order], ranked.items[order], np.maximum(believed[order], 0.0))
