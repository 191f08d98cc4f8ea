"""The visible list of measures. A new one is one file and one line here."""

from __future__ import annotations

from dataclasses import replace

from evenrank.metrics.awrf import AWRF
from evenrank.metrics.ee_disparity import EE_DISPARITY
from evenrank.metrics.ee_loss import EE_LOSS
from evenrank.metrics.ee_relevance import EE_RELEVANCE
from evenrank.metrics.ee_share import EE_SHARE
from evenrank.metrics.measure import Measure
from evenrank.metrics.ndcg import NDCG
from evenrank.metrics.precision import PRECISION_TASK1, PRECISION_TASK2
from evenrank.metrics.score import SCORE
from evenrank.records import Task

NDCG_TASK2 = replace(NDCG, task=2, is_companion=True, label="relevance, mean over the rankings of a sequence")
MEASURES: tuple[Measure, ...] = (
    NDCG,
    AWRF,
    SCORE,
    PRECISION_TASK1,
    EE_LOSS,
    EE_DISPARITY,
    EE_RELEVANCE,
    EE_SHARE,
    NDCG_TASK2,
    PRECISION_TASK2,
)
MAIN: dict[Task, Measure] = {1: SCORE, 2: EE_LOSS}
"""The official measure of each task, on which runs are ordered and intervals are made."""


def measures_of(task: Task) -> tuple[Measure, ...]:
    """The measures of one task, in table order."""
    return tuple(measure for measure in MEASURES if measure.task == task)


def measure_named(name: str, task: Task) -> Measure:
    """The measure of that name; KeyError when the task has none."""
    return {measure.name: measure for measure in measures_of(task)}[name]
