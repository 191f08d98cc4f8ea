"""Rows of a run file: track TSV with two or three columns, or six-column TREC; all faults with their line."""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import Fault, InputError
from evenrank.io.byte_arrays import integer_table
from evenrank.io.compressed import BYTE_ORDER_MARK, Decompressed
from evenrank.io.faults import MAX_COUNTED

MAX_ID = 2**31 - 1
HEADERS: dict[int, tuple[str, ...]] = {2: ("id", "page_id"), 3: ("id", "rep_number", "page_id")}
TASK_OF_COLUMNS: dict[int, Task] = {2: 1, 3: 2}
TREC_COLUMNS = 6
ID_COLUMNS = {
    2: {1: "topics", 2: "pages"},
    3: {1: "topics", 2: "ranking numbers", 3: "pages"},
    TREC_COLUMNS: {1: "topics", 3: "pages", 4: "ranks"},
}
"""Columns with whole numbers, by the number of columns of a run."""
NOT_TREC = ("not a TREC line: ", "give topic Q0 page rank score tag, ids as numbers, the score as a decimal")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MAX_BYTES = 1 << 26
"""Content of a run file that is taken from a file of up to a sixth of it; a larger file may hold six times its size."""
MAX_ROWS = 5_000_000
"""Rows of such a file: twenty full submissions to Task 2."""
MAX_KEPT_FAULTS = 1000
"""Faults kept with their place; the others are counted."""
BLOCK = 1 << 18
"""Bytes parsed at once: their numbers stay in the processor's cache."""
_SCORE = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?")


@dataclass
class RunRows:
    """The rows of one run file in the file's order, and what is wrong with the file."""

    task: Task = 1
    topic_ids: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    repeats: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    pages: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    lines: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Line number of each row, from 1."""
    scores: NDArray[np.float64] | None = None
    trec_ranks: NDArray[np.int32] | None = None
    faults: list[Fault] = field(default_factory=list)
    n_more_faults: int = 0
    """Faults beyond those that are kept."""
    diagnosis: str = ""
    """What is wrong with the file as a whole, where its lines have one fault in common."""
    is_cut: bool = False
    """Whether the file could not be read to its end, so that nothing can be said of what is missing."""
    ids: TextIds | None = None
    """The ids of pages where they are text; `pages` has their numbers."""

    def shown_page(self, row: int) -> int | str:
        """The page of a row as the file has it."""
        page = int(self.pages[row])
        return page if self.ids is None else self.ids.text(page)

    def add_fault(self, fault: Fault) -> None:
        if len(self.faults) < MAX_KEPT_FAULTS:
            self.faults.append(fault)
        else:
            self.n_more_faults += 1


def read_rows(path: str | os.PathLike[str], ids: TextIds | None = None) -> RunRows:
    """The rows of a run file, plain or gzip, with or without header; faults are gathered, not raised.

    With `ids` page ids are text; those that are not there yet are added.
    """
    text, faults = _content(path)
    rows = RunRows(faults=faults, ids=ids, is_cut=bool(faults))
    if not text.strip():
        if not faults:
            rows.faults.append(Fault(str(path), 0, "empty file", "give one line per ranked page"))
        return rows
    n_skipped = _header_lines(text)
    if n_skipped:
        rows.faults += _header_faults(str(path), text)
    start = text.index(b"\n") + 1 if n_skipped and b"\n" in text else len(text) if n_skipped else 0
    is_table = ids is None and b"\t" in text[start : start + 200]
    rows.diagnosis = _wrong_separator(text, start) or _swapped_trec_columns(text, start)
    if ids is None and not rows.diagnosis:
        rows.diagnosis = _text_column(text, start)
    table = _table(text, start) if is_table else None
    if table is not None:
        lines = np.arange(1 + n_skipped, len(table) + 1 + n_skipped, dtype=np.int64)
        return _from_table(rows, table, lines)
    return _from_lines(rows, str(path), text, start, n_skipped)


def _content(path: str | os.PathLike[str]) -> tuple[bytes, list[Fault]]:
    """All text of the file, line ends as `\\n`; of a damaged one the whole lines that can be read, and a fault.

    A file that expands to more than a run can hold is not read to its end.
    """
    text = bytearray()
    faults: list[Fault] = []
    n_lines = 0
    try:
        with Decompressed(path) as source:
            while part := source.read_some(1 << 20):
                text += part
                n_lines += part.count(b"\n")
                if len(text) > max(MAX_BYTES, 6 * source.size_bytes) or n_lines > max(MAX_ROWS, source.size_bytes // 2):
                    found = f"more than a run can hold: {len(text):,} bytes and {n_lines:,} lines, and no end of it"
                    return b"", [Fault(str(path), 0, found, "give one line per ranked page")]
    except InputError as error:
        faults.extend(error.faults)
        del text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
    if text.startswith(UTF_16):
        return b"", [*faults, Fault(str(path), 0, "UTF-16 text", "save the file as UTF-8")]
    if text.startswith(BYTE_ORDER_MARK):
        del text[: len(BYTE_ORDER_MARK)]
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return bytes(text), faults


def _blocks(text: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Bounds of blocks of whole lines."""
    while start < len(text):
        end = text.rfind(b"\n", start, start + BLOCK) + 1 or text.find(b"\n", start) + 1 or len(text)
        yield start, end
        start = end


def _table(text: bytes, start: int) -> NDArray[np.int32] | None:
    """The text from `start` on as a table of whole numbers; None when it is anything else."""
    parts: list[NDArray[np.int32]] = []
    for begin, end in _blocks(text, start):
        part = integer_table(text[begin:end])
        if part is None or part.shape[1] not in TASK_OF_COLUMNS or part.max(initial=0) > MAX_ID:
            return None
        if parts and part.shape[1] != parts[0].shape[1]:
            return None
        parts.append(part.astype(np.int32))
    return np.concatenate(parts) if parts else None


SEPARATORS = {b",": "commas", b";": "semicolons", b"|": "vertical bars", b" ": "spaces"}
"""What people put between columns in place of tabs."""
N_LOOKED_AT = 100
"""Lines by which the separator of a file is recognised."""


def _first_lines(text: bytes, start: int) -> list[bytes]:
    """The lines by which the form of a file is recognised."""
    head = [line.strip() for line in text[start : start + (1 << 16)].split(b"\n")[:N_LOOKED_AT]]
    return [line for line in head if line]


def _wrong_separator(text: bytes, start: int) -> str:
    """A diagnosis when another separator than the tab divides all lines into the columns of a run; else empty."""
    lines = _first_lines(text, start)
    if not lines or any(b"\t" in line for line in lines):
        return ""
    for separator, name in SEPARATORS.items():
        counts = {line.count(separator) + 1 for line in lines}
        is_run = counts <= TASK_OF_COLUMNS.keys() or (counts == {TREC_COLUMNS} and separator != b" ")
        if len(counts) == 1 and is_run:
            return f"{name} separate the columns, where tabs are expected (replace them by tabs)"
    return ""


def _text_column(text: bytes, start: int) -> str:
    """A diagnosis when a column of ids has something else than a whole number in all first lines; else empty."""
    rows = [_cells(line) for line in _first_lines(text, start)]
    n_columns = len(rows[0]) if rows else 0
    if len(rows) < 2 or n_columns not in ID_COLUMNS or any(len(row) != n_columns for row in rows):
        return ""
    for place, what in ID_COLUMNS[n_columns].items():
        cells = [row[place - 1].strip() for row in rows]
        if not any(_is_id(cell.removeprefix(b"-")) for cell in cells):
            return f"column {place} has text such as {_shown(cells[0], 40)}, where {what} are expected as whole numbers"
    return ""


def _swapped_trec_columns(text: bytes, start: int) -> str:
    """A diagnosis when Q0, or the ranks, of all first lines of six-column TREC are in another column; else empty."""
    rows = [line.split() for line in _first_lines(text, start)]
    if not rows or any(len(row) != TREC_COLUMNS for row in rows):
        return ""
    columns = list(zip(*rows, strict=True))
    for place, pair, other in ((1, "1 and 2", "topic first"), (3, "2 and 3", "page third")):
        if all(cell.upper() == b"Q0" for cell in columns[place - 1]):
            return f"columns {pair} look swapped: Q0 is in column {place} (put it second, and the {other})"
    _, _, _, ranks, scores, _ = columns
    is_rank = scores[0] in (b"0", b"1") and all(map(_is_id, scores))
    if is_rank and all(map(_is_score, ranks)) and not all(map(_is_id, ranks)):
        return "columns 4 and 5 look swapped: scores are in column 4 and ranks in column 5 (put the rank fourth)"
    return ""


def _header_lines(text: bytes) -> int:
    """1 when the first line has names instead of numbers, else 0."""
    first = text[: text.find(b"\n") if b"\n" in text else None].split(b"\t", max(HEADERS))
    return int(len(first) in HEADERS and all(any(map(_is_letter, cell)) for cell in first))


def _is_letter(byte: int) -> bool:
    return chr(byte).isascii() and chr(byte).isalpha()


def _header_faults(path: str, text: bytes) -> list[Fault]:
    """What is wrong with a file that has a header: nothing below it, or columns in another order."""
    header, _, body = text[: 1 << 20].partition(b"\n")
    names = tuple(cell.strip(b' "').decode("ascii", "replace").casefold() for cell in header.split(b"\t"))
    wanted = HEADERS[len(names)]
    faults = []
    if names != wanted and sorted(names) == sorted(wanted):
        faults.append(Fault(path, 1, f"columns {', '.join(names)}", f"put them in the order {', '.join(wanted)}"))
    if not body.strip():
        faults.append(Fault(path, 0, "a header and nothing below it", "give one line per ranked page"))
    return faults


def _from_table(rows: RunRows, table: NDArray[np.integer], lines: NDArray[np.int64]) -> RunRows:
    rows.task = TASK_OF_COLUMNS[table.shape[1]]
    rows.topic_ids = table[:, 0].astype(np.int32)
    rows.pages = table[:, -1].astype(np.int32)
    rows.repeats = table[:, 1].astype(np.int32) if rows.task == 2 else np.ones(len(table), np.int32)
    rows.lines = lines
    return rows


def _from_lines(rows: RunRows, path: str, text: bytes, start: int, n_skipped: int) -> RunRows:
    """Rows of a file that is not a clean table of numbers, line by line."""
    numbers, trec = array("q"), _TrecRows()
    n_columns = 0
    for number, line in _lines(text, start, 1 + n_skipped):
        cells = _cells(line)
        if not _is_utf8(line):
            rows.add_fault(Fault(path, number, "not UTF-8", "save the file as UTF-8"))
        elif fault := _column_fault(cells, n_columns, line):
            rows.add_fault(Fault(path, number, *fault))
        else:
            n_columns = len(cells)
            if rows.ids is not None and (fault := _number_page(cells, rows.ids)):
                rows.add_fault(Fault(path, number, *fault))
            elif n_columns == TREC_COLUMNS:
                trec.add(rows, path, number, cells)
            elif wrong := next((cell for cell in cells if not _is_id(cell.strip())), None):
                found = f"{_shown(wrong.strip(), 40)} where a whole number was expected"
                rows.add_fault(Fault(path, number, found, "give topic and page as their numeric ids"))
            elif b"" in cells:
                rows.add_fault(Fault(path, number, "an empty column", "give topic and page as their numeric ids"))
            else:
                numbers.extend((number, *map(int, cells)))
        if rows.n_more_faults >= MAX_COUNTED:
            break
    if n_columns == TREC_COLUMNS:
        return trec.finish(rows)
    table = np.frombuffer(numbers, np.int64).reshape(-1, 1 + (n_columns or 2))
    return _from_table(rows, table[:, 1:], table[:, 0].copy())


def _lines(text: bytes, start: int, first: int) -> Iterator[tuple[int, bytes]]:
    """(line number, line) of each line that is not blank; split in blocks, because a list of all lines is large."""
    number = first
    for begin, end in _blocks(text, start):
        lines = text[begin:end].split(b"\n")
        for line in lines[:-1] if text[end - 1 : end] == b"\n" else lines:
            if line.strip():
                yield number, line
            number += 1


def _cells(line: bytes) -> list[bytes]:
    """Cells of a line: by tabs, or by ASCII white space for six-column TREC."""
    by_space = line.split(None, TREC_COLUMNS)
    return by_space if len(by_space) == TREC_COLUMNS else line.split(b"\t", TREC_COLUMNS + 1)


def _is_utf8(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _number_page(cells: list[bytes], ids: TextIds) -> tuple[str, str] | None:
    """Put the number of its page, whose id is text, into the cells of a line; or what is wrong with that id."""
    place = 2 if len(cells) == TREC_COLUMNS else -1
    try:
        cells[place] = str(ids.number(check_text_id(cells[place].decode().strip(), "page"))).encode()
    except ValueError as error:
        return str(error), "give pages as the collection has them"
    return None


def _column_fault(cells: list[bytes], n_columns: int, line: bytes) -> tuple[str, str] | None:
    n_cells = len(cells)
    if n_cells not in TASK_OF_COLUMNS and n_cells != TREC_COLUMNS:
        hint = "separate columns with tabs" if b"\t" not in line else "Task 1 has 2 columns, Task 2 has 3"
        return f"{n_cells} column{'s' * (n_cells != 1)}", hint
    if n_columns and n_cells != n_columns:
        found = f"{n_cells} columns in a file whose first line has {n_columns}"
        return f"{found}: tasks are mixed", "put each task in a file of its own"
    return None


def _is_id(cell: bytes) -> bool:
    return cell.isdigit() and len(cell) <= 10 and int(cell) <= MAX_ID


def _shown(cell: bytes, n_characters: int) -> str:
    return repr(cell.decode("utf-8", "replace")[:n_characters])


class _TrecRows:
    """Rows of six-column TREC: topic, iteration, page, rank, score, tag. Iteration is a repeat in Task 2."""

    def __init__(self) -> None:
        self.numbers = array("q")
        """Line, topic, iteration (−1 for a word), page and rank of each row."""
        self.scores = array("d")

    def add(self, rows: RunRows, path: str, number: int, cells: list[bytes]) -> None:
        topic, iteration, page, rank, score, _tag = cells
        is_word = not iteration.isdigit()
        are_ids = all(map(_is_id, (topic, page, rank.removeprefix(b"-"), b"0" if is_word else iteration)))
        if are_ids and _is_score(score):
            repeat = -1 if is_word else int(iteration)
            self.numbers.extend((number, int(topic), repeat, int(page), int(rank)))
            self.scores.append(float(score))
        else:
            shown = b" ".join(cells).decode("utf-8", "replace")[:60]
            rows.add_fault(Fault(path, number, NOT_TREC[0] + shown, NOT_TREC[1]))

    def finish(self, rows: RunRows) -> RunRows:
        """Task 2 when every row has a number for its iteration, and not all of them are 0."""
        table = np.frombuffer(self.numbers, np.int64).reshape(-1, 5)
        iterations = table[:, 2]
        has_repeats = bool((iterations >= 0).all() and (iterations > 0).any())
        _from_table(rows, table[:, [1, 2, 3]] if has_repeats else table[:, [1, 3]], table[:, 0].copy())
        rows.trec_ranks = table[:, 4].astype(np.int32)
        rows.scores = np.frombuffer(self.scores, np.float64).copy()
        return rows


def _is_score(cell: bytes) -> bool:
    """Whether pages can be ordered by it: a finite decimal in ASCII digits."""
    return len(cell) <= 400 and _SCORE.fullmatch(cell) is not None and math.isfinite(float(cell))
