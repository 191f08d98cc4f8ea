"""Names from files and arguments, made safe for where they are shown: terminal, log, LaTeX, spreadsheet, figure, file.

A run may be called anything, such as `$\\frac{1}{$`, a byte that is no text, or codes that rename the window of a
terminal. What cannot be shown is written as an escape, so that two names that differ still look different. HTML is
escaped by `html.escape` and the templates.
"""

from __future__ import annotations

import io
import os
import re

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters but tab and line feed, marks that turn the direction of text, and bytes that are no text."""
_UNSHOWN = re.compile(f"[{_CONTROL}]")
_UNSHOWN_IN_LINE = re.compile(f"[{_CONTROL}\\t\\n]")
_BOLD = re.compile("(\x1b\\[[01]m)")
_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: "\\" + character for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "‖": r"$\Vert$",
    "²": r"$^2$",
}
_FORMULA = ("=", "+", "-", "@")
"""What a cell starts with that a spreadsheet would run as a formula."""


def terminal_text(text: str) -> str:
    """A text of several lines for a terminal, a log or a page that people copy from, without codes that are obeyed."""
    return _UNSHOWN.sub(_escaped, text)


def visible_line(text: str) -> str:
    """The same for a name within a line or a cell."""
    return _UNSHOWN_IN_LINE.sub(_escaped, text)


def path_text(path: str | os.PathLike[str]) -> str:
    r"""A path as text that any file can hold: bytes that are no text are written as `\xff`."""
    return os.fsencode(path).decode(errors="backslashreplace")


class TerminalOutput(io.TextIOWrapper):
    """Standard output on a terminal: nothing written to it is obeyed, except that results may be bold."""

    def write(self, text: str) -> int:
        pieces = _BOLD.split(text)
        pieces[::2] = map(terminal_text, pieces[::2])
        return super().write("".join(pieces))


def latex_text(text: str) -> str:
    """Text that LaTeX prints unchanged."""
    return "".join(_LATEX.get(character, character) for character in visible_line(text))


def cell_text(text: str) -> str:
    """A text without blanks around it, with an apostrophe before what a spreadsheet would run as a formula."""
    stripped = text.strip()
    return f"'{stripped}" if stripped.startswith(_FORMULA) else stripped


def figure_text(text: str) -> str:
    """A name in a figure; matplotlib would read what is between two dollar signs as a formula."""
    return visible_line(text).replace("$", r"\$")


def _escaped(found: re.Match[str]) -> str:
    """`\\x1b`, `\\n`, `\\u202e`; a byte that is no text, which Python keeps as half a character, as `\\xff`."""
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else ascii(found[0])[1:-1]
