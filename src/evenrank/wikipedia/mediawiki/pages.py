"""Pages as a wiki's API describes them, and the articles that belong to talk pages."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.wikipedia.mediawiki.client import Record, record_number, text

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
