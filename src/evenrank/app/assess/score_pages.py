"""The organiser's page of scores, and the results page that can be published.

Scores are those of `evenrank evaluate --judgments`: the same function, the same protocol, the same notes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import fmean

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.assess.judging import Judging, judging_of, organise_path, organiser
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.templating import page
from evenrank.core.records import Run, Task, Topic
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.rejudged import MachineLeaderboard, machine_leaderboards, scorer
from evenrank.scoring.report.campaign_report import campaign_report, zip_folder
from evenrank.scoring.results import Results, RunResult
from evenrank.trec.assessment.campaign import campaign_runs
from evenrank.trec.assessment.files import judgment_notes, with_judgments
from evenrank.trec.assessment.leave_one_out import LeftOut, leave_one_out, stored_pool
from evenrank.trec.assessment.machine import MachineAgreement, compare_with_people
from evenrank.trec.assessment.pool import counted_runs
from evenrank.trec.judged_pages import judged_at, judged_only, judged_pages

DEPTHS = (5, 10, 20)
"""judged@k is shown for these k."""


@dataclass(frozen=True)
class RunEffect:
    """One run under the judgments so far."""

    result: RunResult
    judged: tuple[float, ...]
    """judged@k for each of `DEPTHS`, mean over judged topics."""
    score_judged_only: float
    """Mean when unjudged pages are taken out of the rankings first."""

    @property
    def score(self) -> float:
        """Mean with unjudged pages as not relevant."""
        return self.result.scores[self.result.main_measure]


@dataclass(frozen=True)
class Effects:
    """Everything on the page of scores."""

    results: Results
    """As `evenrank evaluate --judgments` gives them."""
    runs: dict[Task, list[RunEffect]]
    """Best first."""
    left_out: dict[Task, list[LeftOut]]
    """Empty where no run that brought pages is known."""
    about: list[str]
    """What readers should know about the judgments."""
    machines: list[MachineAgreement]
    """Judgments of programs beside people's."""
    boards: list[MachineLeaderboard]
    """How runs rank with each."""

    @property
    def notes(self) -> list[str]:
        """What the command line says below its table, each once."""
        of_tasks = (note for task in self.results.tasks for note in self.results.notes_of(task))
        return list(dict.fromkeys([*self.about, *of_tasks]))


def effects(judging: Judging) -> Effects:
    """The effects of the judgments of this moment on all runs of the server; EvenrankError when nothing is scored."""
    with judging.store.snapshot():
        return _effects(judging)


def _effects(judging: Judging) -> Effects:
    collection, protocol = judging.state.collection, judging.state.settings.protocol
    judged_collection = with_judgments(collection, judging.store)
    topics = judged_collection.topics
    runs, _ = counted_runs(campaign_runs(judging.store), judging.runs)
    results = evaluate(judged_collection, judging.runs, protocol)
    judged = {topic: pages for topic, pages in judged_pages(topics).items() if len(pages)}
    score = scorer(collection, protocol, "intersection")
    by_name = {run.name: run for run in runs}

    def effect(result: RunResult) -> RunEffect:
        run = by_name[result.run]
        shares = tuple(mean_of(judged_at(run, judged, depth).values()) for depth in DEPTHS)
        return RunEffect(result, shares, mean_of(score(judged_only(run, judged), topics).values()))

    return Effects(
        results,
        {task: [effect(result) for result in results.of_task(task)] for task in results.tasks},
        {task: _left_out(judging, [run for run in runs if run.task == task], topics) for task in results.tasks},
        judgment_notes(judging.store),
        compare_with_people(judging.store),
        machine_leaderboards(collection, runs, judging.store, protocol),
    )


def mean_of(values: Collection[float]) -> float:
    return fmean(values or [nan])


def _left_out(judging: Judging, runs: Sequence[Run], topics: Sequence[Topic]) -> list[LeftOut]:
    collection = judging.state.collection
    pool = stored_pool(judging.store, collection.text_ids)
    pool = pool if pool.pages or judging.pool is None else judging.pool
    if not pool.pages or not runs:
        return []
    score = scorer(collection, judging.state.settings.protocol, "intersection")
    return leave_one_out(runs, pool, topics, score, higher_is_better=MAIN[runs[0].task].higher_is_better)


def show_scores(request: Request) -> Response:
    """What the judgments so far do to the scores of runs."""
    who, judging = organiser(request), judging_of(request)
    found, fault = None, ""
    if judging.runs:
        try:
            found = judging.remembered.get("effects", judging.store, lambda: effects(judging))
        except EvenrankError as error:
            fault = str(error)
    return page(
        request,
        "assess/scores.html",
        who=who,
        effects=found,
        fault=fault,
        has_runs=bool(judging.runs),
        depths=DEPTHS,
        protocol=judging.state.settings.protocol,
        link=organise_path(request),
    )


def download_results(request: Request) -> Response:
    """The results page with its tables and judgments, as a zip file that can be published as it is."""
    who, judging = organiser(request), judging_of(request)
    settings = judging.state.settings
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results"
        try:
            campaign_report(judging.state.collection, judging.store, judging.runs, path, settings.protocol, by=who.name)
        except EvenrankError as error:
            raise BadRequestError(str(error).replace(str(path), "results")) from error
        headers = {"Content-Disposition": 'attachment; filename="results.zip"'}
        return Response(zip_folder(path), media_type="application/zip", headers=headers)


def routes() -> list[BaseRoute]:
    start = "/organise/{secret:secret}"
    return [Route(f"{start}/scores", show_scores), Route(f"{start}/results.zip", download_results)]
