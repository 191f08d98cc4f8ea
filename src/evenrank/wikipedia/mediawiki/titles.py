"""Titles that people paste, and the links of a page, as articles of the wiki; how it shows class and importance."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from evenrank.core.records import WORK_ORDER
from evenrank.wikipedia.mediawiki.client import Record, WikiClient, object_at, record_number, records, text
from evenrank.wikipedia.mediawiki.settings import WikiError

ARTICLE, TALK, CATEGORY = 0, 1, 14
"""Numbers of namespaces, the same in every wiki."""
INFO = {"prop": "info", "inprop": "subjectid|associatedpage"}
"""What `article_of` needs of a page."""


@dataclass(frozen=True, slots=True)
class WikiPage:
    """An article of the wiki."""

    page_id: int
    title: str
    size_bytes: int | None = None
    """Length of its wikitext; None when only its talk page was read."""
    quality: str = ""
    """Class that the project's banner gives it, e.g. `Start`; empty when unknown."""
    importance: str = ""
    """Importance that the banner gives it, e.g. `High`; empty when unknown."""


def article_of(record: Record) -> WikiPage | None:
    """The article that a record of `INFO` is about, for its talk page too; None for anything else."""
    if record.get("missing") or record.get("invalid"):
        return None
    namespace = record_number(record, "ns")
    if namespace == ARTICLE:
        size = record.get("length")
        return WikiPage(record_number(record, "pageid"), text(record, "title"), size if isinstance(size, int) else None)
    if namespace == TALK and not record.get("redirect") and record.get("subjectid"):
        return WikiPage(record_number(record, "subjectid"), text(record, "associatedpage"))
    return None


PER_CALL = 50
"""Titles that one call takes from an ordinary account."""
MAX_TITLES = 10_000
SEPARATOR = "\x1f"
"""In front of a list, it allows `|` in the entries."""
Reason = Literal["missing", "invalid", "other wiki", "not an article"]


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A title that names no article."""

    title: str
    """As the wiki writes it where it could be read, else as it was given."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class ResolvedTitles:
    """What the wiki makes of titles."""

    pages: Mapping[str, WikiPage]
    """Article of each title as given; redirects are followed."""
    unmatched: tuple[Unmatched, ...]


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Articles that a page links to."""

    title: str
    pages: tuple[WikiPage, ...]
    missing: tuple[str, ...]
    """Titles without an article: the red links."""
    is_complete: bool
    """False when a limit ended the reading before the last link."""


def resolve_titles(client: WikiClient, titles: Iterable[str], *, namespace: int = ARTICLE) -> ResolvedTitles:
    """Articles by title, 50 in a call; what has none is listed with the reason, in the order given."""
    wanted = {given: clean_title(given) for given in dict.fromkeys(titles)}
    if len(wanted) > MAX_TITLES:
        raise WikiError("%(n)s titles are more than %(most)s; bring fewer", n=len(wanted), most=MAX_TITLES)
    pages: dict[str, WikiPage] = {}
    faults: dict[str, Unmatched] = {given: Unmatched(given, "invalid") for given, name in wanted.items() if not name}
    names = list(dict.fromkeys(name for name in wanted.values() if name))
    outcome: dict[str, WikiPage | Unmatched] = {}
    for start in range(0, len(names), PER_CALL):
        some = names[start : start + PER_CALL]
        fields = {"titles": SEPARATOR + SEPARATOR.join(some), "redirects": "1", **INFO}
        outcome |= _outcomes(some, list(client.query(**fields)), namespace)
    for given, name in wanted.items():
        if name:
            result = outcome[name]
            if isinstance(result, WikiPage):
                pages[given] = result
            else:
                faults[given] = result
    return ResolvedTitles(pages, tuple(faults[given] for given in wanted if given in faults))


def page_links(client: WikiClient, title: str, *, max_pages: int = MAX_TITLES) -> PageLinks:
    """Articles that a page of the wiki links to, redirects followed, and its red links."""
    name = clean_title(title)
    if not name:
        raise WikiError("%(title)s: not a title", title=title)
    found: dict[int, WikiPage] = {}
    missing: dict[str, None] = {}
    is_complete, is_first = True, True
    fields = {"titles": name, "generator": "links", "gplnamespace": "0", "gpllimit": "max", "redirects": "1", **INFO}
    for part in client.query(**fields):
        if is_first and not part.get("pages") and not resolves(client, name):
            raise WikiError("%(title)s: this wiki has no such page", title=title)
        is_first = False
        if len(found) >= max_pages:
            is_complete = False
            break
        for record in records(part, "pages"):
            page = article_of(record)
            if page is not None:
                found.setdefault(page.page_id, page)
            elif record.get("missing") and record_number(record, "ns") == ARTICLE:
                missing[text(record, "title")] = None
    return PageLinks(name, tuple(found.values())[:max_pages], tuple(missing), is_complete)


def resolves(client: WikiClient, title: str) -> bool:
    """Whether the wiki has a page of this title, in any namespace."""
    parts = list(client.query(titles=title, redirects="1", prop="info"))
    return any(
        not (record.get("missing") or record.get("invalid")) for part in parts for record in records(part, "pages")
    )


def clean_title(given: str) -> str:
    """A pasted title as the API takes it: NFC, no brackets of a link, no line ends; empty when nothing is left."""
    name = unicodedata.normalize("NFC", given).replace(SEPARATOR, " ").strip()
    if name.startswith("[[") and name.endswith("]]"):
        name = name[2:-2].partition("|")[0]
    return " ".join(name.split()).lstrip(":").strip()


def _outcomes(names: list[str], parts: list[Record], namespace: int) -> dict[str, WikiPage | Unmatched]:
    """What became of each title: normalised first, then redirected any number of times."""
    hops: dict[str, str] = {}
    for part in parts:
        for kind in ("normalized", "converted", "redirects"):
            hops |= {text(hop, "from"): text(hop, "to") for hop in records(part, kind)}
    elsewhere = {text(entry, "title") for part in parts for entry in records(part, "interwiki")}
    by_title = {text(record, "title"): record for part in parts for record in records(part, "pages")}

    def outcome(name: str) -> WikiPage | Unmatched:
        at, seen = name, {name}
        while at in hops and hops[at] not in seen:
            at = hops[at]
            seen.add(at)
        if seen & elsewhere:
            return Unmatched(at, "other wiki")
        return _page_or_reason(by_title[at], namespace) if at in by_title else Unmatched(at, "invalid")

    return {name: outcome(name) for name in names}


def _page_or_reason(record: Record, namespace: int) -> WikiPage | Unmatched:
    title = text(record, "title")
    if record.get("invalid"):
        return Unmatched(title, "invalid")
    if record_number(record, "ns") != namespace:
        return Unmatched(title, "not an article")
    if record.get("missing"):
        return Unmatched(title, "missing")
    return article_of(record) or WikiPage(record_number(record, "pageid"), title)


TEMPLATE = 10
QUALITIES = (*reversed(WORK_ORDER), "FL", "A", "List", "Unassessed")
"""Classes that projects give to articles and lists."""
IMPORTANCES = ("Top", "High", "Mid", "Low", "Unknown")
"""Importances that projects give, the greatest first."""
_BETWEEN = "\n@@\n"


def greatest_importance(values: Iterable[str]) -> str:
    """The greatest importance that any project gives; empty when none does."""
    given = set(values)
    return next((name for name in IMPORTANCES[:-1] if name in given), "")


@dataclass(frozen=True)
class WikiIdiom:
    """Templates of class and importance that a wiki has; none by default."""

    templates: Mapping[str, bool] = field(default_factory=dict)
    """Name (`B-Class`, `High-importance`) → whether it makes a table cell with attributes of its own."""

    def quality_cell(self, value: str, sort_value: int) -> str:
        return self._cell(f"{value}-Class", value, sort_value)

    def importance_cell(self, value: str, sort_value: int) -> str:
        return self._cell(f"{value}-importance", value, sort_value)

    def _cell(self, template: str, value: str, sort_value: int) -> str:
        """A cell of a sortable table; attributes of a template that makes a cell follow ours."""
        order = f'data-sort-value="{sort_value}"'
        if template not in self.templates:
            return f"{order} | {value}"
        return f"{order} {'' if self.templates[template] else '| '}{{{{{template}}}}}"


PLAIN = WikiIdiom()
"""Words only, for text that is pasted anywhere."""


def idiom_of(client: WikiClient) -> WikiIdiom:
    """The templates that this wiki has; each is expanded once to see whether it makes a whole table cell."""
    names = [*(f"{value}-Class" for value in QUALITIES), *(f"{value}-importance" for value in IMPORTANCES)]
    found = resolve_titles(client, [f"Template:{name}" for name in names], namespace=TEMPLATE).pages
    known = [name for name in names if f"Template:{name}" in found]
    if not known:
        return PLAIN
    asked = _BETWEEN.join(f"{{{{{name}}}}}" for name in known)
    answer = client.call(action="expandtemplates", prop="wikitext", text=asked)
    expanded = text(object_at(answer, "expandtemplates"), "wikitext").split(_BETWEEN)
    if len(expanded) != len(known):
        return PLAIN
    return WikiIdiom({name: _is_cell(made) for name, made in zip(known, expanded, strict=True)})


def _is_cell(expanded: str) -> bool:
    """Whether expanded text begins with attributes and a bar, as `style="…" | B` does."""
    attributes, bar, _ = expanded.partition("|")
    return bool(bar) and "=" in attributes and "[[" not in attributes and "<" not in attributes
