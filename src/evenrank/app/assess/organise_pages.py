"""The pages of an organiser: state of the work, agreement, settling of disagreements, scores, exports."""

from __future__ import annotations

import tempfile
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.assess.ballot import new_nonce, nonce_of, vote_of
from evenrank.app.assess.effects import DEPTHS, effects
from evenrank.app.assess.judge_pages import go_to, keep_remark, last_answer
from evenrank.app.assess.judging import judging_of
from evenrank.app.assess.overview import overview
from evenrank.app.assess.people import organise_path, organiser
from evenrank.app.assess.reading import article_context
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.forms import Fields, with_form
from evenrank.trec.assessment.agreement import Disagreement, adjudication_queue, measure_agreement
from evenrank.trec.assessment.files import EXPORTS
from evenrank.trec.assessment.queues import discussed_pages
from evenrank.trec.assessment.votes import ADJUDICATION, reopen_page, undo_last, votes_on, withdraw_rulings

FILE_NAMES = {"qrels": "qrels.txt", "topics": "eval-topics-with-qrels.json.gz", "votes": "votes.jsonl.gz"}
"""Names under which exports are downloaded."""


def show_work(request: Request) -> Response:
    """Coverage, pace, agreement, remaining work."""
    who, judging = organiser(request), judging_of(request)
    return page(
        request,
        "assess/organise.html",
        who=who,
        state=judging.remembered.get("overview", judging.store, lambda: overview(judging)),
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
