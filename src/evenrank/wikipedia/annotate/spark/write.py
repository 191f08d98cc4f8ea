"""Joined pages → gzip members of the metadata file, one for each range of pages, made by the executors."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.wikipedia.annotate.quality import FEATURES, SHARE, QualityCounts, QualityModel, QuantileSketch
from evenrank.wikipedia.annotate.record import Lookups, Scope
from evenrank.wikipedia.annotate.write import PAGES_PER_MEMBER, Written, write_rows

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

MEMBERS = "range int, member binary, n_pages long, counts binary"


class Writing(NamedTuple):
    """What decides the lines of a page; sent to the executors."""

    scope: Scope
    model: QualityModel
    percentiles: tuple[tuple[str, float], ...]
    occupations: dict[int, frozenset[str]]
    class_titles: dict[int, str]


def percentiles_of(model: QualityModel, pages: DataFrame) -> dict[str, float]:
    """The 95th percentile of each feature that the model caps by it, from sketches that executors make."""
    names = tuple(model.percentile_features)
    sketches = {name: QuantileSketch() for name in names}
    for row in pages.select("counts").mapInArrow(partial(_sketch, names=names), "name string, counts binary").collect():
        sketches[row.name].counts += np.frombuffer(row.counts, np.int64)
    return {name: sketch.quantile(SHARE) for name, sketch in sketches.items()}


def write_members(pages: DataFrame, writing: Writing, folder: Path) -> None:
    """Write the members of all pages under `folder`. `pages`: page_id, title, counts, item, facts, date, places."""

    ids = np.sort(np.array([row.page_id for row in pages.select("page_id").toLocalIterator()], np.int64))
    lasts = np.append(ids[PAGES_PER_MEMBER - 1 : -1 : PAGES_PER_MEMBER], ids[-1:])
    schema = "range int, " + ", ".join(f"{name} {kind}" for name, kind in pages.dtypes)
    ranged = pages.mapInArrow(partial(_ranges, lasts=lasts), schema)

    def write_range(rows: pyarrow.Table) -> pyarrow.Table:
        return _write_range(rows, writing)

    members = ranged.groupBy("range").applyInArrow(write_range, MEMBERS)
    members.write.mode("overwrite").parquet(folder.absolute().as_uri())


def read_members(members: DataFrame) -> Iterator[Written]:
    """The members in the order of their pages."""
    for row in members.orderBy("range").toLocalIterator():
        yield Written(bytes(row.member), row.n_pages, *pickle.loads(row.counts))


def _sketch(batches: Iterable[Any], names: tuple[str, ...]) -> Iterator[Any]:
    """The features of pages as sketches. Runs on the executors."""
    pyarrow = import_module("pyarrow")
    sketches = {name: QuantileSketch() for name in names}
    for batch in batches:
        rows = [pickle.loads(counts) for counts in batch.column(0).to_pylist()]
        if rows:
            counts = QualityCounts(*np.array(rows, np.float64).T)
            for name, sketch in sketches.items():
                sketch.add(FEATURES[name](counts))
    packed = [sketch.counts.tobytes() for sketch in sketches.values()]
    arrays = [pyarrow.array(list(names), pyarrow.string()), pyarrow.array(packed, pyarrow.binary())]
    yield pyarrow.RecordBatch.from_arrays(arrays, ["name", "counts"])


def _ranges(batches: Iterable[Any], lasts: NDArray[np.int64]) -> Iterator[Any]:
    """Pages with the number of their range. Runs on the executors."""
    pyarrow = import_module("pyarrow")
    for batch in batches:
        numbers = np.searchsorted(lasts, batch.column("page_id").to_numpy()).astype(np.int32)
        names = ["range", *batch.schema.names]
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array(numbers), *batch.columns], names)


def _write_range(pages: Any, writing: Writing) -> Any:
    """One range of pages as a gzip member. Runs on the executors."""
    pyarrow = import_module("pyarrow")
    rows = sorted(pages.to_pylist(), key=lambda row: int(row["page_id"]))
    places = {place["place"]: tuple(place["countries"]) for row in rows if row["places"] for place in row["places"]}
    lookups = Lookups(
        lambda place: places.get(place, ()), lambda value: writing.occupations.get(value, ()), writing.class_titles.get
    )
    stored = [
        (row["page_id"], row["title"], row["item"], row["facts"], row["date"], *pickle.loads(row["counts"]))
        for row in rows
    ]
    written = write_rows(stored, lookups, writing.scope, writing.model, dict(writing.percentiles))
    counts = pickle.dumps((written.coverage, written.gender_values))
    columns = [[rows[0]["range"]], [written.member], [written.n_pages], [counts]]
    kinds = [pyarrow.int32(), pyarrow.binary(), pyarrow.int64(), pyarrow.binary()]
    arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pyarrow.Table.from_arrays(arrays, [part.split()[0] for part in MEMBERS.split(", ")])
