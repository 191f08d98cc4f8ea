"""How fast the labeller reads Wikidata and Wikipedia, and what a full run would take.

    python benchmarks/annotate.py [--entities N] [--articles N]

Prints tables: entities a second against `json` and `orjson` on the same lines (one core), then both dumps through the
whole labeller on all cores at two sizes, with peak memory, growth, and projections to full dumps. Entities are
generated in the dump's format with its mean size; articles are the real ones in the package `gensim`, repeated.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "wikipedia" / "annotate"))
from wikidata_sample import dump_line, entity, statement

from evenrank.core.rng import derive
from evenrank.io.content import START, RawBatch
from evenrank.io.wikidata import read_entity
from evenrank.parallel import n_cores
from evenrank.wikipedia.annotate import labeller
from evenrank.wikipedia.annotate.entities import annotate_entities, wanted_of
from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings
from evenrank.wikipedia.annotate.stage import Stage, WorkStore, run_locally

WIKIDATA_ENTITIES = 115e6
"""Entities of a full dump of recent years, assumed as large as the generated ones."""
ENWIKI_BYTES = 20e9
"""Wikitext of all articles of English Wikipedia, assumed; time is assumed to grow with the length of the text."""
BIRTH = "+1900-01-01T00:00:00Z"
SHARE_WITH_PAGE = 0.08
"""Items with a page in English Wikipedia."""


def generated_lines(n_entities: int, first: int = 1000) -> Iterator[bytes]:
    """Entities with about as many statements, references, labels and sitelinks as the real ones have."""
    rng = derive(7, "entities")
    external = [f"P{2000 + n}" for n in range(40)]
    languages = [f"l{n}" for n in range(60)]
    for number in range(first, first + n_entities):
        has_page = rng.random() < SHARE_WITH_PAGE
        n_external = int(rng.integers(15, 40) if has_page else rng.integers(4, 16))
        source = {"P143": 328, "P813": "+2020-01-01T00:00:00Z", "P854": "https://example.org/some/page/that/is/cited"}
        statements = [statement("P31", 5 if has_page and rng.random() < 0.3 else 11424, references=source)]
        if rng.random() < 0.3 or has_page:
            statements.append(statement("P17", int(rng.choice([142, 183, 30, 668])), references=source))
        if has_page:
            statements += [
                statement("P27", int(rng.choice([142, 30])), references=source, qualifiers={"P580": BIRTH}),
                statement("P21", int(rng.choice([6581097, 6581072])), references=source),
                statement("P19", int(rng.integers(first, first + n_entities)), references=source),
                statement("P106", 36180, references=source),
                statement("P569", BIRTH, references=source),
            ]
        statements += [statement(name, f"id-{number}", references=source) for name in external[:n_external]]
        others = tuple(f"l{n}wiki" for n in range(int(rng.integers(0, 12) if has_page else rng.integers(0, 2))))
        content = entity(number, *statements, title=f"Page {number}" if has_page else None, others=others)
        n_labels = int(rng.integers(5, 60))
        for field in ("labels", "descriptions"):
            content[field] = {name: {"language": name, "value": f"a text of {number}"} for name in languages[:n_labels]}
        yield dump_line(content)


def rate(lines: list[bytes], function: Callable[[bytes], object], rounds: int = 3) -> float:
    """Entities a second, best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for line in lines:
            function(line)
        best = min(best, time.perf_counter() - start)
    return len(lines) / best


def compare_parsers(lines: list[bytes]) -> None:
    """Entities a second on one core: ours reads and picks, the others only parse."""
    wanted = wanted_of(("enwiki",), True)
    raw = RawBatch("lines", START, START, b",\n".join(lines), 0)
    n_bytes = sum(map(len, lines))
    whole = rate([b""], lambda _: annotate_entities(raw, "enwiki", True)) * len(lines)
    base = rate(lines, json.loads)
    print(f"\nOne core, {len(lines):,} entities, mean {n_bytes / len(lines):,.0f} bytes")
    print(f"{'reader':<44}{'entities/s':>12}{'MB/s':>8}{'× json':>8}")
    for name, speed in (
        ("json.loads of every entity", base),
        ("orjson.loads of every entity", rate(lines, orjson.loads)),
        ("read_entity (wanted parts)", rate(lines, lambda line: read_entity(line, wanted))),
        ("annotate_entities (lines → rows)", whole),
    ):
        print(f"{name:<44}{speed:>12,.0f}{speed * n_bytes / len(lines) / 1e6:>8.0f}{speed / base:>8.1f}")


def real_pages(n_articles: int) -> Iterator[str]:
    """A dump of the articles in the package `gensim`, repeated under new ids and titles, in parts."""
    import gensim

    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    source = bz2.decompress((Path(gensim.__file__).parent / "test" / "test_data" / name).read_bytes()).decode()
    head, *pages = source.split("  <page>\n")
    pages = [page.split("</page>")[0] for page in pages if "<ns>0</ns>" in page and "<redirect" not in page]
    yield head
    for number in range(n_articles):
        _, _, rest = pages[number % len(pages)].partition("<ns>0</ns>")
        body = rest.partition("</id>")[2]
        title = f"<title>Page {1000 + number}</title>\n    <ns>0</ns>\n    <id>{1000 + number}</id>"
        yield f"  <page>\n    {title}{body}</page>\n"
    yield "</mediawiki>\n"


def write_dump(path: Path, n_articles: int) -> int:
    """The dump of `real_pages` as a file; gives its bytes."""
    n_bytes = 0
    with gzip.open(path, "wt", compresslevel=1) as file:
        for part in real_pages(n_articles):
            file.write(part)
            n_bytes += len(part.encode())
    return n_bytes


def measured_run(folder: Path, n_articles: int, n_entities: int) -> dict[str, float]:
    """Seconds and peak memory of the whole labeller, in a process of its own."""
    n_bytes = write_dump(folder / "dump.xml.gz", n_articles)
    with gzip.open(folder / "wikidata.json.gz", "wb", compresslevel=1) as file:
        file.write(b"[\n")
        for line in generated_lines(n_entities):
            file.write(line + b",\n")
        file.write(b"]\n")
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=_run, args=(folder, queue))
    process.start()
    peak = 0.0
    while queue.empty() and process.is_alive():
        peak = max(peak, group_memory_mb(process.pid or 0))
        time.sleep(0.05)
    result = queue.get()
    process.join()
    sizes = {"articles": n_articles, "entities": n_entities, "n_bytes": n_bytes, "peak_mb": peak}
    return {"pages": result["pages"], "entities_s": result["entities"], "all": result["all"]} | sizes


def group_memory_mb(group: int) -> float:
    """Resident memory of all processes of a process group, workers included; shared pages count in each."""
    n_pages = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == group:
                n_pages += int((folder / "statm").read_text().split()[1])
        except (OSError, ValueError):  # ended meanwhile
            continue
    return n_pages * resource.getpagesize() / 2**20


def _run(folder: Path, queue: multiprocessing.SimpleQueue) -> None:
    """One run of the labeller; each stage is timed by itself, with the start of its workers."""
    os.setpgrp()
    seconds = {}

    def timed(stage: Stage, store: WorkStore, n_workers: int | None) -> None:
        start = time.perf_counter()
        run_locally(stage, store, n_workers)
        seconds[stage.name] = time.perf_counter() - start

    labeller.run_locally = timed

    start = time.perf_counter()
    inputs = AnnotateInputs(folder / "dump.xml.gz", folder / "wikidata.json.gz")
    annotate(folder / "metadata.json.gz", inputs, AnnotateSettings())
    queue.put(seconds | {"all": time.perf_counter() - start})


def compare_sizes(n_articles: int, n_entities: int) -> None:
    """The whole labeller at a quarter and at all of the size."""
    print(f"\nThe whole labeller, {n_cores()} cores, gzip input; load before: {os.getloadavg()[0]:.1f}")
    names = f"{'articles':>9}{'entities':>10}{'articles/s':>12}{'MB/s':>7}{'entities/s':>12}"
    print(f"{names}{'join+write s':>14}{'peak MB':>9}")
    for part in (4, 1):
        with tempfile.TemporaryDirectory() as folder:
            run = measured_run(Path(folder), n_articles // part, n_entities // part)
        bytes_rate, entity_rate = run["n_bytes"] / run["pages"], run["entities"] / run["entities_s"]
        rest = run["all"] - run["pages"] - run["entities_s"]
        print(
            f"{run['articles']:>9,}{run['entities']:>10,}{run['articles'] / run['pages']:>12,.0f}"
            f"{bytes_rate / 1e6:>7.1f}{entity_rate:>12,.0f}{rest:>14.2f}{run['peak_mb']:>9.0f}"
        )
    print("\nProjections from the larger run, under the assumptions at the top of this file; with a load above that of")
    print("this benchmark alone they are too long:")
    print(f"English Wikipedia, {ENWIKI_BYTES / 1e9:.0f} GB of wikitext: {ENWIKI_BYTES / bytes_rate / 3600:.1f} h")
    print(f"Wikidata, {WIKIDATA_ENTITIES:,.0f} entities: {WIKIDATA_ENTITIES / entity_rate / 3600:.1f} h")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=40_000)
    parser.add_argument("--articles", type=int, default=4_000)
    options = parser.parse_args()
    compare_parsers(list(generated_lines(min(options.entities, 5000))))
    compare_sizes(options.articles, options.entities)


if __name__ == "__main__":
    main()
