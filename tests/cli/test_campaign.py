"""A campaign from the command line: one leaderboard from every export, a complete log, machines apart from people."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.io.runs import split_name
from evenrank.scoring.evaluate import evaluate
from evenrank.trec.assessment.assessors import add_assessor, load_pool
from evenrank.trec.assessment.files import with_judgments
from evenrank.trec.assessment.log import find_gaps, log_entries
from evenrank.trec.assessment.pool import pool
from evenrank.trec.assessment.votes import Vote, cast_votes, create_store, open_store
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection

PROTOCOL = ("--protocol", "official-2021", "--set", "n_resamples=9")


def evenrank(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def judged(golden_collection: Collection, golden_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pooled pages judged as the collection has it, but for half of the topics only in tier 1."""
    path = tmp_path_factory.mktemp("campaign") / "judgments.sqlite"
    pooled = pool(golden_collection, golden_runs, tiers=("1:10", "2:4x6"))
    relevant = {topic.id: set(topic.rel_docs.tolist()) for topic in golden_collection.topics}
    deep = set(sorted({entry.topic for entry in pooled.pages})[::2])
    with create_store(path) as store:
        load_pool(store, pooled, {})
        add_assessor(store, "Ada")
        cast_votes(
            store,
            (
                Vote(f"{entry.topic}-{entry.page}", entry.topic, entry.page, "Ada", "graded", int(is_relevant))
                for entry in pooled.pages
                for is_relevant in [entry.page in relevant[entry.topic]]
                if entry.tier == 1 or entry.topic in deep
            ),
        )
    return path


def leaderboard(collection: Path, runs: list[Path], *words: object) -> list[dict[str, Any]]:
    shown = evenrank("evaluate", collection, *runs, *PROTOCOL, "--format", "json", *words).stdout
    rows: list[dict[str, Any]] = json.loads(shown)["runs"]
    return [{name: row[name] for name in ("run", "task", "n_topics", "scores")} for row in rows]


@pytest.fixture(scope="module")
def expected(judged: Path, golden_collection: Collection, golden_runs: list[Path]) -> list[dict[str, Any]]:
    return leaderboard(golden_collection.path, golden_runs, "--judgments", judged)


def test_the_judgments_file_is_scored_directly(expected: list[dict[str, Any]], judged: Path) -> None:
    by_task = {row["task"]: row["n_topics"] for row in expected}
    assert by_task[2] < by_task[1], "topics that are not judged down to tier 2 do not count in Task 2"


def import_with(golden_files: ImportFiles, folder: Path, **judgments: tuple[Path, ...]) -> Path:
    files = replace(golden_files, **({"eval_topics": (), "qrels": ()} | judgments))  # type: ignore[arg-type]
    return import_collection(folder, files).path


@pytest.mark.parametrize("form", ["qrels", "topics", "votes"])
def test_every_export_gives_the_same_leaderboard(
    form: str,
    judged: Path,
    expected: list[dict[str, Any]],
    golden_collection: Collection,
    golden_files: ImportFiles,
    golden_runs: list[Path],
    tmp_path: Path,
) -> None:
    file = tmp_path / "export"
    evenrank("judgments", "export", judged, "--format", form, "-o", file)
    evenrank("judgments", "import", tmp_path / "other.sqlite", file, "--format", form)
    imported = leaderboard(golden_collection.path, golden_runs, "--judgments", tmp_path / "other.sqlite")
    assert imported == expected
    if form != "votes":
        name = "qrels" if form == "qrels" else "eval_topics"
        collection = import_with(golden_files, tmp_path / "collection", **{name: (file,)})
        assert leaderboard(collection, golden_runs) == expected


def test_the_scorer_says_that_tiers_are_missing(
    judged: Path,
    expected: list[dict[str, Any]],
    golden_files: ImportFiles,
    golden_runs: list[Path],
    tmp_path: Path,
) -> None:
    evenrank("judgments", "export", judged, "-o", tmp_path / "qrels")
    (tmp_path / "qrels.json").unlink()
    collection = import_with(golden_files, tmp_path / "collection", qrels=(tmp_path / "qrels",))
    ran = evenrank("evaluate", collection, *golden_runs, *PROTOCOL)
    assert "topics whose judgments do not say their tier, so all count, where official-2021 counts those" in ran.stderr
    assert leaderboard(collection, golden_runs) != expected


def test_a_record_of_another_file_is_refused(judged: Path, tmp_path: Path) -> None:
    evenrank("judgments", "export", judged, "-o", tmp_path / "qrels")
    with (tmp_path / "qrels").open("a") as file:
        file.write("101 0 999999 1\n")
    with pytest.raises(EvenrankError, match=r"qrels.json: describes another file than qrels is now"):
        evenrank("judgments", "import", tmp_path / "other.sqlite", tmp_path / "qrels")
    assert not (tmp_path / "other.sqlite").exists()


def test_a_record_has_scale_tiers_and_coverage(judged: Path, tmp_path: Path) -> None:
    evenrank("judgments", "export", judged, "-o", tmp_path / "qrels")
    record = json.loads((tmp_path / "qrels.json").read_text())
    assert record["max_grade"] == 1
    assert {row["max_tier"] for row in record["topics"]} == {1, 2}
    first = record["topics"][0]
    assert {"tier", "n_relevant", "n_untouched"} < first["tiers"][0].keys()
    assert first["version"] == 1


def test_the_report_takes_the_judgments_file(
    judged: Path, golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    ran = evenrank(
        "report", golden_collection.path, *golden_runs[:2], *PROTOCOL, "--judgments", judged, "-o", tmp_path / "out"
    )
    assert "topics judged" in ran.stderr
    assert f"--judgments {judged}" in (tmp_path / "out/index.html").read_text()


def test_the_report_says_what_the_scorer_says(
    judged: Path, golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    store, (gone, _) = tmp_path / "judgments.sqlite", split_name(golden_runs[0])
    shutil.copy(judged, store)
    evenrank("judgments", "withdraw-run", store, gone, "--reason", "a fault")
    words = ["report", golden_collection.path, *golden_runs[:2], *PROTOCOL, "--judgments", store]
    ran = evenrank(*words, "-o", tmp_path / "out")
    for said in (ran.stderr, (tmp_path / "out/index.html").read_text()):
        assert said.count(f"withdrawn, and not scored: {gone}") == 1


def test_machine_judgments_stay_apart_from_votes(
    judged: Path,
    expected: list[dict[str, Any]],
    golden_collection: Collection,
    golden_runs: list[Path],
    tmp_path: Path,
) -> None:
    evenrank("judgments", "export", judged, "-o", tmp_path / "qrels")
    lines = (tmp_path / "qrels").read_text().splitlines()
    flipped = [line[:-1] + str(int(line[-1] == "0") if n % 10 == 0 else line[-1]) for n, line in enumerate(lines)]
    (tmp_path / "llm").write_text("\n".join(flipped))
    before = evenrank("judgments", "progress", judged, "--format", "json").stdout
    ran = evenrank("judgments", "import", judged, tmp_path / "llm", "--machine", "model 1")
    assert f"{len(lines):,} new judgments of model 1, kept apart from votes" in ran.stderr
    again = evenrank("judgments", "import", judged, tmp_path / "llm", "--machine", "model 1")
    assert "0 new judgments" in again.stderr
    assert evenrank("judgments", "progress", judged, "--format", "json").stdout == before
    assert leaderboard(golden_collection.path, golden_runs, "--judgments", judged) == expected
    words = ["machine", judged, *golden_runs[:3], "--collection", golden_collection.path, "--resamples", 100]
    found = json.loads(evenrank("judgments", *words, "--format", "json").stdout)
    [source] = found["sources"]
    assert source["agreement"]["observed"] == pytest.approx(1 - len(range(0, len(lines), 10)) / len(lines))
    assert source["n_too_high"] + source["n_too_low"] == len(range(0, len(lines), 10))
    assert source["agreement"]["kappa"]["low"] < source["agreement"]["kappa"]["value"] < 1
    [board] = found["leaderboards"]
    assert -1 <= board["tau"] <= 1
    assert board["scores"].keys() == {"T1syn00", "T1syn01", "T1syn02"}
    assert "Kendall's τ over" in evenrank("judgments", *words).stdout
    evenrank("judgments", "export", judged, "--format", "machine", "-o", tmp_path / "machine")
    assert json.loads((tmp_path / "machine").read_text().splitlines()[0])["source"] == "model 1"


def test_the_log_is_exported_and_checked(judged: Path, tmp_path: Path) -> None:
    assert "an unbroken chain" in evenrank("judgments", "log", judged, "--check").stderr
    evenrank("judgments", "export", judged, "--format", "log", "-o", tmp_path / "log")
    entries = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    with open_store(judged) as store:
        known = list(log_entries(store))
    assert [entry.record() for entry in known[:-1]] == entries
    assert known[-1].action == "export", "the export itself is noted after it"
    assert find_gaps(known) == []
    published = tmp_path / "log.jsonl"
    shutil.copy(tmp_path / "log", published)
    said = evenrank("judgments", "log", published, "--check", "--against", tmp_path / "log").stderr
    assert f"{len(entries)} entries, an unbroken chain" in said
    entries[0]["details"]["n_new"] += 1
    published.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    assert "entry 1 is not what was written" in evenrank("judgments", "log", published, "--check", code=1).stderr


def test_runs_are_withdrawn_and_people_erased(judged: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(judged.read_bytes())
    evenrank("judgments", "withdraw-run", copy, "T1syn00", "--reason", "the team asked")
    shown = evenrank("judgments", "runs", copy).stdout
    assert next(line.split()[-1] for line in shown.splitlines() if line.startswith("T1syn0")) == "withdrawn"
    evenrank("judgments", "restore-run", copy, "T1syn00", "--reason", "a mistake")
    assert "is person-" in evenrank("judgments", "erase", copy, "Ada").stderr
    with pytest.raises(EvenrankError, match="given on the scale from 0 to 1"):
        evenrank("judgments", "scale", copy, 3)
    shown = evenrank("judgments", "log", copy, "--check").stdout
    assert "withdraw-run" in shown
    assert "Ada" not in shown


def test_leave_one_out_does_not_mix_measures(
    judged: Path, golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    evenrank("pool", "build", golden_collection.path, *golden_runs, "-o", tmp_path / "pool", "--despite", "short")
    words = ["leave-one-out", golden_collection.path, tmp_path / "pool", *golden_runs, "--judgments", judged]
    heads = [line.split() for line in evenrank("pool", *words).stdout.splitlines() if line.startswith("run ")]
    assert [head[4] for head in heads] == ["Score", "EE-L"]
    first, again = golden_runs[0], tmp_path / "again.tsv.gz"
    shutil.copy(first, again)
    evenrank("pool", "build", golden_collection.path, first, again, "-o", tmp_path / "two", "--despite", "short")
    words = ["leave-one-out", golden_collection.path, tmp_path / "two", first, again, "--judgments", judged]
    rows = [line.split() for line in evenrank("pool", *words).stdout.splitlines()[2:] if line]
    assert [row[5:7] for row in rows] == [["–", "–"]] * 2, "nothing was left out, so nothing is said about it"


def test_a_withdrawn_run_is_in_no_leaderboard_whatever_is_scored(
    judged: Path,
    golden_collection: Collection,
    golden_files: ImportFiles,
    golden_runs: list[Path],
    tmp_path: Path,
) -> None:
    store = tmp_path / "judgments.sqlite"
    shutil.copy(judged, store)
    gone = split_name(golden_runs[0])[0]
    evenrank("judgments", "withdraw-run", store, gone, "--reason", "a fault")
    found = leaderboard(golden_collection.path, golden_runs, "--judgments", store)
    assert gone not in {row["run"] for row in found}
    for form in ("qrels", "topics", "votes"):
        evenrank("judgments", "export", store, "--format", form, "-o", tmp_path / f"{form}.gz")
        evenrank("judgments", "import", tmp_path / f"{form}.sqlite", tmp_path / f"{form}.gz", "--format", form)
        assert leaderboard(golden_collection.path, golden_runs, "--judgments", tmp_path / f"{form}.sqlite") == found
    said = evenrank("evaluate", golden_collection.path, *golden_runs, *PROTOCOL, "--judgments", store).stderr
    assert f"withdrawn, and not scored: {gone}" in said
    for form, name in (("qrels", "qrels"), ("topics", "eval_topics")):
        collection = import_with(golden_files, tmp_path / form, **{name: (tmp_path / f"{form}.gz",)})
        assert leaderboard(collection, golden_runs) == found
        assert f"withdrawn, and not scored: {gone}" in evenrank("evaluate", collection, *golden_runs, *PROTOCOL).stderr
    with pytest.raises(EvenrankError, match="no run to score: withdrawn"):
        evenrank("evaluate", golden_collection.path, golden_runs[0], "--judgments", store)
    evenrank("judgments", "import", store, tmp_path / "qrels.gz", "--machine", "model 1")
    words = ["machine", store, *golden_runs[:3], "--collection", golden_collection.path, "--resamples", 100]
    [board] = json.loads(evenrank("judgments", *words, "--format", "json").stdout)["leaderboards"]
    assert board["scores"].keys() == {split_name(run)[0] for run in golden_runs[1:3]}


def test_runs_are_known_by_their_rankings_too(
    judged: Path, golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    """A withdrawn run under another name, another run under a pooled name, and a run that was never pooled."""
    store, [first, second, third] = tmp_path / "judgments.sqlite", golden_runs[:3]
    shutil.copy(judged, store)
    gone, changed = split_name(first)[0], split_name(second)[0]
    evenrank("judgments", "withdraw-run", store, gone, "--reason", "a fault")
    renamed, other, late = tmp_path / "renamed.gz", tmp_path / "other" / second.name, tmp_path / "late.tsv"
    other.parent.mkdir()
    shutil.copy(first, renamed)
    shutil.copy(third, other)
    with gzip.open(third, "rt") as lines:
        late.write_text("".join(list(lines)[::-1]))
    evenrank("judgments", "export", store, "-o", tmp_path / "qrels")
    evenrank("judgments", "import", tmp_path / "imported.sqlite", tmp_path / "qrels")
    for judgments in (store, tmp_path / "imported.sqlite"):
        collection = with_judgments(golden_collection, judgments)
        results = evaluate(collection, [first, renamed, other, third, late], "official-2021", n_resamples=9)
        assert [run.run for run in results.runs] == sorted([changed, split_name(third)[0], "late"])
        assert results.notes[:3] == (
            f"withdrawn, and not scored: {gone}, renamed (its rankings are those of {gone})",
            "not the rankings that were pooled under this name, so some of their pages may not be judged: " + changed,
            "not pooled, so pages that only they rank may not be judged: late",
        )
        for options in (["--judged-only"], ["--attributes"], ["--depths", "10,20"], ["--sensitivity"]):
            words = [golden_collection.path, first, renamed, third, *PROTOCOL, "--judgments", judgments, *options]
            ran = evenrank("evaluate", *words)
            assert split_name(third)[0] in ran.stdout
            assert gone not in ran.stdout
            assert "renamed" not in ran.stdout
            assert ran.stderr.count("withdrawn, and not scored") == 1


def test_comparisons_and_trust_are_of_the_judgments_file(
    judged: Path, expected: list[dict[str, Any]], golden_collection: Collection, golden_runs: list[Path]
) -> None:
    scores = {row["run"]: row["scores"]["Score"] for row in expected if row["task"] == 1}
    of_task = [run for run in golden_runs if split_name(run)[0] in scores]
    words = [golden_collection.path, *of_task, *PROTOCOL, "--judgments", judged]
    first = split_name(of_task[0])[0]
    compared = json.loads(evenrank("compare", *words, "--baseline", first, "-m", "Score", "--format", "json").stdout)
    means = {row["run"]: row["mean"] for row in compared["comparisons"]}
    assert means == pytest.approx({run: score for run, score in scores.items() if run != first})
    words += ["--resamples", 10, "--topics-only", "--format", "json"]
    [task] = json.loads(evenrank("trust", *words).stdout)["tasks"]
    assert {row["run"]: row["mean"] for row in task["runs"]} == pytest.approx(scores)


def test_an_earlier_log_shows_that_the_end_was_cut_off(judged: Path, tmp_path: Path) -> None:
    store, log = tmp_path / "judgments.sqlite", tmp_path / "log.jsonl"
    shutil.copy(judged, store)
    evenrank("judgments", "assessor", store, "Ben")
    evenrank("judgments", "export", store, "--format", "log", "-o", log)
    evenrank("judgments", "log", store, "--check", "--against", log)
    with open_store(store) as opened:
        guard = "SELECT sql FROM sqlite_master WHERE name = 'events_do_not_vanish'"
        [again] = opened.connection.execute(guard).fetchone()
        opened.connection.execute("DROP TRIGGER events_do_not_vanish")
        opened.connection.execute("DELETE FROM event WHERE number >= (SELECT max(number) - 1 FROM event)")
        opened.connection.execute(again)
    evenrank("judgments", "log", store, "--check")
    broken = evenrank("judgments", "log", store, "--check", "--against", log, code=1)
    assert "of the earlier log is missing here" in broken.stderr
    evenrank("judgments", "log", store, "--against", log, code=2)


def test_gold_pages_and_assessors_by_topic_from_the_command_line(judged: Path, tmp_path: Path) -> None:
    store, gold = tmp_path / "judgments.sqlite", tmp_path / "gold.txt"
    shutil.copy(judged, store)
    with open_store(store) as opened:
        topic, page = opened.connection.execute("SELECT topic, page FROM item ORDER BY 1, 2").fetchone()
    gold.write_text(f"{topic} 0 {page} 1\n", "utf-8")
    evenrank("judgments", "gold", store, gold, "--by", "Olga", code=2)
    for name in ("Olga", "Ben"):
        evenrank("judgments", "assessor", store, name, *(["--organiser"] if name == "Olga" else []))
    with pytest.raises(EvenrankError, match="not among the assessors: Nobody"):
        evenrank("judgments", "assign", store, "--topic", f"{topic}=Nobody")
    evenrank("judgments", "assign", store, "--topic", "one=Ben", code=2)
    said = evenrank("judgments", "assign", store, "--topic", f"{topic}=Ben", "--overlap", 0).stderr
    assert f"topic {topic} is judged by Ben alone" in said
    evenrank("judgments", "gold", store, gold, "--by", "Olga")
    [score] = json.loads(evenrank("judgments", "gold", store, "--format", "json").stdout)
    assert (score["assessor"], score["n_pages"]) == ("Ada", 1)
    gold.write_text(f"{topic} 0 {page} 3\n", "utf-8")
    with pytest.raises(EvenrankError, match="beyond the scale"):
        evenrank("judgments", "gold", store, gold, "--by", "Olga")
    evenrank("judgments", "hand-over", store, "all", "Ben", "Ada")
    evenrank("judgments", "hand-over", store, "some", "Ben", "Ada", code=2)
