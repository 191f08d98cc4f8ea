"""`collection import`: the official files → packed arrays, all or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import Dimension
from evenrank.core.records import LANGUAGE_CODE, NO_CLASS, Topic
from evenrank.core.text_ids import FILE_NAME as IDS_FILE
from evenrank.core.text_ids import TextIds, load_text_ids, save_text_ids
from evenrank.errors import EvenrankError, Fault, InputError, input_error, reason_of
from evenrank.garbage import rare_collections
from evenrank.io.articles import open_articles, read_corpus_facts
from evenrank.io.atomic import sync_tree
from evenrank.io.judgment_record import CampaignRuns, read_judgment_record
from evenrank.io.metadata import ForeignFieldError, Metadata, has_text_ids, leading_fields, read_metadata
from evenrank.io.name_lists import NameLists
from evenrank.io.page_views import read_page_views
from evenrank.io.subjects import read_missing_subjects, subjects_beside
from evenrank.io.topics import list_judged, read_all_topics
from evenrank.progress import progress_bar
from evenrank.trec.arrays import FIELD, Titles, save_classes, save_counts, save_titles, save_topics
from evenrank.trec.checksums import check_file, folder_facts
from evenrank.trec.collection import DAMAGE, SUBJECTS, Collection
from evenrank.trec.dimensions import DIMENSIONS, own_record
from evenrank.trec.manifest import (
    Manifest,
    SourceFile,
    locked_folder,
    new_data_folder,
    next_folder,
    previous_manifest,
    put_data,
    remove_old_data,
    waiting_manifest,
)
from evenrank.trec.page_rows import PageRows
from evenrank.trec.sources import LARGE, check_date, data_date, is_official, md5_of


@dataclass(frozen=True)
class ImportFiles:
    """The files to import, as the user named them."""

    metadata: Path
    topics: Path | None = None
    """Training topics with their relevant pages."""
    eval_topics: tuple[Path, ...] = ()
    """Evaluation topics: with judgments, or keywords and scope alone, or both files."""
    corpus: Path | None = None
    qrels: tuple[Path, ...] = ()
    """Judgments in four columns, which replace those of the topic files."""
    language: str | None = None
    """Code of the language of the articles; None for what the corpus says of itself, else English."""
    dimensions: tuple[Dimension, ...] = ()
    """Dimensions of the user's own (`evenrank.read_dimension`)."""
    date: str | None = None
    """When the data were taken, as `2021-10-01` or `2021-10`; None for what the sources say (`data_date`)."""
    page_views: Path | None = None
    """How often pages were read (`io.page_views`)."""
    subjects: Path | None = None
    """Subjects that have an item and no article (`io.subjects`); None for those that `annotate` wrote beside the
    metadata, if it did."""


def import_collection(
    folder: str | os.PathLike[str],
    files: ImportFiles,
    settings: dict[str, Any] | None = None,
    warn: Callable[[str], object] = lambda text: None,
    workers: int | None = None,
    *,
    at_once: bool = False,
) -> Collection:
    """The collection made of the files; `folder` holds it when this returns, and is untouched when it raises.

    A collection that has an index stays as it is until `build_index` has indexed the new articles, and then changes to
    both in one step; with `at_once` it changes now, and has no index until then. `settings` says how generated files
    were made; `warn` receives what is odd but not wrong. `workers` are processes that read a large corpus, by default
    this one alone.
    """
    folder, beside = Path(folder), subjects_beside(Path(files.metadata))
    if files.subjects is None and beside.is_file():
        files = replace(files, subjects=beside)
    refuse_pipes(files)
    with locked_folder(folder), rare_collections():
        return import_locked(folder, files, settings, warn, workers, at_once=at_once)


def import_locked(
    folder: Path,
    files: ImportFiles,
    settings: dict[str, Any] | None = None,
    warn: Callable[[str], object] = lambda text: None,
    workers: int | None = None,
    *,
    at_once: bool = False,
) -> Collection:
    """`import_collection` into a folder that this process holds the lock of."""
    language = _language(files)
    check_date(files.date)
    refuse_repeated(files.dimensions)
    topics, metadata, ids = _read_topics_and_pages(files, warn, earlier_ids(folder))
    known = {**DIMENSIONS, **{dimension.name: dimension for dimension in files.dimensions}}
    refuse_missing_fields(files, metadata)
    warn_of_odd(files.metadata, metadata, known, warn)
    warn_of_judgments(topics, metadata.page_ids, warn)
    topics = [list_judged(topic, metadata.page_ids) for topic in topics]
    fresh = new_data_folder(folder)
    versions = [found.data_folder for found in (previous_manifest(folder), waiting_manifest(folder)) if found]
    final = next_folder(folder, "data", *versions)
    try:
        dimensions = _save_pages(fresh, metadata)
        save_topics(fresh, topics)
        counts = _counts(metadata, topics) | _save_corpus_facts(fresh, metadata, files.corpus, ids, warn, workers)
        _save_extras(fresh, files, metadata, language, warn)
        if ids is not None:
            save_text_ids(fresh, ids)
        sources = _sources(folder, files, warn if settings is None else lambda text: None)
        fresh.chmod(folder.stat().st_mode)
        facts = folder_facts(fresh)
        sync_tree(fresh)
        os.replace(fresh, final)
        absent = tuple(name for name in dimensions if known[name].field not in metadata.fields)
        manifest = put_data(
            folder,
            Manifest(
                final.name,
                dimensions,
                counts,
                sources,
                settings or {},
                own_version(),
                facts,
                counted=tuple(metadata.counts),
                absent=absent,
                data_date=files.date or data_date((files.corpus, files.metadata)),
                own_dimensions={dimension.name: own_record(dimension) for dimension in files.dimensions},
                has_text_ids=ids is not None,
                campaign=_campaign(files),
                language=language,
            ),
            at_once=at_once,
        )
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        named = [found.data_folder for found in (previous_manifest(folder), waiting_manifest(folder)) if found]
        if final.name not in named:
            shutil.rmtree(final, ignore_errors=True)
        if isinstance(error, OSError):
            found = f"could not be written: {reason_of(error)}"
            raise input_error(folder, 0, found, "free some space") from error
        raise
    remove_old_data(folder)
    return Collection.open(folder, manifest)


def _campaign(files: ImportFiles) -> dict[str, Any]:
    """What the records beside files of judgments say of the runs of their campaigns; empty where none says anything."""
    records = [read_judgment_record(path) for path in (*files.eval_topics, *files.qrels)]
    found = CampaignRuns.together([record.campaign for record in records if record is not None])
    return asdict(found) if found != CampaignRuns() else {}


def _language(files: ImportFiles) -> str:
    """The language of the articles; InputError for what is no code of a language."""
    if files.language is not None:
        if not LANGUAGE_CODE.fullmatch(files.language):
            found = f"{files.language!r} is not the code of a language"
            raise EvenrankError(f"--language: {found} (give a code such as en, de or zh)")
        return files.language
    return "en" if files.corpus is None else open_articles(files.corpus).site.language


def _read_topics_and_pages(
    files: ImportFiles, warn: Callable[[str], object], earlier: TextIds
) -> tuple[list[Topic], Metadata, TextIds | None]:
    """Topics and metadata, and the numbers of page ids if they are text.

    Topics are read first, because they are small and may be wrong. Where ids are text, metadata come first: pages get
    their numbers there, and equal scores are ranked by number, which must say nothing about relevance. Ids of the
    `earlier` import keep their numbers, by which saved lists know pages.
    """
    if not has_text_ids(files.metadata):
        topics = read_all_topics(files.topics, files.eval_topics, files.qrels)
        return topics, read_pages(files.metadata, warn, files.dimensions), None
    ids = earlier
    metadata = read_pages(files.metadata, warn, files.dimensions, ids)
    return read_all_topics(files.topics, files.eval_topics, files.qrels, ids), metadata, ids


def earlier_ids(folder: Path) -> TextIds:
    """The text ids of the collection that is in the folder now; none when there is no such collection."""
    manifest = previous_manifest(folder)
    if manifest is None or not manifest.has_text_ids:
        return TextIds()
    try:
        check_file(folder / manifest.data_folder, IDS_FILE, manifest.files)
        return load_text_ids(folder / manifest.data_folder)
    except (EvenrankError, *DAMAGE):
        return TextIds()


def _save_pages(folder: Path, metadata: Metadata) -> tuple[str, ...]:
    """Write the page arrays; gives the names of the dimensions that are kept."""
    np.save(folder / "page_ids.npy", metadata.page_ids.astype("<i4", copy=False))
    np.save(folder / "quality_class.npy", metadata.quality_class)
    np.save(folder / "quality_score.npy", metadata.quality_score.astype("<f4", copy=False))
    kept = tuple(metadata.masks)
    for name in kept:
        np.save(folder / f"mask-{name}.npy", metadata.masks[name])
    for name, values in metadata.counts.items():
        save_counts(folder, name, metadata.masks[name], values)
    if metadata.names is not None:
        save_classes(folder, metadata.names)
    return kept


def _save_corpus_facts(
    folder: Path,
    metadata: Metadata,
    corpus: Path | None,
    ids: TextIds | None,
    warn: Callable[[str], object],
    workers: int | None,
) -> dict[str, int]:
    if corpus is None:
        return {}
    facts = read_corpus_facts(corpus, metadata.page_ids, ids, workers)
    if facts.faults.is_cut_off or not facts.n_pages:
        facts.faults.add(corpus, 0, f"{facts.n_pages:,} articles could be read", "nothing was imported")
        facts.faults.raise_if_any()
    save_titles(folder, facts.titles)
    np.save(folder / "size_bytes.npy", facts.size_bytes)
    if report := facts.faults.report():
        warn(report)
    if facts.n_repeated:
        records = "1 record has" if facts.n_repeated == 1 else f"{facts.n_repeated:,} records have"
        warn(f"{corpus}: {records} the id of one before; the last of each counts")
    if facts.n_unlisted == facts.n_pages:
        warn(f"{corpus}: no article has metadata (are the ids the same in both?)")
    return {"corpus_pages": facts.n_pages, "corpus_pages_without_metadata": facts.n_unlisted}


def _save_extras(
    folder: Path, files: ImportFiles, metadata: Metadata, language: str, warn: Callable[[str], object]
) -> None:
    """Page views and subjects without an article, where they were given."""
    if files.page_views is not None:
        titles = Titles(folder) if files.corpus is not None else None
        found = read_page_views(files.page_views, metadata.page_ids, titles, language)
        n_unknown = int((found.views < 0).sum())
        if n_unknown:
            warn(f"{files.page_views}: no views of {n_unknown:,} of {len(found.views):,} pages")
        np.save(folder / "page_views.npy", found.views)
    if files.subjects is not None:
        subjects = read_missing_subjects(files.subjects)
        (folder / SUBJECTS).write_bytes(b"".join(subject.to_json() for subject in subjects))


def _counts(metadata: Metadata, topics: list[Topic]) -> dict[str, int]:
    return {"pages": len(metadata.page_ids), "metadata_lines": metadata.n_lines} | count_topics(topics)


def count_topics(topics: Sequence[Topic]) -> dict[str, int]:
    """Topics and relevant pages of each split."""
    counts = {}
    for split in ("train", "eval"):
        chosen = [topic for topic in topics if topic.split == split]
        counts[f"{split}_topics"] = len(chosen)
        counts[f"{split}_judgments"] = sum(len(topic.rel_docs) for topic in chosen)
    return counts


def _sources(folder: Path, files: ImportFiles, warn: Callable[[str], object]) -> dict[str, SourceFile]:
    named: dict[str, Path | None] = {"metadata": files.metadata, "topics": files.topics, "corpus": files.corpus}
    named |= {"page_views": files.page_views, "subjects": files.subjects}
    named |= {f"eval_topics_{number}": path for number, path in enumerate(files.eval_topics, 1)}
    named |= {f"qrels_{number}": path for number, path in enumerate(files.qrels, 1)}
    sources = {}
    for name, path in named.items():
        if path is None:
            continue
        size = path.stat().st_size
        md5 = md5_of(path) if size <= LARGE else None
        official = is_official(path.name, size, md5)
        if official is False:
            warn(f"{path}: not the track's own file of that name (size or md5 differ); fine if it is your own")
        sources[name] = SourceFile(named_from(folder, path), size, md5, official)
    return sources


def named_from(folder: Path, path: Path) -> str:
    """The path as seen from the collection: relative when it lies inside, absolute otherwise."""
    absolute = path.resolve()
    home = folder.resolve()
    return str(absolute.relative_to(home)) if absolute.is_relative_to(home) else str(absolute)


def own_version() -> str:
    from importlib.metadata import version

    return version("evenrank")


def refuse_pipes(files: ImportFiles) -> None:
    """InputError for what can be read only once: files are read, then measured."""
    named = [files.metadata, files.topics, files.corpus, *files.eval_topics, *files.qrels]
    refuse_unkept([path for path in (*named, files.page_views, files.subjects) if path])


def refuse_unkept(paths: Iterable[Path]) -> None:
    """InputError for paths of what can be read only once."""
    pipes = [path for path in paths if path.exists() and not path.is_file() and not path.is_dir()]
    if pipes:
        raise InputError([Fault(str(path), 0, "not a file of its own", "save it as a file first") for path in pipes])


def refuse_repeated(dimensions: tuple[Dimension, ...]) -> None:
    """EvenrankError when a dimension is given twice."""
    names = [dimension.name for dimension in dimensions]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise EvenrankError(f"dimension {', '.join(repeated)} is given twice (give each name once)")


def refuse_missing_fields(files: ImportFiles, metadata: Metadata) -> None:
    """InputError when no record has the field of a dimension that the user asked for."""
    missing = [dimension for dimension in files.dimensions if dimension.field not in metadata.fields]
    if missing:
        has = ", ".join(sorted(metadata.fields)[:20])
        found = [f"no record has the field {one.field!r} of the dimension {one.name}" for one in missing]
        raise InputError([Fault(str(files.metadata), 0, text, f"its fields are {has}") for text in found])


def warn_of_odd(
    path: Path, metadata: Metadata, dimensions: dict[str, Dimension], warn: Callable[[str], object]
) -> None:
    """Say what is odd in metadata, but not wrong."""
    if metadata.n_repeated:
        lines = "1 line repeats" if metadata.n_repeated == 1 else f"{metadata.n_repeated:,} lines repeat"
        warn(f"{path}: {lines} a page id; the first line of each counts")
    known = [name for name in metadata.masks if dimensions[name].field in metadata.fields]
    if not known:
        warn(f"{path}: no group of any dimension in it, so every page counts as unknown and fairness cannot be scored")
    elif "sub-region" not in known and set(known) & set(ALWAYS):  # metadata of 2022 have sub-regions, not continents
        for name in ALWAYS:
            if name not in known:
                warn(f"{path}: no {name} in it, so every page counts as unknown; score with --groups {','.join(known)}")
    if (metadata.quality_class == NO_CLASS).all():
        warn(f"{path}: no page has a quality class (quality_score_disc or qual_cat), so Task 2 cannot be scored")


def warn_of_judgments(topics: list[Topic], page_ids: NDArray[np.int32], warn: Callable[[str], object]) -> None:
    """Say how many relevant pages the metadata do not have; most of them missing means that files do not belong."""
    pages = PageRows(page_ids)
    for split, of_split in {"train": "training", "eval": "evaluation"}.items():
        named = [topic for topic in topics if topic.split == split]
        judged = [topic.rel_docs for topic in named if len(topic.rel_docs)]
        if named and not judged:
            warn(f"no {of_split} topic has relevant pages (rel_docs, or --qrels), so no run can be scored on them")
        n_judged = sum(map(len, judged))
        n_missing = n_judged - sum(int(pages.contain(each).sum()) for each in judged)
        if n_missing:
            found = f"relevant pages of {of_split} topics that are not in the metadata: {n_missing:,} of {n_judged:,}"
            asked = " (are these judgments of another collection?)" if 2 * n_missing > n_judged else ""
            warn(f"{found}; they count in nDCG, never in a target{asked}")


ALWAYS = ("geography", "gender")
"""Dimensions that every collection has; the others are kept when their field is in the metadata."""


def read_pages(
    path: Path, warn: Callable[[str], object], own: Sequence[Dimension] = (), ids: TextIds | None = None
) -> Metadata:
    """The metadata with the dimensions whose fields are in it, and the classes of pages where they are; read again if
    some field only comes up late.

    A field that only has the name of an optional dimension's, or of the classes, is a field of the user's own: `warn`
    receives a note, and the file is read again without it. `own` are dimensions of the user's own, which are always
    read; with `ids` page ids are text.
    """
    fields = leading_fields(path)
    foreign = set[str]()
    while True:
        try:
            has_classes = FIELD in fields and FIELD not in foreign
            metadata = _read_once(path, [*_annotated(fields, foreign), *own], ids, has_classes)
        except ForeignFieldError as error:
            foreign.add(error.dimension)
            left_out = FIELD if error.dimension == FIELD else f"the dimension {error.dimension}"
            warn(f"{error}; so {left_out} is left out of the collection")
            continue
        has_late_classes = FIELD in metadata.fields and FIELD not in foreign and not has_classes
        if len(_annotated(metadata.fields, foreign)) + len(own) == len(metadata.masks) and not has_late_classes:
            return metadata
        fields = metadata.fields


def _read_once(path: Path, dimensions: list[Dimension], ids: TextIds | None, has_classes: bool) -> Metadata:
    bar = progress_bar(path.stat().st_size if path.is_file() else 0, "metadata", "B", scale=True)
    try:
        optional = [*(name for name in DIMENSIONS if name not in ALWAYS), FIELD]
        return read_metadata(path, dimensions, bar.update, optional, ids, NameLists(FIELD) if has_classes else None)
    finally:
        bar.close()


def _annotated(fields: frozenset[str], foreign: Container[str]) -> list[Dimension]:
    """The dimensions that every collection has, and those whose field is there and is theirs."""
    return [d for d in DIMENSIONS.values() if d.name in ALWAYS or (d.field in fields and d.name not in foreign)]
