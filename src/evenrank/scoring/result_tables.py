"""Tables of results: a row per run, best first; or a row per topic with an `all` row under them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from evenrank.core.records import Task
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MAIN
from evenrank.scoring.results import Results, RunResult, measure_interval
from evenrank.scoring.tables import Cell, Column, Table, csv_of, html_of, interval_label, latex_of, text_of, tsv_of

RENDERERS: dict[str, Callable[[Table], str]] = {
    "table": text_of,
    "tsv": tsv_of,
    "csv": csv_of,
    "latex": latex_of,
    "html": html_of,
}
"""Format name → how it is written."""


def save_table(table: Table, folder: Path, name: str, endings: Mapping[str, str]) -> list[Path]:
    """A table as a file for each file ending, which says the format; gives their paths."""
    paths = []
    for ending, form in endings.items():
        path = folder / f"{name}.{ending}"
        path.write_text(RENDERERS[form](table), "utf-8")
        paths.append(path)
    return paths


def runs_table(results: Results, task: Task) -> Table:
    """A row per run of a task, best first by its main measure, with the confidence interval."""
    measures = results.measures_of(task)
    columns = [Column("run"), Column("n_topics", "topics")]
    columns += [Column(m.key, m.heading(task, results.protocol), m.higher_is_better) for m in measures]
    columns.append(Column("ci", f"{MAIN[task].name} {interval_label(results.protocol)}"))
    rows: list[tuple[Cell, ...]] = [
        (run.run, run.n_topics, *(run.scores[m.key] for m in measures), run.interval) for run in results.of_task(task)
    ]
    return Table(tuple(columns), tuple(rows), f"Task {task}")


def intervals_table(results: Results, task: Task) -> Table:
    """A row per run and measure: the mean with its confidence interval and standard error."""
    columns = (
        Column("run"),
        Column("measure"),
        Column("mean"),
        Column("ci", interval_label(results.protocol)),
        Column("topics"),
    )
    rows: list[tuple[Cell, ...]] = []
    for run in results.of_task(task):
        for measure in results.measures_of(task):
            n_defined = sum(not math.isnan(scores[measure.key]) for scores in run.topics.values())
            end = measure_interval(run, measure.key, results.protocol)
            rows.append((run.run, measure.heading(task, results.protocol), run.scores[measure.key], end, n_defined))
    return Table(columns, tuple(rows), f"Task {task}")


def topics_table(results: Results, task: Task) -> Table:
    """A row per run and topic, and under the topics of each run a row `all` with the means."""
    measures = results.measures_of(task)
    columns = [Column("run"), Column("topic"), *(Column(m.key, m.heading(task, results.protocol)) for m in measures)]
    rows = [row for run in results.of_task(task) for row in _topic_rows(run, measures)]
    return Table(tuple(columns), tuple(rows), f"Task {task}")


def _topic_rows(run: RunResult, measures: tuple[Measure, ...]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = [
        (run.run, topic, *(scores[m.key] for m in measures)) for topic, scores in run.topics.items()
    ]
    return [*rows, (run.run, "all", *(run.scores[m.key] for m in measures))]


def settings_lines(results: Results) -> list[str]:
    """The protocol and each of its settings, for printing with the results."""
    settings = results.protocol.settings()
    name, summary = settings.pop("name"), settings.pop("summary")
    choices = [f"groups={results.groups}", *(f"{name}={_shown(value)}" for name, value in settings.items())]
    lines, line = [f"protocol {name}: {summary}"], " "
    for choice in choices:
        if len(line) + len(choice) > 110:
            lines.append(line)
            line = " "
        line += f" {choice}"
    return [*lines, line]


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(name if isinstance(name, str) else name[0] for name in value) or "none"
    return "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value).replace(" ", "-")
