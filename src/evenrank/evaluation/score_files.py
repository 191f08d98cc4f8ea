"""Run files → results: reads them, reports every bad file at once, and scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from evenrank.assessment.judged import judged_only as without_unjudged
from evenrank.assessment.judged import judged_pages
from evenrank.collection.collection import Collection
from evenrank.evaluation.evaluate import evaluate
from evenrank.evaluation.protocol_settings import ProtocolSettings
from evenrank.evaluation.results import Results
from evenrank.formats.run_files import read_runs
from evenrank.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.records import Run
from evenrank.types import FilePath


def score_files(
    collection: Collection,
    paths: Sequence[FilePath],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: str = "intersection",
    settings: ProtocolSettings | None = None,
    *,
    judged_only: bool = False,
    measures: Iterable[str] | str = (),
) -> Results:
    """The scores of run files; with `judged_only` after pages that nobody judged are taken out.

    Topics whose judgments do not say what was judged keep all their pages.
    """
    runs = read_runs(paths, collection.text_ids)
    if judged_only:
        runs = [judged_part(run, collection) for run in runs]
    return evaluate(collection, runs, protocol, groups, measures=measures, **(settings or {}))


def judged_part(run: Run, collection: Collection) -> Run:
    """The run without the pages that nobody judged, on the topics that say what was judged."""
    judged = judged_pages(collection.topics)
    topic_of_page = np.repeat(run.topic_ids, np.diff(run.starts))
    unsaid = [topic for topic in dict.fromkeys(run.topic_ids.tolist()) if topic not in judged]
    return without_unjudged(run, judged | {topic: run.pages[topic_of_page == topic] for topic in unsaid})
