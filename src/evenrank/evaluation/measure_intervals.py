"""Confidence intervals of every measure of every run, for figures with error bars on both axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenrank.evaluation.intervals import Interval, intervals
from evenrank.evaluation.results import RunResult
from evenrank.metrics.registry import MAIN
from evenrank.protocol import Protocol


def measure_interval(run: RunResult, measure: str, protocol: Protocol) -> Interval:
    """The interval of a run's mean: the published one for the main measure, a fresh stream for the others."""
    if measure == MAIN[run.task].name:
        return run.interval
    values = np.array([scores[measure] for scores in run.topics.values()])
    return intervals([values], replace(protocol, interval_stream="shared"))[0]
