"""A standalone Spark cluster on loopback: a master and two workers of one core each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.fleet.java import find_java
from tools.fleet.processes import FOLDER, POLL_SECONDS, PORT_SHIFT, FleetError, Server

PORT = 7977 + PORT_SHIFT
MASTER = f"spark://127.0.0.1:{PORT}"
"""What `evenrank annotate --master` takes."""
N_WORKERS = 2
MASTER_SERVER = Server("spark-master")
WORKERS = [Server(f"spark-worker-{number}") for number in range(1, N_WORKERS + 1)]
NEEDED_JAVA = 17
PACKAGES = ("pyspark==4.3.0", "pyarrow", "pandas")
"""Installed into this environment where PySpark is missing."""


def start() -> str:
    """Start master and workers, and give the master's address."""
    _start(MASTER_SERVER, "master.Master", "--host", "127.0.0.1", "--port", str(PORT), "--webui-port", "0")
    _wait(PORT)
    for number in range(N_WORKERS):
        start_worker(number)
    return MASTER


def start_worker(number: int) -> None:
    """Start one worker, counted from 0."""
    folder = FOLDER / f"spark-work-{number + 1}"
    options = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder)]
    _start(WORKERS[number], "worker.Worker", *options, MASTER)


def stop() -> None:
    for server in [*WORKERS, MASTER_SERVER]:
        server.stop()


def kill_when_busy(session: Any, number: int, seconds: float = 120) -> None:
    """Kill a worker, counted from 1, with its executors, as soon as all cores of the cluster have a task."""
    tracker, deadline = session.sparkContext.statusTracker(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
        if sum(stage.numActiveTasks for stage in stages if stage) >= N_WORKERS:
            WORKERS[number - 1].kill()
            return
        time.sleep(0.02)
    raise FleetError(f"Spark had no {N_WORKERS} tasks at once within {seconds:g} s")


def most_tasks_at_once(events: Path) -> int:
    """The largest number of tasks that ran at the same time, by Spark's own event log."""
    moments = []
    for path in sorted(path for path in events.rglob("*") if path.is_file() and not path.name.startswith(".")):
        for line in filter(None, path.read_text("utf-8").splitlines()):
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                moments += _start_and_end(event["Task Info"], event.get("Task Metrics") or {})
    running = most = 0
    for _, change in sorted(moments):
        running += change
        most = max(most, running)
    return most


def _start_and_end(info: Any, metrics: Any) -> list[tuple[int, int]]:
    """When a task began and ended on its executor; the driver notes the end later, when the next one may have begun."""
    worked = metrics.get("Executor Deserialize Time", 0) + metrics.get("Executor Run Time", 0)
    end = min(info["Finish Time"], info["Launch Time"] + worked) if worked else info["Finish Time"]
    return [(info["Launch Time"], 1), (end, -1)]


def _start(server: Server, name: str, *options: str) -> None:
    spec = find_spec("pyspark")
    if spec is None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *PACKAGES]
        subprocess.run(pip, check=False)
        invalidate_caches()
        spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise FleetError(f"PySpark could not be installed: pip install {' '.join(PACKAGES)}")
    home = Path(spec.origin).parent
    java_home = os.environ.get("JAVA_HOME") or str(Path(find_java(NEEDED_JAVA)).resolve().parents[1])
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        **({"JAVA_HOME": java_home} if Path(java_home, "bin", "java").exists() else {}),
    }
    server.start([str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options], environment)


def _wait(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if MASTER_SERVER.pid() is None:
            raise FleetError(f"Spark's master has stopped; {MASTER_SERVER.log} ends with:\n{MASTER_SERVER.tail()}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(POLL_SECONDS)
    raise FleetError(f"Spark's master did not listen within {seconds:g} s; see {MASTER_SERVER.log}")
