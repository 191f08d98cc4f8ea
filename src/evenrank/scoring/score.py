"""`evenrank.score`: relevance and fairness of rankings of anything, from dicts, frames, arrays or files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import LOG, Attention, Cascade, GivenAttention, parse_attention
from evenrank.core.groups import GroupShare
from evenrank.core.problem import JudgedItems, QueryBatch
from evenrank.core.protocol import PAPER_2021, Protocol
from evenrank.core.settings import Settings
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.io.columns import Faults, check_count
from evenrank.io.group_targets import WantedGroups, read_target
from evenrank.io.groupings import Groupings
from evenrank.io.item_groups import read_groups
from evenrank.io.item_relevance import RelevantItems, read_relevance
from evenrank.io.rankings import RankedItems, read_rankings, source_name
from evenrank.io.vocabulary import Vocabulary
from evenrank.measures.awrf import AWRF
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MEASURES, Named, as_measure, listed_measures
from evenrank.scoring.intervals import read_unknown
from evenrank.scoring.results import ItemScores, QueryScores, RunResult
from evenrank.scoring.scorer import mean_of_defined, score_batches

if TYPE_CHECKING:
    from evenrank.io.assumptions import Assumptions
    from evenrank.scoring.campaigns.campaign import CampaignProtocol
    from evenrank.trec.judged_pages import Unjudged

USUAL = ("nDCG", "P", "AWRF", "Score", "EE-L", "EE-D", "EE-R")
"""Measures that are computed unless others are asked for, in the order of the table."""
MAIN = ("Score", "AWRF", "nDCG", "EE-L")
"""Measures by which systems are ordered: the first of these that is computed."""
MAX_DEPTH = 10_000_000
"""Ranks that are scored at most; the attention of each of them is held in memory."""
CELLS_AT_ONCE = 500_000
"""Cells of query by kind of item, group or intersection of groups that are held at once; there may be billions."""
SHOWN_QUERIES = 8
"""Queries that a note names; the others are counted."""
OWN_DATA = replace(
    PAPER_2021,
    name="own data",
    summary="plain tables: base 2, double precision, items shared between their groups, unknown groups left out",
    dimensions=(),
    normalised="all",
    missing_topic="skipped",
    blend=0.0,
)
"""How plain tables are scored; the attention and what becomes of missing queries are set by the caller."""
Ints = NDArray[np.intp]
Missing = Literal["skip", "empty"]


def score(
    rankings: object,
    groups: object | None = None,
    relevance: object | None = None,
    target: object | None = None,
    measures: Named | Sequence[Named] | None = None,
    attention: GivenAttention | None = None,
    k: int | None = None,
    *,
    missing: Missing = "skip",
    protocol: str | CampaignProtocol | None = None,
    sequences: FilePath | None = None,
    settings: Settings | None = None,
    bounds: bool | Unjudged = False,
    uncertainty: str | Sequence[str] = (),
    assume: Assumptions = None,
    draws: int = 100,
    seed: int = 0,
) -> ItemScores:
    """How relevant and how fair rankings are, by query and in the mean.

    `rankings`: a dict of query → items (or lists of items, or item → score), of system → such a dict; a data frame with
    the columns query and item, and rank or score; an array; a TREC run file; a run of ranx, ir_measures or LensKit.
    `groups`: a dict of item → group, groups or group → share, or of grouping → such a dict; a data frame with the
    column item and one column per grouping, or with item, group and share; a CSV file. `relevance`: a dict of query →
    items or item → grade, a data frame, a qrels file. `target`: `relevant` (as the relevant items, the default with
    relevance), `population` (as all items with groups, the default without), `equal`, or shares by group, for all
    queries or for each query. `measures`: names of `MEASURES`, with a depth as in `nDCG@10`, objects, or `all`.
    `attention`: how people read, as a text (`log`, `dcg`, `rbp:0.8`, `gerr:0.8,0.5`, `reciprocal`, `uniform`,
    `table:FILE`), a list of weights, rank 1 first, a function of the rank, or an object with `weights(n_ranks)`; `log`
    by default. nDCG uses it as well, but keeps `log` beside `gerr`, which needs relevance. `missing`: whether a query
    that a system does not answer is left out of its means (`skip`) or counts as an empty ranking (`empty`); a note says
    which.

    Several groupings are measured over the intersections of their groups, and AWRF of each alone as well; a target that
    follows items is that of their intersections, and stated shares of the groupings are multiplied. The unknown group
    counts neither in exposure nor in the target. All faults of all inputs are reported at once, with their rows.

    `protocol` scores files of a campaign as its organisers do: `trec-2019`, `trec-2020` or `fairweb-1`. Rankings,
    relevance and, where the campaign has them, groups, targets and `sequences` are then paths of its files (groups and
    targets may be dicts of grouping → path); `settings` changes a choice of the protocol.

    With `bounds` the scores have the lowest and the highest value that they can have, whatever the unknown groups are;
    a target that follows items moves with them. With `bounds="ranked"` ranked items that were not judged may be
    relevant, too: relevance then has no grades but 1 and 0, and lists items of grade 0.

    `uncertainty` names what intervals should carry: topics (here queries), missing, errors, judgments. The result then
    has `.uncertainty[1]`, from so many `draws` of what is unknown by the model `assume`, as in `evaluate`.
    """
    unknown = read_unknown(uncertainty, assume)
    if uncertainty and protocol is not None:
        raise EvenrankError("uncertainty belongs to plain tables (leave protocol out)")
    check_count("k", k, MAX_DEPTH)
    if bounds and (protocol is not None or groups is None):
        raise EvenrankError("bounds are those of unknown groups in plain tables (give groups, and no protocol)")
    if protocol is not None:
        from evenrank.scoring.campaigns.score_campaign import score_campaign

        return score_campaign(
            protocol,
            rankings,
            relevance,
            groups=groups,
            target=target,
            sequences=sequences,
            measures=[one.key if isinstance(one, Measure) else one for one in listed_measures(measures)],
            attention=attention,
            k=k,
            settings=settings or {},
        )
    if sequences is not None or settings:
        raise EvenrankError("sequences and settings belong to a protocol of a campaign (name one with protocol)")
    if groups is None and relevance is None:
        raise EvenrankError("nothing to score by (give groups, relevance or both)")
    if missing not in ("skip", "empty"):
        raise UnknownNameError("way to score missing queries", missing, ("skip", "empty"))
    model = parse_attention("log" if attention is None else attention)
    if isinstance(model, Cascade) and relevance is None:
        raise EvenrankError(f"attention {str(model)!r} depends on relevance (give relevance)")
    faults = Faults()
    items = Vocabulary.empty()
    ranked = read_rankings(rankings, items, faults)
    judged = None if relevance is None else read_relevance(relevance, ranked.queries, items, faults)
    grouped = None if groups is None else read_groups(groups, items, faults)
    wanted = None if grouped is None else read_target(target, grouped, judged, ranked.queries, faults)
    faults.raise_if_any()
    if not len(ranked.items):
        raise EvenrankError(f"{source_name(rankings, 'rankings')}: nothing is ranked (give a row for each ranked item)")
    problem = ItemProblem(ranked, judged, wanted, model, k, missing, len(items))
    found = problem.results(_chosen(measures, problem))
    if bounds:
        from evenrank.scoring.score_bounds import bounds_of_systems

        usual = "population" if judged is None else "relevant"
        scope = "none" if bounds is True else bounds
        found = replace(
            found, bounds=bounds_of_systems(problem, found, usual if target is None else str(target), scope)
        )
    if unknown is None:
        return found
    from evenrank.scoring.uncertain_items import uncertain_scores

    follows = judged is not None and (target is None or (isinstance(target, str) and target == "relevant"))
    intervals = uncertain_scores(problem, found, *unknown, draws, seed, target_follows=follows)
    return replace(found, uncertainty={1: intervals})


def _chosen(measures: Named | Iterable[Named] | None, problem: ItemProblem) -> list[Measure]:
    """The measures to compute: those asked for, or the usual ones that the inputs allow."""
    named = listed_measures(measures)
    if measures is not None and not named:
        raise EvenrankError("measures: none is named (leave it out for all that can be computed)")
    if not named:
        usual = [as_measure(name) for name in USUAL if problem.has_sequences or not name.startswith("EE")]
        return [measure for measure in usual if not problem.lacks(measure)]
    if named == ["all"]:
        return [measure for measure in _ordered(MEASURES.values()) if not problem.lacks(measure)]
    chosen = {measure.key: measure for measure in map(as_measure, named)}
    for measure in chosen.values():
        if lacking := problem.lacks(measure):
            raise EvenrankError(f"measure {measure.key} needs {lacking}")
    return _ordered(chosen.values())


def _ordered(measures: Iterable[Measure]) -> list[Measure]:
    """The usual measures in their order, then the others as they come."""
    place = {name: at for at, name in enumerate(USUAL)}
    return sorted(measures, key=lambda measure: place.get(measure.key, len(place)))


@dataclass
class ItemProblem:
    """Rankings of items beside what is known of their queries: pairs of system and query, and their rows in order."""

    ranked: RankedItems
    relevance: RelevantItems | None
    wanted: WantedGroups | None
    attention: Attention
    k: int | None
    missing: Missing
    n_items: int
    columns: dict[str, Floats] = field(default_factory=dict)
    """AWRF of each grouping alone, by the name of its column."""

    def __post_init__(self) -> None:
        ranked = self.ranked
        n_queries = max(1, len(ranked.queries))
        key = ranked.system * n_queries + ranked.query
        lengths, starts = ranked.lengths, ranked.starts[:-1]
        if (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
            key, lengths, starts = key[order], lengths[order], starts[order]
        pairs = np.unique(key)
        if self.missing == "empty":
            pairs = np.union1d(pairs, self._expected_pairs(n_queries))
        self.system, self.query = pairs // n_queries, pairs % n_queries
        pair_of_ranking = np.searchsorted(pairs, key)
        self.n_rankings = np.bincount(pair_of_ranking, minlength=len(pairs))
        self.depth = self._depths(pair_of_ranking, lengths)
        ranking = np.repeat(np.arange(len(key)), lengths)
        rank = np.arange(len(ranking)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        item = ranked.items[np.repeat(starts, lengths) + rank]
        pair = pair_of_ranking[ranking]
        if self.k is not None:
            kept = np.flatnonzero(rank < self.k)
            ranking, rank, item, pair = ranking[kept], rank[kept], item[kept], pair[kept]
        self.ranking, self.rank, self.item, self.pair = ranking, rank, item, pair

    def _expected_pairs(self, n_queries: int) -> Ints:
        """Every system with every query that is judged, or, without judgments, that some system answers."""
        asked = self.ranked.query if self.relevance is None else self.relevance.query
        return np.add.outer(np.arange(len(self.ranked.systems)) * n_queries, np.unique(asked)).reshape(-1)

    def _depths(self, pair_of_ranking: Ints, lengths: Ints) -> Ints:
        """Ranks of each pair that are scored: `k`, or its longest ranking; for a missing one that of other systems."""
        if self.k is not None:
            return np.full(len(self.query), self.k)
        depth = np.zeros(len(self.query), np.intp)
        np.maximum.at(depth, pair_of_ranking, lengths)
        if self.missing == "empty":
            of_query = np.zeros(len(self.ranked.queries), np.intp)
            np.maximum.at(of_query, self.query, depth)
            of_others = np.where(of_query > 0, of_query, depth.max(initial=1))[self.query]
            depth = np.where(depth > 0, depth, of_others)
        return depth

    @property
    def has_sequences(self) -> bool:
        """Whether some query has several rankings."""
        return bool((self.n_rankings > 1).any())

    def lacks(self, measure: Measure) -> str:
        """What a measure needs and the inputs do not give; empty where it can be computed."""
        lacks_relevance = measure.needs_relevance and self.relevance is None
        lacks_groups = measure.needs_groups and self.wanted is None
        if not lacks_relevance and not lacks_groups:
            return ""
        both = measure.needs_relevance and measure.needs_groups
        return "both inputs" if both else "relevance" if lacks_relevance else "groups"

    @cached_property
    def protocol(self) -> Protocol:
        """The choices that the results are saved with."""
        missing: Literal["empty", "skipped"] = "empty" if self.missing == "empty" else "skipped"
        return replace(OWN_DATA, attention=str(self.attention), missing_topic=missing)

    @property
    def gain_attention(self) -> Attention:
        """The discount of nDCG, which depends on the rank alone."""
        return LOG if isinstance(self.attention, Cascade) else self.attention

    @cached_property
    def _reach(self) -> Floats:
        """Attention of the first n ranks, for every n."""
        weights = np.asarray(self.attention.weights(int(self.depth.max(initial=1))), np.float64)
        return np.concatenate([[0.0], np.cumsum(weights)])

    @cached_property
    def _gains(self) -> Floats:
        if self.relevance is None:
            return np.zeros(len(self.item))
        return self.relevance.of(self.query[self.pair], self.item, self.n_items)

    @cached_property
    def _judged(self) -> JudgedItems | None:
        if self.relevance is None:
            return None
        order = np.lexsort([-self.relevance.grade, self.relevance.query])
        query = self.relevance.query[order]
        first, end = (np.searchsorted(query, self.query, side=side) for side in ("left", "right"))
        joint = None if self.wanted is None else self.joint
        return JudgedItems(self.relevance.item[order], self.relevance.grade[order], first, end, joint)

    @cached_property
    def is_judged(self) -> NDArray[np.bool_]:
        """Whether each ranked row was judged; all were where relevance does not say so."""
        if self.relevance is None:
            return np.ones(len(self.item), bool)
        return self.relevance.is_judged(self.query[self.pair], self.item, self.n_items)

    @cached_property
    def joint(self) -> Alignment:
        """Shares of items in the intersections in which every grouping is known, the unknown one first."""
        if self.wanted is None:
            return Alignment(np.zeros((1, 2)), np.zeros(self.n_items, np.intp))
        return self.wanted.groupings.known_joint()

    def batches(self) -> Iterator[tuple[slice, QueryBatch]]:
        """Some pairs at a time: groups of all of them at once would fill the memory."""
        alignments = [self.joint]
        if self.wanted is not None:
            alignments += [part.alignment for part in self.wanted.groupings.parts]
        of_target = 2 if self.wanted is None else self.wanted.width
        widest = max(*(max(one.rows.shape) for one in alignments), of_target, 2)
        step = max(1, CELLS_AT_ONCE // widest)
        for first in range(0, len(self.query), step):
            pairs = slice(first, min(first + step, len(self.query)))
            yield pairs, self.batch(pairs)

    def batch(self, pairs: slice) -> QueryBatch:
        """Some of the pairs, beside their groups and their targets."""
        rows = slice(*np.searchsorted(self.pair, [pairs.start, pairs.stop]).tolist())
        items, judged = self.item[rows], self._judged
        return QueryBatch(
            protocol=self.protocol,
            attention_model=self.attention,
            gain_attention=self.gain_attention,
            items=items,
            pairs=self.pair[rows] - pairs.start,
            rankings=self.ranking[rows],
            ranks=self.rank[rows],
            gains=self._gains[rows],
            n_rankings=self.n_rankings[pairs],
            depth=self.depth[pairs],
            ideal_depth=self.depth[pairs],
            n_relevant=np.zeros(pairs.stop - pairs.start, np.intp) if judged is None else judged.n_relevant[pairs],
            alignment=self.joint.take(items),
            full_target=self._target(pairs),
            drops_unknown=True,
            is_ordered=self.wanted is not None and [part.is_ordered for part in self.wanted.groupings.parts] == [True],
            judged=None if judged is None else judged.take(pairs),
        )

    def _target(self, pairs: slice) -> Floats:
        if self.wanted is None:
            return np.zeros((pairs.stop - pairs.start, self.joint.n_groups))
        return self.scaled_target(self.wanted.joint(self.query[pairs]), pairs)

    def scaled_target(self, shares: Floats, pairs: slice) -> Floats:
        """Shares of the target as amounts of attention, with a column for the unknown group."""
        scaled = np.zeros((len(shares), shares.shape[1] + 1))
        np.multiply(shares, self._reach[self.depth[pairs], None], out=scaled[:, 1:])
        return scaled

    def results(self, measures: list[Measure]) -> ItemScores:
        """The scores of every system, with notes on what was left out."""
        notes = list(self.ranked.notes)
        is_scored = np.ones(len(self.query), bool)
        if self.relevance is not None:
            is_scored &= np.isin(self.query, self.relevance.query)
        shares = (
            None
            if self.wanted is None
            else _Shares(self.wanted, self, is_scored, AWRF.key in {m.key for m in measures})
        )
        columns = score_batches(self._each_batch(shares), measures)
        own = [*measures]
        if shares is not None and self.wanted is not None:
            notes += [*self.wanted.groupings.notes(), *self.wanted.notes]
            columns |= shares.columns
            own += [replace(AWRF, name=name) for name in shares.columns]
        self._note_relevance(notes, is_scored)
        if shares is not None:
            self._note(notes, ~shares.has_target & is_scored, "queries without a target, left out")
            is_scored &= shares.has_target
            self._note_unknown(notes)
        self._note_missing(notes, is_scored)
        if not is_scored.any():
            raise EvenrankError(f"nothing can be scored: {'; '.join(notes)}")
        self._note_undefined(notes, columns, is_scored)
        for measure in measures:
            is_infinite = np.isinf(columns[measure.key]) & is_scored
            self._note(notes, is_infinite, f"{measure.key} is infinite, {measure.infinite_mean}")
        main = next((name for name in MAIN if name in columns), own[0].key)
        return ItemScores(
            protocol=self.protocol,
            groups=",".join(part.name for part in self.wanted.groupings.parts) if self.wanted else "",
            runs=tuple(self._systems(columns, is_scored, main)),
            measures={1: tuple(own)},
            notes=tuple(notes),
            shares=() if shares is None else tuple(shares.of(self.ranked.systems)),
        )

    def _each_batch(self, shares: _Shares | None) -> Iterator[QueryBatch]:
        for pairs, batch in self.batches():
            if shares is not None:
                shares.add(pairs, batch)
            yield batch

    def _systems(self, columns: dict[str, Floats], is_scored: NDArray[np.bool_], main: str) -> Iterator[RunResult]:
        names, protocol = self.ranked.queries.names, self.protocol
        for number, system in enumerate(self.ranked.systems):
            rows = np.flatnonzero((self.system == number) & is_scored)
            by_query = QueryScores(names, self.query[rows], {name: values[rows] for name, values in columns.items()})
            means = {name: mean_of_defined(values[rows]) for name, values in columns.items()}
            yield RunResult.of_queries(system, means, by_query, main, protocol)

    def _note_relevance(self, notes: list[str], is_scored: NDArray[np.bool_]) -> None:
        """Notes on ids that do not meet, on queries without a relevant item, and on judged ones without a ranking."""
        if self.relevance is None:
            return
        relevant = np.unique(self.relevance.item)
        if len(relevant) and not np.isin(relevant, self.item).any():
            notes.append(f"no relevant item is ranked, of {len(relevant):,} (are the ids the same in both?)")
        self._note(notes, ~is_scored, "queries without a relevant item, left out")
        unranked = np.setdiff1d(np.unique(self.relevance.query), self.query)
        if len(unranked):
            notes.append(f"queries with relevant items and without a ranking, left out: {self._listed(unranked)}")

    def _note_missing(self, notes: list[str], is_scored: NDArray[np.bool_]) -> None:
        """A note for each system that does not answer queries that count for others, or for all."""
        counted = np.unique(self.query[is_scored])
        for number, system in enumerate(self.ranked.systems):
            answered = self.query[(self.system == number) & (self.n_rankings > 0)]
            lacking = np.setdiff1d(counted, answered)
            if len(lacking):
                how = "scored as empty" if self.missing == "empty" else "left out of its means"
                found = f"{len(lacking):,} of {len(counted):,} queries without a ranking, {how}"
                notes.append(f"{system}: {found}: {self._listed(lacking)}")

    def _note_undefined(self, notes: list[str], columns: dict[str, Floats], is_scored: NDArray[np.bool_]) -> None:
        """A note for measures that are undefined on the same queries."""
        undefined: dict[bytes, list[str]] = {}
        for name, values in columns.items():
            if (is_undefined := np.isnan(values) & is_scored).any():
                undefined.setdefault(is_undefined.tobytes(), []).append(name)
        for places, names in undefined.items():
            verb = "is" if len(names) == 1 else "are"
            self._note(notes, np.frombuffer(places, bool), f"{', '.join(names)} {verb} undefined, left out of the mean")

    def _note(self, notes: list[str], chosen: NDArray[np.bool_], text: str) -> None:
        queries = np.unique(self.query[chosen])
        if len(queries):
            notes.append(f"{text}: {self._listed(queries)}")

    def _note_unknown(self, notes: list[str]) -> None:
        is_ranked = np.zeros(self.n_items, bool)
        is_ranked[self.item] = True
        items = np.flatnonzero(is_ranked)
        n_unknown = int((self.joint.rows[self.joint.page_type[items], 0] >= 1.0).sum())
        if n_unknown:
            several = self.wanted is not None and len(self.wanted.groupings.parts) > 1
            how = "lack a group in some groupings and count there" if several else "have no known group and count"
            note = f"{n_unknown:,} of {len(items):,} ranked items {how} in none"
            notes.append(note + (" (are the ids the same in both?)" if n_unknown == len(items) else ""))

    def _listed(self, queries: Ints) -> str:
        names = [str(self.ranked.queries.names[int(query)]) for query in queries[:SHOWN_QUERIES]]
        n_more = len(queries) - SHOWN_QUERIES
        return ", ".join(names) + (f" and {n_more:,} more" if n_more > 0 else "")


class _Shares:
    """The attention and the target of the groups of each grouping alone, summed over some pairs at a time."""

    def __init__(
        self, wanted: WantedGroups, problem: ItemProblem, is_judged: NDArray[np.bool_], with_awrf: bool
    ) -> None:
        self.parts: Groupings = wanted.groupings
        self.targets, self.problem, self.is_judged = wanted.targets, problem, is_judged
        n_systems, n_pairs = len(problem.ranked.systems), len(problem.query)
        several = self.parts.parts if with_awrf and len(self.parts.parts) > 1 else ()
        self.columns = {f"AWRF[{part.name}]": np.empty(n_pairs) for part in several}
        self.has_target = np.zeros(n_pairs, bool)
        self.n_scored = np.zeros(n_systems, np.intp)
        self.sums = [np.zeros((2, n_systems, len(part.groups))) for part in self.parts.parts]
        """For each grouping the attention and the target of each group, summed over the scored pairs of a system."""

    def add(self, pairs: slice, batch: QueryBatch) -> None:
        """The pairs of a batch; those that cannot be scored are left out."""
        system = self.problem.system[pairs]
        self.has_target[pairs] = ~batch.wants_nothing
        is_scored = self.has_target[pairs] & self.is_judged[pairs]
        self.n_scored += np.bincount(system[is_scored], minlength=len(self.n_scored))
        for part, sums, own in zip(self.parts.parts, self.sums, self.targets, strict=True):
            alone = batch
            aim = own.rows(self.problem.query[pairs])
            if len(self.parts.parts) > 1:
                target = self.problem.scaled_target(aim, pairs)
                alone = batch.regrouped(part.alignment.take(batch.items), target)
            if f"AWRF[{part.name}]" in self.columns:
                self.columns[f"AWRF[{part.name}]"][pairs] = AWRF.over(alone)
            total = alone.exposure.sum(axis=1, keepdims=True)
            share = alone.exposure / np.where(total > 0.0, total, 1.0)
            for number in np.unique(system).tolist():
                rows = (system == number) & is_scored
                sums[:, number] += share[rows].sum(axis=0), aim[rows].sum(axis=0)

    def of(self, systems: Sequence[str]) -> Iterator[GroupShare]:
        """Mean share of attention and target of each group, by grouping and system."""
        for part, sums in zip(self.parts.parts, self.sums, strict=True):
            for system, n_scored, means, aims in zip(systems, self.n_scored.tolist(), *sums, strict=True):
                if n_scored:
                    rows = zip(part.groups, means / n_scored, aims / n_scored, strict=True)
                    yield from (GroupShare(system, part.name, group, float(a), float(t)) for group, a, t in rows)
