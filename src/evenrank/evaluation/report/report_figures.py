"""All figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenrank.evaluation.exposure_by_group import GroupExposure
from evenrank.evaluation.figures.boxes import distribution_figure, topic_figure
from evenrank.evaluation.figures.exposure import exposure_figure
from evenrank.evaluation.figures.scatter import scatter_figure
from evenrank.evaluation.results import Results
from evenrank.figures import figure_style, save_figure
from evenrank.records import Task

SCATTER_NAMES: dict[Task, str] = {1: "task1-ndcg-awrf", 2: "task2-eer-eed"}


def write_figures(results: Results, exposures: Sequence[GroupExposure], folder: Path) -> list[Path]:
    """Each figure as PDF, SVG and PNG in `folder`; gives their paths."""
    paths: list[Path] = []
    with figure_style():
        for task in results.tasks:
            of_task = [one for one in exposures if one.task == task]
            paths += save_figure(scatter_figure(results, task), folder, SCATTER_NAMES[task])
            paths += save_figure(distribution_figure(results, task), folder, f"task{task}-distributions")
            paths += save_figure(topic_figure(results, task), folder, f"task{task}-topics")
            paths += save_figure(exposure_figure(of_task, task), folder, f"task{task}-exposure")
    return paths
