"""`evenrank report`: tables, figures, feedback files and one offline page, in a folder that appears whole."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import orjson

from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.evaluation.attributes import AttributeResults
from evenrank.evaluation.exposure_by_group import GroupExposure, exposure_by_group, exposure_table
from evenrank.evaluation.feedback import write_feedback, write_topic_stats
from evenrank.evaluation.group_space import protocol_space
from evenrank.evaluation.report.report_figures import write_figures
from evenrank.evaluation.report.report_page import page_html
from evenrank.evaluation.report.report_tables import write_tables
from evenrank.evaluation.results import Results
from evenrank.evaluation.tables.delimited import csv_of
from evenrank.formats.atomic import atomic_folder
from evenrank.records import Run

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

    `runs` are the scored runs themselves, needed for the exposure of groups; `commands` tell by run name how each row
    can be made again; `attributes` adds a table with each attribute alone. An older report in the folder is replaced
    when all is done, and stays when something fails.
    """
    folder = Path(folder)
    refuse_other_folder(folder)
    exposures = _exposures(collection, runs, results)
    titles = {topic.id: topic.title for topic in collection.topics}
    with atomic_folder(folder) as fresh:
        write_figures(results, exposures, fresh / "figures")
        write_tables(results, fresh / "tables", attributes)
        write_topic_stats(results, fresh / "topics")
        write_feedback(results, fresh / "feedback")
        _write_exposure(exposures, results, fresh / "exposure")
        (fresh / "results.json").write_bytes(orjson.dumps(results.to_json(), option=orjson.OPT_INDENT_2) + b"\n")
        page = page_html(results, exposures, commands or {}, titles, title, report_command, attributes)
        (fresh / "index.html").write_text(page, "utf-8")
        marker = {"report_of": sorted(run.run for run in results.runs), "evenrank_version": version("evenrank")}
        (fresh / MARKER).write_bytes(orjson.dumps(marker, option=orjson.OPT_INDENT_2) + b"\n")
    return folder / "index.html"


def refuse_other_folder(folder: Path) -> None:
    """EvenrankError when the folder holds something that is not a report: it would be lost."""
    if folder.is_file():
        raise EvenrankError(f"{folder}: a file, where the folder of the report is to be (name another)")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise EvenrankError(f"{folder}: holds files that are not a report (name another folder, or empty it)")


def _exposures(collection: Collection, runs: Sequence[Run], results: Results) -> list[GroupExposure]:
    space = protocol_space(collection, results.protocol, results.groups)
    by_name = {run.name: run for run in runs}
    return [
        exposure_by_group(collection, by_name[row.run], row.topics, results.protocol, space)
        for task in results.tasks
        for row in results.of_task(task)
    ]


def _write_exposure(exposures: Sequence[GroupExposure], results: Results, folder: Path) -> None:
    folder.mkdir()
    for task in results.tasks:
        table = exposure_table(one for one in exposures if one.task == task)
        (folder / f"task{task}-exposure.csv").write_text(csv_of(table), "utf-8")
