"""`evenrank pool` on the golden collection."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from evenrank.cli.pool import command
from evenrank.errors import EvenrankError, InputError
from evenrank.io.runs import read_run, write_run
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.collection import Collection
from evenrank.trec.judged_pages import judged_only, judged_pages


def run_pool(*words: object, despite: str = "runs of a test are short") -> Result:
    words = (*words, "--despite", despite) if words[0] == "build" and despite else words
    result = CliRunner().invoke(command, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def pool(golden_collection: Collection, golden_runs: list[Path], tmp_path: Path) -> Path:
    run_pool("build", golden_collection.path, *golden_runs, "-o", tmp_path / "pool.jsonl")
    return tmp_path / "pool.jsonl"


def counted(golden_runs: list[Path], topics: set[int]) -> dict[int, set[int]]:
    """Topic → pooled pages, from the rows of the files: 20 of each Task 1 run, 5 × 25 of each Task 2 run."""
    pooled: dict[int, set[int]] = {}
    for path in golden_runs:
        for topic, repeat, pages in read_run(path).rankings():
            depth = 20 if path.name.startswith("T1") else 5 * (repeat <= 25)
            if topic in topics:
                pooled.setdefault(topic, set()).update(pages[:depth].tolist())
    return pooled


def test_pool_sizes_are_those_counted_from_the_files(
    pool: Path, golden_collection: Collection, golden_runs: list[Path]
) -> None:
    expected = counted(golden_runs, {t.id for t in golden_collection.topics if t.split == "eval"})
    stats = json.loads(run_pool("stats", pool, "--format", "json").stdout)
    assert {row["topic"]: sum(row["n_by_tier"]) for row in stats["topics"]} == {t: len(p) for t, p in expected.items()}
    assert stats["n_pages"] == sum(map(len, expected.values()))
    assert stats["tiers"] == ["1:20", "2:5x25"]
    assert stats["hours"] == pytest.approx(stats["n_pages"] * 1.1 * 45 / 3600)


def test_a_late_run_adds_to_the_pool(golden_collection: Collection, golden_runs: list[Path], tmp_path: Path) -> None:
    early, late = tmp_path / "early", tmp_path / "whole"
    run_pool("build", golden_collection.path, *golden_runs[:5], "-o", early)
    tiers = {(entry.topic, entry.page): entry.tier for entry in read_pool(early).pages}
    result = run_pool("build", golden_collection.path, golden_runs[5], "-o", early)
    assert "of them new" in result.stderr
    grown = read_pool(early)
    assert len(grown.pages) > len(tiers)
    assert {key: tier for key, tier in ((((e.topic, e.page), e.tier)) for e in grown.pages) if key in tiers} == tiers
    run_pool("build", golden_collection.path, *golden_runs, "-o", late)
    assert {(e.topic, e.page, e.runs) for e in grown.pages} == {
        (e.topic, e.page, e.runs) for e in read_pool(late).pages
    }


def test_building_again_gives_the_same_bytes(
    pool: Path, golden_collection: Collection, golden_runs: list[Path]
) -> None:
    first = pool.read_bytes()
    run_pool("build", golden_collection.path, *golden_runs, "-o", pool)
    assert pool.read_bytes() == first
    run_pool("build", golden_collection.path, *golden_runs, "-o", pool, "--new")
    assert pool.read_bytes() == first


def test_tiers_budget_and_topics_can_be_chosen(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    topic = int(read_run(golden_runs[0]).topic_ids[0])
    words = ["--tier", "1:3", "--tier", "2:2x4", "--budget", "10", "--topics", topic]
    result = run_pool("build", golden_collection.path, *golden_runs, "-o", tmp_path / "pool", *words)
    pool = read_pool(tmp_path / "pool")
    assert {entry.topic for entry in pool.pages} == {topic}
    assert len(pool.pages) == 10
    assert {entry.tier for entry in pool.pages} >= {1, 2}
    assert "the budget makes the tiers of 1 topics smaller; in the smallest 1:3 is 1:" in result.stderr


def test_the_table_names_runs_and_hours(pool: Path, golden_runs: list[Path]) -> None:
    shown = run_pool("stats", pool, "--seconds", "60", "--overlap", "0").stdout
    assert "T1syn00" in shown
    assert "unique" in shown
    assert f"{len(read_pool(pool).pages) / 60:,.1f} hours at 60 s with 0% judged twice" in shown


@pytest.mark.parametrize("option", ["--seconds", "--overlap"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_hours_need_finite_numbers(pool: Path, option: str, value: str) -> None:
    result = run_pool("stats", pool, option, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr


def test_judged_is_the_share_of_assessed_pages(golden_collection: Collection, golden_runs: list[Path]) -> None:
    [row] = json.loads(run_pool("judged", golden_collection.path, golden_runs[0], "-k", 20, "--format", "json").stdout)
    known = judged_pages(golden_collection.topics)
    shares = [np.isin(p[:20], known[t]).mean() for t, _, p in read_run(golden_runs[0]).rankings() if t in known]
    assert row == {"run": "T1syn00", "topics": len(shares), "judged@20": pytest.approx(np.mean(shares))}
    assert "judged@20" in run_pool("judged", golden_collection.path, golden_runs[0]).stdout


def test_leave_one_out_starts_from_the_scores_of_evaluate(
    pool: Path, golden_collection: Collection, golden_runs: list[Path]
) -> None:
    shown = run_pool("leave-one-out", golden_collection.path, pool, *golden_runs, "--format", "json").stdout
    rows = {row["run"]: row for row in json.loads(shown)}
    scored = {result.run: result for result in evaluate(golden_collection, golden_runs, n_resamples=2).runs}
    for name, row in rows.items():
        assert row["n_topics"] == scored[name].n_topics
        assert row["score"] == pytest.approx(scored[name].scores[scored[name].main_measure])
        assert row["change"] == pytest.approx(row["score_without"] - row["score"])
    assert sorted(row["rank"] for name, row in rows.items() if name.startswith("T1")) == [1, 2, 3]
    assert any(row["n_unique_relevant"] for row in rows.values())
    team = run_pool("leave-one-out", golden_collection.path, pool, *golden_runs[:3], "--team", "T1syn00,T1syn01").stdout
    assert "rank without" in team


def test_judged_only_runs_can_be_scored(golden_collection: Collection, golden_runs: list[Path]) -> None:
    run = read_run(golden_runs[0])
    known = judged_pages(golden_collection.topics)
    kept = judged_only(run, known)
    assert len(kept.pages) < len(run.pages)
    assert (
        evaluate(golden_collection, kept).runs[0].scores["nDCG"]
        >= evaluate(golden_collection, run).runs[0].scores["nDCG"]
    )


def test_mistakes_are_explained(golden_collection: Collection, golden_runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="unknown topic '9999'"):
        run_pool("build", golden_collection.path, golden_runs[0], "-o", tmp_path / "p", "--topics", "101,9999")
    with pytest.raises(EvenrankError, match="not a tier: 'deep'"):
        run_pool("build", golden_collection.path, golden_runs[0], "-o", tmp_path / "p", "--tier", "deep")
    (tmp_path / "text").write_text("no pool\n")
    with pytest.raises(EvenrankError, match="text:1: not JSON"):
        run_pool("stats", tmp_path / "text")
    assert not (tmp_path / "p").exists()
    run_pool("build", golden_collection.path, golden_runs[0], "-o", tmp_path / "p")
    team = run_pool("leave-one-out", golden_collection.path, tmp_path / "p", golden_runs[0], "--team", "T1syn00,nobody")
    assert team.exit_code == 2
    assert "not among the runs: nobody" in team.stderr


def test_nothing_to_pool_and_one_run_twice(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(EvenrankError, match="nothing to pool"):
        run_pool("build", golden_collection.path, golden_runs[-1], "--tier", "1:20", "-o", tmp_path / "none")
    with pytest.raises(EvenrankError, match="give one a name of its own: NAME="):
        run_pool("build", golden_collection.path, golden_runs[0], golden_runs[0], "-o", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_pool_never_takes_the_place_of_a_run(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    run = tmp_path / golden_runs[0].name
    run.write_bytes(golden_runs[0].read_bytes())
    with pytest.raises(EvenrankError, match="one of the files to read, which would be lost"):
        run_pool("build", golden_collection.path, run, "--new", "-o", run)
    assert run.read_bytes() == golden_runs[0].read_bytes()


def test_a_pool_takes_no_run_that_fails_the_check(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"T1syn00.gz: 19 faults.*--despite") as caught:
        run_pool("build", golden_collection.path, golden_runs[0], "-o", tmp_path / "pool", despite="")
    assert len(caught.value.faults) == 6
    assert not (tmp_path / "pool").exists()
    ran = run_pool("build", golden_collection.path, golden_runs[0], "-o", tmp_path / "pool", despite="agreed by mail")
    assert "T1syn00 entered with 19 faults: agreed by mail" in ran.stderr
    [row] = json.loads(run_pool("receipts", tmp_path / "pool", "--format", "json").stdout)
    assert row["receipt"] == {
        "file": "T1syn00.gz",
        "sha256": hashlib.sha256(golden_runs[0].read_bytes()).hexdigest(),
        "size_bytes": golden_runs[0].stat().st_size,
        "protocol": "paper-2021",
        "n_faults": 19,
        "despite": "agreed by mail",
    }
    assert "agreed by mail" in run_pool("receipts", tmp_path / "pool").stdout
    run_pool("build", golden_collection.path, golden_runs[3], "-o", tmp_path / "pool")
    assert [run.receipt is not None for run in read_pool(tmp_path / "pool").runs] == [True, True]


def test_a_valid_run_enters_without_a_reason(golden_collection: Collection, tmp_path: Path) -> None:
    write_run(oracle_run(golden_collection, 1, 0.9).run, tmp_path / "oracle.gz")
    run_pool("build", golden_collection.path, tmp_path / "oracle.gz", "-o", tmp_path / "pool", despite="")
    [run] = read_pool(tmp_path / "pool").runs
    assert run.receipt is not None
    assert (run.receipt.n_faults, run.receipt.despite) == (0, "")
