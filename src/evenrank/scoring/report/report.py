"""`evenrank report`: tables, figures, feedback files and one offline page, in a folder that appears whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import orjson

from evenrank.core.groups import GroupNames
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.safe_text import terminal_text
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, listed
from evenrank.io.atomic import atomic_folder, write_json
from evenrank.io.figures import figure_style, save_figure
from evenrank.io.runs import read_runs
from evenrank.measures.registry import MAIN, as_measure
from evenrank.scoring.attributes import AttributeResults, evaluate_attributes
from evenrank.scoring.depth_curves import depth_curves
from evenrank.scoring.evaluate import evaluate, judged_part, without_withdrawn
from evenrank.scoring.exposure_by_group import GroupExposure, exposure_by_group, exposure_table
from evenrank.scoring.figures import distribution_figure, exposure_figure, scatter_figure, topic_figure
from evenrank.scoring.protocol_settings import ALL
from evenrank.scoring.report.report_page import page_html
from evenrank.scoring.result_tables import runs_table, save_table
from evenrank.scoring.results import Results
from evenrank.scoring.tables import Cell, Column, Table
from evenrank.scoring.topic_stats import write_feedback, write_topic_stats
from evenrank.scoring.topic_truth import CollectionProblem
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs

ReportKind = Literal["runs", "own rankings", "a campaign"]
"""What a report is of."""
MARKER = "report.json"
"""A folder with this file is a report, which a new report may replace."""


def write_report(
    folder: str | os.PathLike[str],
    collection: Collection,
    runs: Sequence[Run],
    results: Results,
    commands: Mapping[str, str] | None = None,
    report_command: str = "",
    title: str = "Fair ranking report",
    attributes: AttributeResults | None = None,
) -> Path:
    """The report of `results` in `folder`; gives the path of its page.

    `runs` are the scored runs themselves, needed for the exposure of groups; `commands` maps run names to the
    commands that make them again; `attributes` adds a table with each attribute alone. An older report in the folder is
    replaced when all is done, and stays when something fails.
    """
    folder = Path(folder)
    refuse_other_folder(folder, "runs")
    exposures = _exposures(collection, runs, results)
    titles = {topic.id: topic.title for topic in collection.topics}
    with atomic_folder(folder) as fresh:
        write_figures(results, exposures, fresh / "figures", titles)
        write_tables(results, fresh / "tables", attributes)
        write_topic_stats(results, fresh / "topics")
        write_feedback(results, fresh / "feedback")
        _write_exposure(exposures, results, fresh / "exposure")
        _write_depths(collection, runs, results, fresh)
        write_json(fresh / "results.json", results.to_json())
        page = page_html(
            results, exposures, commands or {}, titles, title, report_command, attributes, is_synthetic(collection)
        )
        (fresh / "index.html").write_text(terminal_text(page), "utf-8")
        mark_report(fresh, (run.run for run in results.runs), "runs")
    return folder / "index.html"


def mark_report(folder: Path, runs: Iterable[str], kind: ReportKind) -> None:
    """Say that a folder with all its files is a report, so that a newer one of the kind may replace it."""
    record = {"report_of": sorted(runs), "kind": kind, "files": _files_of(folder)}
    write_json(folder / MARKER, {**record, "evenrank_version": version("evenrank")})


def _files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def is_synthetic(collection: Collection) -> bool:
    """Whether the articles were generated, so that scores say nothing of real ones."""
    return "generated" in collection.manifest.settings


def refuse_other_folder(folder: Path, kind: ReportKind) -> None:
    """EvenrankError when the folder holds something that is not a report of the kind: it would be lost."""
    if folder.is_file():
        raise EvenrankError(f"{folder}: a file, where the folder of the report is to be (name another)")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise EvenrankError(f"{folder}: holds files that are not a report (name another folder, or empty it)")
    try:
        record = orjson.loads((folder / MARKER).read_bytes())
        found, known = record["kind"], {*record["files"], MARKER}
    except (OSError, ValueError, KeyError, TypeError):  # none, or one of an earlier version
        return
    if found != kind:
        raise EvenrankError(f"{folder}: holds a report of another kind, of {found} (name another folder, or empty it)")
    if foreign := [name for name in _files_of(folder) if name not in known]:
        raise EvenrankError(f"{folder}: holds files that are not of the report: {listed(foreign)} (move them)")


def _exposures(collection: Collection, runs: Sequence[Run], results: Results) -> list[GroupExposure]:
    problem = CollectionProblem.of(collection, results.protocol, results.groups)
    by_name = {run.name: run for run in runs}
    return [
        exposure_by_group(problem, by_name[row.run], row.topics)
        for task in results.tasks
        for row in results.of_task(task)
    ]


def _write_exposure(exposures: Sequence[GroupExposure], results: Results, folder: Path) -> None:
    folder.mkdir()
    for task in results.tasks:
        table = exposure_table(one for one in exposures if one.task == task)
        save_table(table, folder, f"task{task}-exposure", CSV)


def _write_depths(collection: Collection, runs: Sequence[Run], results: Results, folder: Path) -> None:
    """The curves by depth of the Task 1 runs, as a figure and a table."""
    of_task1 = [run for run in runs if run.task == 1]
    if not of_task1:
        return
    curves = depth_curves(collection, of_task1, protocol=results.protocol, groups=results.groups)
    save_table(curves.table(), folder / "tables", "task1-depths", CSV)
    with figure_style():
        save_figure(curves.plot(), folder / "figures", "task1-depths")


SCATTER_NAMES: dict[Task, str] = {1: "task1-ndcg-awrf", 2: "task2-eer-eed"}


def write_figures(
    results: Results, exposures: Sequence[GroupExposure], folder: Path, titles: Mapping[int, str] | None = None
) -> list[Path]:
    """Each figure as PDF, SVG and PNG in `folder`; gives their paths. `titles` are those of the topics."""
    paths: list[Path] = []
    with figure_style():
        for task in results.tasks:
            of_task = [one for one in exposures if one.task == task]
            paths += save_figure(scatter_figure(results, task), folder, SCATTER_NAMES[task])
            paths += save_figure(distribution_figure(results, task), folder, f"task{task}-distributions")
            paths += save_figure(topic_figure(results, task, titles), folder, f"task{task}-topics")
            paths += save_figure(exposure_figure(of_task, task), folder, f"task{task}-exposure")
    return paths


PAPER_COLUMNS: dict[Task, tuple[str, ...]] = {1: ("nDCG", "AWRF", "Score"), 2: ("EE-R", "EE-D", "EE-L")}
CAPTIONS: dict[Task, str] = {
    1: "Task 1 runs. Higher score is better (for all metrics).",
    2: "Task 2 runs. Lower EE-L is better.",
}
ENDINGS = {"txt": "table", "tex": "latex", "html": "html"}
"""File ending → format."""
CSV = {"csv": "csv"}


def paper_table(results: Results, task: Task) -> Table:
    """The runs of a task as the paper prints them: component measures, main measure, interval to three places."""
    measures = [as_measure(name, task) for name in PAPER_COLUMNS[task]]
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
    paths: list[Path] = []
    for task in results.tasks:
        paths += save_table(paper_table(results, task), folder, f"task{task}-runs", ENDINGS)
        paths += save_table(runs_table(results, task), folder, f"task{task}-runs", CSV)
        if attributes is not None:
            paths += save_table(attributes.table(task), folder, f"task{task}-attributes", ENDINGS | CSV)
    return paths


def report(
    collection: Collection | FilePath,
    runs: GivenRun | Iterable[GivenRun],
    folder: FilePath,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: GroupNames = "intersection",
    *,
    title: str = "Fair ranking report",
    judged_only: bool = False,
    commands: Mapping[str, str] | None = None,
    report_command: str = "",
    **settings: Any,
) -> Results:
    """Score runs and write tables, figures and one offline page (`index.html`) into a folder; gives the scores.

    An older report in the folder is replaced once the new one is complete; a folder with anything else is refused.
    `commands` says by run name which command makes each row again, `report_command` which one makes the report.
    """
    refuse_other_folder(Path(folder), "runs")
    opened = as_collection(collection)
    given = given_runs(runs)
    loaded = [as_run(opened, run) for run in given if isinstance(run, Run)]
    loaded += read_runs([run for run in given if not isinstance(run, Run)], opened.text_ids)
    opened, loaded, about = without_withdrawn(opened, loaded)
    if judged_only:
        loaded = [judged_part(run, opened) for run in loaded]
    results = evaluate(opened, loaded, protocol, groups, **settings)
    results = replace(results, notes=(*about, *results.notes))
    attributes = evaluate_attributes(opened, loaded, results.protocol) if results.groups == ALL else None
    write_report(folder, opened, loaded, results, commands, report_command, title, attributes)
    return results
