"""A PostgreSQL server on loopback, with data of its own, run by an unprivileged user."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.fleet.processes import POLL_SECONDS, PORT_SHIFT, FleetError, Server

USER = "evenrank"
RUN_AS = "postgres"
"""PostgreSQL does not run as root; this user, which its Debian package makes, runs it then."""


@dataclass(frozen=True)
class PostgresServer:
    """A server with its data."""

    server: Server
    port: int
    data: Path
    """Where the server's user can reach it."""
    options: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """What `evenrank serve --store` takes."""
        return self.url_of(USER)

    def url_of(self, database: str) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> str:
        """Start the server, make its database, and give its address."""
        if self.server.pid() is None:
            self._make()
            options = ["-D", str(self.data), "-p", str(self.port), "-h", "127.0.0.1", "-k", "", *self.options]
            self.server.start(_as_user([_program("postgres"), *options]))
        self._wait()
        if "1" not in self.sql(f"SELECT 1 FROM pg_database WHERE datname = '{USER}'").stdout:
            self.sql(f"CREATE DATABASE {USER}")
        return self.url

    def stop(self, number: int = signal.SIGINT) -> None:
        """Stop the server without waiting for its clients to leave, or by another signal."""
        self.server.kill(number)
        self.server.pid_file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the data of a stopped server."""
        shutil.rmtree(self.data, ignore_errors=True)

    def sql(self, statement: str, database: str = "postgres") -> subprocess.CompletedProcess[str]:
        """Run a statement with the server's own client."""
        options = ["-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", database, "-Atc", statement]
        return subprocess.run([_program("psql"), *options], capture_output=True, text=True, check=False)

    def _make(self) -> None:
        if (self.data / "PG_VERSION").exists():
            return
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        if os.geteuid() == 0:
            shutil.chown(self.data, RUN_AS, RUN_AS)
        options = ["-D", str(self.data), "-U", USER, "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"]
        command = _as_user([_program("initdb"), *options])
        made = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        if made.returncode:
            raise FleetError(f"initdb failed: {made.stderr.strip()}")

    def _wait(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.server.pid() is None:
                raise FleetError(f"PostgreSQL has stopped; {self.server.log} ends with:\n{self.server.tail()}")
            if self.sql("SELECT 1").returncode == 0:
                return
            time.sleep(POLL_SECONDS)
        raise FleetError(f"PostgreSQL did not answer within {seconds:g} s; see {self.server.log}")


PORT = 54329 + PORT_SHIFT
MAIN = PostgresServer(
    Server("postgres"), PORT, Path(os.environ.get("EVENRANK_POSTGRES_DATA", f"/var/tmp/evenrank-postgres-{PORT}"))
)
SERVER = MAIN.server
URL = MAIN.url


def start() -> str:
    return MAIN.start()


def stop() -> None:
    MAIN.stop()


def remove() -> None:
    """Remove the data of a stopped server."""
    MAIN.remove()


@contextmanager
def temporary_server() -> Iterator[PostgresServer]:
    """A running server on a free port, removed at the end; it leaves the writing of files to the system (-F)."""
    _program("initdb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    folder = Path(tempfile.mkdtemp(prefix="evenrank-postgres-"))
    folder.chmod(0o755)
    made = PostgresServer(Server(f"postgres-{port}"), port, folder / "data", ("-F",))
    try:
        made.start()
        yield made
    finally:
        made.stop(signal.SIGQUIT)
        made.server.log.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str:
    """A program of the newest PostgreSQL of the machine."""
    known = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    found = str(known[-1]) if known else shutil.which(name)
    if found is None:
        raise FleetError(f"{name} was not found: install PostgreSQL (Debian: postgresql)")
    return found


def _as_user(command: list[str]) -> list[str]:
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={RUN_AS}", f"--regid={RUN_AS}", "--clear-groups", *command]
