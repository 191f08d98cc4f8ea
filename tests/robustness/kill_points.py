"""Commands killed at chosen system calls: the calls that give names and bring data to the disk."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.robustness.commands import PROGRAM

CALLS = "rename,renameat,renameat2,fsync,fdatasync,unlink,unlinkat,rmdir"


def has_strace() -> bool:
    """Whether processes can be traced here."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


def count_calls(words: Sequence[object], log: Path) -> dict[str, int]:
    """How often a command makes each of the calls, in the thread that makes the most of them."""
    traced = ["strace", "-f", "-qq", "-e", f"trace={CALLS}", "-o", str(log), *PROGRAM, *map(str, words)]
    ended = subprocess.run(traced, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    counts: dict[tuple[str, str], int] = {}
    for process, call in re.findall(r"^(\d+)\s+(\w+)\(", log.read_text(errors="replace"), re.MULTILINE):
        counts[process, call] = counts.get((process, call), 0) + 1
    most: dict[str, int] = {}
    for (_, call), number in counts.items():
        most[call] = max(most.get(call, 0), number)
    return most


def kill_at(words: Sequence[object], call: str, number: int) -> bool:
    """Run a command and kill it when a thread makes its `number`-th such call; False when it came to its end."""
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    traced += ["-e", f"inject={call}:signal=SIGKILL:when={number}", *PROGRAM, *map(str, words)]
    return subprocess.run(traced, capture_output=True, timeout=180).returncode != 0


@contextmanager
def killed_server(words: Sequence[object], call: str, number: int) -> Iterator[int]:
    """The port of a server that is killed when one of its threads makes its `number`-th such call.

    If it is still alive at the end, it is stopped as a user would.
    """
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    traced += ["-e", f"inject={call}:signal=SIGKILL:when={number}", *PROGRAM, "serve", *map(str, words)]
    server = subprocess.Popen(traced, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    try:
        found = re.search(r":(\d+)/", server.stdout.readline())
        yield int(found[1]) if found else 0  # 0: killed before it could say
    finally:
        server.terminate()
        server.wait(60)
        server.stdout.close()
