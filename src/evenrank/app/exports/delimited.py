"""CSV and TSV, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io

from evenrank.app.articles.article import ListedArticle, article_address
from evenrank.app.exports.listing import Listing

COLUMNS = ("rank", "page_id", "title", "class", "size_bytes", "region", "missing", "matched_words", "relevance", "url")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def guarded(text: str) -> str:
    """Text that a spreadsheet takes for text: an apostrophe before what could be a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


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
        guarded(article.text_id) or article.page_id,
        guarded(article.title),
        article.quality,
        "" if article.size_bytes is None else article.size_bytes,
        guarded("; ".join(article.regions)),
        guarded(article.missing),
        guarded("; ".join(article.reasons)),
        round(article.relevance, 4),
        url,
    )
