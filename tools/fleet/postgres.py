"""A PostgreSQL server on loopback, with data of its own, run by an unprivileged user."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from tools.fleet.processes import POLL_SECONDS, FleetError, Server

PORT = 54329
USER = "evenrank"
URL = f"postgresql://{USER}@127.0.0.1:{PORT}/{USER}"
"""What `evenrank serve --store` takes."""
SERVER = Server("postgres")
RUN_AS = "postgres"
"""PostgreSQL does not run as root; this user, which its Debian package makes, runs it then."""


def start() -> str:
    """Start the server, make its database, and give its address."""
    if SERVER.pid() is None:
        data = _data()
        _make(data)
        SERVER.start(_as_user([_program("postgres"), "-D", str(data), "-p", str(PORT), "-h", "127.0.0.1", "-k", ""]))
    _wait()
    found = _sql("postgres", f"SELECT 1 FROM pg_database WHERE datname = '{USER}'")
    if "1" not in found.stdout:
        _sql("postgres", f"CREATE DATABASE {USER}")
    return URL


def stop() -> None:
    SERVER.stop()


def remove() -> None:
    """Remove the data of a stopped server."""
    shutil.rmtree(_data(), ignore_errors=True)


def _data() -> Path:
    """The data folder, where the server's user can reach it."""
    return Path(os.environ.get("EVENRANK_POSTGRES_DATA", f"/var/tmp/evenrank-postgres-{PORT}"))


def _make(data: Path) -> None:
    if (data / "PG_VERSION").exists():
        return
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    if os.geteuid() == 0:
        shutil.chown(data, RUN_AS, RUN_AS)
    command = [_program("initdb"), "-D", str(data), "-U", USER, "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"]
    made = subprocess.run(_as_user(command), capture_output=True, text=True, check=False, cwd="/")
    if made.returncode:
        raise FleetError(f"initdb failed: {made.stderr.strip()}")


def _wait(seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if SERVER.pid() is None:
            raise FleetError(f"PostgreSQL has stopped; {SERVER.log} ends with:\n{SERVER.tail()}")
        if _sql("postgres", "SELECT 1").returncode == 0:
            return
        time.sleep(POLL_SECONDS)
    raise FleetError(f"PostgreSQL did not answer within {seconds:g} s; see {SERVER.log}")


def _sql(database: str, statement: str) -> subprocess.CompletedProcess[str]:
    options = ["-h", "127.0.0.1", "-p", str(PORT), "-U", USER, "-d", database, "-Atc", statement]
    return subprocess.run([_program("psql"), *options], capture_output=True, text=True, check=False)


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
