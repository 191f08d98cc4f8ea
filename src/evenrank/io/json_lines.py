"""JSON lines: records with their line number, faults gathered instead of raised one by one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import orjson

from evenrank.io.atomic import packed_file
from evenrank.io.compressed import read_blocks
from evenrank.io.faults import MAX_COUNTED, FaultLog

T = TypeVar("T")
_SPACED_KEY = re.compile(rb'"\s+:')
MAX_FAULTS = 50
"""Faults shown of one file; the others are counted."""
MAX_DEPTH = 100
"""Most lists and objects inside each other: far more than any file needs, far fewer than exhaust Python's stack."""
MAX_RECORDS = 1_000_000
"""Most records of a file that is kept in memory."""


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line) of each line that is not blank."""
    number = 0
    for block in read_blocks(path):
        for line in block.splitlines():
            number += 1
            if line.strip():
                yield number, line


def read_records(
    path: str | os.PathLike[str], parse: Callable[[dict[str, Any]], T], max_records: int = MAX_RECORDS
) -> list[T]:
    """What `parse` makes of each record; it raises ValueError, saying what was found, on a bad one.

    All faults of the file come in one InputError; a file of more than `max_records` is not read to its end.
    """
    records: list[T] = []
    faults = FaultLog(MAX_FAULTS)
    for number, line in read_lines(path):
        try:
            records.append(parse(load_record(line)))
        except orjson.JSONDecodeError as error:
            faults.add(path, number, f"not JSON: {error}", "give one JSON record a line")
        except ValueError as error:
            faults.add(path, number, str(error), "fix the record or leave it out")
        if len(records) > max_records:
            faults.add(path, number, f"more than {max_records:,} records", "is this file of the right kind?")
            break
        if faults.n_faults >= MAX_COUNTED:
            break
    faults.raise_if_any()
    return records


def load_record(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; ValueError for anything else, and for an object that has a key twice."""
    record = orjson.loads(line)
    if not isinstance(record, dict):
        raise ValueError(f"{type(record).__name__} where a record was expected")
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _is_deep(record):
        raise ValueError(f"lists or objects nested more than {MAX_DEPTH} deep")
    if line.count(b'":') > _n_pairs(record) or _SPACED_KEY.search(line):  # else each key has a colon of its own
        json.loads(line, object_pairs_hook=_refuse_repeated_keys)
    return record


def _is_deep(record: dict[str, Any]) -> bool:
    """Whether lists and objects are nested more than `MAX_DEPTH` deep."""
    level: list[Any] = [record]
    for _ in range(MAX_DEPTH):
        inner = (value.values() if type(value) is dict else value for value in level)
        level = [each for values in inner for each in values if type(each) in (dict, list)]
    return bool(level)


def _n_pairs(record: dict[str, Any]) -> int:
    return len(record) + sum(_n_pairs(value) for value in record.values() if type(value) is dict)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!r} appears twice")
    return found


def write_records(path: str | os.PathLike[str], records: Iterable[dict[str, Any]]) -> None:
    """Records as JSON lines, gzip by the name's ending; the same records give the same bytes."""
    with packed_file(path) as file:
        file.writelines(orjson.dumps(record) + b"\n" for record in records)
