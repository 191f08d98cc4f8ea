"""Annotation by processes of this machine and by a Spark cluster: the same bytes, processor time, tasks at once."""

from __future__ import annotations

import bz2
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.fleet import spark as cluster

from annotate import generated_lines, real_pages
from evenrank.spark import start_spark
from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs

N_ARTICLES, N_ENTITIES = 24_000, 150_000
"""With a third of the articles, Spark's own start takes as long as the work."""
N_FEW = 50
"""Articles and entities whose annotation is nothing but the start of Spark."""
SAMPLE_SECONDS = 0.2
N_SPLITS = 12
"""Tasks that a dump is divided into, about."""


@dataclass
class Used:
    """What a block took."""

    processor: float = 0.0
    wall: float = 0.0


def spark(times: int = 1) -> None:
    """The table of all ways, on generated entities and real articles under new ids, `times` as many as usual."""
    _annotate(times * N_ARTICLES, N_ENTITIES)


def spark_start() -> None:
    """The same table for hardly any input: what Spark takes whatever the input."""
    _annotate(N_FEW, N_FEW)


def _annotate(n_articles: int, n_entities: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="evenrank-spark-"))
    try:
        inputs = _write_dumps(folder, n_articles, n_entities)
        print(f"\nAnnotating {n_articles:,} articles with {n_entities:,} entities of Wikidata (bzip2)\n")
        cluster.start()  # by this process, so that it counts
        _compare(folder, inputs)
    finally:
        cluster.stop()
        shutil.rmtree(folder)


def _compare(folder: Path, inputs: AnnotateInputs) -> None:
    print("| run | processor s | × local | wall s | tasks at once | bytes |")
    expected = folder / "local.json.gz"
    with measured() as local:
        annotate(expected, inputs, n_workers=1)
    print(f"| one local process | {local.processor:.1f} | 1.00 | {local.wall:.0f} | 1 | |", flush=True)
    for name, cores, is_killed in (
        ("Spark, one worker", 1, False),
        ("Spark, two workers", 2, False),
        ("Spark, two workers, one killed while busy", 2, True),
    ):
        out, events = folder / f"{cores}{is_killed}.json.gz", folder / f"events-{cores}{is_killed}"
        events.mkdir()
        with measured() as used:
            session = start_spark(cluster.MASTER, settings=_settings(inputs, events, cores))
            killer = threading.Thread(target=cluster.kill_when_busy, args=(session, 2))
            if is_killed:
                killer.start()
            annotate(out, inputs, session=session)
            if is_killed:
                killer.join()
            session.stop()
        cluster.start()
        same = "equal" if out.read_bytes() == expected.read_bytes() else "DIFFERENT"
        # What a killed process had used is lost to the accounts of the system.
        cost = "" if is_killed else f"{used.processor:.1f} | {used.processor / local.processor:.2f}"
        most = cluster.most_tasks_at_once(events)
        print(f"| {name} | {cost or ' | '} | {used.wall:.0f} | {most} | {same} |", flush=True)


def _settings(inputs: AnnotateInputs, events: Path, cores: int) -> dict[str, str]:
    size = max(path.stat().st_size for path in inputs.files().values())
    return {
        "spark.cores.max": str(cores),
        "spark.sql.files.maxPartitionBytes": str(size // N_SPLITS),
        "spark.sql.files.openCostInBytes": "1",
        "spark.sql.shuffle.partitions": "4",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.executor.memory": "700m",
    }


def _write_dumps(folder: Path, n_articles: int, n_entities: int) -> AnnotateInputs:
    """Dumps in many bzip2 streams, as Wikimedia writes them."""
    dump, wikidata = folder / "pages.xml.bz2", folder / "wikidata.json.bz2"
    with bz2.open(dump, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(real_pages(n_articles))
    with bz2.open(wikidata, "wb", compresslevel=1) as entities:
        entities.write(b"[\n")
        entities.writelines(line + b",\n" for line in generated_lines(n_entities))
        entities.write(b"]\n")
    return AnnotateInputs(dump, wikidata)


@contextmanager
def measured() -> Iterator[Used]:
    """The processor time of this process and all that it starts, the cluster included, and the duration of a block.

    Every process is looked at several times a second: an executor that is stopped takes the accounts of its Python
    workers with it, and they have done most of the work.
    """
    used, start, ended = Used(), time.perf_counter(), threading.Event()
    before, seen = processor_seconds(os.getpid()), {}

    def watch() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            seen.update(processor_seconds(os.getpid()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield used
    finally:
        ended.set()
        watcher.join()
    seen.update(processor_seconds(os.getpid()))
    used.wall = time.perf_counter() - start
    used.processor = sum(seconds - before.get(process, 0.0) for process, seconds in seen.items())


def processor_seconds(pid: int) -> dict[tuple[int, str], float]:
    """The processor time of a process and its descendants, each by its number and the time it started."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = {int(child) for thread in threads for child in (thread / "children").read_text().split()}
    except OSError:
        return {}
    found = {(pid, fields[19]): sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")}
    for child in children:
        found |= processor_seconds(child)
    return found
