"""Metadata of several wikis on a Spark cluster, from one reading of Wikidata; the same bytes as on one machine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenrank.errors import EvenrankError, InputError, first_line
from evenrank.spark import send_package
from evenrank.wikipedia.annotate.labeller import only_run, work_folder
from evenrank.wikipedia.annotate.many_wikis import check_wikis, entities_stage, output_of, purpose_of
from evenrank.wikipedia.annotate.settings import AnnotateSettings, Inputs
from evenrank.wikipedia.annotate.spark.annotate import annotate_on_spark, check_purpose, read_tables
from evenrank.wikipedia.annotate.write import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def annotate_wikis_on_spark(
    folder: Path,
    inputs: Mapping[str, Inputs],
    settings: AnnotateSettings | None = None,
    *,
    session: SparkSession,
    is_fresh: bool = False,
) -> dict[str, Report]:
    """Write a metadata file for each wiki into a folder, as `annotate.many_wikis.annotate_wikis` does.

    What executors have read of Wikidata is kept in a folder beside the output until all wikis are written: after a
    crash the same call resumes with the first wiki that is missing.
    """
    settings = settings or AnnotateSettings()
    wikidata = check_wikis(inputs, settings)
    with only_run(folder / "wikis"):
        work = work_folder(folder / "wikis", is_fresh)
        check_purpose(work, purpose_of(inputs, settings))
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
    from pyspark.errors import PySparkException

    send_package(session)
    folder = work / "entities"
    try:
        read_tables(session, entities_stage(wikidata, wikis, settings), folder)
    except InputError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    except PySparkException as error:
        raise EvenrankError(f"Spark failed: {first_line(error)} (run the same command again)") from error
    return folder
