"""One input file → the tables that its stage makes, as Parquet files that the executors write."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.annotate.stage import Stage, StageBatch, Tally
from evenrank.errors import Fault
from evenrank.formats.content import START, RawBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "name string, block long, record long, row int, number long, other long, text string, more string, payload binary"
)
"""Table name; the place in the file (block, first record of the batch, row of the batch); then the row's values."""
TALLY = "tally"
"""The table of counts and faults, a row for each batch."""
PLACE = ("block", "record", "row")
"""Columns that order rows as the file does."""


def read_stage(session: SparkSession, stage: Stage, folder: Path) -> None:
    """Map the stage's function over its file on the executors, which write its rows under `folder`."""
    from pyspark.sql import functions

    lines = session.read.text(stage.path.absolute().as_uri(), lineSep=stage.record_end.decode())
    placed = lines.select(
        "value",
        functions.col("_metadata.file_block_start").alias("block"),
        functions.monotonically_increasing_id().alias("record"),
    )
    rows = placed.mapInArrow(partial(_map_records, stage=stage), SCHEMA)
    rows.write.mode("overwrite").partitionBy("name").parquet(folder.absolute().as_uri())


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
        tally.add(counts, faults)
    tally.check()
    return tally.facts()


def _map_records(batches: Iterable[Any], stage: Stage) -> Iterator[Any]:
    """Arrow batches of records → Arrow batches of rows. Runs on the executors."""
    for records in batches:
        texts, blocks, numbers = (column.to_pylist() for column in records.columns)
        data = b"".join(_with_end(text.encode(), stage) for text in texts)
        result = stage.function(RawBatch(str(stage.path), START, START, data, 0))
        if texts:
            yield _arrow(_flat_rows(result, stage), blocks[0], numbers[0])


def _with_end(record: bytes, stage: Stage) -> bytes:
    """A record with the end that Spark took off; what is no record never had one."""
    return record + stage.record_end if stage.record_start in record else record


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
