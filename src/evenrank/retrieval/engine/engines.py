"""The engines by the scheme of their address, and the index that one of them holds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import orjson

from evenrank.errors import EvenrankError, NoIndexError, UnknownNameError
from evenrank.io.atomic import atomic_file
from evenrank.parallel import n_cores
from evenrank.plugins import Registry, call_plug_in, guarded, instances
from evenrank.retrieval.engine.protocol import Engine, IndexLayout, UpdatingEngine
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.trec.arrays import CLASS_FILES
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import BUILD_FILE, has_releases, is_changes, is_index_complete, previous_manifest

DEFAULT_ADDRESS = "tantivy"
"""The engine of an index unless another is named: a folder on this machine."""


class CreateEngine(Protocol):
    """See `EngineKind.create`."""

    def __call__(
        self, address: str, folder: Path, layout: IndexLayout, n_threads: int, n_pages: int | None = None
    ) -> Engine: ...


def _nothing(address: str, folder: Path) -> None:
    """What an engine without anything outside its folder checks and removes."""


def _scheme_of(address: str) -> str:
    return address.partition("://")[0].partition("+")[0]  # opensearch+https: the same engine over TLS


@dataclass(frozen=True)
class EngineKind:
    """How indexes of one engine are made, opened and removed.

    All functions take the address as the user wrote it, the folder that belongs to the index, the layout of its
    fields, and the number of writer threads. Every build has a folder of its own, beside those of earlier builds,
    which stay in use until the new index is complete. `create` may get the expected number of pages. `open` raises
    EvenrankError when there is no such index.
    """

    scheme: str
    """The address without what follows `://`."""
    about: str
    create: CreateEngine
    """A new, empty index in an empty folder."""
    open: Callable[[str, Path, IndexLayout, int], Engine]
    """The index as far as it was committed."""
    check: Callable[[str, Path], None] = _nothing
    """EvenrankError when no index can be made at the address; asked before anything is written."""
    remove: Callable[[str, Path], None] = _nothing
    """Remove what an index has outside its folder; nobody uses it any more, and its folder is removed afterwards."""
    copy: Callable[[str, Path, Path, IndexLayout], UpdatingEngine | None] | None = None
    """A new index, in the second folder, with the pages of the finished one in the first, to be changed; None where
    that index cannot be changed. Without it, changed pages mean that the index is rebuilt."""
    keeps_previous: bool = False
    """Whether the index before the current one stays until the next build: servers on other machines, whose copy of
    the collection's folder nobody here knows of, may still search it."""
    takes_prepared: bool = False
    """Whether its indexes are a `PreparingEngine`, so that Spark can prepare the pages."""
    address: str = ""
    """Address of an index that is made with this object; empty for the scheme alone."""

    def at(self, address: str) -> EngineKind:
        """The same engine, whose next index is made at an address of its scheme."""
        if _scheme_of(address) != self.scheme:
            raise EvenrankError(f"{address!r} is no address of the engine {self.scheme} ({self.scheme}://…)")
        return replace(self, address=address)


def _create_tantivy(
    address: str, folder: Path, layout: IndexLayout, n_threads: int, n_pages: int | None = None
) -> Engine:
    return TantivyEngine.create(folder / "pages", layout, n_threads)


def _open_tantivy(address: str, folder: Path, layout: IndexLayout, n_threads: int) -> Engine:
    return TantivyEngine.open(folder / "pages", layout, n_threads)


def _copy_tantivy(address: str, source: Path, folder: Path, layout: IndexLayout) -> UpdatingEngine | None:
    return TantivyEngine.copy(source / "pages", folder / "pages", layout)


def _create_opensearch(
    address: str, folder: Path, layout: IndexLayout, n_threads: int, n_pages: int | None = None
) -> Engine:
    from evenrank.retrieval.engine.opensearch_engine import OpenSearchEngine

    return OpenSearchEngine.create(address, folder, layout, n_pages)


def _open_opensearch(address: str, folder: Path, layout: IndexLayout, n_threads: int) -> Engine:
    from evenrank.retrieval.engine.opensearch_engine import OpenSearchEngine

    return OpenSearchEngine.open(address, folder, layout)


def _check_opensearch(address: str, folder: Path) -> None:
    from evenrank.retrieval.engine.opensearch_index import Address, check_cluster

    check_cluster(Address.parse(address, folder))


def _remove_opensearch(address: str, folder: Path) -> None:
    from evenrank.retrieval.engine.opensearch_engine import remove_index

    remove_index(address, folder)


OPENSEARCH = EngineKind(
    "opensearch",
    "a cluster: opensearch://HOST:PORT,… (TLS: opensearch+https://HOST:PORT,…)",
    _create_opensearch,
    _open_opensearch,
    _check_opensearch,
    _remove_opensearch,
    keeps_previous=True,
    takes_prepared=True,
)
"""Offered by an entry point of this package, as the engines of other packages are."""
ENGINES: Registry[EngineKind] = Registry(
    "engines",
    {
        "tantivy": EngineKind(
            "tantivy", "a folder on this machine (the default)", _create_tantivy, _open_tantivy, copy=_copy_tantivy
        )
    },
    instances(EngineKind, lambda kind: kind.scheme),
)
"""Engines by the scheme of their address; all but the default one come in as plug-ins do."""


def engine_kind(address: str, given: object = None) -> EngineKind:
    """The engine that an address names: the given object, or one of a registry; an error with their names otherwise."""
    scheme = _scheme_of(address)
    if isinstance(given, EngineKind) and given.scheme == scheme:
        return _guarded_kind(given)
    if scheme not in ENGINES:
        hint = "an index of an engine object is opened with it: Collection.open(…, engine=…)"
        raise UnknownNameError("engine", address, ENGINES, hint)
    return _guarded_kind(ENGINES[scheme])


def _guarded_kind(kind: EngineKind) -> EngineKind:
    """The engine of a plug-in, whose errors say that they are its own."""
    if kind in (*ENGINES.builtin.values(), OPENSEARCH):
        return kind
    what = f"engine {kind.scheme}"

    def engine(function: Callable[..., object]) -> Callable[..., Any]:
        def made(*given: object) -> Any:
            found = call_plug_in(what, function, *given)
            return None if found is None and function is kind.copy else guarded(what, found)

        return made

    return replace(
        kind,
        create=engine(kind.create),
        open=engine(kind.open),
        check=partial(call_plug_in, what, kind.check),
        remove=partial(call_plug_in, what, kind.remove),
        copy=engine(kind.copy) if kind.copy is not None else None,
    )


PASSWORD_VARIABLE = "EVENRANK_ENGINE_PASSWORD"  # no password # nosec B105
"""Where the password of an engine is, when its address names a user without one. An index remembers no password."""
_LOGIN = re.compile(r"(?<=://)([^/?#@:]+):([^/?#]*)@")


def remembered_address(address: str) -> str:
    """The address of an engine as an index may remember it; its password is in the environment of this process."""
    found = _LOGIN.search(address)
    if found is None:
        return address
    os.environ[PASSWORD_VARIABLE] = unquote(found[2])
    return f"{address[: found.start()]}{found[1]}@{address[found.end() :]}"


NO_INDEX = ".no-index"
"""Name that no folder has."""
SCHEMA_VERSION = 3
"""Changes when an index must be rebuilt."""


@dataclass(frozen=True)
class BuildState:
    """What a build knows about itself."""

    sources: dict[str, str]
    """Fingerprints of the files that the index is made from, and the version of its schema."""
    engine: str = DEFAULT_ADDRESS
    """Address of the engine."""
    layout: IndexLayout = field(default_factory=IndexLayout)
    is_complete: bool = False


def sources_of(collection: Collection) -> dict[str, str]:
    """Fingerprints of what an index of this collection is made from."""
    files = collection.manifest.sources.items()
    made_from = ("corpus", "metadata")
    marks = {
        name: f"{source.size_bytes}:{source.md5}" for name, source in files if name in made_from or is_changes(name)
    }
    known = collection.manifest.files
    marks |= {name: known[name].crc32 for name in CLASS_FILES if name in known}  # earlier imports left the field out
    return {**marks, "schema": str(SCHEMA_VERSION)}


def layout_of(collection: Collection) -> IndexLayout:
    """The fields that an index of this collection needs beside its texts."""
    return IndexLayout(tuple(dimension.name for dimension in collection.dimensions), collection.manifest.language)


def read_state(folder: Path) -> BuildState | None:
    """The state of the build in a folder; None when there is none that can be read."""
    try:
        record = orjson.loads((folder / BUILD_FILE).read_bytes())
        layout = IndexLayout()
        if "layout" in record:
            layout = IndexLayout(tuple(record["layout"]["groups"]), record["layout"]["language"])
        return BuildState(record["sources"], record.get("engine", DEFAULT_ADDRESS), layout, record["is_complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_state(folder: Path, state: BuildState) -> None:
    """Put the state in place, in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(folder / BUILD_FILE) as file:
        file.write(orjson.dumps(asdict(state)))


def index_folder(collection: Collection) -> Path:
    """The folder of the index of a collection's data, which may have been built since the collection was opened; a
    folder that does not exist when they have none."""
    known = collection.manifest.index_folder
    if known and (collection.path / known).is_dir():
        return collection.path / known
    current = previous_manifest(collection.path)
    if current is not None and current.data_folder == collection.manifest.data_folder and current.index_folder:
        return collection.path / current.index_folder
    return collection.path / NO_INDEX


def built_folders(path: Path) -> list[Path]:
    """The folders of a collection that hold indexes, complete or not, the oldest first."""
    numbered = [found for found in path.glob("index-*") if found.name.removeprefix("index-").isdecimal()]
    numbered.sort(key=lambda found: int(found.name.removeprefix("index-")))
    return [found for found in (path / "index", *numbered) if (found / BUILD_FILE).is_file()]


def open_index(collection: Collection) -> Engine:
    """The finished index of a collection; an error that says what to run when there is none."""
    folder = index_folder(collection)
    state = read_state(folder)
    run = f"run: evenrank index {collection.path}"
    if has_releases(collection.path):
        run = "a part of its release is missing; pack or fetch the release again"
    if state is None:
        if unfinished := [built for built in built_folders(collection.path) if not is_index_complete(built)]:
            raise NoIndexError(f"{unfinished[-1]}: the index is not finished ({run}; it resumes)")
        raise NoIndexError(f"{collection.path}: no index ({run})")
    if state.sources != (wanted := sources_of(collection)):
        is_older = {**state.sources, "schema": wanted["schema"]} == wanted
        what = "by another version of Evenrank" if is_older else "from other files than the collection has now"
        raise NoIndexError(f"{folder}: made {what} ({run})")
    if not state.is_complete:
        raise NoIndexError(f"{folder}: the index is not finished ({run}; it resumes)")
    return engine_kind(state.engine, collection.engine).open(state.engine, folder, state.layout, n_cores())
