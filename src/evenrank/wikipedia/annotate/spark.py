"""Dumps read on a Spark cluster: its executors make the rows of a stage, and this process keeps them in its store."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.errors import EvenrankError, Fault, first_line
from evenrank.io.content import Position, Split, plan_splits, read_split
from evenrank.io.faults import FaultLog
from evenrank.spark import send_package
from evenrank.wikipedia.annotate.stage import Stage, StageBatch, StageResult, WorkStore, keep_results, unread_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS_AT_ONCE = 16
"""Batches whose rows are in memory at the same time."""


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
    keep_results(stage, store, _results(folder, position.offset))


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


def _results(folder: Path, n_known: int) -> Iterator[StageResult]:
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
