"""The pages of an assessor: topics, one article after the other, undo."""

from __future__ import annotations

import hashlib
import re
import time
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from evenrank.app.assess.ballot import MAX_COMMENT, new_nonce, nonce_of, vote_of
from evenrank.app.assess.judging import Judging, judge_path, judging_of, organise_path, person
from evenrank.app.assess.reading import lay_out
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.forms import Fields, number_in, with_form
from evenrank.trec.assessment.assessors import Assessor
from evenrank.trec.assessment.gold import gold_ruling
from evenrank.trec.assessment.queues import (
    MAX_REMARK,
    QueueItem,
    TopicQueue,
    add_remark,
    assessor_progress,
    discussed_pages,
    is_assigned,
    next_after,
    next_item,
    remarks_on,
    topic_queue,
)
from evenrank.trec.assessment.votes import ScaleChangedError, Vote, last_vote, max_grade_of, undo_last, votes_on

GOLD = re.compile(r"(\d{1,9})-(\d{1,10})")
"""Topic and page of a gold page that was answered, in the address of the page behind it."""
NOT_YOURS = Message("This page was not given to you. Go back to your topics: your link, without anything behind it.")
GONE_OVER = Message("This article was given to somebody else meanwhile, so your answer was not saved.")
OTHER_SCALE = Message("The answers have changed meanwhile: read them again, then choose.")


def show_topics(request: Request) -> Response:
    """All topics of an assessor with their progress; organisers are sent to their own page."""
    who, judging = person(request), judging_of(request)
    if who.role == "organiser":
        return go_to(organise_path(request))
    topics = assessor_progress(judging.store, who.name)
    upcoming = next_item(judging.store, who.name)
    return page(
        request,
        "assess/topics.html",
        who=who,
        topics=topics,
        upcoming=upcoming.topic if upcoming else None,
        guidelines=judging.guidelines,
        scale=list(judging.answers.values()),
        discussed=[(entry, judging.title(entry.page)) for entry in discussed_pages(judging.store, who.name)],
        link=judge_path(request),
    )


def show_topic(request: Request) -> Response:
    """One topic: what is left, what was skipped, and every answer given so far."""
    who, judging, topic = person(request), judging_of(request), request.path_params["topic"]
    items = own_queue(judging, who, topic)
    comments = dict(
        judging.store.connection.execute(
            "SELECT page, comment FROM current_vote WHERE assessor = ? AND topic = ?", (who.name, topic)
        ).fetchall()
    )
    rows = [(item, judging.title(item.page), comments.get(item.page, "")) for item in items.items if item.outcome]
    return page(
        request,
        "assess/topic.html",
        who=who,
        told=told(request, judging, who),
        topic=judging.topic(topic),
        queue=items,
        rows=rows,
        label_of=judging.labels(),
        last=last_answer(judging, who),
        nonce=new_nonce(),
        upcoming=next_item(judging.store, who.name),
        guidelines=judging.guidelines,
        answers=list(judging.answers.values()),
        link=judge_path(request),
    )


def go_on(request: Request) -> Response:
    """To the next open article: of a topic, or of the first topic that has one; to the end page when there is none."""
    who, judging, topic = person(request), judging_of(request), request.path_params.get("topic")
    if topic is None:
        item = next_item(judging.store, who.name)
        return go_to(judge_path(request, item.topic, item.page) if item else judge_path(request))
    items = own_queue(judging, who, topic)
    if "skipped" in request.query_params:
        return go_to(article_path(request, topic, items.skipped_after(), skipped="1"))
    return go_to(article_path(request, topic, items.open_after()))


def show_article(request: Request) -> Response:
    return article_page(request)


def article_page(request: Request, status: int = 200, conflict: str | Message = "") -> Response:
    """One article with its buttons."""
    who, judging = person(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    items = own_queue(judging, who, topic)
    place = items.place_of(page_id)
    if place is None:
        raise HTTPException(404, NOT_YOURS)
    mine = [vote for vote in votes_on(judging.store, topic, page_id) if vote.assessor == who.name]
    return page(
        request,
        "assess/judge.html",
        status,
        conflict=conflict,
        told=told(request, judging, who),
        **article_context(judging, topic, page_id, "whole" in request.query_params),
        who=who,
        queue=items,
        place=place,
        mine=mine[-1] if mine else None,
        last=last_answer(judging, who),
        is_second_look="skipped" in request.query_params,
        is_changed="changed" in request.query_params,
        is_undone="undone" in request.query_params,
        may_discuss=bool(mine) and is_discussed(judging, topic, page_id),
        link=judge_path(request),
    )


def told(request: Request, judging: Judging, who: Assessor) -> tuple[Vote, str] | None:
    """The ruling on the gold page that was answered before, with its title, where the answer was another one."""
    found = GOLD.fullmatch(request.query_params.get("gold", ""))
    ruling = gold_ruling(judging.store, who.name, int(found[1]), int(found[2])) if found else None
    return None if ruling is None else (ruling, judging.title(ruling.page))


def article_context(judging: Judging, topic: int, page_id: int, is_whole: bool) -> dict[str, Any]:
    """Values for a template that shows an article of a topic and asks about it."""
    content = judging.content(page_id)
    return {
        "topic": judging.topic(topic),
        "page_id": page_id,
        "article": None if content is None else lay_out(content, judging.stems(topic), is_whole, judging.language),
        "is_whole": is_whole,
        "guidelines": judging.guidelines,
        "answers": list(judging.answers.values()),
        "label_of": judging.labels(),
        "max_comment": MAX_COMMENT,
        "nonce": new_nonce(),
        "remarks": remarks_on(judging.store, topic, page_id),
        "max_remark": MAX_REMARK,
        "opened": f"{time.time():.1f}",
        "version": judging.version(topic),
        "scale": max_grade_of(judging.store),
    }


def save_answer(request: Request, fields: Fields) -> Response:
    """Stores an answer, then goes to the next article."""
    who, judging = person(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    items = topic_queue(judging.store, who.name, topic)
    if items.place_of(page_id) is None and not is_assigned(judging.store, who.name, topic, page_id):
        raise HTTPException(404, GONE_OVER if items.items else NOT_YOURS)
    scale = number_in(fields.get("scale", ""))
    try:
        if scale is not None and scale != max_grade_of(judging.store):
            raise ScaleChangedError
        vote = vote_of(fields, topic, page_id, who.name, judging.answers)
        before = judging.keep(vote, number_in(fields.get("version", "")), scale)
    except ScaleChangedError:
        return article_page(request, 409, OTHER_SCALE)
    judging.order_again()
    ruling = gold_ruling(judging.store, who.name, topic, page_id)
    marks = {
        "changed": "1" if before is not None and before.token != fields.get("seen", before.token) else "",
        "gold": "" if ruling is None else f"{topic}-{page_id}",
    }
    if "skipped" in request.query_params:
        return go_to(article_path(request, topic, items.skipped_after(page_id), skipped="1", **marks))
    is_done = topic_queue(judging.store, who.name, topic).open_after(page_id) is None
    upcoming = None if is_done else next_after(judging.store, who.name, topic, page_id)
    return go_to(article_path(request, topic if upcoming is None else upcoming.topic, upcoming, **marks))


def save_remark(request: Request, fields: Fields) -> Response:
    """Adds to the discussion of an article; for those who have judged it, so that judging stays independent."""
    who, judging = person(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    has_judged = any(vote.assessor == who.name for vote in votes_on(judging.store, topic, page_id))
    if not has_judged or not is_discussed(judging, topic, page_id):
        raise HTTPException(404, NOT_YOURS)
    keep_remark(judging, fields, topic, page_id, who.name)
    return go_to(judge_path(request, topic, page_id) + "#discussion")


def is_discussed(judging: Judging, topic: int, page_id: int) -> bool:
    """Whether an organiser has opened the discussion of an article."""
    return any(remark.role == "organiser" for remark in remarks_on(judging.store, topic, page_id))


def keep_remark(judging: Judging, fields: Fields, topic: int, page_id: int, name: str) -> None:
    """Stores a remark that a form holds; one that was changed and sent again from the same form is another one."""
    text = fields.get("remark", "").replace("\r\n", "\n").strip()
    if not text or len(text) > MAX_REMARK:
        raise BadRequestError(Message("Write a remark of at most %(most)s characters.", most=MAX_REMARK))
    said = hashlib.sha256(f"{topic}\0{page_id}\0{name}\0{text}".encode()).hexdigest()[:16]
    add_remark(judging.store, f"{nonce_of(fields)}.remark.{said}", topic, page_id, name, text)


def undo(request: Request, fields: Fields) -> Response:
    """Withdraws the last answer and goes back to its article."""
    who, judging = person(request), judging_of(request)
    vote = undo_last(judging.store, who.name, f"{nonce_of(fields)}.undo")
    return go_to(f"{judge_path(request, vote.topic, vote.page)}?undone=1" if vote else judge_path(request))


def own_queue(judging: Judging, who: Assessor, topic: int) -> TopicQueue:
    """The queue of a topic; not found when nothing of it was given to this assessor."""
    items = topic_queue(judging.store, who.name, topic)
    if not items.items:
        raise HTTPException(404, NOT_YOURS)
    return items


def last_answer(judging: Judging, who: Assessor) -> tuple[Vote, str, str] | None:
    """The last vote, its article's title and its label: what undo would withdraw."""
    vote = last_vote(judging.store, who.name)
    return None if vote is None else (vote, judging.title(vote.page), judging.labels()(vote.outcome, vote.grade))


def article_path(request: Request, topic: int, item: QueueItem | None, **marks: str) -> str:
    """Address of an article of a topic, with the marks that are set; of the topic when there is none left."""
    query = "&".join(f"{name}={value}" for name, value in marks.items() if value and (item or name == "gold"))
    path = judge_path(request, topic) if item is None else judge_path(request, topic, item.page)
    return path + (f"?{query}" if query else "")


def go_to(address: str) -> Response:
    return RedirectResponse(address, 303)


def routes() -> list[BaseRoute]:
    return [
        Route("/judge/{secret:secret}", show_topics),
        Route("/judge/{secret:secret}/next", go_on),
        Route("/judge/{secret:secret}/undo", with_form(undo), methods=["POST"]),
        Route("/judge/{secret:secret}/{topic:number}", show_topic),
        Route("/judge/{secret:secret}/{topic:number}/next", go_on),
        Route("/judge/{secret:secret}/{topic:number}/{page:number}", show_article),
        Route("/judge/{secret:secret}/{topic:number}/{page:number}", with_form(save_answer), methods=["POST"]),
        Route("/judge/{secret:secret}/{topic:number}/{page:number}/remarks", with_form(save_remark), methods=["POST"]),
    ]
