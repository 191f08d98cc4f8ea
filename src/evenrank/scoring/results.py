"""Results as small objects: scores per run and topic, in several forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenrank.core.protocol import Protocol
from evenrank.core.records import Task
from evenrank.errors import EvenrankError
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MAIN, measures_of
from evenrank.scoring.intervals import Interval, intervals

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SCHEMA_VERSION = 1
"""Of the JSON form: it grows when a key changes its meaning or is taken away, not when one is added."""


@dataclass(frozen=True)
class RunResult:
    """The scores of one run."""

    run: str
    task: Task
    scores: dict[str, float]
    """Means over topics, by measure name."""
    interval: Interval
    """Confidence interval of the task's main measure."""
    topics: dict[int, dict[str, float]]
    """Scores by topic and measure name."""
    notes: tuple[str, ...] = ()
    """What was left out or is odd."""

    @property
    def n_topics(self) -> int:
        return len(self.topics)

    @property
    def main_measure(self) -> str:
        return MAIN[self.task].name

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {value:.4f}" for name, value in self.scores.items())
        end = f"{self.main_measure} from {self.interval.low:.4f} to {self.interval.high:.4f}"
        return f"<RunResult {self.run!r}: task {self.task}, {self.n_topics} topics, {scores}; {end}>"

    def to_json(self) -> dict[str, Any]:
        interval = {"measure": self.main_measure, "low": self.interval.low, "high": self.interval.high}
        return {
            "run": self.run,
            "task": self.task,
            "n_topics": self.n_topics,
            "scores": self.scores,
            "ci": {**interval, "se": self.interval.se},
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Results:
    """The scores of some runs under one protocol, runs by name."""

    protocol: Protocol
    groups: str
    runs: tuple[RunResult, ...]
    measures: Mapping[Task, tuple[Measure, ...]] = field(default_factory=dict, compare=False)
    """Measures that were computed, by task, in table order."""
    notes: tuple[str, ...] = ()
    """What holds for all runs together."""

    def measures_of(self, task: Task) -> tuple[Measure, ...]:
        """The measures of a task that were computed, in table order."""
        return self.measures.get(task) or measures_of(task)

    def __getitem__(self, name: str) -> RunResult:
        return {run.run: run for run in self.runs}[name]

    def of_task(self, task: Task) -> list[RunResult]:
        """The runs of a task, best first by its main measure and its direction."""
        main = MAIN[task]
        sign = -1 if main.higher_is_better else 1
        chosen = [run for run in self.runs if run.task == task]
        scores = {run.run: run.scores[main.name] for run in chosen}
        return sorted(chosen, key=lambda run: (math.isnan(scores[run.run]), sign * scores[run.run], run.run))

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
        return {
            "schema_version": SCHEMA_VERSION,
            "protocol": protocol,
            "runs": [{**run.to_json(), **(self._intervals(run) if all_intervals else {})} for run in self.runs],
            "topics": topics,
            "notes": list(self.notes),
        }

    def _intervals(self, run: RunResult) -> dict[str, Any]:
        ends = {m.key: measure_interval(run, m.key, self.protocol) for m in self.measures_of(run.task)}
        return {"intervals": {name: {"low": end.low, "high": end.high, "se": end.se} for name, end in ends.items()}}

    def to_pandas(self, per_topic: bool = False) -> pd.DataFrame:
        """A data frame: a row per run, or per run and topic."""
        import pandas as pd

        if per_topic:
            rows = [{"run": r.run, "task": r.task, "topic": t, **s} for r in self.runs for t, s in r.topics.items()]
            return pd.DataFrame(rows)
        return pd.DataFrame(
            [
                {
                    "run": r.run,
                    "task": r.task,
                    "n_topics": r.n_topics,
                    **r.scores,
                    "low": r.interval.low,
                    "high": r.interval.high,
                }
                for r in self.runs
            ]
        )

    def plot(self, task: Task | None = None) -> Figure:
        """The paper's figure of a task's two component measures: nDCG against AWRF, or EE-R against EE-D.

        A notebook shows it; `.savefig(path)` keeps it. With runs of both tasks, say which one.
        """
        from evenrank.scoring.figures.scatter import scatter_figure

        if task is None and len(self.tasks) > 1:
            raise EvenrankError("runs of both tasks (say which one to plot: task=1 or task=2)")
        return scatter_figure(self, self.tasks[0] if task is None else task)

    def __str__(self) -> str:
        from evenrank.scoring.tables.results import text_table

        return text_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from evenrank.scoring.tables.results import html_table

        return html_table(self)


def measure_interval(run: RunResult, measure: str, protocol: Protocol) -> Interval:
    """The interval of a run's mean: the published one for the main measure, a fresh stream for the others.

    Topics on which the measure is undefined are left out, as in the mean.
    """
    if measure == MAIN[run.task].name:
        return run.interval
    values = np.array([scores[measure] for scores in run.topics.values()])
    return intervals([values[~np.isnan(values)]], replace(protocol, interval_stream="shared"))[0]
