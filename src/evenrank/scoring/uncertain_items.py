"""Rankings of plain tables as data of which part is unknown: what `score(…, uncertainty=…)` draws and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.problem import QueryBatch
from evenrank.core.types import Floats
from evenrank.core.uncertainty import SOURCES, Uncertainty
from evenrank.errors import EvenrankError
from evenrank.io.groupings import Grouping
from evenrank.scoring.imputation import JudgedRanks
from evenrank.scoring.uncertain import (
    DrawnRun,
    UncertainData,
    UncertainDimension,
    UncertainResults,
    estimate_uncertainty,
)

if TYPE_CHECKING:
    from evenrank.scoring.results import ItemScores
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
    weights = np.asarray(problem.attention.weights(int(rank.max(initial=0)) + 1), np.float64)
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
        attention=np.bincount(at, weights[rank], minlength=len(items)).astype(np.float64),
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
    for system, name in enumerate(problem.ranked.systems):
        pairs = np.flatnonzero((problem.system == system) & is_scored)
        if not len(pairs):
            continue
        place = np.full(len(problem.query), -1, np.intp)
        place[pairs] = np.arange(len(pairs))
        rows = np.flatnonzero(place[problem.pair] >= 0)
        pair = place[problem.pair[rows]]
        topics = number[problem.query[pairs]]
        judged = problem._judged
        batch = QueryBatch(
            protocol=problem.protocol,
            attention_model=problem.attention,
            gain_attention=problem.attention,
            items=problem.item[rows],
            pairs=pair,
            rankings=np.unique(problem.ranking[rows], return_inverse=True)[1].reshape(-1),
            ranks=problem.rank[rows],
            gains=problem._gains[rows],
            n_rankings=problem.n_rankings[pairs],
            depth=problem.depth[pairs],
            ideal_depth=problem.depth[pairs],
            n_relevant=np.zeros(len(pairs), np.intp),
            alignment=Alignment(np.zeros((1, 1)), np.zeros(len(rows), np.intp)),
            full_target=np.zeros((len(pairs), 1)),
            drops_unknown=True,
            # Graded gains need the ideal ranking of the grades; drawn relevance has none, and counts alone.
            judged=None
            if judged is None or draws_judgments
            else replace(judged, first=judged.first[pairs], end=judged.end[pairs], alignment=None),
        )
        yield DrawnRun(name, batch, np.searchsorted(items, topics[pair] * problem.n_items + batch.items), topics)
