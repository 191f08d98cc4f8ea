"""Ranked and relevant items as data of which part is unknown: what `score` and `evaluate` draw with `uncertainty=…`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment, align
from evenrank.core.exposure import page_attention
from evenrank.core.groups import UNKNOWN_MASK, Dimension, GroupSpace
from evenrank.core.problem import QueryBatch
from evenrank.core.protocol import Protocol
from evenrank.core.records import Run, Task, no_pages
from evenrank.core.target import background_target, group_target
from evenrank.core.types import Floats
from evenrank.core.uncertainty import SOURCES, Uncertainty
from evenrank.errors import EvenrankError
from evenrank.io.groupings import Grouping
from evenrank.scoring.imputation import JudgedRanks
from evenrank.scoring.ranked_pages import DENSE_ALIGNMENT, RankedPages
from evenrank.scoring.topic_truth import CollectionProblem
from evenrank.scoring.uncertain import (
    DrawnRun,
    UncertainData,
    UncertainDimension,
    UncertainResults,
    estimate_uncertainty,
)
from evenrank.trec.collection import Collection
from evenrank.trec.true_target import work_exposure

if TYPE_CHECKING:
    from evenrank.scoring.results import ItemScores, Results
    from evenrank.scoring.score import ItemProblem

Ints = NDArray[np.intp]
SCORED = ("nDCG", "P", "AWRF", "Score")
"""Measures of plain tables whose intervals can carry what is unknown."""


def uncertain_scores(
    problem: ItemProblem,
    scores: ItemScores,
    sources: Sequence[str],
    model: Uncertainty,
    n_draws: int,
    seed: int,
    *,
    target_follows: bool,
) -> UncertainResults:
    """Intervals of all systems that carry the sources; `target_follows` says that targets are the relevant items.

    When all sources are asked for, those that plain tables do not have are left out.
    """
    if problem.wanted is None:
        raise EvenrankError("uncertainty needs groups (give groups)")
    reasons = {"target": "the target of plain tables is not blended"}
    if problem.relevance is None or bool((problem.relevance.grade != 1.0).any()):
        reasons["judgments"] = "judgments needs relevance without grades"
    if tuple(sources) == SOURCES:
        sources = [source for source in SOURCES if source not in reasons]
    faults = [f"uncertainty: {why} (leave {source} out)" for source, why in reasons.items() if source in sources]
    if len(problem.wanted.groupings.parts) > 1:
        faults.insert(0, "uncertainty: several groupings (give groups of one at a time)")
    if faults:
        raise EvenrankError("\n".join(faults))
    names = problem.ranked.queries.names
    asked = {one.system: set(one.queries) for one in scores.systems}
    pairs = zip(problem.system.tolist(), problem.query.tolist(), strict=True)
    is_scored = np.array([names[query] in asked[problem.ranked.systems[system]] for system, query in pairs], bool)
    data = _item_data(problem, is_scored, target_follows=target_follows, draws_judgments="judgments" in sources)
    kept = [measure for measure in scores.columns if measure.name in SCORED]
    return estimate_uncertainty(data, kept, scores.main_of(1).key, sources, model, n_draws=n_draws, seed=seed)


def _item_data(
    problem: ItemProblem, is_scored: NDArray[np.bool_], *, target_follows: bool, draws_judgments: bool
) -> UncertainData:
    """The ranked and the relevant items of the scored queries, with what is recorded of them."""
    assert problem.wanted is not None
    (part,), (own_target,) = problem.wanted.groupings.parts, problem.wanted.targets
    queries, n_items = np.unique(problem.query[is_scored]), problem.n_items
    number = np.full(len(problem.ranked.queries), -1, np.intp)
    number[queries] = np.arange(len(queries))
    kept = is_scored[problem.pair]
    ranked = number[problem.query[problem.pair[kept]]] * n_items + problem.item[kept]
    keys, grades = ranked[:0], np.empty(0)
    if problem.relevance is not None:
        has = number[problem.relevance.query] >= 0
        keys = number[problem.relevance.query[has]] * n_items + problem.relevance.item[has]
        grades = problem.relevance.grade[has]
    items = np.union1d(ranked, keys)
    rank, at = problem.rank[kept], np.searchsorted(items, ranked)
    best = np.full(len(items), np.inf)
    np.minimum.at(best, at, rank + 1.0)
    weights = page_attention(problem.attention, rank, problem.ranking[kept], problem._gains[kept] > 0.0)
    grade = np.zeros(len(items))
    grade[np.searchsorted(items, keys)] = grades
    topic = items // n_items
    is_judged = np.ones(len(items), bool)
    if problem.relevance is not None:
        is_judged = problem.relevance.is_judged(queries[topic], items % n_items, n_items)
    fixed = own_target.rows(queries)

    def target(mass: Floats, blend: Floats, topics: Ints) -> Floats:
        shares = mass[:, 1:] if target_follows else fixed[topics]
        total = shares.sum(axis=1, keepdims=True)
        return np.concatenate([np.zeros((len(mass), 1)), shares / np.where(total > 0.0, total, 1.0)], axis=1)

    return UncertainData(
        topic=topic,
        topic_names=tuple(problem.ranked.queries.names[query] for query in queries.tolist()),
        attention=np.bincount(at, weights, minlength=len(items)).astype(np.float64),
        judged=JudgedRanks(topic, best, grade > 0.0, is_judged),
        dimensions=(_item_dimension(part, items % n_items),),
        join=lambda tables: tables[0],
        target=target,
        target_weights=lambda relevant: np.where(relevant, np.where(grade > 0.0, grade, 1.0), 0.0),
        blend=None,
        runs=tuple(_runs(problem, is_scored, number, items, draws_judgments)),
        group_names=part.groups,
    )


def _item_dimension(part: Grouping, item: Ints) -> UncertainDimension:
    """Kinds of items: unknown, every single group, and the other shares that occur."""
    n_groups = part.alignment.n_groups
    rows, place = np.unique(np.concatenate([np.eye(n_groups), part.alignment.rows]), axis=0, return_inverse=True)
    is_known = rows[:, 0] < 1.0
    number = np.zeros(len(rows), np.intp)
    number[is_known] = 1 + np.arange(int(is_known.sum()))
    kind = number[place.reshape(-1)[n_groups:]][part.alignment.page_type[item]]
    weights = np.concatenate([np.eye(1, n_groups), rows[is_known]])
    return UncertainDimension(part.name, False, part.groups, kind, rows[is_known][:, 1:] > 0.0, weights)


def _runs(
    problem: ItemProblem, is_scored: NDArray[np.bool_], number: Ints, items: Ints, draws_judgments: bool
) -> Iterator[DrawnRun]:
    """Each system's scored queries as places among the items."""
    whole = problem.batch(slice(0, len(problem.query)))
    if draws_judgments:  # the ideal ranking of grades is one of known relevance; drawn relevance counts alone
        whole = replace(whole, judged=None)
    for system, name in enumerate(problem.ranked.systems):
        pairs = np.flatnonzero((problem.system == system) & is_scored)
        if len(pairs):
            batch, topics = whole.take(pairs), number[problem.query[pairs]]
            key = topics[batch.pairs] * problem.n_items + batch.items
            yield DrawnRun(name, batch, np.searchsorted(items, key), topics)


def uncertain_results(
    problem: CollectionProblem,
    runs: Sequence[Run],
    results: Results,
    sources: Sequence[str],
    model: Uncertainty,
    n_draws: int,
) -> dict[Task, UncertainResults]:
    """Intervals of all runs that carry the sources, by task; the draws depend on the protocol's `interval_seed`."""
    protocol = problem.protocol
    _refuse(problem.collection, protocol, problem.space)
    found: dict[Task, UncertainResults] = {}
    for task in results.tasks:
        of_task = [run for run in runs if run.task == task]
        data = collection_data(problem, of_task, task, [list(results[run.name].topics) for run in of_task])
        found[task] = estimate_uncertainty(
            data,
            results.measures_of(task),
            results.main_of(task).key,
            sources,
            model,
            n_draws=n_draws,
            seed=protocol.interval_seed,
            confidence=protocol.confidence,
        )
    return found


def _refuse(collection: Collection, protocol: Protocol, space: GroupSpace) -> None:
    faults = []
    if space.n_groups > DENSE_ALIGNMENT:
        faults.append(f"uncertainty: {space.n_groups:,} groups are too many (name fewer dimensions with --groups)")
    if protocol.target_sum != "one":
        faults.append(f"uncertainty: targets of {protocol.name} do not sum to 1 (use paper-2021 or official-2021)")
    counted = [d.name for d in space.dimensions if d.name in collection.counts and protocol.normalises(d.name)]
    if counted:
        faults.append(f"uncertainty: pages are shared by counts in {', '.join(counted)}, which cannot be drawn")
    if faults:
        raise EvenrankError("\n".join(faults))


def collection_data(
    problem: CollectionProblem, runs: Sequence[Run], task: Task, topics_of: Sequence[Sequence[int]]
) -> UncertainData:
    """The ranked and the relevant pages of the scored topics, with what is recorded of them."""
    collection, protocol, space = problem.collection, problem.protocol, problem.space
    topics = sorted({topic for listed in topics_of for topic in listed})
    number = {topic: place for place, topic in enumerate(topics)}
    keys = [_run_keys(run, number) for run in runs]
    relevant = np.concatenate(
        [
            np.empty(0, np.int64),
            *(n << 32 | collection.topic_by_id[t].rel_docs.astype(np.int64) for t, n in number.items()),
        ]
    )
    items = np.unique(np.concatenate([*(key for key, _ in keys), relevant]))
    best = np.full(len(items), np.inf)
    for key, rank in keys:
        np.minimum.at(best, np.searchsorted(items, key), rank)
    topic, page = (items >> 32).astype(np.intp), (items & 0xFFFFFFFF).astype(np.int32)
    is_judged = np.concatenate(
        [np.empty(0, bool), *(collection.topic_by_id[t].was_judged(page[topic == n]) for t, n in number.items())]
    )
    is_relevant = np.isin(items, relevant)
    rows = collection.rows_of(page)
    drawn_runs, attention = [], np.zeros(len(items))
    for run, listed in zip(runs, topics_of, strict=True):
        one = _drawn_run(problem, run, [number[t] for t in listed], topics, items)
        drawn_runs.append(one)
        batch = one.batch
        weights = page_attention(batch.attention_model, batch.ranks, batch.rankings, is_relevant[one.rows])
        attention += np.bincount(one.rows, weights, minlength=len(items)) / max(1, int(batch.n_rankings.max(initial=1)))
    drops = space.has_unknown and not protocol.keeps_unknown(task)
    return UncertainData(
        topic=topic,
        topic_names=tuple(topics),
        attention=attention,
        judged=JudgedRanks(topic, best, is_relevant, is_judged),
        dimensions=tuple(_dimension(collection, rows, one, protocol) for one in space.dimensions),
        join=lambda parts: reduce(lambda a, b: np.einsum("kg,lh->klgh", a, b).reshape(len(a) * len(b), -1), parts),
        target=_Target(task, protocol, space),
        target_weights=_TargetWeights(task, protocol, rows >= 0, collection.quality_class[rows], topic),
        blend=protocol.blend,
        runs=tuple(drawn_runs),
        group_names=space.names[1:] if drops else space.names,
    )


def _run_keys(run: Run, number: dict[int, int]) -> tuple[NDArray[np.int64], Floats]:
    """Items of all rankings of a run on the topics, and the rank of each, from 1."""
    lengths = np.diff(run.starts)
    of_ranking = np.array([number.get(topic, -1) for topic in run.topic_ids.tolist()], np.int64)
    topic = np.repeat(of_ranking, lengths)
    rank = np.arange(len(run.pages)) - np.repeat(run.starts[:-1], lengths) + 1.0
    kept = topic >= 0
    return np.asarray(topic[kept] << 32 | run.pages[kept].astype(np.int64)), np.asarray(rank[kept], np.float64)


def _dimension(collection: Collection, rows: Ints, dimension: Dimension, protocol: Protocol) -> UncertainDimension:
    """Kinds of pages: unknown, the sets of groups that occur and every single group, and last none at all."""
    masks = collection.masks[dimension.name][rows]
    masks[rows < 0] = UNKNOWN_MASK if protocol.unlisted_page == "unknown" else 0
    singles = [1 << bit for bit in range(1, len(dimension.groups))]
    known = np.union1d(np.array(singles, masks.dtype), masks[(masks != UNKNOWN_MASK) & (masks != 0)])
    values = np.concatenate([np.array([UNKNOWN_MASK], masks.dtype), known, np.zeros(1, masks.dtype)])
    kind = np.where(masks == UNKNOWN_MASK, 0, np.where(masks == 0, len(values) - 1, 1 + np.searchsorted(known, masks)))
    members = (known[:, None] >> np.arange(1, len(dimension.groups), dtype=masks.dtype)) & 1 != 0
    weights = align([values], GroupSpace((dimension,)), [protocol.normalises(dimension.name)]).dense()
    groups = dimension.groups[1:]
    return UncertainDimension(dimension.name, dimension.is_personal, groups, kind.astype(np.intp), members, weights)


def _drawn_run(
    problem: CollectionProblem, run: Run, numbers: Sequence[int], topics: Sequence[int], items: NDArray[np.int64]
) -> DrawnRun:
    """The scored rows of a run as places among the items; a topic without a ranking has none."""
    ranked, protocol, space = problem.ranked(run), problem.protocol, problem.space
    none = np.empty(0, np.intp)
    blank = RankedPages(no_pages(), none, none, 0, Alignment(np.zeros((1, space.n_groups)), none))
    parts = [ranked.get(topics[number], blank) for number in numbers]
    lengths = [len(part.pages) for part in parts]
    pairs = np.repeat(np.arange(len(parts)), lengths)
    n_rankings = np.array([part.n_rankings for part in parts])
    first = np.cumsum(n_rankings) - n_rankings
    pages = np.concatenate([no_pages(), *(part.pages for part in parts)])
    batch = QueryBatch(
        protocol=protocol,
        attention_model=protocol.attention_model,
        items=pages,
        pairs=pairs,
        rankings=np.concatenate([none, *(part.rankings for part in parts)]) + np.repeat(first, lengths),
        ranks=np.concatenate([none, *(part.ranks for part in parts)]),
        gains=np.zeros(len(pages), bool),
        n_rankings=protocol.counted_rankings(run.task, n_rankings),
        depth=np.full(len(parts), protocol.depth(run.task)),
        ideal_depth=np.full(len(parts), protocol.ideal_length(run.task)),
        n_relevant=np.zeros(len(parts), np.intp),
        alignment=blank.alignment,
        full_target=np.zeros((len(parts), space.n_groups)),
        drops_unknown=space.has_unknown and not protocol.keeps_unknown(run.task),
        is_share=run.task == 1,
        relevant_only=run.task == 2 and protocol.relevant_exposure,
        is_ordered=space.is_ordered,
    )
    rows = np.searchsorted(items, np.asarray(numbers, np.int64)[pairs] << 32 | pages.astype(np.int64))
    return DrawnRun(run.name, batch, rows, np.asarray(numbers, np.intp))


class _Target:
    """Wanted exposure from the groups of relevant pages, as `core.target.group_target` has it, many rows at once."""

    def __init__(self, task: Task, protocol: Protocol, space: GroupSpace) -> None:
        self.space, self.keeps_unknown = space, protocol.keeps_unknown(task)
        depth = protocol.target_depth or protocol.depth(2)
        self.scale = 1.0 if task == 1 else float(protocol.attention_model.weights(depth, protocol.discount_type).sum())

    def __call__(self, mass: Floats, blend: Floats, topics: Ints) -> Floats:
        space = self.space
        if not space.is_blended:
            pairs = zip(mass, blend.tolist(), strict=True)
            rows = [group_target(one, space, keep_unknown=self.keeps_unknown, weight=share) for one, share in pairs]
            return np.array(rows) * self.scale
        wanted = mass.astype(np.float64, copy=True)
        if not self.keeps_unknown and space.has_unknown:
            wanted[:, 0] = 0.0
        total = wanted.sum(axis=1, keepdims=True)
        cells = (wanted / np.where(total > 0.0, total, 1.0)).reshape(-1, *space.shape)
        axes = tuple(range(1, cells.ndim))
        weight = blend.reshape(-1, *(1 for _ in axes))
        for section, background in space.sections():
            part = cells[(slice(None), *section)]
            own = part.sum(axis=axes, keepdims=True)
            cells[(slice(None), *section)] = (1.0 - weight) * part + weight * own * background
        found = np.where(total > 0.0, cells.reshape(wanted.shape), background_target(space))
        return np.asarray(found * self.scale)


class _TargetWeights:
    """Weights of pages in the target: 1 for relevant ones in Task 1, their ideal exposure in Task 2."""

    def __init__(
        self, task: Task, protocol: Protocol, is_listed: NDArray[np.bool_], classes: NDArray[np.uint8], topic: Ints
    ) -> None:
        self.task, self.protocol, self.is_listed, self.classes = task, protocol, is_listed, classes
        self.attention = protocol.attention_model
        self.starts = np.searchsorted(topic, np.arange(int(topic.max(initial=-1)) + 2))

    def __call__(self, relevant: NDArray[np.bool_]) -> Floats:
        counted = relevant & self.is_listed
        if self.task == 1:
            return counted.astype(np.float64)
        if relevant.strides[0] == 0:
            return np.broadcast_to(self._ideal(counted[0]), counted.shape)
        return np.stack([self._ideal(one) for one in counted])

    def _ideal(self, counted: NDArray[np.bool_]) -> Floats:
        weights = np.zeros(len(counted))
        for first, end in zip(self.starts, self.starts[1:], strict=False):
            rows = first + np.flatnonzero(counted[first:end])
            if len(rows):
                weights[rows] = work_exposure(self.classes[rows], self.protocol.discount_type, self.attention)
        return weights
