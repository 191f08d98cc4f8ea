"""`evenrank score` and `evenrank rerank` as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

import evenrank as package
from evenrank.cli.outputs import json_parts
from evenrank.cli.score import render_scores


def evenrank(*words: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "evenrank.cli.main", *map(str, words)]
    return subprocess.run(line, input=stdin, capture_output=True, text=True, check=False)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "run.csv").write_text("query,item,score\nq,a,0.9\nq,b,0.8\nq,c,0.75\n")
    (tmp_path / "groups.csv").write_text("item,group\na,x\nb,x\nc,y\n")
    (tmp_path / "qrels.txt").write_text("q 0 a 2\nq 0 c 1\n")
    (tmp_path / "target.csv").write_text("group,share\nx,0.3\ny,0.7\n")
    return tmp_path


def test_score_and_rerank_from_files_and_pipes(files: Path) -> None:
    inputs = ["--groups", files / "groups.csv", "--qrels", files / "qrels.txt"]
    shown = evenrank("score", "--run", files / "run.csv", *inputs)
    assert shown.returncode == 0, shown.stderr
    assert "nDCG" in shown.stdout
    wanted = ["--groups", files / "groups.csv", "--target", files / "target.csv"]
    fair = evenrank("rerank", "--run", "-", *wanted, stdin=(files / "run.csv").read_text())
    assert [line.split()[2] for line in fair.stdout.splitlines()] != ["a", "b", "c"]
    assert "certificate" in fair.stderr
    scored = evenrank("score", "--run", "fair=-", *inputs, "--format", "json", stdin=fair.stdout)
    found = json.loads(scored.stdout)
    assert found["schema"] == "evenrank.score/1"
    assert found["systems"][0]["system"] == "fair"


def test_output_is_overwritten_only_with_force(files: Path) -> None:
    line = ["rerank", "--run", files / "run.csv", "--groups", files / "groups.csv", "-o", files / "out.trec"]
    assert evenrank(*line).returncode == 0
    again = evenrank(*line)
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    assert evenrank(*line, "--force", "--format", "csv").returncode == 0
    assert (files / "out.trec").read_text().startswith("query,ranking,rank,item\n")


def test_faults_name_their_lines(files: Path) -> None:
    (files / "groups.csv").write_text("item,group,share\na,x,much\na,y,-1\n,x,1\n")
    result = evenrank("score", "--run", files / "run.csv", "--groups", files / "groups.csv")
    assert result.returncode == 2
    for line in ("line 2: share is not a finite number", "line 3: share is below 0", "line 4: no item id"):
        assert line in result.stderr
    (files / "short.csv").write_text("query,item\nq\n")
    short = evenrank("score", "--run", files / "short.csv", "--qrels", files / "qrels.txt")
    assert "short.csv, line 2: 1 cell, where 2 were expected" in short.stderr


@pytest.mark.parametrize("entries", [[], [{"a": 1}], [{"a": ["\n", '"queries": []'], "b": {}}, {}, {"c": 2.5}]])
def test_json_in_parts_has_the_bytes_of_json(monkeypatch: pytest.MonkeyPatch, entries: list[object]) -> None:
    monkeypatch.setattr("evenrank.cli.outputs.ENTRIES_AT_ONCE", 2)
    data = {"policy": '\n  "queries": []', "queries": [], "notes": ["x"]}
    whole = orjson.dumps({**data, "queries": entries}, option=orjson.OPT_INDENT_2).decode() + "\n"
    assert "".join(json_parts(data, "queries", entries)) == whole


@pytest.mark.parametrize("form", ["table", "tsv", "csv", "json"])
def test_scores_in_parts_are_those_at_once(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    rankings = {f"{'q' * number}{number}": ["a", "b"][: 1 + number % 2] for number in range(1, 8)}
    found = package.score({"one": rankings, "two": rankings}, {"a": "x", "b": "y"}, {name: ["a"] for name in rankings})
    whole = "".join(render_scores(found, form, per_query=True))
    monkeypatch.setattr("evenrank.cli.score.ENTRIES_AT_ONCE", 3)
    monkeypatch.setattr("evenrank.cli.outputs.ENTRIES_AT_ONCE", 3)
    assert "".join(render_scores(found, form, per_query=True)) == whole
    assert whole.count("qq2") == 2


@pytest.mark.parametrize("name", ["run.csv", "groups.csv", "target.csv"])
def test_rerank_writes_over_none_of_its_inputs(files: Path, name: str) -> None:
    before = (files / name).read_bytes()
    words = ["--run", files / "run.csv", "--groups", files / "groups.csv", "--target", files / "target.csv"]
    ended = evenrank("rerank", *words, "-o", files / name, "--force")
    assert ended.returncode == 2
    assert "one of the files to read, which would be lost" in ended.stderr
    assert (files / name).read_bytes() == before
