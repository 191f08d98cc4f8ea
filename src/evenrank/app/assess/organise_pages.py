"""The organiser's pages: state of the work, agreement, disagreements, effects on scores, exports."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from math import nan
from pathlib import Path
from statistics import fmean

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.assess.ballot import new_nonce, nonce_of, vote_of
from evenrank.app.assess.judge_pages import article_context, go_to, keep_remark, last_answer
from evenrank.app.assess.judging import Judging, judging_of, organise_path, organiser
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.forms import Fields, with_form
from evenrank.core.records import Run, Task, Topic
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.scoring.rejudged import scorer
from evenrank.trec.assessment.agreement import (
    Bootstrap,
    Disagreement,
    Estimate,
    adjudication_queue,
    graded_pages,
    measure_agreement,
    overall_agreement,
)
from evenrank.trec.assessment.coverage import Pace, TierCoverage, coverage, max_tiers, pace
from evenrank.trec.assessment.files import EXPORTS, count_left_out, judged_topics
from evenrank.trec.assessment.queues import TopicProgress, assessor_progress, discussed_pages
from evenrank.trec.assessment.unjudged import LeftOut, judged_at, judged_only, judged_pages, leave_one_out
from evenrank.trec.assessment.votes import (
    ADJUDICATION,
    current_votes,
    reopen_page,
    undo_last,
    votes_on,
    withdraw_rulings,
)

STATES = tuple(field.name for field in fields(TierCoverage) if field.name.startswith("n_"))
"""Names of the counts of a tier, in the order of the bars."""
DEPTHS = (5, 10, 20)
"""judged@k is shown for these k."""
PROTOCOL = "official-2021"
FILE_NAMES = {"qrels": "qrels.txt", "topics": "eval-topics-with-qrels.json.gz", "votes": "votes.jsonl.gz"}
"""Names under which exports are downloaded."""


@dataclass(frozen=True)
class Overview:
    """Coverage, pace, agreement and remaining work at one moment."""

    tiers: list[TierCoverage]
    deepest: dict[int, int]
    """Topic → deepest tier that is complete with all before it."""
    paces: list[Pace]
    progress: dict[str, list[TopicProgress]]
    """Assessor → topic by topic."""
    n_shared: int
    """Pages that at least two assessors graded."""
    alpha: Estimate
    """Krippendorff's α on them."""
    n_unsettled: int
    """Disagreements that nothing decides yet."""
    undecided: dict[str, int]
    """Pages with votes that no export has as judged, by reason."""

    @property
    def total(self) -> TierCoverage:
        """All tiers of all topics together."""
        return TierCoverage(0, 0, *(sum(getattr(tier, name) for tier in self.tiers) for name in STATES))

    @property
    def n_open_votes(self) -> int:
        """Assigned pages that still wait for their assessor."""
        return sum(pace.n_open for pace in self.paces)

    @property
    def hours_left(self) -> float | None:
        """Projected hours of all assessors together; who has no pace yet counts at the mean pace of the others."""
        known = [pace.median_seconds for pace in self.paces if pace.median_seconds is not None]
        if not known:
            return None
        usual = sum(known) / len(known)
        return sum(pace.n_open * (pace.median_seconds or usual) for pace in self.paces) / 3600


def overview(judging: Judging) -> Overview:
    """The state of the work now."""
    store = judging.store
    with store.snapshot():
        paces = pace(store)
        n_shared, alpha = overall_agreement(graded_pages(current_votes(store)), Bootstrap())
        return Overview(
            tiers=coverage(store),
            deepest=max_tiers(store),
            paces=paces,
            progress={entry.assessor: assessor_progress(store, entry.assessor) for entry in paces},
            n_shared=n_shared,
            alpha=alpha,
            n_unsettled=len(adjudication_queue(store)),
            undecided=dict(count_left_out(store)),
        )


@dataclass(frozen=True)
class RunEffect:
    """One run under the judgments so far."""

    run: str
    task: Task
    judged: tuple[float, ...]
    """judged@k for each of `DEPTHS`, mean over judged topics."""
    score: float
    """Unjudged pages count as not relevant."""
    score_judged_only: float
    """Unjudged pages are taken out of the rankings first."""


@dataclass(frozen=True)
class Effects:
    """Everything on the page of scores, by task."""

    measures: dict[Task, str]
    """Main measure of each task that has runs."""
    runs: tuple[RunEffect, ...]
    left_out: dict[Task, list[LeftOut]]
    """Empty without a pool file."""

    def of_task(self, task: Task) -> list[RunEffect]:
        """The runs of a task, best first."""
        sign = -1 if MAIN[task].higher_is_better else 1
        return sorted((run for run in self.runs if run.task == task), key=lambda run: (sign * run.score, run.run))


def effects(judging: Judging) -> Effects:
    """The effects on all runs of the server, with the judgments of this moment."""
    topics = judged_topics(judging.store, judging.state.collection.text_ids)
    tasks: list[Task] = sorted({run.task for run in judging.runs})
    return Effects(
        measures={task: MAIN[task].name for task in tasks},
        runs=tuple(run_effect(judging, run, topics) for run in judging.runs),
        left_out={task: _left_out(judging, task, topics) for task in tasks},
    )


def run_effect(judging: Judging, run: Run, topics: Sequence[Topic]) -> RunEffect:
    """One run: how much of it is judged, and its score both ways."""
    judged = {topic: pages for topic, pages in judged_pages(topics).items() if len(pages)}
    shares = tuple(_mean(judged_at(run, judged, depth).values()) for depth in DEPTHS)
    scores = [_score(judging, one, topics).values() for one in (run, judged_only(run, judged))]
    return RunEffect(run.name, run.task, shares, *map(_mean, scores))


def _score(judging: Judging, run: Run, topics: Sequence[Topic]) -> dict[int, float]:
    """Scores by topic; none when nothing can be scored yet. Topics count before their tiers are complete."""
    try:
        return scorer(judging.state.collection, PROTOCOL, "intersection", min_tier=0)(run, topics)
    except EvenrankError:
        return {}


def _mean(values: Collection[float]) -> float:
    return fmean(values or [nan])


def _left_out(judging: Judging, task: Task, topics: Sequence[Topic]) -> list[LeftOut]:
    if judging.pool is None:
        return []
    same = [run for run in judging.runs if run.task == task]

    def evaluate(run: Run, given: Sequence[Topic]) -> dict[int, float]:
        return _score(judging, run, given)

    return leave_one_out(same, judging.pool, topics, evaluate, higher_is_better=MAIN[task].higher_is_better)


def show_work(request: Request) -> Response:
    """Coverage, pace, agreement, remaining work."""
    who, judging = organiser(request), judging_of(request)
    return page(
        request,
        "assess/organise.html",
        who=who,
        overview=judging.remembered.get("overview", judging.store, lambda: overview(judging)),
        topic_of=judging.topic,
        exports=FILE_NAMES,
        link=organise_path(request),
    )


def show_agreement(request: Request) -> Response:
    """κ and α with their intervals, and every disagreement."""
    who, judging = organiser(request), judging_of(request)
    return page(
        request,
        "assess/agreement.html",
        who=who,
        found=judging.remembered.get("agreement", judging.store, lambda: measure_agreement(judging.store)),
        topic_of=judging.topic,
        title_of=judging.title,
        label_of=judging.labels(),
        last=last_answer(judging, who),
        n_remarks={(entry.topic, entry.page): entry.n_remarks for entry in discussed_pages(judging.store)},
        nonce=new_nonce(),
        link=organise_path(request),
    )


def settle_next(request: Request) -> Response:
    """To the first disagreement that nothing decides yet; to the list when there is none."""
    organiser(request)
    waiting = adjudication_queue(judging_of(request).store)
    return go_to(settle_path(request, waiting[0]) if waiting else organise_path(request, "agreement"))


def settle_path(request: Request, entry: Disagreement) -> str:
    return organise_path(request, "settle", entry.topic, entry.page)


def show_disagreement(request: Request) -> Response:
    """The article with what each assessor said, and the buttons for a ruling."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    votes = votes_on(judging.store, topic, page_id)
    if not votes:
        raise HTTPException(404, "Nobody has judged this page for this topic.")
    rulings = [vote for vote in votes if vote.method == ADJUDICATION]
    return page(
        request,
        "assess/settle.html",
        **article_context(judging, topic, page_id, "whole" in request.query_params),
        who=who,
        votes=votes,
        mine=rulings[-1] if rulings else None,
        waiting=adjudication_queue(judging.store),
        last=last_answer(judging, who),
        link=organise_path(request),
    )


def save_ruling(request: Request, fields: Fields) -> Response:
    """Stores a ruling, then goes to the next disagreement."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    if not votes_on(judging.store, topic, page_id):
        raise HTTPException(404, "Nobody has judged this page for this topic.")
    vote = vote_of(fields, topic, page_id, who.name, judging.answers, ADJUDICATION)
    if vote.outcome == "skipped":
        raise BadRequestError("A ruling decides: it is a grade of relevance, or Cannot judge.")
    judging.keep(vote)
    waiting = adjudication_queue(judging.store)
    after = [entry for entry in waiting if (entry.topic, entry.page) > (topic, page_id)] or waiting
    return go_to(settle_path(request, after[0]) if after else organise_path(request, "agreement"))


def save_organiser_remark(request: Request, fields: Fields) -> Response:
    """Opens or continues the discussion of an article with those who judged it."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    if not votes_on(judging.store, topic, page_id):
        raise HTTPException(404, "Nobody has judged this page for this topic.")
    keep_remark(judging, fields, topic, page_id, who.name)
    return go_to(organise_path(request, "settle", topic, page_id) + "#discussion")


def reopen(request: Request, fields: Fields) -> Response:
    """Takes rulings back so that votes count again, or all votes so that everybody is asked again."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    if fields.get("what") == "ruling":
        withdraw_rulings(judging.store, topic, page_id, who.name)
        return go_to(organise_path(request, "settle", topic, page_id))
    if fields.get("sure") != "yes":
        raise BadRequestError("Tick the box to confirm that everybody is to be asked again.")
    reopen_page(judging.store, topic, page_id, who.name)
    return go_to(organise_path(request, "agreement"))


def undo_ruling(request: Request, fields: Fields) -> Response:
    """Withdraws the organiser's last ruling and goes back to it."""
    who, judging = organiser(request), judging_of(request)
    vote = undo_last(judging.store, who.name, f"{nonce_of(fields)}.undo")
    path = ("settle", vote.topic, vote.page) if vote else ("agreement",)
    return go_to(organise_path(request, *path))


def show_scores(request: Request) -> Response:
    """What the judgments so far do to the scores of runs."""
    who, judging = organiser(request), judging_of(request)
    found = judging.remembered.get("effects", judging.store, lambda: effects(judging)) if judging.runs else None
    has_pool = judging.pool is not None
    link = organise_path(request)
    return page(request, "assess/scores.html", who=who, effects=found, depths=DEPTHS, has_pool=has_pool, link=link)


def download(request: Request) -> Response:
    """An export as a file; what is undecided is in no list of judged pages."""
    organiser(request)
    name = request.path_params["name"]
    if name not in EXPORTS:
        raise HTTPException(404, Message("Choose from: %(names)s.", names=", ".join(EXPORTS)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAMES[name]
        EXPORTS[name](judging_of(request).store, path)
        headers = {"Content-Disposition": f'attachment; filename="{path.name}"'}
        return Response(path.read_bytes(), media_type="application/octet-stream", headers=headers)


def routes() -> list[BaseRoute]:
    start = "/organise/{secret:secret}"
    article = f"{start}/settle/{{topic:number}}/{{page:number}}"
    return [
        Route(start, show_work),
        Route(f"{start}/agreement", show_agreement),
        Route(f"{start}/settle", settle_next),
        Route(article, show_disagreement),
        Route(article, with_form(save_ruling), methods=["POST"]),
        Route(f"{article}/remarks", with_form(save_organiser_remark), methods=["POST"]),
        Route(f"{article}/reopen", with_form(reopen), methods=["POST"]),
        Route(f"{start}/undo", with_form(undo_ruling), methods=["POST"]),
        Route(f"{start}/scores", show_scores),
        Route(f"{start}/export/{{name}}", download),
    ]
