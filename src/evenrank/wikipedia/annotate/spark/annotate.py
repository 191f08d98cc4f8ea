"""Dumps → metadata files on a Spark cluster: the same bytes as on one machine."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, InputError, first_line
from evenrank.spark import send_package
from evenrank.wikipedia.annotate.labeller import (
    ENTITIES,
    Counted,
    check_inputs,
    check_wikis,
    entities_stage,
    facts_of,
    only_run,
    output_of,
    purpose_of,
    quality_model,
    scope_of,
    stages,
    unfinished_work,
    work_folder,
    write_output,
)
from evenrank.wikipedia.annotate.quality import FEATURES, SHARE, QualityCounts, QualityModel, QuantileSketch
from evenrank.wikipedia.annotate.record import Lookups, Scope
from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings
from evenrank.wikipedia.annotate.spark.tables import (
    Frames,
    count_ways,
    countries_of_places,
    gather_tally,
    is_read,
    items_of_pages,
    names_of_occupations,
    read_frames,
    read_stage,
    titles_of_classes,
)
from evenrank.wikipedia.annotate.stage import Stage
from evenrank.wikipedia.annotate.write import PAGES_PER_MEMBER, Report, Written, write_rows

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession


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
        yield Written(bytes(row.member), row.n_pages, *pickle.loads(row.counts))  # made by this package # nosec B301


def _sketch(batches: Iterable[Any], names: tuple[str, ...]) -> Iterator[Any]:
    """The features of pages as sketches. Runs on the executors."""
    pyarrow = import_module("pyarrow")
    sketches = {name: QuantileSketch() for name in names}
    for batch in batches:
        rows = [pickle.loads(counts) for counts in batch.column(0).to_pylist()]  # made by this package # nosec B301
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
        (row["page_id"], row["title"], row["item"], row["facts"], row["date"], *pickle.loads(row["counts"]))  # nosec B301
        for row in rows
    ]
    written = write_rows(stored, lookups, writing.scope, writing.model, dict(writing.percentiles))
    counts = pickle.dumps((written.coverage, written.gender_values))
    columns = [[rows[0]["range"]], [written.member], [written.n_pages], [counts]]
    kinds = [pyarrow.int32(), pyarrow.binary(), pyarrow.int64(), pyarrow.binary()]
    arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pyarrow.Table.from_arrays(arrays, [part.split()[0] for part in MEMBERS.split(", ")])


PURPOSE = "purpose.json"


def annotate_on_spark(
    out: Path,
    inputs: AnnotateInputs,
    settings: AnnotateSettings | None = None,
    *,
    session: SparkSession,
    is_fresh: bool = False,
    entities: Path | None = None,
) -> Report:
    """Write the metadata file `out` and its sidecar; the session's executors read, join and write.

    The tables of finished inputs are kept in a folder beside `out` until the end: after a crash the same call
    resumes with the first unfinished input. A second run on the same output is refused. Executors must see that folder
    and the dumps under the same paths. What Wikidata says is taken from the folder `entities` where it was read before
    (`annotate_wikis_on_spark`).
    """
    settings = settings or AnnotateSettings()
    model = quality_model(settings)
    check_inputs(inputs, out)
    with only_run(out):
        work = work_folder(out, is_fresh)
        check_purpose(work, purpose_of(inputs.facts(), settings.facts()))
        send_package(session)
        to_do = stages(inputs, settings)
        folders = {stage.name: work / stage.name.replace(" ", "-") for stage in to_do}
        if entities is not None:
            folders[ENTITIES] = entities
        with _clear_errors(work, f"finished inputs are kept in {work}"):
            tallies = {stage.name: read_tables(session, stage, folders[stage.name]) for stage in to_do}
            frames = read_frames(session, folders, settings.wiki if entities is not None else None)
            report = _write(session, out, frames, tallies, inputs, settings, model)
        shutil.rmtree(work)
    return report


@contextmanager
def _clear_errors(work: Path, advice: str) -> Iterator[None]:
    """A block in which a bad input ends with its work removed, and a failure of Spark with advice."""
    from pyspark.errors import PySparkException

    try:
        yield
    except InputError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    except PySparkException as error:
        raise EvenrankError(f"Spark failed: {first_line(error)} ({advice})") from error


def read_tables(session: SparkSession, stage: Stage, folder: Path) -> dict[str, Any]:
    """Read a stage's file, unless its tables are in the folder already; gives what was counted."""
    if not is_read(folder):
        read_stage(session, stage, folder)
    return gather_tally(session, stage, folder)


def _write(
    session: SparkSession,
    out: Path,
    frames: Frames,
    tallies: dict[str, dict[str, Any]],
    inputs: AnnotateInputs,
    settings: AnnotateSettings,
    model: QualityModel,
) -> Report:
    joined = items_of_pages(frames).cache()
    n_with_item = count_ways(joined)
    wiki = settings.percentiles == "wiki"
    percentiles = percentiles_of(model, frames.pages) if wiki else model.published_percentiles()
    occupations, titles = names_of_occupations(session, frames), titles_of_classes(frames)
    pages = (
        frames.pages.join(joined.select("page_id", "item"), "page_id", "left")
        .join(frames.items.select("item", "facts"), "item", "left")
        .join(frames.creation_dates, "page_id", "left")
        .join(countries_of_places(frames), "item", "left")
    )
    members = out.with_name(f".{out.name}.work") / "members"
    if not is_read(members):
        writing = Writing(scope_of(inputs, settings), model, tuple(percentiles.items()), occupations, titles)
        write_members(pages, writing, members)
    counted = Counted()
    parts = read_members(session.read.parquet(members.absolute().as_uri()))
    ordered = {name: tallies[name] for name in sorted(tallies)}
    return write_output(
        out,
        counted.members(parts),
        lambda: counted.report(n_with_item, ordered, percentiles),
        inputs,
        settings,
        model,
    )


def check_purpose(work: Path, wanted: dict[str, Any]) -> None:
    """Refuse to resume work on other inputs or with other settings."""
    purpose = json.dumps(wanted, sort_keys=True)
    path = work / PURPOSE
    if path.exists() and path.read_text("utf-8") != purpose:
        raise unfinished_work(work)
    path.write_text(purpose, "utf-8")


def annotate_wikis_on_spark(
    folder: Path,
    inputs: Mapping[str, AnnotateInputs],
    settings: AnnotateSettings | None = None,
    *,
    session: SparkSession,
    is_fresh: bool = False,
) -> dict[str, Report]:
    """Write a metadata file for each wiki into a folder, as `annotate_wikis` does.

    What executors have read of Wikidata is kept in a folder beside the output until all wikis are written: after a
    crash the same call resumes with the first wiki that is missing.
    """
    settings = settings or AnnotateSettings()
    wikidata = check_wikis(inputs, settings)
    with only_run(folder / "wikis"):
        work = work_folder(folder / "wikis", is_fresh)
        check_purpose(work, purpose_of(facts_of(inputs), settings.facts()))
        entities = _read_once(session, wikidata, tuple(inputs), settings, work)
        reports = {}
        for wiki, files in inputs.items():
            out, is_written = output_of(folder, wiki), work / f"{wiki}.written"
            if is_written.exists() and out.exists():
                continue
            own = replace(settings, wiki=wiki)
            reports[wiki] = annotate_on_spark(out, files, own, session=session, is_fresh=is_fresh, entities=entities)
            is_written.touch()
        shutil.rmtree(work)
    return reports


def _read_once(
    session: SparkSession, wikidata: Path, wikis: tuple[str, ...], settings: AnnotateSettings, work: Path
) -> Path:
    """The folder with what Wikidata says about the pages of all wikis."""
    send_package(session)
    folder = work / "entities"
    with _clear_errors(work, "run the same command again"):
        read_tables(session, entities_stage(wikidata, wikis, settings), folder)
    return folder
