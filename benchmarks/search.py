"""Engines side by side: indexing, memory, size, opening, answering; and how each grows.

    python benchmarks/search.py [--sizes 63576 125000 250000 500000] [--engines evenrank bm25s …] [--keep RESULTS.jsonl]

Every engine runs in a process of its own, on the real articles where they are and on a generated collection. Sizes
beyond the corpus repeat its articles with new ids. With `--keep`, what a stopped run has measured is not measured
again. Times depend on the machine: compare ratios within one run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import page_fields
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from evenrank.trec.import_files import ImportFiles, import_collection
from real_sample import SAMPLE, has_sample
from search_cases import DEPTHS, ENGINES, N_QUERIES, N_WORDS

Facts = dict[str, Any]
PIPELINE = "evenrank index, all"
"""The whole command, from the compressed file."""
N_REAL = 63_576
"""Articles of the real sample."""


@dataclass(frozen=True)
class Corpus:
    """A corpus to measure on; made when the first case needs it."""

    name: str
    folder: Path
    n_generated: int = 0

    @cached_property
    def collection(self) -> Collection:
        folder = self.folder / self.name
        if self.n_generated:
            return generate_collection(folder, GenerateSettings(n_pages=self.n_generated))
        files = ImportFiles(SAMPLE / "metadata.jsonl.gz", corpus=SAMPLE / "corpus.jsonl.gz")
        return import_collection(folder, files)

    @cached_property
    def plain(self) -> Path:
        """The articles as plain text, a line each."""
        path = self.folder / f"{self.name}.jsonl"
        with path.open("wb") as file:
            for article in read_articles(self.collection.corpus or "", FaultLog()):
                (page,) = page_fields((article,))
                file.write(orjson.dumps({"title": page.title, "lead": page.lead, "text": page.text}) + b"\n")
        return path


class Results:
    """What was measured, one JSON line a case, kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_bytes().splitlines() if path and path.exists() else []
        self.facts: dict[tuple[str, str, int], Facts] = {tuple(key): facts for key, facts in map(orjson.loads, lines)}

    def case(self, engine: str, corpus: Corpus, n_pages: int) -> Facts:
        """The facts of one engine on one corpus, measured now unless they are known; `error` in them if it failed."""
        key = (engine, corpus.name, n_pages)
        if key not in self.facts:
            self.facts[key] = run_case(engine, corpus, n_pages)
            if self.path and "error" not in self.facts[key]:
                with self.path.open("ab") as file:
                    file.write(orjson.dumps([key, self.facts[key]]) + b"\n")
        return self.facts[key]


def run_case(engine: str, corpus: Corpus, n_pages: int) -> Facts:
    print(f"{engine}, {corpus.name}, {n_pages:,} pages …", file=sys.stderr, flush=True)
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        if engine == PIPELINE:
            arguments = [here / "search_pipeline.py", corpus.collection.path]
        else:
            arguments = [here / "search_cases.py", engine, corpus.plain, n_pages, f"{folder}/index"]
        done = subprocess.run([sys.executable, *map(str, arguments)], check=False, capture_output=True)
    if done.returncode:
        return {"error": (done.stderr.decode().strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    facts: Facts = orjson.loads(done.stdout)
    return facts


def show(results: Results, engines: Sequence[str], corpus: Corpus, n_pages: int) -> None:
    """The tables of one corpus at one size."""
    found = {engine: results.case(engine, corpus, n_pages) for engine in engines}
    print(f"\n{corpus.name}, {n_pages:,} pages\n")
    heads = ["engine", "docs/s", "docs per core-second", "peak MB", "disk MB", "open ms"]
    print_table(heads, [[engine, *index_cells(facts)] for engine, facts in found.items()])
    print(f"\nMilliseconds of processor time, p50 / p95 (number of queries where fewer than {N_QUERIES})\n")
    cells = [(words, depth) for depth in DEPTHS for words in N_WORDS]
    heads = ["engine", *(f"{words} words, top {depth}" for words, depth in cells)]
    rows = [[e, *(query_cell(facts[f"{w}@{d}"]) for w, d in cells)] for e, facts in found.items() if "5@1000" in facts]
    print_table(heads, rows)


def index_cells(facts: Facts) -> list[str]:
    if "error" in facts:
        return [facts["error"]]
    numbers = [facts[name] for name in ("pages_per_second", "pages_per_core_second", "peak_mb", "size_mb")]
    return [*(f"{number:,.0f}" for number in numbers), f"{facts['open_ms']:.1f}" if "open_ms" in facts else ""]


def query_cell(times: tuple[float, float, int]) -> str:
    p50, p95, n_queries = times
    fewer = f" ({n_queries})" if n_queries < N_QUERIES else ""
    return f"{p50:,.{digits(p50)}f} / {p95:,.{digits(p95)}f}{fewer}"


def digits(milliseconds: float) -> int:
    return 2 if milliseconds < 10 else 1 if milliseconds < 100 else 0


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[N_REAL, 125_000, 250_000, 500_000])
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--generated", type=int, default=20_000, help="pages of the generated collection")
    parser.add_argument("--keep", type=Path, help="file of results; cases found there are not measured again")
    options = parser.parse_args()
    results = Results(options.keep)
    with tempfile.TemporaryDirectory() as name:
        generated = Corpus("generated wikitext", Path(name), options.generated)
        show(results, [PIPELINE, *options.engines], generated, options.generated)
        if not has_sample():
            print("skipped: the real sample ../shared/data/wikipedia-sample is not there")
            return
        real = Corpus("real plain text", Path(name))
        for size in options.sizes:
            show(results, [PIPELINE, *options.engines] if size == N_REAL else options.engines, real, size)


if __name__ == "__main__":
    main()
