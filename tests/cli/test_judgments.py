"""`evenrank judgments`: from a pool to qrels and agreement."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evenrank.cli.judgments import command
from evenrank.errors import EvenrankError, InputError
from evenrank.trec.assessment.assessors import assessor_of
from evenrank.trec.assessment.pool import Pool, PooledPage, PooledRun
from evenrank.trec.assessment.pool_file import write_pool
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import Vote, cast_votes, open_store
from evenrank.trec.collection import Collection


def run_judgments(*words: object) -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def store(golden_collection: Collection, tmp_path: Path) -> Path:
    """Ten pages of topic 101, all of them for both Ada and Ben."""
    pages = tuple(PooledPage(101, 1, page, ("r",)) for page in range(1, 11))
    write_pool(tmp_path / "pool", Pool(runs=(PooledRun("r", 1, ""),), pages=pages))
    path = tmp_path / "judgments.sqlite"
    created = run_judgments("create", path, "--pool", tmp_path / "pool", "--collection", golden_collection.path)
    assert "10 new pages of 10" in created.stderr
    for name in ("Ada", "Ben"):
        secret = run_judgments("assessor", path, name).stdout.strip()
        with open_store(path) as opened:
            found = assessor_of(opened, secret)
            assert found is not None
            assert found.name == name
    assert "20 pages given to 2 assessors" in run_judgments("assign", path, "--overlap", "1").stderr
    return path


@pytest.fixture
def voted(store: Path) -> Path:
    """Ada finds pages 1 to 5 relevant; Ben 1 to 6, skips 9 and cannot judge 10, as Ada."""
    with open_store(store) as opened:
        for name, n_relevant in (("Ada", 5), ("Ben", 6)):
            for item in list(queue(opened, name)):
                outcome = {9: "skipped", 10: "unassessable"}.get(item.page, "graded")
                grade = int(item.page <= n_relevant) if outcome == "graded" else None
                vote = Vote(f"{name}{item.page}", 101, item.page, name, outcome, grade, seconds=20.0)  # type: ignore[arg-type]
                cast_votes(opened, [vote])
    return store


def test_agreement(voted: Path) -> None:
    report = json.loads(run_judgments("agreement", voted, "--format", "json", "--resamples", 200).stdout)
    [pair] = report["pairs"]
    # 8 pages graded by both: 5 agree on relevant, 2 on not; chance: 5/8 · 6/8 + 3/8 · 2/8
    expected = (7 / 8 - 36 / 64) / (1 - 36 / 64)
    assert pair["kappa"]["value"] == pytest.approx(expected)
    assert [entry["page"] for entry in report["disagreements"]] == [6]
    shown = run_judgments("agreement", voted, "--resamples", 200).stdout
    assert "Cohen's κ, Ada and Ben" in shown
    assert f"{expected:.4f}" in shown
    assert "Ada: 0, Ben: 1" in shown


def test_exports_say_what_they_leave_out(voted: Path, tmp_path: Path) -> None:
    result = run_judgments("export", voted, "-o", tmp_path / "qrels")
    assert "1 disputed, 1 skipped, 1 unassessable" in result.stderr
    assert (tmp_path / "qrels").read_text().splitlines() == [
        f"101 0 {page} {int(page < 6)}" for page in (1, 2, 3, 4, 5, 7, 8)
    ]


@pytest.mark.parametrize("form", ["qrels", "topics", "votes"])
def test_round_trip(voted: Path, tmp_path: Path, form: str) -> None:
    first, second, other = tmp_path / "first", tmp_path / "second", tmp_path / "other.sqlite"
    run_judgments("export", voted, "--format", form, "-o", first)
    run_judgments("import", other, first, "--format", form, "--assessor", "import")
    run_judgments("export", other, "--format", form, "-o", second)
    assert second.read_bytes() == first.read_bytes()
    assert "0 new votes" in run_judgments("import", other, first, "--format", form, "--assessor", "import").stderr


def test_progress(voted: Path) -> None:
    report = json.loads(run_judgments("progress", voted, "--format", "json").stdout)
    [tier] = report["tiers"]
    assert (tier["n_relevant"], tier["n_not_relevant"], tier["n_disputed"], tier["max_tier"]) == (5, 2, 1, 0)
    assert [(row["assessor"], row["n_open"]) for row in report["assessors"]] == [("Ada", 0), ("Ben", 0)]
    assert "hours left" in run_judgments("progress", voted).stdout


def test_a_link_is_printed_whole_when_the_address_is_known(voted: Path) -> None:
    link = run_judgments("assessor", voted, "Ada", "--url", "https://judge.example.org/").stdout.strip()
    assert link.startswith("https://judge.example.org/judge/")
    with open_store(voted) as store:
        found = assessor_of(store, link.rpartition("/")[2])
        assert found is not None
        assert found.name == "Ada"


def test_mistakes_exit_with_2_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("101 0 x 1\n101 0 6 1\n101 0 5\n")
    command = [sys.executable, "-m", "evenrank.cli.main", "judgments", "import", tmp_path / "s", tmp_path / "qrels"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "qrels:1:" in ran.stderr
    assert "qrels:3: 3 columns, not 4" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["qrels"]


@pytest.mark.parametrize("content", [b"x", b"my notes\n", b"a long text " * 999])
@pytest.mark.parametrize("action", ["import", "export"])
def test_a_file_of_another_kind_stays_as_it_is(tmp_path: Path, content: bytes, action: str) -> None:
    (tmp_path / "qrels").write_text("101 0 5 1\n")
    (tmp_path / "notes").write_bytes(content)
    words = {"import": [tmp_path / "qrels"], "export": ["-o", tmp_path / "out"]}[action]
    with pytest.raises(InputError, match="notes: cannot be opened as a judgments file"):
        run_judgments(action, tmp_path / "notes", *words)
    assert (tmp_path / "notes").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "qrels"]


def test_an_empty_file_becomes_a_judgments_file(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("101 0 5 1\n")
    (tmp_path / "store").touch()
    assert "1 new vote\n" in run_judgments("import", tmp_path / "store", tmp_path / "qrels").stderr


def test_votes_of_nobody_are_refused(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("101 0 5 1\n")
    with pytest.raises(EvenrankError, match="not a name: ''"):
        run_judgments("import", tmp_path / "store", tmp_path / "qrels", "--assessor", "")
    assert not (tmp_path / "store").exists()
