"""The form in which people ask and what it leads to, for work lists and for saved searches alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from evenrank.app.articles.groups import dimensions_of
from evenrank.app.desk import Desk, desk_of
from evenrank.app.pages.templating import page
from evenrank.app.request.access import role_of
from evenrank.app.request.address import see_other
from evenrank.app.request.choices import attention_choices, goal_choices, policy_choices, strength_choices
from evenrank.app.request.forms import Fields, query_fields
from evenrank.app.request.preview import BroughtPreview, Preview, make_preview, preview_brought, preview_goal
from evenrank.app.request.question import IMPORTANCES, OFFERED, QuestionError
from evenrank.app.request.visitor import remember
from evenrank.app.sources.source import KINDS, N_ROWS, ROLES, WIKI_KINDS
from evenrank.app.storage.kept import Kept
from evenrank.core.records import WORK_ORDER, Task

TASKS: dict[str, Task] = {"list": 1, "search": 2}
KEPT_BY_BROWSER = {"Cache-Control": "private, no-cache"}
"""Lets a browser show the form as it was when its visitor goes back to it."""


def ask(
    request: Request,
    kind: str,
    fields: Mapping[str, str],
    faults: Mapping[str, str] | None = None,
    brought: BroughtPreview | None = None,
) -> Response:
    """The form, filled with what is known; with a preview of what the words find."""
    desk = desk_of(request)
    preview, too_much = _preview(desk, fields)
    faults = {**too_much, **(faults or {})}
    response = page(
        request,
        "ask.html",
        400 if faults else 200,
        kind=kind,
        fields=fields,
        faults=faults,
        policies=policy_choices().values(),
        strengths=strength_choices(),
        goals=goal_choices().values(),
        attentions=attention_choices(),
        dimensions=desk.collection.dimensions,
        chosen_dimensions=_chosen_dimensions(desk, fields),
        classes=WORK_ORDER,
        importances=IMPORTANCES,
        kinds={name: label for name, label in KINDS.items() if name != "file" and can_read(desk, name)},
        roles=ROLES,
        n_rows=N_ROWS,
        preview=preview,
        goal=preview_goal(desk, fields, TASKS[kind]) if fields.get("title") else None,
        brought=brought,
    )
    response.headers.update(KEPT_BY_BROWSER)
    return response


def _preview(desk: Desk, fields: Mapping[str, str]) -> tuple[Preview | None, Mapping[str, str]]:
    """The preview of a form that has a title, and what of its words is too much to look up."""
    try:
        return (make_preview(desk, fields) if fields.get("title") else None), {}
    except QuestionError as error:
        return None, error.by_field


def can_read(desk: Desk, kind: str) -> bool:
    """Whether this server can read a kind of source."""
    return kind not in WIKI_KINDS or bool(desk.settings.wiki_api)


def _chosen_dimensions(desk: Desk, fields: Mapping[str, str]) -> tuple[str, ...]:
    """The boxes that are ticked: those of the form, or the usual ones in a form that was not filled in."""
    names = tuple(name for name in desk.collection.masks if fields.get(f"dimension-{name}"))
    return names if fields.get(OFFERED) else dimensions_of(desk.collection, names)


def initial_fields(request: Request, load: Callable[[str], Kept | None]) -> dict[str, str]:
    """What the form starts with: the fields in the address, over the question of the list that `from` names."""
    query = query_fields(request)
    token = query.pop("from", "")
    if not token:
        return query
    kept = load(token)
    if kept is None or not role_of(request, kept):
        raise HTTPException(404)
    return {**kept.question.to_fields(), **query}


def check(request: Request, kind: str, fields: Fields) -> Response:
    """The form again, with what the articles that were brought match; what a file had is now in the form."""
    shown = dict(fields)
    for name, text in fields.items():
        if name.startswith("file-") and not name.endswith("-file"):
            shown[name.replace("file-", "text-")] = text
    try:
        brought = preview_brought(desk_of(request), fields)
    except QuestionError as error:
        return ask(request, kind, shown, error.by_field)
    return ask(request, kind, shown, None, brought)


def answer(request: Request, kind: str, fields: Mapping[str, str], make: Callable[[Desk], str]) -> Response:
    """The way to what `make` keeps and gives the address of; the form again, with what is wrong in it."""
    try:
        address = make(desk_of(request))
    except QuestionError as error:
        return ask(request, kind, fields, error.by_field)
    return remember(request, see_other(request, address))


def show_preview(request: Request) -> Response:
    """The preview alone, for the page that is open."""
    return page(request, "preview.html", preview=make_preview(desk_of(request), query_fields(request)))


def show_goal(request: Request, fields: Fields) -> Response:
    """What the goal would mean for the form as it is, for the page that is open."""
    desk = desk_of(request)
    area = "lists" if request.url.path.endswith("/lists/goal") else "searches"
    goal = preview_goal(desk, fields, 1 if area == "lists" else 2)
    has_groups = bool(_chosen_dimensions(desk, fields))
    return page(request, "goal.html", goal=goal, is_list=area == "lists", area=area, has_groups=has_groups)
