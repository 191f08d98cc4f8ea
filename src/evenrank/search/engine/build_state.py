"""The state of an index build: what it is made from, how far it is, whether it is complete.

A commit of the index and a write of this file cannot be one step. So the state is written before each commit with
the place that the commit reaches and the place of the commit before; the index itself tells which of them holds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from evenrank.collection.collection import Collection
from evenrank.formats.atomic import atomic_file
from evenrank.formats.content import START, Position
from evenrank.search.engine.tantivy_schema import SCHEMA_VERSION

FILE_NAME = "build.json"


@dataclass(frozen=True)
class Checkpoint:
    """A place in the corpus that a commit covers."""

    n_added: int
    """Pages added to the index up to here."""
    position: Position = START


@dataclass(frozen=True)
class BuildState:
    """What a build knows about itself."""

    sources: dict[str, str]
    """Fingerprints of the files that the index is made from, and the version of its schema."""
    checkpoints: tuple[Checkpoint, ...] = (Checkpoint(0),)
    """The last commits, oldest first."""
    is_complete: bool = False

    def reached(self, checkpoint: Checkpoint) -> BuildState:
        """The state to write before the commit that reaches `checkpoint`."""
        return replace(self, checkpoints=(*self.checkpoints[-1:], checkpoint))

    def resume_at(self, n_added: int) -> Checkpoint | None:
        """Where to go on with an index that holds `n_added` pages; None when it was not made by this build."""
        found = [checkpoint for checkpoint in self.checkpoints if checkpoint.n_added == n_added]
        return found[-1] if found else None


def sources_of(collection: Collection) -> dict[str, str]:
    """Fingerprints of what an index of this collection is made from."""
    files = collection.manifest.sources.items()
    marks = {name: f"{source.size_bytes}:{source.md5}" for name, source in files if name in ("corpus", "metadata")}
    return {**marks, "schema": str(SCHEMA_VERSION)}


def read_state(folder: Path) -> BuildState | None:
    """The state of the build in a folder; None when there is none that can be read."""
    try:
        record = orjson.loads((folder / FILE_NAME).read_bytes())
        points = [Checkpoint(point["n_added"], Position(*point["position"])) for point in record["checkpoints"]]
        return BuildState(record["sources"], tuple(points), record["is_complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_state(folder: Path, state: BuildState) -> None:
    """Put the state in place, in one step."""
    with atomic_file(folder / FILE_NAME) as file:
        file.write(orjson.dumps(asdict(state), default=tuple))  # a Position is a named tuple
