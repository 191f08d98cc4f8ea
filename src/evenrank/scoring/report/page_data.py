"""What the report's page knows: scores, intervals, topics and exposure as one JSON text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from evenrank.core.records import Task
from evenrank.measures.registry import MAIN
from evenrank.scoring.exposure_by_group import GroupExposure
from evenrank.scoring.figures.scatter import AXES
from evenrank.scoring.results import Results, RunResult, measure_interval
from evenrank.trec.dimensions import DIMENSIONS


def page_data(results: Results, exposures: Sequence[GroupExposure], topic_titles: Mapping[int, str]) -> str:
    """JSON with a record per task."""
    by_run = {(one.task, one.run): one for one in exposures}
    tasks = [_task(results, task, by_run, topic_titles) for task in results.tasks]
    return orjson.dumps({"tasks": tasks}, option=orjson.OPT_NON_STR_KEYS).decode()


def _task(
    results: Results, task: Task, exposures: Mapping[tuple[Task, str], GroupExposure], topic_titles: Mapping[int, str]
) -> dict[str, Any]:
    runs = results.of_task(task)
    topics = sorted({topic for run in runs for topic in run.topics})
    return {
        "task": task,
        "main": MAIN[task].name,
        "axes": AXES[task],
        "measures": [
            {"name": m.key, "label": m.heading(task, results.protocol), "higher_is_better": m.higher_is_better}
            for m in results.measures_of(task)
        ],
        "topics": {topic: topic_titles.get(topic, "") for topic in topics},
        "runs": [_run(run, results, exposures[task, run.run]) for run in runs],
    }


def _run(run: RunResult, results: Results, exposure: GroupExposure) -> dict[str, Any]:
    names = (*AXES[run.task], run.main_measure)
    ends = {name: measure_interval(run, name, results.protocol) for name in names}
    return {
        "name": run.run,
        "scores": _rounded(run.scores),
        "ci": {name: [_round(end.low), _round(end.high)] for name, end in ends.items()},
        "topics": {topic: _rounded(scores) for topic, scores in run.topics.items()},
        "exposure": [_margin(exposure, dimension.name) for dimension in exposure.space.dimensions],
    }


def _margin(exposure: GroupExposure, dimension: str) -> dict[str, Any]:
    groups, given, wanted = exposure.margin(dimension)
    rows = zip(groups, given, wanted, strict=True)
    return {
        "dimension": dimension.capitalize() if dimension in DIMENSIONS else exposure.space.dimension(dimension).heading,
        "groups": [{"name": name, "exposure": _round(share), "target": _round(goal)} for name, share, goal in rows],
    }


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: _round(value) for name, value in scores.items()}


def _round(value: float) -> float:
    """Seven significant digits: what a page can show, in half the bytes."""
    return float(f"{value:.7g}")
