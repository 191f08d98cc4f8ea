"""A pool as a file of JSON lines: first what it was built from, then one page a line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evenrank.assessment.pool import Pool, PooledPage, PooledRun
from evenrank.assessment.tiers import parse_tier
from evenrank.errors import EvenrankError, Fault, InputError, input_error
from evenrank.formats.json_lines import MAX_FAULTS, read_records, write_records

FORMAT = "evenrank-pool"
VERSION = 1
BUILD_AGAIN = "build the pool again, or restore the file"


def write_pool(path: str | os.PathLike[str], pool: Pool) -> None:
    """Writes `pool` whole or not at all; equal pools give equal bytes."""
    write_records(path, _records(pool))


def _records(pool: Pool) -> Iterator[dict[str, Any]]:
    yield {
        "format": FORMAT,
        "version": VERSION,
        "tiers": [str(tier) for tier in pool.tiers],
        "budget": pool.budget,
        "cut": {str(topic): tier for topic, tier in pool.cut.items()},
        "runs": [{"name": run.name, "task": run.task, "fingerprint": run.fingerprint} for run in pool.runs],
    }
    for entry in pool.pages:
        yield {"topic": entry.topic, "tier": entry.tier, "page_id": entry.page, "runs": entry.runs}


def read_pool(path: str | os.PathLike[str]) -> Pool:
    """The pool in the file; all faults at once when it is damaged."""
    head: list[Pool] = []
    pages = [entry for entry in read_records(path, lambda record: _parse(record, head)) if entry is not None]
    if not head:
        raise input_error(path, 0, "an empty file, where a pool was expected", BUILD_AGAIN)
    times = Counter((entry.topic, entry.page) for entry in pages)
    faults = [
        Fault(str(path), 0, f"page {page} appears {n} times under topic {topic}", BUILD_AGAIN)
        for (topic, page), n in times.items()
        if n > 1
    ]
    if faults:
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    return replace(head[0], pages=tuple(sorted(pages)))


def _parse(record: dict[str, Any], head: list[Pool]) -> PooledPage | None:
    """The page in `record`; the first record goes to `head` as a pool without pages."""
    if not head:
        head.append(Pool())  # whatever the first record is, the second is not the first
        head[0] = _parse_head(record)
        return None
    runs = record.get("runs")
    known = [run.name for run in head[0].runs]
    if not isinstance(runs, list) or not all(run in known for run in runs):
        raise ValueError(f"runs is {runs!r}, not a list of runs of this pool")
    tier = _whole(record, "tier")
    if not 1 <= tier <= len(head[0].tiers):
        raise ValueError(f"tier is {tier}, but the pool has {len(head[0].tiers)}")
    return PooledPage(_whole(record, "topic"), tier, _whole(record, "page_id"), tuple(runs))


def _parse_head(record: dict[str, Any]) -> Pool:
    """The first record as a pool without pages."""
    if record.get("format") != FORMAT or record.get("version") != VERSION:
        raise ValueError(f"not the first line of a pool, version {VERSION}, as evenrank pool build makes it")
    try:
        tiers = tuple(map(parse_tier, record["tiers"]))
        runs = tuple(PooledRun(run["name"], run["task"], run["fingerprint"]) for run in record["runs"])
        cut = {int(topic): _whole(record["cut"], topic) for topic in record["cut"]}
    except (KeyError, TypeError, AttributeError, EvenrankError) as error:
        raise ValueError(f"the tiers, cuts or runs of the pool are not readable: {error}") from None
    return Pool(tiers, None if record.get("budget") is None else _whole(record, "budget"), runs, cut=cut)


def _whole(record: dict[str, Any], key: str) -> int:
    value = record.get(key)
    if type(value) is not int or value < 0:
        raise ValueError(f"{key} is {value!r}, not a whole number")
    return value
