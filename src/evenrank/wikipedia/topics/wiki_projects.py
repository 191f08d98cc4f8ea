"""Projects of a running wiki, by the banners on its talk pages, and the texts of their articles, by its API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenrank.core.records import Article
from evenrank.io.corpus import Site
from evenrank.progress import track
from evenrank.wikipedia.annotate.inline import site_names
from evenrank.wikipedia.mediawiki.categories import banner_pages
from evenrank.wikipedia.mediawiki.client import (
    NEWEST_TEXT,
    WikiClient,
    newest_text,
    object_at,
    record_number,
    records,
    text,
)
from evenrank.wikipedia.topics.dump_projects import PROJECT, TEMPLATE, project_name, project_scope, template_name
from evenrank.wikipedia.topics.projects import PageList, Project, make_project

PER_CALL = 50
"""Pages whose text one call returns."""


def wiki_site(client: WikiClient) -> Site:
    """What the wiki says of itself."""
    query = object_at(client.call(action="query", meta="siteinfo", siprop="general|namespaces"), "query")
    general, spaces = object_at(query, "general"), object_at(query, "namespaces")
    names = [(record_number(space, "id"), text(space, "name")) for space in spaces.values()]
    address = text(general, "base")
    return Site(address.rpartition("/")[0] + "/", tuple(names), text(general, "lang"))


def wiki_projects(client: WikiClient, site: Site, prefix: str, only: Sequence[str] = ()) -> list[Project]:
    """Projects by the banners on talk pages; their class and importance come from the banners' categories.

    Page ids stand for time, because the API would need a request for each page to say when it was tagged. `only` names
    projects; by default all banners whose name begins with the prefix are read.
    """
    found = []
    banners = [(name, f"{prefix} {name}") for name in only] or list(_banners(client, site, prefix))
    for name, template in track(banners, "projects", len(banners), "project"):
        pages = PageList()
        for page in banner_pages(client, template).pages:
            pages.add(page.page_id, page.page_id, page.quality, page.importance)
        homepage = f"{dict(site.namespaces).get(PROJECT, 'Project')}:{prefix} {name}"
        if pages.page_ids:
            found.append(make_project(name, homepage, pages, _scope(client, site, homepage)))
    return sorted(found, key=lambda project: project.title)


def _banners(client: WikiClient, site: Site, prefix: str) -> Iterator[tuple[str, str]]:
    """Name of the project and of its banner, for all banners of the wiki."""
    fields = {"list": "allpages", "apnamespace": str(TEMPLATE), "apprefix": f"{prefix} ", "aplimit": "max"}
    for part in client.query(**fields, apfilterredir="nonredirects"):
        for record in records(part, "allpages"):
            template = template_name(text(record, "title"), site)
            if name := project_name(template, prefix):
                yield name, template


def _scope(client: WikiClient, site: Site, homepage: str) -> str:
    pages = [
        page for part in client.query(titles=homepage, redirects="1", **NEWEST_TEXT) for page in records(part, "pages")
    ]
    written = next(filter(None, map(newest_text, pages)), "")
    return project_scope(written, site_names(site)) if written else ""


def wiki_articles(client: WikiClient, page_ids: Sequence[int]) -> Iterator[tuple[Article, ...]]:
    """The texts of articles, 50 at a time; those that were deleted meanwhile are left out."""
    calls = range(0, len(page_ids), PER_CALL)
    for start in track(calls, "articles", len(calls), "call"):
        asked = "|".join(map(str, page_ids[start : start + PER_CALL]))
        found: dict[int, Article] = {}
        for part in client.query(pageids=asked, **NEWEST_TEXT):
            for page in records(part, "pages"):
                if content := newest_text(page):
                    number = record_number(page, "pageid")
                    found[number] = Article(number, text(page, "title"), "", content)
        yield tuple(found[number] for number in sorted(found))
