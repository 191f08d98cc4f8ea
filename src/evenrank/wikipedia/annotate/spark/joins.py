"""Pages joined to their items, items to the countries of their places, as data frames; the same rules as `join.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenrank.wikipedia.annotate import geography, instance_of, occupation
from evenrank.wikipedia.annotate.dump_pages import MAX_REDIRECTS
from evenrank.wikipedia.annotate.entities import ItemFacts
from evenrank.wikipedia.annotate.occupation import MAX_STEPS, occupation_names
from evenrank.wikipedia.annotate.spark.tables import first_rows, spark_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    return _exploded(batches, (occupation.PROPERTY,), ("item",))


def _classes(batches: Iterable[Any]) -> Iterator[Any]:
    return _exploded(batches, (instance_of.PROPERTY,), ("item",))


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
