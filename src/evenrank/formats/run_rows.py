"""Rows of a run file: track TSV with two or three columns, or six-column TREC; all faults with their line."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import Fault, InputError
from evenrank.formats.byte_arrays import integer_table
from evenrank.formats.compressed import BYTE_ORDER_MARK, Decompressed
from evenrank.records import Task

MAX_ID = 2**31 - 1
HEADERS: dict[int, tuple[str, ...]] = {2: ("id", "page_id"), 3: ("id", "rep_number", "page_id")}
TASK_OF_COLUMNS: dict[int, Task] = {2: 1, 3: 2}
TREC_COLUMNS = 6
NOT_TREC = ("not a TREC line: ", "give topic Q0 page rank score tag, ids as numbers")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


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


def read_rows(path: str | os.PathLike[str]) -> RunRows:
    """The rows of a run file, plain or gzip, with or without header; faults are gathered, not raised."""
    text, faults = _content(path)
    rows = RunRows(faults=faults)
    if not text.strip():
        if not faults:
            rows.faults.append(Fault(str(path), 0, "empty file", "give one line per ranked page"))
        return rows
    n_skipped = _header_lines(text)
    if n_skipped:
        rows.faults += _header_faults(str(path), text)
    body = text.split(b"\n", n_skipped)[-1] if n_skipped else text
    table = integer_table(body) if b"\t" in body[:200] else None
    if table is not None and table.shape[1] in TASK_OF_COLUMNS and table.max(initial=0) <= MAX_ID:
        lines = np.arange(len(table)) + 1 + n_skipped
        return _from_table(rows, table, lines)
    return _from_lines(rows, str(path), body, n_skipped)


def _content(path: str | os.PathLike[str]) -> tuple[bytes, list[Fault]]:
    """All text of the file, line ends as `\\n`; of a damaged one what can be read, and a fault."""
    parts: list[bytes] = []
    faults: list[Fault] = []
    try:
        with Decompressed(path) as source:
            while part := source.read_some(1 << 20):
                parts.append(part)
    except InputError as error:
        faults.extend(error.faults)
    text = b"".join(parts).removeprefix(BYTE_ORDER_MARK)
    if text.startswith(UTF_16):
        return b"", [*faults, Fault(str(path), 0, "UTF-16 text", "save the file as UTF-8")]
    return (text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text), faults


def _header_lines(text: bytes) -> int:
    """1 when the first line has names instead of numbers, else 0."""
    first = text.split(b"\n", 1)[0].split(b"\t")
    return int(len(first) in HEADERS and all(any(map(_is_letter, cell)) for cell in first))


def _is_letter(byte: int) -> bool:
    return chr(byte).isascii() and chr(byte).isalpha()


def _header_faults(path: str, text: bytes) -> list[Fault]:
    """What is wrong with a file that has a header: nothing below it, or columns in another order."""
    header, _, body = text.partition(b"\n")
    names = tuple(cell.strip(b' "').decode("ascii", "replace").casefold() for cell in header.split(b"\t"))
    wanted = HEADERS[len(names)]
    faults = []
    if names != wanted and sorted(names) == sorted(wanted):
        faults.append(Fault(path, 1, f"columns {', '.join(names)}", f"put them in the order {', '.join(wanted)}"))
    if not body.strip():
        faults.append(Fault(path, 0, "a header and nothing below it", "give one line per ranked page"))
    return faults


def _from_table(rows: RunRows, table: NDArray[np.int64], lines: NDArray[np.int64]) -> RunRows:
    rows.task = TASK_OF_COLUMNS[table.shape[1]]
    rows.topic_ids = table[:, 0].astype(np.int32)
    rows.pages = table[:, -1].astype(np.int32)
    rows.repeats = table[:, 1].astype(np.int32) if rows.task == 2 else np.ones(len(table), np.int32)
    rows.lines = lines
    return rows


def _from_lines(rows: RunRows, path: str, body: bytes, n_skipped: int) -> RunRows:
    """Rows of a file that is not a clean table of numbers, line by line."""
    good: list[tuple[int, list[int]]] = []
    trec: list[tuple[int, list[str]]] = []
    n_columns = 0
    for number, line in enumerate(body.split(b"\n"), 1 + n_skipped):
        if not line.strip():
            continue
        cells = _cells(line)
        if cells is None:
            rows.faults.append(Fault(path, number, "not UTF-8", "save the file as UTF-8"))
            continue
        if fault := _column_fault(cells, n_columns, line):
            rows.faults.append(Fault(path, number, *fault))
            continue
        n_columns = len(cells)
        if len(cells) == TREC_COLUMNS:
            trec.append((number, cells))
        else:
            _keep_numbers(rows, path, number, cells, good)
    if trec:
        return _from_trec(rows, path, trec)
    table = np.array([values for _, values in good], np.int64).reshape(len(good), n_columns or 2)
    lines = np.array([number for number, _ in good], np.int64)
    return _from_table(rows, table, lines) if table.shape[1] in TASK_OF_COLUMNS else rows


def _cells(line: bytes) -> list[str] | None:
    """Cells of a line: by tabs, or by white space for six-column TREC; None when it is not UTF-8."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    by_space = text.split()
    return by_space if len(by_space) == TREC_COLUMNS else text.split("\t")


def _column_fault(cells: list[str], n_columns: int, line: bytes) -> tuple[str, str] | None:
    n_cells = len(cells)
    if n_cells not in TASK_OF_COLUMNS and n_cells != TREC_COLUMNS:
        hint = "separate columns with tabs" if b"\t" not in line else "Task 1 has 2 columns, Task 2 has 3"
        return f"{n_cells} column{'s' * (n_cells != 1)}", hint
    if n_columns and n_cells != n_columns:
        found = f"{n_cells} columns in a file whose first line has {n_columns}"
        return f"{found}: tasks are mixed", "put each task in a file of its own"
    return None


def _keep_numbers(rows: RunRows, path: str, number: int, cells: list[str], good: list[tuple[int, list[int]]]) -> None:
    bad = [cell for cell in cells if not _is_id(cell.strip())]
    if bad:
        found = f"{bad[0].strip()[:40]!r} where a whole number was expected"
        rows.faults.append(Fault(path, number, found, "give topic and page as their numeric ids"))
    else:
        good.append((number, [int(cell) for cell in cells]))


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= MAX_ID


def _from_trec(rows: RunRows, path: str, trec: list[tuple[int, list[str]]]) -> RunRows:
    """Rows of six-column TREC: topic, iteration, page, rank, score, tag. Iteration is a repeat in Task 2."""
    kept: list[tuple[int, int, int, int, int, float]] = []
    has_repeats = all(cells[1].isdigit() for _, cells in trec) and any(cells[1] != "0" for _, cells in trec)
    for number, cells in trec:
        topic, iteration, page, rank, score, _tag = cells
        if all(map(_is_id, (topic, page, rank.removeprefix("-"), iteration if has_repeats else "1"))) and _is_score(
            score
        ):
            repeat = int(iteration) if has_repeats else 1
            kept.append((number, int(topic), repeat, int(page), int(rank), float(score)))
        else:
            rows.faults.append(Fault(path, number, NOT_TREC[0] + " ".join(cells)[:60], NOT_TREC[1]))
    numbers = np.array([row[:5] for row in kept], np.int64).reshape(len(kept), 5)
    columns = numbers[:, [1, 2, 3]] if has_repeats else numbers[:, [1, 3]]
    _from_table(rows, columns, numbers[:, 0])
    rows.trec_ranks = numbers[:, 4].astype(np.int32)
    rows.scores = np.array([row[5] for row in kept], np.float64)
    return rows


def _is_score(text: str) -> bool:
    """Whether pages can be ordered by it: a number, and not NaN."""
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False
