"""The lowest and the highest score that a run can have, whatever is true of what is unknown; no model is assumed.

Unknown are the groups of pages (in each dimension a page of an unknown group stays so, as an article about a river
has no gender, or turns out to be of any one group) and the relevance of pages that nobody judged. The target moves,
too: it is made of the groups of the relevant pages, whichever those are. nDCG and P are exact; AWRF, Score and EE-L
have certified bounds, which contain every way of filling the unknown; other measures have none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import Cascade, block_exposure
from evenrank.core.groups import GroupSpace
from evenrank.core.problem import QueryBatch, QueryView
from evenrank.core.records import NO_CLASS, Run, Task
from evenrank.core.target import blend
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.measures.measure import Measure
from evenrank.measures.registry import as_measure
from evenrank.measures.worst_case import (
    MAX_CELLS,
    Bound,
    MassSet,
    MeasureBounds,
    awrf_bounds,
    bounds_json,
    completions,
    gain_bounds,
    loss_bounds,
    mass_set,
)
from evenrank.progress import track
from evenrank.scoring.ranked_pages import align_pages
from evenrank.scoring.results import ItemScores, Results
from evenrank.scoring.tables import Cell, Column, Table
from evenrank.scoring.topic_truth import CollectionProblem, TopicTruth
from evenrank.trec.collection import Collection
from evenrank.trec.judged_pages import SCOPES, Unjudged, check_scope, judged_at, judged_pages

if TYPE_CHECKING:
    from evenrank.scoring.score import ItemProblem

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class RunBounds:
    """Bounds of the scores of one run."""

    run: str
    task: Task
    scores: MeasureBounds
    """Of the means over topics."""
    topics: dict[Any, MeasureBounds]
    judged: float | None = None
    """Judged share of the scored ranks, the mean over topics; None where judgments do not say what was judged."""
    judged_depth: int | None = None
    unknown: dict[str, float] = field(default_factory=dict)
    """Share of the attention that pages of an unknown group get, by dimension."""

    def to_json(self) -> dict[str, Any]:
        return {
            "bounds": bounds_json(self.scores),
            "judged": {"depth": self.judged_depth, "share": self.judged},
            "unknown": self.unknown,
        }


def mean_bounds(topics: Sequence[MeasureBounds]) -> MeasureBounds:
    """Bounds of the means over topics: topics are filled independently of each other."""
    names = topics[0] if topics else {}
    found: MeasureBounds = {}
    for name in names:
        values = [one[name] for one in topics]
        known = [one for one in values if one is not None and not math.isnan(one.low)]
        found[name] = None
        if known and all(one is not None for one in values):
            low, high = (float(np.mean(ends)) for ends in zip(*((one.low, one.high) for one in known), strict=True))
            found[name] = Bound(low, high, all(one.is_exact for one in known))
    return found


def open_pages(truth: TopicTruth, ranked: Sequence[NDArray[np.integer]], unjudged: Unjudged) -> NDArray[np.int32]:
    """The pages of a topic that nobody judged and that may be relevant; `ranked` are those of each run."""
    topic = truth.topic
    if topic.assessed_docs is None or unjudged == "none":
        return np.empty(0, np.int32)
    pages = np.concatenate([*ranked, np.empty(0, np.int32)])
    if unjudged == "collection":
        pages = np.concatenate([pages, truth.collection.page_ids])
    distinct = np.unique(pages).astype(np.int32)
    return distinct[~topic.was_judged(distinct)]


def ndcg_bound(batch: QueryBatch, open_items: NDArray[np.integer]) -> Bound:
    """Bounds of nDCG of a batch of one pair; `open_items` may be relevant, others are as recorded."""
    rows = np.flatnonzero(np.isin(batch.items, open_items) & batch.is_scored)
    n_rankings, dtype = max(1, int(batch.n_rankings[0])), batch.protocol.discount_type
    depth = int(batch.ideal_depth[0])
    longest = max(depth, int(batch.ranks.max(initial=0)) + 1)
    weights = batch.gain_attention.weights(longest, dtype).astype(np.float64)
    pages, place = np.unique(batch.items[rows], return_inverse=True)
    gains = np.bincount(place.reshape(-1), weights[batch.ranks[rows]], minlength=len(pages)) / n_rankings
    gained = float((weights[batch.ranks] * batch.gains * batch.is_scored).sum()) / n_rankings
    ideal = np.concatenate([[0.0], np.cumsum(weights[:depth])])
    low, high = gain_bounds(gains, gained, int(batch.n_relevant[0]), len(open_items) - len(pages), ideal)
    return Bound(low, high, is_exact=True)


def precision_bound(batch: QueryBatch, open_items: NDArray[np.integer]) -> Bound:
    """Bounds of precision of a batch of one pair; `open_items` may be relevant."""
    slots = max(1, int(batch.n_rankings[0])) * max(1, int(batch.depth[0]))
    hits = int((batch.is_relevant & batch.is_scored).sum())
    others = int((np.isin(batch.items, open_items) & batch.is_scored).sum())
    return Bound(hits / slots, (hits + others) / slots, is_exact=True)


@dataclass(frozen=True)
class TopicLimits:
    """What is unknown of one topic, from which bounds of any run on it follow."""

    truth: TopicTruth
    task: Task
    open: NDArray[np.int32]
    """Unjudged pages that may be relevant, ascending."""

    def bounds(self, view: QueryView, measures: Sequence[Measure], scores: Mapping[str, float]) -> MeasureBounds:
        """Bounds of measures on the topic; the scores themselves are inside."""
        fairness: dict[int | None, Bound | None] = {}
        found: MeasureBounds = {}
        for measure in measures:
            batch = view.batch if measure.depth is None else view.batch.cut(measure.depth)
            if measure.name in ("AWRF", "Score") and measure.depth not in fairness:
                fairness[measure.depth] = self._fairness(batch)
            bound = self._bound(measure.name, batch, fairness.get(measure.depth))
            found[measure.key] = None if bound is None else widened(bound, scores[measure.key])
        return found

    def _bound(self, name: str, batch: QueryBatch, fairness: Bound | None) -> Bound | None:
        if name == "nDCG":
            return ndcg_bound(batch, self.open)
        if name == "P":
            return precision_bound(batch, self.open)
        if name == "AWRF":
            return fairness
        if name == "Score" and fairness is not None:
            gain = ndcg_bound(batch, self.open)
            return Bound(gain.low * fairness.low, gain.high * fairness.high)
        if name == "EE-L" and self.task == 2 and self._has_group_bounds and not self._target.may_be_empty:
            image = _blend_matrix(self.truth.space, self.truth.protocol.blend) * self.truth.exposure_scale
            return loss_bounds(self._exposure(batch, is_share=False), replace(self._target, image=image))
        return None

    def _fairness(self, batch: QueryBatch) -> Bound | None:
        if not self._has_group_bounds:
            return None
        return awrf_bounds(self._exposure(batch, is_share=True), self._target, batch.protocol.log_base)

    @cached_property
    def _has_group_bounds(self) -> bool:
        """Whether the target is a linear image of groups of few enough kinds, and attention one of the rank alone."""
        truth = self.truth
        is_linear = truth.protocol.target_sum == "one" and truth.space.is_blended and truth.space.has_unknown
        falls = not isinstance(truth.attention, Cascade) and bool(
            (np.diff(truth.attention.weights(truth.protocol.depth(self.task))) <= 0.0).all()
        )
        return is_linear and falls and truth.space.n_groups <= MAX_CELLS

    def _exposure(self, batch: QueryBatch, is_share: bool) -> MassSet:
        weights = batch.attention.astype(np.float64) / (1.0 if is_share else float(batch.exposure_divisor[0]))
        low, high = weights, weights
        if batch.relevant_only:
            low, high = weights * batch.is_relevant, weights * (batch.is_relevant | np.isin(batch.items, self.open))
        least, most = batch.alignment.total(low), batch.alignment.total(high)
        options = completions(self.truth.space)
        return mass_set(least, most, options, drops_unknown=batch.drops_unknown, is_share=is_share)

    @cached_property
    def _target(self) -> MassSet:
        truth, rows = self.truth, self.truth.collection.relevant_rows(self.truth.topic)
        protocol, space = truth.protocol, truth.space
        others = truth.collection.rows_of(self.open)
        others = others[others >= 0]
        low, high = (np.ones(len(rows)), np.zeros(len(others))), (np.ones(len(rows)), np.ones(len(others)))
        if self.task == 2:
            low, high = self._work(rows, others)
        aligned = [align_pages(truth.collection, part, space, protocol) for part in (rows, others)]
        least, most = (
            np.sum([one.total(w) for one, w in zip(aligned, end, strict=True)], axis=0) for end in (low, high)
        )
        drops = not protocol.keeps_unknown(self.task)
        image = _blend_matrix(space, protocol.blend)
        return mass_set(least, most, completions(space), drops_unknown=drops, is_share=True, image=image)

    def _work(self, rows: NDArray[np.intp], others: NDArray[np.intp]) -> tuple[tuple[Floats, Floats], ...]:
        """Least and largest ideal exposure of relevant pages and of those that may be.

        Relevant pages that join push the block of a class down and make it longer, so its mean attention falls.
        """
        truth = self.truth
        classes = [truth.collection.quality_class[part] for part in (rows, others)]
        known, added = (np.bincount(one, minlength=NO_CLASS + 1)[:NO_CLASS] for one in classes)
        dtype, attention = truth.protocol.discount_type, truth.attention
        least = np.append(block_exposure(known + added, dtype, attention), 0.0)
        starts = np.cumsum(known) - known
        first = attention.weights(int(known.sum()) + 1, dtype)[starts]
        most = np.append(np.where(known > 0, block_exposure(known, dtype, attention), first), 0.0)
        return (least[classes[0]], np.zeros(len(others))), (most[classes[0]], most[classes[1]])


@lru_cache(16)
def _blend_matrix(space: GroupSpace, weight: float) -> Floats:
    return np.stack([blend(unit, space, weight) for unit in np.eye(space.n_groups)], axis=1)


def widened(bound: Bound, value: float) -> Bound:
    """Bounds that a value computed in other precision is inside; those of a topic without a value are undefined."""
    if math.isnan(value):
        return Bound(math.nan, math.nan)
    return Bound(min(bound.low, value), max(bound.high, value), bound.is_exact)


@dataclass(frozen=True)
class ItemLimits:
    """What is unknown of plain tables: groups of items. An item that is unknown in one of several groupings may be in
    any intersection.
    """

    exposed: Alignment
    """Groups of every item by its number, the unknown one first."""
    wanted: Callable[[int], Floats] | None
    """Pair → mass of the items that its target follows, the unknown group first; None where the target is stated."""
    follows_relevant: bool = False
    """Whether these are the relevant items."""

    def bounds(self, batch: QueryBatch, pair: int, name: str, open_items: Ints) -> Bound | None:
        """Bounds of AWRF or EE-L of one pair of a batch of one; None for more groups than can be worked out, and where
        attention depends on relevance.

        `open_items` may be relevant, and belong to the target then.
        """
        n_groups = self.exposed.n_groups
        if n_groups > MAX_CELLS or isinstance(batch.attention_model, Cascade):
            return None
        options = np.eye(n_groups, dtype=bool)
        options[0] = True
        mass = self.exposed.take(batch.items).total(batch.exposure_weights)
        stated = np.concatenate([[0.0], batch.target[0]])
        scale = float(stated.sum())
        is_share = name == "AWRF"
        image = np.eye(n_groups) * (1.0 if is_share else scale)
        aim = stated if self.wanted is None else self.wanted(pair)
        most = aim + self.exposed.take(open_items).total() if self.follows_relevant else aim
        target = mass_set(aim, most, options, drops_unknown=True, is_share=True, image=image)
        if not is_share:
            mass = mass / float(batch.exposure_divisor[0])
        exposure = mass_set(mass, mass, options, drops_unknown=True, is_share=is_share)
        if is_share:
            return awrf_bounds(exposure, target, batch.protocol.log_base)
        return None if target.may_be_empty else loss_bounds(exposure, target)


def unknown_attention(view: QueryView, space: GroupSpace) -> dict[str, float]:
    """The share of the attention that pages of an unknown group get, by dimension."""
    if space.n_groups > MAX_CELLS or not space.has_unknown:
        return {}
    mass = view.batch.alignment.total(view.batch.attention.astype(np.float64))
    total = float(mass.sum())
    return {d.name: float(space.margin(mass, d.name)[0]) / total for d in space.dimensions} if total > 0.0 else {}


def judged_share(run: Run, collection: Collection, depth: int, topics: Sequence[int]) -> float | None:
    """Judged share of the first `depth` ranks, the mean over those topics that say what was judged."""
    found = judged_at(run, judged_pages(collection.topics), depth)
    values = [found[topic] for topic in topics if topic in found]
    return float(np.mean(values)) if values else None


@dataclass(frozen=True)
class ScoreBounds:
    """Bounds of the scores of some runs, and what follows from them."""

    unjudged: Unjudged
    runs: tuple[RunBounds, ...]

    def __getitem__(self, run: str) -> RunBounds:
        return next(one for one in self.runs if one.run == run)

    def conclusions(self, task: Task, measure: Measure) -> Iterator[str]:
        """What the bounds of the main measure say about every two runs."""
        runs = [one for one in self.runs if one.task == task]
        for first, second in combinations(runs, 2):
            one, other = first.scores.get(measure.key), second.scores.get(measure.key)
            if one is None or other is None:
                continue
            if one.low > other.high or other.low > one.high:
                is_first = (one.low > other.high) == measure.higher_is_better
                better, worse = (first.run, second.run) if is_first else (second.run, first.run)
                yield f"{better} is better than {worse} on these topics, whatever the unknown is"
            else:
                yield f"{first.run} and {second.run}: no conclusion, their bounds overlap"

    def table(self, task: Task, measures: Sequence[Measure], means: Mapping[str, Mapping[str, float]]) -> Table:
        """A row per run and measure: the score, the bounds, whether they are exact, and judged@k."""
        columns = (
            Column("run"),
            Column("measure"),
            Column("score"),
            Column("low", "at least"),
            Column("high", "at most"),
            Column("kind", "bounds"),
            Column("judged", "judged@k", digits=3),
        )
        rows: list[tuple[Cell, ...]] = []
        for one in self.runs:
            for measure in measures if one.task == task else ():
                bound = one.scores[measure.key]
                ends = (None, None) if bound is None else (bound.low, bound.high)
                kind = "no bound" if bound is None else "exact" if bound.is_exact else "certified"
                rows.append((one.run, measure.key, means[one.run][measure.key], *ends, kind, one.judged))
        label = f"Task {task}: " if any(one.judged_depth for one in self.runs) else ""
        return Table(columns, tuple(rows), label + SCOPES[self.unjudged])


def bounds_of_runs(
    problem: CollectionProblem, runs: Sequence[Run], results: Results, unjudged: Unjudged
) -> ScoreBounds:
    """The lowest and the highest possible scores of runs on a collection."""
    ranked = {run.name: problem.ranked(run) for run in runs}
    topics = {(run.task, topic) for run in runs for topic in results[run.name].topics}
    limits: dict[tuple[Task, int], TopicLimits] = {}
    for task, topic in sorted(topics):
        shown = [pages[topic].pages for pages in ranked.values() if topic in pages]
        truth = problem.truth(topic)
        limits[task, topic] = TopicLimits(truth, task, open_pages(truth, shown, unjudged))
    pairs = [(run, topic) for run in runs for topic in results[run.name].topics]
    found: dict[str, dict[int, MeasureBounds]] = {run.name: {} for run in runs}
    unknown: dict[str, list[dict[str, float]]] = {run.name: [] for run in runs}
    for run, topic in track(pairs, "bounds", len(pairs), "topic"):
        view = problem.view(run.task, ranked[run.name].get(topic), topic)
        scores = results[run.name].topics[topic]
        found[run.name][topic] = limits[run.task, topic].bounds(view, results.measures_of(run.task), scores)
        unknown[run.name].append(unknown_attention(view, problem.space))
    bounds = []
    for run in runs:
        by_topic, depth = found[run.name], problem.protocol.depth(run.task)
        shares = [one for one in unknown[run.name] if one]
        means = {name: float(np.mean([one[name] for one in shares])) for name in (shares[0] if shares else ())}
        share = judged_share(run, problem.collection, depth, list(by_topic))
        bounds.append(
            RunBounds(run.name, run.task, mean_bounds(list(by_topic.values())), by_topic, share, depth, means)
        )
    return ScoreBounds(unjudged, tuple(bounds))


def bounds_of_systems(problem: ItemProblem, found: ItemScores, follows: str, unjudged: str) -> ScoreBounds:
    """Bounds of scores on plain tables; `follows` says which items the target follows: relevant ones, all, or none.

    With `unjudged` `ranked`, ranked items that were not judged may be relevant.
    """
    limits, scope = _limits(problem, follows), check_scope(unjudged)
    open_items = _open_items(problem, scope)
    by_system: dict[str, dict[Any, MeasureBounds]] = {one.run: {} for one in found.runs}
    judged: dict[str, list[float]] = {one.run: [] for one in found.runs}
    n_ranked = np.bincount(problem.pair, minlength=len(problem.query))
    shares = np.bincount(problem.pair, problem.is_judged, minlength=len(n_ranked)) / np.maximum(n_ranked, 1)
    for pairs, batch in track(list(problem.batches()), "bounds", None, "batch"):
        for pair in range(pairs.start, pairs.stop):
            system = problem.ranked.systems[int(problem.system[pair])]
            query = problem.ranked.queries.names[int(problem.query[pair])]
            if query in found[system].topics:
                one, scores = batch.one(pair - pairs.start), found[system].topics[query]
                others = open_items(int(problem.query[pair]))
                by_system[system][query] = {
                    measure.key: _item_bound(problem, measure, one, pair, limits, scores, others)
                    for measure in found.columns
                }
                judged[system].append(float(shares[pair]))
    says_judged = problem.relevance is not None and problem.relevance.says_judged
    runs = tuple(
        RunBounds(
            *(name, 1, mean_bounds(list(rows.values())), rows),
            float(np.mean(judged[name])) if says_judged and judged[name] else None,
        )
        for name, rows in by_system.items()
    )
    return ScoreBounds(scope, runs)


def _open_items(problem: ItemProblem, unjudged: Unjudged) -> Callable[[int], Ints]:
    """Query → items that may be relevant: those that some system ranks and that were not judged."""
    if unjudged == "none":
        return lambda query: np.empty(0, np.intp)
    relevance = problem.relevance
    if unjudged == "collection":
        raise EvenrankError("bounds 'collection': plain tables do not say what there is to judge (choose ranked, none)")
    if relevance is None or not relevance.says_judged:
        raise EvenrankError("bounds 'ranked' needs judged items that are not relevant, too (list them with grade 0)")
    if bool((relevance.grade != 1.0).any()):
        raise EvenrankError("bounds 'ranked' needs relevance without grades above 1 (or choose none)")
    keys = np.unique((problem.query[problem.pair] * problem.n_items + problem.item)[~problem.is_judged])
    return lambda query: (
        keys[slice(*np.searchsorted(keys, [query * problem.n_items, (query + 1) * problem.n_items]))] % problem.n_items
    )


def _item_bound(
    problem: ItemProblem,
    measure: Measure,
    batch: QueryBatch,
    pair: int,
    limits: dict[str, ItemLimits],
    scores: Mapping[str, float],
    open_items: Ints,
) -> Bound | None:
    value = scores[measure.key]
    seen = batch if measure.depth is None else batch.cut(measure.depth)
    if not measure.needs_groups and measure.name in ("nDCG", "P"):
        if not len(open_items):
            return Bound(value, value, is_exact=True)
        return widened((ndcg_bound if measure.name == "nDCG" else precision_bound)(seen, open_items), value)
    part = measure.name[5:-1] if measure.name.startswith("AWRF[") else ""
    if part not in limits or (part and problem.wanted is None):
        return None
    if part:
        seen = _beside_one_grouping(problem, seen, part, pair)
    name = "AWRF" if part or measure.name == "Score" else measure.name
    bound = limits[part].bounds(seen, pair, name, open_items) if name in ("AWRF", "EE-L") else None
    if bound is not None and measure.name == "Score":
        own = float(as_measure("nDCG").over(seen)[0])
        gain = ndcg_bound(seen, open_items) if len(open_items) else Bound(own, own)
        bound = Bound(gain.low * bound.low, gain.high * bound.high)
    return None if bound is None else widened(bound, value)


def _beside_one_grouping(problem: ItemProblem, batch: QueryBatch, part: str, pair: int) -> QueryBatch:
    """The batch of one pair beside one grouping alone."""
    assert problem.wanted is not None
    groupings = list(zip(problem.wanted.groupings.parts, problem.wanted.targets, strict=True))
    grouping, target = next((one, own) for one, own in groupings if one.name == part)
    aim = problem.scaled_target(target.rows(problem.query[pair : pair + 1]), slice(pair, pair + 1))
    return batch.regrouped(grouping.alignment.take(batch.items), aim)


def _limits(problem: ItemProblem, follows: str) -> dict[str, ItemLimits]:
    """What is unknown of each grouping by its name, and under "" of their intersections."""
    assert problem.wanted is not None
    is_relevant = follows == "relevant"
    parts = {part.name: part.alignment for part in problem.wanted.groupings.parts}
    return {
        name: ItemLimits(alignment, _followed(problem, alignment, follows), is_relevant)
        for name, alignment in {**parts, "": problem.joint}.items()
    }


def _followed(problem: ItemProblem, alignment: Alignment, follows: str) -> Callable[[int], Floats] | None:
    """Pair → mass by group of the items that its target follows."""
    if follows == "population":
        total = alignment.total()
        return lambda pair: total
    if follows != "relevant" or problem.relevance is None:
        return None
    judged = problem.relevance

    def mass(pair: int) -> Floats:
        rows = slice(*np.searchsorted(judged.query, [problem.query[pair], problem.query[pair] + 1]).tolist())
        return alignment.take(judged.item[rows]).total(judged.grade[rows])

    return mass
