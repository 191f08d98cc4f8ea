"""The visible list of engines. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evenrank.errors import UnknownNameError
from evenrank.search.engine.protocol import Engine, IndexLayout
from evenrank.search.engine.tantivy_engine import TantivyEngine

DEFAULT_ADDRESS = "tantivy"
"""The engine of an index unless another is named: a folder on this machine."""


@dataclass(frozen=True)
class EngineKind:
    """How indexes of one engine are made and opened.

    Both functions take the address as the user wrote it, the folder that belongs to the index, the layout of its
    fields, and the number of writer threads. `open` raises EvenrankError when there is no such index.
    """

    scheme: str
    """The address without what follows `://`."""
    about: str
    create: Callable[[str, Path, IndexLayout, int], Engine]
    """A new, empty index in place of any earlier one."""
    open: Callable[[str, Path, IndexLayout, int], Engine]
    """The index as far as it was committed."""


def _create_tantivy(address: str, folder: Path, layout: IndexLayout, n_threads: int) -> Engine:
    return TantivyEngine.create(folder / "pages", layout, n_threads)


def _open_tantivy(address: str, folder: Path, layout: IndexLayout, n_threads: int) -> Engine:
    return TantivyEngine.open(folder / "pages", layout, n_threads)


def _create_opensearch(address: str, folder: Path, layout: IndexLayout, n_threads: int) -> Engine:
    from evenrank.search.engine.opensearch_engine import OpenSearchEngine

    return OpenSearchEngine.create(address, folder, layout)


def _open_opensearch(address: str, folder: Path, layout: IndexLayout, n_threads: int) -> Engine:
    from evenrank.search.engine.opensearch_engine import OpenSearchEngine

    return OpenSearchEngine.open(address, folder, layout)


ENGINES: dict[str, EngineKind] = {
    kind.scheme: kind
    for kind in (
        EngineKind("tantivy", "a folder on this machine (the default)", _create_tantivy, _open_tantivy),
        EngineKind("opensearch", "a cluster: opensearch://HOST:PORT,…", _create_opensearch, _open_opensearch),
    )
}
"""Engines by the scheme of their address."""


def engine_kind(address: str) -> EngineKind:
    """The engine that an address names; an error that lists the known ones otherwise."""
    scheme = address.partition("://")[0]
    if scheme not in ENGINES:
        raise UnknownNameError("engine", address, ENGINES)
    return ENGINES[scheme]
