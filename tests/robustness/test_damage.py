"""Damage to every file of a collection, its model and its stores: refused at the first reading, or without effect."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenrank.app.assess.texts import SCHEMA as TEXTS
from evenrank.app.storage.store import app_schema, open_app_store
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.learn.learn import learn
from evenrank.retrieval.learn.learned_model import load
from evenrank.trec.assessment.votes import create_store, judgments_schema
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import import_collection
from tests.robustness.commands import run
from tests.robustness.small_files import small_files

N_DAMAGES = int(os.environ.get("EVENRANK_DAMAGES", "40"))
"""Damages of each file."""


def damages(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """Changed copies: a bit, a byte, a block of zeros, a block of noise, a cut, bytes at the end."""
    for _ in range(N_DAMAGES):
        changed = bytearray(content)
        at = rng.randrange(len(content))
        kind = rng.randrange(6)
        if kind == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at] = rng.randrange(256)
        elif kind == 2:
            changed[at : at + 512] = bytes(len(changed[at : at + 512]))
        elif kind == 3:
            changed[at : at + 512] = rng.randbytes(len(changed[at : at + 512]))
        elif kind == 4:
            del changed[at:]
        else:
            changed += rng.randbytes(8)
        if changed != content:
            yield bytes(changed)


def everything(folder: Path) -> dict[str, Any]:
    """All that can be read of a collection."""
    opened = Collection.open(folder)
    assert opened.titles is not None
    return {
        "ids": opened.page_ids.tolist(),
        "class": opened.quality_class.tolist(),
        "score": np.nan_to_num(opened.quality_score, nan=-1.0).tolist(),
        "masks": {name: mask.tolist() for name, mask in opened.masks.items()},
        "sizes": None if opened.size_bytes is None else opened.size_bytes.tolist(),
        "titles": [opened.titles[row] for row in range(len(opened))],
        "topics": [(t.id, t.title, t.split, t.rel_docs.tolist(), t.max_tier) for t in opened.topics],
        "counts": opened.manifest.counts,
        "sources": opened.manifest.sources,
        "settings": opened.manifest.settings,
    }


def outcomes(path: Path, read: Callable[[], Any], is_same: Callable[[Any], bool]) -> dict[str, int]:
    """How often damage of a file was refused, had no effect, or changed what was read."""
    content = path.read_bytes()
    found = {"refused": 0, "no effect": 0, "changed": 0}
    for changed in damages(content, random.Random(path.name)):
        path.write_bytes(changed)
        try:
            found["no effect" if is_same(read()) else "changed"] += 1
        except EvenrankError:
            found["refused"] += 1
        finally:
            path.write_bytes(content)
    print(f"{path.name}: {found}")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("damage")
    build_index(import_collection(made / "c", small_files(made / "files", 120))).close()
    return made / "c"


def test_no_damage_of_a_collection_goes_unnoticed(folder: Path) -> None:
    whole = everything(folder)
    files = [folder / "manifest.json", *sorted((folder / "data-1").iterdir())]
    assert len(files) >= 10
    total = {"refused": 0, "no effect": 0, "changed": 0}
    for path in files:
        found = outcomes(path, lambda: everything(folder), lambda read: bool(read == whole))
        assert found["changed"] == 0, path.name
        total = {kind: total[kind] + found[kind] for kind in total}
    assert total["refused"] > 0.8 * len(files) * N_DAMAGES * 0.9


def test_no_damage_of_a_model_goes_unnoticed(folder: Path, tmp_path: Path) -> None:
    path = learn(folder, tmp_path / "model.json").path
    whole = load(path)

    def is_same(read: Any) -> bool:
        return repr(read) == repr(whole)

    found = outcomes(path, lambda: load(path), is_same)
    assert found["changed"] == 0
    assert found["refused"] > 0


def judgments_file(path: Path) -> Path:
    with create_store(path) as store, store.transaction() as connection:
        connection.execute("INSERT INTO topic (id, title) VALUES (1, 'one')")
        connection.execute(
            "INSERT INTO assessor (name, role, secret_hash, created) VALUES ('ann', 'assessor', x'0102', '2022-01-01')"
        )
        connection.executemany(
            "INSERT INTO item (topic, page, tier) VALUES (1, ?, 1)", [(page,) for page in range(500)]
        )
        connection.executemany(
            "INSERT INTO vote (token, topic, page, assessor, outcome, grade, comment, seconds, time, method) "
            "VALUES (?, 1, ?, 'ann', 'graded', ?, 'a comment', 2.5, '2022-01-01', 'assess')",
            [(f"token{page}", page, page % 2) for page in range(300)],
        )
    return path


def desk_file(path: Path) -> Path:
    with open_app_store(path) as store, store.transaction() as connection:
        for number in range(1, 20):
            arrays = (np.arange(500 * number, dtype="<i4").tobytes(), np.ones(50 * number).tobytes())
            columns = "number, token, owner, created, question, pages, relevance, words, matches, target, certificate"
            values = (number, f"token{number}", "ann", "2022-01-01", "{}", *arrays, "[]", b"", b"", "{}")
            connection.execute(f"INSERT INTO work_list ({columns}, n_candidates) VALUES ({'?, ' * 11}9)", values)
        marks = [(1, page, "done", "ann", "2022-01-01") for page in range(200)]
        connection.executemany(
            "INSERT INTO list_mark (series, page_id, kind, editor, created) VALUES (?, ?, ?, ?, ?)", marks
        )
    return path


def texts_file(path: Path) -> Path:
    rng = random.Random(1)
    with open_file(SqliteFile(path), TEXTS, may_create=True) as store, store.transaction() as connection:
        connection.execute("INSERT INTO source VALUES ('1 none')")
        rows = [(page, rng.randbytes(900)) for page in range(100)]
        connection.executemany("INSERT INTO text VALUES (?, ?)", rows)
    return path


STORES = {
    "judgments": (judgments_file, judgments_schema),
    "desk": (desk_file, app_schema),
    "texts": (texts_file, lambda: TEXTS),
}
"""Kind of store → makes a file with something in every kind of table, and its schema."""


@pytest.mark.parametrize("kind", STORES)
def test_no_damage_of_a_store_goes_unnoticed(kind: str, tmp_path: Path) -> None:
    make, schema = STORES[kind]
    path = make(tmp_path / "file.sqlite")

    def read() -> list[tuple[Any, ...]]:
        with open_file(SqliteFile(path), schema()) as store:
            names = store.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            tables = [row[0] for row in names if not row[0].startswith("sqlite_")]
            return [(t, *map(tuple, store.connection.execute(f"SELECT * FROM {t}").fetchall())) for t in tables]

    whole = read()
    found = outcomes(path, read, lambda other: bool(other == whole))
    assert found["changed"] == 0
    assert found["refused"] > 0.25 * sum(found.values())  # the rest hit parts of pages that hold nothing


def test_doctor_finds_every_damage_of_an_index(folder: Path) -> None:
    files = [path for path in sorted((folder / "index-1").rglob("*")) if path.is_file() and path.stat().st_size]
    checked = [path for path in files if not path.name.endswith((".lock", "build.json", "checksums.json"))]
    assert checked
    from evenrank.cli.doctor import check_path

    for path in checked:
        content = path.read_bytes()
        for changed in list(damages(content, random.Random(path.name)))[:10]:
            path.write_bytes(changed)
            findings = [finding for finding in check_path(folder) if finding.is_damaged]
            path.write_bytes(content)
            assert [finding.path for finding in findings] == [path]
    assert run(["doctor", folder]).returncode == 0


def test_doctor_says_what_it_could_not_check(folder: Path) -> None:
    """An index made before there were checksums was called undamaged, after the text of an error of the system."""
    known = folder / "index-1" / "checksums.json"
    content = known.read_bytes()
    known.unlink()
    ended = run(["doctor", folder])
    known.write_bytes(content)
    assert ended.returncode == 0
    assert "not checked: it was made before checksums were kept" in ended.stdout
    assert "nothing is damaged; 1 not checked" in ended.stdout
    assert "Errno" not in ended.stdout


@pytest.mark.parametrize("name", ["manifest.json", "data-1/page_ids.npy", "data-1/topics.json"])
def test_commands_say_what_is_damaged(folder: Path, name: str, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "c")
    path = tmp_path / "c" / name
    path.write_bytes(path.read_bytes()[:-3] + b"###")
    for words in (["collection", "describe"], ["search", "WORDS", "river"], ["targets"]):
        command = [words[0], words[1], tmp_path / "c"] if words[0] == "collection" else [words[0], tmp_path / "c"]
        ended = run([*command, *(words[2:] if words[0] == "search" else [])])
        if ended.returncode == 0:
            continue  # a command that does not read this file
        assert ended.returncode == 2
        assert name.rpartition("/")[2].partition(".")[0] in ended.stderr
    assert run(["doctor", tmp_path / "c"]).returncode == 1


@pytest.mark.long
def test_two_thousand_damages() -> None:
    environment = {**os.environ, "EVENRANK_DAMAGES": "300"}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "no_damage"]
    assert subprocess.run(words, env=environment).returncode == 0
