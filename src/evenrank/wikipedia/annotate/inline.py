"""Markup inside running text: links, comments, references, formulas, galleries → the words that a reader sees."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import cache

from evenrank.io.corpus import Site
from evenrank.wikipedia.annotate.facts import read_facts


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Prefixes of links in lower case; a wiki in another language has its own beside the English ones."""

    file: frozenset[str] = frozenset({"file", "image", "media"})
    """Prefixes of images, sound and video."""
    category: frozenset[str] = frozenset({"category"})
    """Prefixes of categories."""
    options: frozenset[str] = frozenset()
    """Words of a link to a file that say how it is shown, beside the English ones; what else it says is a caption."""
    language: str = "en"
    """Code of the language, which decides what templates are called (`templates.template_rules`)."""

    @classmethod
    def local(cls, file: str = "file", category: str = "category", language: str = "en") -> Namespaces:
        """The names of a wiki in a language that calls them `file` and `category`, with the old ones it also knows."""
        english, known = cls(), names_in(language)
        return cls(
            english.file | {file.lower(), *known.get("file", ())},
            english.category | {category.lower(), *known.get("category", ())},
            frozenset(known.get("options", ())),
            language,
        )


ENGLISH = Namespaces()


def site_names(site: Site) -> Namespaces:
    """What a wiki calls files and categories: a dump lists it, and its language suggests it."""
    names = dict(site.namespaces)
    return Namespaces.local(names.get(6, "File"), names.get(14, "Category"), site.language)


def names_in(language: str) -> dict[str, list[str]]:
    """What wikis in a language call things; empty for a language that the table does not have."""
    known = _names_by_language()
    return known.get(language) or known.get(language.partition("-")[0]) or {}


@cache
def _names_by_language() -> dict[str, dict[str, list[str]]]:
    table: dict[str, dict[str, list[str]]] = read_facts("wikis.toml")
    return table | {"nb": table["no"], "nn": table["no"]}


MAX_NESTING = 4
"""Links inside captions inside links: deeper ones are broken markup."""

_LINK = re.compile(r"\[\[([^\[\]{}|]+)(\|[^\[\]{}]*)?\]\]")
_LINK_WITH_BRACKETS = re.compile(r"\[\[([^\[\]|]+)(\|(?:[^\[\]]|\[(?!\[)|\](?!\](?!\])))*+)?\]\]")
_PREFIX = re.compile(r"\[\[\s*(\w+(?:[ _]\w+)?)\s*:")
_EXTERNAL = re.compile(r"\[(?:(?:https?|ftp|mailto|irc|news):|//)[^\s\[\]<>]*+([^\[\]\n]*+)\]", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*$")
_FILE_OPTION = re.compile(
    r"(?:thumb(?:nail)?|frame(?:d|less)?|border|left|right|cent(?:er|re)|none|baseline|middle|top|bottom|sub|super"
    r"|text-(?:top|bottom)|upright|\d*x?\d+ *px|(?:alt|link|page|class|lang|upright|thumb|start|end|thumbtime) *=.*"
    r"|\d*x?\d+)\s*$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(slots=True)
class LinkFields:
    """What the links of one page say; filled by `resolve_links`."""

    namespaces: Namespaces = ENGLISH
    anchors: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    n_files: int = 0
    captions: list[str] = field(default_factory=list)


def resolve_links(text: str, fields: LinkFields, *, is_last: bool = False) -> str:
    """Text with links replaced by their words, innermost first; what they say goes into `fields`.

    Links that hold braces or single brackets have to wait for the last round, when templates are gone.
    """
    pattern = _LINK_WITH_BRACKETS if is_last else _LINK
    for _ in range(MAX_NESTING):
        parts = pattern.split(_EXTERNAL.sub(r"\1", text))
        if len(parts) == 1:
            return parts[0]
        for index in range(1, len(parts), 3):
            target, label = parts[index], parts[index + 1]
            if ":" in target:
                parts[index] = _prefixed(target, label, fields)
            else:
                parts[index] = shown = label[1:] if label and len(label) > 1 else target
                fields.anchors.append(shown)
            parts[index + 1] = ""
        text = "".join(parts)
        if "[[" not in text and "[http" not in text:
            return text
    return text


def _prefixed(target: str, label: str | None, fields: LinkFields) -> str:
    """Words shown for a link that may lead to another namespace, language or project."""
    prefix, _, name = target.partition(":")
    prefix = prefix.strip().lower().replace("_", " ")
    if prefix in fields.namespaces.file:
        fields.n_files += 1
        if caption := file_caption(label, fields.namespaces):
            fields.captions.append(caption)
        return ""
    if prefix in fields.namespaces.category:
        fields.categories.append(name.strip().replace("_", " "))
        return ""
    if label is None and _LANGUAGE.match(prefix):
        return ""
    shown = label[1:] if label and len(label) > 1 else target.lstrip(": ")
    fields.anchors.append(shown)
    return shown


def count_links(text: str, namespaces: Namespaces) -> int:
    """Number of links to pages in a text."""
    others = namespaces.file | namespaces.category
    return text.count("[[") - sum(1 for prefix in _PREFIX.findall(text) if prefix.lower().replace("_", " ") in others)


def file_caption(options: str | None, namespaces: Namespaces = ENGLISH) -> str:
    """The caption among a file link's `|` options: the last one, if it is no known option."""
    if not options:
        return ""
    last = options.rpartition("|")[2].strip()
    is_option = _FILE_OPTION.match(last) or last.partition("=")[0].strip().lower() in namespaces.options
    return "" if is_option else last


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
