"""Speed and memory of the corpus and dump readers, against the standard library, growing with the file.

    python benchmarks/reading.py [--copies 2 8]

The dump is the one inside the PyPI package gensim, repeated and packed as Wikimedia does (bzip2, 100 pages a stream).
Each measurement runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from evenrank.core.records import Article
from evenrank.io.articles import map_articles, open_articles, read_articles
from evenrank.io.faults import FaultLog
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

DUMP = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
MEGABYTE = 1_000_000


class Cost(NamedTuple):
    """What a process has used since its start."""

    pid: int
    cpu_seconds: float
    peak_megabytes: float


def cost() -> Cost:
    """The cost of this process; its peak is read from the kernel, because getrusage inherits the parent's."""
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return Cost(os.getpid(), time.process_time(), int(peak[1]) / 1024 if peak else float("nan"))


WORKERS: dict[int, Cost] = {}
"""The newest cost of each worker process."""


def clean(articles: tuple[Article, ...]) -> Cost:
    """The text of a batch, thrown away, and the cost of the worker so far."""
    for article in articles:
        assert parse_wikitext(article.text).body is not None
    return cost()


def read_ours(path: Path) -> int:
    return sum(1 for _ in read_articles(path, FaultLog()))


def map_ours(path: Path, n_workers: int) -> int:
    n_articles = 0
    for batch in map_articles(clean, open_articles(path), FaultLog(), n_workers=n_workers):
        n_articles += batch.n_articles
        WORKERS[batch.result.pid] = batch.result
    return n_articles


def read_xml(path: Path) -> int:
    """Articles with the standard library's bzip2 and XML."""
    n_articles = 0
    with bz2.open(path) as file:
        for _, element in ElementTree.iterparse(file):
            if element.tag.endswith("}page"):
                fields = {child.tag.rpartition("}")[2]: child for child in element}
                n_articles += fields["ns"].text == "0" and "redirect" not in fields
                element.clear()
    return n_articles


def read_json(path: Path) -> int:
    """Articles with the standard library's gzip and JSON."""
    with gzip.open(path) as file:
        return sum(1 for line in file if json.loads(line)["id"])


ROWS: dict[str, tuple[str, Callable[[Path], int]]] = {
    "dump: standard library": ("dump", read_xml),
    "dump: evenrank": ("dump", read_ours),
    "dump → fields, 1 process": ("dump", lambda path: map_ours(path, 1)),
    "dump → fields, 2 processes": ("dump", lambda path: map_ours(path, 2)),
    "corpus: standard library": ("corpus", read_json),
    "corpus: evenrank": ("corpus", read_ours),
    "corpus → fields, 1 process": ("corpus", lambda path: map_ours(path, 1)),
    "corpus → fields, 2 processes": ("corpus", lambda path: map_ours(path, 2)),
}


def write_files(folder: Path, n_copies: int) -> int:
    """The dump, repeated, as bzip2 streams and as the track's JSON lines; gives the bytes of its content."""
    spec = find_spec("gensim")
    if spec is None or spec.origin is None:
        raise SystemExit("this benchmark needs the package gensim, for the dump in its tests")
    source = Path(spec.origin).parent / DUMP
    head, *pages = bz2.decompress(source.read_bytes()).split(b"  <page>")
    streams = [b"".join(b"  <page>" + page for page in pages[at : at + 100]) for at in range(0, len(pages), 100)]
    streams[-1] = streams[-1].replace(b"</mediawiki>", b"")
    packed = b"".join(map(bz2.compress, streams))
    (folder / "dump").write_bytes(bz2.compress(head) + packed * n_copies + bz2.compress(b"</mediawiki>"))
    with gzip.open(folder / "corpus", "wb", compresslevel=6) as file:
        for article in list(read_articles(source, FaultLog())) * n_copies:
            fields = {"id": article.page_id, "title": article.title, "url": article.url, "text": article.text}
            file.write(json.dumps(fields).encode() + b"\n")
    return sum(map(len, streams)) * n_copies


def measure(name: str, folder: Path) -> None:
    """One row in this process: articles, seconds, CPU seconds of all processes, peak memory of the largest."""
    kind, read = ROWS[name]
    before = cost().cpu_seconds
    start = time.perf_counter()
    n_articles = read(folder / kind)
    seconds = time.perf_counter() - start
    costs = [*(used for pid, used in WORKERS.items() if pid != os.getpid()), cost()]
    cpu_seconds = sum(used.cpu_seconds for used in costs) - before
    print(json.dumps([n_articles, seconds, cpu_seconds, max(used.peak_megabytes for used in costs)]))


def table(copies: list[int]) -> None:
    print(f"{'reader':<30}{'dump MB':>9}{'articles':>10}{'articles/s':>12}{'MB/s':>8}{'MB/CPU s':>10}{'peak MB':>9}")
    for n_copies in copies:
        with tempfile.TemporaryDirectory() as folder:
            n_bytes = write_files(Path(folder), n_copies)
            for name in ROWS:
                command = [sys.executable, __file__, "--row", name, "--folder", folder]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                n_articles, seconds, cpu_seconds, peak = json.loads(output)
                print(
                    f"{name:<30}{n_bytes / MEGABYTE:>9.0f}{n_articles:>10,}{n_articles / seconds:>12,.0f}"
                    f"{n_bytes / MEGABYTE / seconds:>8.1f}{n_bytes / MEGABYTE / cpu_seconds:>10.1f}{peak:>9.0f}"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--row", help="measure one row in this process")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.row:
        measure(arguments.row, arguments.folder)
    else:
        table(arguments.copies)
