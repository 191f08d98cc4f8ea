"""Everything that the organisers' code prints for the golden data comes out here, to 1e-6."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from evenrank.core.exposure import block_exposure
from evenrank.core.records import NO_CLASS, WORK_ORDER, Task
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.results import Results
from evenrank.scoring.topic_stats import topic_stats
from evenrank.scoring.topic_targets import topic_targets
from evenrank.trec.collection import Collection

from .csv_rows import read_csv

TOLERANCE = 1e-6
MEASURES: dict[Task, tuple[str, ...]] = {1: ("nDCG", "AWRF", "Score"), 2: ("EE-L", "EE-D", "EE-R")}
FULL: dict[Task, dict[str, int]] = {1: {"depth": 1000}, 2: {"depth": 50, "rankings": 100}}
CASES = [
    pytest.param(1, "", {}, id="task1"),
    pytest.param(1, "-full1000", FULL[1], id="task1-full"),
    pytest.param(2, "", {}, id="task2"),
    pytest.param(2, "-full100x50", FULL[2], id="task2-full"),
]


@pytest.fixture(scope="module")
def scored(golden_collection: Collection, golden_runs: list[Path]):
    """Results of the golden runs of a task at a depth; each is worked out once."""
    known: dict[str, Results] = {}

    def results(task: Task, options: dict[str, int]) -> Results:
        key = f"{task}{options}"
        if key not in known:
            runs = [path for path in golden_runs if path.name.startswith(f"T{task}")]
            known[key] = evaluate(golden_collection, runs, "official-2021", **options)
        return known[key]

    return results


def close(value: float, expected: str) -> bool:
    return value == pytest.approx(float(expected), rel=TOLERANCE, abs=TOLERANCE)


def test_page_ids_and_masks_have_the_expected_digest(golden_collection: Collection, golden_folder: Path) -> None:
    expected = json.loads((golden_folder / "expected" / "page-alignment.sha256.json").read_text())
    geography, gender = (golden_collection.masks[name].astype("<u2") for name in ("geography", "gender"))
    assert len(golden_collection) == expected["n"]
    assert (
        hashlib.sha256(golden_collection.page_ids.astype("<i4").tobytes()).hexdigest() == expected["sha256_page_id_i4"]
    )
    assert hashlib.sha256((geography | gender << 8).tobytes()).hexdigest() == expected["sha256_mask_u2"]


def test_joint_counts(golden_collection: Collection, golden_folder: Path) -> None:
    geography, gender = (golden_collection.masks[name] for name in ("geography", "gender"))
    rows = read_csv(golden_folder / "expected" / "page-joint-counts.csv")
    for place, row in enumerate(rows):
        counts = [int(((geography >> place & 1) * (gender >> g & 1)).sum()) for g in range(4)]
        assert counts == [int(row[name]) for name in ("unknown", "female", "male", "third")], row["geography"]


@pytest.mark.parametrize(
    "file,task,groups,split",
    [
        ("task1-targets-train.csv", 1, "intersection", "train"),
        ("task1-targets-eval.csv", 1, "intersection", "eval"),
        ("task1-geo-targets-train.csv", 1, "geography", "train"),
        ("task1-geo-targets-eval.csv", 1, "geography", "eval"),
        ("task2-targets.csv", 2, "intersection", None),
        ("task2-geo-targets.csv", 2, "geography", None),
    ],
)
def test_targets(golden_collection, golden_folder, file, task, groups, split) -> None:
    targets = topic_targets(golden_collection, task, "official-2021", groups)
    rows = {int(next(iter(row.values()))): row for row in read_csv(golden_folder / "expected" / file)}
    splits = {topic.id: topic.split for topic in golden_collection.topics}
    assert set(rows) == {topic for topic in targets.topic_ids if split in (None, splits[topic])}
    for topic, values in zip(targets.topic_ids, targets.values, strict=True):
        if topic in rows:
            names = list(rows[topic])[1:]
            assert tuple(names) == targets.groups
            assert all(close(value, rows[topic][name]) for value, name in zip(values, names, strict=True)), topic
            assert values == pytest.approx([float(rows[topic][name]) for name in names], rel=1e-9, abs=1e-15)


def test_work_counts_and_target_exposure(golden_collection: Collection, golden_folder: Path) -> None:
    counts_of = read_csv(golden_folder / "expected" / "task2-work-counts.csv")
    exposure_of = read_csv(golden_folder / "expected" / "task2-work-target-exposure.csv")
    for counts_row, exposure_row in zip(counts_of, exposure_of, strict=True):
        topic = golden_collection.topic_by_id[int(counts_row["id"])]
        rows = golden_collection.rows_of(topic.rel_docs)
        counts = np.bincount(golden_collection.quality_class[rows[rows >= 0]], minlength=NO_CLASS + 1)[:NO_CLASS]
        assert counts.tolist() == [int(counts_row[name]) for name in WORK_ORDER]
        exposure = block_exposure(counts, np.float32)
        assert all(close(value, exposure_row[name]) for value, name in zip(exposure, WORK_ORDER, strict=True))


@pytest.mark.parametrize("task,suffix,options", CASES)
def test_topic_scores(scored, golden_folder, task, suffix, options) -> None:
    rows = read_csv(golden_folder / "expected" / f"task{task}-topic-scores{suffix}.csv")
    results = scored(task, options)
    assert {(row["run_name"], int(row["topic_id"])) for row in rows} == {
        (run.run, topic) for run in results.runs for topic in run.topics
    }
    for row in rows:
        scores = results[row["run_name"]].topics[int(row["topic_id"])]
        assert all(close(scores[name], row[name]) for name in MEASURES[task]), row


@pytest.mark.parametrize("task,suffix,options", CASES)
def test_run_scores_and_intervals(scored, golden_folder, task, suffix, options) -> None:
    rows = read_csv(golden_folder / "expected" / f"task{task}-run-scores{suffix}.csv")
    results = scored(task, options)
    assert len(rows) == len(results.runs)
    for row in rows:
        run = results[row["run_name"]]
        main = run.main_measure
        assert all(close(run.scores[name], row[name]) for name in MEASURES[task]), row
        assert close(run.interval.se, row[f"{main}.SE"])
        assert close(run.interval.low, row[f"{main}.Lo"])
        assert close(run.interval.high, row[f"{main}.Hi"])
        assert close(run.interval.high - run.interval.low, row[f"{main}.W"])


@pytest.mark.parametrize("task,suffix,options", CASES)
def test_topic_statistics(scored, golden_folder, task, suffix, options) -> None:
    path = golden_folder / "expected" / f"task{task}-topic-stats{suffix}.csv"
    with path.open(newline="") as file:
        measures, statistics, _, *rows = csv.reader(file)
    stats = topic_stats(scored(task, options), task)
    assert [int(row[0]) for row in rows] == list(stats)
    for topic, *values in rows:
        for measure, statistic, value in zip(measures[1:], statistics[1:], values, strict=True):
            assert close(stats[int(topic)][measure][statistic], value), (topic, measure, statistic)


@pytest.mark.parametrize("task", [1, 2])
def test_order_of_runs_and_the_other_task_change_no_digit(scored, golden_collection, golden_runs, task: Task) -> None:
    """Intervals draw on from run to run by name within a task, as in the organisers' two notebooks."""
    together = evaluate(golden_collection, golden_runs[::-1], "official-2021")
    assert together.of_task(task) == scored(task, {}).of_task(task)
