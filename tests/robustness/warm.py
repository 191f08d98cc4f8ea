"""Commands in processes forked from one that has everything imported, each killed at a chosen call or run to its end.

A new interpreter for each kill would take a second or more; this takes what the command takes. The process that forks
never runs a command itself, so each command starts from the same state.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
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
    """Calls of each kind; empty for one that was killed."""
    text: str
    """What it printed."""


def can_compile() -> bool:
    return sys.platform == "linux" and shutil.which("cc") is not None


class Warm:
    """The process that forks, and the way to ask it; a context manager."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / "kill_calls.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
        self.log = folder / "printed"
        env = {**os.environ, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
        words = [sys.executable, "-m", "tests.robustness.warm", str(library), str(self.log)]
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, words: Sequence[object], call: str = "", number: int = 0) -> Ended:
        """A command to its end, or to its `number`-th call of a kind."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([list(map(str, words)), call, number]) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return Ended(answer["code"], answer["counts"], self.log.read_text(errors="replace"))

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


def _serve(library: str, log: str) -> None:
    """Fork for each request on standard input, and answer on standard output."""
    _import_all()
    library_calls = ctypes.CDLL(library)
    for line in sys.stdin:
        words, call, number = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _be_command(words, call, number, library_calls, writer, log)
        os.close(writer)
        with os.fdopen(reader) as told:
            counts = json.loads(told.read() or "{}")
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "counts": counts}), flush=True)


def _be_command(words: list[str], call: str, number: int, calls: ctypes.CDLL, writer: int, log: str) -> None:
    """The forked process: run the command and tell the counts, if it comes so far."""
    code = 1
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.environ.pop("LD_PRELOAD", None)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["evenrank", *words]
        calls.evenrank_kill_at(call.encode(), ctypes.c_long(number))
        try:
            from evenrank.cli.main import main

            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
        calls.evenrank_count.restype = ctypes.c_long
        os.write(writer, json.dumps({kind: calls.evenrank_count(kind.encode()) for kind in CALLS}).encode())
    finally:
        os._exit(code)


def _import_all() -> None:
    """Everything that commands import, so that no fork imports it again."""
    import importlib
    import pkgutil

    import evenrank

    for module in pkgutil.walk_packages(evenrank.__path__, "evenrank."):
        if ".spark" not in module.name and "opensearch" not in module.name:
            try:
                importlib.import_module(module.name)
            except ImportError:  # an extra that is not installed
                continue


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2])
