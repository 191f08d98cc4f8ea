"""What is scored: rankings of queries beside their judgments, groups and targets, as arrays; no input, no output.

A `QueryBatch` holds any number of pairs of system and query in segmented arrays: rows of ranked items, pair after pair.
A measure computes the values of all pairs at once, so 100,000 queries of ten items cost one pass over arrays.
`evaluate` scores batches of one topic that are summed in the order of the organisers' code (`is_exact`), because the
last bit of a score decides ties of the bootstrap. A `QueryView` shows one pair in plain one-dimensional arrays: what a
plug-in sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import LOG, Attention, page_attention
from evenrank.core.protocol import Protocol
from evenrank.core.sparse import SparseAlignment, SparseTarget
from evenrank.core.types import Floats

Ints = NDArray[np.intp]
Gains = NDArray[np.bool_] | Floats


class RelevantPages(Interface):
    """The relevant items of one query that have groups, by ascending number."""

    @property
    def page_ids(self) -> NDArray[np.integer]: ...
    @property
    def ideal_exposure(self) -> Floats:
        """Exposure of each item under an ideal policy."""
        ...

    @property
    def alignment(self) -> Alignment | SparseAlignment:
        """Groups of the items."""
        ...


class PublishedComparison(Interface):
    """Exposure beside target with the roundings of the organisers' code, which a protocol may ask for."""

    def awrf(self, log_base: float) -> float: ...
    def loss(self) -> float: ...
    def disparity(self) -> float: ...
    def relevance(self) -> float: ...


@dataclass(frozen=True)
class JudgedItems:
    """Relevant items of all queries, query after query, the best grade first."""

    item: Ints
    grade: Floats
    first: Ints
    """First row of each pair; pairs of the same query share their rows."""
    end: Ints
    """Row behind the last one of each pair."""
    alignment: Alignment | None
    """Groups of every item by its number; None where no groups are given."""

    @property
    def n_relevant(self) -> Ints:
        """Relevant items of each pair's query."""
        return self.end - self.first

    def take(self, pairs: slice | Ints) -> JudgedItems:
        return replace(self, first=self.first[pairs], end=self.end[pairs])

    def ideal_gain(self, depth: Ints, weights: Callable[[int], NDArray[np.floating]]) -> Floats:
        """Discounted gain of the ranking by grade of each pair, `depth` deep."""
        n_rows = np.minimum(self.n_relevant, depth)
        within = np.arange(n_rows.sum()) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
        gains = self.grade[np.repeat(self.first, n_rows) + within] * weights(int(n_rows.max(initial=0)))[within]
        pair = np.repeat(np.arange(len(n_rows)), n_rows)
        return np.bincount(pair, gains, minlength=len(n_rows)).astype(np.float64, copy=False)

    def of_one(self, attention: Attention) -> GradedItems:
        """The relevant items of the only pair."""
        rows = slice(int(self.first[0]), int(self.end[0]))
        return GradedItems(self.item[rows], self.grade[rows], self.alignment, attention)


@dataclass(frozen=True)
class GradedItems:
    """The relevant items of one query; those of a grade should get the same exposure (Diaz et al. 2020, section 3)."""

    item: Ints
    grade: Floats
    """Descending."""
    groups: Alignment | None
    attention: Attention

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.item)

    @cached_property
    def page_ids(self) -> Ints:
        return self.item[self._order]

    @cached_property
    def ideal_exposure(self) -> Floats:
        """Mean attention over the ranks of an ideal ranking that the items of a grade take."""
        weights = np.asarray(self.attention.weights(len(self.item)), np.float64)
        _, level, counts = np.unique(-self.grade, return_inverse=True, return_counts=True)
        level = level.reshape(-1)
        return np.asarray((np.bincount(level, weights) / counts)[level][self._order])

    @cached_property
    def alignment(self) -> Alignment:
        groups = self.groups or Alignment(np.zeros((1, 1)), np.zeros(int(self.item.max(initial=-1)) + 1, np.intp))
        return groups.take(self.page_ids)


@dataclass(frozen=True)
class ComparedGroups:
    """Exposure of groups beside their target: pair by group.

    Of spaces with very many groups only those with exposure are listed; the others have a target and no exposure, and
    are summed up.
    """

    exposure: Floats
    target: Floats
    unexposed_target: Floats
    """Wanted exposure of all groups that are not listed, by pair."""
    unexposed_squares: Floats
    """Sum of the squares of their wanted exposures."""
    published: PublishedComparison | None = None
    """The same groups for measures of the track that must round as the organisers' code does."""


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """Rankings of some pairs of system and query, with what is known of the queries."""

    protocol: Protocol
    attention_model: Attention
    """How people read, which decides exposure."""
    items: NDArray[np.integer]
    """Ranked items by number, pair after pair, ranking after ranking, rank by rank."""
    pairs: Ints
    """Pair of each row, ascending."""
    rankings: Ints
    """Ranking of each row; every ranking of the batch has a number of its own."""
    ranks: NDArray[np.intp]
    """Rank of each row, from 0."""
    gains: Gains
    """Whether each row is relevant, or its grade."""
    n_rankings: Ints
    """Rankings of each pair over which means are taken, those that count as empty included."""
    depth: Ints
    """Ranks of a full ranking of each pair that are scored."""
    ideal_depth: Ints
    """Longest ideal ranking in nDCG."""
    n_relevant: Ints
    """Relevant items of each pair's query."""
    alignment: Alignment | SparseAlignment
    """Groups of the rows."""
    full_target: Floats | SparseTarget
    """Wanted exposure, pair by group; sparse only where the batch has one pair."""
    drops_unknown: bool
    """Whether the first group, of items of which nothing is known, does not count."""
    is_share: bool = False
    """Whether exposure is divided by all attention, as in Task 1 of the track, instead of by the number of rankings."""
    relevant_only: bool = False
    """Whether only relevant items count as exposure."""
    gain_attention: Attention = LOG
    """Discount of gains in nDCG."""
    is_ordered: bool = False
    """Whether the groups come in an order that means something, as bands of popularity do."""
    judged: JudgedItems | None = None
    """The relevant items with their grades."""
    relevant_items: RelevantPages | None = None
    """The relevant items of the only pair, where they are not `judged`."""
    publish: Callable[[QueryBatch], PublishedComparison] | None = None
    """Compares groups as the published code does; None to sum in any order."""
    is_exact: bool = False
    """Whether sums are taken in the order and precision of the published code; only for one pair."""
    values: dict[str, Floats] = field(default_factory=dict)
    """Measures computed so far, by name."""

    @property
    def n_pairs(self) -> int:
        return len(self.n_rankings)

    @cached_property
    def starts(self) -> Ints:
        """First row of each pair, and the number of rows."""
        return np.searchsorted(self.pairs, np.arange(self.n_pairs + 1))

    def sum(self, values: NDArray[np.generic], is_counted: NDArray[np.bool_] | None = None) -> Floats:
        """The sum of a value over the rows of each pair, or over those that count."""
        if self.is_exact:
            summed: Floats = (values if is_counted is None else values[is_counted]).sum(keepdims=True)
            return summed
        counted = values if is_counted is None else values * is_counted
        return np.bincount(self.pairs, counted, minlength=self.n_pairs).astype(np.float64, copy=False)

    def mean(self, values: NDArray[np.generic]) -> Floats:
        """The sum of a value over the rows of each pair, by ranking."""
        return np.asarray(self.sum(values) / np.maximum(self.n_rankings, 1))

    @cached_property
    def is_relevant(self) -> NDArray[np.bool_]:
        """Which rows are relevant."""
        return self.gains if self.gains.dtype == np.bool_ else self.gains > 0.0  # type: ignore[return-value]

    @cached_property
    def ranking_offsets(self) -> Ints:
        """First row of each ranking that has any, and the number of rows."""
        return np.append(np.flatnonzero(np.diff(self.rankings, prepend=-1)), len(self.rankings))

    @cached_property
    def n_relevant_above(self) -> Ints:
        """Relevant rows above each row in its ranking."""
        before: Ints = np.cumsum(self.is_relevant) - self.is_relevant
        offsets = self.ranking_offsets
        return np.asarray(before - np.repeat(before[offsets[:-1]], np.diff(offsets)))

    @cached_property
    def is_scored(self) -> NDArray[np.bool_]:
        """Which rows are inside the scored depth; beyond it a protocol may count exposure still."""
        return np.asarray(self.ranks < self.depth[self.pairs])

    @cached_property
    def attention(self) -> NDArray[np.floating]:
        """Attention that each row gets by its rank, as the protocol says that people read."""
        dtype = self.protocol.discount_type
        return page_attention(self.attention_model, self.ranks, self.rankings, self.is_relevant, dtype)

    @property
    def discounted_gains(self) -> NDArray[np.floating]:
        """Gain of each row times the discount of its rank."""
        n_ranks = int(self.ranks.max(initial=-1)) + 1
        return self.gain_attention.weights(n_ranks, self.protocol.discount_type)[self.ranks] * self.gains

    @cached_property
    def ideal_gain(self) -> NDArray[np.floating]:
        """Discounted gain of an ideal ranking of each pair."""

        def weights(n_ranks: int) -> NDArray[np.floating]:
            return self.gain_attention.weights(n_ranks, self.protocol.discount_type)

        if self.judged is not None:
            return self.judged.ideal_gain(self.ideal_depth, weights)
        n_ideal = np.minimum(self.ideal_depth, self.n_relevant)
        if self.is_exact:
            return np.asarray(weights(int(n_ideal[0])).sum(keepdims=True))
        return np.concatenate([[0.0], np.cumsum(weights(int(n_ideal.max(initial=0))))])[n_ideal]

    @cached_property
    def exposure_weights(self) -> Floats:
        """Weight of each row in the exposure of groups."""
        weights = self.attention.astype(np.float64)
        return weights * self.is_relevant if self.relevant_only else weights

    @cached_property
    def exposure_divisor(self) -> Floats:
        """What the exposure of each pair is divided by."""
        by = self.sum(self.attention) if self.is_share else self.n_rankings
        return np.maximum(by.astype(np.float64), 1.0)

    def group_totals(self, weights: Floats) -> Floats:
        """Weighted sums over the rows of each pair: pair by group."""
        if self.is_exact:
            return self.alignment.total(weights)[None]
        assert isinstance(self.alignment, Alignment)
        n_kinds = len(self.alignment.rows)
        key = self.pairs * n_kinds + self.alignment.page_type
        mass = np.bincount(key, weights, minlength=self.n_pairs * n_kinds).reshape(self.n_pairs, n_kinds)
        return np.asarray(mass if self.alignment.is_identity else mass @ self.alignment.rows, np.float64)

    def counted(self, by_group: Floats) -> Floats:
        """Values of the groups that count: all, or all but the first."""
        return by_group[:, 1:] if self.drops_unknown else by_group

    @cached_property
    def groups(self) -> ComparedGroups:
        """Exposure and target of the groups that count; of very many, those that get exposure."""
        if not isinstance(self.full_target, SparseTarget):
            exposure = self.group_totals(self.exposure_weights) / self.exposure_divisor[:, None]
            nothing = np.zeros(self.n_pairs)
            return ComparedGroups(self.counted(exposure), self.counted(self.full_target), nothing, nothing)
        assert isinstance(self.alignment, SparseAlignment)
        given = self.alignment.sparse_total(self.exposure_weights)
        wanted = self.full_target.at(given.cells)
        return ComparedGroups(
            (given.values / self.exposure_divisor[0])[None],
            wanted[None],
            unexposed_target=np.array([max(0.0, self.full_target.total - float(wanted.sum()))]),
            unexposed_squares=np.array([max(0.0, self.full_target.squared_norm - float(wanted @ wanted))]),
            published=None if self.publish is None else self.publish(self),
        )

    @property
    def exposure(self) -> Floats:
        """Exposure of the groups that count: pair by group."""
        return self.groups.exposure

    @property
    def target(self) -> Floats:
        """Wanted exposure of the groups that count: pair by group."""
        return self.groups.target

    @property
    def unexposed_target(self) -> Floats:
        """Wanted exposure of groups that are not listed, by pair."""
        return self.groups.unexposed_target

    @cached_property
    def exposes_nothing(self) -> NDArray[np.bool_]:
        """Whether no group of a pair that counts gets any attention."""
        return np.asarray(self.exposure.sum(axis=1) <= 0.0)

    @cached_property
    def wants_nothing(self) -> NDArray[np.bool_]:
        """Whether the target of a pair is empty, so that nothing can be compared with it."""
        return np.asarray(self.target.sum(axis=1) + self.unexposed_target <= 0.0)

    @cached_property
    def _cuts(self) -> dict[int, QueryBatch]:
        return {}

    def cut(self, depth: int) -> QueryBatch:
        """The first `depth` ranks, with an ideal ranking of the same depth."""
        if depth not in self._cuts:
            kept = np.flatnonzero(self.ranks < depth)
            depths = np.full(self.n_pairs, depth)
            self._cuts[depth] = replace(self._taken(kept), depth=depths, ideal_depth=depths, publish=None, values={})
        return self._cuts[depth]

    def _taken(self, rows: Ints) -> QueryBatch:
        return replace(
            self,
            items=self.items[rows],
            pairs=self.pairs[rows],
            rankings=self.rankings[rows],
            ranks=self.ranks[rows],
            gains=self.gains[rows],
            alignment=self.alignment.take(rows),
        )

    def regrouped(self, alignment: Alignment, target: Floats) -> QueryBatch:
        """The same rankings beside other groups and their target."""
        return replace(self, alignment=alignment, full_target=target, values={})

    def take(self, pairs: Ints) -> QueryBatch:
        """The batch of some of the pairs."""
        assert not isinstance(self.full_target, SparseTarget)
        parts = [np.arange(self.starts[pair], self.starts[pair + 1]) for pair in pairs.tolist()]
        return replace(
            self._taken(np.concatenate([np.empty(0, np.intp), *parts])),
            pairs=np.repeat(np.arange(len(pairs)), list(map(len, parts))),
            n_rankings=self.n_rankings[pairs],
            depth=self.depth[pairs],
            ideal_depth=self.ideal_depth[pairs],
            n_relevant=self.n_relevant[pairs],
            full_target=self.full_target[pairs],
            judged=None if self.judged is None else self.judged.take(pairs),
            values={},
        )

    def one(self, pair: int) -> QueryBatch:
        """The batch of one of the pairs."""
        return self if self.n_pairs == 1 else self.take(np.array([pair]))

    def view(self, pair: int) -> QueryView:
        """One of the pairs, as plug-ins see it."""
        return QueryView(self.one(pair))


@dataclass(frozen=True, eq=False)
class QueryView:
    """The rankings of one query beside its judgments and its target, in plain arrays."""

    batch: QueryBatch
    """Of one pair."""

    @property
    def protocol(self) -> Protocol:
        return self.batch.protocol

    @property
    def pages(self) -> NDArray[np.integer]:
        """Ranked items by number, ranking after ranking."""
        return self.batch.items

    items = pages

    @property
    def ranks(self) -> NDArray[np.intp]:
        """Rank of each item, from 0."""
        return self.batch.ranks

    @property
    def rankings(self) -> Ints:
        """Number of the ranking that each item is in."""
        return self.batch.rankings

    @property
    def is_relevant(self) -> NDArray[np.bool_]:
        """Which of the ranked items are relevant."""
        return self.batch.is_relevant

    @property
    def grades(self) -> Floats:
        """Grade of each ranked item; 1 for a relevant one where there are no grades."""
        return self.batch.gains.astype(np.float64)

    @property
    def n_rankings(self) -> int:
        """Rankings over which means are taken."""
        return int(self.batch.n_rankings[0])

    @property
    def depth(self) -> int:
        """Ranks of a full ranking that are scored."""
        return int(self.batch.depth[0])

    @property
    def ideal_depth(self) -> int:
        """Longest ideal ranking in nDCG."""
        return int(self.batch.ideal_depth[0])

    @property
    def n_relevant(self) -> int:
        """Relevant items of the query."""
        return int(self.batch.n_relevant[0])

    @property
    def attention(self) -> NDArray[np.floating]:
        """Attention that each ranked item gets."""
        return self.batch.attention

    @property
    def alignment(self) -> Alignment | SparseAlignment:
        """Groups of the ranked items."""
        return self.batch.alignment

    @property
    def exposure(self) -> Floats:
        """Exposure of each group that counts; of very many groups, of those that get any."""
        return np.asarray(self.batch.exposure[0])

    @property
    def target(self) -> Floats:
        """Wanted exposure of each group in `exposure`."""
        return np.asarray(self.batch.target[0])

    @property
    def unexposed_target(self) -> float:
        """Wanted exposure of all groups that are not in `exposure`."""
        return float(self.batch.unexposed_target[0])

    @property
    def exposes_nothing(self) -> bool:
        """Whether no group that counts gets any attention."""
        return bool(self.batch.exposes_nothing[0])

    @property
    def wants_nothing(self) -> bool:
        """Whether the target is empty."""
        return bool(self.batch.wants_nothing[0])

    @cached_property
    def relevant(self) -> RelevantPages:
        """The relevant items of the query one by one."""
        if self.batch.judged is not None:
            return self.batch.judged.of_one(self.batch.attention_model)
        assert self.batch.relevant_items is not None
        return self.batch.relevant_items

    def group_counts(self, rows: Ints | None = None) -> Floats:
        """How many of the ranked items each group that counts has: of all, or of those in `rows`."""
        alignment = self.alignment if rows is None else self.alignment.take(rows)
        return np.asarray(self.batch.counted(alignment.total()[None])[0])

    def emptied(self) -> QueryView:
        """The same query with rankings that have no items."""
        empty = replace(self.batch.cut(0), depth=self.batch.depth, ideal_depth=self.batch.ideal_depth, values={})
        return QueryView(empty)
