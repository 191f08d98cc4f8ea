"""One engine on one corpus, each in a process of its own: indexing rate, memory, size, time to open, time to answer.

python benchmarks/search_cases.py ENGINE PAGES.jsonl N_PAGES FOLDER
python benchmarks/search_cases.py "evenrank index" COLLECTION 0 -
"""

from __future__ import annotations

import itertools
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenrank.core.rng import derive
from evenrank.retrieval.engine.analysis import analyser_for
from evenrank.retrieval.engine.protocol import EVERYTHING, OPENING_LENGTH, IndexPage, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.engine.tantivy_index import HEAP_BYTES, build_schema

N_QUERIES = 40
FEWEST_QUERIES = 10
LONG_ENOUGH = 10.0
"""Seconds of processor time after which fewer queries than `N_QUERIES` will do."""
N_WORDS = (5, 10, 30, 190)
DEPTHS = (1000, 5000)
Answer = Callable[[list[str], int], int]


def read_pages(path: Path, n_pages: int) -> Iterator[tuple[int, str, str, str]]:
    """(id, title, lead, text) of the file's articles, over and over with new ids until there are enough."""
    number = itertools.count(1)
    while True:
        with path.open("rb") as lines:
            for line in lines:
                page_id = next(number)
                if page_id > n_pages:
                    return
                record = orjson.loads(line)
                yield page_id, record["title"], record["lead"], record["text"]


class OurEngine:
    """`TantivyEngine`, all fields."""

    def build(self, folder: Path, pages: Iterator[tuple[int, str, str, str]]) -> None:
        engine = TantivyEngine.create(folder)
        engine.add(IndexPage(i, title, lead, text) for i, title, lead, text in pages)
        engine.commit()
        engine.close()

    def open(self, folder: Path) -> Answer:
        engine = TantivyEngine.open(folder)
        return lambda words, k: len(
            engine.search([WeightedTerm("text", (word,)) for word in words], k, EVERYTHING).page_ids
        )


class RawTantivy:
    """tantivy used directly: the same analysed fields, no groups, no ties, ids from fast fields."""

    def build(self, folder: Path, pages: Iterator[tuple[int, str, str, str]]) -> None:
        import tantivy

        folder.mkdir()
        index = tantivy.Index(build_schema([]), str(folder))
        self.write(index, pages)

    def write(self, index: Any, pages: Iterator[tuple[int, str, str, str]]) -> None:
        from tantivy import Document

        writer = index.writer(HEAP_BYTES, 2)
        for page in pages:
            document = Document()
            self.fill(document, *page)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def fill(self, document: Any, page_id: int, title: str, lead: str, text: str) -> None:
        document.add_integer("page_id", page_id)
        document.add_text("title", title)
        document.add_text("lead", lead)
        document.add_text("text", text)
        document.add_bytes("opening", text[:OPENING_LENGTH].encode())

    def open(self, folder: Path) -> Answer:
        from tantivy import Index, Occur, Query

        index = Index.open(str(folder))
        searcher, schema = index.searcher(), index.schema

        def answer(words: list[str], k: int) -> int:
            query = Query.boolean_query([(Occur.Should, Query.term_query(schema, "text", word)) for word in words])
            hits = searcher.search(query, k, count=False).hits
            return len(np.array(searcher.fast_field_values("page_id", [address for _, address in hits])))

        return answer


class PlainTantivy(RawTantivy):
    """tantivy used directly: title and text, nothing else."""

    def build(self, folder: Path, pages: Iterator[tuple[int, str, str, str]]) -> None:
        import tantivy

        folder.mkdir()
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("page_id", fast=True)
        for name in ("title", "text"):
            builder.add_text_field(name, tokenizer_name="en_stem", index_option="freq")
        index = tantivy.Index(builder.build(), str(folder))
        self.write(index, pages)

    def fill(self, document: Any, page_id: int, title: str, lead: str, text: str) -> None:
        document.add_integer("page_id", page_id)
        document.add_text("title", title)
        document.add_text("text", text)


class Bm25s:
    """bm25s with the same words: everything in memory, scores before the query is known."""

    def build(self, folder: Path, pages: Iterator[tuple[int, str, str, str]]) -> None:
        import bm25s

        analyser = analyser_for("en")
        index = bm25s.BM25(k1=1.2, b=0.75)
        shared: dict[str, str] = {}
        texts = (analyser.stems(f"{title} {text}") for _, title, _, text in pages)
        words = [[shared.setdefault(word, word) for word in text] for text in texts]
        index.index(words, show_progress=False)
        index.save(str(folder))

    def open(self, folder: Path) -> Answer:
        import bm25s

        index = bm25s.BM25.load(str(folder), mmap=True)
        vocabulary, n_pages = index.vocab_dict, int(index.scores["num_docs"])

        def answer(words: list[str], k: int) -> int:
            known = [word for word in words if word in vocabulary]
            pages, _ = index.retrieve([known], k=min(k, n_pages), show_progress=False, n_threads=0)
            return int(pages.shape[1])

        return answer


class Fts5:
    """SQLite's full-text index, its own Porter stemmer."""

    def build(self, folder: Path, pages: Iterator[tuple[int, str, str, str]]) -> None:
        folder.mkdir()
        with sqlite3.connect(folder / "fts.db") as base:
            base.execute("CREATE VIRTUAL TABLE page USING fts5(title, text, content='', tokenize='porter unicode61')")
            rows = ((page_id, title, text) for page_id, title, _, text in pages)
            base.executemany("INSERT INTO page(rowid, title, text) VALUES (?, ?, ?)", rows)

    def open(self, folder: Path) -> Answer:
        base = sqlite3.connect(folder / "fts.db")

        def answer(words: list[str], k: int) -> int:
            query = " OR ".join(f'"{word}"' for word in words)
            ask = "SELECT rowid, rank FROM page WHERE page MATCH ? ORDER BY rank LIMIT ?"
            return len(base.execute(ask, (query, k)).fetchall())

        return answer


ENGINES: dict[str, Any] = {
    "evenrank": OurEngine,
    "tantivy, same fields": RawTantivy,
    "tantivy, title+text": PlainTantivy,
    "bm25s": Bm25s,
    "SQLite FTS5": Fts5,
}


def queries(path: Path, n_words: int) -> list[list[str]]:
    """Queries of words drawn from random articles: stems, frequent ones more often, as in keywords."""
    analyser = analyser_for("en")
    leads = [set(analyser.stems(lead)) for _, _, lead, _ in read_pages(path, 4000)]
    words = np.array([word for lead in leads for word in sorted(lead) if len(word) > 3])
    rng = derive(1, "queries", n_words)
    return [list(dict.fromkeys(rng.choice(words, n_words).tolist())) for _ in range(N_QUERIES)]


def measure(engine_name: str, path: Path, n_pages: int, folder: Path) -> dict[str, Any]:
    """All numbers of one engine on one corpus."""
    engine = ENGINES[engine_name]()
    started, busy = time.perf_counter(), time.process_time()
    engine.build(folder, read_pages(path, n_pages))
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    facts: dict[str, Any] = {"pages_per_second": n_pages / seconds, "pages_per_core_second": n_pages / busy}
    facts["peak_mb"] = peak_mb()
    facts["size_mb"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    started = time.perf_counter()
    answer = engine.open(folder)
    answer(["horse"], 10)
    facts["open_ms"] = 1000 * (time.perf_counter() - started)
    for n_words in N_WORDS:
        asked = queries(path, n_words)
        answer(asked[0], DEPTHS[0])
        for depth in DEPTHS:
            times = query_times(answer, asked, depth)
            facts[f"{n_words}@{depth}"] = [*np.percentile(times, [50, 95]).tolist(), len(times)]
    return facts


def query_times(answer: Answer, asked: list[list[str]], depth: int) -> list[float]:
    """Milliseconds of each query; a slow engine is asked fewer."""
    times: list[float] = []
    for words in asked:
        times.append(_timed(answer, words, depth))
        if len(times) >= FEWEST_QUERIES and sum(times) > 1000 * LONG_ENOUGH:
            break
    return times


def peak_mb() -> float:
    """Most memory this process has had; not that of the process it was forked from, as getrusage would say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _timed(answer: Answer, words: list[str], depth: int) -> float:
    """Milliseconds of processor time: every engine answers on one core, and other work may share the machine."""
    started = time.process_time()
    answer(words, depth)
    return 1000 * (time.process_time() - started)


if __name__ == "__main__":
    name, corpus, size, target = sys.argv[1:]
    sys.stdout.write(orjson.dumps(measure(name, Path(corpus), int(size), Path(target))).decode())
