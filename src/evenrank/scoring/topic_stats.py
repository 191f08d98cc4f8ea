"""Topic statistics of the field, and the files of them that go back to participants."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from evenrank.core.records import Task
from evenrank.io.atomic import atomic_file
from evenrank.measures.measure import Measure
from evenrank.scoring.result_tables import topics_table
from evenrank.scoring.results import Results, RunResult
from evenrank.scoring.tables import Column, Table, csv_of

STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}
"""Name → what it makes of the scores of all runs on one topic."""

TopicStats = Mapping[int, Mapping[str, Mapping[str, float]]]
"""Topic → measure → statistic → value."""


def topic_stats(results: Results, task: Task) -> dict[int, dict[str, dict[str, float]]]:
    """Statistics over the runs of a task by topic and measure, topics ascending."""
    runs = results.of_task(task)
    names = [measure.key for measure in results.measures_of(task)]
    stats = {}
    for topic in sorted({topic for run in runs for topic in run.topics}):
        scores = [run.topics[topic] for run in runs if topic in run.topics]
        stats[topic] = {name: _statistics([row[name] for row in scores]) for name in names}
    return stats


def _statistics(values: list[float]) -> dict[str, float]:
    """The statistics of the values that are defined; NaN when none is."""
    values = [value for value in values if not math.isnan(value)] or [math.nan]
    return {name: float(function(values)) for name, function in STATISTICS.items()}


def topic_stats_table(results: Results, task: Task) -> Table:
    """The statistics as a table: a row per topic, columns `nDCG.mean`, `nDCG.median`, …"""
    names = [measure.key for measure in results.measures_of(task)]
    columns = [Column("topic"), *(Column(f"{name}.{stat}") for name in names for stat in STATISTICS)]
    rows = [
        (topic, *(of_topic[name][stat] for name in names for stat in STATISTICS))
        for topic, of_topic in topic_stats(results, task).items()
    ]
    return Table(tuple(columns), tuple(rows))


FIELD = ("median", "min", "max")
"""What a participant learns about the other runs."""


def write_topic_stats(results: Results, folder: Path) -> list[Path]:
    """Topic scores and topic statistics of each task as CSV files in `folder`; gives their paths."""
    written = []
    for task in results.tasks:
        scores = topics_table(results, task)
        per_topic = Table(scores.columns, tuple(row for row in scores.rows if row[1] != "all"))
        for name, table in (("scores", per_topic), ("stats", topic_stats_table(results, task))):
            path = folder / f"task{task}-topic-{name}.csv"
            _write(path, csv_of(table))
            written.append(path)
    return written


def write_feedback(results: Results, folder: Path) -> list[Path]:
    """A CSV file per run: its score on each topic with the median, least and largest of all runs; gives their paths."""
    written: list[Path] = []
    for task in results.tasks:
        stats = topic_stats(results, task)
        for run in results.of_task(task):
            path = folder / f"{_free_name(run.run, written)}.csv"
            _write(path, csv_of(feedback_table(run, stats, results.measures_of(task))))
            written.append(path)
    return written


def feedback_table(run: RunResult, stats: TopicStats, measures: Sequence[Measure]) -> Table:
    """A row per topic: `nDCG`, `nDCG.median`, `nDCG.min`, `nDCG.max`, and so for each measure."""
    names = [measure.key for measure in measures]
    columns = [Column("topic")]
    for name in names:
        columns += [Column(name), *(Column(f"{name}.{statistic}") for statistic in FIELD)]
    rows = []
    for topic, scores in run.topics.items():
        cells: list[int | float] = [topic]
        for name in names:
            cells += [scores[name], *(stats[topic][name][statistic] for statistic in FIELD)]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows))


def file_name(run: str) -> str:
    """A run's name with what file systems do not like replaced."""
    return re.sub(r"[^\w.-]", "_", run).lstrip(".") or "_"


def _free_name(run: str, written: Sequence[Path]) -> str:
    """The file name of a run, with a number when another run has it already: `a b` and `a_b` differ in the run only."""
    taken, name = {path.stem.casefold() for path in written}, file_name(run)
    names = [name, *(f"{name}-{number}" for number in range(2, len(taken) + 3))]
    return next(free for free in names if free.casefold() not in taken)


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as file:
        file.write(text.encode())
