"""Rows of a table in an SQL dump of MediaWiki's database, as `mysqldump` writes it: many rows to an INSERT.

The rows of an INSERT are all in one line, or each in a line of its own, as newer versions of MariaDB write them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Sequence

from evenrank.io.faults import MAX_COUNTED, FaultLog
from evenrank.io.json_lines import read_lines

Row = tuple[bytes | None, ...]
_VALUE = rb"(?:(?:_binary )?'([^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+)'|(NULL)|([-+]?[0-9][0-9.eE+-]*+))"
_INSERT = re.compile(rb"\s*INSERT INTO `?([^`\s(]+)`?\s*(?:\(([^()]*)\)\s*)?VALUES\s*")
_CREATE = re.compile(rb"\s*CREATE TABLE (?:IF NOT EXISTS )?`?([^`\s(]+)`?")
_COLUMN = re.compile(rb"\s+`([^`]+)`\s")
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"Z": b"\x1a"}
SHOWN_BYTES = 40
"""Bytes that a fault shows of what could not be read."""


def read_sql_rows(
    path: str | os.PathLike[str], table: str, columns: Sequence[str], usual: Sequence[str], faults: FaultLog
) -> Iterator[tuple[int, Row]]:
    """Line and values of `columns` of each row of a table; None is NULL, strings come without their escapes.

    Columns are found by name, from CREATE TABLE or from the INSERT itself; a file with neither has the `usual` ones.
    What cannot be read goes to `faults`.
    """
    order = tuple(usual)
    is_inside, has_insert, n_before = False, False, faults.n_faults
    created: list[str] = []
    wanted: list[int] = []
    n_columns, last, goes_on = 0, 0, False
    for number, line in read_lines(path):
        if goes_on and line.lstrip().startswith(b"("):
            last, goes_on = number, (yield from _rows(path, number, line, 0, n_columns, wanted, faults))
        elif goes_on:
            break
        elif (found := _CREATE.match(line)) is not None:
            is_inside, created = found[1] == table.encode(), []
        elif is_inside and (column := _COLUMN.match(line)) is not None:
            created.append(column[1].decode("utf-8", "replace"))
        elif is_inside and line.lstrip().startswith(b")"):
            is_inside, order = False, tuple(created)
        elif (insert := _INSERT.match(line)) is not None and insert[1] == table.encode():
            named = (
                tuple(name.strip(" `") for name in insert[2].decode("utf-8", "replace").split(","))
                if insert[2]
                else order
            )
            if missing := [name for name in columns if name not in named]:
                fix = f"give the dump of {table} as MediaWiki has it"
                faults.add(path, number, f"{table} without the column {', '.join(missing)}", fix)
                return
            wanted, n_columns, has_insert, last = [named.index(name) for name in columns], len(named), True, number
            goes_on = yield from _rows(path, number, line, insert.end(), n_columns, wanted, faults)
        if faults.n_faults - n_before >= MAX_COUNTED:
            return
    if goes_on:
        faults.add(path, last, "an INSERT that is cut off", "download the file again")
    if not has_insert and faults.n_faults == n_before:
        faults.add(path, 0, f"no rows of the table {table}", f"give the SQL dump of {table}, plain or gzip")


def _rows(
    path: str | os.PathLike[str],
    number: int,
    line: bytes,
    start: int,
    n_columns: int,
    wanted: Sequence[int],
    faults: FaultLog,
) -> Generator[tuple[int, Row], None, bool]:
    """The line and the wanted columns of the rows of an INSERT in one line, up to the first that cannot be read.

    Returns whether the INSERT goes on in the next line.
    """
    pattern = re.compile(rb"\s*\(" + rb"\s*,\s*".join([_VALUE] * n_columns) + rb"\)\s*([,;]|\Z)")
    at, end, length = start, b",", len(line.rstrip())
    while end == b",":
        if at >= length:
            return True
        found = pattern.match(line, at)
        if found is None:
            shown = line[at : at + SHOWN_BYTES].decode("utf-8", "replace")
            what = f"a row that is not {n_columns} values: {shown!r}"
            faults.add(path, number, f"{what}, at byte {at:,} of the line", "download the file again")
            return False
        values = found.groups()
        yield number, tuple([_value(values[3 * column], values[3 * column + 2]) for column in wanted])
        at, end = found.end(), values[-1]
    if end != b";":
        faults.add(path, number, "an INSERT without its semicolon: the file is cut off", "download the file again")
    return False


def _value(text: bytes | None, digits: bytes | None) -> bytes | None:
    """What a row has in a column; neither text nor digits is NULL."""
    if text is None:
        return digits
    if b"\\" not in text and b"''" not in text:
        return text
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]) if found[1] else b"'", text)
