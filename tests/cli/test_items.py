"""`evenrank score` and `evenrank rerank` as a user calls them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

import evenrank as package
from evenrank.cli.main import cli
from evenrank.cli.outputs import json_parts
from evenrank.cli.score import render_scores
from evenrank.errors import EvenrankError


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


RECIPES = "query,item,score\nu1,pasta al forno,0.9\nu1,tom yum,0.4\nu1,ceviche,0.3\n"
CUISINES = "item,cuisine\npasta al forno,Italian\ntom yum,Thai\nceviche,Peruvian\n"


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    (tmp_path / "run.csv").write_text(RECIPES)
    (tmp_path / "groups.csv").write_text(CUISINES)
    (tmp_path / "liked.csv").write_text("query,item,grade\nu1,tom yum,1\n")
    return tmp_path


def both(folder: Path, command: str, *options: str) -> Result:
    files = ["--run", str(folder / "run.csv"), "--groups", str(folder / "groups.csv")]
    return CliRunner().invoke(cli, [command, *files, *options])


def test_rerank_writes_what_the_ending_of_its_output_says(recipes: Path) -> None:
    for ending, first in (("csv", "query,ranking,rank,item"), ("tsv", "query\tranking\trank\titem"), ("json", "{")):
        out = recipes / f"fair.{ending}"
        assert both(recipes, "rerank", "-o", str(out)).exit_code == 0
        assert out.read_text().startswith(first)
    scored = CliRunner().invoke(
        cli, ["score", "--run", str(recipes / "fair.csv"), "--groups", str(recipes / "groups.csv")]
    )
    assert scored.exit_code == 0


def test_an_id_with_a_blank_is_never_written_as_two_columns(recipes: Path) -> None:
    answer = both(recipes, "rerank", "-o", str(recipes / "fair.trec"))
    assert isinstance(answer.exception, EvenrankError)
    assert "item id 'pasta al forno' has a blank" in str(answer.exception)
    assert not (recipes / "fair.trec").exists()


def test_a_score_of_another_name_is_not_passed_over_in_silence(recipes: Path) -> None:
    (recipes / "run.csv").write_text(RECIPES.replace("score", "points"))
    liked = ["--qrels", str(recipes / "liked.csv")]
    for answer in (both(recipes, "score", *liked), both(recipes, "rerank", "--format", "csv")):
        assert answer.exit_code == 0
        assert "no column score or rank, so items are ranked as they are listed (not used: points)" in answer.output
    (recipes / "run.csv").write_text(re.sub(r",[^,]*$", "", RECIPES, flags=re.MULTILINE))
    assert "note" not in both(recipes, "score", *liked).output, "rows in order are a form of their own"


def test_groups_that_differ_in_capitals_only_are_named(recipes: Path) -> None:
    (recipes / "groups.csv").write_text(CUISINES.replace("Peruvian", "THAI "))
    for answer in (both(recipes, "score", "--target", "equal"), both(recipes, "rerank", "--format", "csv")):
        assert "cuisine: 'THAI' and 'Thai' are different groups (spell them alike to join them)" in answer.output


def test_what_is_wrong_comes_with_what_to_do(recipes: Path) -> None:
    (recipes / "run.csv").write_text("query;item;score\nu1;a;0,5\nu1;b;\n")
    told = str(both(recipes, "score", "--target", "equal").exception)
    assert "line 2: score is not a finite number: '0,5' (write a decimal point instead of the comma)" in told
    assert "line 3: score is not a finite number: '' (give a number, or leave the row out)" in told
    (recipes / "run.csv").write_text("query,item,score\n")
    assert "run.csv: nothing is ranked (give a row" in str(both(recipes, "score", "--target", "equal").exception)
    (recipes / "run.csv").write_text(RECIPES + "u1,tom yum,0.2\nu1,ceviche,0.9\n")
    told = str(both(recipes, "score", "--target", "equal").exception)
    assert told.index("line 4: item appears") < told.index("line 5: item appears"), "in the order of the file"


def test_relevant_items_under_other_ids_are_told(recipes: Path) -> None:
    (recipes / "liked.csv").write_text("query,item,grade\nu1,tom_yum,1\n")
    told = str(both(recipes, "score", "--qrels", str(recipes / "liked.csv")).exception)
    assert "no relevant item is ranked, of 1 (are the ids the same in both?)" in told


def test_items_of_several_groups_and_parquet_files_are_explained(files: Path) -> None:
    (files / "twice.csv").write_text("item,group\na,x\na,y\n")
    (files / "run.parquet").write_bytes(b"PAR1\x15\x04\x15\xe0\xff")
    run, qrels, groups = str(files / "run.csv"), str(files / "qrels.txt"), str(files / "groups.csv")
    result = CliRunner().invoke(cli, ["score", "--run", run, "--groups", str(files / "twice.csv"), "--qrels", qrels])
    assert "an item of several groups has a column `share` or `grouping`" in str(result.exception)
    words = ["score", "--run", str(files / "run.parquet"), "--groups", groups, "--qrels", qrels]
    result = CliRunner().invoke(cli, words)
    assert "a Parquet file (save it as CSV, or give data frames in Python)" in str(result.exception)


def test_a_gap_of_rounding_is_printed_as_none() -> None:
    found = package.rerank({"q": {"a": 0.2}}, {"a": "x", "c": "y"}, "equal", n_rankings=10)
    assert abs(found.certificates["q"]["gap"]) < 1e-15
    assert "gap 0, " in str(found)
