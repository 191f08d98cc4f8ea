"""JSON lines: records with their line number, faults gathered instead of raised one by one."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import orjson

from evenrank.errors import Fault, InputError
from evenrank.formats.atomic import atomic_file
from evenrank.formats.compressed import read_blocks

T = TypeVar("T")
MAX_FAULTS = 50


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line) of each line that is not blank."""
    number = 0
    for block in read_blocks(path):
        for line in block.splitlines():
            number += 1
            if line.strip():
                yield number, line


def read_records(path: str | os.PathLike[str], parse: Callable[[dict[str, Any]], T]) -> list[T]:
    """What `parse` makes of each record; it raises ValueError, saying what was found, on a bad one.

    All faults of the file come in one InputError.
    """
    records: list[T] = []
    faults: list[Fault] = []
    for number, line in read_lines(path):
        try:
            record = orjson.loads(line)
            if not isinstance(record, dict):
                raise ValueError(f"{type(record).__name__} where a record was expected")
            records.append(parse(record))
        except orjson.JSONDecodeError as error:
            faults.append(Fault(str(path), number, f"not JSON: {error}", "give one JSON record a line"))
        except ValueError as error:
            faults.append(Fault(str(path), number, str(error), "fix the record or leave it out"))
    if faults:
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    return records


def write_records(path: str | os.PathLike[str], records: Iterable[dict[str, Any]]) -> None:
    """Records as JSON lines, gzip by the name's ending; the same records give the same bytes."""
    with atomic_file(path) as file:
        if str(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(orjson.dumps(record) + b"\n" for record in records)
        else:
            file.writelines(orjson.dumps(record) + b"\n" for record in records)
