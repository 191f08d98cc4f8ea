"""Results as small objects: scores per run and topic, or per system and query, in several forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.frames import DataFrame, pandas_frame, polars_frame
from evenrank.core.groups import GroupShare
from evenrank.core.protocol import Protocol
from evenrank.core.records import Task
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MAIN, Named, measures_of
from evenrank.scoring.intervals import Interval, intervals
from evenrank.scoring.scorer import defined
from evenrank.scoring.tables import Column, Table, TableResult, html_of, latex_of, text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenrank.scoring.score_bounds import ScoreBounds
    from evenrank.scoring.uncertain import UncertainResults

SCHEMA_VERSION = 1
"""Of the JSON form: it grows when a key changes its meaning or is taken away, not when one is added."""


ITEMS_SCHEMA = "evenrank.score/1"
"""Name and version of the JSON form of scores of plain tables."""
ROWS_AT_ONCE = 10_000
"""Queries that are looked up together."""


class QueryScores(Mapping[str | int, dict[str, float]]):
    """Scores by query and measure, kept as arrays: a dict for each of a million queries would fill the memory."""

    def __init__(self, names: Sequence[str | int], query: NDArray[np.intp], columns: Mapping[str, Floats]) -> None:
        self._names, self._query, self._columns = names, query, columns

    @cached_property
    def _row(self) -> dict[str | int, int]:
        return {name: row for row, name in enumerate(self)}

    def __getitem__(self, query: str | int) -> dict[str, float]:
        return self._at(self._row[query])

    def _at(self, row: int) -> dict[str, float]:
        return {name: float(column[row]) for name, column in self._columns.items()}

    def pairs(self) -> Iterator[tuple[str | int, dict[str, float]]]:
        """Queries with their scores; `items` looks every query up in a dict, which takes memory."""
        return ((query, self._at(row)) for row, query in enumerate(self))

    def column(self, measure: str) -> Floats:
        """The values of one measure, in the order of the queries."""
        return self._columns[measure]

    def __iter__(self) -> Iterator[str | int]:
        parts = (self._query[start : start + ROWS_AT_ONCE] for start in range(0, len(self._query), ROWS_AT_ONCE))
        return (self._names[query] for part in parts for query in part.tolist())

    def __len__(self) -> int:
        return len(self._query)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True)
class RunResult:
    """The scores of one run, or of one system: `system` and `queries` are other names for `run` and `topics`."""

    run: str
    task: Task
    scores: dict[str, float]
    """Means over topics, by measure name."""
    ends: Interval | Callable[[], Interval] = field(compare=False)
    """Confidence interval of the main measure, or what makes it when it is asked for."""
    topics: Mapping[Any, dict[str, float]]
    """Scores by topic and measure name."""
    notes: tuple[str, ...] = ()
    """What was left out or is odd."""
    main: str = ""
    """The measure that runs are ordered by; empty for the task's."""

    @classmethod
    def of_queries(
        cls, system: str, means: dict[str, float], queries: QueryScores, main: str, protocol: Protocol
    ) -> RunResult:
        """The scores of a system on plain tables; its interval is made when it is asked for."""

        def interval() -> Interval:
            return _fresh_interval(queries.column(main), protocol)

        return cls(system, 1, means, interval, queries, main=main)

    @cached_property
    def interval(self) -> Interval:
        """Confidence interval of the main measure."""
        return self.ends() if callable(self.ends) else self.ends

    @property
    def system(self) -> str:
        return self.run

    @property
    def queries(self) -> Mapping[Any, dict[str, float]]:
        return self.topics

    @property
    def n_topics(self) -> int:
        return len(self.topics)

    @property
    def main_measure(self) -> str:
        return self.main or MAIN[self.task].name

    def values(self, measure: str) -> Floats:
        """The values of a measure, in the order of the topics."""
        if isinstance(self.topics, QueryScores):
            return self.topics.column(measure)
        return np.array([scores[measure] for scores in self.topics.values()], np.float64)

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {value:.4f}" for name, value in self.scores.items())
        end = f"{self.main_measure} from {self.interval.low:.4f} to {self.interval.high:.4f}"
        return f"<RunResult {self.run!r}: task {self.task}, {self.n_topics} topics, {scores}; {end}>"

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "task": self.task,
            "n_topics": self.n_topics,
            "scores": self.scores,
            "ci": {"measure": self.main_measure, **asdict(self.interval)},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, repr=False)
class Results(TableResult):
    """The scores of some runs under one protocol, runs by name."""

    protocol: Protocol
    groups: str
    runs: tuple[RunResult, ...]
    measures: Mapping[Task, tuple[Measure, ...]] = field(default_factory=dict, compare=False)
    """Measures that were computed, by task, in table order."""
    notes: tuple[str, ...] = ()
    """What holds for all runs together."""
    uncertainty: Mapping[Task, UncertainResults] = field(default_factory=dict, compare=False)
    """Intervals that carry what is unknown, by task, where they were asked for."""
    bounds: ScoreBounds | None = None
    """Lowest and highest possible scores, where they were asked for."""

    def measures_of(self, task: Task) -> tuple[Measure, ...]:
        """The measures of a task that were computed, in table order."""
        return self.measures.get(task) or measures_of(task)

    def main_of(self, task: Task) -> Measure:
        """The measure that runs of a task are ordered by."""
        key = next((run.main_measure for run in self.runs if run.task == task), MAIN[task].key)
        return next((measure for measure in self.measures_of(task) if measure.key == key), MAIN[task])

    def computed(self, given: Named, task: Task) -> Measure:
        """The measure that was computed under a name, or that an object is."""
        key = given.key if isinstance(given, Measure) else given
        known = {measure.key: measure for measure in self.measures_of(task)}
        if key not in known:
            raise UnknownNameError(f"measure of Task {task}", key, known, "others were not computed")
        return known[key]

    def compared_measures(self, task: Task) -> list[Measure]:
        """The measures that runs are compared on unless others are named: the track's own."""
        return [measure for measure in self.measures_of(task) if not measure.is_companion(task)]

    @property
    def scores(self) -> dict[str, float]:
        """Means over topics of the only run."""
        if len(self.runs) > 1:
            names = ", ".join(one.run for one in self.runs)
            raise EvenrankError(f"scores of several {self._kind}s (choose one: results['NAME'].scores, of {names})")
        return self.runs[0].scores

    @property
    def systems(self) -> tuple[RunResult, ...]:
        """Another name for `runs`."""
        return self.runs

    def __getitem__(self, name: str) -> RunResult:
        by_name = {run.run: run for run in self.runs}
        if name not in by_name:
            raise UnknownNameError(self._kind, name, by_name)
        return by_name[name]

    _kind = "run"
    """What messages call one of `runs`."""

    def of_task(self, task: Task) -> list[RunResult]:
        """The runs of a task, best first by its main measure and its direction."""
        main = self.main_of(task)
        sign = -1 if main.higher_is_better else 1
        chosen = [run for run in self.runs if run.task == task]
        scores = {run.run: run.scores[main.key] for run in chosen}
        return sorted(chosen, key=lambda run: (math.isnan(scores[run.run]), sign * scores[run.run], run.run))

    def notes_of(self, task: Task) -> list[str]:
        """What readers of a task's scores should know, each once; of some runs only with their names."""
        runs = self.of_task(task)
        about: dict[str, list[str]] = {}
        for run in runs:
            for note in run.notes:
                about.setdefault(note, []).append(run.run)
        of_runs = (note if len(names) == len(runs) else f"{', '.join(names)}: {note}" for note, names in about.items())
        return [*self.notes, *of_runs]

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that the runs are of."""
        return tuple(task for task in MAIN if any(run.task == task for run in self.runs))

    def to_json(self, all_intervals: bool = False) -> dict[str, Any]:
        """The contract of `evaluate --format json`; with `all_intervals` each run has those of every measure."""
        topics = [
            {"run": run.run, "topic": topic, "scores": scores}
            for run in self.runs
            for topic, scores in run.topics.items()
        ]
        protocol = {**self.protocol.settings(), "groups": self.groups}
        found = {
            "schema_version": SCHEMA_VERSION,
            "protocol": protocol,
            "runs": [{**run.to_json(), **(self._intervals(run) if all_intervals else {})} for run in self.runs],
            "topics": topics,
            "notes": list(self.notes),
            **self._uncertainty_json(),
        }
        return found if self.bounds is None else self._with_bounds(found, "runs", "topics", "topic")

    def _with_bounds(self, found: dict[str, Any], runs: str, topics: str, topic: str) -> dict[str, Any]:
        """The JSON form with bounds of every run and topic, and what follows from them."""
        from evenrank.measures.worst_case import bounds_json

        assert self.bounds is not None
        name = self._kind
        for entry in found[runs]:
            entry |= self.bounds[entry[name]].to_json()
        for entry in found[topics]:
            entry["bounds"] = bounds_json(self.bounds[entry[name]].topics[entry[topic]])
        return {**found, "bounds": {"unjudged": self.bounds.unjudged, "conclusions": self.conclusions()}}

    def conclusions(self) -> list[str]:
        """What the bounds say about every two runs; nothing without bounds."""
        if self.bounds is None:
            return []
        return [said for task in self.tasks for said in self.bounds.conclusions(task, self.main_of(task))]

    def bounds_table(self, task: Task) -> Table:
        """A row per run and measure with its bounds; EvenrankError where they were not asked for."""
        if self.bounds is None:
            raise EvenrankError("bounds were not computed (say so when scoring: bounds='ranked')")
        return self.bounds.table(task, self.measures_of(task), {run.run: run.scores for run in self.runs})

    def _uncertainty_json(self) -> dict[str, Any]:
        if not self.uncertainty:
            return {}
        return {"uncertainty": [{"task": task, **found.to_json()} for task, found in self.uncertainty.items()]}

    def _intervals(self, run: RunResult) -> dict[str, Any]:
        ends = {m.key: measure_interval(run, m.key, self.protocol) for m in self.measures_of(run.task)}
        return {"intervals": {name: asdict(end) for name, end in ends.items()}}

    def to_pandas(self, per_topic: bool = False) -> DataFrame:
        """A data frame: a row per run, or per run and topic."""
        if per_topic:
            rows = [{"run": r.run, "task": r.task, "topic": t, **s} for r in self.runs for t, s in r.topics.items()]
            return pandas_frame(rows)
        heads = [{"run": r.run, "task": r.task, "n_topics": r.n_topics} for r in self.runs]
        ends = [{"low": r.interval.low, "high": r.interval.high} for r in self.runs]
        return pandas_frame([head | r.scores | end for head, r, end in zip(heads, self.runs, ends, strict=True)])

    def plot(self, task: Task | None = None) -> Figure:
        """The paper's figure of a task's two component measures: nDCG against AWRF, or EE-R against EE-D.

        A notebook shows it; `.savefig(path)` keeps it. With runs of both tasks, say which one.
        """
        from evenrank.scoring.figures import scatter_figure

        if task is None and len(self.tasks) > 1:
            raise EvenrankError("runs of both tasks (say which one to plot: task=1 or task=2)")
        return scatter_figure(self, self.tasks[0] if task is None else task)

    def _shown(self) -> tuple[list[Table], list[str]]:
        from evenrank.scoring.result_tables import runs_table

        return [runs_table(self, task) for task in self.tasks], []


@dataclass(frozen=True, repr=False)
class ItemScores(Results):
    """Scores of one or several systems on plain tables; only its JSON form and its tables differ from other results."""

    shares: tuple[GroupShare, ...] = ()
    """Attention and target of each group; empty without groups."""
    campaign: Mapping[str, Any] | None = None
    """Name and settings of a campaign's protocol, where files of one were scored."""
    _kind = "system"

    @property
    def columns(self) -> tuple[Measure, ...]:
        """The measures that were computed, in table order."""
        return self.measures_of(1)

    def compared_measures(self, task: Task) -> list[Measure]:
        """All that were computed."""
        return list(self.measures_of(task))

    def to_json(self, with_queries: bool = True) -> dict[str, Any]:
        """The contract of `score --format json`."""
        found = {
            "schema": ITEMS_SCHEMA,
            **({} if self.campaign is None else {"protocol": dict(self.campaign)}),
            "systems": [
                {"system": one.system, "n_queries": len(one.queries), "scores": one.scores} for one in self.systems
            ],
            "queries": list(self.query_entries()) if with_queries else [],
            "groups": [asdict(share) for share in self.shares],
            "notes": list(self.notes),
            **self._uncertainty_json(),
        }
        return found if self.bounds is None else self._with_bounds(found, "systems", "queries", "query")

    def query_entries(self) -> Iterator[dict[str, Any]]:
        """The scores of each query of each system, as the JSON form has them."""
        return (
            {"system": one.system, "query": query, "scores": scores}
            for one in self.systems
            for query, scores in _pairs(one.queries)
        )

    def to_pandas(self, per_query: bool = False) -> DataFrame:
        """A pandas frame: a row per system, or per system and query."""
        return pandas_frame(list(self._rows(per_query)))

    def to_polars(self, per_query: bool = False) -> Any:
        """A polars frame: a row per system, or per system and query."""
        return polars_frame(list(self._rows(per_query)))

    def _rows(self, per_query: bool) -> Iterator[dict[str, Any]]:
        if per_query:
            return ({"system": one["system"], "query": one["query"], **one["scores"]} for one in self.query_entries())
        return ({"system": one.system, "queries": len(one.queries), **one.scores} for one in self.systems)

    def table(self, per_query: bool = False) -> Table:
        """The scores as a table for readers, the best values marked."""
        return next(self.tables(per_query))

    def tables(self, per_query: bool = False, n_rows: int | None = None) -> Iterator[Table]:
        """The same in tables of up to so many rows: those of a million queries at once would fill the memory."""
        columns = [Column("system"), Column("query" if per_query else "queries")]
        columns += [Column(measure.key, higher_is_better=measure.higher_is_better) for measure in self.columns]
        rows = (tuple(row.values()) for row in self._rows(per_query))
        while some := tuple(islice(rows, n_rows)):
            yield Table(tuple(columns), some)

    def group_table(self) -> Table:
        """Attention and target of each group, in the mean over queries."""
        names = ("system", "grouping", "group", "attention", "target")
        return Table(tuple(Column(name) for name in names), tuple(tuple(asdict(one).values()) for one in self.shares))

    def to_latex(self) -> str:
        """The table of systems for a paper; it needs the package booktabs."""
        return latex_of(self.table())

    def plot(self, task: Task | None = None) -> Figure:
        """Attention beside target for each group, one panel per grouping; needs the extra `report`."""
        from evenrank.scoring.figures import share_figure

        return share_figure(self.shares)

    def __str__(self) -> str:
        parts = [text_of(self.table())]
        parts += [text_of(self.group_table())] if self.shares else []
        return "\n".join(parts) + "".join(f"note: {note}\n" for note in self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [html_of(self.table())]
        parts += [html_of(self.group_table())] if self.shares else []
        return "\n".join(parts) + "".join(f"<p>{escape(note)}</p>" for note in self.notes)


def _pairs(topics: Mapping[Any, dict[str, float]]) -> Iterator[tuple[Any, dict[str, float]]]:
    return topics.pairs() if isinstance(topics, QueryScores) else iter(topics.items())


def measure_interval(run: RunResult, measure: str, protocol: Protocol) -> Interval:
    """The interval of a run's mean: the published one for the main measure, a fresh stream for the others.

    Topics on which the measure is undefined are left out, as in the mean.
    """
    return run.interval if measure == run.main_measure else _fresh_interval(run.values(measure), protocol)


def _fresh_interval(values: Floats, protocol: Protocol) -> Interval:
    return intervals([defined(values)], replace(protocol, interval_stream="shared"))[0]
