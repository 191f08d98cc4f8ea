"""Studies: reading them with all faults, running them on worlds and own data, tests, regrets, the report."""

from __future__ import annotations

import importlib
import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.experiments import trials
from evenrank.experiments.experiment import Cell, Experiment, PooledData, run_study
from evenrank.experiments.study import Study, read_study

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def study_file(own_data: evenrank.OwnData, tmp_path: Path) -> Path:
    """A study of own data, from files."""
    rows = [f"{q},{i},{s}" for q, items in own_data._items.items() for i, s in items.items()]
    (tmp_path / "items.csv").write_text("\n".join(["query,item,score", *rows]) + "\n")
    (tmp_path / "groups.csv").write_text("item,side\n" + "".join(f"{i},{g}\n" for i, g in own_data.groups.items()))  # type: ignore[attr-defined]
    grades = [f"{q} 0 {i} {g}" for q, items in own_data.relevance.items() for i, g in items.items()]  # type: ignore[attr-defined]
    (tmp_path / "qrels.txt").write_text("\n".join(grades) + "\n")
    path = tmp_path / "study.toml"
    path.write_text(
        """
title = "Sides <&>"
seed = 2
[tuning]
budget = 3
[measures]
task1 = ["Score", "nDCG", "AWRF", "Score@5"]
[[data]]
name = "own"
items = "items.csv"
groups = "groups.csv"
relevance = "qrels.txt"
target = "equal"
[[policies]]
name = "relevance"
[[policies]]
name = "greedy"
[[policies]]
name = "deficit"
tune = true
"""
    )
    return path


@evenrank.policy("backwards", tasks=(1,))
def backwards(candidates: Any, target: Any, request: Any, rng: Any) -> Any:
    """The least relevant items first."""
    return np.argsort(candidates.relevance, kind="stable")


@evenrank.measure("WrongFirst", tasks=(1,), higher_is_better=False, low=0.0, high=1.0)
def wrong_first(view: Any) -> float:
    """Whether the first item is not relevant."""
    return 0.0 if view.is_relevant[:1].any() else 1.0


def test_a_study_of_objects(own_data: evenrank.OwnData, tmp_path: Path) -> None:
    """Tables, a policy and a measure that no name stands for; lower values of the measure are better."""
    tables = {"items": own_data._items, "groups": own_data.groups, "relevance": own_data.relevance}
    study = {
        "title": "objects",
        "data": [{"name": "own", **tables, "target": "equal"}],
        "policies": [{"name": "relevance"}, {"name": backwards}],
        "measures": {"task1": ["Score", wrong_first]},
    }
    found = evenrank.experiment(study, tmp_path / "out")
    assert [cell.policy for cell in found.cells] == ["relevance", "backwards"]
    by_policy = {one.policy: one for one in found.regrets if one.measure == "WrongFirst"}
    assert by_policy["relevance"].regret == 0.0
    assert by_policy["backwards"].regret > 0.0
    assert "WrongFirst" in (tmp_path / "out" / "report.html").read_text()
    given = found.to_json()["study"]
    assert given["data"][0]["items"] == "<dict>"
    assert given["policies"] == [{"name": "relevance"}, {"name": "backwards"}]
    assert given["measures"] == {"task1": ["Score", "WrongFirst"]}


def test_a_study_of_own_data(study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    found = evenrank.experiment(study_file, folder, workers=1)
    assert [cell.policy for cell in found.cells] == ["relevance", "greedy", "deficit (tuned)"]
    assert found.n_queries == {"own": {"train": 5, "eval": 5}}
    tuned = found.cells[2].tuned
    assert tuned is not None
    for cell in found.cells:
        assert set(cell.scores["Score"]).isdisjoint(tuned.queries)
        assert len(cell.scores["Score"]) == 5
    assert found.cells[1].mean("AWRF") > found.cells[0].mean("AWRF")
    page = (folder / "report.html").read_text()
    assert "<title>Sides &lt;&amp;&gt;</title>" in page
    assert "No query was both tuned on and scored" in page
    assert r"\begin{tabular}" in (folder / "tables" / "own-task1.tex").read_text()
    results = json.loads((folder / "results.json").read_text())
    assert results["cells"][2]["tuned"]["budget"] == 3
    assert len(results["tests"]["pairs"]) == 3 * 4
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def never(trial: trials.Trial) -> trials.TrialScores:
        raise AssertionError("everything is finished already")

    monkeypatch.setattr(trials, "run_trial", never)
    evenrank.experiment(study_file, folder, workers=1)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_one_query_is_scored_where_nothing_is_tuned(own_data: evenrank.OwnData, tmp_path: Path) -> None:
    """Half of one query cannot be kept for tuning: the error says so, and the report what one query cannot tell."""
    one = {"items": {"q0": own_data._items["q0"]}, "groups": own_data.groups, "relevance": own_data.relevance}
    policies = [{"name": "relevance"}, {"name": "greedy"}]
    study = {"data": [{"name": "own", **one, "target": "equal"}], "policies": policies}
    with pytest.raises(EvenrankError, match=r"own: its only query is for tuning.*train_share = 0 scores all"):
        evenrank.experiment(study, tmp_path / "half")
    study["data"][0]["train_share"] = 0  # type: ignore[index]
    found = evenrank.experiment(study, tmp_path / "all")
    assert "own, Task 1: 1 query\n" in str(found)
    assert "own: one query shows what policies do there" in str(found)
    assert "own: one query shows what policies do there" in (tmp_path / "all" / "report.html").read_text()
    assert {pair.p for pair in found.tests} == {1.0}
    assert all(np.isnan(regret.upper) for regret in found.regrets)
    policies.append({"name": "deficit", "tune": True})  # type: ignore[dict-item]
    with pytest.raises(EvenrankError, match="own: there is no query to tune deficit on"):
        evenrank.experiment(study, tmp_path / "tuned")


def test_a_study_of_worlds(tmp_path: Path) -> None:
    world = {"name": "tiny", "world": "usual", "pages": 600, "topics": 4, "seeds": [1, 2], "tasks": [1, 2]}
    policies = [{"name": "relevance"}, {"name": "greedy", "settings": {"fairness": 0.5}}, {"name": "swap"}]
    study = {"data": [{**world, "noise": 1.0}], "policies": policies, "tests": {"test": "t-test"}}
    found = evenrank.experiment(study, tmp_path, workers=1)
    assert [(cell.task, cell.policy) for cell in found.cells] == [
        *((1, name) for name in ("relevance", "greedy", "swap")),
        *((2, name) for name in ("relevance", "greedy")),
    ]
    assert set(found.of("tiny", 1)[0].scores["Score"]) == {"0:101", "0:102", "1:101", "1:102"}
    assert len(list((tmp_path / "worlds").iterdir())) == 2
    collection = evenrank.Collection.open(next((tmp_path / "worlds").iterdir()))
    assert collection.manifest.settings["generated"]["noise"] == 1.0
    assert "tiny, Task 2" in str(found)


def result_of(values: dict[str, list[float]], measure: str = "Score", **more: list[list[float]]) -> Experiment:
    cells = []
    for at, (policy, scores) in enumerate(values.items()):
        by_measure = {measure: scores, **{name: rows[at] for name, rows in more.items()}}
        table = {name: {str(q): v for q, v in enumerate(row)} for name, row in by_measure.items()}
        cells.append(Cell("d", 1, policy, {}, table))
    return Experiment(Study("t", (), ()), tuple(cells), {"d": {"train": 1, "eval": len(scores)}})


def test_pairs_are_tested_as_compare_tests_them() -> None:
    """Exact randomisation over eight queries, Holm over all three pairs."""
    values = {"a": [0.9] * 8, "b": [0.1] * 8, "c": [0.5, 0.5, 0.9, 0.9, 0.5, 0.9, 0.5, 0.9]}
    pairs = result_of(values).tests
    assert [(one.first, one.second) for one in pairs] == list(combinations("abc", 2))
    assert [one.p for one in pairs] == pytest.approx([2 / 256, 2 / 16, 2 / 256])
    assert [one.p_holm for one in pairs] == pytest.approx([6 / 256, 2 / 16, 6 / 256])
    assert pairs[0].difference == pytest.approx(0.8)


def test_regret_is_what_is_lost_against_the_best() -> None:
    values = {"best": [0.4, 0.6, 0.5], "other": [0.2, 0.3, 0.25]}
    best, other = result_of(values).regrets
    assert (best.regret, best.upper) == (0.0, 0.0)
    assert other.regret == pytest.approx(0.5)
    assert other.upper == pytest.approx(0.5)  # every query loses half, whichever are drawn
    noisy = result_of({"a": [0.1, 0.9, 0.5, 0.4], "b": [0.2, 0.7, 0.6, 0.3]}).regrets
    assert all(one.upper > one.regret for one in noisy)
    lower = result_of({"a": [3.0, 5.0], "b": [2.0, 2.0]}, "KL").regrets
    assert [one.regret for one in lower] == [2.0, 0.0]


def test_the_frontier_holds_what_nothing_dominates() -> None:
    found = result_of(
        {"a": [0.1], "b": [0.1], "c": [0.1], "d": [0.1]},
        nDCG=[[0.9], [0.5], [0.5], [0.4]],
        AWRF=[[0.2], [0.8], [0.7], [0.9]],
    )
    assert found.pareto("d", 1) == ["a", "b", "d"]


def test_pooled_queries_go_to_their_parts(own_data: evenrank.OwnData) -> None:
    pooled = PooledData("both", (own_data, own_data))
    assert pooled.queries("eval") == [f"{at}:{q}" for at in (0, 1) for q in own_data.queries("eval")]
    found = pooled.score("relevance", {}, ["1:q3", "0:q2"], ["nDCG"], 0)["nDCG"]
    alone = own_data.score("relevance", {}, ["q2", "q3"], ["nDCG"], 0)["nDCG"]
    assert found == pytest.approx({"0:q2": alone["q2"], "1:q3": alone["q3"]})


def test_every_fault_of_a_study_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(
        """
titel = "x"
[tuning]
budget = 0
method = "grid"
[tests]
test = "wilcoxon"
[measures]
task1 = ["Scor"]
[[data]]
name = "a"
world = "mars"
[[data]]
name = "b"
collection = "missing"
colour = 1
[[data]]
name = "c"
items = "x.csv"
[[policies]]
name = "optimol"
[[policies]]
name = "deficit"
settings = { weight = -1 }
space = { speed = [1] }
"""
    )
    with pytest.raises(EvenrankError) as error:
        read_study(path)
    message = str(error.value)
    wanted = ["'titel'", "budget is 0", "'grid'", "'wilcoxon'", "'Scor'", "'mars'", "no such folder", "'colour'"]
    wanted += ["no groups and no relevance", "'optimol'", "weight is -1", "'speed'"]
    assert [text for text in wanted if text not in message] == []
    lines = dict(line.removeprefix(f"{path}:").split(": ", 1)[::-1] for line in message.splitlines())
    number_of = {text: [int(n) for fault, n in lines.items() if text in fault] for text in wanted}
    assert list(number_of.values()) == [[2], [4], [5], [7], [9], [12], [15], [16], [18], [21], [24], [25]]


def test_faults_of_own_data_are_named_together_with_their_lines(study_file: Path) -> None:
    text = study_file.read_text().replace('title = "Sides <&>"', "title = 5").replace('"qrels.txt"', '"gone.txt"')
    text = text.replace('target = "equal"', 'target = "equl"\nk = 0\ntrain_share = 1.5\nexpected = "odds"')
    study_file.write_text(text.replace('name = "greedy"', 'nme = "greedy"\ncolour = 1'))
    with pytest.raises(EvenrankError) as error:
        read_study(study_file)
    found = {int(line.removeprefix(f"{study_file}:").partition(":")[0]): line for line in str(error.value).splitlines()}
    wanted = {2: "title is 5", 12: "gone.txt", 13: "equl", 14: "k is 0", 15: "train_share is 1.5", 16: "'odds'"}
    wanted |= {19: "without a name", 20: "'nme'", 21: "'colour'"}
    assert {number: text in found.get(number, "") for number, text in wanted.items()} == dict.fromkeys(wanted, True)
    assert len(found) == len(wanted)


@pytest.mark.parametrize("text, message", [("data = [", "not TOML"), ("", "no data"), ("data = 3", "no data")])
def test_what_is_no_study_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(EvenrankError, match=message):
        read_study(tmp_path / "bad.toml")


def test_the_command_writes_the_report_beside_the_file(study_file: Path) -> None:
    result = CliRunner().invoke(cli, ["experiment", str(study_file), "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "own, Task 1: 5 queries" in result.output
    assert (study_file.with_suffix("") / "report.html").exists()


def test_the_study_of_worlds_is_valid_and_wide() -> None:
    study = read_study(ROOT / "benchmarks" / "worlds.toml")
    assert len(study.data) >= 12
    relevant = {(world.train_relevant, world.eval_relevant) for data in study.data for world in data.worlds}
    assert {(400, 10), (300, 15)} <= relevant
    for data in study.data:
        assert sum(world.n_eval_topics for world in data.worlds) >= 200
    seeds = [world.seed for data in study.data for world in data.worlds]
    assert len(seeds) == len(set(seeds))
    tuned = {policy.name for policy in study.policies if policy.is_tuned}
    assert {"greedy", "exposure-disparity", "swap", "deficit", "fa-ir", "det-const-sort", "exposure-lp"} <= tuned


def test_policies_of_plug_ins_and_of_ones_own(
    own_data: evenrank.OwnData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is found by its name, as if installed; the other is given as it is. Both are tuned."""

    @evenrank.policy("strong-first", tasks=(1,))
    def strong_first(candidates: Any, target: Any, request: Any, rng: Any, *, power: float = 1.0) -> Any:
        return np.argsort(-(candidates.relevance**power), kind="stable")

    monkeypatch.setitem(evenrank.POLICIES.builtin, "strong-first", strong_first)
    own = evenrank.policy("weak-first", tasks=(1,))(lambda c, t, r, g: np.argsort(c.relevance))
    policies = [{"name": "strong-first", "tune": True}, {"name": own}, {"name": "relevance"}]
    study: dict[str, Any] = {"data": [{"world": "usual"}], "policies": policies, "tuning": {"budget": 2}}
    found = run_study(read_study(study), [own_data], tmp_path, 1)
    assert [cell.policy for cell in found.cells] == ["strong-first (tuned)", "weak-first", "relevance"]
    assert found.cells[0].scores["nDCG"] == found.cells[2].scores["nDCG"]
    assert found.cells[1].mean("nDCG") < found.cells[2].mean("nDCG")
    found.write(tmp_path)
    assert json.loads((tmp_path / "results.json").read_text())["study"]["policies"][1] == {"name": "weak-first"}
    tuned = evenrank.tune(own_data, strong_first, budget=3)
    assert {name for one in tuned.tried for name, _ in one.settings} == {"power"}


def test_a_policy_that_fails_is_reported_and_the_others_are_scored(own_data: evenrank.OwnData, tmp_path: Path) -> None:
    table: dict[str, Any] = {"data": [{"world": "usual"}], "policies": [{"name": "relevance"}, {"name": "mmr"}]}
    found = run_study(read_study(table), [own_data], tmp_path, 1)
    assert "compares texts" in found.cells[1].error
    assert np.isfinite(found.cells[0].mean("Score"))
    found.write(tmp_path)
    assert "mmr failed" in (tmp_path / "report.html").read_text()


def test_a_trial_whose_policy_raises_is_reported_and_the_others_count(
    study_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @evenrank.policy("fragile", tasks=(1,))
    def fragile(candidates: Any, target: Any, request: Any, rng: Any, *, power: float = 1.0) -> Any:
        if power > 1.5:
            raise ZeroDivisionError("too much\npower")
        return np.argsort(-candidates.relevance, kind="stable")

    monkeypatch.setitem(evenrank.POLICIES.builtin, "fragile", fragile)
    more = '[[policies]]\nname = "fragile"\ntune = true\nspace = { power = [2, 1.2] }\n'
    study_file.write_text(study_file.read_text() + more)
    result = CliRunner().invoke(cli, ["experiment", str(study_file), "--workers", "1"])
    assert result.exit_code == 0, result.output
    failed = "1 of its trials failed: policy fragile: ZeroDivisionError: too much ("
    assert f"fragile (tuned) on own, Task 1: {failed}{__file__}:" in result.stderr
    assert "fragile (tuned)" in result.stdout
    files = {option: str(study_file.parent / name) for option, name in INPUTS.items()}
    words = ["tune", *(word for pair in files.items() for word in pair), "--policy", "fragile", "--workers", "1"]
    result = CliRunner().invoke(cli, [*words, "--try", "power=2,1.2", "--budget", "3"])
    assert "1 of 3 trials failed, the first because of: policy fragile: ZeroDivisionError" in result.stderr


INPUTS = {"--run": "items.csv", "--groups": "groups.csv", "--qrels": "qrels.txt"}


def _module(path: Path, direction: str) -> Any:
    """A plug-in's module as a new process would find it."""
    path.write_text(
        "import evenrank, numpy as np\n"
        "@evenrank.policy('ordered')\n"
        "def ordered(candidates, target, request, rng):\n"
        f"    return np.argsort({direction}candidates.relevance)\n"
        "@evenrank.measure('First')\n"
        "def first(view):\n"
        f"    return {direction}1.0 * view.is_relevant[:1].any()\n"
    )
    sys.modules.pop(path.stem, None)
    return importlib.import_module(path.stem)


def test_a_changed_plug_in_is_tried_again(
    own_data: evenrank.OwnData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path, means = tmp_path / "own_plug_in_of_this_test.py", []
    for direction in ("-", "+", "-"):
        module = _module(path, direction)
        given = {"policies": [{"name": module.ordered}], "measures": {"task1": ["nDCG", module.first]}}
        study = read_study({"data": [{"world": "usual"}], **given})
        cell = run_study(study, [own_data], tmp_path / "out", 1).cells[0]
        means.append((cell.mean("nDCG"), cell.mean("First")))
    assert means[0] == means[2]
    assert means[0][0] > means[1][0]
    assert means[0][1] < 0 <= means[1][1]
    key = trials.Trial(own_data, "greedy", (), ("q0",), ("nDCG",)).key
    path.write_text(path.read_text() + "# more\n")
    assert trials.Trial(own_data, "greedy", (), ("q0",), ("nDCG",)).key == key
