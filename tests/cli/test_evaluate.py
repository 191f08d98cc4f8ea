"""`evenrank evaluate`: formats, directions, settings, faults, and a start without heavy imports."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evenrank.cli.evaluate import command
from evenrank.errors import EvenrankError, InputError
from evenrank.scoring import evaluate as evaluate_module
from evenrank.trec.collection import Collection

evaluate = partial(evaluate_module.evaluate, protocol="official-2021")
HEAVY = {"scipy", "pandas", "matplotlib", "altair", "tantivy", "tqdm", "lightgbm", "onnxruntime", "asyncio", "numba"}
UNUSED = {"email", "http", "importlib.metadata", "multiprocessing", "numpy.ma", "sqlite3", "ssl", "starlette"}
"""Other modules that scoring one run does not need."""
OTHER_PARTS = {"app", "database", "experiments", "interop", "policies", "ranking", "retrieval", "wikipedia"}
"""Packages of ours that have nothing to do with scoring; nor has assessment, where no judgments file is given."""


@pytest.fixture
def call(golden_collection: Collection, golden_runs: list[Path]):
    """Calls the command on all golden runs, or on some."""

    def run(*options: str, runs: list[Path] | None = None) -> Result:
        paths = golden_runs if runs is None else runs
        protocol = [] if "--protocol" in options else ["--protocol", "official-2021"]
        arguments = [str(golden_collection.path), *map(str, paths), *protocol, *options]
        return CliRunner().invoke(command, arguments, catch_exceptions=False)

    return run


def test_json_is_the_contract(call, golden_collection, golden_runs) -> None:
    result = call("--format", "json")
    record = json.loads(result.stdout)
    assert result.exit_code == 0
    assert record["protocol"]["name"] == "official-2021"
    assert [run["run"] for run in record["runs"]] == [f"T{t}syn0{n}" for t in (1, 2) for n in (0, 1, 2)]
    expected = evaluate(golden_collection, golden_runs)
    for run in record["runs"]:
        known = expected[run["run"]]
        assert run["scores"] == known.scores
        assert run["n_topics"] == known.n_topics
        assert set(run["ci"]) == {"measure", "low", "high", "se"}
        assert run["ci"]["measure"] == ("Score" if run["task"] == 1 else "EE-L")
        assert run["ci"]["low"] <= run["scores"][run["ci"]["measure"]] <= run["ci"]["high"]
    assert {(t["run"], t["topic"]) for t in record["topics"]} == {(r.run, t) for r in expected.runs for t in r.topics}
    assert {"EE-L", "EE-D", "EE-R", "nDCG", "P"} <= set(record["runs"][-1]["scores"])


def test_table_is_sorted_best_first_by_each_tasks_direction(call, golden_collection, golden_runs) -> None:
    result = call()
    lines = [line.split() for line in result.stdout.splitlines()]
    order = [line[0] for line in lines if line and line[0].startswith("T") and line[0] != "Task"]
    expected = evaluate(golden_collection, golden_runs)
    by_score = sorted(expected.runs[:3], key=lambda run: -run.scores["Score"])
    by_loss = sorted(expected.runs[3:], key=lambda run: run.scores["EE-L"])
    assert order == [run.run for run in (*by_score, *by_loss)]
    assert f"{by_score[0].scores['Score']:.4f}" in result.stdout
    assert "\x1b" not in result.stdout
    assert "protocol official-2021" not in result.stderr


def test_per_topic_rows_end_with_all(call, golden_runs) -> None:
    rows = list(csv.DictReader(io.StringIO(call("-q", "--format", "tsv", runs=golden_runs[:1]).stdout), delimiter="\t"))
    assert [row["topic"] for row in rows] == ["101", "102", "103", "105", "107", "all"]
    mean = sum(float(row["Score"]) for row in rows[:-1]) / 5
    assert float(rows[-1]["Score"]) == pytest.approx(mean)


def test_tsv_and_csv_keep_all_digits(call, golden_collection, golden_runs) -> None:
    known = evaluate(golden_collection, golden_runs[:3])
    for form, delimiter in (("tsv", "\t"), ("csv", ",")):
        text = call("--format", form, runs=golden_runs[:3]).stdout
        for row in csv.DictReader(io.StringIO(text), delimiter=delimiter):
            run = known[row["run"]]
            assert float(row["Score"]) == run.scores["Score"]
            assert (float(row["low"]), float(row["high"])) == (run.interval.low, run.interval.high)


def test_latex_marks_the_best_by_direction(call, golden_runs) -> None:
    text = call("--format", "latex", runs=golden_runs[3:]).stdout
    cells = {line.split(" & ")[0]: line for line in text.splitlines() if " & " in line}
    assert r"\textbf{24.3661}" in cells["T2syn02"], "the lowest EE-L is the best"
    assert r"\textbf{14.2569}" in cells["T2syn02"], "the highest EE-R is the best"
    assert r"\textbf{2.8470}" in cells["T2syn01"], "the lowest EE-D is the best"


def test_depth_groups_and_settings_reach_the_scores(call, golden_collection, golden_runs) -> None:
    options = ["--depth", "50", "--rankings", "3", "--groups", "geography", "--set", "log_base=2"]
    record = json.loads(call("--format", "json", *options).stdout)
    expected = evaluate(golden_collection, golden_runs, groups="geography", depth=50, rankings=3, log_base=2.0)
    assert [run["scores"] for run in record["runs"]] == [run.scores for run in expected.runs]
    assert record["protocol"]["task2_rankings"] == 3
    assert record["protocol"]["groups"] == "geography"


def test_topic_stats_files(call, tmp_path: Path) -> None:
    call("--topic-stats", str(tmp_path / "stats"))
    names = sorted(path.name for path in (tmp_path / "stats").iterdir())
    assert names == [f"task{t}-topic-{kind}.csv" for t in (1, 2) for kind in ("scores", "stats")]
    with (tmp_path / "stats" / "task1-topic-stats.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["nDCG.mean"]) == pytest.approx(0.10412082821130753, abs=1e-6)


def test_judged_only_takes_out_unjudged_pages(call, golden_runs) -> None:
    plain = json.loads(call("--format", "json", runs=golden_runs[:1]).stdout)["runs"][0]
    judged = json.loads(call("--format", "json", "--judged-only", runs=golden_runs[:1]).stdout)["runs"][0]
    assert judged["scores"]["P"] > plain["scores"]["P"]


def test_faults_of_all_files_come_at_once(call, tmp_path: Path) -> None:
    bad = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    bad[0].write_text("101\tnot a page\n")
    bad[1].write_text("")
    with pytest.raises(InputError) as caught:
        call(runs=[*bad, tmp_path / "missing.gz"])
    assert {Path(fault.path).name for fault in caught.value.faults} == {"one.tsv", "two.tsv", "missing.gz"}


def test_two_files_of_one_name_are_refused(call, golden_runs, tmp_path: Path) -> None:
    copy = tmp_path / golden_runs[0].name
    copy.write_bytes(golden_runs[0].read_bytes())
    with pytest.raises(InputError, match="run name 'T1syn00'"):
        call(runs=[golden_runs[0], copy])


@pytest.mark.parametrize(
    "setting,said",
    [
        ("task1_depth=zero", "not a whole number"),
        ("task1_depth=0", "too small"),
        ("task2_depth=99999999999999999999", "too large"),
        ("n_resamples=1", "too small"),
        ("normalised=mars", "unknown dimension 'mars'"),
        ("no_such=1", "unknown setting 'no_such'; choose from discount_type"),
        ("no_exposure=maybe", "choose from uniform, zero"),
        ("log_base=1", "above 1"),
        ("confidence=1.5", "between 0 and 1"),
        ("task1_depth", "NAME=VALUE"),
    ],
)
def test_bad_settings_are_explained(call, setting: str, said: str) -> None:
    with pytest.raises(EvenrankError, match=said):
        call("--set", setting)


def test_start_is_light(golden_collection: Collection, golden_runs: list[Path]) -> None:
    """Scoring a run imports nothing heavy: that is what keeps a call under a third of a second."""
    code = (
        "import sys; from evenrank.cli.main import cli; "
        "cli(sys.argv[1:], standalone_mode=False); print(' '.join(sys.modules), file=sys.stderr)"
    )
    arguments = ["evaluate", str(golden_collection.path), str(golden_runs[0]), "--format", "json"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & (HEAVY | UNUSED)
    assert not loaded & {f"evenrank.{part}" for part in (*OTHER_PARTS, "trec.assessment", "scoring.report")}
    assert len([name for name in loaded if name.startswith("evenrank")]) <= 70, "a new import at the top of a module?"


def test_the_default_protocol_is_that_of_the_paper(golden_collection, golden_runs) -> None:
    arguments = [str(golden_collection.path), str(golden_runs[0]), "--format", "json"]
    printed = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    assert printed["protocol"]["name"] == "paper-2021"


def test_every_measure_has_an_interval(call, golden_collection, golden_runs) -> None:
    printed = json.loads(call("--intervals", "--format", "json", "--measures", "all", runs=golden_runs[:1]).stdout)
    [run] = printed["runs"]
    assert set(run["intervals"]) == set(run["scores"])
    assert run["intervals"]["Score"] == {key: run["ci"][key] for key in ("low", "high", "se")}
    for name, end in run["intervals"].items():
        if run["scores"][name] is not None:
            assert end["low"] <= run["scores"][name] <= end["high"], name
    text = call("--intervals", runs=golden_runs[:1]).stdout
    assert "measure" in text.splitlines()[1]
    assert len(text.splitlines()) == 3 + 4


def test_attention_is_an_option_and_saved_with_the_results(call, golden_collection, golden_runs, tmp_path) -> None:
    runs = [golden_runs[0], golden_runs[3]]
    table = tmp_path / "weights.txt"
    table.write_text("1\n0.5\n0.25\n")
    usual = json.loads(call("--format", "json", runs=runs).stdout)
    assert usual["protocol"]["attention"] == "log"
    for text, saved in (("rbp:0.5", "rbp:0.5"), (f"table:{table}", "table:1.0,0.5,0.25")):
        record = json.loads(call("--attention", text, "--format", "json", runs=runs).stdout)
        assert record["protocol"]["attention"] == saved
        expected = evaluate(golden_collection, runs, attention=text)
        for run, before in zip(record["runs"], usual["runs"], strict=True):
            assert run["scores"] == expected[run["run"]].scores
            exposure = "AWRF" if run["task"] == 1 else "EE-L"
            assert run["scores"][exposure] != before["scores"][exposure]
        assert record["runs"][0]["scores"]["nDCG"] == usual["runs"][0]["scores"]["nDCG"]


def test_bad_attention_is_reported_with_the_other_faults(call) -> None:
    with pytest.raises(EvenrankError) as caught:
        call("--attention", "rbp:2", "--set", "task1_depth=0")
    assert "--set task1_depth=0: 0 is too small (at least 1)" in str(caught.value)
    assert "attention 'rbp:2.0': the persistence must lie between 0 and 1" in str(caught.value)
