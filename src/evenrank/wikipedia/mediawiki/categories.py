"""Articles of a category and its subcategories, and of a project by the banner on their talk pages."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from evenrank.wikipedia.mediawiki.client import Record, WikiClient, record_number, records, text
from evenrank.wikipedia.mediawiki.settings import WikiError
from evenrank.wikipedia.mediawiki.titles import (
    CATEGORY,
    IMPORTANCES,
    INFO,
    QUALITIES,
    SEPARATOR,
    WikiPage,
    article_of,
    greatest_importance,
    resolve_titles,
)

MAX_DEPTH = 3
"""Deeper, a category tree of Wikipedia reaches almost everything."""
MAX_PAGES = 20_000
MAX_CATEGORIES = 200
"""Each category costs at least one request."""


@dataclass(frozen=True, slots=True)
class Level:
    """What one level of the tree adds."""

    depth: int
    """0 for the category itself."""
    categories: tuple[str, ...]
    """Titles read at this level."""
    n_added: int
    """Articles that no level above has."""


@dataclass(frozen=True, slots=True)
class CategoryMembers:
    """The articles of a category, and how they were found."""

    title: str
    """The category as the wiki writes it."""
    pages: tuple[WikiPage, ...]
    levels: tuple[Level, ...]
    is_complete: bool
    """False when a limit ended the reading before the tree was read."""


def category_members(
    client: WikiClient,
    title: str,
    depth: int = 0,
    *,
    max_pages: int = MAX_PAGES,
    max_categories: int = MAX_CATEGORIES,
) -> CategoryMembers:
    """Articles of a category (`Category:Chess` or `Chess`) down to `depth`, breadth first, each once.

    Circles end, because a category is read once. A talk page counts as its article, so that the categories of
    a project's assessments can be read too. `levels` says what each depth adds.
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise WikiError("depth %(depth)s is not from 0 to %(most)s", depth=depth, most=MAX_DEPTH)
    root = _category_title(client, title)
    found: dict[int, WikiPage] = {}
    levels: list[Level] = []
    seen, current, is_complete = {root}, [root], True
    for at in range(depth + 1):
        before = len(found)
        below: list[str] = []
        for place, category in enumerate(current):
            if len(seen) - len(current) + place >= max_categories or len(found) >= max_pages:
                current, is_complete = current[:place], False
                break
            is_complete &= _read(client, category, found, below, max_pages)
        levels.append(Level(at, tuple(current), len(found) - before))
        current = [name for name in dict.fromkeys(below) if name not in seen]
        seen.update(current)
        if not current or not is_complete:
            break
    return CategoryMembers(root, tuple(found.values())[:max_pages], tuple(levels), is_complete)


def _read(client: WikiClient, category: str, found: dict[int, WikiPage], below: list[str], max_pages: int) -> bool:
    """Adds the members of one category to what was found; whether it was read to its end."""
    fields = {"generator": "categorymembers", "gcmtitle": category, "gcmtype": "page|subcat", "gcmlimit": "max", **INFO}
    for part in client.query(**fields):
        if len(found) >= max_pages:
            return False
        for record in records(part, "pages"):
            if record_number(record, "ns") == CATEGORY:
                below.append(text(record, "title"))
            elif (page := article_of(record)) is not None:
                found.setdefault(page.page_id, page)
    return True


def _category_title(client: WikiClient, title: str) -> str:
    """The title with the wiki's own word for the namespace; an error when it is not a category's."""
    name = title.strip()
    result = resolve_titles(client, [name if ":" in name else f"Category:{name}"], namespace=CATEGORY)
    if result.pages:
        return next(iter(result.pages.values())).title
    known = next((entry.title for entry in result.unmatched if entry.reason == "missing"), None)
    if known is None:
        raise WikiError("%(title)s: not a category of this wiki", title=title)
    return known  # a category without a page of its own may still have members


TEMPLATE = 10
"""Number of the namespace."""
SAMPLE = 50
"""Talk pages whose categories are read to learn how the project names its own."""


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


def talk_page_importances(client: WikiClient, titles: list[str]) -> dict[str, str]:
    """The greatest importance that the banners of each of at most 50 talk pages give, by title; without those that
    have none."""
    form = _pattern(AssessmentNames.importance)
    found: dict[str, set[str]] = {}
    for part in client.query(titles=SEPARATOR + SEPARATOR.join(titles), prop="categories", cllimit="max"):
        for record in records(part, "pages"):
            matches = map(form.fullmatch, _categories(record))
            found.setdefault(text(record, "title"), set()).update(match["value"] for match in matches if match)
    greatest = {title: greatest_importance(values) for title, values in found.items()}
    return {title: value for title, value in greatest.items() if value}


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
