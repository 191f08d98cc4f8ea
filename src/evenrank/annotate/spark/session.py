"""A Spark session, and this package on the executors."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from evenrank.errors import EvenrankError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS_PER_BATCH = 500
"""Records handed to Python at once."""
CANNOT_START = "is Java 17 or newer installed, and is the address right?"


def start_spark(
    master: str | None = None, remote: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session: of a Spark Connect server (`remote`), of a cluster (`master`), or what the environment says.

    `settings` are `spark.*` properties of the session.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("the engine 'spark'", "spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("evenrank annotate")
    builder = builder.remote(remote) if remote else builder.master(master) if master else builder
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(RECORDS_PER_BATCH))
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise EvenrankError(f"Spark could not start: {first_line(error)} ({CANNOT_START})") from error


_SENT: WeakSet[SparkSession] = WeakSet()
"""Sessions whose executors have this package."""


def send_package(session: SparkSession) -> None:
    """Put this package on the executors' path, so that a cluster needs only what it depends on."""
    if session in _SENT:
        return
    folder = Path(tempfile.mkdtemp(prefix="evenrank-"))  # executors may start later and fetch it
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = folder / "evenrank.zip"
    source = Path(__file__).resolve().parents[2]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(source.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, Path("evenrank") / path.relative_to(source))
    if is_connect(session):
        session.addArtifacts(str(archive), pyfile=True)
    else:
        session.sparkContext.addPyFile(str(archive))
    _SENT.add(session)


def is_connect(session: SparkSession) -> bool:
    """Whether the session belongs to a Spark Connect server."""
    return "connect" in type(session).__module__


def first_line(error: Any) -> str:
    """What Spark says, without its stack trace."""
    return str(error).strip().partition("\n")[0]
