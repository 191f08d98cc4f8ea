"""What a long command on a collection does at the moment, in a file of its folder, for the page of administrators."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from evenrank.errors import InputError, hide_passwords, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.progress import observed

NAME = "work.json"
EVERY_SECONDS = 1.0
"""How often progress is written."""


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Work:
    """A command: that runs, that ended, or that was killed."""

    command: str
    stage: str = ""
    """What it is working on."""
    done: float = 0.0
    total: float = 0.0
    """0 where nobody knows how much there is."""
    started: str = field(default_factory=_now)
    updated: str = field(default_factory=_now)
    ended: str = ""
    error: str = ""
    """Why it failed."""
    host: str = field(default_factory=socket.gethostname)
    process: int = field(default_factory=os.getpid)

    @property
    def share(self) -> float:
        """How much of the stage is done, between 0 and 1; 0 where nobody knows."""
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0

    @property
    def is_running(self) -> bool:
        """Whether its process lives; that of another machine is believed to."""
        if self.ended or self.host != socket.gethostname():
            return not self.ended
        try:
            state = Path(f"/proc/{self.process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state != "Z"


def read_work(folder: Path) -> Work | None:
    """The last command on a collection that told of itself."""
    try:
        return Work(**orjson.loads((folder / NAME).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


@contextmanager
def reported(folder: Path, command: str) -> Iterator[None]:
    """A block of work on a collection whose progress and end others can read; while another command works on it, that
    one reports."""
    known = read_work(folder)
    if known is not None and known.is_running and (known.process, known.host) != (os.getpid(), socket.gethostname()):
        yield
        return
    work, written = Work(command), time.monotonic()

    def note(stage: str, done: float, total: float) -> None:
        nonlocal work, written
        is_due = stage != work.stage or time.monotonic() - written >= EVERY_SECONDS
        work = replace(work, stage=stage, done=done, total=total)
        if is_due:
            written = time.monotonic()
            _write(folder, work)

    _write(folder, work)
    try:
        with observed(note):
            yield
    except BaseException as error:
        text = hide_passwords(str(error) if isinstance(error, Exception) else type(error).__name__)
        _write(folder, replace(work, ended=_now(), error=text or reason_of(error)))
        raise
    _write(folder, replace(work, ended=_now()))


def _write(folder: Path, work: Work) -> None:
    """A folder that is no collection yet, or that cannot be written, gets no file: the work itself matters more."""
    if (folder / "manifest.json").is_file():
        with suppress(InputError), atomic_file(folder / NAME) as file:
            file.write(orjson.dumps(asdict(replace(work, updated=_now()))))
