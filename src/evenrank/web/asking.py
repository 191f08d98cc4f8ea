"""The form in which people ask, for work lists and for saved searches alike."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from evenrank.web.choices import policy_choices, strength_choices
from evenrank.web.desk import desk_of
from evenrank.web.preview import make_preview
from evenrank.web.templating import page


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


def show_preview(request: Request) -> Response:
    """The preview alone, for the page that is open."""
    return page(request, "preview.html", preview=make_preview(desk_of(request), request.query_params))
