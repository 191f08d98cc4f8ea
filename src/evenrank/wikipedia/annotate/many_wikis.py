"""Metadata of several wikis from one reading of Wikidata, which is larger than all their dumps together."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenrank.errors import EvenrankError, InputError, input_error
from evenrank.io.content import BATCH
from evenrank.wikipedia.annotate.entities import annotate_for_wikis
from evenrank.wikipedia.annotate.labeller import (
    ENTITIES,
    OF_WIKIDATA,
    annotate,
    check_inputs,
    only_run,
    quality_model,
    unfinished_work,
    work_folder,
)
from evenrank.wikipedia.annotate.settings import ROWS_VERSION, AnnotateSettings, Inputs
from evenrank.wikipedia.annotate.stage import Stage, run_locally
from evenrank.wikipedia.annotate.store import WorkStore
from evenrank.wikipedia.annotate.write import Report


def output_of(folder: Path, wiki: str) -> Path:
    """The metadata file of a wiki in the folder of several."""
    return folder / f"{wiki}.json.gz"


def annotate_wikis(
    folder: Path,
    inputs: Mapping[str, Inputs],
    settings: AnnotateSettings | None = None,
    *,
    n_workers: int | None = None,
    is_fresh: bool = False,
    batch_bytes: int = BATCH,
) -> dict[str, Report]:
    """Write a metadata file for each wiki (name → its files) into a folder; gives the reports of those written now.

    All wikis name the same Wikidata dump, which is read once. Each file is the same as `annotate` writes for its wiki
    alone. After a crash the same call resumes: what Wikidata says is kept until all wikis are written, and finished
    wikis are not written again.
    """
    settings = settings or AnnotateSettings()
    wikidata = check_wikis(inputs, settings)
    with only_run(folder / "wikis"):
        work = work_folder(folder / "wikis", is_fresh)
        entities = WorkStore(work / "rows.sqlite")
        try:
            _check_purpose(entities, work, inputs, settings)
            stage = entities_stage(wikidata, tuple(inputs), settings, batch_bytes)
            _read_once(stage, entities, work, n_workers)
            reports = {}
            for wiki, files in inputs.items():
                out = output_of(folder, wiki)
                if entities.get(f"written {wiki}") and out.exists():
                    continue
                own = replace(settings, wiki=wiki)
                reports[wiki] = annotate(
                    out, files, own, n_workers=n_workers, is_fresh=is_fresh, batch_bytes=batch_bytes, entities=entities
                )
                entities.put(f"written {wiki}", True)
        finally:
            entities.close()
        shutil.rmtree(work)
    return reports


def check_wikis(inputs: Mapping[str, Inputs], settings: AnnotateSettings) -> Path:
    """The Wikidata dump that all wikis name; an error when files or settings of a wiki cannot be used."""
    quality_model(settings)
    dumps = {files.wikidata for files in inputs.values()}
    dump = dumps.pop() if len(dumps) == 1 else None
    if dump is None:
        raise EvenrankError("several wikis are annotated from one Wikidata dump: name the same one for each of them")
    if not dump.is_file():
        raise input_error(dump, 0, "no such file", "check the name")
    for wanted in inputs.values():
        check_inputs(wanted)
    return dump


def _check_purpose(store: WorkStore, work: Path, inputs: Mapping[str, Inputs], settings: AnnotateSettings) -> None:
    """Refuse to resume work on other inputs or with other settings."""
    purpose = purpose_of(inputs, settings)
    kept = store.get("purpose")
    if kept is None:
        store.put("purpose", purpose)
    elif kept != purpose:
        raise unfinished_work(work)


def purpose_of(inputs: Mapping[str, Inputs], settings: AnnotateSettings) -> dict[str, Any]:
    """What work is for: it resumes on the same inputs with the same settings and rows only."""
    files = {wiki: each.facts() for wiki, each in inputs.items()}
    return {"inputs": files, "settings": settings.facts(), "rows": ROWS_VERSION}


def entities_stage(
    wikidata: Path, wikis: tuple[str, ...], settings: AnnotateSettings, batch_bytes: int = BATCH
) -> Stage:
    """The reading of Wikidata for the pages of several wikis."""
    function = partial(annotate_for_wikis, wikis=wikis, with_gender=settings.with_gender)
    return Stage(ENTITIES, wikidata, b"\n", function, batch_bytes, *OF_WIKIDATA)


def _read_once(stage: Stage, store: WorkStore, work: Path, n_workers: int | None) -> None:
    try:
        run_locally(stage, store, n_workers)
    except InputError:
        store.close()
        shutil.rmtree(work, ignore_errors=True)
        raise
