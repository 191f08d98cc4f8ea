"""A real Spark cluster for tests: a standalone master and two workers, each a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SPLIT_BYTES = 24_000
"""Size of the parts that Spark divides a file into."""


@contextmanager
def running_spark(events: Path) -> Iterator[Any]:
    """A session of a cluster, with small splits and an event log; skips where Spark or Java is not installed."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    pytest.importorskip("pyarrow", reason="the extra 'spark' is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    from tools.fleet import spark

    from evenrank.spark import start_spark

    started = start_spark(
        master=spark.start(),
        settings={
            "spark.sql.files.maxPartitionBytes": str(SPLIT_BYTES),
            "spark.sql.files.openCostInBytes": "1",
            "spark.sql.shuffle.partitions": "4",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": events.as_uri(),
            "spark.executor.memory": "512m",
        },
    )
    try:
        yield started
    finally:
        started.stop()
        spark.stop()
