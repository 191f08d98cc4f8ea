"""`evenrank.score`: relevance and fairness of rankings of anything, from dicts, frames, arrays or files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.exposure import Attention, Cascade, parse_attention
from evenrank.items.groupings import Groupings, has_plain_rows, read_groups
from evenrank.items.rankings import RankedItems, Vocabulary, read_rankings
from evenrank.items.relevance import RelevantItems, read_relevance
from evenrank.items.scores import GroupShare, ItemScores, QueryScores, SystemScores
from evenrank.items.tables import Faults, check_count
from evenrank.items.wanted import GroupTarget, joint_target, targets_of
from evenrank.types import Floats

Ints = NDArray[np.intp]
OF_RELEVANCE = ("nDCG", "P")
OF_FAIRNESS = ("AWRF", "EE-L", "EE-D", "EE-R")
MEASURES = (*OF_RELEVANCE, "AWRF", "Score", "EE-L", "EE-D", "EE-R")
"""Measures that can be asked for, in the order of the table."""
MAX_DEPTH = 1 << 31
CELLS_AT_ONCE = 2_000_000
"""Cells of query by kind of item, group or intersection of groups that are held at once; there may be billions."""


def score(
    rankings: object,
    groups: object | None = None,
    relevance: object | None = None,
    target: object | None = None,
    measures: str | Sequence[str] | None = None,
    attention: str | Sequence[float] | Floats | Attention = "log",
    k: int | None = None,
) -> ItemScores:
    """How relevant and how fair rankings are, by query and in the mean.

    `rankings`: a dict of query → items (or lists of items, or item → score), of system → such a dict; a data frame with
    the columns query and item, and rank or score; an array; a TREC run file; a run of ranx, ir_measures or LensKit.
    `groups`: a dict of item → group, groups or group → share, or of grouping → such a dict; a data frame with the
    column item and one column per grouping, or with item, group and share; a CSV file. `relevance`: a dict of query →
    items or item → grade, a data frame, a qrels file. `target`: `relevant` (as the relevant items, the default with
    relevance), `population` (as all items with groups, the default without), `equal`, or shares by group, for all
    queries or for each query. `attention`: how people read, as a text (`log`, `dcg`, `rbp:0.8`, `reciprocal`,
    `uniform`, `table:FILE`) or a list of weights, rank 1 first; nDCG uses it as well.

    Several groupings are measured over the intersections of their groups, and AWRF of each alone as well. The unknown
    group counts neither in exposure nor in the target. All faults of all inputs are reported at once, with their rows.
    """
    if groups is None and relevance is None:
        raise EvenrankError("nothing to score by (give groups, relevance or both)")
    check_count("k", k, MAX_DEPTH)
    model = parse_attention(attention)
    if isinstance(model, Cascade):
        raise EvenrankError(f"attention {str(model)!r} depends on relevance (score takes models of the rank alone)")
    faults = Faults()
    items = Vocabulary.empty()
    ranked = read_rankings(rankings, items, faults)
    judged = None if relevance is None else read_relevance(relevance, ranked.queries, items, faults)
    grouped = None if groups is None else read_groups(groups, items, faults)
    wanted = None if grouped is None else targets_of(target, grouped, judged, ranked.queries, faults)
    faults.raise_if_any()
    if not len(ranked.items):
        raise EvenrankError("rankings: nothing is ranked")
    wished = [measures] if isinstance(measures, str) else measures
    if wished is not None and not isinstance(wished, Iterable):
        raise WrongTypeError(measures, "measures", "a name, or a list of names")
    chosen = _chosen(wished, judged is not None, grouped is not None, ranked)
    view = _view(ranked, model, k)
    return _Scoring(view, ranked, grouped, judged, wanted, chosen, len(items)).results()


def _chosen(measures: Sequence[str] | None, has_relevance: bool, has_groups: bool, ranked: RankedItems) -> list[str]:
    """The measures to compute: those asked for, or all that the inputs allow."""
    possible = [*(OF_RELEVANCE if has_relevance else ()), *(OF_FAIRNESS if has_groups else ())]
    possible += ["Score"] if has_relevance and has_groups else []
    if measures is not None and not measures:
        raise EvenrankError("measures: none is named (leave it out for all that can be computed)")
    if measures is None:
        pairs = ranked.system * len(ranked.queries) + ranked.query
        has_sequences = len(np.unique(pairs)) < len(pairs)
        return [name for name in MEASURES if name in possible and (has_sequences or not name.startswith("EE"))]
    for name in measures:
        if name not in MEASURES:
            raise UnknownNameError("measure", name, MEASURES)
        if name not in possible:
            needed = "relevance" if name in OF_RELEVANCE else "groups" if name in OF_FAIRNESS else "both inputs"
            raise EvenrankError(f"measure {name} needs {needed}")
    return [name for name in MEASURES if name in measures]


@dataclass(frozen=True)
class _View:
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


def _view(ranked: RankedItems, attention: Attention, k: int | None) -> _View:
    pairs, pair_of_ranking = np.unique(ranked.system * max(1, len(ranked.queries)) + ranked.query, return_inverse=True)
    rank = np.arange(len(ranked.items)) - np.repeat(ranked.starts[:-1], ranked.lengths)
    pair = np.repeat(pair_of_ranking.reshape(-1), ranked.lengths)
    depth = np.zeros(len(pairs), np.intp)
    np.maximum.at(depth, pair_of_ranking.reshape(-1), ranked.lengths)
    if k is not None:
        depth[:] = k
    kept = rank < depth[pair]
    return _View(
        pair=pair[kept],
        system=pairs // max(1, len(ranked.queries)),
        query=pairs % max(1, len(ranked.queries)),
        n_rankings=np.bincount(pair_of_ranking.reshape(-1), minlength=len(pairs)),
        depth=depth,
        rank=rank[kept],
        item=ranked.items[kept],
        weights=np.asarray(attention.weights(int(depth.max(initial=1))), np.float64),
    )


@dataclass
class _Scoring:
    """One call of `score`, its inputs read."""

    view: _View
    ranked: RankedItems
    groupings: Groupings | None
    relevance: RelevantItems | None
    targets: list[GroupTarget] | None
    measures: list[str]
    n_items: int

    def results(self) -> ItemScores:
        columns: dict[str, Floats] = {}
        is_scored = np.ones(len(self.view.query), bool)
        notes: list[str] = []
        if self.relevance is not None:
            columns |= self._relevance()
            is_scored &= self._note_unjudged(notes)
        shares: list[GroupShare] = []
        if self.groupings is not None and self.targets is not None:
            fair = _Fairness(self.view, self.groupings, self.targets, is_scored)
            columns |= fair.columns
            self._note(notes, ~fair.has_target & is_scored, "queries without a target, left out")
            is_scored &= fair.has_target
            shares = fair.shares(self.ranked.systems)
            self._note_unknown(notes, fair.joint)
        if "nDCG" in columns and "AWRF" in columns:
            columns["Score"] = columns["nDCG"] * columns["AWRF"]
        if not is_scored.any():
            raise EvenrankError(f"nothing can be scored: {'; '.join(notes)}")
        extra = [name for name in columns if name.startswith("AWRF[")]
        shown = [*self.measures, *(extra if "AWRF" in self.measures else [])]
        return ItemScores(tuple(self._systems(columns, shown, is_scored)), tuple(shown), tuple(shares), tuple(notes))

    def _systems(
        self, columns: dict[str, Floats], shown: list[str], is_scored: NDArray[np.bool_]
    ) -> list[SystemScores]:
        names = self.ranked.queries.names
        found = []
        for number, system in enumerate(self.ranked.systems):
            rows = np.flatnonzero((self.view.system == number) & is_scored)
            by_query = QueryScores(names, self.view.query[rows], {name: columns[name][rows] for name in shown})
            means = {name: float(columns[name][rows].mean()) if len(rows) else float("nan") for name in shown}
            found.append(SystemScores(system, means, by_query))
        return found

    def _relevance(self) -> dict[str, Floats]:
        """nDCG with linear gains and the chosen attention; P counts items with a grade above 0."""
        assert self.relevance is not None
        view = self.view
        n_pairs = len(view.query)
        grades = self.relevance.of(view.query[view.pair], view.item, self.n_items)
        gained = np.bincount(view.pair, grades * view.weights[view.rank], minlength=n_pairs) / view.n_rankings
        ideal = self._ideal_gain()
        hits = np.bincount(view.pair, grades > 0.0, minlength=n_pairs) / view.n_rankings
        return {
            "nDCG": np.divide(gained, ideal, out=np.zeros(n_pairs), where=ideal > 0.0),
            "P": hits / np.maximum(view.depth, 1),
        }

    def _ideal_gain(self) -> Floats:
        """Discounted gain of the ranking by grade, as deep as the scored ranking of each pair."""
        assert self.relevance is not None
        judged = self.relevance
        order = np.lexsort([-judged.grade, judged.query])
        query, grade = judged.query[order], judged.grade[order]
        first = np.searchsorted(query, query)
        rank = np.arange(len(query)) - first
        cumulative = np.concatenate([[0.0], np.cumsum(grade * self.view.weights[np.minimum(rank, self._last_rank)])])
        starts = np.searchsorted(query, self.view.query, side="left")
        ends = np.searchsorted(query, self.view.query, side="right")
        return np.asarray(cumulative[np.minimum(starts + self.view.depth, ends)] - cumulative[starts])

    @property
    def _last_rank(self) -> int:
        return len(self.view.weights) - 1

    def _note_unjudged(self, notes: list[str]) -> NDArray[np.bool_]:
        """Which pairs have a relevant item; notes on the others, and on judged queries without a ranking."""
        assert self.relevance is not None
        judged = np.unique(self.relevance.query)
        has_relevant = np.isin(self.view.query, judged)
        self._note(notes, ~has_relevant, "queries without a relevant item, left out")
        unranked = np.setdiff1d(judged, self.view.query)
        if len(unranked):
            notes.append(f"queries with relevant items and without a ranking, left out: {self._listed(unranked)}")
        return has_relevant

    def _note(self, notes: list[str], chosen: NDArray[np.bool_], text: str) -> None:
        queries = np.unique(self.view.query[chosen])
        if len(queries):
            notes.append(f"{text}: {self._listed(queries)}")

    def _note_unknown(self, notes: list[str], joint: Alignment) -> None:
        is_ranked = np.zeros(self.n_items, bool)
        is_ranked[self.view.item] = True
        ranked = np.flatnonzero(is_ranked)
        n_unknown = int((joint.rows[joint.page_type[ranked], 0] >= 1.0).sum())
        if n_unknown:
            note = f"{n_unknown:,} of {len(ranked):,} ranked items have no known group and count in none"
            notes.append(note + (" (are the ids the same in both?)" if n_unknown == len(ranked) else ""))

    def _listed(self, queries: Ints) -> str:
        names = [str(self.ranked.queries.names[int(query)]) for query in queries[:8]]
        return ", ".join(names) + (f" and {len(queries) - 8:,} more" if len(queries) > 8 else "")


class _Fairness:
    """Measures of fairness of every pair, and the mean attention of groups, summed over some pairs at a time."""

    def __init__(
        self, view: _View, groupings: Groupings, targets: list[GroupTarget], is_judged: NDArray[np.bool_]
    ) -> None:
        self.view, self.groupings, self.targets = view, groupings, targets
        self.joint, self.shape = groupings.joint(), groupings.space.shape
        self.is_plain = has_plain_rows(self.joint)
        n_pairs, n_systems = len(view.query), int(view.system.max(initial=0)) + 1
        names = [*OF_FAIRNESS, *(f"AWRF[{part.name}]" for part in groupings.parts if len(groupings.parts) > 1)]
        self.columns = {name: np.empty(n_pairs) for name in names}
        self.has_target = np.zeros(n_pairs, bool)
        self.n_scored = np.zeros(n_systems, np.intp)
        self.sums = [np.zeros((2, n_systems, len(part.groups))) for part in groupings.parts]
        """For each grouping the attention and the target of each group, summed over the scored pairs of a system."""
        self.reach = np.concatenate([[0.0], np.cumsum(view.weights)])
        alignments = [self.joint, *(part.alignment for part in groupings.parts)]
        widest = max(*(max(one.rows.shape) for one in alignments), *(one.width for one in targets))
        step = max(1, CELLS_AT_ONCE // widest)
        for first in range(0, n_pairs, step):
            self._add(slice(first, min(first + step, n_pairs)), is_judged)

    def _add(self, pairs: slice, is_judged: NDArray[np.bool_]) -> None:
        query, parts = self.view.query[pairs], self.groupings.parts
        known = _known_cells(self._exposure(self.joint, pairs), self.shape)
        target = joint_target(self.targets, query)
        wanted = target * self.reach[self.view.depth[pairs]][:, None]
        self.columns["AWRF"][pairs] = awrf_rows(known, target)
        self.columns["EE-L"][pairs] = ((known - wanted) ** 2).sum(axis=1)
        self.columns["EE-D"][pairs] = (known**2).sum(axis=1)
        self.columns["EE-R"][pairs] = (known * wanted).sum(axis=1)
        self.has_target[pairs] = target.sum(axis=1) > 0.0
        is_scored = self.has_target[pairs] & is_judged[pairs]
        self.n_scored += np.bincount(self.view.system[pairs][is_scored], minlength=len(self.n_scored))
        for part, sums, own in zip(parts, self.sums, self.targets, strict=True):
            exposure = known if len(parts) == 1 else self._exposure(part.alignment, pairs)[:, 1:]
            aim = own.rows(query)
            if len(parts) > 1:
                self.columns[f"AWRF[{part.name}]"][pairs] = awrf_rows(exposure, aim)
            total = exposure.sum(axis=1, keepdims=True)
            share = exposure / np.where(total > 0.0, total, 1.0)
            for system in np.unique(self.view.system[pairs]).tolist():
                rows = (self.view.system[pairs] == system) & is_scored
                sums[:, system] += share[rows].sum(axis=0), aim[rows].sum(axis=0)

    def _exposure(self, alignment: Alignment, pairs: slice) -> Floats:
        """Expected attention of each group, pair by group; the mean over the rankings of a pair."""
        view = self.view
        n_pairs, n_kinds = pairs.stop - pairs.start, len(alignment.rows)
        rows = slice(*np.searchsorted(view.pair, [pairs.start, pairs.stop]).tolist())
        key = (view.pair[rows] - pairs.start) * n_kinds + alignment.page_type[view.item[rows]]
        mass = np.bincount(key, view.weights[view.rank[rows]], minlength=n_pairs * n_kinds).reshape(n_pairs, n_kinds)
        given = mass if alignment is self.joint and self.is_plain else mass @ alignment.rows
        return np.asarray(given / view.n_rankings[pairs, None])

    def shares(self, systems: Sequence[str]) -> list[GroupShare]:
        """Mean share of attention and target of each group, by grouping and system."""
        return [
            GroupShare(system, part.name, group, float(mean), float(aim))
            for part, sums in zip(self.groupings.parts, self.sums, strict=True)
            for system, n_scored, means, aims in zip(systems, self.n_scored.tolist(), *sums, strict=False)
            if n_scored
            for group, mean, aim in zip(part.groups, means / n_scored, aims / n_scored, strict=True)
        ]


def _known_cells(exposure: Floats, shape: tuple[int, ...]) -> Floats:
    """Exposure of the intersections in which every grouping is known."""
    cells = exposure.reshape(len(exposure), *shape)
    return cells[(slice(None), *(slice(1, None) for _ in shape))].reshape(len(exposure), -1)


def awrf_rows(exposure: Floats, target: Floats) -> Floats:
    """AWRF of each row, base 2: 1 − Jensen–Shannon divergence; 0 where nothing is exposed."""
    total = exposure.sum(axis=1, keepdims=True)
    p = exposure / np.where(total > 0.0, total, 1.0)
    middle = (p + target) / 2.0
    divergence = (_relative_entropy(p, middle) + _relative_entropy(target, middle)) / 2.0
    return np.where(total[:, 0] > 0.0, np.clip(1.0 - divergence, 0.0, 1.0), 0.0)


def _relative_entropy(p: Floats, q: Floats) -> Floats:
    ratio = np.divide(p, q, out=np.ones_like(p), where=p > 0.0)
    return np.asarray((p * np.log2(ratio)).sum(axis=1))
