"""Pages of the work on a list: marks, refreshing from newer data, what changed, the campaign."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.desk import desk_of
from evenrank.app.exports.wikitext import link
from evenrank.app.lists.campaign import campaign_of
from evenrank.app.lists.listing import requested_list
from evenrank.app.lists.marks import NONE, list_feedback, marks_of, release, set_list_mark
from evenrank.app.lists.refresh import Difference, difference, newest_version, previous_version, refresh
from evenrank.app.lists.work_list import WorkList
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.access import role_of
from evenrank.app.request.address import list_path, own, see_other
from evenrank.app.request.capacity import expensive
from evenrank.app.request.forms import Fields, whole_number, with_form
from evenrank.app.request.question import QuestionError
from evenrank.app.request.visitor import name_of, remember, visitor_of
from evenrank.core.records import WORK_ORDER


def mark_in_list(request: Request, fields: Fields) -> Response:
    """Keeps the state of an article; answers with its buttons, or goes back to its row without script."""
    desk, work_list = desk_of(request), requested_list(request)
    page_id, kind = whole_number(fields.get("page_id", "")), fields.get("mark", "")
    if kind == NONE and role_of(request, work_list) in ("owner", "editor"):
        release(desk.store, work_list, page_id)
    else:
        set_list_mark(desk.store, work_list, page_id, kind, visitor_of(request), name_of(request))
    if "hx-request" in request.headers:
        return remember(request, list_mark_buttons(request, work_list, page_id, kind))
    at = fields.get("at", "1")
    query = f"?page={at}" if at.isascii() and at.isdecimal() and at != "1" else ""
    return remember(request, see_other(request, f"{list_path(work_list.token)}{query}#page-{page_id}"))


def list_mark_buttons(request: Request, work_list: WorkList, page_id: int, kind: str) -> Response:
    """The buttons of one row after a mark."""
    marks = marks_of(desk_of(request).store, work_list, visitor_of(request))
    return page(
        request,
        "list_mark.html",
        page_id=page_id,
        mark=marks.get(page_id),
        role=role_of(request, work_list),
        at=1,
        is_swapped=True,
        was_undone=kind == NONE,
        address=own(request, list_path(work_list.token)),
    )


def ask_to_refresh(request: Request) -> Response:
    """Whether there are newer data, and the button that makes the list again; `regenerate` in wikitext leads here."""
    desk, work_list = desk_of(request), requested_list(request)
    newest = newest_version(desk, work_list)
    return page(
        request,
        "refresh.html",
        work_list=work_list,
        newest=newest,
        newest_address=own(request, list_path(newest.token)),
        has_newer_data=newest.data != desk.data,
        n_off_topic=len(list_feedback(desk.store, work_list).not_relevant),
        role=role_of(request, work_list),
        address=own(request, list_path(work_list.token)),
    )


def make_version(request: Request, _: Fields) -> Response:
    """Makes the next version of a list and goes to what changed."""
    desk, work_list = desk_of(request), requested_list(request)
    try:
        token = refresh(desk, newest_version(desk, work_list))
    except QuestionError as error:
        raise HTTPException(409, Message("The list cannot be made again: %(reason)s", reason=error)) from error
    return remember(request, see_other(request, f"{list_path(token)}/changes"))


def show_changes(request: Request) -> Response:
    """What changed since the version before."""
    desk, work_list = desk_of(request), requested_list(request)
    before = previous_version(desk, work_list)
    if before is None:
        raise HTTPException(404, "This is the first version of the list.")
    found = difference(desk.collection, before, work_list)
    return page(
        request,
        "changes.html",
        work_list=work_list,
        before=before,
        found=found,
        groups=_titled(request, found, before),
        role=role_of(request, work_list),
        improved=_by_class(found),
        address=own(request, list_path(work_list.token)),
    )


def _titled(request: Request, found: Difference, before: WorkList) -> list[tuple[str, list[str]]]:
    """Headings of the difference with the titles below them; what is deleted has the title that it had."""
    names = dict(zip(before.page_ids.tolist(), before.earlier_titles(), strict=True))
    titles = desk_of(request).collection.titles_of
    parts = {
        "New on the list": found.added,
        "Improved": tuple(page_id for page_id, _, _ in found.improved),
        "Fell back": tuple(page_id for page_id, _, _ in found.declined),
        "No longer on the list": found.left,
    }
    deleted = [names[page] or title for page, title in zip(found.deleted, titles(found.deleted), strict=True)]
    titled = {**{name: titles(pages) for name, pages in parts.items()}, "Deleted": deleted}
    return [(name, texts) for name, texts in titled.items() if texts]


def _by_class(found: Difference) -> list[tuple[str, int]]:
    """How many articles improved to each class, the best class first."""
    codes = [after for _, _, after in found.improved]
    return [(WORK_ORDER[code], codes.count(code)) for code in sorted(set(codes), reverse=True)]


def show_missing(request: Request) -> Response:
    """Red links of the list's subject; 404 on a server that knows no subjects without an article."""
    desk, work_list = desk_of(request), requested_list(request)
    if desk.subjects is None:
        raise HTTPException(404, "This server knows no subjects without an article (evenrank serve --subjects FILE).")
    found = desk.subjects.find(work_list.question.topic(), desk.title_index)
    lines = [f"* {link(entry.subject.label)} ([[d:{entry.subject.item}|{entry.subject.item}]])" for entry in found]
    return page(
        request,
        "missing.html",
        work_list=work_list,
        found=found,
        wikitext="\n".join(lines),
        role=role_of(request, work_list),
        address=own(request, list_path(work_list.token)),
    )


def show_campaign(request: Request) -> Response:
    """How quality and balance moved over the versions of the list."""
    desk, work_list = desk_of(request), requested_list(request)
    return page(
        request,
        "campaign.html",
        work_list=work_list,
        campaign=campaign_of(desk, work_list),
        classes=WORK_ORDER,
        role=role_of(request, work_list),
        address=own(request, list_path(work_list.token)),
    )


def routes() -> list[BaseRoute]:
    start = "/lists/{token:token}"
    return [
        Route(f"{start}/marks", with_form(mark_in_list), methods=["POST"]),
        Route(f"{start}/refresh", ask_to_refresh),
        Route(f"{start}/refresh", with_form(make_version, is_expensive=True), methods=["POST"]),
        Route(f"{start}/changes", show_changes),
        Route(f"{start}/campaign", expensive(show_campaign)),
        Route(f"{start}/missing", expensive(show_missing)),
    ]
