"""The cluster engine: the same functions over batches, mapped by Spark (`mapInArrow`).

Works with a classic session (any master) and with Spark Connect. Workers need this package and see the dumps under
the same path. bzip2 dumps are split between workers, gzip dumps are not: Spark reads those from front to back.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenrank.annotate.stage import Ledger, Stage, StageBatch
from evenrank.annotate.store import WorkStore
from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.formats.batches import RawBatch
from evenrank.formats.content import START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS_PER_BATCH = 500
"""Records handed to Python at once."""
BATCHES_PER_COMMIT = 64


def start_spark(master: str | None = None, remote: str | None = None) -> SparkSession:
    """A session: of a Spark Connect server (`remote`), of a cluster (`master`), or what the environment says."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("the engine 'spark'", "spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("evenrank annotate")
    builder = builder.remote(remote) if remote else builder.master(master) if master else builder
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(RECORDS_PER_BATCH))
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise EvenrankError(f"Spark could not start: {_first_line(error)} (is Java 17 or newer installed?)") from error


@dataclass(frozen=True)
class SparkEngine:
    """Runs stages on a Spark session."""

    session: SparkSession

    def __call__(self, stage: Stage, store: WorkStore) -> None:
        """Map the stage's function over its file on the cluster, and keep the rows here.

        A stage that was interrupted starts over; finished stages are not repeated.
        """
        from pyspark.errors import PySparkException

        if store.position(stage.name) is None:
            return
        ledger = Ledger(stage, store)
        ledger.counts.clear()
        try:
            for number, batch in enumerate(self._batches(stage), 1):
                ledger.add(batch)
                if number % BATCHES_PER_COMMIT == 0:
                    ledger.keep_rows()
        except PySparkException as error:
            raise EvenrankError(f"{stage.path}: Spark failed: {_first_line(error)}") from error
        ledger.finish()

    def _batches(self, stage: Stage) -> Iterator[StageBatch]:
        """What the workers made, in the order of the file."""
        path = stage.path.absolute().as_uri()
        records = self.session.read.text(path, lineSep=stage.record_end.decode())
        function = partial(_map_records, stage=stage)
        for row in records.mapInArrow(function, "batch binary").toLocalIterator():
            yield pickle.loads(row.batch)


def _map_records(
    batches: Iterable[Any],
    stage: Stage,
) -> Iterator[Any]:
    """Arrow batches of records → one pickled StageBatch for each. Runs in the workers."""
    pyarrow, path = import_module("pyarrow"), str(stage.path)
    for records in batches:
        data = b"".join(_with_end(text.encode(), stage) for text in records.column(0).to_pylist())
        result = stage.function(RawBatch(path, START, START, data, 0))
        faults = [fault.__class__(path, 0, fault.found, fault.fix) for fault in result.faults]
        packed = pickle.dumps(result._replace(faults=faults))
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([packed], pyarrow.binary())], ["batch"])


def _with_end(record: bytes, stage: Stage) -> bytes:
    """A record with the end that Spark took off; what is no record never had one."""
    return record + stage.record_end if stage.record_start in record else record


def _first_line(error: Any) -> str:
    return str(error).strip().partition("\n")[0]
