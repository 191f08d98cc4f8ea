"""A Spark session, this package on its executors, and functions mapped over batches by them."""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from evenrank.errors import EvenrankError, MissingExtraError, first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")
BATCHES_AT_ONCE = 64
"""Batches that are sent to the executors together; their results are in memory at the same time."""
RECORDS_PER_BATCH = 500
"""Records handed to Python at once."""
QUICKLY_COMPILED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
JAVA_OPTIONS = {
    "spark.driver.extraJavaOptions": QUICKLY_COMPILED,
    "spark.executor.extraJavaOptions": QUICKLY_COMPILED,
}
"""The driver only plans, and executors hand records to Python, which does the work: compiling their own code well costs
more processor time than it saves."""
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
    builder = SparkSession.builder.appName("evenrank")
    builder = builder.remote(remote) if remote else builder.master(master) if master else builder
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(RECORDS_PER_BATCH))
    if not remote:  # a server of Spark Connect refuses to change this
        builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    for name, value in {**({} if remote else JAVA_OPTIONS), **(settings or {})}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        is_incomplete = bool(remote) and "PACKAGE_NOT_INSTALLED" in str(error)
        fix = "Spark Connect needs more packages: pip install 'pyspark[connect]'" if is_incomplete else CANNOT_START
        raise EvenrankError(f"Spark could not start: {first_line(error)} ({fix})") from error


_SENT: WeakSet[SparkSession] = WeakSet()
"""Sessions whose executors have this package."""


def send_package(session: SparkSession) -> None:
    """Put this package on the executors' path, so that a cluster needs only what it depends on."""
    if session in _SENT:
        return
    folder = Path(tempfile.mkdtemp(prefix="evenrank-"))  # executors may start later and fetch it
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = folder / "evenrank.zip"
    source = Path(__file__).resolve().parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(source.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, Path("evenrank") / path.relative_to(source))
    if is_connect(session):
        session.addArtifacts(str(archive), pyfile=True)
    else:
        session.sparkContext.addPyFile(str(archive))
    _SENT.add(session)


def map_on_spark(
    session: SparkSession, function: Callable[[T], R], batches: Iterable[T], n_at_once: int = BATCHES_AT_ONCE
) -> Iterator[R]:
    """`function(batch)` of each batch, in the order of `batches`, computed by the executors.

    The function is defined at the top of a module of this package. A task whose worker dies is given to another.
    """
    from pyspark.errors import PySparkException

    send_package(session)
    remaining = iter(batches)
    while part := list(islice(remaining, n_at_once)):
        rows = [(number, pickle.dumps(batch)) for number, batch in enumerate(part)]
        frame = session.createDataFrame(rows, "number long, content binary").repartition(len(rows))
        done = frame.mapInArrow(partial(_apply, function=pickle.dumps(function)), "number long, content binary")
        try:
            results = {row.number: pickle.loads(row.content) for row in done.collect()}  # our own # nosec B301
        except PySparkException as error:
            raise EvenrankError(f"Spark failed: {first_line(error)}") from error
        for number in range(len(part)):
            result = results.pop(number)
            if isinstance(result, EvenrankError):
                raise result
            yield result


def _apply(batches: Iterable[Any], function: bytes) -> Iterator[Any]:
    """Results of pickled batches, pickled; our own errors are results too. Runs on the executors."""
    pyarrow = import_module("pyarrow")
    call = pickle.loads(function)  # made by this package # nosec B301
    for batch in batches:
        numbers, contents = (column.to_pylist() for column in batch.columns)
        for number, content in zip(numbers, contents, strict=True):
            try:
                result = call(pickle.loads(content))  # made by this package # nosec B301
            except EvenrankError as error:
                result = error
            arrays = [pyarrow.array([number], pyarrow.int64()), pyarrow.array([pickle.dumps(result)], pyarrow.binary())]
            yield pyarrow.RecordBatch.from_arrays(arrays, ["number", "content"])


def is_connect(session: SparkSession) -> bool:
    """Whether the session belongs to a Spark Connect server."""
    return "connect" in type(session).__module__
