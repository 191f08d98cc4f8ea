"""The paper's two tables: same columns, same digits, best values in bold."""

from __future__ import annotations

from pathlib import Path

from evenrank.evaluation.attributes import AttributeResults
from evenrank.evaluation.results import Results
from evenrank.evaluation.tables.delimited import csv_of
from evenrank.evaluation.tables.results import RENDERERS, runs_table
from evenrank.evaluation.tables.table import Cell, Column, Table
from evenrank.metrics.registry import MAIN, measure_named
from evenrank.records import Task

PAPER_COLUMNS: dict[Task, tuple[str, ...]] = {1: ("nDCG", "AWRF", "Score"), 2: ("EE-R", "EE-D", "EE-L")}
CAPTIONS: dict[Task, str] = {
    1: "Task 1 runs. Higher score is better (for all metrics).",
    2: "Task 2 runs. Lower EE-L is better.",
}
ENDINGS = {"txt": "table", "tex": "latex", "html": "html"}
"""File ending → format."""


def paper_table(results: Results, task: Task) -> Table:
    """The runs of a task as the paper prints them: component measures, main measure, interval to three places."""
    measures = [measure_named(name, task) for name in PAPER_COLUMNS[task]]
    interval = f"{100 * results.protocol.confidence:g}% CI"
    heading = interval if task == 1 else f"{MAIN[task].name} {interval}"
    columns = [Column("run"), *(Column(m.name, higher_is_better=m.higher_is_better) for m in measures)]
    rows: list[tuple[Cell, ...]] = [
        (run.run, *(run.scores[m.name] for m in measures), run.interval) for run in results.of_task(task)
    ]
    return Table((*columns, Column("ci", heading, digits=3)), tuple(rows), CAPTIONS[task])


def write_tables(results: Results, folder: Path, attributes: AttributeResults | None = None) -> list[Path]:
    """Each task's table as text, LaTeX and HTML, and all measures with all digits as CSV; gives their paths.

    With `attributes` also the main measure by attribute.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for task in results.tasks:
        texts = {ending: RENDERERS[form](paper_table(results, task)) for ending, form in ENDINGS.items()}
        texts["csv"] = csv_of(runs_table(results, task))
        for ending, text in texts.items():
            path = folder / f"task{task}-runs.{ending}"
            path.write_text(text, "utf-8")
            paths.append(path)
        if attributes is None:
            continue
        for ending, form in {**ENDINGS, "csv": "csv"}.items():
            path = folder / f"task{task}-attributes.{ending}"
            path.write_text(RENDERERS[form](attributes.table(task)), "utf-8")
            paths.append(path)
    return paths
