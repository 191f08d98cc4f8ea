"""Articles of a project: those whose talk page carries its banner, with the class and importance it gives them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from evenrank.core.records import WORK_ORDER
from evenrank.wikipedia.mediawiki.client import Record, WikiClient, record_number, records, text
from evenrank.wikipedia.mediawiki.errors import WikiError
from evenrank.wikipedia.mediawiki.pages import INFO, WikiPage, article_of
from evenrank.wikipedia.mediawiki.titles import resolve_titles

TEMPLATE = 10
"""Number of the namespace."""
MAX_PAGES = 20_000
SAMPLE = 50
"""Talk pages whose categories are read to learn how the project names its own."""

QUALITIES = (*reversed(WORK_ORDER), "FL", "A", "List", "Unassessed")
"""Classes that projects give to articles and lists."""
IMPORTANCES = ("Top", "High", "Mid", "Low", "Unknown")
"""Importances that projects give, the greatest first."""


@dataclass(frozen=True)
class AssessmentNames:
    """Names of the categories into which banners sort talk pages; the defaults are those of the English Wikipedia."""

    quality: str = "{value}-Class {project}"
    qualities: tuple[str, ...] = (*QUALITIES, "Redirect", "NA")
    importance: str = "{value}-importance {project}"
    importances: tuple[str, ...] = (*IMPORTANCES, "Bottom", "NA")

    def of_project(self, quality_project: str, importance_project: str) -> list[str]:
        """Titles of all categories of a project; an empty name has none."""
        named = (
            (self.quality, self.qualities, quality_project),
            (self.importance, self.importances, importance_project),
        )
        return [
            f"Category:{form.format(value=value, project=project)}"
            for form, values, project in named
            if project
            for value in values
        ]


@dataclass(frozen=True)
class BannerPages:
    """The articles of a project."""

    template: str
    """Title of the banner as the wiki writes it."""
    pages: tuple[WikiPage, ...]
    n_without_article: int
    """Talk pages that are redirects or belong to no article; they are left out."""
    is_complete: bool
    """False when a limit ended the reading before the last talk page."""


@dataclass
class _TalkPage:
    """What is known so far of one talk page, which can come in several answers."""

    article: WikiPage | None
    categories: set[str] = field(default_factory=set)


def banner_pages(
    client: WikiClient, template: str, *, names: AssessmentNames | None = None, max_pages: int = MAX_PAGES
) -> BannerPages:
    """Articles whose talk page carries a banner (`Template:WikiProject Chess` or `WikiProject Chess`).

    Class and importance come from the categories that the banner adds. A sample of talk pages shows how this project
    names them; the others are then read without their many other categories.
    """
    names = names or AssessmentNames()
    title = _template_title(client, template)
    forms = [_pattern(form) for form in (names.quality, names.importance)]
    projects = _projects(client, title, forms)
    found, is_complete = _talk_pages(client, title, names.of_project(*projects), max_pages)
    pages: dict[int, WikiPage] = {}
    for talk in found.values():
        if talk.article is not None:
            quality, importance = (_value(talk.categories, *pair) for pair in zip(forms, projects, strict=True))
            pages.setdefault(talk.article.page_id, replace(talk.article, quality=quality, importance=importance))
    n_without = sum(talk.article is None for talk in found.values())
    return BannerPages(title, tuple(pages.values())[:max_pages], n_without, is_complete)


def _template_title(client: WikiClient, given: str) -> str:
    """The title of a template with its redirect followed: what uses a redirect counts as using its target."""
    name = given.strip().removeprefix("{{").removesuffix("}}").partition("|")[0].strip()
    result = resolve_titles(client, [name if ":" in name else f"Template:{name}"], namespace=TEMPLATE)
    if not result.pages:
        raise WikiError("%(title)s: not a template of this wiki", title=given)
    return next(iter(result.pages.values())).title


def _projects(client: WikiClient, title: str, forms: list[re.Pattern[str]]) -> list[str]:
    """The project as its class and its importance categories name it; empty where the sample has none.

    Talk pages carry banners of several projects; ours is the name that most of the sample shares, and of equals the
    one that has most words of the banner's title.
    """
    fields = {**_embedded(title), "geilimit": str(SAMPLE), "prop": "categories", "cllimit": "max"}
    sample: dict[int, set[str]] = {}
    for part in client.query(**fields):
        for record in records(part, "pages"):
            sample.setdefault(record_number(record, "pageid"), set()).update(_categories(record))
        if len(sample) > SAMPLE:  # the first pages come again until all of their categories were sent
            break
    words = set(title.casefold().split())

    def most_common(form: re.Pattern[str]) -> str:
        counts: Counter[str] = Counter()
        for categories in sample.values():
            matches = map(form.fullmatch, categories)
            counts.update({match["project"] for match in matches if match})
        rank = {name: (n, len(words & set(name.casefold().split())), name) for name, n in counts.items()}
        return max(rank, key=rank.__getitem__, default="")

    return [most_common(form) for form in forms]


def _talk_pages(
    client: WikiClient, title: str, categories: list[str], max_pages: int
) -> tuple[dict[int, _TalkPage], bool]:
    """Talk pages that carry the banner, by id, and whether all of them were read."""
    fields = {**_embedded(title), "geilimit": "max", **INFO}
    if categories:
        fields |= {"prop": "info|categories", "cllimit": "max", "clcategories": "|".join(categories)}
    found: dict[int, _TalkPage] = {}
    for part in client.query(**fields):
        for record in records(part, "pages"):
            talk = found.setdefault(record_number(record, "pageid"), _TalkPage(None))
            talk.article = talk.article or article_of(record)
            talk.categories |= _categories(record)
        if len(found) > max_pages:
            return found, False
    return found, True


def _embedded(title: str) -> dict[str, str]:
    return {"generator": "embeddedin", "geititle": title, "geinamespace": "1"}


def _categories(record: Record) -> set[str]:
    """Names of the categories of a record, without the namespace, which every wiki calls differently."""
    return {text(category, "title").partition(":")[2] for category in records(record, "categories")}


def _pattern(form: str) -> re.Pattern[str]:
    escaped = re.escape(form).replace(r"\{value\}", "(?P<value>.+?)").replace(r"\{project\}", "(?P<project>.+)")
    return re.compile(escaped)


def _value(categories: set[str], form: re.Pattern[str], project: str) -> str:
    """The class or importance that a project's categories give; empty when none does."""
    matches = (form.fullmatch(name) for name in sorted(categories))
    return next((match["value"] for match in matches if match and match["project"] == project), "")
