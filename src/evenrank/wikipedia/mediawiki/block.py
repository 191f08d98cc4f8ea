"""The part of a wiki page that we own: the text between two markers. Everything around it belongs to people."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from evenrank.wikipedia.mediawiki.errors import WikiError

_NAME = re.compile(r"[a-z0-9-]{1,64}")
_BEGIN = (
    "<!-- Evenrank list {name} {mark}: this part is replaced when the list is refreshed; write above or below it -->"
)
_END = "<!-- End of Evenrank list {name} -->"
_MARK = r"(?P<mark>[0-9a-f]{16})"


class EditedByOthersError(WikiError):
    """Somebody changed the text between the markers, so that replacing it would lose their work."""


@dataclass(frozen=True, slots=True)
class Block:
    """Our part of a page."""

    start: int
    end: int
    """Where the block, with its markers, is in the text of the page."""
    content: str
    mark: str
    """Fingerprint of the content that we wrote."""

    @property
    def is_edited(self) -> bool:
        """Whether the content is no longer what we wrote."""
        return block_fingerprint(self.content) != self.mark


def replace_block(text: str, content: str, name: str, *, discard_edits: bool = False) -> str:
    """The text of a page with new content between the markers; a page without them gets them at its end.

    The begin marker carries a fingerprint of what we wrote. If the text there no longer has it, somebody edited it, and
    it is replaced only with `discard_edits`.
    """
    found = find_block(text, name)
    block = write_block(content, name)
    if found is None:
        return f"{text.rstrip()}\n\n{block}\n".lstrip("\n")
    if found.is_edited and not discard_edits:
        raise EditedByOthersError(
            "the list '%(name)s' was edited on the wiki since it was last published; move those edits out of the "
            "marked part, or discard them explicitly",
            name=name,
        )
    return text[: found.start] + block + text[found.end :]


def find_block(text: str, name: str) -> Block | None:
    """Our block of that name; None when the page has none, an error when its markers do not make one block."""
    if not _NAME.fullmatch(name):
        raise WikiError("%(name)s: not a name for a list (use a-z, 0-9 and '-')", name=name)
    pattern = re.escape(_BEGIN.format(name=name, mark="MARK")).replace("MARK", _MARK)
    begins = list(re.finditer(pattern, text))
    ends = list(re.finditer(re.escape(_END.format(name=name)), text))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or ends[0].start() < begins[0].end():
        raise WikiError(
            "the page has %(begins)s begin and %(ends)s end markers of the list '%(name)s', not one of each in this "
            "order; repair or remove them on the wiki",
            begins=len(begins),
            ends=len(ends),
            name=name,
        )
    content = text[begins[0].end() : ends[0].start()]
    return Block(begins[0].start(), ends[0].end(), content.strip("\n"), begins[0]["mark"])


def write_block(content: str, name: str) -> str:
    """Content between markers."""
    inner = normalize(content)
    return f"{_BEGIN.format(name=name, mark=block_fingerprint(inner))}\n{inner}\n{_END.format(name=name)}"


def normalize(content: str) -> str:
    """Content as a wiki keeps it: line ends of one kind, no blanks at the end, none of our markers."""
    lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n").replace("<!--", "&lt;!--")


def block_fingerprint(content: str) -> str:
    return hashlib.sha256(normalize(content).encode()).hexdigest()[:16]
