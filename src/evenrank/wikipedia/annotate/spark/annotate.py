"""Dumps → a metadata file on a Spark cluster: the same bytes as on one machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.errors import EvenrankError, InputError, first_line
from evenrank.spark import send_package
from evenrank.wikipedia.annotate.labeller import (
    ENTITIES,
    Counted,
    check_inputs,
    only_run,
    quality_model,
    scope_of,
    stages,
    unfinished_work,
    work_folder,
    write_output,
)
from evenrank.wikipedia.annotate.quality import QualityModel
from evenrank.wikipedia.annotate.settings import ROWS_VERSION, AnnotateSettings, Inputs
from evenrank.wikipedia.annotate.spark.joins import (
    Frames,
    count_ways,
    countries_of_places,
    items_of_pages,
    names_of_occupations,
    read_frames,
    titles_of_classes,
)
from evenrank.wikipedia.annotate.spark.tables import gather_tally, is_read, read_stage
from evenrank.wikipedia.annotate.spark.write import Writing, percentiles_of, read_members, write_members
from evenrank.wikipedia.annotate.stage import Stage
from evenrank.wikipedia.annotate.write import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PURPOSE = "purpose.json"


def annotate_on_spark(
    out: Path,
    inputs: Inputs,
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
    from pyspark.errors import PySparkException

    settings = settings or AnnotateSettings()
    model = quality_model(settings)
    check_inputs(inputs, out)
    with only_run(out):
        work = work_folder(out, is_fresh)
        check_purpose(work, {"inputs": inputs.facts(), "settings": settings.facts(), "rows": ROWS_VERSION})
        send_package(session)
        to_do = stages(inputs, settings)
        folders = {stage.name: work / stage.name.replace(" ", "-") for stage in to_do}
        if entities is not None:
            folders[ENTITIES] = entities
        try:
            tallies = {stage.name: read_tables(session, stage, folders[stage.name]) for stage in to_do}
            frames = read_frames(session, folders, settings.wiki if entities is not None else None)
            report = _write(session, out, frames, tallies, inputs, settings, model)
        except InputError:
            shutil.rmtree(work, ignore_errors=True)
            raise
        except PySparkException as error:
            raise EvenrankError(f"Spark failed: {first_line(error)} (finished inputs are kept in {work})") from error
        shutil.rmtree(work)
    return report


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
    inputs: Inputs,
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
