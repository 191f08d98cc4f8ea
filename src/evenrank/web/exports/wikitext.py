"""Wikitext: a numbered list or a sortable table to paste, with links to make it anew."""

from __future__ import annotations

import re
from html import escape

from evenrank.web.articles.article import Article
from evenrank.web.exports.listing import Listing

_SPECIAL = re.compile(r"[\[\]{}|<>'=~&*#:;!_\x00-\x1f]|https?|mailto|ISBN|RFC|PMID|__")
_FORBIDDEN = re.compile(r"[\[\]{}|<>#\x00-\x1f]")
_ACTIVE = re.compile(r"''+|~~~+|&|__+")
"""What MediaWiki would still act on inside a link: bold and italic, signatures, character references, switches."""
_DIRECT = re.compile(r"[\[\]{}|<>\s\"']")


def _references(found: re.Match[str]) -> str:
    """The characters found, as character references."""
    return "".join(f"&#{ord(char)};" for char in found[0])


def plain(text: str) -> str:
    """Text that MediaWiki shows as it is: whatever could be markup becomes a character reference."""
    return _SPECIAL.sub(_references, text)


def link(title: str) -> str:
    """A link to an article; the colon in front keeps files and categories from being shown or joined.

    A title that cannot be one (it has characters that MediaWiki forbids) stays text.
    """
    if _FORBIDDEN.search(title):
        return plain(title)
    return f"[[:{_ACTIVE.sub(_references, title)}]]"


def external(address: str, label: str) -> str:
    """A link to another site."""
    safe = _DIRECT.sub(lambda found: f"%{ord(found[0]):02X}", address)
    return f"[{safe} {label}]"


def note(listing: Listing) -> str:
    """When the list was made, and the links that make it anew or change its question."""
    regenerate = external(listing.address, "regenerate")
    return (
        f"''Last updated {listing.updated} UTC'' · {regenerate} or {external(listing.edit_address, 'edit the query')}"
    )


def numbered_list(listing: Listing) -> str:
    """One line for each article."""
    lines = [f"# {link(article.title)} ({article.quality}, {article.size})" for article in listing.articles]
    return "\n".join([f"; {plain(listing.title)}", f": {note(listing)}", *lines]) + "\n"


def sortable_table(listing: Listing) -> str:
    """A table whose columns readers can sort."""
    lines = ['{| class="wikitable sortable"', f"|+ {plain(listing.title)}<br />{note(listing)}"]
    lines.append("! Rank !! Article !! Class !! Size !! Region !! What is missing !! Why it is here")
    for article in listing.articles:
        lines += ["|-", "| " + " || ".join(_cells(article))]
    return "\n".join([*lines, "|}"]) + "\n"


def _cells(article: Article) -> list[str]:
    size = escape(str(article.size_bytes if article.size_bytes is not None else 0))
    return [
        str(article.rank),
        link(article.title),
        article.quality,
        f'data-sort-value="{size}" | {article.size}',
        plain(", ".join(article.regions)),
        plain(article.missing),
        plain(", ".join(article.reasons)),
    ]
