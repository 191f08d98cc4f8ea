"""Markup inside running text, and what readers do not see in place: comments, references, formulas, galleries."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

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


DROPPED = (
    *("ref", "references", "math", "ce", "chem", "hiero", "score", "timeline"),
    *("gallery", "imagemap", "graph", "mapframe", "maplink", "categorytree", "inputbox", "templatedata"),
    "section",
)
"""Tags that disappear with all they hold."""
RAW = ("nowiki", "pre", "syntaxhighlight", "source")
"""Tags whose content is text even where it looks like markup."""

_OPENING = re.compile(rf"<(?:!--|({'|'.join([*DROPPED, *RAW])})(?=[\s/>])[^<>]*>)", re.IGNORECASE)
_CLOSING = {tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE) for tag in [*DROPPED, *RAW]} | {"!--": re.compile("-->")}
_REF_TAG = re.compile(r"<ref(?=[\s/>])", re.IGNORECASE)
_MARKUP_CHARACTERS = {ord(character): f"&#{ord(character)};" for character in "&[]{}|<>'=*#:;_~-!"}


@dataclass(frozen=True, slots=True)
class Visible:
    """A page without its hidden parts."""

    text: str
    """What is left; raw text appears in it as character references."""
    references: str
    """Content of the references, one after the other."""
    n_references: int
    """Uses of `<ref>`, with repeated uses of a named reference."""
    galleries: tuple[str, ...]
    """Content of each gallery."""


def split_hidden(text: str) -> Visible:
    """The page without hidden parts, and those of them that count. Unclosed tags hide nothing."""
    kept: list[str] = []
    hidden: dict[str, list[str]] = {"ref": [], "references": [], "gallery": []}
    never_closed: set[str] = set()
    n_references = position = 0
    while opening := _OPENING.search(text, position):
        kept.append(text[position : opening.start()])
        tag = (opening[1] or "!--").lower()
        n_references += tag == "ref"
        content, position = _content(text, tag, opening, never_closed)
        if tag in RAW:
            kept.append(content.translate(_MARKUP_CHARACTERS))
        elif tag in hidden:
            hidden[tag].append(content)
    kept.append(text[position:])
    listed = "\n".join(hidden["references"])
    return Visible(
        text="".join(kept),
        references="\n".join([*hidden["ref"], listed]),
        n_references=n_references + len(_REF_TAG.findall(listed)),
        galleries=tuple(hidden["gallery"]),
    )


def _content(text: str, tag: str, opening: re.Match[str], never_closed: set[str]) -> tuple[str, int]:
    """What the tag holds and where the page continues. A closing tag that is missing is looked for only once."""
    start = opening.end()
    if tag in never_closed or (tag != "!--" and text[start - 2] == "/"):
        return "", start
    closing = _CLOSING[tag].search(text, start)
    if closing is None:
        never_closed.add(tag)
        return "", start
    return text[start : closing.start()], closing.end()
