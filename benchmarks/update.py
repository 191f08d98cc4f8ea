"""What an update of 1 % of the pages costs, as a share of an import and a build of everything, in processor time.

    python -m benchmarks.update [--copies 1,4,16] [--share 0.01] [--folder FOLDER]

Pages are the real articles of the sample, with its 57 training topics. A larger collection has copies of them in which
every tenth word is another one of the article and every fiftieth a new one, under other ids and titles. Of the changed
pages, four fifths have other words in their text, a tenth is new and a tenth is deleted. Each step is a process of its
own, whose processor time (its own and the system's, of all its threads and children) is taken. The costs at other sizes
are those of the straight lines through the measured ones (least squares). Collections stay in FOLDER, for
`benchmarks.growth`; those that are there are not made again.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import orjson
from benchmarks.real_sample import SAMPLE

from evenrank.core.records import Article
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import read_lines
from evenrank.trec.changes import article_line, delete_line, packed_lines, put_line

FIRST_COPY, ID_STEP, NEW_PAGES = 100_000_000, 100_000, 1_000_000_000
"""Where the ids of copies begin, how many each has, and where those of new pages begin."""
GOAL = 6_400_000
"""Articles of English Wikipedia, to which the costs are extrapolated."""
BUILD = """
import sys
from pathlib import Path
import evenrank
folder, metadata, topics, corpus = map(Path, sys.argv[1:])
files = evenrank.ImportFiles(metadata, topics, corpus=corpus, date="2018-03-01")
evenrank.build_index(evenrank.import_collection(folder, files)).close()
"""
UPDATE = "import evenrank, sys; print(evenrank.update_collection(sys.argv[1], sys.argv[2]))"


def perturbed(article: Article, page_id: int, seed: int) -> Article:
    """An article with other words, the same for the same seed."""
    rng, words = np.random.default_rng([seed, page_id]), article.text.split(" ")
    for place in np.flatnonzero(rng.random(len(words)) < 0.1).tolist():
        words[place] = words[int(rng.integers(len(words)))]
    for place in np.flatnonzero(rng.random(len(words)) < 0.02).tolist():
        words[place] += f"{int(rng.integers(1000)):03d}"
    return article._replace(page_id=page_id, text=" ".join(words))


def id_in_copy(page_id: int, copy: int, numbers: dict[int, int]) -> int:
    """The id of a page in a copy; `numbers` has the pages so far."""
    return FIRST_COPY + copy * ID_STEP + numbers.setdefault(page_id, len(numbers)) if copy else page_id


def articles(n_copies: int, numbers: dict[int, int]) -> Iterator[Article]:
    for copy in range(n_copies):
        for article in read_articles(SAMPLE / "corpus.jsonl.gz", FaultLog()):
            if copy:
                made = perturbed(article, id_in_copy(article.page_id, copy, numbers), 0)
                article = made._replace(title=f"{article.title} {copy}")
            yield article


def write_files(folder: Path, n_copies: int, share: float) -> tuple[int, int]:
    """Metadata, corpus and changes; how many pages there are, and how many changes."""
    metadata = [orjson.loads(line) for _, line in read_lines(SAMPLE / "metadata.jsonl.gz")]
    numbers: dict[int, int] = {}
    with packed_lines(folder / "metadata.jsonl.gz") as write:
        for copy in range(n_copies):
            for record in metadata:
                write(orjson.dumps({**record, "page_id": id_in_copy(record["page_id"], copy, numbers)}) + b"\n")
    rng, n_pages, n_changes = np.random.default_rng(1), 0, 0
    with packed_lines(folder / "corpus.jsonl.gz") as write, (folder / "changes.jsonl").open("wb") as changes:
        for article in articles(n_copies, numbers):
            n_pages += 1
            write(article_line(article))
            if rng.random() >= share:
                continue
            n_changes += 1
            kind = rng.random()
            if kind < 0.8:
                changes.write(put_line(article.page_id, article=perturbed(article, article.page_id, 1)))
            elif kind < 0.9:
                new = perturbed(article, NEW_PAGES + article.page_id, 2)
                changes.write(put_line(new.page_id, metadata={"quality_score": 0.5}, article=new))
            else:
                changes.write(delete_line(article.page_id))
    return n_pages, n_changes


def processor_seconds(code: str, *arguments: object) -> float:
    """Of a Python process and all that it starts."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    return spent() - before


def measured(folder: Path, n_copies: int, share: float) -> dict[str, float]:
    """Pages, changes, and the seconds of a build and an update, which are kept in the folder."""
    facts = folder / "update.json"
    if not facts.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        n_pages, n_changes = write_files(folder, n_copies, share)
        topics = SAMPLE / "topics-2021-train.jsonl"
        collection, metadata, corpus = (
            folder / name for name in ("collection", "metadata.jsonl.gz", "corpus.jsonl.gz")
        )
        built = processor_seconds(BUILD, collection, metadata, topics, corpus)
        updated = processor_seconds(UPDATE, collection, folder / "changes.jsonl")
        facts.write_bytes(orjson.dumps({"pages": n_pages, "changes": n_changes, "build": built, "update": updated}))
    found: dict[str, float] = orjson.loads(facts.read_bytes())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", default="1,4,16")
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    rows = []
    print("pages  changes  full build s  update s  share")
    for n_copies in map(int, chosen.copies.split(",")):
        with nullcontext(chosen.folder) if chosen.folder else tempfile.TemporaryDirectory() as place:
            one = measured(Path(place) / str(n_copies), n_copies, chosen.share)
        rows.append((one["pages"], one["build"], one["update"]))
        print(
            f"{one['pages']:,}  {one['changes']:,}  {one['build']:.1f}  {one['update']:.2f}  "
            f"{one['update'] / one['build']:.2%}",
            flush=True,
        )
    if len(rows) < 2:
        return
    sizes, built_s, updated_s = np.array(rows).T
    lines = [np.polyfit(sizes, seconds, 1) for seconds in (built_s, updated_s)]
    full, update = (float(np.polyval(line, GOAL)) for line in lines)
    print(f"{GOAL:,} (extrapolated): full build {full:,.0f} s, update {update:,.1f} s, {update / full:.2%}")


if __name__ == "__main__":
    main()
