"""The real server in a process of its own, and raw connections to it."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.robustness.commands import PROGRAM

QUESTION = {"title": "river", "keywords": ["river", "temple"]}


@contextmanager
def serving(folder: Path, *options: object, n_files: int = 1024, log: Path | None = None) -> Iterator[tuple[int, int]]:
    """(process id, port) of `evenrank serve` on a collection with an index."""
    words = [*PROGRAM, "serve", str(folder), "--port", "0", "--rate", "100000", *map(str, options)]
    limited = ["sh", "-c", f'ulimit -n {n_files}; exec "$@"', "serve", *words]
    with log.open("wb") if log else open(os.devnull, "wb") as errors:
        process = subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        assert found, line
        wait_until_ready(int(found[1]))
        yield process.pid, int(found[1])
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def wait_until_ready(port: int, process: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(1500):
        assert process is None or process.poll() is None, f"the server has ended with {process.returncode}"
        try:
            assert get(port, "/")[0] == 200
            return
        except OSError:
            __import__("time").sleep(0.2)
    raise AssertionError("the server does not answer")


def get(port: int, path: str, timeout: float = 30) -> tuple[int, dict[str, str]]:
    """Status and headers of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def post(port: int, path: str, body: bytes, kind: str = "application/json", timeout: float = 60) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("POST", path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def raw(port: int, content: bytes) -> socket.socket:
    """A connection that has sent some bytes and waits."""
    opened = socket.create_connection(("127.0.0.1", port), timeout=60)
    opened.sendall(content)
    return opened


def is_closed(opened: socket.socket, timeout: float) -> bool:
    """Whether the other side ends the connection in time."""
    opened.settimeout(timeout)
    try:
        while opened.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def n_descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def open_files(process: int) -> Counter[str]:
    """Open descriptors by the name of their file; those without one by their kind, such as `socket`."""
    found: Counter[str] = Counter()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            found[re.sub(r":\[\d+\]$", "", os.readlink(entry)).rpartition("/")[2]] += 1
    return found


def memory_mib(process: int) -> float:
    """Memory in use by a process."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) / 1024
