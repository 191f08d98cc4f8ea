"""Commands in processes forked from one that has everything imported, each killed at a chosen call or run to its end.

A new interpreter for each kill would take a second or more; this takes what the command takes. The process that forks
never runs a command itself, so each command starts from the same state.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("kill_calls.c")
CALLS = ("rename", "sync", "remove", "write", "cut")
"""Kinds of calls: giving names, bringing data to the disk, removing, writing at a place, cutting a file short."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """Exit code; minus the number of the signal that ended it."""
    counts: dict[str, int]
    """Calls of each kind."""
    text: str
    """What it printed."""


def can_compile() -> bool:
    return sys.platform == "linux" and shutil.which("cc") is not None


def compile_calls(folder: Path) -> Path:
    """The library that counts calls, and kills at one; it is to be preloaded."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "kill_calls.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Warm:
    """The process that forks, and the way to ask it; a context manager."""

    def __init__(self, folder: Path) -> None:
        library = compile_calls(folder)
        self.log, self.counts = folder / "printed", folder / "counts"
        env = {**os.environ, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
        words = [sys.executable, "-m", "tests.robustness.warm", str(library), str(self.log), str(self.counts)]
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, words: Sequence[object], call: str = "", number: int = 0) -> Ended:
        """A command to its end, or to its `number`-th call of a kind."""
        self.start(words, call, number)
        return self.wait()

    def start(self, words: Sequence[object], call: str = "", number: int = 0) -> int:
        """The process of a command that has begun; `wait` must follow."""
        self.log.unlink(missing_ok=True)
        return self._ask([list(map(str, words)), call, number])

    def wait(self) -> Ended:
        """How the command that was started ended."""
        code = self._ask([])
        return Ended(code, self.calls(), self.printed())

    def calls(self) -> dict[str, int]:
        """How many calls of each kind the last command made."""
        counts = struct.unpack(f"{len(CALLS)}l", self.counts.read_bytes())
        return dict(zip(CALLS, counts, strict=True))

    def printed(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @contextmanager
    def serving(self, *words: object, call: str = "", number: int = 0) -> Iterator[int]:
        """The port of a server; 0 if it is killed before it names one. At the end it is stopped as a user would."""
        process = self.start(["serve", *words], call, number)
        try:
            while not (found := re.search(r":(\d+)/ ", self.printed())) and is_alive(process):
                time.sleep(0.02)
            yield int(found[1]) if found else 0
        finally:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
            self.wait()

    def _ask(self, request: list[object]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


def is_alive(process: int) -> bool:
    """Whether a process runs: one that has ended, and whose end nobody has asked for, does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _serve(library: str, log: str, counts: str) -> None:
    """Fork for each command on standard input, and wait for its end when asked with an empty line."""
    _import_all()
    calls = ctypes.CDLL(library)
    child = 0
    for line in sys.stdin:
        request = json.loads(line)
        if not request:
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        words, call, number = request
        child = os.fork()
        if not child:
            calls.evenrank_count_in(counts.encode())
            calls.evenrank_kill_at(call.encode(), ctypes.c_long(number))
            _be_command(words, log)
        print(child, flush=True)


def _be_command(words: list[str], log: str) -> None:
    """The forked process: run the command."""
    code = 1
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.environ.pop("LD_PRELOAD", None)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["evenrank", *words]
        try:
            from evenrank.cli.main import main

            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _import_all() -> None:
    """Everything that commands import, so that no fork imports it again."""
    import importlib
    import pkgutil

    import evenrank

    ours = [module.name for module in pkgutil.walk_packages(evenrank.__path__, "evenrank.")]
    figures = ["matplotlib.figure", *(f"matplotlib.backends.backend_{kind}" for kind in ("agg", "pdf", "svg"))]
    for name in (*ours, *figures):
        if ".spark" not in name and "opensearch" not in name:
            with suppress(ImportError):  # an extra that is not installed
                importlib.import_module(name)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
