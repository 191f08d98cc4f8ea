"""Collections that tests of the web app work on: one generated, one full of titles that try to break out."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import pytest

from evenrank.app.articles.article import save_facts
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from evenrank.trec.import_files import ImportFiles, import_collection

QUESTION = {"title": "Chess", "keywords": "chess, grandmaster, pawns", "scope": "", "fairness": "1"}
"""A question that finds articles in the generated collection."""
HOSTILE_TITLES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '=HYPERLINK("http://example.org")',
    "+1-2",
    "@SUM(A1)",
    "-minus",
    "File:Cat.jpg",
    "Category:Rivers",
    "]] [[Special:Log",
    "{{delete}}",
    "a | b || c",
    "'''bold''' ~~~~",
    "{{ 7 * 7 }} {% raw %}",
    "Robert'); DROP TABLE work_list;--",
    "C++ / ../../etc/passwd",
    "Ünïcödé 東京 \N{RIGHT-TO-LEFT OVERRIDE}evil",
    'tab\there, "quoted", 100 % & more',
)


def make_generated(folder: Path) -> Collection:
    """2,000 synthetic articles with an index and counted facts."""
    settings = GenerateSettings(n_pages=2000, n_train_topics=4, n_eval_topics=2, seed=5)
    return _indexed(generate_collection(folder / "collection", settings))


def shared_generated(factory: pytest.TempPathFactory) -> Collection:
    """The generated collection, made once for all processes of a test run; nobody may change it."""
    base = factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = root / "shared-generated"
    with (root / "shared-generated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            make_generated(folder)
            (folder / "complete").touch()
    return Collection.open(folder / "collection")


def make_hostile(folder: Path) -> Collection:
    """One article for each hostile title; all of them are about rivers, and one person is in no other group."""
    ids = range(1, len(HOSTILE_TITLES) + 1)
    files = ImportFiles(metadata=folder / "metadata.jsonl", corpus=folder / "corpus.jsonl")
    _write(
        folder / "metadata.jsonl",
        [
            {
                "page_id": page,
                "quality_score": page / 20,
                "quality_score_disc": "Stub",
                "geographic_locations": ["Africa"] if page == 1 else ["Asia", "Europe"] if page % 2 else [],
                "gender": ["female"] if page == 1 else ["male"] if page % 3 else None,
            }
            for page in ids
        ],
    )
    _write(
        folder / "corpus.jsonl",
        [
            {"id": page, "title": title, "url": "", "text": f"{title} is a river. Rivers flow <b>down</b> [[hill]]s."}
            for page, title in zip(ids, HOSTILE_TITLES, strict=True)
        ],
    )
    return _indexed(import_collection(folder / "hostile", files))


def _indexed(collection: Collection) -> Collection:
    build_index(collection, FaultLog(), n_threads=1).close()
    save_facts(collection, 10_000, n_workers=1)
    return collection


def _write(path: Path, records: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
