"""Input files → the tables that their stages make, as Parquet files that the executors write, and their joins."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenrank.errors import Fault
from evenrank.io.faults import FaultLog
from evenrank.io.splits import Split, plan_splits, read_split
from evenrank.wikipedia.annotate import geography
from evenrank.wikipedia.annotate.attributes import INSTANCE_OF, MAX_STEPS, OCCUPATION, occupation_names
from evenrank.wikipedia.annotate.dump_pages import MAX_REDIRECTS
from evenrank.wikipedia.annotate.entities import ItemFacts
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
        counts, faults = pickle.loads(row.payload)  # made by this package # nosec B301
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


WAYS = ("page_props", "sitelink", "redirect")
"""How a page finds its item; an earlier way counts before a later one."""


class Frames(NamedTuple):
    """The tables of all stages, each key once."""

    pages: DataFrame
    redirects: DataFrame
    items: DataFrame
    place_countries: DataFrame
    superclasses: DataFrame
    page_props: DataFrame
    creation_dates: DataFrame


def read_frames(session: SparkSession, folders: dict[str, Path], wiki: str | None = None) -> Frames:
    """The tables under the stages' folders; a table whose input was not given is empty.

    With `wiki`, the items are those of one wiki among several that Wikidata was read for.
    """

    def rows(stage: str, name: str) -> DataFrame:
        return spark_table(session, folders.get(stage), name)

    found = rows("entities", "items") if wiki is None else rows("entities", "wiki_items")
    items = first_rows(found if wiki is None else found.filter(found["more"] == wiki), "number")
    return Frames(
        pages=first_rows(rows("pages", "pages"), "number").selectExpr("number page_id", "text title", "payload counts"),
        redirects=first_rows(rows("pages", "redirects"), "text").selectExpr("text title", "more target"),
        items=items.selectExpr("number item", "text title", "other is_redirect", "payload facts"),
        place_countries=rows("entities", "place_countries").selectExpr("number place", "other country").distinct(),
        superclasses=rows("entities", "superclasses").selectExpr("number item", "other superclass").distinct(),
        page_props=first_rows(rows("page properties", "page_props"), "number").selectExpr(
            "number page_id", "other item"
        ),
        creation_dates=first_rows(rows("first revisions", "creation_dates"), "number").selectExpr(
            "number page_id", "text date"
        ),
    )


def items_of_pages(frames: Frames) -> DataFrame:
    """page_id, item, way: each page with the item that the first possible way finds."""
    from pyspark.sql import functions

    pages = frames.pages.select("page_id", "title")
    items = frames.items.select("item", "title", "is_redirect")
    by_props = frames.page_props.join(pages, "page_id").join(items.select("item"), "item")
    by_link = items.join(pages, "title")
    level = (
        items.filter("is_redirect = 0").join(frames.redirects, "title").selectExpr("item", "target title").distinct()
    )
    levels = [level]
    for _ in range(MAX_REDIRECTS - 1):
        level = level.join(frames.redirects, "title").selectExpr("item", "target title").distinct()
        levels.append(level)
    by_redirect = reduce(lambda left, right: left.union(right), levels).join(pages, "title")
    found = [way.select("page_id", "item") for way in (by_props, by_link, by_redirect)]
    numbered = [way.withColumn("way", functions.lit(number)) for number, way in enumerate(found)]
    first = functions.min(functions.struct("way", "item")).alias("first")
    return (
        reduce(lambda left, right: left.union(right), numbered)
        .groupBy("page_id")
        .agg(first)
        .select("page_id", "first.way", "first.item")
    )


def count_ways(joined: DataFrame) -> dict[str, int]:
    """Number of pages that found their item, by way."""
    counts = {row.way: row["count"] for row in joined.groupBy("way").count().collect()}
    return {name: counts.get(number, 0) for number, name in enumerate(WAYS)}


def countries_of_places(frames: Frames) -> DataFrame:
    """item, places: for each item the places that it names, each with the countries that the place states."""
    from pyspark.sql import functions

    named = frames.items.select("item", "facts").mapInArrow(_places, "item long, place long").distinct()
    stated = frames.place_countries.groupBy("place").agg(functions.sort_array(functions.collect_list("country")))
    stated = stated.toDF("place", "countries")
    pair = functions.struct("place", "countries")
    return named.join(stated, "place").groupBy("item").agg(functions.collect_list(pair).alias("places"))


def names_of_occupations(session: SparkSession, frames: Frames) -> dict[int, frozenset[str]]:
    """Every value of P106 with the track's occupations it belongs to; only what can be reached is collected."""
    values = frames.items.select("item", "facts").mapInArrow(_occupations, "item long").distinct()
    wanted = sorted(row.item for row in values.toLocalIterator())
    parents: dict[int, list[int]] = {}
    level = wanted
    for _ in range(MAX_STEPS):
        if not level:
            break
        asked = session.createDataFrame([(item,) for item in level], "item long")
        for row in frames.superclasses.join(asked, "item").toLocalIterator():
            parents.setdefault(row.item, []).append(row.superclass)
        reached = {parent for item in level for parent in parents.get(item, ())}
        level = sorted(reached - parents.keys())
    return {value: occupation_names(value, partial(_parents, parents)) for value in wanted}


def titles_of_classes(frames: Frames) -> dict[int, str]:
    """Every value of P31 that has a page in the wiki, with the title of that page."""
    classes = frames.items.select("item", "facts").mapInArrow(_classes, "item long").distinct()
    found = classes.join(frames.items.select("item", "title"), "item")
    return {row.item: row.title for row in found.toLocalIterator()}


def _parents(parents: dict[int, list[int]], item: int) -> list[int]:
    return parents.get(item, [])


def _places(batches: Iterable[Any]) -> Iterator[Any]:
    return _exploded(batches, tuple(geography.PROPERTIES), ("item", "place"))


def _occupations(batches: Iterable[Any]) -> Iterator[Any]:
    return _exploded(batches, (OCCUPATION,), ("item",))


def _classes(batches: Iterable[Any]) -> Iterator[Any]:
    return _exploded(batches, (INSTANCE_OF,), ("item",))


def _exploded(batches: Iterable[Any], properties: tuple[str, ...], names: tuple[str, ...]) -> Iterator[Any]:
    """The values of some properties, with or without the item that names them. Runs on the executors."""
    pyarrow = import_module("pyarrow")
    for batch in batches:
        items, facts = (column.to_pylist() for column in batch.columns)
        pairs = [
            (item, value)
            for item, text in zip(items, facts, strict=True)
            for name in properties
            for value in ItemFacts.from_json(text).claims.get(name, ())
        ]
        rows = pairs if len(names) == 2 else [(value,) for _, value in pairs]
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pyarrow.array(list(column), pyarrow.int64()) for column in columns]
        yield pyarrow.RecordBatch.from_arrays(arrays, list(names))
