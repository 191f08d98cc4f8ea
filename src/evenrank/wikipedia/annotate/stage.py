"""One input file → rows in the store: a pure function over batches of records, mapped by an engine.

The store is work in progress on disk, in one SQLite file. Rows and position are committed together, so that a process
killed at any moment leaves a store from which the same command resumes. Memory stays small whatever the size of the
dumps, and the join of pages to items is left to SQL. Batches are mapped by processes of this machine, or by the
executors of a Spark cluster.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenrank.database.sqlite import SqliteFile
from evenrank.errors import (
    DamagedStoreError,
    EvenrankError,
    Fault,
    InputError,
    StoreUnavailableError,
    first_line,
    input_error,
)
from evenrank.io.compressed import LINE_LIMIT, TRY_AGAIN
from evenrank.io.content import BATCH, START, Position, RawBatch, Split, plan_splits, read_batches, read_split
from evenrank.io.faults import FaultLog
from evenrank.parallel import map_batches
from evenrank.progress import progress_bar
from evenrank.spark import send_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (page_id INTEGER PRIMARY KEY, title TEXT, n_bytes INTEGER, n_media INTEGER,
    n_headings INTEGER, n_references INTEGER, n_short_footnotes INTEGER, n_links INTEGER, n_categories INTEGER);
CREATE TABLE IF NOT EXISTS redirects (title TEXT PRIMARY KEY, target TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (item INTEGER PRIMARY KEY, title TEXT, is_redirect INTEGER, facts BLOB);
CREATE TABLE IF NOT EXISTS wiki_items (wiki TEXT, item INTEGER, title TEXT, is_redirect INTEGER, facts BLOB,
    PRIMARY KEY (wiki, item)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS place_countries (place INTEGER, country INTEGER, PRIMARY KEY (place, country)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS superclasses (item INTEGER, superclass INTEGER,
    PRIMARY KEY (item, superclass)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page_props (page_id INTEGER PRIMARY KEY, item INTEGER);
CREATE TABLE IF NOT EXISTS subjects (item INTEGER PRIMARY KEY, label TEXT, description TEXT, n_wikis INTEGER,
    articles TEXT, facts BLOB);
CREATE TABLE IF NOT EXISTS creation_dates (page_id INTEGER PRIMARY KEY, date TEXT);
CREATE TABLE IF NOT EXISTS item_of_page (page_id INTEGER PRIMARY KEY, item INTEGER);
"""

Rows = Mapping[str, Sequence[Sequence[Any]]]
"""Rows by table; a row whose key is there already is left out, so that the first one counts."""


class WorkStore:
    """The rows of one run of the labeller."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._clear_errors():
            self._file = SqliteFile(path, is_durable=False)
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._file.connection.execute(statement)

    def close(self) -> None:
        self._file.close()

    def get(self, name: str) -> Any:
        """A value kept by `put`, or None."""
        row = self.query("SELECT value FROM meta WHERE name = ?", [name]).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, name: str, value: Any) -> None:
        self.query("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, json.dumps(value)])

    def position(self, stage: str) -> Position | None:
        """Where reading resumes; None when the stage is finished."""
        kept = self.get(f"position of {stage}")
        return START if kept is None else None if kept == "end" else Position(*kept)

    def add(self, stage: str, rows: Rows, position: Position | None, tally: Mapping[str, Any]) -> None:
        """Keep rows, the position after them (None at the end) and the stage's tally so far, all or nothing."""
        with self.transaction():
            for table, values in rows.items():
                if values:
                    marks = ", ".join("?" * len(values[0]))
                    sql = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"
                    self._file.connection.executemany(sql, values)
            self.put(f"position of {stage}", "end" if position is None else position)
            self.put(f"tally of {stage}", tally)

    def copy_entities(self, source: WorkStore, wiki: str, stage: str) -> None:
        """Take over what another store has read of Wikidata for the pages of a wiki; the stage is finished then."""
        if self.position(stage) is None:
            return
        self.query("ATTACH DATABASE ? AS source", [str(source.path)])
        try:
            with self.transaction():
                taken = "SELECT item, title, is_redirect, facts FROM source.wiki_items WHERE wiki = ?"
                self.query(f"INSERT INTO items {taken}", [wiki])
                for table in ("place_countries", "superclasses"):
                    self.query(f"INSERT INTO {table} SELECT * FROM source.{table}")
                self.put(f"position of {stage}", "end")
                self.put(f"tally of {stage}", source.tally(stage))
        finally:
            self.query("DETACH DATABASE source")

    def tally(self, stage: str) -> dict[str, Any]:
        """What a stage has counted so far."""
        return self.get(f"tally of {stage}") or {}

    def stages(self) -> list[str]:
        """Names of the stages that have rows here, sorted."""
        kept = self.query("SELECT name FROM meta WHERE name LIKE 'tally of %' ORDER BY name")
        return [name.removeprefix("tally of ") for (name,) in kept]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block whose rows are kept together or not at all."""
        with self._clear_errors(), self._file.transaction():
            yield

    def query(self, sql: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """The rows that a statement gives."""
        with self._clear_errors():
            return self._file.connection.execute(sql, tuple(values))

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except DamagedStoreError as error:
            raise EvenrankError(f"{self.path}: the unfinished work is damaged: start over with --fresh") from error
        except StoreUnavailableError as error:
            kept = "finished parts are kept: make room and run the same command again, or start over with --fresh"
            raise EvenrankError(f"{self.path}: could not be written: {error.reason} ({kept})") from error


BATCHES_PER_COMMIT = 16
"""Batches whose rows are kept together: what a killed process has to read again."""
SHOWN_FAULTS = 20
RESULTS_AT_ONCE = 16
"""Batches of executors whose rows are in memory at the same time."""


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


class StageResult(NamedTuple):
    """What a stage makes of one batch, and where reading resumes after it."""

    end: Position
    n_file_bytes: int
    """Bytes of the file read up to there."""
    batch: StageBatch


@dataclass(frozen=True, slots=True)
class _Task:
    """A stage's function with the place of the batch kept beside the result."""

    function: Callable[[RawBatch], StageBatch]

    def __call__(self, batch: RawBatch) -> StageResult:
        return StageResult(batch.end, batch.n_file_bytes, self.function(batch))


class _Ledger:
    """Rows of a stage that wait to be kept, and its counts and faults so far."""

    def __init__(self, stage: Stage, store: WorkStore) -> None:
        self.stage = stage
        self.store = store
        kept = store.tally(stage.name)
        self.counts: Counter[str] = Counter(kept.get("counts", {}))
        self.faults: list[list[Any]] = kept.get("faults", [])
        self.rows: dict[str, list[Sequence[Any]]] = {}

    def add(self, batch: StageBatch) -> None:
        """Add what one batch holds; the first faults are kept, all are counted."""
        self.counts.update(batch.tally)
        self.counts["faults"] += len(batch.faults)
        room = SHOWN_FAULTS - len(self.faults)
        self.faults += [[fault.path, fault.line, fault.found, fault.fix] for fault in batch.faults[: max(room, 0)]]
        for table, rows in batch.rows.items():
            self.rows.setdefault(table, []).extend(rows)

    def keep(self, position: Position | None) -> None:
        """Write everything; the stage resumes at `position`, or is finished."""
        tally = {"counts": dict(self.counts), "faults": self.faults}
        self.store.add(self.stage.name, self.rows, position, tally)
        self.rows = {}

    def finish(self) -> None:
        """Keep the last rows; InputError when the file turns out to be cut off, or to hold nothing that is wanted."""
        if self.counts["opened"] > self.counts["closed"]:
            raise input_error(self.stage.path, 0, "the file is cut off: its last lines are missing", TRY_AGAIN)
        if self.stage.counted and not self.counts[self.stage.counted]:
            nothing = Fault(str(self.stage.path), 0, f"no {self.stage.counted} in it", self.stage.wanted)
            shown = [Fault(*fault) for fault in self.faults]
            raise InputError([nothing, *shown], self.counts["faults"] - len(shown))
        self.keep(None)


def keep_results(stage: Stage, store: WorkStore, results: Iterable[StageResult]) -> None:
    """Keep what comes of the batches that follow the stage's position in the store, up to the end of its file."""
    ledger = _Ledger(stage, store)
    for number, result in enumerate(results, 1):
        ledger.add(result.batch)
        if number % BATCHES_PER_COMMIT == 0:
            ledger.keep(result.end)
    ledger.finish()


def run_locally(stage: Stage, store: WorkStore, n_workers: int | None = None) -> None:
    """Map the stage's function over its file by processes of this machine, from where an earlier run stopped."""
    position = store.position(stage.name)
    if position is not None:
        keep_results(stage, store, _read_locally(stage, position, n_workers))


def _read_locally(stage: Stage, position: Position, n_workers: int | None) -> Iterator[StageResult]:
    damage = FaultLog()
    batches = read_batches(
        stage.path,
        damage,
        record_end=stage.record_end,
        start=position,
        size=stage.batch_bytes,
        record_limit=stage.record_limit,
    )
    n_file_bytes = 0
    with closing(progress_bar(stage.path.stat().st_size, stage.name, "B", scale=True)) as bar:
        for result in map_batches(_Task(stage.function), batches, n_workers):
            bar.update(result.n_file_bytes - n_file_bytes)
            position, n_file_bytes = result.end, result.n_file_bytes
            yield result
    if damage.faults:
        yield StageResult(position, n_file_bytes, unread_batch(damage.faults))


def unread_batch(damage: Sequence[Fault]) -> StageBatch:
    """A batch for what could not be read of the file.

    A damaged block in its middle only costs its records; InputError when its end is missing.
    """
    if cut := [fault for fault in damage if "cut off" in fault.found]:
        raise InputError(cut)
    return StageBatch({}, {}, damage)


def run_on_spark(stage: Stage, store: WorkStore, session: SparkSession) -> None:
    """Map the stage's function over its file by the executors of a session, from where an earlier run stopped.

    Executors must see the file, and the folder of the store, under the same paths.
    """
    position = store.position(stage.name)
    if position is None:
        return
    folder = store.path.with_name(f"batches-of-{stage.name.replace(' ', '-')}")
    if not (folder / "_SUCCESS").exists():
        read_stage(session, stage, folder)
    keep_results(stage, store, _spark_results(folder, position.offset))


def read_stage(session: SparkSession, stage: Stage, folder: Path) -> None:
    """Write what the stage's function makes of all batches as Parquet files, one for each part of the file.

    Executors read and decompress the file themselves: Java's bzip2 and the way of every line from the JVM to Python
    cost three times as much as the work on it.
    """
    from pyspark.errors import PySparkException

    send_package(session)
    splits = plan_splits(stage.path, _split_bytes(session))
    numbers = session.range(0, len(splits), 1, len(splits))
    read = partial(_read_splits, stage=stage, path=stage.path.absolute(), splits=splits)
    made = numbers.mapInArrow(read, "is_read boolean, batch binary")
    try:
        made.write.mode("overwrite").parquet(folder.absolute().as_uri())
    except PySparkException as error:
        fix = f"finished inputs are kept in {folder.parent}"
        raise EvenrankError(f"Spark failed: {first_line(error)} ({fix})") from error


def _split_bytes(session: SparkSession) -> int:
    """Size of the parts of a file, by Spark's own setting for it."""
    size = str(session.conf.get("spark.sql.files.maxPartitionBytes", "128m")).lower().removesuffix("b")
    unit = {"k": 10, "m": 20, "g": 30}.get(size[-1:], 0)
    return int(size[:-1] if unit else size) << unit


def _read_splits(batches: Iterable[Any], stage: Stage, path: Path, splits: Sequence[Split]) -> Iterator[Any]:
    """Numbers of splits → Arrow batches, one for each batch of records. Runs on the executors."""
    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            damage = FaultLog()
            records = read_split(
                path,
                splits[number],
                damage,
                record_end=stage.record_end,
                size=stage.batch_bytes,
                record_limit=stage.record_limit,
            )
            for batch in records:
                yield _packed(stage, stage.function(batch), True)
            if damage.faults:
                yield _packed(stage, StageBatch({}, {}, damage.faults), False)


def _packed(stage: Stage, batch: StageBatch, is_read: bool) -> Any:
    """A batch as a row of Arrow; an executor does not know the numbers of lines."""
    pyarrow = import_module("pyarrow")
    faults = [Fault(str(stage.path), 0, fault.found, fault.fix) for fault in batch.faults]
    packed = pickle.dumps((dict(batch.rows), dict(batch.tally), faults))
    arrays = [pyarrow.array([is_read]), pyarrow.array([packed], pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(arrays, ["is_read", "batch"])


def _spark_results(folder: Path, n_known: int) -> Iterator[StageResult]:
    """What executors wrote, in the order of the file, after the first `n_known` batches."""
    parquet = import_module("pyarrow.parquet")
    n_before = 0
    for path in sorted(folder.glob("part-*.parquet")):  # Spark names them by the number of the part
        for table in parquet.ParquetFile(path).iter_batches(RESULTS_AT_ONCE):
            for is_read, packed in zip(*(column.to_pylist() for column in table.columns), strict=True):
                n_before += 1
                if n_before > n_known:
                    batch = StageBatch(*pickle.loads(packed))  # made by this package # nosec B301
                    yield StageResult(Position(n_before), 0, batch if is_read else unread_batch(batch.faults))
