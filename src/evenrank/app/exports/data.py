"""JSON, plain titles, and the track's run format."""

from __future__ import annotations

from typing import Any

import orjson

from evenrank.app.articles.article import ListedArticle, article_address
from evenrank.app.exports.listing import Listing


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
        "matched_words": list(article.reasons),
        "relevance": round(article.relevance, 4),
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
