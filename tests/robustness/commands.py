"""The command line as a user runs it: in a process of its own, with its exit code and what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = (sys.executable, "-m", "evenrank.cli.main")


def start(words: Sequence[object], env: Mapping[str, str] | None = None, **options: object) -> subprocess.Popen[str]:
    """A command that runs beside this process."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        **options,  # type: ignore[call-overload]
    )


def run(words: Sequence[object], timeout: float = 120, **options: object) -> subprocess.CompletedProcess[str]:
    """A command, to its end; a traceback is never an answer."""
    ended = subprocess.run(
        [*PROGRAM, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        **options,  # type: ignore[call-overload]
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


def leftovers(folder: Path) -> list[str]:
    """Temporary files, lock files and unfinished work anywhere below a folder."""
    found = [path for path in folder.rglob(".*") if path.suffix in (".tmp", ".lock", ".work", ".old")]
    found = [path for path in found if not path.name.startswith(".tantivy-")]  # the engine's own, which stay
    return sorted(str(path.relative_to(folder)) for path in found)
