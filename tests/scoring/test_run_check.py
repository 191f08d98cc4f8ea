"""`run check`: every kind of fault, with its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evenrank.cli.run import command
from evenrank.core.records import Run, Task
from evenrank.errors import InputError
from evenrank.io.runs import read_run, write_run
from evenrank.scoring.oracle import oracle_run
from evenrank.scoring.run_check import CheckedRun, check_run
from evenrank.trec.collection import Collection


@pytest.fixture
def lines(golden_collection: Collection, tmp_path: Path) -> list[str]:
    """The lines of a valid Task 1 run."""
    write_run(oracle_run(golden_collection, 1, 0.5).run, tmp_path / "good")
    return (tmp_path / "good").read_text().splitlines()


def faults_of(collection: Collection, folder: Path, lines: list[str]) -> list[tuple[int, str]]:
    (folder / "run").write_text("\n".join(lines) + "\n")
    return [(fault.line, fault.found) for fault in check_run(collection, folder / "run").faults]


@pytest.mark.parametrize("task", [1, 2])
def test_an_oracle_is_valid(golden_collection: Collection, tmp_path: Path, task: int) -> None:
    write_run(oracle_run(golden_collection, task, 0.9).run, tmp_path / "run.gz")
    assert check_run(golden_collection, tmp_path / "run.gz") == CheckedRun([], [])


def test_unknown_topic_and_page(golden_collection: Collection, tmp_path: Path, lines: list[str]) -> None:
    unknown = int(np.setdiff1d(np.arange(10**6), golden_collection.page_ids)[0])
    lines[3] = f"101\t{unknown}"
    found = faults_of(golden_collection, tmp_path, [*lines, "999\t5"])
    assert (4, f"page {unknown} has no metadata") in found
    assert (len(lines) + 1, "topic 999 is not in the collection") in found


def test_repeated_page_too_long_too_short(golden_collection: Collection, tmp_path: Path, lines: list[str]) -> None:
    page = lines[0].split("\t")[1]
    found = faults_of(golden_collection, tmp_path, [*lines[:1000], lines[0], *lines[1000:-1]])
    assert (1001, f"page {page} appears twice in topic 101") in found
    assert (1, "topic 101 has 1001 pages, not 1000") in found
    assert (4002, "topic 107 has 999 pages, not 1000") in found


def test_interleaved_and_missing_topics(golden_collection: Collection, tmp_path: Path, lines: list[str]) -> None:
    moved = [*lines[:999], lines[1000], lines[999], *lines[1001:4000]]
    found = faults_of(golden_collection, tmp_path, moved)
    assert (1001, "topic 101 continues here") in found
    assert (1002, "topic 102 continues here") in found
    assert (0, "no ranking for topic 107") in found


def test_missing_extra_and_interleaved_rankings(golden_collection: Collection, tmp_path: Path) -> None:
    write_run(oracle_run(golden_collection, 2, 0.9).run, tmp_path / "good")
    lines = (tmp_path / "good").read_text().splitlines()
    changed = [line.replace("101\t7\t", "101\t170\t", 1) if line.startswith("101\t7\t") else line for line in lines]
    swapped = [*changed[:49], changed[50], changed[49], *changed[51:]]
    found = faults_of(golden_collection, tmp_path, swapped)
    assert (0, "topic 101 has no ranking 7") in found
    assert (301, "topic 101 has a ranking 170") in found
    assert (51, "topic 101, ranking 1 continues here") in found


def test_form_faults_are_listed_beside_the_others(
    golden_collection: Collection, tmp_path: Path, lines: list[str]
) -> None:
    found = faults_of(golden_collection, tmp_path, ["101\tx", "101", *lines])
    assert [line for line, _ in found][:2] == [1, 2]
    assert check_run(golden_collection, _empty(tmp_path)).faults[0].found == "empty file"


@pytest.mark.parametrize("n_missing", [12, 400, 1000, 2000])
def test_a_cut_off_file_has_no_other_faults(
    golden_collection: Collection, tmp_path: Path, lines: list[str], n_missing: int
) -> None:
    """What comes after the cut is not missing, and half an id at the cut is not a page."""
    (tmp_path / "cut.gz").write_bytes(gzip.compress("\n".join(lines).encode())[:-n_missing])
    (fault,) = check_run(golden_collection, tmp_path / "cut.gz").faults
    assert "cut off" in fault.found


def test_a_cut_off_file_still_shows_the_faults_of_its_lines(
    golden_collection: Collection, tmp_path: Path, lines: list[str]
) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress("\n".join(["101\tx", *lines]).encode())[:-400])
    first, second = check_run(golden_collection, tmp_path / "cut.gz").faults
    assert "cut off" in first.found
    assert second.line == 1


def _empty(folder: Path) -> Path:
    (folder / "empty").write_bytes(b"")
    return folder / "empty"


def test_lengths_are_those_of_the_protocol(golden_collection: Collection, tmp_path: Path) -> None:
    for task, n_pages in ((1, 5 * 500), (2, 5 * 100 * 20)):
        run = oracle_run(golden_collection, task, 0.5, protocol="official-2022").run
        assert len(run.pages) == n_pages
        write_run(run, tmp_path / "run")
        assert check_run(golden_collection, tmp_path / "run", "official-2022").faults == []
        assert check_run(golden_collection, tmp_path / "run", "paper-2021").faults != []


def test_a_run_that_is_interleaved_throughout_is_one_note(golden_collection: Collection, tmp_path: Path) -> None:
    write_run(oracle_run(golden_collection, 2, 0.9).run, tmp_path / "run")
    lines = (tmp_path / "run").read_text().splitlines()
    across = [
        line
        for topic in range(5)
        for rank in range(50)
        for line in lines[topic * 5000 + rank : (topic + 1) * 5000 : 50]
    ]
    (tmp_path / "run").write_text("\n".join(across) + "\n")
    checked = check_run(golden_collection, tmp_path / "run")
    assert checked.faults == []
    [note] = checked.notes
    assert "interleaved throughout" in note


def lines_of(run: Run) -> list[list[int]]:
    return [[topic, repeat, page] for topic, repeat, pages in run.rankings() for page in pages.tolist()]


@pytest.mark.parametrize(
    "task, order, separator, diagnosis",
    [
        (1, (2, 0), "\t", "columns 1 and 2 look swapped: topics are in column 2 (put the topic first)"),
        (2, (2, 1, 0), "\t", "columns 1 and 3 look swapped: topics are in column 3 (put the topic first)"),
        (2, (1, 0, 2), "\t", "columns 1 and 2 look swapped: topics are in column 2 (put the topic first)"),
        (2, (0, 2, 1), "\t", "columns 2 and 3 look swapped: ranking numbers are in column 3 (put them second)"),
        (
            1,
            (0, 2, 2),
            "\t",
            "column 2 has pages, not ranking numbers (a run for Task 1 has two columns: topic and page)",
        ),
        (1, (0, 2), ",", "commas separate the columns, where tabs are expected (replace them by tabs)"),
        (2, (0, 1, 2), ";", "semicolons separate the columns, where tabs are expected (replace them by tabs)"),
        (1, (0, 2), "\t", None),
        (2, (0, 1, 2), "\t", None),
    ],
)
def test_one_diagnosis_for_one_mistake(
    golden_collection: Collection, tmp_path: Path, task: Task, order: tuple[int, ...], separator: str, diagnosis: str
) -> None:
    rows = lines_of(oracle_run(golden_collection, task, 0.9).run)
    (tmp_path / "run").write_text("\n".join(separator.join(str(row[place]) for place in order) for row in rows))
    checked = check_run(golden_collection, tmp_path / "run")
    assert checked.diagnoses == ([diagnosis] if diagnosis else [])
    assert bool(checked.faults) == bool(diagnosis)


def test_rankings_of_one_wrong_length_have_one_diagnosis(golden_collection: Collection, tmp_path: Path) -> None:
    rows = lines_of(oracle_run(golden_collection, 1, 0.9).run)
    (tmp_path / "run").write_text("\n".join(f"{topic}\t{page}" for n, (topic, _, page) in enumerate(rows) if n % 5))
    checked = check_run(golden_collection, tmp_path / "run")
    assert checked.diagnoses == ["all 5 rankings have 800 pages, not 1000"]
    assert len(checked.faults) == 5


def test_ranks_against_scores(golden_collection: Collection, tmp_path: Path) -> None:
    run = oracle_run(golden_collection, 1, 0.9).run
    write_run(run, tmp_path / "run", "trec")
    assert not check_run(golden_collection, tmp_path / "run").faults
    lines = [line.split() for line in (tmp_path / "run").read_text().splitlines()]
    lines[4][4] = "99999"
    (tmp_path / "run").write_text("\n".join(" ".join(line) for line in lines))
    [fault] = check_run(golden_collection, tmp_path / "run").faults
    assert (fault.line, fault.found) == (5, f"rank 5 has a higher score than the rank before it in topic {lines[4][0]}")
    for line in lines:
        line[4] = line[3]
    (tmp_path / "run").write_text("\n".join(" ".join(line) for line in lines))
    assert "scores rise with the rank throughout" in check_run(golden_collection, tmp_path / "run").diagnoses[0]


def test_the_check_as_json(golden_collection: Collection, golden_runs: list[Path], tmp_path: Path) -> None:
    write_run(oracle_run(golden_collection, 1, 0.9).run, tmp_path / "good.gz")
    words = ["check", golden_collection.path, golden_runs[0], tmp_path / "good.gz", "--format", "json", "--limit", "2"]
    ran = CliRunner().invoke(command, [str(word) for word in words])
    assert ran.exit_code == 1
    bad, good = json.loads(ran.stdout)
    assert (bad["is_valid"], bad["n_faults"], len(bad["faults"])) == (False, 19, 2)
    assert bad["faults"][0] == {"line": 1, "found": "topic 101 has 100 pages, not 1000", "fix": "add 900"}
    assert (good["is_valid"], good["faults"], good["diagnoses"]) == (True, [], [])
    assert len(good["sha256"]) == 64


def six_columns(collection: Collection, folder: Path) -> list[list[str]]:
    """The cells of a valid Task 1 run in six columns."""
    write_run(oracle_run(collection, 1, 0.9).run, folder / "good", "trec")
    return [line.split() for line in (folder / "good").read_text().splitlines()]


@pytest.mark.parametrize(
    "order, iteration, diagnosis",
    [
        (
            (0, 2, 1, 3, 4, 5),
            "Q0",
            "columns 2 and 3 look swapped: Q0 is in column 3 (put it second, and the page third)",
        ),
        ((0, 2, 1, 3, 4, 5), "0", "columns 2 and 3 look swapped: column 3 is 0 throughout"),
        (
            (1, 0, 2, 3, 4, 5),
            "Q0",
            "columns 1 and 2 look swapped: Q0 is in column 1 (put it second, and the topic first)",
        ),
        ((0, 1, 2, 4, 3, 5), "0.5", "columns 4 and 5 look swapped: scores are in column 4 and ranks in column 5"),
        ((0, 1, 2, 3, 4, 5), "Q0", ""),
        ((0, 1, 2, 3, 4, 5), "0", ""),
    ],
)
def test_swapped_columns_of_trec_are_diagnosed(
    golden_collection: Collection, tmp_path: Path, order: tuple[int, ...], iteration: str, diagnosis: str
) -> None:
    lines = six_columns(golden_collection, tmp_path)
    for line in lines:
        if iteration == "0.5":
            line[4] += ".5"
        else:
            line[1] = iteration
    (tmp_path / "run").write_text("\n".join(" ".join(line[place] for place in order) for line in lines))
    checked = check_run(golden_collection, tmp_path / "run")
    assert [one[: len(diagnosis)] for one in checked.diagnoses[:1]] == ([diagnosis] if diagnosis else [])
    assert bool(checked.faults) == bool(diagnosis)


@pytest.mark.parametrize(
    "place, changed, separator, diagnosis",
    [
        (5, "tag", ",", "commas separate the columns, where tabs are expected (replace them by tabs)"),
        (0, "T{}", " ", "column 1 has text such as 'T101', where topics are expected as whole numbers"),
        (2, "Page-{}", "\t", "column 3 has text such as 'Page-{}', where pages are expected as whole numbers"),
        (3, "{}.0", " ", "column 4 has text such as '1.0', where ranks are expected as whole numbers"),
        (5, "tag", " ", ""),
    ],
)
def test_one_diagnosis_for_a_form_that_is_wrong_throughout(
    golden_collection: Collection, tmp_path: Path, place: int, changed: str, separator: str, diagnosis: str
) -> None:
    lines = six_columns(golden_collection, tmp_path)
    expected = diagnosis.format(lines[0][place])
    for line in lines:
        line[place] = changed.format(line[place])
    (tmp_path / "run").write_text("\n".join(map(separator.join, lines)))
    checked = check_run(golden_collection, tmp_path / "run")
    assert checked.diagnoses == ([expected] if diagnosis else [])
    assert bool(checked.faults) == bool(diagnosis)


@pytest.mark.parametrize("task", [1, 2])
def test_whole_scores_in_place_of_ranks_are_a_fault(golden_collection: Collection, tmp_path: Path, task: Task) -> None:
    """Rank and score then agree, and every ranking would be read from its end."""
    write_run(oracle_run(golden_collection, task, 0.9).run, tmp_path / "good", "trec")
    lines = [line.split() for line in (tmp_path / "good").read_text().splitlines()]
    (tmp_path / "run").write_text("\n".join(" ".join([*line[:3], line[4], line[3], line[5]]) for line in lines))
    [fault] = check_run(golden_collection, tmp_path / "run").faults
    expected = (
        f"columns 4 and 5 look swapped: scores count up from 1 and ranks fall, line by line, in {len(lines):,} lines"
    )
    assert (fault.line, fault.found) == (1, expected)
    for line in lines:
        line[4] = "1"  # ties are ordered by rank
    (tmp_path / "run").write_text("\n".join(map(" ".join, lines)))
    assert not check_run(golden_collection, tmp_path / "run").faults


def test_contradictions_are_counted_and_the_first_is_named(golden_collection: Collection, tmp_path: Path) -> None:
    lines = six_columns(golden_collection, tmp_path)
    for line in lines[5:500:5]:
        line[4] = "99999"
    (tmp_path / "run").write_text("\n".join(map(" ".join, lines)))
    checked = check_run(golden_collection, tmp_path / "run")
    expected = "rank and score contradict each other (in 99 lines, first in line 6; scores decide the order)"
    assert (checked.diagnoses, len(checked.faults)) == ([expected], 99)


@pytest.mark.parametrize("n_lines, total", [(5000, "5,000 faults"), (150_000, "at least 101,000 faults")])
def test_the_number_of_faults_is_that_of_the_file(
    golden_collection: Collection, tmp_path: Path, n_lines: int, total: str
) -> None:
    (tmp_path / "run").write_text("101 88 Q0 1 9 tag\n" * n_lines)
    ran = CliRunner().invoke(command, ["check", str(golden_collection.path), str(tmp_path / "run"), "--limit", "1"])
    assert ran.stderr.splitlines()[-1] == f"{total} in 1 file"
    with pytest.raises(InputError, match="columns 2 and 3 look swapped"):
        read_run(tmp_path / "run")
