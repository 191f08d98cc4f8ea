"""Releases: versions of a collection in a folder that other machines copy, mount or read over HTTP.

A folder of releases is a collection itself. Release N has the folders `data-N`, `index-N` and `corpus-N`, and a record,
`release-N.json`, with the size and the SHA-256 of each of its files. The manifest names the current release; replacing
that one file is how every server that follows the folder, here or on other machines, gets to see another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from evenrank.core.types import FilePath
from evenrank.errors import DamagedCollectionError, EvenrankError, NoIndexError, UnknownNameError, reason_of
from evenrank.io.atomic import link_or_copy, remove_tree, sync_tree, write_json
from evenrank.io.judgment_record import sha256_of
from evenrank.io.locking import no_leases
from evenrank.trec.checksums import LOCKS, file_fault, known_checksums, record_checksum
from evenrank.trec.collection import LEARNED_MODEL, Collection
from evenrank.trec.manifest import (
    BUILD_FILE,
    CHECKSUM,
    Manifest,
    is_index_complete,
    locked_folder,
    manifest_record,
    parse_manifest,
    previous_manifest,
    refuse_releases,
    remove_folder,
    write_manifest,
)

KEPT = 3
"""Releases that stay unless another number is asked for."""
PARTS = ("data", "index", "corpus")
"""What the folders of a release are called, before their number."""
_NAME = re.compile(r"(?:data|index|corpus)-(\d{1,9})(?:/[^/\\\0]+)+")
_NUMBERED = re.compile(r"(?:data|index|corpus|release)-(\d{1,9})(?:\.json)?$")


def record_name(number: object) -> str:
    return f"release-{number}.json"


@dataclass(frozen=True)
class ReleasedFile:
    """One file of a release."""

    size_bytes: int
    sha256: str

    def fault(self, path: Path, *, reads: bool = True) -> str | None:
        """What is wrong with the file at a path; None when it is this one. Without `reads`, its size decides."""
        try:
            size = path.stat().st_size
            if size != self.size_bytes:
                return f"{size:,} bytes, not {self.size_bytes:,}"
            found = sha256_of(path) if reads else self.sha256
        except OSError as error:
            return reason_of(error)
        return None if found == self.sha256 else f"its SHA-256 is {found}, not {self.sha256}"


@dataclass(frozen=True)
class Release:
    """A version of a collection as a folder of releases has it."""

    folder: Path
    manifest: Manifest
    files: Mapping[str, ReleasedFile]
    """By path inside the folder."""

    @property
    def number(self) -> int:
        return int(self.manifest.data_folder.removeprefix("data-"))

    @cached_property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files.values())

    @property
    def on_cluster(self) -> str:
        """The engine on other machines that holds its index; empty for an index whose files are here."""
        try:
            engine = str(orjson.loads((self.folder / self.manifest.index_folder / BUILD_FILE).read_bytes())["engine"])
        except (OSError, ValueError, KeyError):
            return ""
        return engine if "://" in engine else ""

    def __str__(self) -> str:
        date = f"data of {self.manifest.data_date}, " if self.manifest.data_date else ""
        n_pages = self.manifest.counts.get("pages", 0)
        return f"release {self.number}: {date}{n_pages:,} pages, {len(self.files)} files, {self.size_bytes:,} bytes"


def release_from(content: bytes, folder: Path, named: str) -> Release:
    """The release that a record describes; DamagedCollectionError when it is none. Its paths stay in the folder."""
    try:
        record = orjson.loads(content)
        if record.pop(CHECKSUM) != record_checksum(record):
            raise ValueError("its checksum does not match its content")
        files = {
            name: ReleasedFile(int(one["size_bytes"]), str(one["sha256"])) for name, one in record["files"].items()
        }
        manifest = parse_manifest(record["manifest"], named)
        release = Release(folder, manifest, files)
        if manifest.index_folder not in ("", f"index-{release.number}"):
            raise ValueError(f"{manifest.index_folder!r} is no folder of this release")
        for name in files:
            found = _NAME.fullmatch(name)
            if found is None or {"", ".", ".."} & set(name.split("/")) or int(found[1]) != release.number:
                raise ValueError(f"{name!r} is no file of this release")
        return release
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCollectionError(f"{named}: not the record of a release: {reason_of(error)}") from error


def _write_record(release: Release) -> None:
    """Put the record of a release in place."""
    files = {name: asdict(file) for name, file in release.files.items()}
    record: dict[str, Any] = {"manifest": manifest_record(release.manifest), "files": files}
    record[CHECKSUM] = record_checksum(record)
    write_json(release.folder / record_name(release.number), record)


def releases(folder: FilePath) -> dict[int, Release]:
    """The releases in a folder by their number, the oldest first; those that cannot be read are left out."""
    folder, found = Path(folder), {}
    for path in folder.glob(record_name("*")):
        with suppress(EvenrankError, OSError):
            release = release_from(path.read_bytes(), folder, str(path))
            found[release.number] = release
    return dict(sorted(found.items()))


def current_release(folder: FilePath) -> Release | None:
    """The release that the manifest of a folder names; None when the folder has none."""
    manifest = previous_manifest(Path(folder))
    return next((found for found in releases(folder).values() if found.manifest == manifest), None)


def pack_collection(folder: FilePath, target: FilePath, *, keep: int = KEPT, with_corpus: bool = True) -> Release:
    """Make the version of a collection that is in use the current release of the folder `target`.

    The collection is only read. Files that a release there has already are not stored again where the file system has
    links. The `keep` newest releases stay. A version that is the current release already is not packed again. Without
    its corpus, a release can be searched and served, but not indexed again, and pages for assessors have no texts.
    """
    folder, target = Path(folder), Path(target)
    collection = Collection.open(folder)
    manifest = collection.manifest
    refuse_releases(folder)
    if collection.corpus is not None and not is_index_complete(folder / manifest.index_folder):
        raise NoIndexError(f"{folder}: no index (run: evenrank index {folder})")
    with locked_folder(target):
        before = current_of_releases(target)
        known = releases(target)
        stored = {file: target / name for earlier in known.values() for name, file in earlier.files.items()}
        numbers = [int(found[1]) for path in target.glob("*-*") if (found := _NUMBERED.match(path.name))]
        number = max(numbers, default=0) + 1
        sources = dict(_sources(collection, number, with_corpus))
        files = {name: _file_of(path, name, collection, known) for name, path in sources.items()}
        release = Release(target, _manifest_of(collection, number, with_corpus), files)
        if before is not None and _is_same(release, before):
            return before
        try:
            for name, path in sources.items():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                same = stored.get(files[name], path)
                link_or_copy(path if files[name].fault(same, reads=False) else same, target / name)
                if fault := files[name].fault(target / name, reads=False):
                    raise DamagedCollectionError(f"{target / name}: {fault} (pack it again)")
            put_release(release, keep)
        except BaseException:
            if previous_manifest(target) != release.manifest:  # the release is not in use, and never will be
                (target / record_name(number)).unlink(missing_ok=True)
                for part in PARTS:
                    remove_tree(target / f"{part}-{number}")
            raise
        return release


def current_of_releases(target: Path) -> Release | None:
    """The current release of a folder, which has to hold releases, or nothing."""
    found = current_release(target)
    if found is None and previous_manifest(target) is not None:
        raise EvenrankError(f"{target}: a collection of its own, not a folder of releases (name another folder)")
    return found


def _sources(collection: Collection, number: int, with_corpus: bool) -> Iterator[tuple[str, Path]]:
    """The files of a release by their names in it."""
    folders = {"data": collection.data}
    if collection.manifest.index_folder:
        folders["index"] = collection.path / collection.manifest.index_folder
    for part, folder in folders.items():
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in LOCKS and not path.name.endswith(".tmp"):
                yield f"{part}-{number}/{path.relative_to(folder).as_posix()}", path
    model = collection.learned_model
    if model.is_file() and model.parent != collection.data:
        yield f"data-{number}/{LEARNED_MODEL}", model
    corpus = collection.corpus
    if with_corpus and corpus is not None:
        if not corpus.is_file():
            raise EvenrankError(f"{corpus}: the corpus of {collection.path} is missing (pack with --no-corpus)")
        yield f"corpus-{number}/{corpus.name}", corpus


def _file_of(path: Path, name: str, collection: Collection, known: Mapping[int, Release]) -> ReleasedFile:
    """Size and SHA-256 of a file, which has to be intact; those of a file that is in an earlier release are known."""
    inner = name.partition("/")[2]
    for number, release in known.items():
        earlier = f"{name.partition('-')[0]}-{number}/{inner}"
        with suppress(OSError):
            if earlier in release.files and (release.folder / earlier).samefile(path):
                same: ReleasedFile = release.files[earlier]
                return same
    manifest = collection.manifest
    if name.startswith("data-"):
        sums = manifest.files
    else:
        sums = known_checksums(collection.path / manifest.index_folder) if name.startswith("index-") else {}
    if inner in sums and (fault := file_fault(path.parents[inner.count("/")], inner, sums)):
        raise DamagedCollectionError(f"{path}: {fault} (it was not packed; run: evenrank doctor {collection.path})")
    return ReleasedFile(path.stat().st_size, sha256_of(path))


def _manifest_of(collection: Collection, number: int, with_corpus: bool) -> Manifest:
    manifest, sources = collection.manifest, dict(collection.manifest.sources)
    if with_corpus and collection.corpus is not None:
        sources["corpus"] = replace(sources["corpus"], path=f"corpus-{number}/{collection.corpus.name}")
    index = f"index-{number}" if manifest.index_folder else ""
    return replace(manifest, data_folder=f"data-{number}", index_folder=index, sources=sources)


def _is_same(one: Release, other: Release) -> bool:
    """Whether two releases differ in nothing but their numbers."""

    def content(release: Release) -> dict[str, ReleasedFile]:
        return {re.sub(r"-\d+/", "/", name, count=1): file for name, file in release.files.items()}

    return content(one) == content(other) and one.manifest.counts == other.manifest.counts


def put_release(release: Release, keep: int = KEPT) -> None:
    """Make a release whose files are all there the current one; of the others, the newest stay."""
    folder = release.folder
    for part in PARTS:
        if (folder / f"{part}-{release.number}").is_dir():
            sync_tree(folder / f"{part}-{release.number}")
    _write_record(release)
    write_manifest(folder, release.manifest)
    remove_old_releases(folder, keep)


def roll_back(folder: FilePath, to: int | None = None) -> Release:
    """Make an earlier release the current one: the one before it, or another by its number."""
    folder = Path(folder)
    with locked_folder(folder):
        known, current = releases(folder), current_release(folder)
        if current is None:
            raise EvenrankError(f"{folder}: not a folder of releases (evenrank collection pack makes one)")
        earlier = [number for number in known if number < current.number]
        if to is None and not earlier:
            raise EvenrankError(f"{folder}: release {current.number} is the oldest that is kept (pack keeps --keep N)")
        if to is not None and to not in known:
            raise UnknownNameError("release", to, known)
        release = known[earlier[-1] if to is None else to]
        for name, file in release.files.items():
            if fault := file.fault(folder / name, reads=False):
                raise DamagedCollectionError(f"{folder / name}: {fault} (nothing was changed; use another release)")
        write_manifest(folder, release.manifest)
        return release


def remove_old_releases(folder: Path, keep: int) -> None:
    """Remove all but the current and the newest releases, and what killed commands left; nothing that a process has
    open on this machine."""
    current = previous_manifest(folder)
    if current is None:
        return
    known = releases(folder)
    kept = {number for number, release in known.items() if release.manifest == current} | {*list(known)[-keep:]}
    folders = [(path, found) for path in folder.iterdir() if (found := _NUMBERED.match(path.name))]
    for number in {int(found[1]) for _, found in folders} - kept:
        mine = [path for path, found in folders if int(found[1]) == number]
        with suppress(OSError), ExitStack() as stack:
            parts = [path for path in mine if path.is_dir()]
            if all(stack.enter_context(no_leases(path)) for path in parts):
                (folder / record_name(number)).unlink(missing_ok=True)
                for path in parts:
                    remove_folder(path)
