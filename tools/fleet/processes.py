"""Server processes in the background, each with a log and a file that holds its process id."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("EVENRANK_FLEET", ROOT / "build" / "fleet"))
"""Where jars, data, logs and process ids are kept."""
PORT_SHIFT = int(os.environ.get("EVENRANK_FLEET_PORTS", "0"))
"""Added to all ports, so that several checkouts can have servers on one machine."""
POLL_SECONDS = 0.3


class FleetError(Exception):
    """A server could not be started; the message says which and where its log is."""


@dataclass(frozen=True)
class Server:
    """One background process."""

    name: str

    @property
    def log(self) -> Path:
        return FOLDER / f"{self.name}.log"

    @property
    def pid_file(self) -> Path:
        return FOLDER / f"{self.name}.pid"

    def pid(self) -> int | None:
        """The process id while the process runs."""
        try:
            pid = int(self.pid_file.read_text())
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, ValueError):
            return None
        return None if state == "Z" else pid

    def start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the command in a session of its own, unless it is running."""
        if self.pid() is not None:
            return
        FOLDER.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
        self.pid_file.write_text(str(process.pid))

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the process and its children, and wait until it is gone."""
        pid = self.pid()
        if pid is None:
            return
        os.killpg(pid, number)
        deadline = time.monotonic() + 30
        while self.pid() is not None and time.monotonic() < deadline:
            reap(pid)
            time.sleep(POLL_SECONDS)
        if self.pid() is not None:
            os.killpg(pid, signal.SIGKILL)
            reap(pid)

    def stop(self) -> None:
        """End the process in good order."""
        self.kill(signal.SIGTERM)
        self.pid_file.unlink(missing_ok=True)

    def tail(self) -> str:
        """The end of the log."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-15:])


def reap(pid: int) -> None:
    """Collect an ended child, so that it does not stay behind as a zombie."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def wait_for_answer(url: str, server: Server, seconds: float = 240) -> None:
    """Wait until an HTTP address answers."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.pid() is None:
            raise FleetError(f"{server.name} has stopped; {server.log} ends with:\n{server.tail()}")
        try:
            with urlopen(url, timeout=5):
                if server.pid() is not None:
                    return
        except (URLError, OSError):
            time.sleep(POLL_SECONDS)
    raise FleetError(f"{server.name} did not answer at {url} within {seconds:g} s; see {server.log}")
