"""Markup inside running text: quotes, tags, lists, table cells, character references, blanks."""

from __future__ import annotations

import html
import re

_BLOCK_TAG = re.compile(
    r"</?(?:br|p|div|li|ul|ol|td|th|tr|table|caption|center|blockquote|dd|dt|dl|hr|h[1-6]|poem)\b[^<>]*>", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_EMPHASIS = re.compile(r"''+")
_LINE_START = re.compile(r"\n(?:[*#:;]+|-{4,})[ \t]*")
_SWITCH = re.compile(r"__[A-Z]{3,}__")
_BROKEN = {"[": ("[[",), "]": ("]]",), "{": ("{{", "{|"), "}": ("}}", "|}"), "<": ("<!--",), ">": ("-->",)}
"""Marks left of broken markup, by a character that is quick to look for and rare in text."""
_EMPTY_PARENTHESES = re.compile(r"\([\s,;:]*\)")
_BLANKS = re.compile(r"  +")
_BLANK_LINES = re.compile(r"\n\n\n+")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")


def strip_markup(text: str) -> str:
    """Text without emphasis, tags, list marks and broken brackets; character references stay."""
    if "<" in text:
        text = _TAG.sub("", _BLOCK_TAG.sub("\n", text))
    if "''" in text:
        text = _EMPHASIS.sub("", text)
    if "__" in text:
        text = _SWITCH.sub("", text)
    for character, marks in _BROKEN.items():
        if character in text:
            for mark in marks:
                text = text.replace(mark, "")
    return _LINE_START.sub("\n", text)


def decode_references(text: str) -> str:
    """Text with `&amp;`, `&#91;` and their like as characters."""
    if "&" not in text:
        return text
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text).replace("\xa0", " ")


def tidy(text: str) -> str:
    """Text without repeated blanks, empty parentheses and piles of empty lines."""
    text = _EMPTY_PARENTHESES.sub("", text).replace("\xa0", " ").replace("\t", " ")
    text = _BLANKS.sub(" ", text).replace(" \n", "\n").replace("\n ", "\n")
    return _BLANK_LINES.sub("\n\n", text)


def one_line(text: str) -> str:
    """Readable text of a short piece of wikitext, on one line."""
    return " ".join(decode_references(strip_markup(text)).split())


_CELL = re.compile(r"\n[ \t]*(?:\|-[^\n]*|\|\+|[|!])|\|\||!!")


def table_words(content: str) -> str:
    """Words of the cells and the caption of a table, in reading order; `content` is what is inside {| |}."""
    cells = _CELL.split(strip_markup(content))
    words = [cell.rpartition("|")[2] for cell in cells[1:]]
    return " ".join(decode_references(" ".join(words)).split())
