"""The organiser's pages: state of the work, the pages behind it, agreement, disagreements, the log, exports."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.assess.ballot import new_nonce, nonce_of, vote_of
from evenrank.app.assess.judge_pages import OTHER_SCALE, article_context, go_to, keep_remark, last_answer
from evenrank.app.assess.judging import NOT_STORED, Judging, judging_of, organise_path, organiser
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.forms import Fields, number_in, with_form
from evenrank.errors import EvenrankError
from evenrank.scoring.report.campaign_report import zip_folder
from evenrank.trec.assessment.agreement import (
    Bootstrap,
    Disagreement,
    Estimate,
    adjudication_queue,
    graded_pages,
    measure_agreement,
    overall_agreement,
)
from evenrank.trec.assessment.alarms import Alarm, alarms, is_fast
from evenrank.trec.assessment.assessors import assessors
from evenrank.trec.assessment.coverage import (
    Pace,
    TierCoverage,
    coverage,
    max_tiers,
    pace,
    page_state,
    settle_votes,
)
from evenrank.trec.assessment.files import count_left_out, export_together
from evenrank.trec.assessment.gold import GoldScore, gold_scores, is_gold, mark_gold, unmark_gold
from evenrank.trec.assessment.log import check_log, log_entries, names_by_pseudonym
from evenrank.trec.assessment.queues import TopicProgress, assessor_progress, discussed_pages, remarks_on
from evenrank.trec.assessment.votes import (
    ADJUDICATION,
    RulingConflictError,
    ScaleChangedError,
    Store,
    Vote,
    cast_ruling,
    current_votes,
    first_votes,
    max_grade_of,
    reopen_page,
    standing_ruling,
    undo_last,
    votes_on,
    withdraw_rulings,
)

STATES = tuple(field.name for field in fields(TierCoverage) if field.name.startswith("n_"))
"""Names of the counts of a tier, in the order of the bars."""
ROWS = 100
"""Pages, or entries of the log, on one page of a list."""
FILE_NAMES = {
    "qrels": "qrels.txt",
    "topics": "eval-topics-with-qrels.json.gz",
    "votes": "votes.jsonl.gz",
    "log": "log.jsonl",
    "remarks": "remarks.jsonl",
    "machine": "machine.jsonl",
}
"""Names under which exports are downloaded."""
DIGEST = re.compile("[0-9a-f]{64}")
ALL, ALL_NAME = "all", "judgments.zip"
"""All exports, each with the record that says its tiers, scale and coverage."""


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
    """Krippendorff's α on them, of the votes that count now."""
    first_alpha: Estimate
    """The same of first votes: before anybody discussed a page."""
    alarms: list[Alarm]
    gold: dict[str, GoldScore]
    """By assessor, answers on gold pages."""
    n_unsettled: int
    """Disagreements that nothing decides yet."""
    undecided: dict[str, int]
    """Pages with votes that no export has as judged, by reason."""
    without_link: frozenset[str]
    """People who cannot judge: their link was withdrawn, or they never had one."""
    n_earlier: int
    """Pages with an answer on an earlier text of their topic."""
    n_outside: int
    """Pages with votes that are not in the pool, such as those of imported judgments: agreement counts them, coverage
    does not."""

    @property
    def total(self) -> TierCoverage:
        """All tiers of all topics together."""
        return TierCoverage(0, 0, *(sum(getattr(tier, name) for tier in self.tiers) for name in STATES))

    @property
    def n_open_votes(self) -> int:
        """Assigned pages that still wait for their assessor."""
        return sum(pace.n_open for pace in self.paces)

    @property
    def n_without_pace(self) -> int:
        """People with open pages whose pace is not known yet."""
        return sum(pace.n_open > 0 and pace.median_seconds is None for pace in self.paces)

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
        rows = page_rows(store)
        return Overview(
            tiers=coverage(store),
            deepest=max_tiers(store),
            paces=paces,
            progress={entry.assessor: assessor_progress(store, entry.assessor) for entry in paces},
            n_shared=n_shared,
            alpha=alpha,
            first_alpha=overall_agreement(graded_pages(first_votes(store)), Bootstrap())[1],
            alarms=alarms(store),
            gold={score.assessor: score for score in gold_scores(store)},
            n_unsettled=len(adjudication_queue(store)),
            undecided=dict(count_left_out(store)),
            without_link=frozenset(person.name for person in assessors(store) if not person.has_link),
            n_earlier=sum(row.is_of("earlier") for row in rows),
            n_outside=len(
                {(vote.topic, vote.page) for vote in current_votes(store)} - {(row.topic, row.page) for row in rows}
            ),
        )


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


@dataclass(frozen=True)
class PageRow:
    """One pooled page with everything that was said about it."""

    topic: int
    page: int
    tier: int
    state: str
    """As in the coverage, with hyphens: `not-relevant`."""
    votes: tuple[Vote, ...]
    """The votes that count."""
    is_withdrawn: bool
    """Whether only withdrawn runs brought it."""
    version: int
    """Of the topic's text that assessors read now."""

    def is_of(self, kind: str) -> bool:
        """Whether it has a state, or is `commented`, `fast` or `earlier`."""
        if kind == "earlier":
            return any(vote.topic_version < self.version and vote.outcome != "skipped" for vote in self.votes)
        if kind == "commented":
            return any(vote.comment for vote in self.votes)
        return any(map(is_fast, self.votes)) if kind == "fast" else self.state == kind


KINDS = ("relevant", "not-relevant", "unassessable", "disputed", "skipped", "untouched", "commented", "fast", "earlier")
"""What pages are listed by."""


def page_rows(store: Store) -> list[PageRow]:
    """All pooled pages by topic and tier, with the votes that count on them."""
    with store.snapshot():
        by_page = groupby(current_votes(store), key=lambda vote: (vote.topic, vote.page))
        votes = {key: tuple(group) for key, group in by_page}
        items = store.connection.execute(
            "SELECT i.topic, i.page, i.tier, i.is_withdrawn, t.version FROM item i JOIN topic t ON t.id = i.topic "
            "ORDER BY i.topic, i.tier, i.page"
        )
        rows = items.fetchall()
    found = []
    for topic, number, tier, is_withdrawn, version in rows:
        mine = votes.get((topic, number), ())
        state = page_state(settle_votes(mine) if mine else None).replace(" ", "-")
        found.append(PageRow(topic, number, tier, state, mine, bool(is_withdrawn), version))
    return found


def show_pages(request: Request) -> Response:
    """The pages behind a number: of a topic, a tier, a state or an assessor."""
    who, judging, query = organiser(request), judging_of(request), request.query_params
    rows = judging.remembered.get("pages", judging.store, lambda: page_rows(judging.store))
    topics = {row.topic: judging.topic(row.topic).title for row in rows}
    topic, tier, kind, name = (query.get(key, "") for key in ("topic", "tier", "state", "assessor"))
    found = [
        row
        for row in rows
        if (not topic or str(row.topic) == topic)
        and (not tier or str(row.tier) == tier)
        and (kind not in KINDS or row.is_of(kind))
        and (not name or any(vote.assessor == name for vote in row.votes))
    ]
    start = number_in(query.get("from", "")) or 0
    return page(
        request,
        "assess/pages.html",
        who=who,
        rows=found[start : start + ROWS],
        n_rows=len(found),
        start=start,
        size=ROWS,
        topics=topics,
        tiers=sorted({row.tier for row in rows}),
        names=sorted({vote.assessor for row in rows for vote in row.votes}),
        kinds=KINDS,
        chosen={"topic": topic, "tier": tier, "state": kind, "assessor": name},
        title_of=judging.title,
        label_of=judging.labels(),
        link=organise_path(request),
    )


def show_entries(request: Request) -> Response:
    """Everything that anybody did, the newest first, and whether the chain of entries is unbroken."""
    who, judging = organiser(request), judging_of(request)
    store = judging.store
    entries = list(log_entries(store))[::-1]
    start = number_in(request.query_params.get("from", "")) or 0
    names = names_by_pseudonym(store)
    return page(
        request,
        "assess/log.html",
        who=who,
        entries=entries[start : start + ROWS],
        n_entries=len(entries),
        start=start,
        size=ROWS,
        faults=judging.remembered.get("log", store, lambda: check_log(store)),
        name_of=lambda value: short_digest(names.get(value, value)) if isinstance(value, str) else value,
        link=organise_path(request),
    )


def short_digest(text: str) -> str:
    """A text, of a SHA-256 only the beginning, by which people compare it."""
    return f"{text[:12]}…" if DIGEST.fullmatch(text) else text


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


def settle_queue(store: Store) -> tuple[list[Disagreement], int]:
    """Disagreements to settle, and how many of them, at the end, wait for an assessor to answer a remark."""
    waiting = adjudication_queue(store)
    discussed = {(entry.topic, entry.page) for entry in discussed_pages(store)}
    asked = [
        entry
        for entry in waiting
        if (entry.topic, entry.page) in discussed and remarks_on(store, entry.topic, entry.page)[-1].role == "organiser"
    ]
    return [entry for entry in waiting if entry not in asked] + asked, len(asked)


def settle_next(request: Request) -> Response:
    """To the first disagreement that nothing decides yet; to the list when there is none."""
    organiser(request)
    return go_to(after_settling(request))


def after_settling(request: Request, topic: int = -1, page_id: int = -1) -> str:
    """Address of the disagreement that follows a page, else of the first other one; of the list when none is left."""
    waiting, n_asked = settle_queue(judging_of(request).store)
    free = [entry for entry in waiting[: len(waiting) - n_asked] if (entry.topic, entry.page) != (topic, page_id)]
    left = [entry for entry in free if (entry.topic, entry.page) > (topic, page_id)] or free or waiting
    return (
        organise_path(request, "settle", left[0].topic, left[0].page) if left else organise_path(request, "agreement")
    )


def show_disagreement(request: Request) -> Response:
    return disagreement_page(request)


def disagreement_page(request: Request, status: int = 200, conflict: str | Message = "") -> Response:
    """The article with what each assessor said, and the buttons for a ruling."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    is_pooled = "SELECT 1 FROM item WHERE topic = ? AND page = ?"
    votes = votes_on(judging.store, topic, page_id)
    if not votes and judging.store.connection.execute(is_pooled, (topic, page_id)).fetchone() is None:
        raise HTTPException(404, "Nobody has judged this page for this topic.")
    waiting, n_asked = settle_queue(judging.store)
    places = [place for place, entry in enumerate(waiting) if (entry.topic, entry.page) == (topic, page_id)]
    others = [*waiting[: places[0]], *waiting[places[0] + 1 :]] if places else waiting
    at = places[0] if places else 0
    return page(
        request,
        "assess/settle.html",
        status,
        **article_context(judging, topic, page_id, "whole" in request.query_params),
        who=who,
        votes=votes,
        ruling=standing_ruling(judging.store, topic, page_id),
        is_gold=is_gold(judging.store, topic, page_id),
        n_waiting=len(waiting),
        n_asked=n_asked,
        before=others[at - 1] if at else None,
        behind=others[at] if at < len(others) else None,
        was_remarked="remarked" in request.query_params,
        is_undone="undone" in request.query_params,
        conflict=conflict,
        last=last_answer(judging, who),
        link=organise_path(request),
    )


def save_ruling(request: Request, fields: Fields) -> Response:
    """Stores a ruling, then goes to the next disagreement. A ruling that stands is replaced only when its replacement
    was confirmed on a page that showed it."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    if not votes_on(judging.store, topic, page_id):
        raise HTTPException(404, "Nobody has judged this page for this topic.")
    if number_in(fields.get("scale", "")) not in (None, max_grade_of(judging.store)):
        return disagreement_page(request, 409, OTHER_SCALE)
    vote = vote_of(fields, topic, page_id, who.name, judging.answers, ADJUDICATION)
    if vote.outcome == "skipped":
        raise BadRequestError("A ruling decides: it is a grade of relevance, or Cannot judge.")
    try:
        cast_ruling(judging.store, vote, fields.get("replace") or None, number_in(fields.get("scale", "")))
    except ScaleChangedError:
        return disagreement_page(request, 409, OTHER_SCALE)
    except RulingConflictError as error:
        text = "%(name)s has ruled on this article: read the ruling, then confirm that yours replaces it."
        standing = error.standing
        said = Message(text, name=standing.assessor) if standing else Message("The ruling was withdrawn meanwhile.")
        return disagreement_page(request, 409, said)
    except EvenrankError as error:
        raise HTTPException(503, NOT_STORED) from error
    return go_to(after_settling(request, topic, page_id))


def save_organiser_remark(request: Request, fields: Fields) -> Response:
    """Opens or continues the discussion of an article with those who judged it; then to the next disagreement."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    if not votes_on(judging.store, topic, page_id):
        raise HTTPException(404, "Nobody has judged this page for this topic.")
    keep_remark(judging, fields, topic, page_id, who.name)
    is_open = any((entry.topic, entry.page) == (topic, page_id) for entry in adjudication_queue(judging.store))
    here = organise_path(request, "settle", topic, page_id)
    return go_to((after_settling(request, topic, page_id) if is_open else here) + "?remarked=1")


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


def choose_gold(request: Request, fields: Fields) -> Response:
    """Makes a page with a ruling a gold page, which everybody of the topic judges, or a page like any other again."""
    who, judging = organiser(request), judging_of(request)
    topic, page_id = request.path_params["topic"], request.path_params["page"]
    choose = mark_gold if fields.get("what") == "mark" else unmark_gold
    choose(judging.store, topic, page_id, who.name)
    return go_to(organise_path(request, "settle", topic, page_id))


def undo_ruling(request: Request, fields: Fields) -> Response:
    """Withdraws the organiser's last ruling and goes back to it."""
    who, judging = organiser(request), judging_of(request)
    vote = undo_last(judging.store, who.name, f"{nonce_of(fields)}.undo")
    if vote is None:
        return go_to(organise_path(request, "agreement"))
    return go_to(f"{organise_path(request, 'settle', vote.topic, vote.page)}?undone=1")


def download(request: Request) -> Response:
    """An export as a file, or all of them with their records; what is undecided is in no list of judged pages."""
    who, store, name = organiser(request), judging_of(request).store, request.path_params["name"]
    if name not in (*FILE_NAMES, ALL):
        raise HTTPException(404, Message("Choose from: %(names)s.", names=", ".join((*FILE_NAMES, ALL))))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "judgments"
        place.mkdir()
        names = FILE_NAMES if name == ALL else {name: FILE_NAMES[name]}
        export_together(store, {one: place / file for one, file in names.items()}, by=who.name)
        content = zip_folder(place) if name == ALL else (place / FILE_NAMES[name]).read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="{FILE_NAMES.get(name, ALL_NAME)}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


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
        Route(f"{article}/gold", with_form(choose_gold), methods=["POST"]),
        Route(f"{start}/undo", with_form(undo_ruling), methods=["POST"]),
        Route(f"{start}/pages", show_pages),
        Route(f"{start}/log", show_entries),
        Route(f"{start}/export/{{name}}", download),
    ]
