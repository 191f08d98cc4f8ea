"""One input file → the tables that its stage makes, as Parquet files that the executors write."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.errors import Fault
from evenrank.io.faults import FaultLog
from evenrank.io.splits import Split, plan_splits, read_split
from evenrank.wikipedia.annotate.stage import Stage, StageBatch, Tally, stop_if_cut_off

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "name string, block long, record long, row int, number long, other long, text string, more string, payload binary"
)
"""Table name; the place in the file (start of the split, batch, row of the batch); then the row's values."""
TALLY = "tally"
"""The table of counts and faults, a row for each batch."""
PLACE = ("block", "record", "row")
"""Columns that order rows as the file does."""


def read_stage(session: SparkSession, stage: Stage, folder: Path) -> None:
    """Map the stage's function over the parts of its file on the executors, which write its rows under `folder`.

    Executors read and decompress the file themselves: Java's bzip2 and the way of every line from the JVM to Python
    cost three times as much as the work on it.
    """
    splits = plan_splits(stage.path, _split_bytes(session))
    numbers = session.range(0, len(splits), 1, len(splits))
    read = partial(_read_splits, stage=stage, path=stage.path.absolute(), splits=splits)
    rows = numbers.mapInArrow(read, SCHEMA)
    rows.write.mode("overwrite").partitionBy("name").parquet(folder.absolute().as_uri())


def _split_bytes(session: SparkSession) -> int:
    """Size of the parts of a file, by Spark's own setting for it."""
    size = str(session.conf.get("spark.sql.files.maxPartitionBytes", "128m")).lower().removesuffix("b")
    unit = {"k": 10, "m": 20, "g": 30}.get(size[-1:], 0)
    return int(size[:-1] if unit else size) << unit


def is_read(folder: Path) -> bool:
    """Whether the rows of a stage are complete."""
    return (folder / "_SUCCESS").exists()


def spark_table(session: SparkSession, folder: Path | None, name: str) -> DataFrame:
    """The rows of one table; empty when its input was not given."""
    if folder is None:
        return session.createDataFrame([], SCHEMA).drop("name")
    rows = session.read.schema(SCHEMA).parquet(folder.absolute().as_uri())
    return rows.filter(rows["name"] == name).drop("name")


def first_rows(rows: DataFrame, *keys: str) -> DataFrame:
    """For each key the row that comes first in the file."""
    from pyspark.sql import functions

    values = functions.struct(*(name for name in rows.columns if name not in keys and name not in PLACE))
    first = functions.min_by(values, functions.struct(*PLACE)).alias("first")
    return rows.groupBy(*keys).agg(first).select(*keys, "first.*")


def gather_tally(session: SparkSession, stage: Stage, folder: Path) -> dict[str, Any]:
    """Counts and faults of a stage, in the order of its file; raises when the file is cut off or holds nothing."""
    tally = Tally(stage)
    for row in spark_table(session, folder, TALLY).orderBy(*PLACE).select("payload").toLocalIterator():
        counts, faults = pickle.loads(row.payload)
        stop_if_cut_off(faults)
        tally.add(counts, faults)
    tally.check()
    return tally.facts()


def _read_splits(batches: Iterable[Any], stage: Stage, path: Path, splits: Sequence[Split]) -> Iterator[Any]:
    """Numbers of splits → Arrow batches of the rows that they hold. Runs on the executors."""
    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            split, damage = splits[number], FaultLog()
            records = read_split(
                path,
                split,
                damage,
                record_end=stage.record_end,
                size=stage.batch_bytes,
                record_limit=stage.record_limit,
            )
            n_batches = 0
            for batch in records:
                yield _arrow(_flat_rows(stage.function(batch), stage), split.start, n_batches)
                n_batches += 1
            if damage.faults:
                yield _arrow(_flat_rows(StageBatch({}, {}, damage.faults), stage), split.start, n_batches)


def _flat_rows(result: StageBatch, stage: Stage) -> Iterator[tuple[Any, ...]]:
    """Rows of all tables in the columns of SCHEMA after the place."""
    for name, rows in result.rows.items():
        for row in rows:
            yield name, *_COLUMNS[name](row)
    faults = [Fault(str(stage.path), 0, fault.found, fault.fix) for fault in result.faults]
    yield TALLY, None, None, None, None, pickle.dumps((Counter(result.tally), faults))


def _arrow(rows: Iterable[tuple[Any, ...]], block: int, record: int) -> Any:
    pyarrow = import_module("pyarrow")
    name, *values = zip(*rows, strict=True)
    n_rows = len(name)
    columns = [name, [block] * n_rows, [record] * n_rows, range(n_rows), *values]
    kinds = [pyarrow.string(), pyarrow.int64(), pyarrow.int64(), pyarrow.int32(), pyarrow.int64(), pyarrow.int64()]
    kinds += [pyarrow.string(), pyarrow.string(), pyarrow.binary()]
    arrays = [pyarrow.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, [part.split()[0] for part in SCHEMA.split(", ")])


def _pair(row: Sequence[Any]) -> tuple[Any, ...]:
    return row[0], row[1], None, None, None


_COLUMNS: dict[str, Callable[[Sequence[Any]], tuple[Any, ...]]] = {
    "pages": lambda row: (row[0], None, row[1], None, pickle.dumps(tuple(row[2:]))),
    "redirects": lambda row: (None, None, row[0], row[1], None),
    "items": lambda row: (row[0], int(row[2]), row[1], None, row[3]),
    "wiki_items": lambda row: (row[1], int(row[3]), row[2], row[0], row[4]),
    "place_countries": _pair,
    "superclasses": _pair,
    "page_props": _pair,
    "creation_dates": lambda row: (row[0], None, row[1], None, None),
}
"""Table → its row as number, other, text, more, payload."""
