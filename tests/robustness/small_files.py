"""Small input files in the official formats, for tests that attack the commands which read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from evenrank.trec.import_files import ImportFiles

CLASSES = ("Stub", "Start", "C", "B", "GA", "FA")
PLACES = (["Africa"], ["Asia"], ["Europe", "Northern America"], [])
GENDERS = (["male"], ["female"], [], None)
WORDS = ("river", "temple", "painter", "engine", "harbour", "violin", "orchard", "comet")


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


def page(page_id: int, shift: int = 0) -> dict[str, Any]:
    """Metadata of a page; another `shift` gives another content for the same id."""
    number = page_id + shift
    return {
        "page_id": page_id,
        "quality_score": (number * 37 % 1000) / 1000,
        "quality_score_disc": CLASSES[number % 6],
        "geographic_locations": PLACES[number % 4],
        "gender": GENDERS[number // 2 % 4],
    }


def article(page_id: int) -> dict[str, Any]:
    words = " ".join(WORDS[(page_id * factor) % len(WORDS)] for factor in (1, 3, 5, 7))
    return {"id": page_id, "title": f"Page {page_id}", "url": f"u/{page_id}", "text": f"A {words}. " * 5}


def small_files(folder: Path, n_pages: int = 60, shift: int = 0) -> ImportFiles:
    """Metadata, training and evaluation topics and a corpus of `n_pages` pages."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = range(1, n_pages + 1)
    topics = [
        {"id": 1 + t, "title": f"{WORDS[t]} topic", "keywords": [WORDS[t]], "rel_docs": [i for i in ids if i % 4 == t]}
        for t in range(4)
    ]
    judged = [{**topics[0], "id": 101, "assessed_docs": list(ids[:30]), "max_tier": 3}]
    return ImportFiles(
        metadata=write_lines(folder / "metadata.json", (page(i, shift) for i in ids)),
        topics=write_lines(folder / "topics.json", topics),
        eval_topics=(write_lines(folder / "eval.json", judged),),
        corpus=write_lines(folder / "corpus.json", map(article, ids)),
    )


def import_words(folder: Path, files: ImportFiles) -> list[str]:
    """The command line of an import, behind `evenrank`."""
    words = ["collection", "import", str(folder), "--metadata", str(files.metadata), "--topics", str(files.topics)]
    for path in files.eval_topics:
        words += ["--eval-topics", str(path)]
    return [*words, "--corpus", str(files.corpus)]
