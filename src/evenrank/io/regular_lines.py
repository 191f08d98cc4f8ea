"""JSON lines that all have the same keys in the same order: their values are cut out of a block by one expression."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import orjson

_STRING = rb'"[^"\\\x00-\x1f]*+"'
_NUMBER = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_PLAIN = b"(?:" + _STRING + b"|" + _NUMBER + b"|null|true|false)"
_LIST = rb"\[(?:" + _PLAIN + b"(?:, ?" + _PLAIN + rb")*+)?+\]"
_OBJECT = rb"\{(?:" + _STRING + b": ?" + _PLAIN + b"(?:, ?" + _STRING + b": ?" + _PLAIN + rb")*+)?+\}"
_VALUE = _PLAIN + b"|" + _LIST + b"|" + _OBJECT


@dataclass(frozen=True)
class RegularLines:
    """The shape of a line, and which of its values are wanted."""

    pattern: re.Pattern[bytes]
    keys: tuple[str, ...]
    """Keys of every line."""
    wanted: tuple[str, ...]
    """Keys whose values are cut out, in the order of the line."""

    @classmethod
    def of(cls, line: bytes, wanted: Collection[str]) -> RegularLines | None:
        """The shape of `line`; None when it has escapes, nested values or keys that appear twice."""
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(record, dict) or not record:
            return None
        found = tuple(key for key in record if key in wanted)
        for comma, colon in ((b", ", b": "), (b",", b":")):
            parts = []
            for key in record:
                opening = b"(" if key in wanted else b"(?:"
                parts.append(re.escape(orjson.dumps(key)) + colon + opening + _VALUE + b")")
            pattern = re.compile(rb"^\{" + comma.join(parts) + rb"\}$", re.MULTILINE)
            if len(found) > 1 and pattern.fullmatch(line):
                return cls(pattern, tuple(record), found)
        return None

    def columns(self, block: bytes) -> dict[str, tuple[bytes, ...]] | None:
        """The values of a block of lines by key, as they are written; None when a line is of another shape."""
        n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
        if not block.isascii() and not _is_utf8(block):
            return None
        rows = self.pattern.findall(block)
        return dict(zip(self.wanted, zip(*rows, strict=True), strict=True)) if rows and len(rows) == n_lines else None


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
