"""Pages from templates: everything put into them is escaped, and missing values are errors."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from evenrank.app.articles.article import ListedArticle, article_links
from evenrank.app.articles.collection_view import address_name, is_about_one_gender, shown_dimensions
from evenrank.app.pages import i18n
from evenrank.app.request.choices import conditions, describe_attention
from evenrank.app.request.visitor import person_of, root_of

if TYPE_CHECKING:
    from evenrank.app.state import AppState

FILTERS = {
    "thousands": i18n.thousands,
    "percent": i18n.percent,
    "points": i18n.points,
    "decimal": i18n.decimal,
    "signed": i18n.signed,
    "plain_number": i18n.plain_number,
    "capital": i18n.capital,
    "joined": i18n.joined_texts,
    "age": i18n.age,
    "day": i18n.day,
    "moment": i18n.moment,
    "size": i18n.size,
    "tr": i18n.translate,
}


@cache
def environment() -> Environment:
    """The templates of this package."""
    made = Environment(
        loader=PackageLoader("evenrank.app"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # templates do not change while a server runs, and asking costs as much as a row of a list
    )
    made.filters.update(FILTERS)
    made.globals.update(
        _=i18n.template_text,
        ngettext=i18n.template_plural,
        article_cells=article_cells,
        article_menu=article_menu,
        static=static_url,
        article_links=article_links,
        shown_dimensions=shown_dimensions,
        address_name=address_name,
        conditions=conditions,
        describe_attention=describe_attention,
        is_about_one_gender=is_about_one_gender,
        stored_message=i18n.stored_message,
        languages=i18n.LANGUAGES,
    )
    return made


def article_cells(article: ListedArticle, state: AppState, has_views: bool) -> Markup:
    """The cells of a row that are the same for every visitor: title and facts."""
    return _cached_part("article_cells.html", article, state, has_views)


def article_menu(article: ListedArticle, state: AppState) -> Markup:
    """What the menu of a row has for every visitor: links and why the article is here."""
    return _cached_part("article_menu.html", article, state)


def _cached_part(template: str, article: ListedArticle, state: AppState, has_views: bool = False) -> Markup:
    """A part of a row. Those parts are most of the work of a long page, so recent ones are cached for each language, as
    long as the data are the same."""

    def render() -> Markup:
        part = environment().get_template(template).render(article=article, state=state, has_views=has_views)
        return Markup(part)  # the template escapes # nosec B704

    shown = (
        article.title,
        article.reasons,
        article.is_brought,
        article.work,
        article.importance,
        tuple(article.groups.values()),
    )
    key = (template, i18n.current(), state.data, article.page_id, has_views, article.views, *shown)
    return state.cell_cache.get(key, render)


@cache
def static_url(name: str) -> str:
    """Address of a static file with a digest of its content, so that browsers may cache it indefinitely."""
    content = files("evenrank.app").joinpath("static", name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A complete page, or a part of one, from a template, in the visitor's language."""
    state: AppState | None = getattr(request.app.state, "current", None)
    language = i18n.language_of(request)
    i18n.use_language(language)
    known = {
        "state": state,
        "root": root_of(request),
        "path": request.url.path,
        "person": person_of(request),
        "language": language,
        "direction": i18n.text_direction(),
    }
    text = environment().get_template(template).render(**known, **context)
    return HTMLResponse(text, status, {"Content-Language": language, "Vary": "Accept-Language, Cookie"})
