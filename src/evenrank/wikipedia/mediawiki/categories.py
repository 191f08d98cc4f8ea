"""Articles of a category and its subcategories, level by level."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.wikipedia.mediawiki.client import WikiClient, record_number, records, text
from evenrank.wikipedia.mediawiki.errors import WikiError
from evenrank.wikipedia.mediawiki.pages import CATEGORY, INFO, WikiPage, article_of
from evenrank.wikipedia.mediawiki.titles import resolve_titles

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
