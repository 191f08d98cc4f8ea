"""A pool as a file of JSON lines, and its statistics: sizes, overlap between runs, unique contributions, hours."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import EvenrankError, input_error
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import MAX_FAULTS, read_records, write_records
from evenrank.trec.assessment.pool import Pool, PooledPage, PooledRun, Receipt, parse_tier

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
        **({} if pool.total is None else {"total": pool.total}),
        "cut": {str(topic): tier for topic, tier in pool.cut.items()},
        **({"shares": {str(topic): shares for topic, shares in pool.shares.items()}} if pool.shares else {}),
        "runs": [_run_record(run) for run in pool.runs],
    }
    for entry, page_id in _shown_pages(pool):
        yield {"topic": entry.topic, "tier": entry.tier, "page_id": page_id, "runs": entry.runs}


def _run_record(run: PooledRun) -> dict[str, Any]:
    receipt = {} if run.receipt is None else {"receipt": asdict(run.receipt)}
    return {"name": run.name, "task": run.task, "fingerprint": run.fingerprint, **receipt}


def _parse_run(record: dict[str, Any]) -> PooledRun:
    receipt = record.get("receipt")
    return PooledRun(
        record["name"], record["task"], record["fingerprint"], None if receipt is None else Receipt(**receipt)
    )


def _shown_pages(pool: Pool) -> list[tuple[PooledPage, int | str]]:
    """The pages with their ids as files have them, by topic, tier and id."""
    if pool.ids is None:
        return [(entry, entry.page) for entry in pool.pages]
    named = [(entry, pool.ids.text(entry.page)) for entry in pool.pages]
    return sorted(named, key=lambda pair: (pair[0].topic, pair[0].tier, pair[1]))


def read_pool(path: str | os.PathLike[str]) -> Pool:
    """The pool in the file; all faults at once when it is damaged. Page ids are all whole numbers or all text."""
    reader = _Reader()
    pages = [entry for entry in read_records(path, reader.parse) if entry is not None]
    if reader.head is None:
        raise input_error(path, 0, "an empty file, where a pool was expected", BUILD_AGAIN)
    times = Counter((entry.topic, entry.page) for entry in pages)
    faults = FaultLog(MAX_FAULTS)
    for (topic, page), n in times.items():
        if n > 1:
            faults.add(path, 0, f"page {reader.shown(page)} appears {n} times under topic {topic}", BUILD_AGAIN)
    faults.raise_if_any()
    return replace(reader.head, pages=tuple(sorted(pages)), ids=reader.ids)


@dataclass
class _Reader:
    """What is known of a pool file after some of its records."""

    head: Pool | None = None
    """The first record, as a pool without pages."""
    ids: TextIds | None = None
    """The ids of pages, when the first one is text."""
    n_pages: int = 0

    def parse(self, record: dict[str, Any]) -> PooledPage | None:
        """The page in a record; None for the first record."""
        if self.head is None:
            self.head = Pool()  # whatever the first record is, the second is not the first
            self.head = _parse_head(record)
            return None
        runs = record.get("runs")
        known = [run.name for run in self.head.runs]
        if not isinstance(runs, list) or not all(run in known for run in runs):
            raise ValueError(f"runs is {runs!r}, not a list of runs of this pool")
        tier = _whole(record, "tier")
        n_tiers = len(self.head.tiers) + (self.head.budget is not None or self.head.total is not None)
        if not 1 <= tier <= n_tiers:
            raise ValueError(f"tier is {tier}, but the pool has {n_tiers}")
        return PooledPage(_whole(record, "topic"), tier, self._page(record), tuple(runs))

    def _page(self, record: dict[str, Any]) -> int:
        """The number of the page; the first page of the file decides whether ids are text."""
        page_id = record.get("page_id")
        if not self.n_pages and isinstance(page_id, str):
            self.ids = TextIds()
        self.n_pages += 1
        if self.ids is not None:
            return self.ids.number(check_text_id(page_id))
        return _whole(record, "page_id")

    def shown(self, page: int) -> int | str:
        return page if self.ids is None else self.ids.text(page)


def _parse_head(record: dict[str, Any]) -> Pool:
    """The first record as a pool without pages."""
    if record.get("format") != FORMAT or record.get("version") != VERSION:
        raise ValueError(f"not the first line of a pool, version {VERSION}, as evenrank pool build makes it")
    try:
        tiers = tuple(map(parse_tier, record["tiers"]))
        runs = tuple(map(_parse_run, record["runs"]))
        shares = {int(topic): tuple(map(float, found)) for topic, found in record.get("shares", {}).items()}
        cut = {int(topic): _whole(record["cut"], topic) for topic in record["cut"]}
    except (KeyError, TypeError, ValueError, AttributeError, EvenrankError) as error:
        raise ValueError(f"the tiers, cuts or runs of the pool are not readable: {error}") from None
    budget, total = (None if record.get(name) is None else _whole(record, name) for name in ("budget", "total"))
    return Pool(tiers, budget, runs, cut=cut, shares=shares, total=total)


def _whole(record: dict[str, Any], key: str) -> int:
    value = record.get(key)
    if type(value) is not int or value < 0:
        raise ValueError(f"{key} is {value!r}, not a whole number")
    return value


@dataclass(frozen=True, slots=True)
class RunShare:
    """What one run has in the pool."""

    run: str
    task: int
    n_pages: int
    """Pooled pages that the run has inside a tier."""
    n_unique: int
    """Those that no other run has there."""


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """The counts of a pool."""

    n_pages: int
    n_by_topic_and_tier: dict[int, tuple[int, ...]]
    """Pages of each topic, by tier from 1."""
    shares: tuple[RunShare, ...]
    overlap: NDArray[np.float64]
    """Run by run: pages of both ÷ pages of either (Jaccard); runs as in `shares`."""

    @property
    def n_by_tier(self) -> tuple[int, ...]:
        """Pages of all topics, by tier from 1."""
        return tuple(map(sum, zip(*self.n_by_topic_and_tier.values(), strict=True)))

    def hours(self, seconds_per_page: float, overlap_share: float = 0.0, n_judges: int = 2) -> float:
        """Projected hours of assessors, when `overlap_share` of the pages go to `n_judges` of them."""
        n_judgments = self.n_pages * (1 + overlap_share * (n_judges - 1))
        return n_judgments * seconds_per_page / 3600


def pool_statistics(pool: Pool) -> PoolStatistics:
    """The counts of `pool`."""
    n_tiers = max(len(pool.tiers), max((entry.tier for entry in pool.pages), default=0))
    sizes = {entry.topic: [0] * n_tiers for entry in pool.pages}
    for entry in pool.pages:
        sizes[entry.topic][entry.tier - 1] += 1
    unique = Counter(entry.runs[0] for entry in pool.pages if len(entry.runs) == 1)
    both = shared_pages(pool)
    n_pages = np.diagonal(both)
    shares = tuple(
        RunShare(run.name, run.task, int(n), unique[run.name]) for run, n in zip(pool.runs, n_pages, strict=True)
    )
    either = n_pages[:, None] + n_pages[None, :] - both
    overlap = np.divide(both, either, out=np.zeros(both.shape), where=either > 0)
    return PoolStatistics(len(pool.pages), {topic: tuple(n) for topic, n in sizes.items()}, shares, overlap)


def shared_pages(pool: Pool) -> NDArray[np.int64]:
    """Run by run, the number of pooled pages that both have inside a tier."""
    index = {run.name: number for number, run in enumerate(pool.runs)}
    page_by_run = np.zeros((len(pool.pages), len(pool.runs)), np.float32)
    for row, entry in enumerate(pool.pages):
        page_by_run[row, [index[name] for name in entry.runs]] = 1
    # float32 counts are exact up to 2**24 pages and go through BLAS
    both: NDArray[np.float32] = page_by_run.T @ page_by_run
    return both.astype(np.int64)
