"""Pages of the work on a list: marks, refreshing from newer data, what changed, the campaign, publishing."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.user_articles import wiki_fault
from evenrank.app.exports.publishing import Place, draft_listing, publish_listing
from evenrank.app.fairness.disclosure import goal_in_force
from evenrank.app.lists.analysis import campaign_of, list_bars
from evenrank.app.lists.listing import find_list, make_listing
from evenrank.app.lists.work_list import (
    NONE,
    RELEASE,
    Difference,
    WorkList,
    difference,
    list_feedback,
    make_next_version,
    marks_of,
    newest_version,
    previous_version,
    release,
    save_list,
    set_list_mark,
)
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.sign_in import access_token
from evenrank.app.request.access import after_mark, role_of, saved_page
from evenrank.app.request.capacity import expensive
from evenrank.app.request.forms import Fields, clean_text, whole_number, with_form
from evenrank.app.request.question import QuestionError
from evenrank.app.request.quota import check_room
from evenrank.app.request.visitor import list_path, name_of, own, person_of, remember, see_other, visitor_of
from evenrank.app.state import state_of
from evenrank.app.storage.corrections import corrections_to_apply
from evenrank.app.storage.store import now, upsert
from evenrank.core.records import WORK_ORDER
from evenrank.database.database import Database
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import EditedByOthersError
from evenrank.wikipedia.mediawiki.settings import WikiError, WikiSettings

MAX_NAME = 255
FORMS = ("table", "list")
_REMEMBER = upsert("publication", ("series",), "page", "form", "created")


def mark_in_list(request: Request, fields: Fields) -> Response:
    """Keeps the state of an article; answers with its buttons, or goes back to its row without script.

    Whoever may claim articles may release one that somebody else claimed: browsers are lost, and people forget.
    """
    state, work_list = state_of(request), find_list(request)
    page_id, kind = whole_number(fields.get("page_id", "")), fields.get("mark", "")
    if kind == RELEASE or (kind == NONE and role_of(request, work_list) in ("owner", "editor")):
        release(state.store, work_list, page_id)
    else:
        set_list_mark(state.store, work_list, page_id, kind, visitor_of(request), name_of(request))
    mark = marks_of(state.store, work_list, visitor_of(request)).get(page_id)
    at = fields.get("at", "1")
    at = at if at.isascii() and at.isdecimal() else "1"
    back = work_list.path + (f"?page={at}" if at != "1" else "")
    return after_mark(request, work_list, page_id, mark, ("at", at), back, was_undone=kind in (NONE, RELEASE))


def ask_to_refresh(request: Request) -> Response:
    """Whether there are newer data, and the button that makes the list again; `regenerate` in wikitext leads here."""
    state, work_list = state_of(request), find_list(request)
    newest = newest_version(state, work_list)
    return saved_page(
        request,
        work_list,
        "refresh.html",
        newest=newest,
        newest_address=own(request, newest.path),
        has_newer_data=newest.data != state.data,
        n_off_topic=len(list_feedback(state.store, work_list).not_relevant),
        n_corrected=len(corrections_to_apply(state.store, work_list)),
    )


def make_version(request: Request, _: Fields) -> Response:
    """Makes the next version of a list and goes to what changed."""
    state, work_list = state_of(request), find_list(request)
    try:
        made = make_next_version(state, newest_version(state, work_list))
    except QuestionError as error:
        raise HTTPException(409, Message("The list cannot be made again: %(reason)s", reason=error)) from error
    check_room(request, made, work_list.owner)
    token = save_list(state.store, made, work_list.owner)
    return remember(request, see_other(request, f"{list_path(token)}/changes"))


def show_changes(request: Request) -> Response:
    """What changed since the version before."""
    state, work_list = state_of(request), find_list(request)
    before = previous_version(state, work_list)
    if before is None:
        return saved_page(request, work_list, "changes.html", before=None)
    found = difference(state.collection, before, work_list)
    return saved_page(
        request,
        work_list,
        "changes.html",
        before=before,
        found=found,
        groups=_titled(request, found, before),
        improved=_by_class(found),
    )


def _titled(request: Request, found: Difference, before: WorkList) -> list[tuple[str, list[str]]]:
    """Headings of the difference with the titles below them; what is deleted has the title that it had."""
    names = dict(zip(before.page_ids.tolist(), before.earlier_titles(), strict=True))
    titles = state_of(request).collection.titles_of
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


def show_campaign(request: Request) -> Response:
    """How quality and balance moved over the versions of the list."""
    state, work_list = state_of(request), find_list(request)
    return saved_page(
        request,
        work_list,
        "campaign.html",
        campaign=campaign_of(state, work_list),
        bars=list_bars(state, newest_version(state, work_list)),
        classes=WORK_ORDER,
        **goal_in_force(state, work_list),
    )


def ask_to_publish(request: Request) -> Response:
    """The form: which page, which summary."""
    work_list = find_list(request)
    return publish_page(request, work_list, load_place(state_of(request).store, work_list))


def publish_page(request: Request, work_list: WorkList, fields: Fields, status: int = 200, **found: Any) -> Response:
    known = {"difference": None, "is_changed": True, "published": None, "fault": "", "is_edited": False}
    return saved_page(
        request,
        work_list,
        "publish.html",
        status,
        fields=fields,
        can_publish=bool(state_of(request).settings.wiki_api) and person_of(request) is not None,
        **{**known, **found},
    )


def publish_list(request: Request, fields: Fields) -> Response:
    """Shows what saving would change, or saves. The wiki's refusals are said in words, and nothing is overwritten."""
    state, work_list = state_of(request), find_list(request)
    place = place_of(fields)
    listing = make_listing(state, work_list, state.base_url(request))
    summary = clean_text(fields.get("summary", ""))[:500] or f"Work list: {work_list.title}"
    try:
        with client_of(request) as client:
            if fields.get("action") != "save":
                made = draft_listing(client, listing, place)
                found: dict[str, Any] = {"difference": made.difference(), "is_changed": made.is_changed}
                return publish_page(request, work_list, fields, **found)
            person = person_of(request)
            assert person is not None  # client_of refuses everybody else
            done = publish_listing(client, listing, place, summary, person.name)
    except WikiError as error:
        is_edited = isinstance(error, EditedByOthersError)
        return publish_page(request, work_list, fields, 409, fault=wiki_fault(error), is_edited=is_edited)
    save_place(state.store, work_list, place)
    return publish_page(request, work_list, fields, published=done)


def load_place(store: Database, work_list: WorkList) -> dict[str, str]:
    """The fields that name the page on which any version of the list was published last; none before that."""
    query = "SELECT page, form FROM publication WHERE series = ?"
    row = store.connection.execute(query, (work_list.series,)).fetchone()
    return {} if row is None else {"page": row["page"], "form": row["form"]}


def save_place(store: Database, work_list: WorkList, place: Place) -> None:
    """Keep the page that a list was published on, for its next version."""
    with store.transaction(work_list.turn) as connection:
        connection.execute(_REMEMBER, (work_list.series, place.page, place.form, now()))


def place_of(fields: Fields) -> Place:
    """The page that a form names."""
    title = clean_text(fields.get("page", ""))
    if not title or len(title) > MAX_NAME:
        raise BadRequestError("Give the title of the page.")
    form = fields.get("form", "table")
    is_ticked = {name: fields.get(name) == "1" for name in ("create", "discard")}
    chosen = form if form in FORMS else "table"
    return Place(title, form=chosen, create=is_ticked["create"], discard_edits=is_ticked["discard"])


def client_of(request: Request) -> WikiClient:
    """A client that acts for the person who signed in."""
    settings = state_of(request).settings
    token = access_token(request) if settings.wiki_api else None
    if token is None or person_of(request) is None:
        raise HTTPException(403, "Sign in to publish; this server may not be connected to a wiki.")
    client = WikiClient(WikiSettings(settings.wiki_api, settings.wiki_contact))
    client.authorize(token)
    return client


def routes() -> list[BaseRoute]:
    start = "/lists/{token:token}"
    return [
        Route(f"{start}/marks", with_form(mark_in_list), methods=["POST"]),
        Route(f"{start}/refresh", ask_to_refresh),
        Route(f"{start}/refresh", with_form(make_version, is_expensive=True), methods=["POST"]),
        Route(f"{start}/changes", show_changes),
        Route(f"{start}/campaign", expensive(show_campaign)),
        Route(f"{start}/publish", ask_to_publish),
        Route(f"{start}/publish", with_form(publish_list), methods=["POST"]),
    ]
