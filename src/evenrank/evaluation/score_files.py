"""Run files → results: reads them, reports every bad file at once, and scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evenrank.assessment.judged import judged_only as without_unjudged
from evenrank.assessment.judged import judged_pages
from evenrank.collection.collection import Collection
from evenrank.errors import Fault, InputError
from evenrank.evaluation.evaluate import evaluate
from evenrank.evaluation.protocol_settings import ProtocolSettings
from evenrank.evaluation.results import Results
from evenrank.formats.runs import read_run, run_name
from evenrank.protocol import Protocol
from evenrank.records import Run


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs in some files; InputError lists the faults of all files."""
    runs: list[Run] = []
    faults: list[Fault] = []
    n_more = 0
    for path in paths:
        try:
            runs.append(read_run(path))
        except InputError as error:
            faults += error.faults
            n_more += error.n_more
    faults += _same_names(paths)
    if faults:
        raise InputError(faults, n_more)
    return runs


def _same_names(paths: Sequence[Path]) -> list[Fault]:
    """A fault for each file whose run has the name of an earlier one."""
    first: dict[str, Path] = {}
    faults = []
    for path in paths:
        other = first.setdefault(run_name(path), path)
        if other is not path:
            faults.append(Fault(str(path), 0, f"run name {run_name(path)!r} is that of {other} too", "rename one"))
    return faults


def score_files(
    collection: Collection,
    paths: Sequence[Path],
    protocol: str | Protocol = "official-2021",
    groups: str = "intersection",
    settings: ProtocolSettings | None = None,
    *,
    judged_only: bool = False,
) -> Results:
    """The scores of run files; with `judged_only` after pages that nobody judged are taken out.

    Topics whose judgments do not say what was judged keep all their pages.
    """
    runs = read_runs(paths)
    if judged_only:
        runs = [judged_part(run, collection) for run in runs]
    return evaluate(collection, runs, protocol, groups, **(settings or {}))


def judged_part(run: Run, collection: Collection) -> Run:
    """The run without the pages that nobody judged, on the topics that say what was judged."""
    judged = judged_pages(collection.topics)
    topic_of_page = np.repeat(run.topic_ids, np.diff(run.starts))
    unsaid = [topic for topic in dict.fromkeys(run.topic_ids.tolist()) if topic not in judged]
    return without_unjudged(run, judged | {topic: run.pages[topic_of_page == topic] for topic in unsaid})
