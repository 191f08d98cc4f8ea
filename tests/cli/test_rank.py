"""`evenrank rank` and `evenrank policies` as a user calls them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.io.runs import read_run
from evenrank.policies.registry import POLICIES
from evenrank.trec.collection import Collection


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=True)


def rank(collection: Collection, output: Path, *arguments: object) -> Result:
    return call("rank", collection.path, "-o", output, *arguments)


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "mmr"])
def test_every_policy_re_ranks_a_run(
    name: str, golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    base = golden_runs[0]
    for task in POLICIES[name].tasks:
        output = tmp_path / f"{name}-{task}.tsv"
        result = rank(golden_collection, output, "--task", task, "--policy", name, "--from", base, "--workers", 1)
        assert result.exit_code == 0, result.output
        run, given = read_run(output), read_run(base)
        assert run.task == task
        assert sorted(set(run.topic_ids.tolist())) == sorted(set(given.topic_ids.tolist()))
        for topic, _, pages in run.rankings():
            offered = np.unique(given.pages[np.repeat(given.topic_ids, np.diff(given.starts)) == topic])
            assert len(np.unique(pages)) == len(pages) == min(len(offered), 1000 if task == 1 else 50)
            assert np.isin(pages, offered).all()
        assert run.n_rankings == len(set(run.topic_ids.tolist())) * (1 if task == 1 else 100)


def test_record_tells_all_that_decided_the_run(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    output = tmp_path / "fair.tsv"
    options = ["--task", 2, "--policy", "optimal", "--from", golden_runs[0], "--topics", "101,103", "--seed", 9]
    settings = ["--set", "fairness=2", "--set", "information=geography"]
    assert rank(golden_collection, output, *options, *settings).exit_code == 0
    record = json.loads((tmp_path / "fair.tsv.json").read_text())
    assert record["policy"] == "optimal"
    assert record["settings"]["fairness"] == 2.0
    assert record["candidates"]["information"] == ["geography"]
    assert record["candidates"]["run"] == "T1syn00"
    assert record["candidates"]["relevance"] == "by rank"
    assert record["seed"] == 9
    assert [topic["topic"] for topic in record["topics"]] == [101, 103]
    assert all(topic["certificate"] for topic in record["topics"])
    assert record["mean_certificate"]
    assert record["versions"]["evenrank"]


def test_same_seed_same_bytes_on_any_number_of_cores(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    contents = {}
    for name, seed, workers in (("a", 1, 1), ("b", 1, 2), ("c", 2, 1)):
        output = tmp_path / f"{name}.tsv.gz"
        options = ["--task", 2, "--policy", "plackett-luce", "--from", golden_runs[3], "--seed", seed]
        assert rank(golden_collection, output, *options, "--workers", workers).exit_code == 0
        contents[name] = output.read_bytes()
    assert contents["a"] == contents["b"] != contents["c"]
    assert gzip.decompress(contents["a"]).startswith(b"101\t1\t")


def test_six_column_run_with_scores(golden_collection: Collection, tmp_path: Path) -> None:
    base, output = tmp_path / "bm25.trec", tmp_path / "fair.tsv"
    pages = golden_collection.page_ids[:80].tolist()
    base.write_text("".join(f"101 Q0 {page} {rank} {90 - rank}.5 bm25\n" for rank, page in enumerate(pages, 1)))
    result = rank(golden_collection, output, "--task", 1, "--policy", "relevance", "--from", base, "--topics", 101)
    assert result.exit_code == 0, result.output
    assert read_run(output).pages.tolist() == pages
    assert "fewer candidates than the 1000 pages of a ranking in topic 101 (80)" in result.stderr


def test_calibration_on_the_training_topics_of_the_run(golden_collection: Collection, tmp_path: Path) -> None:
    base, output = tmp_path / "bm25.trec", tmp_path / "fair.tsv"
    lines = []
    for topic in golden_collection.topics:
        mixed = np.unique(np.concatenate([topic.rel_docs[:30], golden_collection.page_ids[::40]]))
        order = np.argsort(~np.isin(mixed, topic.rel_docs), kind="stable")
        lines += [f"{topic.id} Q0 {page} {r} {500 - r} x\n" for r, page in enumerate(mixed[order].tolist(), 1)]
    base.write_text("".join(lines))
    assert rank(golden_collection, output, "--task", 1, "--policy", "swap", "--from", base).exit_code == 0
    record = json.loads((tmp_path / "fair.tsv.json").read_text())
    assert record["candidates"]["relevance"].startswith("piecewise-linear calibration")
    assert {t["topic"] for t in record["topics"]} == {t.id for t in golden_collection.topics if t.split == "eval"}


@pytest.mark.parametrize(
    "options, message",
    [
        (["--policy", "fairest"], "unknown policy 'fairest'; choose from relevance"),
        (["--policy", "controller"], "policy controller does not serve Task 1"),
        (["--policy", "deficit", "--set", "weight=much"], "weight=much: not a number"),
        (["--policy", "deficit", "--set", "weigth=1"], "unknown setting 'weigth'; choose from n_windows"),
        (["--policy", "deficit", "--set", "weight"], "weight: write NAME=VALUE"),
        (["--policy", "deficit", "--set", "information=age"], "unknown dimension 'age'; choose from geography, gender"),
        (["--policy", "deficit", "--set", "scored=mood"], "unknown dimension 'mood'; choose from geography, gender"),
        (["--policy", "deficit", "--set", "divided=x"], "unknown dimension 'x'; choose from geography, gender"),
        (["--policy", "deficit", "--set", "n_candidates=0"], "n_candidates is 0, but must be from 1 to 100,000,000"),
        (["--policy", "deficit", "--set", "sharpness=-1"], "sharpness is -1, but must be from 0 to 20"),
        (["--policy", "deficit", "--set", "sharpness=1e9"], "sharpness is 1e+09, but must be from 0 to 20"),
        (["--policy", "deficit", "--set", "odds=1"], "odds: 1 given, but give one for each of the 32 groups"),
        (["--policy", "deficit", "--set", f"odds={'0,' * 32}"], "odds: 32 given, but give one for each of the 32"),
        (["--policy", "deficit", "--set", f"odds={'1,' * 31}-1"], "none below 0 and not all 0"),
        (["--policy", "deficit", "--set", "n_candidate=9"], "did you mean 'n_candidates'?"),
        (["--policy", "deficit", "--query", " "], "--query is empty"),
        (["--policy", "deficit", "--topics", "999"], "unknown topic '999'; choose from train, eval, all"),
        (["--policy", "mmr"], "mmr compares texts"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(
    options: list[str], message: str, golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    result = rank(golden_collection, tmp_path / "x.tsv", "--task", 1, "--from", golden_runs[0], *options)
    assert result.exit_code != 0
    told = str(result.exception) if isinstance(result.exception, EvenrankError) else result.output
    assert message in told
    assert list(tmp_path.iterdir()) == []


def test_settings_without_an_explanation_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    @evenrank.policy("own", tasks=(1,))
    def own(candidates, target, request, rng, *, group: str = "", factor: float = 2.5):
        """By relevance."""

    monkeypatch.setitem(POLICIES.builtin, "own", own)
    assert call("policies", "own").output.splitlines()[-2:] == ["  group =", "  factor = 2.5"]


def test_policies_are_listed_from_the_registry() -> None:
    text = call("policies").output
    for name, policy in POLICIES.items():
        assert name in text
        assert all(run in text for run in policy.paper_runs)
    listed = json.loads(call("policies", "--format", "json").output)
    assert [policy["name"] for policy in listed] == list(POLICIES)
    by_name = {policy["name"]: policy for policy in listed}
    assert by_name["proportional"]["reconstructed"]
    assert not by_name["optimal"]["reconstructed"]
    assert {setting["name"] for setting in by_name["controller"]["settings"]} == {"control", "temperature", "floor"}


def test_one_policy_in_full() -> None:
    text = call("policies", "proportional").output
    assert "reconstructs: UoGTrDivPropT1, UoGTrDivPropT2 (from their descriptions)" in text
    assert "diversifier = xquad: Which formula picks the next page. (xquad or pm2)" in text
    assert "relevance-share" not in text


def rank_golden(collection: Collection, run: Path, output: Path, *options: str) -> Result:
    arguments = ["rank", str(collection.path), "--policy", "optimal", "--from", str(run), "--workers", "1"]
    return CliRunner().invoke(cli, [*arguments, *options, "-o", str(output)])


def test_the_protocol_that_was_served_is_in_the_record(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    output = tmp_path / "run.tsv"
    result = rank_golden(golden_collection, golden_runs[0], output, "--task", "1", "--topics", "101")
    assert result.exit_code == 0, result.output
    record = json.loads(Path(f"{output}.json").read_text())
    assert (record["protocol"], record["settings"]["depths"]) == ("paper-2021", [10, 20, 50, 100, 1000])
    options = ("--task", "1", "--topics", "101", "--protocol", "official-2021", "--force")
    assert rank_golden(golden_collection, golden_runs[0], output, *options).exit_code == 0
    record = json.loads(Path(f"{output}.json").read_text())
    assert (record["protocol"], record["settings"]["depths"]) == ("official-2021", [20])
    assert record["settings"]["log_base"] == pytest.approx(2.718281828)


def test_lists_can_end_where_expected_relevance_ends(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    full, short = tmp_path / "full.tsv", tmp_path / "short.tsv"
    options = ("--task", "1", "--topics", "101", "--target", "equal")
    assert rank_golden(golden_collection, golden_runs[0], full, *options).exit_code == 0
    result = rank_golden(golden_collection, golden_runs[0], short, *options, "--length", "relevant")
    assert "rankings have as many pages as are expected to be relevant" in result.output
    assert len(short.read_text().splitlines()) < len(full.read_text().splitlines())
    assert json.loads(Path(f"{full}.json").read_text())["candidates"]["target"]["word"] == "equal"


def test_bad_settings_of_all_kinds_are_reported_at_once(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("Atlantis\t0.4\nAfrica\t-2\n")
    options = ("--task", "1", "--target", str(table), "--set", "min_precision=2", "--set", "depth_weights=1")
    result = rank_golden(golden_collection, golden_runs[0], tmp_path / "run.tsv", *options)
    assert isinstance(result.exception, EvenrankError)
    for said in ("no group 'Atlantis'", "the share of Africa is -2", "min_precision is 2", "one share for each depth"):
        assert said in str(result.exception)
    assert not (tmp_path / "run.tsv").exists()


def test_a_setting_that_policy_and_candidates_have_is_the_policys(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "x.tsv"
    options = ["--task", 2, "--from", golden_runs[-1], "--policy", "plackett-luce", "--set", "sharpness=3"]
    assert rank(golden_collection, out, *options).exit_code == 0
    assert json.loads(Path(f"{out}.json").read_text())["settings"]["sharpness"] == 3.0
