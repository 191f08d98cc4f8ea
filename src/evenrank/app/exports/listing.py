"""A list on its way out, and the forms it is written in: CSV, TSV, JSON, titles, a run file, wikitext."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evenrank.app.articles.article import ListedArticle, article_address
from evenrank.app.articles.collection_view import CLASSES
from evenrank.app.pages.i18n import Message, in_language
from evenrank.core.records import Task
from evenrank.core.safe_text import cell_text
from evenrank.trec.collection import Collection
from evenrank.wikipedia.mediawiki.titles import IMPORTANCES, PLAIN, WikiIdiom

COLUMNS = (
    *("rank", "page_id", "title", "class", "size_bytes", "region", "missing", "matched_words", "relevance", "url"),
    *("page_views", "importance", "citations_needed", "maintenance_templates", "sources", "images", "sections"),
)
ROWS_PER_SECTION = 100
"""Rows of one table: people edit by section, and a table of a thousand rows sorts slowly on a phone."""
MAX_ROWS_WITHOUT_SECTIONS = 150
TABLE_COLUMNS = (
    *("Article", "Class", "Importance", "Size", "Page views", "Region", "Citations needed", "Maintenance templates"),
    *("What is missing", "Why it is here", "Status"),
)
COUNTED = {
    "citations_needed": "citations",
    "maintenance_templates": "maintenance",
    "sources": "sources",
    "images": "images",
    "sections": "sections",
}
"""Columns of what was counted in an article, and what it is counted under."""
OPEN = "open"
"""Status of an article that nobody has claimed."""
_SPECIAL = re.compile(r"[\[\]{}|<>'=~&*#:;!_\x00-\x1f]|https?|mailto|ISBN|RFC|PMID|__")
_FORBIDDEN = re.compile(r"[\[\]{}|<>#\x00-\x1f]")
_ACTIVE = re.compile(r"''+|~~~+|&|__+")
"""What MediaWiki would still act on inside a link: bold and italic, signatures, character references, switches."""
_UNSAFE = re.compile(r"[\[\]{}|<>\s\"']|~|__+")
"""What ends an address, or what MediaWiki acts on inside one before it is saved: signatures and switches."""


@dataclass(frozen=True)
class Listing:
    """One list, or one draw, on its way out."""

    title: str
    task: Task
    topic: int
    """Number in run files; for a list of the app, none of the collection's topics has it (`run_topic`)."""
    repeat: int
    """Number of the draw; 1 for a work list."""
    updated: str
    """When it was made, UTC."""
    address: str
    """Where the list is; empty for one that no server shows."""
    edit_address: str
    """Where its question can be changed; empty when it cannot."""
    articles: Sequence[ListedArticle]
    wiki_url: str
    """What addresses of articles begin with; empty when they are on no wiki."""
    statuses: Mapping[int, str] | None = None
    """Page id → how far the work on an article is, in words; None for a list without this column."""
    explanation: str = ""
    """How fair the list is and how old its data are, in two sentences; empty when nothing is known of that."""
    language: str = "en"
    """Language of the wiki, in which headings are written as far as the pages of the app are."""

    def say(self, text: str) -> str:
        """A text of the package in the language of the list."""
        return in_language(text, self.language)


@dataclass(frozen=True)
class ExportFormat:
    """One way to write a list."""

    suffix: str
    """What is put behind the address of a list."""
    label: str
    media_type: str
    write: Callable[[Listing], str]


def run_topic(collection: Collection, number: int) -> int:
    """The topic that a list or search is in run files: the collection's topics keep theirs, so that no judgments of
    another subject are taken for it, and each list has its own."""
    return collection.free_topic_id + number - 1


def article_data(article: ListedArticle, wiki_url: str) -> dict[str, Any]:
    """One article for bots."""
    return {
        "rank": article.rank,
        "page_id": article.shown_id,
        "title": article.title,
        "class": article.quality,
        "size_bytes": article.size_bytes,
        "page_views": article.views,
        "regions": list(article.regions),
        "groups": {name: list(groups) for name, groups in article.groups.items()},
        "missing": article.missing,
        "importance": article.importance or None,
        "work": {name: article.counted(kind) for name, kind in COUNTED.items()},
        "matched_words": list(article.reasons),
        "relevance": None if article.relevance is None else round(article.relevance, 4),
        "url": article_address(article, wiki_url),
    }


def json_text(listing: Listing) -> str:
    """The list with its articles."""
    record = {
        "title": listing.title,
        "updated": listing.updated,
        "address": listing.address,
        "edit_address": listing.edit_address,
        "articles": [article_data(article, listing.wiki_url) for article in listing.articles],
    }
    return orjson.dumps(record, option=orjson.OPT_INDENT_2).decode() + "\n"


def titles_text(listing: Listing) -> str:
    """One title a line."""
    return "".join(" ".join(article.title.split()) + "\n" for article in listing.articles)


def run_text(listing: Listing) -> str:
    """The track's columns: topic and page, in Task 2 with the number of the ranking between them."""
    prefix = f"{listing.topic}\t" if listing.task == 1 else f"{listing.topic}\t{listing.repeat}\t"
    return "".join(f"{prefix}{article.shown_id}\n" for article in listing.articles)


def delimited_rows(listing: Listing) -> list[tuple[str | int | float, ...]]:
    """The articles as rows of cells."""
    return [_row(article, article_address(article, listing.wiki_url)) for article in listing.articles]


def csv_text(listing: Listing) -> str:
    """Comma-separated values with a header line."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    writer.writerows(delimited_rows(listing))
    return out.getvalue()


def tsv_text(listing: Listing) -> str:
    """Tab-separated values with a header line; tabs and line ends inside cells become blanks."""
    lines = [COLUMNS, *delimited_rows(listing)]
    return "".join("\t".join(" ".join(str(cell).split()) for cell in line) + "\n" for line in lines)


def _row(article: ListedArticle, url: str) -> tuple[str | int | float, ...]:
    return (
        article.rank,
        cell_text(article.text_id) or article.page_id,
        cell_text(article.title),
        article.quality,
        "" if article.size_bytes is None else article.size_bytes,
        cell_text("; ".join(article.regions)),
        cell_text(article.missing),
        cell_text("; ".join(article.reasons)),
        "" if article.relevance is None else round(article.relevance, 4),
        url,
        "" if article.views is None else article.views,
        cell_text(article.importance),
        *("" if (n := article.counted(kind)) is None else n for kind in COUNTED.values()),
    )


def _references(found: re.Match[str]) -> str:
    """The characters found, as character references."""
    return "".join(f"&#{ord(char)};" for char in found[0])


def escape_plain(text: str) -> str:
    """Text that MediaWiki shows as it is: whatever could be markup becomes a character reference."""
    return _SPECIAL.sub(_references, text)


def link(title: str) -> str:
    """A link to an article; the colon in front keeps files and categories from being shown or joined.

    A title that cannot be one (it has characters that MediaWiki forbids) stays text.
    """
    if _FORBIDDEN.search(title):
        return escape_plain(title)
    return f"[[:{_ACTIVE.sub(_references, title)}]]"


def talk_link(title: str) -> str:
    """A link to the talk page of an article, as people write it behind a title; empty for what cannot be a title."""
    return "" if _FORBIDDEN.search(title) else f" ([[Talk:{_ACTIVE.sub(_references, title)}|talk]])"


def external(address: str, label: str) -> str:
    """A link to another site."""
    safe = _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), address)
    return f"[{safe} {label}]"


def article_link(article: ListedArticle) -> str:
    """A link to an article and its talk page; to its address, where that is its id."""
    if article.address:
        return external(article.address, escape_plain(article.title))
    return link(article.title) + talk_link(article.title)


def note(listing: Listing) -> str:
    """When the list was made, and the links that regenerate it or change its question, where it has any."""
    links = [external(address, listing.say(label)) for address, label in (
        (listing.address, "regenerate"),
        (listing.edit_address, "edit the query"),
    ) if address]  # fmt: skip
    return " · ".join([f"''{listing.say(Message('Last updated %(time)s UTC', time=listing.updated))}''", *links])


def numbered_list(listing: Listing) -> str:
    """One line for each article."""
    head = [f"; {escape_plain(listing.title)}", f": {note(listing)}"]
    head += [f": {escape_plain(listing.explanation)}"] if listing.explanation else []
    return "\n".join([*head, *(_line(article) for article in listing.articles)]) + "\n"


def _line(article: ListedArticle) -> str:
    """An article of a numbered list: its class and size, and the words for which it is here."""
    words = f" ({escape_plain(', '.join(article.reasons))})" if article.reasons else ""
    return f"# {article_link(article)} – {article.quality}, {article.size}{words}"


def sortable_table(listing: Listing, idiom: WikiIdiom = PLAIN) -> str:
    """Tables whose columns readers can sort. Rows have no rank: with one, every refresh would change every row."""
    parts = [f"'''{escape_plain(listing.title)}''' · {note(listing)}"]
    parts += ["", escape_plain(listing.explanation), ""] if listing.explanation else []
    for heading, articles in wikitext_sections(listing.articles):
        parts += [heading] if heading else []
        parts.append(_table(listing, articles, idiom))
    return "\n".join(parts) + "\n"


def wikitext_sections(articles: Sequence[ListedArticle]) -> Iterator[tuple[str, Sequence[ListedArticle]]]:
    """The rows in sections with their headings; a short list is one section without a heading."""
    if len(articles) <= MAX_ROWS_WITHOUT_SECTIONS:
        yield "", articles
        return
    for start in range(0, len(articles), ROWS_PER_SECTION):
        some = articles[start : start + ROWS_PER_SECTION]
        yield f"=== {start + 1}–{start + len(some)} ===", some


def _table(listing: Listing, articles: Sequence[ListedArticle], idiom: WikiIdiom) -> str:
    counts = _shown_counts(listing)
    has_importance = any(article.importance for article in listing.articles)
    rows = [_cells(listing, article, idiom, counts, has_importance) for article in articles]
    columns = [name for name in TABLE_COLUMNS if any(row.get(name) for row in rows)]  # nobody needs an empty one
    lines = ['{| class="wikitable sortable"', f"! {' !! '.join(map(listing.say, columns))}"]
    for row in rows:
        lines += ["|-", "| " + " || ".join(row.get(name, "") for name in columns)]
    return "\n".join([*lines, "|}"])


def _shown_counts(listing: Listing) -> dict[str, Callable[[ListedArticle], int | None]]:
    """Columns of counts that are above 0 for some article of the list; what is not known leaves a cell empty."""
    counts: dict[str, Callable[[ListedArticle], int | None]] = {
        "Page views": lambda article: article.views,
        "Citations needed": lambda article: article.counted("citations"),
        "Maintenance templates": lambda article: article.counted("maintenance"),
    }
    return {name: count for name, count in counts.items() if any(count(article) for article in listing.articles)}


Counts = Mapping[str, Callable[[ListedArticle], int | None]]


def _why(listing: Listing, article: ListedArticle) -> str:
    """Why an article is in a list; a column that would only say "related words" is left out."""
    if article.reasons:
        return ", ".join(article.reasons)
    return listing.say(article.other_reason) if article.is_brought else ""


def _cells(
    listing: Listing, article: ListedArticle, idiom: WikiIdiom, counts: Counts, has_importance: bool
) -> dict[str, str]:
    """The cells of a row by column; one that the list does not have is left out."""
    importance = article.importance or "Unknown"
    order = IMPORTANCES.index(importance) if importance in IMPORTANCES else len(IMPORTANCES)
    cells = {
        "Article": article_link(article),
        "Class": idiom.quality_cell(article.quality, CLASSES.index(article.quality)),
        "Size": f'data-sort-value="{article.size_bytes or 0}" | {article.size}',
        "Region": escape_plain(", ".join(map(listing.say, article.regions))),
        "What is missing": escape_plain(", ".join(map(listing.say, article.lacking))),
        "Why it is here": escape_plain(_why(listing, article)),
    }
    cells |= {name: "" if (n := count(article)) is None else str(n) for name, count in counts.items()}
    if has_importance:
        cells["Importance"] = idiom.importance_cell(escape_plain(importance), order)
    if listing.statuses is not None:
        cells["Status"] = escape_plain(listing.statuses.get(article.page_id) or listing.say(OPEN))
    return cells
