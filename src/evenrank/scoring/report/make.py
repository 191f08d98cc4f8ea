"""`evenrank.report`: score runs and write the report on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenrank.core.groups import GroupNames
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run
from evenrank.core.types import FilePath
from evenrank.io.runs import read_runs
from evenrank.scoring.attributes import evaluate_attributes
from evenrank.scoring.evaluate import evaluate, given_runs, judged_part, without_withdrawn
from evenrank.scoring.protocol_settings import ALL
from evenrank.scoring.report.report import refuse_other_folder, write_report
from evenrank.scoring.results import Results
from evenrank.trec.collection import Collection, as_collection, as_run


def report(
    collection: Collection | FilePath,
    runs: Run | FilePath | Iterable[Run | FilePath],
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
    refuse_other_folder(Path(folder))
    opened = as_collection(collection)
    listed = given_runs(runs)
    loaded = [as_run(opened, run) for run in listed if isinstance(run, Run)]
    loaded += read_runs([run for run in listed if not isinstance(run, Run)], opened.text_ids)
    opened, loaded, about = without_withdrawn(opened, loaded)
    if judged_only:
        loaded = [judged_part(run, opened) for run in loaded]
    results = evaluate(opened, loaded, protocol, groups, **settings)
    results = replace(results, notes=(*about, *results.notes))
    attributes = evaluate_attributes(opened, loaded, results.protocol) if results.groups == ALL else None
    write_report(folder, opened, loaded, results, commands, report_command, title, attributes)
    return results
