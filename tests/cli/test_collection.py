"""`evenrank collection` and `evenrank demo`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenrank.cli.main import cli
from evenrank.trec.collection import Collection


def test_generate_describe_and_import_of_the_same_files(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    made = CliRunner().invoke(
        cli, ["collection", "generate", str(folder), "--pages", "400", "--topics", "4", "--seed", "3"]
    )
    assert made.exit_code == 0, made.output
    facts = json.loads(CliRunner().invoke(cli, ["collection", "describe", str(folder), "--format", "json"]).output)
    assert facts["counts"]["pages"] == 400
    assert facts["counts"]["corpus_pages"] == 400
    assert (facts["counts"]["train_topics"], facts["counts"]["eval_topics"]) == (2, 2)
    assert facts["settings"]["generated"]["seed"] == 3
    source = folder / "source"
    words = ["collection", "import", str(tmp_path / "d"), "--metadata", str(source / "trec_metadata.json.gz")]
    words += ["--topics", str(source / "trec_topics.json.gz"), "--corpus", str(source / "trec_corpus.json.gz")]
    for name in ("eval-topics-with-qrels.json.gz", "eval-topics.json.gz"):
        words += ["--eval-topics", str(source / name)]
    imported = CliRunner().invoke(cli, words)
    assert imported.exit_code == 0, imported.output
    for name in ("page_ids.npy", "mask-geography.npy", "topics.json", "titles.npy", "rel_docs.npy"):
        one, two = Collection.open(folder).data / name, Collection.open(tmp_path / "d").data / name
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.slow
def test_demo_runs_the_whole_chain(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["demo", str(tmp_path / "demo"), "--pages", "2000"])
    assert result.exit_code == 0, result.output
    for part in (
        "collection/manifest.json",
        "runs/task1-optimal.gz",
        "runs/task2-optimal.gz.json",
        "report/index.html",
    ):
        assert (tmp_path / "demo" / part).exists(), part
    assert result.output.count("$ evenrank ") >= 12
    assert "Where to look" in result.output


@pytest.mark.parametrize("action", ["import", "generate", "describe", "download"])
def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--metadata", "m.json"] if action == "import" else []
    result = CliRunner().invoke(cli, ["collection", action, "", *words])
    assert result.exit_code == 2
    assert "the name is empty" in result.stderr
    assert list(tmp_path.iterdir()) == []
