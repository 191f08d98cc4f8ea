"""Metadata lines → columns, thousands of lines at once.

The organisers write every record with the same keys in the same order, so a line is a page id, a quality score and
a tail that takes only a few hundred different values. Ids and scores are parsed for a whole block with array
arithmetic, tails are distinguished by a 64-bit hash and each distinct tail is parsed as JSON once. Lines of any other
shape are parsed one by one, with the same result. In files with counts, whose tails hardly repeat, the values of all
lines are cut out by one expression instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.text_ids import TextIds
from evenrank.io.byte_arrays import has_bytes, hashes, integers, unit_decimals, words_of
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import MAX_FAULTS, load_record
from evenrank.io.metadata_fields import (
    CLASS_FIELDS,
    MAX_PAGE_ID,
    SCORE_FIELDS,
    FieldEncoder,
    MaskField,
    UnknownValueError,
    class_column,
    number_column,
    page_id_of,
    quality_class_of,
    score_column,
    score_of,
)

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


@dataclass(frozen=True)
class SeenTails:
    """Tails seen so far: hashes ascending, and the codes of each. Never changed, so threads can share it."""

    hashes: NDArray[np.uint64]
    codes: NDArray[np.int64]

    @classmethod
    def none(cls, n_codes: int) -> SeenTails:
        return cls(np.empty(0, np.uint64), np.empty((0, n_codes), np.int64))

    def find(self, tails: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The place of each tail, and whether it was seen at all."""
        if len(self.hashes) == 0:
            return np.zeros(len(tails), np.intp), np.zeros(len(tails), bool)
        places = np.minimum(np.searchsorted(self.hashes, tails), len(self.hashes) - 1)
        return places, self.hashes[places] == tails

    def with_more(self, learnt: dict[int, tuple[int, ...]]) -> SeenTails:
        if not learnt:
            return self
        joined = np.concatenate([self.hashes, np.array(list(learnt), np.uint64)])
        codes = np.concatenate([self.codes, np.array(list(learnt.values()), np.int64)])
        order = np.argsort(joined)
        return SeenTails(joined[order], codes[order])


MAX_TAIL = 512
"""Longest tail, in bytes, that is distinguished by its hash."""
MEMO_LIMIT = 1 << 16
"""Distinct tails remembered; with more of them the memory is cleared (extra fields that differ by page)."""
MAX_BLOCK_FAULTS = 10_000
"""After so many faults the rest of a block is not read: the file is not what it should be."""
_LAYOUT = re.compile(rb'(\{"page_id": ?)\d+(, ?"quality_score": ?)[0-9]')


@dataclass(frozen=True)
class ParsedBlock:
    """Columns of the lines of one block, and what was wrong."""

    page_ids: NDArray[np.int32]
    columns: dict[str, NDArray[Any]]
    counts: dict[str, NDArray[np.uint32]]
    """Of each dimension that counts: the counts of the groups in each page's mask, page after page."""
    n_lines: int
    faults: FaultLog
    """With lines within the block, and no path."""
    first_unknown: dict[str, tuple[int, str]]
    """Of each dimension whose field has a value that it does not know: the first (line within the block, found)."""


class LineReader:
    """Parses blocks of lines; remembers the tails and values it has seen, so one reader serves one file.

    With `ids` page ids are text, and get their numbers there.
    """

    def __init__(self, dimensions: Sequence[MaskField], ids: TextIds | None = None) -> None:
        self._ids = ids
        self._dimensions = tuple(dimensions)
        self._encoders = [FieldEncoder(dimension) for dimension in dimensions]
        self._has_counts = any(encoder.has_counts for encoder in self._encoders)
        self.fields: set[str] = set()
        self._seen = SeenTails.none(1 + len(self._dimensions))
        self._shape: RegularLines | None = None
        self._wanted = {"page_id", *SCORE_FIELDS, *CLASS_FIELDS, *(encoder.field for encoder in self._encoders)}

    def parse(self, block: bytes) -> ParsedBlock:
        """Columns of a block of whole lines."""
        if self._ids is None and self._has_counts and (regular := self._regular_lines(block)) is not None:
            return regular
        fast = None if self._has_counts or self._ids is not None else self._fast_lines(block)
        left = list(enumerate(block.split(b"\n"))) if fast is None else fast.left
        slow = self._slow_lines(left)
        n_lines = fast.n_lines if fast is not None else len(left) - block.endswith(b"\n")
        return self._columns(fast, slow, n_lines)

    def _columns(self, fast: _FastLines | None, slow: _SlowLines, n_lines: int) -> ParsedBlock:
        """Fast and slow lines joined, in the order of the file."""
        codes = np.array(slow.codes, np.int64).reshape(1 + len(self._dimensions), len(slow.lines)).T
        page_ids = np.array(slow.page_ids, np.int32)
        scores = np.array(slow.scores, np.float32)
        if fast is not None:
            page_ids = np.concatenate([fast.page_ids, page_ids])
            scores = np.concatenate([fast.scores, scores])
            codes = np.concatenate([fast.codes, codes])
            if slow.lines:
                order = np.argsort(np.concatenate([fast.lines, slow.lines]), kind="stable")
                page_ids, scores, codes = page_ids[order], scores[order], codes[order]
        columns: dict[str, NDArray[Any]] = {"score": scores, "class": codes[:, 0].astype(np.uint8)}
        columns |= {d.name: codes[:, number].astype(d.mask_dtype) for number, d in enumerate(self._dimensions, 1)}
        counts = {name: np.array(values, np.uint32) for name, values in slow.counts.items()}
        return ParsedBlock(page_ids, columns, counts, n_lines, slow.faults, slow.first_unknown)

    # Lines that all have the same keys in the same order, with counts.

    def _regular_lines(self, block: bytes) -> ParsedBlock | None:
        """Columns of a block whose lines are all regular and valid; None when one is not, so that faults get lines."""
        if self._shape is None:
            end = block.find(b"\n")
            self._shape = RegularLines.of(block[: end if end >= 0 else len(block)], self._wanted)
        texts = self._shape.columns(block) if self._shape is not None else None
        if self._shape is None or texts is None or "page_id" not in texts:
            return None
        try:
            page_ids = number_column(texts["page_id"], np.int64)
            scores = score_column(texts)
            codes = class_column(texts)
            nothing = (b"null",) * len(page_ids)
            encoded = [encoder.encode_column(texts.get(encoder.field, nothing)) for encoder in self._encoders]
        except (ValueError, OverflowError):  # the slow path says what is wrong with which line
            return None
        is_score = ((scores >= 0) & (scores <= 1)) | np.isnan(scores)
        if page_ids.min() < 0 or page_ids.max() > MAX_PAGE_ID or not is_score.all():
            return None
        self.fields.update(self._shape.keys)
        columns: dict[str, NDArray[Any]] = {"score": scores.astype(np.float32), "class": codes}
        counts = {}
        for encoder, (masks, numbers) in zip(self._encoders, encoded, strict=True):
            columns[encoder.name] = masks
            if encoder.has_counts:
                counts[encoder.name] = numbers
        return ParsedBlock(page_ids.astype(np.int32), columns, counts, len(page_ids), FaultLog(), {})

    # Lines of the organisers' layout, all at once.

    def _fast_lines(self, block: bytes) -> _FastLines | None:
        layout = _LAYOUT.match(block)
        if layout is None:
            return None
        buffer = np.frombuffer(block + b"\n" + b"\0" * MAX_TAIL, np.uint8)
        words = words_of(buffer)
        ends = np.flatnonzero(buffer[: len(block) + (not block.endswith(b"\n"))] == 10)
        starts = np.concatenate([[0], ends[:-1] + 1])
        is_good = has_bytes(words, starts, layout[1])
        page_ids, cursor, has_id = integers(words, starts + len(layout[1]))
        is_good &= has_id & has_bytes(words, cursor, layout[2])
        scores, cursor, has_score = unit_decimals(buffer, words, cursor + len(layout[2]))
        is_good &= has_score & (buffer[cursor] == ord(",")) & (ends - cursor >= 8) & (ends - cursor < MAX_TAIL)
        keep = np.flatnonzero(is_good)
        known, codes = self._tail_codes(block, hashes(words, cursor[keep], ends[keep]), cursor[keep], ends[keep])
        keep = keep[known]
        is_good[:] = False
        is_good[keep] = True
        left = [(int(line), block[starts[line] : ends[line]]) for line in np.flatnonzero(~is_good)]
        return _FastLines(keep, left, len(starts), page_ids[keep], scores[keep], codes)

    def _tail_codes(
        self, block: bytes, tails: NDArray[np.uint64], cursor: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which lines have a tail that is understood, and the codes of those."""
        seen = self._seen  # another thread may replace it meanwhile
        places, is_known = seen.find(tails)
        if not is_known.all():
            new = np.flatnonzero(~is_known)
            distinct, first = np.unique(tails[new], return_index=True)
            learnt = {
                value: learnt_codes
                for value, line in zip(distinct.tolist(), new[first], strict=True)
                if (learnt_codes := self._learn(block[cursor[line] : ends[line]])) is not None
            }
            seen = seen.with_more(learnt)
            places, is_known = seen.find(tails)
            codes = seen.codes[places[is_known]]
            self._seen = seen if len(seen.hashes) <= MEMO_LIMIT else SeenTails.none(1 + len(self._dimensions))
            return is_known, codes
        return is_known, seen.codes[places]

    def _learn(self, tail: bytes) -> tuple[int, ...] | None:
        """Codes of a tail that was not seen before; None when the line has to be read the slow way."""
        try:
            record = load_record(b'{"":0' + tail)
            codes = self._codes_of(record)
        except ValueError:
            return None
        if "page_id" in record or any(name in record for name in SCORE_FIELDS):
            return None
        self.fields.update(record.keys() - {""})
        return codes

    # Any other line, one by one.

    def _slow_lines(self, lines: Iterable[tuple[int, bytes]]) -> _SlowLines:
        slow = _SlowLines.none(1 + len(self._dimensions), [e.name for e in self._encoders if e.has_counts])
        for number, line in lines:
            if line and not line.isspace():
                self._read_line(number, line, slow)
            if slow.faults.n_faults >= MAX_BLOCK_FAULTS:
                break
        return slow

    def _read_line(self, number: int, line: bytes, slow: _SlowLines) -> None:
        """Add one line to the columns, or its fault."""
        try:
            record = load_record(line)
            self.fields.update(record)
            score, quality = score_of(record), quality_class_of(record)
            encoded = [encoder(record.get(encoder.field)) for encoder in self._encoders]
            page_id = page_id_of(record, self._ids)
        except orjson.JSONDecodeError as error:
            slow.faults.add("", number + 1, f"not JSON: {error}", "give one JSON record a line")
        except ValueError as error:
            slow.faults.add("", number + 1, str(error), "fix the record or leave it out")
            if isinstance(error, UnknownValueError):
                slow.first_unknown.setdefault(error.dimension, (number + 1, str(error)))
        else:
            slow.lines.append(number)
            slow.page_ids.append(page_id)
            slow.scores.append(score)
            slow.codes[0].append(quality)
            for place, (encoder, (mask, counts)) in enumerate(zip(self._encoders, encoded, strict=True), 1):
                slow.codes[place].append(mask)
                if encoder.has_counts:
                    slow.counts[encoder.name].extend(counts)

    def _codes_of(self, record: dict[str, Any]) -> tuple[int, ...]:
        return (quality_class_of(record), *(encoder(record.get(encoder.field))[0] for encoder in self._encoders))


@dataclass(frozen=True)
class _FastLines:
    """The lines of a block that could be read together."""

    lines: NDArray[np.intp]
    left: list[tuple[int, bytes]]
    """The other lines, with their numbers."""
    n_lines: int
    page_ids: NDArray[np.int32]
    scores: NDArray[np.float32]
    codes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _SlowLines:
    """Columns of the lines of a block that were read one by one."""

    lines: list[int]
    page_ids: list[int]
    scores: list[float]
    codes: list[list[int]]
    """Quality class, then the mask of each dimension."""
    counts: dict[str, list[int]]
    """Counts of all groups of all pages, by dimension."""
    faults: FaultLog
    first_unknown: dict[str, tuple[int, str]]

    @classmethod
    def none(cls, n_codes: int, counted: Iterable[str]) -> _SlowLines:
        return cls([], [], [], [[] for _ in range(n_codes)], {name: [] for name in counted}, FaultLog(MAX_FAULTS), {})
