"""Dumps of Wikipedia and Wikidata → a metadata file: read, join, write; or one file for each of several wikis from a
single reading of Wikidata, which is larger than all their dumps together.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.errors import EvenrankError, Fault, InputError, UnknownNameError, input_error, reason_of
from evenrank.io.atomic import atomic_file, refuse_input, write_json
from evenrank.io.compressed import LINE_LIMIT
from evenrank.io.content import BATCH, RawBatch
from evenrank.io.corpus import PAGE_END, read_site
from evenrank.io.locking import only_writer
from evenrank.parallel import map_batches
from evenrank.progress import track
from evenrank.wikipedia.annotate.coverage import Key, coverage_rows
from evenrank.wikipedia.annotate.dump_pages import (
    annotate_history,
    annotate_page_props,
    annotate_pages,
    join_pages_to_items,
)
from evenrank.wikipedia.annotate.entities import annotate_entities, annotate_for_wikis
from evenrank.wikipedia.annotate.quality import QualityModel, quality_models, wiki_percentiles
from evenrank.wikipedia.annotate.record import Scope
from evenrank.wikipedia.annotate.settings import ROWS_VERSION, AnnotateInputs, AnnotateSettings
from evenrank.wikipedia.annotate.stage import Stage, StageBatch, WorkStore, run_locally, run_on_spark
from evenrank.wikipedia.annotate.write import (
    PAGES_PER_MEMBER,
    PageRange,
    Report,
    WriteRange,
    about_path,
    close_readers,
    describe_output,
    gzip_member,
    header_comment,
    lookups_in,
    write_subjects,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_PAGES = ("articles", "give a pages-articles dump")
OF_PAGE_PROPS = ("pages", "give the SQL dump of the table page_props")
OF_HISTORY = ("pages", "give a stub-meta-history dump")
OF_WIKIDATA = ("entities", "give the JSON dump of Wikidata, one entity a line")
"""What is counted in each file, and what to give where none is found."""


ENTITIES = "entities"
"""The stage that reads Wikidata."""
LONGEST = {"first revisions": 1 << 27}
"""Bytes of the longest record, where it is longer than a line may be: a page with a million revisions."""


def annotate(
    out: str | os.PathLike[str],
    inputs: AnnotateInputs | str | os.PathLike[str],
    settings: AnnotateSettings | None = None,
    *,
    n_workers: int | None = None,
    is_fresh: bool = False,
    batch_bytes: int = BATCH,
    entities: WorkStore | None = None,
    subjects: str | os.PathLike[str] | None = None,
    session: SparkSession | None = None,
) -> Report:
    """Write the metadata file `out` and its sidecar. `inputs` are the files to read; a path is a Wikipedia dump alone.

    Finished parts of the work are kept in a folder beside `out` until the end: after a crash or Ctrl-C the same
    call resumes where it stopped, and gives the same bytes as an undisturbed one. `is_fresh` starts over. The work
    is done by `n_workers` processes of this machine, by default this one alone; with a `session` of Spark, its
    executors read the files. What Wikidata says is taken from `entities` where it was read before (`annotate_wikis`).
    `subjects` names a file for the items that have an article in another Wikipedia and none in this one
    (`io.subjects`).
    """
    out, subjects = Path(out), None if subjects is None else Path(subjects)
    inputs = inputs if isinstance(inputs, AnnotateInputs) else AnnotateInputs(Path(inputs))
    settings = settings or AnnotateSettings()
    if subjects is not None:
        if inputs.wikidata is None:
            raise EvenrankError("subjects without an article come from Wikidata: name its dump too (--wikidata)")
        settings = replace(settings, with_subjects=True)
    model = quality_model(settings)
    check_inputs(inputs, *filter(None, (out, subjects)))
    to_do = stages(inputs, settings, batch_bytes)
    with only_run(out):
        work = work_folder(out, is_fresh)
        store = _open_store(work, inputs.facts(), settings.reading_facts(), session)
        try:
            _read(to_do, store, n_workers, session, entities, settings.wiki)
            report = _write(out, store, inputs, settings, model, n_workers)
            if subjects is not None:
                report = report._replace(n_subjects=_write_subjects(subjects, store, inputs, settings))
        finally:
            store.close()
        shutil.rmtree(work)
    return report


@contextmanager
def only_run(out: Path) -> Iterator[None]:
    """A block in which no other run works on the same output."""
    with ExitStack() as stack:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(only_writer(out.with_name(f".{out.name}.lock"), out))
        except OSError as error:
            raise input_error(out, 0, f"could not be written: {reason_of(error)}", "choose another place") from error
        yield


def _read(
    to_do: list[Stage],
    store: WorkStore,
    n_workers: int | None,
    session: SparkSession | None,
    entities: WorkStore | None = None,
    wiki: str = "",
) -> None:
    """Fill the store; it is removed when an input is bad, because what was read of it is of no use."""
    try:
        for stage in to_do:
            if entities is not None and stage.name == ENTITIES:
                store.copy_entities(entities, wiki, ENTITIES)
            elif session is not None:
                run_on_spark(stage, store, session)
            else:
                run_locally(stage, store, n_workers)
    except Exception as error:
        if isinstance(error, InputError) or not isinstance(error, EvenrankError):
            store.close()
            shutil.rmtree(store.path.parent, ignore_errors=True)
        raise


def stages(inputs: AnnotateInputs, settings: AnnotateSettings, batch_bytes: int = BATCH) -> list[Stage]:
    """What to read, in order."""
    site = read_site(inputs.dump)
    pages = partial(annotate_pages, site=site)
    subjects_in = site.language if settings.with_subjects else None
    entities = partial(annotate_entities, wiki=settings.wiki, with_gender=settings.with_gender, subjects_in=subjects_in)
    known: list[tuple[str, Path | None, bytes, Callable[[RawBatch], StageBatch], tuple[str, str]]] = [
        ("pages", inputs.dump, PAGE_END, pages, OF_PAGES),
        ("page properties", inputs.wikidata_ids, b"\n", annotate_page_props, OF_PAGE_PROPS),
        ("first revisions", inputs.history, PAGE_END, annotate_history, OF_HISTORY),
        (ENTITIES, inputs.wikidata, b"\n", entities, OF_WIKIDATA),
    ]
    return [
        Stage(name, path, end, function, batch_bytes, *counted, LONGEST.get(name, LINE_LIMIT))
        for name, path, end, function, counted in known
        if path is not None
    ]


def check_inputs(inputs: AnnotateInputs, *outputs: Path) -> None:
    """InputError when a file is missing, or when an output is a folder or one of the files."""
    files = inputs.files().values()
    for out in outputs:
        if out.is_dir():
            raise input_error(out, 0, "a folder, where a file is to be written", "name a file in it")
        refuse_input(out, files)
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise InputError(Fault(str(path), 0, "no such file", "check the name") for path in missing)


def quality_model(settings: AnnotateSettings) -> QualityModel:
    models = quality_models()
    if settings.quality_model not in models:
        raise UnknownNameError("quality model", settings.quality_model, models)
    return models[settings.quality_model].with_caps(settings.quality_caps)


def work_folder(out: Path, is_fresh: bool) -> Path:
    """The folder for unfinished work beside the output."""
    work = out.with_name(f".{out.name}.work")
    if is_fresh:
        shutil.rmtree(work, ignore_errors=True)
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise input_error(out, 0, f"could not be written: {reason_of(error)}", "choose another place") from error
    return work


def _open_store(
    work: Path, inputs: dict[str, Any], settings: dict[str, Any], session: SparkSession | None
) -> WorkStore:
    """The store, new or of an earlier run that read the same inputs with the same settings in the same way."""
    store = WorkStore(work / "rows.sqlite")
    purpose = {"inputs": inputs, "settings": settings, "rows": ROWS_VERSION}
    if session is not None:
        purpose["engine"] = "spark"
    kept = store.get("purpose")
    if kept is None:
        store.put("purpose", purpose)
    elif kept != purpose:
        store.close()
        fix = "finish it with the same command and version of Evenrank, or start over with --fresh"
        raise EvenrankError(f"{work}: unfinished work with other inputs or settings ({fix})")
    return store


def _write(
    out: Path,
    store: WorkStore,
    inputs: AnnotateInputs,
    settings: AnnotateSettings,
    model: QualityModel,
    n_workers: int | None,
) -> Report:
    """Write the metadata as one file of many gzip members, and the sidecar beside it."""
    n_with_item = join_pages_to_items(store)
    percentiles = wiki_percentiles(model, store) if settings.percentiles == "wiki" else model.published_percentiles()
    write_range = WriteRange(store.path, _scope(inputs, settings), model, tuple(percentiles.items()))
    ranges = list(_page_ranges(store))
    n_pages = 0
    coverage: Counter[Key] = Counter()
    genders: Counter[str] = Counter()
    try:
        with atomic_file(out) as file:
            file.write(gzip_member(b"", header_comment(settings.with_gender)))
            for part in track(map_batches(write_range, ranges, n_workers), "writing", len(ranges), "parts"):
                file.write(part.member)
                n_pages += part.n_pages
                coverage.update(part.coverage)
                genders.update(part.gender_values)
    finally:
        close_readers()
    tallies = {name: store.tally(name) for name in store.stages()}
    report = Report(n_pages, n_with_item, tallies, percentiles, coverage_rows(coverage), genders)
    write_json(about_path(out), describe_output(report, settings, model, inputs.facts()))
    return report


def _write_subjects(path: Path, store: WorkStore, inputs: AnnotateInputs, settings: AnnotateSettings) -> int:
    try:
        return write_subjects(path, store, lookups_in(store.path), _scope(inputs, settings))
    finally:
        close_readers()


def _scope(inputs: AnnotateInputs, settings: AnnotateSettings) -> Scope:
    """Which fields the output has."""
    namespaces = frozenset(name for _, name in read_site(inputs.dump).namespaces)
    return Scope(settings, inputs.wikidata is not None, inputs.history is not None, namespaces)


def _page_ranges(store: WorkStore) -> Iterator[PageRange]:
    """All pages in ranges of a fixed number."""
    cursor = store.query("SELECT page_id FROM pages ORDER BY page_id")
    while rows := cursor.fetchmany(PAGES_PER_MEMBER):
        yield PageRange(rows[0][0], rows[-1][0])


def output_of(folder: Path, wiki: str) -> Path:
    """The metadata file of a wiki in the folder of several."""
    return folder / f"{wiki}.json.gz"


def annotate_wikis(
    folder: Path,
    inputs: Mapping[str, AnnotateInputs],
    settings: AnnotateSettings | None = None,
    *,
    n_workers: int | None = None,
    is_fresh: bool = False,
    batch_bytes: int = BATCH,
    session: SparkSession | None = None,
) -> dict[str, Report]:
    """Write a metadata file for each wiki (name → its files) into a folder; gives the reports of those written now.

    All wikis name the same Wikidata dump, which is read once. Each file is the same as `annotate` writes for its wiki
    alone. After a crash the same call resumes: what Wikidata says is kept until all wikis are written, and finished
    wikis are not written again.
    """
    settings = settings or AnnotateSettings()
    function = partial(annotate_for_wikis, wikis=tuple(inputs), with_gender=settings.with_gender)
    stage = Stage(ENTITIES, _shared_wikidata(inputs, settings), b"\n", function, batch_bytes, *OF_WIKIDATA)
    with only_run(folder / "wikis"):
        work = work_folder(folder / "wikis", is_fresh)
        facts = {wiki: files.facts() for wiki, files in inputs.items()}
        entities = _open_store(work, facts, settings.facts(), session)
        try:
            _read([stage], entities, n_workers, session)
            reports = {}
            for wiki, files in inputs.items():
                out = output_of(folder, wiki)
                if entities.get(f"written {wiki}") and out.exists():
                    continue
                reports[wiki] = annotate(
                    out,
                    files,
                    replace(settings, wiki=wiki),
                    n_workers=n_workers,
                    is_fresh=is_fresh,
                    batch_bytes=batch_bytes,
                    entities=entities,
                    session=session,
                )
                entities.put(f"written {wiki}", True)
        finally:
            entities.close()
        shutil.rmtree(work)
    return reports


def _shared_wikidata(inputs: Mapping[str, AnnotateInputs], settings: AnnotateSettings) -> Path:
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
