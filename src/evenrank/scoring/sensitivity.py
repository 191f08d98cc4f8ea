"""How much a result depends on choices and data that could have been otherwise: the runs scored again under variants.

The variants are the share of the world in the target (the ½ of the blend), what becomes of pages of which nothing is
known, which pages were judged, and groups that are wrong for a share of the pages. Changes are paired by topic, so each
has an interval; where topics are too few to say anything, a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenrank.core.groups import GroupNames
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.rng import derive
from evenrank.core.types import FilePath
from evenrank.core.uncertainty import ErrorTable
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.progress import track
from evenrank.scoring.evaluate import evaluate, judged_part, without_withdrawn
from evenrank.scoring.intervals import Interval, intervals
from evenrank.scoring.protocol_settings import protocol_space, settle_protocol
from evenrank.scoring.scorer import defined, mean_of_defined
from evenrank.scoring.tables import Cell, Column, Table, TableResult
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs

BASE = "as scored"
BLENDS = (0.0, 0.25, 0.75, 1.0)
ORDER = "order (τ)"
"""Label of the row that compares the order of the runs with that under the base."""
HALF = "half of the judgments"
WRONG = 0.1
"""Share of the pages whose group is wrong in the variants of attribute errors."""
FEW_TOPICS = 25
"""Below so many topics, a note says that the order of runs is mostly chance (Buckley and Voorhees, SIGIR 2000)."""
CHANGE_RESAMPLES = 2_000
"""Resamples of the intervals of changes."""
Topics = dict[Any, float]
"""The main measure by topic."""


@dataclass(frozen=True, slots=True)
class VariantChange:
    """How far a variant moves the main measure of a run."""

    run: str
    variant: str
    score: float
    change: float
    """Mean over the topics that can be scored either way."""
    interval: Interval


@dataclass(frozen=True, repr=False)
class Sensitivity(TableResult):
    """The main measure of runs under the protocol as it is and under variants of it."""

    protocol: Protocol
    topics: dict[Task, dict[str, dict[str, Topics]]]
    """By task, variant, run and topic."""
    about: tuple[str, ...] = ()
    """What readers should know of the runs."""

    @cached_property
    def scores(self) -> dict[Task, dict[str, dict[str, float]]]:
        """Means over topics by task, variant and run."""
        return {
            task: {name: means_of(by_run) for name, by_run in by_variant.items()}
            for task, by_variant in self.topics.items()
        }

    def changes(self, task: Task) -> list[VariantChange]:
        """How far each variant moves each run, with the interval over topics; as scored comes first and is left out."""
        return [
            VariantChange(
                run, variant, self.scores[task][variant][run], *paired_change(base, found[run], self.protocol)
            )
            for variant, found in self.topics[task].items()
            if variant != BASE
            for run, base in self.topics[task][BASE].items()
        ]

    def change_table(self, task: Task) -> Table:
        """A row per variant and run: the score, the change from that as scored, and the interval of the change."""
        interval = f"{100 * self.protocol.confidence:g} % CI of the change"
        main = MAIN[task].name
        return Table.of(
            self.changes(task),
            {"variant": "", "run": "", "score": Column(main), "change": "", "interval": interval},
            f"Task {task}: changes of {main}, paired by topic",
        )

    def notes(self) -> list[str]:
        """What is known of the runs, and a warning for each task whose topics are too few to say anything."""
        n_topics = [max(map(len, variants[BASE].values())) for variants in self.topics.values()]
        return [*self.about, *(said for n in n_topics for said in few_topics_note(n))]

    def table(self, task: Task) -> Table:
        """A row per run, best first as scored; a column per variant; last Kendall's τ of the order of the runs."""
        by_variant, main = self.scores[task], MAIN[task]
        base = by_variant[BASE]
        runs = sorted(base, key=lambda run: (-base[run] if main.higher_is_better else base[run], run))
        columns = [Column(name, higher_is_better=main.higher_is_better) for name in by_variant]
        rows: list[tuple[Cell, ...]] = [(run, *(scores[run] for scores in by_variant.values())) for run in runs]
        if len(runs) > 1:
            columns = [replace(column, higher_is_better=None) for column in columns]
            order = [base[run] for run in runs]
            rows.append((ORDER, *(kendall_tau(order, [by_run[r] for r in runs]) for by_run in by_variant.values())))
        return Table((Column("run"), *columns), tuple(rows), f"Task {task}: {main.name} under variants of the protocol")

    def _shown(self) -> tuple[list[Table], list[str]]:
        tables = [make(task) for task in self.topics for make in (self.table, self.change_table)]
        return tables, [f"note: {note}" for note in self.notes()]

    def to_json(self) -> dict[str, Any]:
        """Protocol, and scores by task, variant and run."""
        return {
            "protocol": self.protocol.settings(),
            "sensitivity": [
                {"task": task, "measure": MAIN[task].name, "variant": variant, "scores": scores}
                for task, variants in self.scores.items()
                for variant, scores in variants.items()
            ],
            "changes": [{"task": task, **asdict(one)} for task in self.topics for one in self.changes(task)],
            "notes": self.notes(),
        }


def sensitivity(
    collection: Collection | FilePath,
    runs: GivenRun | Iterable[GivenRun],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: GroupNames = "intersection",
    *,
    seed: int = 0,
    **settings: Any,
) -> Sensitivity:
    """The main measure of runs under variants: blend of the target, unknown pages, judged pages, wrong groups.

    `seed` draws the half of each topic's relevant pages that a variant keeps, and the pages whose groups are wrong.
    """
    opened = as_collection(collection)
    opened, loaded, about = without_withdrawn(opened, [as_run(opened, run) for run in given_runs(runs)])
    chosen = settle_protocol(protocol, **settings)
    base = settle_protocol(chosen, n_resamples=2, operation_order="any")
    topics: dict[Task, dict[str, dict[str, Topics]]] = {}
    for task in sorted({run.task for run in loaded}):
        of_task = [run for run in loaded if run.task == task]
        variants = {name: (opened, of_task, varied) for name, varied in _protocols(base, task).items()}
        variants["judged pages only"] = (opened, [judged_part(run, opened) for run in of_task], base)
        variants[HALF] = (_with_half(opened, seed), of_task, base)
        for dimension in scored_dimensions(opened, base, groups):
            wrong = with_errors(opened, dimension, WRONG, derive(seed, "wrong", dimension))
            variants[f"{dimension} {WRONG:.0%} wrong"] = (wrong, of_task, base)
        for name, (scored, those, varied) in track(list(variants.items()), "variants", len(variants), "variant"):
            try:
                topics.setdefault(task, {})[name] = main_by_topic(scored, those, varied, groups)
            except EvenrankError as error:
                raise EvenrankError(f"variant {name!r}: {error}") from error
    return Sensitivity(replace(chosen, operation_order="any"), topics, about)


def main_by_topic(
    collection: Collection, runs: Sequence[Run], protocol: Protocol, groups: GroupNames
) -> dict[str, Topics]:
    """The main measure of runs of one task by run and topic."""
    results = evaluate(collection, runs, protocol, groups)
    main = MAIN[runs[0].task].name
    return {run.run: {topic: scores[main] for topic, scores in run.topics.items()} for run in results.runs}


def means_of(by_run: Mapping[str, Topics]) -> dict[str, float]:
    """Means over the topics on which the measure is defined, by run."""
    return {run: mean_of_defined(np.array(list(values.values()))) for run, values in by_run.items()}


def paired_change(base: Mapping[Any, float], varied: Mapping[Any, float], protocol: Protocol) -> tuple[float, Interval]:
    """The mean change over the topics that both have, and its interval; NaN where they share none."""
    both = np.array([varied[topic] - base[topic] for topic in base if topic in varied], np.float64)
    both = defined(both)
    if not len(both):
        return math.nan, Interval(math.nan, math.nan, math.nan)
    [interval] = intervals([both], replace(protocol, interval_stream="shared", n_resamples=CHANGE_RESAMPLES))
    return float(both.mean()), interval


def few_topics_note(n_topics: int) -> list[str]:
    """A warning where topics are too few to say anything about small differences."""
    if n_topics >= FEW_TOPICS:
        return []
    plural = "topic is" if n_topics == 1 else "topics are"
    return [
        f"{n_topics} {plural} too few to tell small differences from chance: with fewer than {FEW_TOPICS}, intervals "
        "over topics are too narrow and the order of systems is seldom stable"
    ]


def scored_dimensions(collection: Collection, protocol: Protocol, groups: GroupNames) -> list[str]:
    """Names of the dimensions that are scored and have groups that can be wrong."""
    space = protocol_space(collection, protocol, groups)
    return [dimension.name for dimension in space.dimensions if dimension.name not in collection.counts]


def with_errors(collection: Collection, dimension: str, rate: float, rng: np.random.Generator) -> Collection:
    """The collection as it may be if recorded groups of a dimension are wrong for a share of the pages.

    True groups are drawn given the recorded ones by Bayes' rule, from the table of errors with that rate and the shares
    of the recorded groups. Pages of several groups, or of none that is known, stay as they are.
    """
    masks = np.array(collection.masks[dimension])
    numbers = np.arange(1, len(collection.known_dimensions[dimension].groups))
    table = ErrorTable(rate=rate).expected([str(number) for number in numbers])
    rows_of = [np.flatnonzero(masks == masks.dtype.type(1 << int(number))) for number in numbers]
    shares = np.array([len(rows) for rows in rows_of], np.float64)
    for recorded, rows in enumerate(rows_of):
        chances = shares * table[:, recorded]
        if len(rows) and chances.sum() > 0.0:
            drawn = rng.choice(numbers, len(rows), p=chances / chances.sum())
            masks[rows] = np.left_shift(1, drawn).astype(masks.dtype)
    return replace(collection, masks={**collection.masks, dimension: masks})


def _protocols(base: Protocol, task: Task) -> dict[str, Protocol]:
    """The protocol and its variants by name; those that cannot change a score of the task are left out."""
    found = {BASE: base}
    found |= {f"world {weight:.0%}": replace(base, blend=weight) for weight in BLENDS if weight != base.blend}
    if task == 1:
        kept = not base.keeps_unknown_task1
        found[f"unknown {'counted' if kept else 'dropped'}"] = replace(base, keeps_unknown_task1=kept)
    if base.unlisted_page == "unknown":
        return found | {"unlisted in no group": replace(base, unlisted_page="no group")}
    return found | {"unlisted unknown": replace(base, unlisted_page="unknown")}


def _with_half(collection: Collection, seed: int) -> Collection:
    """The collection with half of each topic's relevant pages, at least one of them."""
    topics = []
    for topic in collection.topics:
        n_kept = (len(topic.rel_docs) + 1) // 2
        kept = np.sort(derive(seed, "half", topic.id).permutation(len(topic.rel_docs))[:n_kept])
        topics.append(replace(topic, rel_docs=topic.rel_docs[kept]))
    return collection.with_topics(topics)


def kendall_tau(left: list[float], right: list[float]) -> float:
    """Kendall's τ-a: the share of pairs in the same order minus that in the other; pairs that tie count for neither."""
    x, y = np.array(left), np.array(right)
    agreement = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    return float(np.nansum(agreement)) / (len(x) * (len(x) - 1))
