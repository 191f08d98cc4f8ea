"""The manifest of a collection, and the versions that its folder holds.

Every import writes a data folder of its own (`data-N`), every build an index folder of its own (`index-N`, with the
vectors of its pages). One manifest names the data and the index that belong together, and replacing that one file is
the only step by which readers get to see anything new. Data whose index is yet to be built wait in a second manifest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from evenrank.errors import DamagedCollectionError, EvenrankError, NoCollectionError, input_error, reason_of
from evenrank.io.atomic import remove_tree, write_json
from evenrank.io.locking import LOCK_NAME, locked_alone, no_leases, only_writer
from evenrank.trec.arrays import TOPIC_FILES
from evenrank.trec.checksums import FileFacts, record_checksum

FORMAT_VERSION = 1
FILE_NAME = "manifest.json"
WAITING_FILE = "manifest-waiting.json"
"""The manifest of data that replace those of the collection as soon as their index is complete."""
BUILD_FILE = "build.json"
"""File of an index folder that says what the index is made from, and whether it is complete."""
BESIDE_INDEX = frozenset({*TOPIC_FILES, "page_views.npy", "subjects.jsonl"})
"""Files of a data folder that an index is not made from."""
CHANGES = "changes_"
"""How the names of sources begin that changed an imported collection: `changes_1`, `changes_2`, …"""
TOPIC_CHANGES = "topic_changes_"
"""The same of those that changed topics alone, which an index is not made from."""
CHECKSUM = "checksum"
"""Key of the checksum of all the other entries."""


@dataclass(frozen=True)
class SourceFile:
    """One imported file."""

    path: str
    """File as the user named it; relative to the collection when it lies inside."""
    size_bytes: int
    md5: str | None
    """None for files too large to be read twice."""
    official: bool | None
    """Whether size and md5 are those of the track's own file of that name; None when there is no such name."""


@dataclass(frozen=True)
class Manifest:
    """What a collection says about itself."""

    data_folder: str
    """Folder with the arrays, inside the collection."""
    dimensions: tuple[str, ...]
    counts: dict[str, int]
    sources: dict[str, SourceFile]
    settings: dict[str, Any] = field(default_factory=dict)
    """How a generated collection was made."""
    evenrank_version: str = ""
    files: dict[str, FileFacts] = field(default_factory=dict)
    """Size and checksum of each file in the data folder; empty in collections made before there were checksums."""
    counted: tuple[str, ...] = ()
    """Dimensions of which the counts of each page's groups are kept."""
    absent: tuple[str, ...] = ()
    """Dimensions whose field is nowhere in the metadata, so that every page is unknown."""
    data_date: str | None = None
    """When the data were taken from the wiki, e.g. `2021-10-01`; None when the sources do not say."""
    own_dimensions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Dimensions of the user's own by name: field, label, source and shares (`trec.dimensions`)."""
    has_text_ids: bool = False
    """Whether the ids of pages are text; inside, pages have the numbers of `evenrank.core.text_ids`."""
    campaign: dict[str, Any] = field(default_factory=dict)
    """What the records beside imported judgments say of runs (`io.judgment_record.CampaignRuns`); empty without one."""
    language: str = "en"
    """Code of the language of the articles."""
    index_folder: str = "index"
    """Folder with the index of these data, inside the collection; empty while they have none. The default is where
    collections kept their only index before there were versions."""
    format_version: int = FORMAT_VERSION


def _no_collection(folder: Path) -> str:
    """What a folder without a manifest is, and how to make a collection of it, or of the data set that it names."""
    from evenrank.trec.ir_dataset import IR_DATASETS  # which imports files, and so this module

    name = folder.as_posix()
    if name in IR_DATASETS and not folder.exists():
        made = name.replace("/", "-")
        return (
            f"{name}: a data set of ir_datasets whose pages and judgments are not in its cache (download them, and "
            f"make a collection: evenrank collection import {made} --ir-dataset {name})"
        )
    what = "a folder without a manifest" if folder.is_dir() else "no such folder"
    return (
        f"{folder}: {what}, so not a collection "
        f"(make one: evenrank collection import {folder} --metadata FILE, or collection generate {folder})"
    )


def read_manifest(folder: Path, name: str = FILE_NAME) -> Manifest:
    """The manifest in a collection's folder; a clear error when there is none or it is not ours."""
    path = folder / name
    if not path.exists():
        raise NoCollectionError(_no_collection(folder))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedCollectionError(f"{path}: cannot be read: {reason_of(error)}") from error
    return parse_manifest(content, str(path))


def parse_manifest(content: bytes | dict[str, Any], named: str) -> Manifest:
    """The manifest in a file, or in a record that was read from one; errors call it as `named`."""
    try:
        record = orjson.loads(content) if isinstance(content, bytes) else dict(content)
        version = record.pop("format_version")
        if version != FORMAT_VERSION:
            raise EvenrankError(
                f"{named}: collection format {version}, this version reads {FORMAT_VERSION} (import it again)"
            )
        _check_record(record)
        sources = {name: SourceFile(**source) for name, source in record.pop("sources").items()}
        files = {name: FileFacts(**facts) for name, facts in record.pop("files", {}).items()}
        return Manifest(**{**record, "sources": sources, "files": files, **_tuples(record)})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCollectionError(
            f"{named}: not a manifest of a collection: {reason_of(error)} (import it again)"
        ) from error


def _tuples(record: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Lists of names as tuples; those that an older manifest does not have are empty."""
    return {name: tuple(record.get(name, ())) for name in ("dimensions", "counted", "absent")}


def _check_record(record: dict[str, Any]) -> None:
    """ValueError or TypeError when a manifest is corrupted."""
    known = record.pop(CHECKSUM, None)
    if (known is not None or "files" in record) and known != record_checksum(record):
        raise ValueError("its checksum does not match its content")
    if not isinstance(record["data_folder"], str) or not isinstance(record["counts"], dict):
        raise TypeError("data_folder or counts is of another kind")


def write_manifest(folder: Path, manifest: Manifest, name: str = FILE_NAME) -> None:
    """Put the manifest in place, in one step: from here on the collection is the new one."""
    write_json(folder / name, manifest_record(manifest))


def manifest_record(manifest: Manifest) -> dict[str, Any]:
    """What `parse_manifest` reads."""
    record = asdict(manifest)
    version = record.pop("format_version")
    for optional in ("own_dimensions", "has_text_ids", "campaign"):
        if not record[optional]:
            del record[optional]
    return record | {"format_version": version, CHECKSUM: record_checksum(record)}


def waiting_manifest(folder: Path) -> Manifest | None:
    """The manifest of data that wait for their index; None when there are none."""
    try:
        waiting = read_manifest(folder, WAITING_FILE)
    except EvenrankError:
        return None
    manifest = previous_manifest(folder)
    is_old = manifest is not None and manifest.data_folder == waiting.data_folder  # a switch was killed at its end
    return None if is_old else waiting


def put_data(folder: Path, manifest: Manifest, *, at_once: bool = False) -> Manifest:
    """Switch to new data, or let them wait while the index of the earlier ones is in use; the manifest as written.

    An index that is made from the same pages and texts serves the new data as well. Data without texts cannot have
    an index, and data that replace an unindexed collection need none: neither of them waits, nor does anything that
    is wanted `at_once`.
    """
    with locked_alone(folder):
        before = previous_manifest(folder)
        index = "" if before is None or not is_index_complete(folder / before.index_folder) else before.index_folder
        if before is not None and index and made_from(before) == made_from(manifest):
            manifest = replace(manifest, index_folder=index)
        elif index and "corpus" in manifest.sources and not at_once:
            write_manifest(folder, replace(manifest, index_folder=""), WAITING_FILE)
            return replace(manifest, index_folder="")
        else:
            manifest = replace(manifest, index_folder="")
        write_manifest(folder, manifest)
        (folder / WAITING_FILE).unlink(missing_ok=True)
        return manifest


def put_index(folder: Path, manifest: Manifest, index_folder: str) -> Manifest:
    """Switch to data and the index that was made from them, both at once; the manifest as written."""
    with locked_alone(folder):
        waiting = waiting_manifest(folder)
        manifest = replace(manifest, index_folder=index_folder)
        write_manifest(folder, manifest)
        if waiting is not None and waiting.data_folder == manifest.data_folder:
            (folder / WAITING_FILE).unlink(missing_ok=True)
        return manifest


def is_changes(source: str) -> bool:
    """Whether a source of a collection is a file of changes (`trec.changes`)."""
    return source.startswith(CHANGES)


def made_from(manifest: Manifest) -> tuple[object, ...]:
    """What an index of these data is made from."""
    files = {name: facts for name, facts in manifest.files.items() if name not in BESIDE_INDEX}
    corpus = manifest.sources.get("corpus")
    mark = None if corpus is None else (corpus.size_bytes, corpus.md5)
    return files, mark, manifest.dimensions, manifest.language


def is_index_complete(folder: Path) -> bool:
    """Whether a folder holds a complete index."""
    try:
        return orjson.loads((folder / BUILD_FILE).read_bytes())["is_complete"] is True
    except (OSError, ValueError, KeyError, TypeError):
        return False


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
        found = f"could not be written: {reason_of(error)}"
        raise input_error(folder, 0, found, "make room or name another folder; nothing was changed") from error
    finally:
        with suppress(OSError):
            for parent in made:
                parent.rmdir()


def _refuse_file(folder: Path) -> None:
    if folder.is_file():
        raise input_error(folder, 0, "a file, where a folder was expected", "name another folder")


def previous_manifest(folder: Path) -> Manifest | None:
    """The manifest of what is there; None without a collection, or with one that cannot be read."""
    try:
        return read_manifest(folder)
    except EvenrankError:
        return None


def has_releases(folder: Path) -> bool:
    """Whether it is a folder of releases (`trec.releases`)."""
    return any(folder.glob("release-*.json"))


def refuse_releases(folder: Path) -> None:
    """EvenrankError for a folder of releases, whose versions are made elsewhere."""
    if has_releases(folder):
        fix = "change the collection that they were packed from"
        raise EvenrankError(f"{folder}: a folder of releases, which are never changed ({fix})")


def new_data_folder(folder: Path) -> Path:
    from tempfile import mkdtemp

    refuse_releases(folder)
    try:
        for left in (*folder.glob(".data-*.tmp"), *folder.glob(".index-*.tmp"), *folder.glob(".index.tmp")):
            remove_tree(left)
        return Path(mkdtemp(prefix=".data-", suffix=".tmp", dir=folder))
    except OSError as error:
        raise input_error(folder, 0, f"could not be made: {reason_of(error)}", "name another folder") from error


def next_folder(folder: Path, kind: str, *named: str) -> Path:
    """The next folder `data-N` or `index-N`, after those `named`; anything there that is not ours stays."""
    numbers = [name.removeprefix(f"{kind}-") for name in named]
    last = max((int(number) for number in numbers if number.isdecimal()), default=0)
    return next(path for number in count(last + 1) if not (path := folder / f"{kind}-{number}").exists())


def remove_old_data(folder: Path) -> None:
    """Remove what earlier imports made and no manifest names, and nothing else that has such a name.

    What a reader still has open stays until the next import. A folder is renamed first: if the removal is killed, the
    next import knows the rest by its name.
    """
    current, waiting = previous_manifest(folder), waiting_manifest(folder)
    if current is None:
        return
    named = {current.data_folder, waiting.data_folder if waiting else ""}
    for old in folder.glob("data-*"):
        is_ours = old.name.removeprefix("data-").isdecimal() and (old / "page_ids.npy").exists()
        if is_ours and old.name not in named:
            with suppress(OSError), no_leases(old) as is_free:
                if is_free:
                    remove_folder(old)


def remove_folder(old: Path) -> None:
    """Remove a folder of a collection, which is gone under its name at once."""
    doomed = old.with_name(f".{old.name}.tmp")
    os.replace(old, doomed)
    remove_tree(doomed)
