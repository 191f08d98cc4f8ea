"""Every command that writes, with its inputs in a folder, and what to look at: the old result or the new one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import orjson

from evenrank.app.storage.backup import read_contents
from evenrank.app.storage.store import open_app_store
from evenrank.database.database import Database
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.assessment.votes import open_store
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import import_collection
from tests.robustness.commands import run
from tests.robustness.small_files import import_words, small_files
from tests.robustness.test_annotate_records import entity, small_inputs

N_PAGES = 150
RANK = ("--task", 1, "--policy", "relevance", "--topics", "all")
CHANGING = frozenset({"time", "created", "since", "token", "secret", "secret_hash", "digest", "votes", "pseudonym"})
"""Columns that two runs of a command fill differently: times, secrets, and digests that cover them."""
PERSON = re.compile(r"person-[0-9a-f]+")
Outcome = dict[str, str]


class Case(NamedTuple):
    """A command and what it leaves."""

    words: Callable[[Path], list[object]]
    outcome: Callable[[Path], Outcome]
    """What there is, piece by piece; each piece is replaced in one step."""
    prepare: Callable[[Path], object] = lambda place: None


def make_place(place: Path) -> None:
    """A collection with an index, runs, a pool, judgments, a store of work lists and inputs for everything."""
    small_files(place / "new", N_PAGES, shift=1)
    build_index(import_collection(place / "c", small_files(place / "files", N_PAGES))).close()
    collection = ["collection", "generate", place / "g", "--pages", 150, "--topics", 4, "--seed", 1]
    (place / "qrels").write_text("".join(f"1 0 {page} {page % 2}\n" for page in range(1, 100)))
    small_inputs(place, [entity(7)])
    items = "".join(f"q1,{name},{1 / number}\n" for number, name in enumerate("abcdef", 1))
    (place / "items.csv").write_text(f"query,item,score\n{items}")
    (place / "groups.csv").write_text("item,group\n" + "".join(f"{name},{'xy'[name < 'd']}\n" for name in "abcdef"))
    store, run_file = place / "judgments.sqlite", place / "run.tsv"
    for words in (
        collection,
        ["rank", place / "c", *RANK, "-o", run_file],
        ["report", place / "c", run_file, "--protocol", "official-2021", "-o", place / "report"],
        ["pool", "build", place / "c", run_file, "--tier", "1:20", "-o", place / "pool", "--despite", "short"],
        ["judgments", "create", store, "--pool", place / "pool"],
        ["judgments", "assessor", store, "ann"],
        ["judgments", "assessor", store, "ben"],
        ["judgments", "import", store, place / "qrels"],
    ):
        ended = run(words)
        assert ended.returncode == 0, ended.stderr
    with open_app_store(place / "desk.sqlite") as state, state.transaction() as connection:
        connection.execute("INSERT INTO setting VALUES ('note', 'before')")
    assert run(["backup", place / "backup", "--store", place / "desk.sqlite", "--judgments", store]).returncode == 0
    with open_app_store(place / "desk.sqlite") as state, state.transaction() as connection:
        connection.execute("UPDATE setting SET value = 'after' WHERE name = 'note'")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def files(*names: str) -> Callable[[Path], Outcome]:
    def outcome(place: Path) -> Outcome:
        paths = {name: place / name for name in names}
        return {name: digest(path.read_bytes()) if path.exists() else "absent" for name, path in paths.items()}

    return outcome


def collection_at(name: str) -> Callable[[Path], Outcome]:
    """The arrays of a collection by their checksums, which opening it has compared."""

    def outcome(place: Path) -> Outcome:
        if not (place / name / "manifest.json").exists():
            return {name: "absent"}
        collection = Collection.open(place / name)
        parts = [collection.page_ids, collection.quality_score]
        titles = [topic.title for topic in collection.topics]
        return {name: digest(b"".join(part.tobytes() for part in parts) + repr(titles).encode())}

    return outcome


def index(place: Path) -> Outcome:
    collection = Collection.open(place / "c")
    try:
        engine = open_index(collection)
    except EvenrankError as error:
        assert "evenrank index" in str(error)
        return {"index": "absent"}
    try:
        stored = engine.stored([1, N_PAGES])
    finally:
        engine.close()
    return {"index": digest(repr(stored).encode())}


def folder(name: str) -> Callable[[Path], Outcome]:
    """A folder that is replaced as one piece."""

    def outcome(place: Path) -> Outcome:
        found = sorted(path for path in (place / name).rglob("*") if path.is_file())
        contents = [(str(path.relative_to(place / name)), digest(path.read_bytes())) for path in found]
        return {name: digest(orjson.dumps(contents))}

    return outcome


def rows(store: Database) -> str:
    """Digest of all that a store holds, but for times and secrets."""
    tables = [row[0] for row in store.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    content = []
    for table in sorted(set(tables) - {"row_checksum"}):
        found = [dict(row) for row in store.connection.execute(f'SELECT * FROM "{table}"')]
        kept = [
            sorted((k, PERSON.sub("person", repr(v))) for k, v in row.items() if k not in CHANGING) for row in found
        ]
        content.append((table, sorted(kept) if table != "setting" else [row for row in kept if "'note'" in repr(row)]))
    return digest(repr(content).encode())


def store_at(name: str, opened: Callable[[Path], Database]) -> Callable[[Path], Outcome]:
    def outcome(place: Path) -> Outcome:
        if not (place / name).exists():
            return {name: "absent"}
        try:
            with opened(place / name) as store:
                return {name: rows(store)}
        except EvenrankError as error:
            if "not a judgments file" in str(error):  # killed before its tables were there
                return {name: "absent"}
            raise

    return outcome


def backup(place: Path) -> Outcome:
    return {"backup": repr([(entry.kind, entry.size_bytes) for entry in read_contents(place / "backup")])}


def both_stores(place: Path) -> Outcome:
    return judgments(place) | store_at("desk.sqlite", open_app_store)(place)


def judgments(place: Path) -> Outcome:
    return store_at("judgments.sqlite", open_store)(place)


def without(*names: str) -> Callable[[Path], object]:
    """Remove what the command makes, so that the old result is none."""

    def prepare(place: Path) -> None:
        import shutil

        for name in names:
            shutil.rmtree(place / name) if (place / name).is_dir() else (place / name).unlink()

    return prepare


CASES: dict[str, Case] = {
    "collection import": Case(
        lambda p: [*import_words(p / "c", small_files(p / "new", N_PAGES, shift=1))], collection_at("c")
    ),
    "collection generate": Case(
        lambda p: ["collection", "generate", p / "g", "--pages", 160, "--topics", 4, "--force"], collection_at("g")
    ),
    "index": Case(lambda p: ["index", p / "c"], index, without("c/index-1")),
    "learn": Case(lambda p: ["learn", p / "c"], files("c/relevance-model.json")),
    "annotate": Case(lambda p: ["annotate", p / "m.gz", "--dump", p / "dump.xml", "--workers", 1], files("m.gz")),
    "rank": Case(
        lambda p: ["rank", p / "c", *RANK, "--force", "--seed", 5, "-o", p / "run.tsv"],
        files("run.tsv", "run.tsv.json"),
    ),
    "rerank": Case(
        lambda p: ["rerank", "--run", p / "items.csv", "--groups", p / "groups.csv", "-o", p / "out", "--force"],
        files("out"),
    ),
    "pareto": Case(
        lambda p: [
            *("pareto", p / "c", "--from", p / "run.tsv", "--topics", "101", "--weights", "0,1", "--workers", 1),
            *("-o", p / "pareto.json", "--force"),
        ],
        files("pareto.json"),
    ),
    "run convert": Case(
        lambda p: ["run", "convert", p / "run.tsv", p / "out.trec.gz", "--force"], files("out.trec.gz")
    ),
    "run oracle": Case(
        lambda p: ["run", "oracle", p / "c", "--task", 1, "-o", p / "oracle.tsv", "--force"], files("oracle.tsv")
    ),
    "evaluate --figure": Case(
        lambda p: ["evaluate", p / "c", p / "run.tsv", "--depths", "5,10", "--figure", p / "depths.svg"],
        files("depths.svg"),
    ),
    "report": Case(lambda p: ["report", p / "c", p / "run.tsv", "-o", p / "report"], folder("report")),
    "pool build": Case(
        lambda p: [
            "pool",
            "build",
            p / "c",
            p / "run.tsv",
            "--tier",
            "1:30",
            "--despite",
            "short",
            "--new",
            "-o",
            p / "pool",
        ],
        files("pool"),
    ),
    "judgments create": Case(
        lambda p: ["judgments", "create", p / "judgments.sqlite", "--pool", p / "pool"],
        judgments,
        without("judgments.sqlite"),
    ),
    "judgments import": Case(
        lambda p: ["judgments", "import", p / "store", p / "qrels"], store_at("store", open_store)
    ),
    "judgments assessor": Case(lambda p: ["judgments", "assessor", p / "judgments.sqlite", "cem"], judgments),
    "judgments assign": Case(lambda p: ["judgments", "assign", p / "judgments.sqlite"], judgments),
    "judgments export": Case(
        lambda p: ["judgments", "export", p / "judgments.sqlite", "-o", p / "out.qrels"], files("out.qrels")
    ),
    "backup": Case(
        lambda p: ["backup", p / "backup", "--store", p / "desk.sqlite", "--judgments", p / "judgments.sqlite"], backup
    ),
    "restore": Case(
        lambda p: [
            *("restore", p / "backup", "--store", p / "desk.sqlite", "--judgments", p / "judgments.sqlite", "--force"),
        ],
        both_stores,
        lambda p: run(["judgments", "assessor", p / "judgments.sqlite", "dia"]),
    ),
}


def listing(place: Path) -> list[str]:
    """All files below a folder; names that count up or are random are written alike."""
    found = (str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    names = (re.sub(r"data-\d+", "data-N", re.sub(r"[0-9a-f]{32}", "SEGMENT", name)) for name in found)
    return sorted({name for name in names if "/index-" not in name})
