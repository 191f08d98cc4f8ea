"""One input file → rows in the store: a pure function over batches of records, mapped by an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evenrank.errors import Fault, InputError, input_error
from evenrank.io.compressed import LINE_LIMIT, TRY_AGAIN
from evenrank.io.content import BATCH, Position, RawBatch, read_batches
from evenrank.io.faults import FaultLog
from evenrank.parallel import map_batches
from evenrank.progress import progress_bar
from evenrank.wikipedia.annotate.store import WorkStore

BATCHES_PER_COMMIT = 16
"""Batches whose rows are kept together: what a killed process has to read again."""
SHOWN_FAULTS = 20


class StageBatch(NamedTuple):
    """What a stage makes of one batch."""

    rows: Mapping[str, Sequence[Sequence[Any]]]
    """Rows by table of the store."""
    tally: Mapping[str, int]
    """Counts; `opened` and `closed` tell whether the file's first and last bytes were seen."""
    faults: Sequence[Fault]
    """Records that were left out."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One input file and what to make of it."""

    name: str
    """Name in the store and in messages."""
    path: Path
    record_end: bytes
    """Bytes that end a record."""
    function: Callable[[RawBatch], StageBatch]
    """Pure and picklable: any engine may call it in any process."""
    batch_bytes: int = BATCH
    counted: str = ""
    """Count in the tally of the records that were read; a file without any is refused."""
    wanted: str = ""
    """What to do about such a file."""
    record_limit: int = LINE_LIMIT
    """Longest record, in bytes."""


class _Done(NamedTuple):
    end: Position
    n_file_bytes: int
    batch: StageBatch


@dataclass(frozen=True, slots=True)
class _Task:
    """A stage's function with the place of the batch kept beside the result."""

    function: Callable[[RawBatch], StageBatch]

    def __call__(self, batch: RawBatch) -> _Done:
        return _Done(batch.end, batch.n_file_bytes, self.function(batch))


class Tally:
    """Counts and faults of a stage."""

    def __init__(self, stage: Stage, kept: Mapping[str, Any] | None = None) -> None:
        self.stage = stage
        kept = kept or {}
        self.counts: Counter[str] = Counter(kept.get("counts", {}))
        self.faults: list[list[Any]] = kept.get("faults", [])

    def add(self, counts: Mapping[str, int], faults: Sequence[Fault]) -> None:
        """Add what one batch counted; the first faults are kept, all are counted."""
        self.counts.update(counts)
        self.counts["faults"] += len(faults)
        room = SHOWN_FAULTS - len(self.faults)
        self.faults += [[fault.path, fault.line, fault.found, fault.fix] for fault in faults[: max(room, 0)]]

    def facts(self) -> dict[str, Any]:
        return {"counts": dict(self.counts), "faults": self.faults}

    def check(self) -> None:
        """InputError when the file turns out to be cut off, or to hold nothing of what is wanted."""
        if self.counts["opened"] > self.counts["closed"]:
            raise input_error(self.stage.path, 0, "the file is cut off: its last lines are missing", TRY_AGAIN)
        if self.stage.counted and not self.counts[self.stage.counted]:
            nothing = Fault(str(self.stage.path), 0, f"no {self.stage.counted} in it", self.stage.wanted)
            shown = [Fault(*fault) for fault in self.faults]
            raise InputError([nothing, *shown], self.counts["faults"] - len(shown))


class Ledger:
    """Rows of a stage that wait to be kept, and its tally."""

    def __init__(self, stage: Stage, store: WorkStore) -> None:
        self.stage = stage
        self.store = store
        self.tally = Tally(stage, store.tally(stage.name))
        self.rows: dict[str, list[Sequence[Any]]] = {}

    def add(self, batch: StageBatch) -> None:
        self.tally.add(batch.tally, batch.faults)
        for table, rows in batch.rows.items():
            self.rows.setdefault(table, []).extend(rows)

    def keep(self, position: Position | None) -> None:
        """Write everything; the stage resumes at `position`, or is finished."""
        self.store.add(self.stage.name, self.rows, position, self.tally.facts())
        self.rows = {}

    def finish(self) -> None:
        """Keep the last rows, unless the file turns out to be unusable."""
        self.tally.check()
        self.keep(None)


def run_locally(stage: Stage, store: WorkStore, n_workers: int | None = None) -> None:
    """Map the stage's function over its file by processes of this machine, from where an earlier run stopped."""
    position = store.position(stage.name)
    if position is None:
        return
    ledger = Ledger(stage, store)
    damage = FaultLog()
    batches = read_batches(
        stage.path,
        damage,
        record_end=stage.record_end,
        start=position,
        size=stage.batch_bytes,
        record_limit=stage.record_limit,
    )
    with _byte_bar(stage) as advance:
        for number, done in enumerate(map_batches(_Task(stage.function), batches, n_workers), 1):
            ledger.add(done.batch)
            advance(done.n_file_bytes)
            if number % BATCHES_PER_COMMIT == 0:
                ledger.keep(done.end)
    stop_if_cut_off(damage.faults)
    ledger.tally.add({}, damage.faults)
    ledger.finish()


def stop_if_cut_off(faults: Sequence[Fault]) -> None:
    """Raise when the end of the file is missing; a damaged block in its middle only costs its records."""
    if cut := [fault for fault in faults if "cut off" in fault.found]:
        raise InputError(cut)


@contextmanager
def _byte_bar(stage: Stage) -> Iterator[Callable[[int], None]]:
    """A bar over the bytes of the stage's file; gives a function that takes the bytes read so far."""
    bar = progress_bar(stage.path.stat().st_size, stage.name, "B", scale=True)
    n_told = 0

    def advance(n_file_bytes: int) -> None:
        nonlocal n_told
        bar.update(n_file_bytes - n_told)
        n_told = n_file_bytes

    try:
        yield advance
    finally:
        bar.close()
