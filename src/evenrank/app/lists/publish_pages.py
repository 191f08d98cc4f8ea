"""Publishing a list on a page of the wiki, in the name of who signed in: preview with the difference, then save."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.desk import desk_of
from evenrank.app.exports.publishing import Place, draft_listing, publish_listing
from evenrank.app.lists.filters import Filters
from evenrank.app.lists.listing import requested_list
from evenrank.app.lists.pages import list_listing
from evenrank.app.lists.work_list import WorkList
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.templating import page
from evenrank.app.request.access import role_of
from evenrank.app.request.address import list_path, own
from evenrank.app.request.forms import Fields, clean_text, with_form
from evenrank.app.request.visitor import person_of
from evenrank.app.signin.pages import access_token
from evenrank.app.sources.wiki_sources import wiki_fault
from evenrank.app.storage.store import now
from evenrank.database.database import Database
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import EditedByOthersError
from evenrank.wikipedia.mediawiki.settings import WikiError, WikiSettings

MAX_NAME = 255
FORMS = ("table", "list")
_REMEMBER = (
    "INSERT INTO publication (series, page, form, created) VALUES (?, ?, ?, ?) ON CONFLICT (series) DO UPDATE "
    "SET page = excluded.page, form = excluded.form, created = excluded.created"
)


def ask_to_publish(request: Request) -> Response:
    """The form: which page, which summary."""
    work_list = requested_list(request)
    return publish_page(request, work_list, remembered_place(desk_of(request).store, work_list))


def publish_page(request: Request, work_list: WorkList, fields: Fields, status: int = 200, **found: Any) -> Response:
    known = {"difference": None, "is_changed": True, "published": None, "fault": "", "is_edited": False}
    return page(
        request,
        "publish.html",
        status,
        work_list=work_list,
        fields=fields,
        role=role_of(request, work_list),
        can_publish=bool(desk_of(request).settings.wiki_api) and person_of(request) is not None,
        address=own(request, list_path(work_list.token)),
        **{**known, **found},
    )


def publish_list(request: Request, fields: Fields) -> Response:
    """Shows what saving would change, or saves. The wiki's refusals are said in words, and nothing is overwritten."""
    work_list = requested_list(request)
    place = place_of(fields)
    listing = list_listing(request, work_list, Filters())
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
    remember_place(desk_of(request).store, work_list, place)
    return publish_page(request, work_list, fields, published=done)


def remembered_place(store: Database, work_list: WorkList) -> dict[str, str]:
    """The fields that name the page on which any version of the list was published last; none before that."""
    query = "SELECT page, form FROM publication WHERE series = ?"
    row = store.connection.execute(query, (work_list.series,)).fetchone()
    return {} if row is None else {"page": row["page"], "form": row["form"]}


def remember_place(store: Database, work_list: WorkList, place: Place) -> None:
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
    settings = desk_of(request).settings
    token = access_token(request) if settings.wiki_api else None
    if token is None or person_of(request) is None:
        raise HTTPException(403, "Sign in to publish; this server may not be connected to a wiki.")
    client = WikiClient(WikiSettings(settings.wiki_api, settings.wiki_contact))
    client.authorize(token)
    return client


def routes() -> list[BaseRoute]:
    start = "/lists/{token:token}/publish"
    return [Route(start, ask_to_publish), Route(start, with_form(publish_list), methods=["POST"])]
