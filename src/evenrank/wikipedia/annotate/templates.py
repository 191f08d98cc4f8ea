"""Templates and tables of a page: taken out of the text in one pass, infobox and cells kept as fields."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from evenrank.wikipedia.annotate.inline import (
    LinkFields,
    decode_references,
    names_in,
    resolve_links,
    strip_markup,
    table_words,
)

MAX_DEPTH = 40
"""Templates nested deeper are left out, as MediaWiki does; this also keeps the pass linear."""

_BRACKET = re.compile(r"\{\{|\}\}")
_BRACKET_OR_TABLE = re.compile(r"\{\{|\}\}|\n[ \t:*#]*(?:\{\||\|\}(?!\}))")
_ARGUMENT_NAME = re.compile(r"[\w\s\-]*=")

_OPENING_OF = {"}}": "{{", "|}": "{|"}

Shown = str | slice
"""What a reader sees of a template: always the same text, or some of its positional arguments."""
ARGUMENTS = {
    "first": slice(0, 1),
    "second": slice(1, 2),
    "last": slice(-1, None),
    "both": slice(0, 2),
    "all": slice(None),
}
"""Words of `templates.toml` for the arguments that are shown."""


@dataclass(slots=True)
class _Frame:
    """An open template or table."""

    kind: str
    """'{{', '{|', or '' for the page itself."""
    is_infobox: bool = False
    is_data: bool = False
    """Whether it is, or is inside, an infobox or a table: there, unknown templates show their arguments."""
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TemplateFields:
    """What the templates and tables of one page say; filled by `lift_templates`."""

    links: LinkFields = field(default_factory=LinkFields)
    infobox: list[tuple[str, str]] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TemplateRules:
    """The table `templates.toml`, ready for use."""

    infobox_name: re.Pattern[str]
    shown: dict[str, Shown]
    shown_prefixes: tuple[str, ...]
    footnote: re.Pattern[str]
    kind: re.Pattern[str]
    """An infobox whose name says what it is for, in one of two groups: `Infobox river`, `Rzeka infobox`."""


@cache
def template_rules(language: str = "en") -> TemplateRules:
    """Which templates show text on a wiki in a language."""
    table = tomllib.loads(files("evenrank.wikipedia.annotate").joinpath("templates.toml").read_text("utf-8"))
    shown_table, infobox, local = table["shown"], table["infobox"], names_in(language)
    shown: dict[str, Shown] = dict(shown_table["literal"])
    for choice, arguments in ARGUMENTS.items():
        shown |= dict.fromkeys(shown_table[choice], arguments)
    local_starts = local.get("infobox", [])
    starts, ends = _either([*infobox["starts"], *local_starts]), _either(infobox["ends"])
    kinds = _either([*infobox["kinds"], *local_starts])
    ended = rf"|([^|{{}}\n<]{{1,80}}?)[ _]+(?:{ends})\s{{0,20}}[|\n}}]" if local else ""
    footnotes = _either([*table["footnotes"]["names"], *local.get("footnotes", ())])
    return TemplateRules(
        infobox_name=re.compile(
            rf"\s{{0,20}}(?:(?:{starts})\b|[^|{{}}\n]{{0,60}}\b(?:{ends})\s{{0,20}}[|\n}}])", re.IGNORECASE
        ),
        shown=shown,
        shown_prefixes=tuple(shown_table["starts"]),
        footnote=re.compile(rf"\{{\{{\s*(?:{footnotes})\s*\|", re.IGNORECASE),
        kind=re.compile(rf"\{{\{{\s{{0,20}}(?:(?:{kinds})(?:[ _]+|(?<=/))([^|{{}}\n<]{{1,80}}){ended})", re.IGNORECASE),
    )


def _either(names: list[str]) -> str:
    return "|".join(map(re.escape, dict.fromkeys(names)))


def lift_templates(text: str, fields: TemplateFields) -> str:
    """Text without templates and tables; what they hold goes into `fields`. Unclosed brackets hold nothing."""
    if "{" not in text and "}" not in text:
        return text
    stack = [_Frame("")]
    n_open = {"{{": 0, "{|": 0}
    position = 0
    rules = template_rules(fields.links.namespaces.language)
    brackets = _BRACKET_OR_TABLE if "{|" in text else _BRACKET
    for bracket in brackets.finditer(text):
        stack[-1].parts.append(text[position : bracket.start()])
        position = bracket.end()
        mark = bracket[0][-2:]
        if mark in n_open:
            is_infobox = mark == "{{" and rules.infobox_name.match(text, position) is not None
            stack.append(_Frame(mark, is_infobox, stack[-1].is_data or is_infobox or mark == "{|"))
            n_open[mark] += 1
        elif n_open[kind := _OPENING_OF[mark]]:
            frames = _close(stack, kind, n_open)
            if len(stack) < MAX_DEPTH:
                stack[-1].parts.append(_read(frames, stack[-1].is_data, fields))
    stack[-1].parts.append(text[position:])
    return _content(stack)


def _close(stack: list[_Frame], kind: str, n_open: dict[str, int]) -> list[_Frame]:
    """The innermost open frame of a kind and what is unclosed inside it; they leave the stack."""
    if stack[-1].kind == kind:
        n_open[kind] -= 1
        return [stack.pop()]
    start = next(index for index in range(len(stack) - 1, 0, -1) if stack[index].kind == kind)
    frames = stack[start:]
    for frame in frames:
        n_open[frame.kind] -= 1
    del stack[start:]
    return frames


def _content(frames: list[_Frame]) -> str:
    return "".join(part for frame in frames for part in frame.parts)


def _read(frames: list[_Frame], in_data: bool, fields: TemplateFields) -> str:
    """What the page shows in place of a closed template or table."""
    content = _content(frames)
    if "[[" in content:
        content = resolve_links(content, fields.links)
    if frames[0].kind == "{|":
        fields.tables.append(table_words(content))
        return "\n"
    if frames[0].is_infobox:
        fields.infobox += _infobox_pairs(content)
        return ""
    return _shown_text(content, in_data)


def _shown_text(content: str, in_data: bool) -> str:
    """What a reader sees of a template that is no infobox."""
    rules = template_rules()
    name, *arguments = content.split("|")
    name = name.strip().lower().replace("_", " ")
    shown = rules.shown.get(name)
    if shown is None and name.startswith(rules.shown_prefixes):
        shown = ARGUMENTS["first"]
    elif shown is None and in_data:
        shown = ARGUMENTS["all"]
    if isinstance(shown, slice):
        return " ".join(_positional(arguments)[shown])
    return shown or ""


def _positional(arguments: list[str]) -> list[str]:
    """Arguments without a name; those named 1, text or quote count as positional."""
    found = []
    for argument in arguments:
        if not _ARGUMENT_NAME.match(argument):
            found.append(argument)
        elif argument.partition("=")[0].strip() in {"1", "2", "text", "quote", "content"}:
            found.append(argument.partition("=")[2])
    return found


def _infobox_pairs(content: str) -> list[tuple[str, str]]:
    """Names and values of an infobox; values by position have no name."""
    pairs = []
    for argument in strip_markup(content).split("|")[1:]:
        name, equals, value = argument.partition("=")
        if not equals:
            name = ""
            value = argument
        if value := " ".join(decode_references(value).split()):
            pairs.append((name.strip(), value))
    return pairs


def infobox_names(wikitext: str, language: str = "en") -> str:
    """What kinds of thing the infoboxes of a page are for, one a line: `musical artist`, `football biography`."""
    found = (match[match.lastindex or 0] for match in template_rules(language).kind.finditer(wikitext))
    names = (" ".join(name.replace("_", " ").split()) for name in found)
    return "\n".join(dict.fromkeys(filter(None, names)))
