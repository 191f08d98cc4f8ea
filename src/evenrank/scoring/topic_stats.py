"""Topic statistics over all runs: mean, median, least and largest score over runs, per topic and measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from evenrank.core.records import Task
from evenrank.scoring.results import Results
from evenrank.scoring.tables.table import Column, Table

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
