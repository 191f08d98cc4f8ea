"""The form in which people ask and what it leads to, for work lists and for saved searches alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from evenrank.web.desk import Desk, desk_of
from evenrank.web.pages.templating import page
from evenrank.web.request.address import see_other
from evenrank.web.request.choices import policy_choices, strength_choices
from evenrank.web.request.preview import make_preview
from evenrank.web.request.question import QuestionError
from evenrank.web.request.visitor import remember


def ask(request: Request, kind: str, fields: Mapping[str, str], faults: Mapping[str, str] | None = None) -> Response:
    """The form, filled with what is known; with a preview when the address or the button asks for one."""
    wants_preview = "preview" in fields or bool(fields.get("title"))
    return page(
        request,
        "ask.html",
        400 if faults else 200,
        kind=kind,
        fields=fields,
        faults=faults or {},
        policies=policy_choices().values(),
        strengths=strength_choices(),
        preview=make_preview(desk_of(request), fields) if wants_preview else None,
    )


def answer(request: Request, kind: str, fields: Mapping[str, str], make: Callable[[Desk], str]) -> Response:
    """The way to what `make` keeps and gives the address of; the form again, with what is wrong in it."""
    try:
        address = make(desk_of(request))
    except QuestionError as error:
        return ask(request, kind, fields, error.by_field)
    return remember(request, see_other(request, address))


def show_preview(request: Request) -> Response:
    """The preview alone, for the page that is open."""
    return page(request, "preview.html", preview=make_preview(desk_of(request), request.query_params))
