"""An index on OpenSearch beside one on this machine, annotation on Spark beside local processes: answers and cost.

    PYTHONPATH=. python benchmarks/fleet.py [PART...] [--sizes 63576 254304] [--times 3]

Parts: loading, search, import, fields, spark-start, spark, growth; all but growth when none is named. Three OpenSearch
nodes with one replica, and a Spark master with two workers, are started on loopback (`tools.fleet`). Cost is
processor time of this process and of all servers, which a busy machine does not distort as it does seconds.
EVENRANK_FLEET_EVERY=5 takes every fifth page of the sample only, for a quick look.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from tools.fleet import opensearch
from tools.fleet.processes import Server

from evenrank.retrieval.engine.engines import DEFAULT_ADDRESS, engine_kind
from evenrank.retrieval.engine.opensearch_engine import OpenSearchEngine
from evenrank.retrieval.engine.protocol import Engine, IndexLayout, IndexPage, Query, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.relevance import LexicalModel, SearchSettings
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from real_sample import SAMPLE, JudgedTopic, has_sample, load_articles, load_topics
from search_pipeline import adopt_orphans, descendants_usage

N_WORDS, DEPTH = 30, 1000
"""The query whose cost is measured."""
N_WARM_UP, N_ROUNDS = 20, 5
"""Rounds over all topics before measuring, in which the servers compile what they use often, and measured ones."""
N_BUILDS = 2
"""Rounds over the builds that are compared: each is measured beside the others, and its least time counts."""
EVERY = int(os.environ.get("EVENRANK_FLEET_EVERY", "1"))
"""1 for all pages of the sample, n for every n-th: a quick look."""
PLAIN = SearchSettings(candidates=CandidateSettings(n_per_group=0))


def server_seconds(servers: Iterable[Server]) -> float:
    """Processor time of running servers so far."""
    ticks = 0
    for server in servers:
        fields = Path(f"/proc/{server.pid()}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    """Processor seconds of a block, and its duration."""

    client: float = 0.0
    servers: float = 0.0
    wall: float = 0.0


@contextmanager
def measured(servers: Sequence[Server] = ()) -> Iterator[Cost]:
    cost, own, theirs, start = Cost(), time.process_time(), server_seconds(servers), time.perf_counter()
    yield cost
    cost.client, cost.wall = time.process_time() - own, time.perf_counter() - start
    cost.servers = server_seconds(servers) - theirs


@cache
def collection() -> Collection:
    """The real sample as a collection, for the groups of its pages."""
    files = ImportFiles(SAMPLE / "metadata.jsonl.gz", corpus=SAMPLE / "corpus.jsonl.gz")
    return import_collection(Path(tempfile.mkdtemp(prefix="evenrank-fleet-")) / "sample", files)


@cache
def pages() -> list[IndexPage]:
    """The real articles with the groups of the metadata."""
    found = load_articles()[::EVERY]
    rows = collection().rows_of(np.array([page.page_id for page in found], np.int32))
    masks = {name: mask[rows].tolist() for name, mask in collection().masks.items()}
    return [
        page._replace(masks={name: mask[at] for name, mask in masks.items()}) if rows[at] >= 0 else page
        for at, page in enumerate(found)
    ]


def half_without_fields() -> list[IndexPage]:
    """Every second page lacks its infobox and categories."""
    return [page._replace(infobox="", categories="") if at % 2 else page for at, page in enumerate(pages())]


def built(address: str, folder: Path, content: Iterable[IndexPage], n_pages: int) -> Engine:
    engine = engine_kind(address).create(address, folder, IndexLayout(), 1, n_pages)
    engine.add(content)
    engine.commit("all")
    if isinstance(engine, TantivyEngine):
        engine.close()
    engine.refresh()
    return engine


@contextmanager
def engines(name: str, content: list[IndexPage]) -> Iterator[dict[str, Engine]]:
    """The same pages in both engines."""
    folder = Path(tempfile.mkdtemp(prefix="evenrank-fleet-"))
    address = f"{opensearch.start()}/benchmark-{name}"
    ours = built(DEFAULT_ADDRESS, folder / "tantivy", content, len(content))
    theirs = built(address, folder / "opensearch", content, len(content))
    try:
        yield {"tantivy": ours, "OpenSearch": theirs}
    finally:
        remove(theirs)
        shutil.rmtree(folder)


def remove(engine: Engine) -> None:
    assert isinstance(engine, OpenSearchEngine)
    engine._client.indices.delete(index=engine.index)


def topics() -> list[JudgedTopic]:
    return load_topics({page.page_id for page in pages()})


def search() -> None:
    """Answers, requests and cost of a query on the sample, and answers where many pages lack fields."""
    with engines("search", pages()) as both:
        requests(both["OpenSearch"])
        query(both)
        print(f"\nThe 57 training topics of 2021 on {len(pages()):,} articles, untrained search with feedback\n")
        row("pages", "engine", "P@10", "R-precision", "overlap@1000", "least")
        quality("as they are", both)
    with engines("search", half_without_fields()) as both:
        quality("half lack infobox and categories", both)


def quality(name: str, both: dict[str, Engine]) -> None:
    """Means over the topics, inside the judged windows; overlap of the first 1000 pages of the whole index."""
    models = {engine: LexicalModel(opened, PLAIN) for engine, opened in both.items()}
    first = {
        engine: [set(model.score(judged.topic, DEPTH).page_ids.tolist()) for judged in topics()]
        for engine, model in models.items()
    }
    pairs = zip(first["tantivy"], first["OpenSearch"], strict=True)
    overlaps = [len(ours & theirs) / max(len(ours), 1) for ours, theirs in pairs]
    for engine, model in models.items():
        precision, r_precision = np.mean([precisions(model, judged) for judged in topics()], axis=0)
        shown = ("", "") if engine == "tantivy" else (f"{np.mean(overlaps):.5f}", f"{min(overlaps):.4f}")
        row(name, engine, f"{precision:.5f}", f"{r_precision:.5f}", *shown)


def precisions(model: LexicalModel, judged: JudgedTopic) -> tuple[float, float]:
    ranked = model.score(judged.topic, max(10, len(judged.relevant)), judged.up_to_page_id).page_ids
    hits = np.isin(ranked, judged.relevant)
    return float(hits[:10].sum() / 10), float(hits[: len(judged.relevant)].sum() / max(len(judged.relevant), 1))


def requests(opened: Engine) -> None:
    """Requests of a topic with the searches of all groups, as `rank` makes them."""
    assert isinstance(opened, OpenSearchEngine)
    counts: list[int] = []
    with counted(opened) as sent:
        for judged in topics():
            before = sent[0]
            LexicalModel(opened).score(judged.topic, 2000)
            counts.append(sent[0] - before)
    print(f"\nRequests of a topic with its group searches: median {np.median(counts):.0f}, most {max(counts)}")


@contextmanager
def counted(engine: OpenSearchEngine) -> Iterator[list[int]]:
    """A block whose requests are counted where they leave the client."""
    transport: Any = engine._client.transport
    send, sent = transport.perform_request, [0]

    def counting(*arguments: Any, **options: Any) -> Any:
        sent[0] += 1
        return send(*arguments, **options)

    transport.perform_request = counting
    try:
        yield sent
    finally:
        transport.perform_request = send


def query(both: dict[str, Engine]) -> None:
    """Processor time of a query of 30 words, top 1000, warm."""
    print(f"\n{N_WORDS} words of each topic, the first {DEPTH} pages; milliseconds of processor time for one query\n")
    row("engine", "client", "all servers", "together")
    for name, engine in both.items():
        servers = opensearch.NODES if name == "OpenSearch" else []
        asked = [Query(terms, DEPTH) for terms in (thirty_words(engine, judged) for judged in topics())]
        for _ in range(N_WARM_UP if servers else 1):
            run_queries(engine, asked)
        with measured(servers) as cost:
            for _ in range(N_ROUNDS):
                run_queries(engine, asked)
        n = N_ROUNDS * len(asked)
        values = (cost.client, cost.servers, cost.client + cost.servers)
        row(name, *(f"{1000 * value / n:.1f}" for value in values))


def run_queries(engine: Engine, asked: Sequence[Query]) -> None:
    for one in asked:
        engine.search(*one)


def thirty_words(engine: Engine, judged: JudgedTopic) -> list[WeightedTerm]:
    """The first different words of a topic, filled up from the text of its relevant pages."""
    texts = [judged.topic.title, *judged.topic.keywords, judged.topic.scope]
    texts += [page.opening for page in engine.stored(judged.relevant[:20].tolist()) if page]
    texts += [page.opening for page in engine.stored([page.page_id for page in pages()[:20]]) if page]
    words = dict.fromkeys(word for text in texts for word in engine.analyse("text", text))
    return [WeightedTerm("text", (word,)) for word in islice(words, N_WORDS)]


def loading(sizes: Sequence[int] = ()) -> None:
    """Processor time of loading pages, with a replica; the first load of new servers is cold."""
    print("\nLoading with one replica, processor seconds; copies of the sample have new ids\n")
    row("pages", "client", "servers", "together", "ms a page", "tantivy together", "OpenSearch / tantivy")
    for number, size in enumerate(sizes or (len(pages()), len(pages()))):
        folder = Path(tempfile.mkdtemp(prefix="evenrank-fleet-"))
        with measured(opensearch.NODES) as cost:
            engine = built(f"{opensearch.start()}/benchmark-loading", folder / "opensearch", repeated(size), size)
            wait_for_copies(engine)
        remove(engine)
        with measured() as ours:
            built(DEFAULT_ADDRESS, folder / "tantivy", repeated(size), size)
        shutil.rmtree(folder)
        both = cost.client + cost.servers
        label = f"{size:,}{' (cold)' if number == 0 else ''}"
        cells = (cost.client, cost.servers, both, 1000 * both / size, ours.client, both / ours.client)
        row(label, *(f"{value:.2f}" for value in cells))


def repeated(n_pages: int) -> Iterator[IndexPage]:
    """So many pages: the sample, again and again under new ids."""
    highest = max(page.page_id for page in pages()) + 1
    copies = (page._replace(page_id=page.page_id + again * highest) for again in count() for page in pages())
    return islice(copies, n_pages)


def wait_for_copies(engine: Engine) -> None:
    assert isinstance(engine, OpenSearchEngine)
    engine._client.cluster.health(index=engine.index, wait_for_status="green", timeout="300s", request_timeout=310)


RAW = """
import sys, gzip
from isal import igzip
import orjson, tantivy
schema = tantivy.SchemaBuilder()
schema.add_text_field("title", tokenizer_name="en_stem")
schema.add_text_field("text", tokenizer_name="en_stem")
index = tantivy.Index(schema.build(), path=sys.argv[2])
writer = index.writer(200_000_000, 2)
for line in igzip.open(sys.argv[1]):
    record = orjson.loads(line)
    writer.add_document(tantivy.Document(title=record["title"], text=record["text"]))
writer.commit()
writer.wait_merging_threads()
"""


def import_and_index() -> None:
    """`collection import` and `index` beside tantivy alone with title and text, with all their processes."""
    print("\nFrom the compressed files to a searchable index, processor seconds of all processes\n")
    row("what", "seconds", "ratio")
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="evenrank-fleet-"))
    corpus, command = str(SAMPLE / "corpus.jsonl.gz"), [sys.executable, "-m", "evenrank.cli.main"]
    (folder / "raw").mkdir()
    metadata = ["--metadata", str(SAMPLE / "metadata.jsonl.gz"), "--corpus", corpus]
    cases = {
        "tantivy alone, title and text": [[sys.executable, "-c", RAW, corpus, str(folder / "raw")]],
        "collection import and index": [
            [*command, "collection", "import", str(folder / "sample"), *metadata],
            [*command, "index", str(folder / "sample"), "--threads", "2"],
        ],
    }
    rounds = [{name: processor_seconds(words, folder) for name, words in cases.items()} for _ in range(N_BUILDS)]
    seconds = {name: min(one[name] for one in rounds) for name in cases}
    for name, value in seconds.items():
        row(name, f"{value:.1f}", f"{value / seconds['tantivy alone, title and text']:.2f}")
    shutil.rmtree(folder)


FIELDS = """
import sys
from isal import igzip
import orjson, tantivy
step = int(sys.argv[3])
schema = tantivy.SchemaBuilder()
schema.add_text_field("title", tokenizer_name="en_stem")
schema.add_text_field("text", tokenizer_name="en_stem", index_option="freq" if step else "position")
if step >= 2:
    schema.add_text_field("lead")
if step >= 3:
    schema.add_bytes_field("opening", stored=True)
words, numbers = ("categories", "infobox", "kind", "person"), [f"number{n}" for n in range(8)]
if step >= 4:
    for name in words:
        schema.add_text_field(name, tokenizer_name="en_stem", index_option="freq")
    for at, name in enumerate(numbers):
        schema.add_integer_field(name, fast=at > 2, indexed=at < 3)
index = tantivy.Index(schema.build(), path=sys.argv[2])
writer = index.writer(200_000_000, 2)
for line in igzip.open(sys.argv[1]):
    record = orjson.loads(line)
    text, document = record["text"], tantivy.Document()
    document.add_text("title", record["title"])
    document.add_text("text", text)
    if step >= 2:
        document.add_text("lead", text.partition("\\n")[0])
    if step >= 3:
        document.add_bytes("opening", text[:2000].encode())
    if step >= 4:
        for name in words:
            document.add_text(name, "absent")
        for at, name in enumerate(numbers):
            document.add_integer(name, record["id"] % 4 if at in (1, 2) else record["id"])
    writer.add_document(document)
writer.commit()
writer.wait_merging_threads()
"""
READ = """
import sys
from isal import igzip
import numpy, orjson
found = {}
for line in igzip.open(sys.argv[1]):
    record = orjson.loads(line)
    found[record["id"]] = record["title"]
"""
STEPS = (
    "title and text with positions",
    "the text without positions",
    "and the first line as a field with positions",
    "and 2,000 characters stored",
    "and four fields of one word, eight numbers",
)
"""What `FIELDS` adds to an index, one after the other: the last has as much as ours, without any of our code. Of the
numbers that can be searched for, one is different on each page and two are groups, as in ours."""
READ_TWICE = "and the file read once before, by a process of its own"
"""What `collection import` must do at the least: an index is built by a second command."""


def fields() -> None:
    """What fields cost in tantivy itself, and reading the articles twice: a lower bound for ours."""
    print("\ntantivy alone, processor seconds\n")
    row("fields", "seconds", "ratio")
    adopt_orphans()
    folder, corpus = Path(tempfile.mkdtemp(prefix="evenrank-fleet-")), str(SAMPLE / "corpus.jsonl.gz")
    script = [sys.executable, "-c", FIELDS, corpus, str(folder / "raw")]
    commands = [[*script, str(step)] for step in range(len(STEPS))]
    commands.append([sys.executable, "-c", READ, corpus])
    rounds = [[processor_seconds([command], folder) for command in commands] for _ in range(N_BUILDS)]
    *seconds, reading = (min(column) for column in zip(*rounds, strict=True))
    for name, value in zip((*STEPS, READ_TWICE), (*seconds, seconds[-1] + reading), strict=True):
        row(name, f"{value:.1f}", f"{value / seconds[0]:.2f}")
    shutil.rmtree(folder)


def processor_seconds(commands: Sequence[Sequence[str]], folder: Path) -> float:
    shutil.rmtree(folder / "sample", ignore_errors=True)
    shutil.rmtree(folder / "raw", ignore_errors=True)
    (folder / "raw").mkdir()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for words in commands:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = descendants_usage()
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--sizes", nargs="+", type=int, default=[63_576, 254_304])
    parser.add_argument("--times", type=int, default=1, help="how many times as many articles Spark annotates")
    options = parser.parse_args()
    from fleet_spark import spark, spark_start

    known: dict[str, Callable[[], None]] = {
        "loading": loading,
        "search": search,
        "import": import_and_index,
        "fields": fields,
        "spark-start": spark_start,
        "spark": lambda: spark(options.times),
        "growth": lambda: loading(options.sizes),
    }
    if unknown := set(options.parts) - set(known):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; choose from {', '.join(known)}")
    if not has_sample():
        sys.exit(f"the real sample is not at {SAMPLE}")
    try:
        for part in options.parts or [name for name in known if name != "growth"]:
            if part in ("loading", "search", "growth"):
                opensearch.start()
            known[part]()
    finally:
        opensearch.stop()


if __name__ == "__main__":
    main()
