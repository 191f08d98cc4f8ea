"""Pages from templates: everything put into them is escaped, and missing values are errors."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from evenrank.web.articles.article import article_links
from evenrank.web.articles.groups import address_name, shown_dimensions
from evenrank.web.request.address import root_of

if TYPE_CHECKING:
    from evenrank.web.desk import Desk


def percent(share: float) -> str:
    """A share as people read it, small ones with a decimal."""
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    text = f"{100 * difference:+.1f}".replace("-", "−")
    return "0.0" if text[1:] == "0.0" else text


FILTERS = {"thousands": "{:,}".format, "percent": percent, "points": points}


@cache
def environment() -> Environment:
    """The templates of this package."""
    made = Environment(
        loader=PackageLoader("evenrank.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # templates do not change while a server runs, and asking costs as much as a row of a list
    )
    made.filters.update(FILTERS)
    made.globals.update(
        static=static_url,
        article_links=article_links,
        shown_dimensions=shown_dimensions,
        address_name=address_name,
    )
    return made


@cache
def static_url(name: str) -> str:
    """Address of a static file with a mark of its content, so that browsers may keep it for ever."""
    content = files("evenrank.web").joinpath("static", name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A whole page, or a part of one, from a template."""
    desk: Desk | None = getattr(request.app.state, "desk", None)
    text = (
        environment().get_template(template).render(desk=desk, root=root_of(request), path=request.url.path, **context)
    )
    return HTMLResponse(text, status)
