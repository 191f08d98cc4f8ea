"""What a reader of a page does not see in place: comments, references, formulas, galleries, raw text."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_REFERENCE = re.compile(r"<ref(?=[\s/>])", re.IGNORECASE)
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
        n_references=n_references + len(_REFERENCE.findall(listed)),
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
