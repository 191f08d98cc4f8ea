"""`collection import`: the official files → packed arrays, all or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.dimensions import DIMENSIONS
from evenrank.alignment.groups import Dimension
from evenrank.alignment.own_dimension import own_record
from evenrank.collection.arrays import merged, save_titles, save_topics
from evenrank.collection.checksums import folder_facts
from evenrank.collection.collection import Collection
from evenrank.collection.corpus_facts import read_corpus_facts
from evenrank.collection.data_date import check_date, data_date
from evenrank.collection.group_counts import save_counts
from evenrank.collection.manifest import Manifest, SourceFile, read_manifest, write_manifest
from evenrank.collection.official import LARGE, is_official, md5_of
from evenrank.collection.read_pages import ALWAYS, read_pages
from evenrank.errors import EvenrankError, Fault, InputError, input_error
from evenrank.formats.articles import open_articles
from evenrank.formats.atomic import sync_tree
from evenrank.formats.locking import LOCK_NAME, no_leases, only_writer
from evenrank.formats.metadata import Metadata, has_text_ids
from evenrank.formats.qrels import read_qrels
from evenrank.formats.topics import read_topics
from evenrank.records import LANGUAGE_CODE, NO_CLASS, Topic
from evenrank.text_ids import TextIds, save_text_ids


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
    """Dimensions of the user's own (`alignment.own_dimension.read_dimension`)."""
    date: str | None = None
    """When the data were taken, as `2021-10-01` or `2021-10`; None for the date in a dump's name, if it has one."""


def import_collection(
    folder: str | os.PathLike[str],
    files: ImportFiles,
    settings: dict[str, Any] | None = None,
    warn: Callable[[str], object] = lambda text: None,
) -> Collection:
    """The collection made of the files; `folder` holds it when this returns, and is untouched when it raises.

    `settings` says how generated files were made; `warn` receives what is odd but not wrong.
    """
    folder = Path(folder)
    _refuse_pipes(files)
    with locked_folder(folder):
        return import_locked(folder, files, settings, warn)


def import_locked(
    folder: Path,
    files: ImportFiles,
    settings: dict[str, Any] | None = None,
    warn: Callable[[str], object] = lambda text: None,
) -> Collection:
    """`import_collection` into a folder that this process holds the lock of."""
    language = _language(files)
    check_date(files.date)
    _refuse_repeated(files.dimensions)
    topics, metadata, ids = _read_topics_and_pages(files, warn)
    known = {**DIMENSIONS, **{dimension.name: dimension for dimension in files.dimensions}}
    _refuse_missing_fields(files, metadata)
    _warn_of_odd(files.metadata, metadata, known, warn)
    topics = [_with_window(topic, metadata.page_ids) for topic in topics]
    fresh = _new_data_folder(folder)
    final = _free_name(folder, _previous(folder))
    try:
        dimensions = _save_pages(fresh, metadata)
        save_topics(fresh, topics)
        counts = _counts(metadata, topics) | _save_corpus_facts(fresh, metadata, files.corpus, ids, warn)
        if ids is not None:
            save_text_ids(fresh, ids)
        sources = _sources(folder, files, warn if settings is None else lambda text: None)
        fresh.chmod(folder.stat().st_mode)
        facts = folder_facts(fresh)
        sync_tree(fresh)
        os.replace(fresh, final)
        absent = tuple(name for name in dimensions if known[name].field not in metadata.fields)
        write_manifest(
            folder,
            Manifest(
                final.name,
                dimensions,
                counts,
                sources,
                settings or {},
                _version(),
                facts,
                counted=tuple(metadata.counts),
                absent=absent,
                data_date=files.date or data_date((files.corpus, files.metadata)),
                own_dimensions={dimension.name: own_record(dimension) for dimension in files.dimensions},
                has_text_ids=ids is not None,
                language=language,
            ),
        )
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if (manifest := _previous(folder)) is None or manifest.data_folder != final.name:
            shutil.rmtree(final, ignore_errors=True)
        if isinstance(error, OSError):
            found = f"could not be written: {error.strerror or error}"
            raise input_error(folder, 0, found, "free some space") from error
        raise
    _remove_old_data(folder, final.name)
    return Collection.open(folder)


def _language(files: ImportFiles) -> str:
    """The language of the articles; InputError for what is no code of a language."""
    if files.language is not None:
        if not LANGUAGE_CODE.fullmatch(files.language):
            found = f"{files.language!r} is not the code of a language"
            raise EvenrankError(f"--language: {found} (give a code such as en, de or zh)")
        return files.language
    return "en" if files.corpus is None else open_articles(files.corpus).site.language


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """A block in which no other process writes the collection; a folder that is made here goes if it stays empty."""
    _refuse_file(folder)
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_writer(folder / LOCK_NAME, folder):
            yield
    except OSError as error:
        found = f"could not be written: {error.strerror or error}"
        raise input_error(folder, 0, found, "make room or name another folder; nothing was changed") from error
    finally:
        with suppress(OSError):
            for parent in made:
                parent.rmdir()


def _refuse_pipes(files: ImportFiles) -> None:
    """InputError for what can be read only once: files are read, then measured."""
    named = [files.metadata, files.topics, files.corpus, *files.eval_topics, *files.qrels]
    pipes = [path for path in named if path and path.exists() and not path.is_file() and not path.is_dir()]
    if pipes:
        raise InputError([Fault(str(path), 0, "not a file of its own", "save it as a file first") for path in pipes])


def _refuse_repeated(dimensions: tuple[Dimension, ...]) -> None:
    names = [dimension.name for dimension in dimensions]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise EvenrankError(f"dimension {', '.join(repeated)} is given twice (give each name once)")


def _refuse_missing_fields(files: ImportFiles, metadata: Metadata) -> None:
    """InputError when no record has the field of a dimension that the user asked for."""
    missing = [dimension for dimension in files.dimensions if dimension.field not in metadata.fields]
    if missing:
        has = ", ".join(sorted(metadata.fields)[:20])
        found = [f"no record has the field {one.field!r} of the dimension {one.name}" for one in missing]
        raise InputError([Fault(str(files.metadata), 0, text, f"its fields are {has}") for text in found])


def _warn_of_odd(
    path: Path, metadata: Metadata, dimensions: dict[str, Dimension], warn: Callable[[str], object]
) -> None:
    if metadata.n_repeated:
        warn(f"{path}: {metadata.n_repeated:,} lines repeat a page id; the first line of each counts")
    known = [name for name in metadata.masks if dimensions[name].field in metadata.fields]
    if not known:
        warn(f"{path}: no group of any dimension in it, so every page counts as unknown and fairness cannot be scored")
    elif "sub-region" not in known and set(known) & set(ALWAYS):  # metadata of 2022 have sub-regions, not continents
        for name in ALWAYS:
            if name not in known:
                warn(f"{path}: no {name} in it, so every page counts as unknown; score with --groups {','.join(known)}")
    if (metadata.quality_class == NO_CLASS).all():
        warn(f"{path}: no page has a quality class (quality_score_disc or qual_cat), so Task 2 cannot be scored")


def _read_topics_and_pages(
    files: ImportFiles, warn: Callable[[str], object]
) -> tuple[list[Topic], Metadata, TextIds | None]:
    """Topics and metadata, and the numbers of page ids if they are text.

    Topics are read first, because they are small and may be wrong. Where ids are text, metadata come first: pages get
    their numbers there, and equal scores are ranked by number, which must say nothing about relevance.
    """
    if not has_text_ids(files.metadata):
        return _read_all_topics(files), read_pages(files.metadata, warn, files.dimensions), None
    ids = TextIds()
    metadata = read_pages(files.metadata, warn, files.dimensions, ids)
    return _read_all_topics(files, ids), metadata, ids


def _read_all_topics(files: ImportFiles, ids: TextIds | None = None) -> list[Topic]:
    train = read_topics(files.topics, "train", ids) if files.topics else []
    judged: list[Topic] = []
    for path in files.eval_topics:
        judged = merged(judged, read_topics(path, "eval", ids))
    shared = {topic.id for topic in train} & {topic.id for topic in judged}
    if shared:
        found = f"topic ids {sorted(shared)[:5]} are training topics too"
        raise InputError([Fault(str(path), 0, found, "give each topic one id") for path in files.eval_topics])
    topics = [*train, *judged]
    for path in files.qrels:
        topics = _judged_by(topics, read_qrels(path, ids=ids))
    return topics


def _with_window(topic: Topic, page_ids: NDArray[np.int32]) -> Topic:
    """The topic with the pages listed that were judged, where its judgments end at a page id."""
    if topic.judged_up_to is None or topic.assessed_docs is not None:
        return topic
    judged = page_ids[page_ids <= topic.judged_up_to].astype(np.int32)
    return replace(topic, assessed_docs=np.union1d(judged, topic.rel_docs).astype(np.int32), judged_up_to=None)


def _judged_by(topics: list[Topic], grades: dict[int, dict[int, int]]) -> list[Topic]:
    """The topics with the judgments of a file of four columns; topics that it alone has are evaluation topics."""
    by_id = {topic.id: topic for topic in topics}
    for topic, pages in grades.items():
        known = by_id.get(topic, Topic(topic, "", split="eval"))
        has_misses = any(grade <= 0 for grade in pages.values())
        assessed = np.array(sorted(pages), np.int32) if has_misses else None
        relevant = np.array(sorted(page for page, grade in pages.items() if grade > 0), np.int32)
        by_id[topic] = replace(known, rel_docs=relevant, assessed_docs=assessed)
    return list(by_id.values())


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
    return kept


def _save_corpus_facts(
    folder: Path,
    metadata: Metadata,
    corpus: Path | None,
    ids: TextIds | None,
    warn: Callable[[str], object],
) -> dict[str, int]:
    if corpus is None:
        return {}
    facts = read_corpus_facts(corpus, metadata.page_ids, ids)
    if facts.faults.is_cut_off or not facts.n_pages:
        facts.faults.add(corpus, 0, f"{facts.n_pages:,} articles could be read", "nothing was imported")
        facts.faults.raise_if_any()
    save_titles(folder, facts.titles)
    np.save(folder / "size_bytes.npy", facts.size_bytes)
    if report := facts.faults.report():
        warn(report)
    return {"corpus_pages": facts.n_pages, "corpus_pages_without_metadata": facts.n_unlisted}


def _counts(metadata: Metadata, topics: list[Topic]) -> dict[str, int]:
    counts = {"pages": len(metadata.page_ids), "metadata_lines": metadata.n_lines}
    for split in ("train", "eval"):
        chosen = [topic for topic in topics if topic.split == split]
        counts[f"{split}_topics"] = len(chosen)
        counts[f"{split}_judgments"] = sum(len(topic.rel_docs) for topic in chosen)
    return counts


def _sources(folder: Path, files: ImportFiles, warn: Callable[[str], object]) -> dict[str, SourceFile]:
    named: dict[str, Path | None] = {"metadata": files.metadata, "topics": files.topics, "corpus": files.corpus}
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
        sources[name] = SourceFile(_named_from(folder, path), size, md5, official)
    return sources


def _named_from(folder: Path, path: Path) -> str:
    """The path as seen from the collection: relative when it lies inside, absolute otherwise."""
    absolute = path.resolve()
    home = folder.resolve()
    return str(absolute.relative_to(home)) if absolute.is_relative_to(home) else str(absolute)


def _refuse_file(folder: Path) -> None:
    if folder.is_file():
        raise input_error(folder, 0, "a file, where a folder was expected", "name another folder")


def _previous(folder: Path) -> Manifest | None:
    """The manifest of what is there; None without a collection, or with one that cannot be read."""
    try:
        return read_manifest(folder)
    except EvenrankError:
        return None


def _new_data_folder(folder: Path) -> Path:
    try:
        for left in folder.glob(".data-*.tmp"):
            shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=".data-", suffix=".tmp", dir=folder))
    except OSError as error:
        raise input_error(folder, 0, f"could not be made: {error.strerror or error}", "name another folder") from error


def _free_name(folder: Path, previous: Manifest | None) -> Path:
    """The next data folder of the collection; anything there that is not ours stays."""
    last = previous.data_folder.removeprefix("data-") if previous is not None else ""
    numbers = count(int(last) + 1 if last.isdecimal() else 1)
    return next(path for number in numbers if not (path := folder / f"data-{number}").exists())


def _remove_old_data(folder: Path, kept: str) -> None:
    """Remove what earlier imports made, and nothing else that has such a name.

    What a reader still has open stays until the next import. A folder is renamed first: if the removal is killed, the
    next import knows the rest by its name.
    """
    for old in folder.glob("data-*"):
        is_ours = old.name.removeprefix("data-").isdecimal() and (old / "page_ids.npy").exists()
        if is_ours and old.name != kept:
            with suppress(OSError), no_leases(old) as is_free:
                if is_free:
                    doomed = folder / f".{old.name}.tmp"
                    os.replace(old, doomed)
                    shutil.rmtree(doomed, ignore_errors=True)


def _version() -> str:
    from importlib.metadata import version

    return version("evenrank")
