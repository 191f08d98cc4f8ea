"""Engines side by side: indexing, memory, size, opening, answering; and how each grows.

    python benchmarks/search.py [--sizes 63576 125000 250000 500000] [--engines evenrank bm25s …]

Every engine runs in a process of its own, on the real articles where they are and on a generated collection. Sizes
beyond the corpus repeat its articles with new ids. Times depend on the machine: compare ratios within one run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from evenrank.collection.collection import Collection
from evenrank.collection.generate.settings import GenerateSettings
from evenrank.collection.import_files import ImportFiles, import_collection
from evenrank.collection.make import generate_collection
from evenrank.formats.articles import read_articles
from evenrank.formats.faults import FaultLog
from evenrank.search.index_fields import page_fields
from evenrank.search.indexing import build_index
from real_sample import SAMPLE, has_sample
from search_cases import DEPTHS, ENGINES, N_WORDS, peak_mb


def write_plain(collection: Collection, path: Path) -> int:
    """The collection's articles as plain text, a line each; returns how many."""
    n_pages = 0
    with path.open("wb") as file:
        for article in read_articles(collection.corpus or "", FaultLog()):
            (page,) = page_fields((article,))
            file.write(orjson.dumps({"title": page.title, "lead": page.lead, "text": page.text}) + b"\n")
            n_pages += 1
    return n_pages


def run_case(engine: str, corpus: Path, n_pages: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        script = str(Path(__file__).with_name("search_cases.py"))
        command = [sys.executable, script, engine, str(corpus), str(n_pages), f"{folder}/index"]
        facts: dict[str, Any] = orjson.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return facts


def show(engines: Iterable[str], corpus: Path, n_pages: int) -> None:
    """The table of one corpus at one size."""
    print(f"\n{corpus.stem}, {n_pages:,} pages; p50 / p95 in ms of processor time")
    heads = [f"{words}w@{depth}" for words in N_WORDS for depth in DEPTHS]
    print(
        f"{'':22s}{'docs/s':>8s}{'a core':>8s}{'peak MB':>9s}{'disk MB':>9s}{'open ms':>9s}"
        + "".join(f"{h:>16s}" for h in heads)
    )
    for engine in engines:
        facts = run_case(engine, corpus, n_pages)
        times = [facts[f"{words}@{depth}"] for words in N_WORDS for depth in DEPTHS]
        row = f"{engine:22s}{facts['pages_per_second']:8.0f}{facts['pages_per_core_second']:8.0f}"
        row += f"{facts['peak_mb']:9.0f}{facts['size_mb']:9.0f}{facts['open_ms']:9.1f}"
        row += "".join(f"{p50:8.2f} /{p95:6.1f}" for p50, p95 in times)
        print(row, flush=True)


def show_pipeline(collection: Collection, label: str) -> None:
    """`evenrank index` as a whole: reading, wikitext, metadata, index."""
    started = time.perf_counter()
    facts = build_index(collection, FaultLog()).statistics()
    seconds = time.perf_counter() - started
    print(
        f"evenrank index, {label}: {facts.n_pages:,} pages, {facts.n_pages / seconds:,.0f} docs/s, "
        f"{facts.size_bytes / 1e6:.0f} MB on disk, peak {peak_mb():.0f} MB in the main process",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[63_576, 125_000, 250_000, 500_000])
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--generated", type=int, default=20_000, help="pages of the generated collection")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generated = generate_collection(folder / "g", GenerateSettings(n_pages=options.generated))
        show_pipeline(generated, "generated wikitext")
        n_pages = write_plain(generated, folder / "generated.jsonl")
        show(options.engines, folder / "generated.jsonl", n_pages)
        if not has_sample():
            print("skipped: the real sample ../shared/data/wikipedia-sample is not there")
            return
        files = ImportFiles(SAMPLE / "metadata.jsonl.gz", corpus=SAMPLE / "corpus.jsonl.gz")
        real = import_collection(folder / "r", files)
        show_pipeline(real, "real plain text")
        write_plain(real, folder / "real.jsonl")
        for size in options.sizes:
            show(options.engines, folder / "real.jsonl", size)


if __name__ == "__main__":
    main()
