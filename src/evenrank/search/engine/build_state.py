"""The manifest of an index: what it is made from, which engine holds it, whether it is complete."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from evenrank.collection.collection import Collection
from evenrank.formats.atomic import atomic_file
from evenrank.search.engine.engines import DEFAULT_ADDRESS
from evenrank.search.engine.protocol import IndexLayout

FILE_NAME = "build.json"
SCHEMA_VERSION = 2
"""Changes when an index must be built anew."""


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
    marks = {name: f"{source.size_bytes}:{source.md5}" for name, source in files if name in ("corpus", "metadata")}
    return {**marks, "schema": str(SCHEMA_VERSION)}


def layout_of(collection: Collection) -> IndexLayout:
    """The fields that an index of this collection needs beside its texts."""
    return IndexLayout(tuple(dimension.name for dimension in collection.dimensions), collection.manifest.language)


def read_state(folder: Path) -> BuildState | None:
    """The state of the build in a folder; None when there is none that can be read."""
    try:
        record = orjson.loads((folder / FILE_NAME).read_bytes())
        layout = IndexLayout()
        if "layout" in record:
            layout = IndexLayout(tuple(record["layout"]["groups"]), record["layout"]["language"])
        return BuildState(record["sources"], record.get("engine", DEFAULT_ADDRESS), layout, record["is_complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_state(folder: Path, state: BuildState) -> None:
    """Put the state in place, in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(folder / FILE_NAME) as file:
        file.write(orjson.dumps(asdict(state)))
