"""2022: what the organisers' last code prints for a generated data set, from the official file formats."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evenrank.cli.main import cli
from evenrank.core.protocol import OFFICIAL_2022
from evenrank.core.records import WORK_ORDER
from evenrank.core.sparse import SparseTarget
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.protocol_settings import protocol_space
from evenrank.scoring.ranked_pages import align_pages
from evenrank.scoring.results import Results, measure_interval
from evenrank.scoring.sensitivity import sensitivity
from evenrank.scoring.topic_stats import topic_stats
from evenrank.scoring.topic_targets import topic_targets
from evenrank.scoring.topic_truth import TopicTruth
from evenrank.trec.collection import Collection

FOLDER = Path(__file__).parents[1] / "golden_2022"
NAMES = {
    "sub-geo": "sub-region",
    "src-geo": "source-region",
    "gender": "gender",
    "occ": "occupation",
    "alpha": "first-letter",
    "age": "creation-date",
    "pop": "popularity",
    "langs": "languages",
}
SINGLE_PRECISION = ("alpha", "age", "pop", "langs")
"""Dimensions whose own Task 2 scores the organisers computed in single precision."""
SETS = {"": "intersection", "geo-gender-": "2021", "internal-": "Internal", "demo-": "Demographic"}
MAIN = {1: "Score", 2: "EE-L"}
GROUPS = {"@UNKNOWN": "Unknown", "NB": "third"}
CLOSE = 1e-12
MARGINS = sorted((FOLDER / "expected" / "targets").glob("*-margin-*.csv.gz"))


def rows_of(name: str) -> list[dict[str, str]]:
    path = FOLDER / "expected" / name
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return list(csv.DictReader(io.StringIO(text)))


def group_name(dimension: str, name: str) -> str:
    known = GROUPS.get(name, name)
    return known.lower() if dimension == "gender" else known


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Imported by the command line, from the official files alone."""
    folder = tmp_path_factory.mktemp("golden-2022") / "collection"
    data = FOLDER / "data"
    arguments = ["collection", "import", str(folder)]
    arguments += ["--metadata", str(data / "trec_2022_articles_discrete_assessed.json.gz")]
    arguments += ["--topics", str(data / "trec_2022_train_reldocs.jsonl")]
    arguments += ["--eval-topics", str(data / "trec_2022_eval_reldocs.jsonl")]
    arguments += ["--eval-topics", str(data / "trec_2022_eval_topics.jsonl")]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return Collection.open(folder)


@pytest.fixture(scope="module")
def scored(collection: Collection) -> Callable[[int, str], Results]:
    known: dict[tuple[int, str], Results] = {}

    def results(task: int, groups: str) -> Results:
        folder = FOLDER / "runs" / "2022" / ("coordinators" if task == 1 else "editors")
        if (task, groups) not in known:
            known[task, groups] = evaluate(collection, sorted(folder.glob("*.gz")), "official-2022", groups)
        return known[task, groups]

    return results


@pytest.mark.parametrize("theirs", NAMES)
def test_alignments(collection: Collection, theirs: str) -> None:
    expected = rows_of(f"alignments/page-{theirs}-align.csv.gz")
    space = collection.space(NAMES[theirs])
    page_key = "page_id" if "page_id" in expected[0] else ""
    for row in expected:
        rows = collection.rows_of(np.array([int(row.pop(page_key))]))
        found = align_pages(collection, rows, space, OFFICIAL_2022).total()
        wanted = dict.fromkeys(space.names, 0.0)
        wanted |= {group_name(theirs, name): float(value) for name, value in row.items()}
        assert found.tolist() == list(wanted.values())


def test_quality_classes(collection: Collection) -> None:
    for row in rows_of("alignments/page-quality.csv.gz"):
        [place] = collection.rows_of(np.array([int(row["page_id"])]))
        assert WORK_ORDER[collection.quality_class[place]] == row["quality"]


@pytest.mark.parametrize("task", [1, 2])
@pytest.mark.parametrize("theirs", NAMES)
def test_targets_of_single_dimensions(collection: Collection, task: int, theirs: str) -> None:
    targets = topic_targets(collection, task, "official-2022", NAMES[theirs])
    close = 1e-7 if task == 2 and theirs in SINGLE_PRECISION else CLOSE
    for row in rows_of(f"targets/task{task}-eval-{theirs}-target.csv"):
        found = targets.values[targets.topic_ids.index(int(row.pop("topic_id")))]
        wanted = dict.fromkeys(targets.groups, 0.0)
        wanted |= {group_name(theirs, name): float(value) for name, value in row.items()}
        assert found == pytest.approx(list(wanted.values()), abs=close)


def full_target(collection: Collection, task: int, topic: int) -> SparseTarget:
    space = protocol_space(collection, OFFICIAL_2022)
    truth = TopicTruth(collection, collection.topic_by_id[topic], OFFICIAL_2022, space)
    target = truth.task1_target if task == 1 else truth.task2_target
    assert isinstance(target, SparseTarget)
    return target


@pytest.mark.parametrize("task", [1, 2])
def test_the_eight_dimensional_target(collection: Collection, task: int) -> None:
    for row in rows_of(f"targets/task{task}-eval-int-facts.csv"):
        target = full_target(collection, task, int(row["topic"]))
        assert target.total == pytest.approx(float(row["sum"]), abs=CLOSE)
        assert target.squared_norm == pytest.approx(float(row["squared_norm"]), abs=CLOSE)
        listed = target.nonzero()
        assert len(listed.cells) == int(row["nonzero"])
        entropy = -float((listed.values * np.log(listed.values)).sum())
        assert entropy == pytest.approx(float(row["entropy"]), abs=1e-9)


@pytest.mark.parametrize("task", [1, 2])
def test_cells_of_the_eight_dimensional_target(collection: Collection, task: int) -> None:
    targets = {
        topic.id: full_target(collection, task, topic.id) for topic in collection.topics if topic.split == "eval"
    }
    for row in rows_of(f"targets/task{task}-eval-int-cells.csv.gz"):
        target = targets[int(row["topic"])]
        cell = 0
        for theirs, dimension in zip(NAMES, target.space.dimensions, strict=True):
            groups = dimension.scored_groups
            cell = cell * len(groups) + groups.index(group_name(theirs, row[theirs]))
        assert target.at(np.array([cell]))[0] == pytest.approx(float(row["value"]), abs=CLOSE)


@pytest.mark.parametrize(
    "path", sorted((FOLDER / "expected" / "targets").glob("*-margin-*.csv.gz")), ids=lambda p: p.name
)
def test_margins_of_the_eight_dimensional_target(collection: Collection, path: Path) -> None:
    task = int(path.name[4])
    theirs = path.name.removesuffix(".csv.gz").split("margin-")[1].split("+")
    space = protocol_space(collection, OFFICIAL_2022).part(NAMES[name] for name in theirs)
    by_topic: dict[int, dict[str, float]] = {}
    for row in rows_of(f"targets/{path.name}"):
        name = "|".join(group_name(dimension, row[dimension]) for dimension in theirs)
        by_topic.setdefault(int(row["topic_id"]), {})[name] = float(row["value"])
    for topic, values in by_topic.items():
        found = full_target(collection, task, topic).margin(space).dense()
        wanted = dict.fromkeys(space.names, 0.0) | values
        assert found == pytest.approx(list(wanted.values()), abs=CLOSE)


@pytest.mark.parametrize("task", [1, 2])
def test_topic_scores_are_the_same_bits(scored: Callable[[int, str], Results], task: int) -> None:
    results = scored(task, "intersection")
    for row in rows_of(f"task{task}-topic-scores.csv"):
        found = results[row.pop("run_name")].topics[int(row.pop("topic_id"))]
        assert {name: found[name] for name in row} == {name: float(value) for name, value in row.items()}


@pytest.mark.parametrize("task", [1, 2])
def test_operations_in_any_order_agree_to_twelve_digits(
    collection: Collection, scored: Callable[[int, str], Results], task: int
) -> None:
    folder = FOLDER / "runs" / "2022" / ("coordinators" if task == 1 else "editors")
    anyhow = evaluate(collection, sorted(folder.glob("*.gz")), "official-2022", operation_order="any")
    for run in scored(task, "intersection").runs:
        for topic, scores in run.topics.items():
            assert anyhow[run.run].topics[topic] == pytest.approx(scores, abs=CLOSE)


@pytest.mark.parametrize("task", [1, 2])
@pytest.mark.parametrize("part", SETS)
def test_topic_scores(scored: Callable[[int, str], Results], task: int, part: str) -> None:
    results = scored(task, SETS[part])
    expected = rows_of(f"task{task}-{part}topic-scores.csv")
    assert sum(run.n_topics for run in results.runs) == len(expected)
    for row in expected:
        found = results[row.pop("run_name")].topics[int(row.pop("topic_id"))]
        for name, value in row.items():
            wanted = float(value) if value else math.nan
            assert found[name] == pytest.approx(wanted, abs=CLOSE, nan_ok=True)


@pytest.mark.parametrize("task", [1, 2])
@pytest.mark.parametrize("theirs", NAMES)
def test_topic_scores_of_single_dimensions(scored: Callable[[int, str], Results], task: int, theirs: str) -> None:
    results = scored(task, NAMES[theirs])
    close = 5e-6 if task == 2 and theirs in SINGLE_PRECISION else CLOSE
    rows = [row for row in rows_of(f"task{task}-single-topic-scores.csv") if row.pop("dim") == theirs]
    assert rows
    for row in rows:
        found = results[row.pop("run_name")].topics[int(row.pop("topic_id"))]
        for name, value in row.items():
            assert found[name] == pytest.approx(float(value), abs=close)


@pytest.mark.parametrize("task", [1, 2])
def test_run_scores(scored: Callable[[int, str], Results], task: int) -> None:
    """Means, standard errors and both ends of the intervals, which depend on the last bit of every topic's score."""
    results = scored(task, "intersection")
    for row in rows_of(f"task{task}-run-scores.csv"):
        run = results[row["run_name"]]
        for name, value in run.scores.items():
            if name in row:
                assert value == pytest.approx(float(row[name]), abs=CLOSE)
        assert run.interval.se == pytest.approx(float(row[f"{MAIN[task]}.SE"]), abs=1e-15)
        assert [run.interval.low, run.interval.high] == [float(row[f"{MAIN[task]}.{end}"]) for end in ("Lo", "Hi")]


def test_the_command_line_prints_the_same(collection: Collection) -> None:
    paths = sorted(map(str, (FOLDER / "runs" / "2022").glob("*/*.gz")))
    arguments = ["evaluate", str(collection.path), *paths, "--protocol", "official-2022", "--format", "json"]
    printed = json.loads(CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout)
    printed_runs = {run["run"]: run for run in printed["runs"]}
    for task in (1, 2):
        for row in rows_of(f"task{task}-run-scores.csv"):
            run = printed_runs[row["run_name"]]
            assert run["scores"][MAIN[task]] == pytest.approx(float(row[MAIN[task]]), abs=CLOSE)
            assert run["ci"]["low"] == pytest.approx(float(row[f"{MAIN[task]}.Lo"]), abs=CLOSE)
            assert run["ci"]["high"] == pytest.approx(float(row[f"{MAIN[task]}.Hi"]), abs=CLOSE)


@pytest.mark.parametrize("task", [1, 2])
def test_topic_statistics(scored: Callable[[int, str], Results], task: int) -> None:
    """Mean, median, least and largest over runs, in a table with two header lines."""
    measures, statistics, _, *rows = csv.reader((FOLDER / "expected" / f"task{task}-topic-stats.csv").open())
    stats = topic_stats(scored(task, "intersection"), task)
    assert [int(row[0]) for row in rows] == list(stats)
    for topic, *values in rows:
        for measure, statistic, value in zip(measures[1:], statistics[1:], values, strict=True):
            assert stats[int(topic)][measure][statistic] == pytest.approx(float(value), abs=CLOSE)


def test_every_measure_has_an_interval_or_a_note(collection: Collection, recwarn: pytest.WarningsRecorder) -> None:
    """KL is infinite where a group that nobody wants gets exposure; the ordinal distance is undefined here."""
    runs = sorted((FOLDER / "runs" / "2022").glob("*/*.gz"))
    results = evaluate(collection, runs, "official-2022", measures="all", n_resamples=99)
    for run in results.runs:
        nowhere = next(note for note in run.notes if note.startswith("undefined on every topic")).partition(": ")[2]
        for name, mean in run.scores.items():
            interval = measure_interval(run, name, results.protocol)
            values = [scores[name] for scores in run.topics.values()]
            assert np.isnan(values).all() == (name in nowhere.split(", "))
            if not np.isfinite(values).all() and not np.isnan(values).all():
                assert any(note.startswith(f"{name} is ") for note in run.notes)
            if math.isfinite(mean):
                assert interval.low <= mean <= interval.high
    assert not recwarn.list


def test_sensitivity_of_2022(collection: Collection) -> None:
    """Pages without metadata are counted as unknown in one variant, in dimensions with counts, too."""
    runs = sorted((FOLDER / "runs" / "2022" / "coordinators").glob("*.gz"))
    found = sensitivity(collection, runs, "official-2022", "source-region").scores[1]
    assert found["as scored"]["aBeta1"] != found["unlisted unknown"]["aBeta1"]
    assert found["as scored"]["Balpha1"] == found["unlisted unknown"]["Balpha1"]


def test_a_table_of_attention_with_ranks_that_nobody_reads(collection: Collection) -> None:
    runs = sorted((FOLDER / "runs" / "2022" / "coordinators").glob("*.gz"))
    settings = {"attention": "table:1,0.5", "n_resamples": 2}
    published, any_order = (
        evaluate(collection, runs, "official-2022", operation_order=order, **settings) for order in ("published", "any")
    )
    for one, other in zip(published.runs, any_order.runs, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=CLOSE)


def test_a_sequence_without_a_relevant_page_is_noted(collection: Collection) -> None:
    results = evaluate(collection, FOLDER / "runs" / "2022" / "editors" / "gamma2.gz", "official-2022", n_resamples=9)
    note = "topics whose rankings show no relevant page of a group, EE-D and EE-R are 0: 400"
    assert note in results.runs[0].notes
    assert results.runs[0].topics[400]["EE-D"] == 0.0
