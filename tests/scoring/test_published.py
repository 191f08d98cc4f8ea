"""The numbers that the organisers published: what can be recomputed is, and the tables agree with themselves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from evenrank.core.exposure import block_exposure, discounts
from evenrank.core.groups import GroupSpace
from evenrank.core.records import WORK_ORDER
from evenrank.core.target import group_target
from evenrank.io.metadata import read_metadata
from evenrank.measures.awrf import awrf
from evenrank.scoring.topic_targets import topic_targets
from evenrank.trec.dimensions import GENDER, GEOGRAPHY
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.measures.one_ranking import ndcg

from .csv_rows import read_csv

INTERSECTION = GroupSpace((GEOGRAPHY, GENDER))
GEOGRAPHY_ALONE = GroupSpace((GEOGRAPHY,))
HALF_A_DIGIT = 0.5000001e-6


@pytest.fixture
def topic1(worked_examples: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = worked_examples["topic1_agriculture"]
    return found


def test_groups_and_backgrounds(worked_examples: dict[str, Any]) -> None:
    assert list(GEOGRAPHY.groups) == worked_examples["geo_order"]
    assert list(GENDER.groups) == worked_examples["gender_order"]
    assert dict(zip(GEOGRAPHY.groups[1:], GEOGRAPHY.background, strict=True)) == worked_examples["world_pop"]
    assert dict(zip(GENDER.groups[1:], GENDER.background, strict=True)) == worked_examples["gender_target"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth,total", [(5, 3.5616), (6, 3.948459), (20, 7.812598), (50, 13.721441), (1000, 123.9912)])
def test_discount_sums(depth: int, total: float, dtype: type) -> None:
    digits = len(str(total).partition(".")[2])
    assert float(discounts(depth, dtype).sum()) == pytest.approx(total, abs=0.6 * 10**-digits)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_relevant,value", [(620, 0.092355), (140, 0.283242), (102, 0.353695), (74, 0.440062)])
def test_ndcg_of_a_perfect_twenty(n_relevant: int, value: float, dtype: type) -> None:
    assert ndcg(np.ones(20, bool), n_relevant, 1000, dtype) == pytest.approx(value, abs=HALF_A_DIGIT)


@pytest.mark.parametrize("base,value", [(math.e, 0.3068528), (2.0, 0.0)])
def test_awrf_of_disjoint_distributions(base: float, value: float) -> None:
    assert awrf(np.array([1.0, 0.0]), np.array([0.0, 1.0]), base) == pytest.approx(value, abs=1e-7)


def test_topic_1_task_1_target_to_nine_digits(topic1: dict[str, Any]) -> None:
    counts = np.array(topic1["geo_x_gender_counts"], float).reshape(-1)
    target = group_target(counts, INTERSECTION, keep_unknown=False)
    assert target[0] == 0.0
    assert target[1:] == pytest.approx(topic1["task1_target_31"], rel=5e-9)


def test_paper_2021_gives_the_worked_example_from_pages(topic1: dict[str, Any], tmp_path: Path) -> None:
    """The 6,964 pages of the paper's appendix, 25 of them on two continents, from files to the 31 values."""
    counts = np.array(topic1["geo_x_gender_counts"])
    europe, asia = GEOGRAPHY.groups.index("Europe"), GEOGRAPHY.groups.index("Asia")
    n_on_two = int(counts.sum()) - topic1["n_rel"]
    counts[[europe, asia], 0] -= n_on_two
    groups = [[GEOGRAPHY.groups[at[0]]] for at in np.ndindex(*counts.shape) for _ in range(counts[at])]
    genders = [[GENDER.groups[at[1]]] for at in np.ndindex(*counts.shape) for _ in range(counts[at])]
    groups += [["Europe", "Asia"]] * n_on_two
    genders += [[]] * n_on_two
    pages = [
        {"page_id": page, "geographic_locations": [name for name in places if name != "Unknown"], "gender": gender}
        for page, (places, gender) in enumerate(zip(groups, genders, strict=True), 1)
    ]
    assert len(pages) == topic1["n_rel"] == 6964
    topics = [{"id": 1, "title": "Agriculture", "rel_docs": [page["page_id"] for page in pages]}]
    for name, records in (("m", pages), ("t", topics)):
        (tmp_path / name).write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    collection = import_collection(tmp_path / "c", ImportFiles(tmp_path / "m", eval_topics=(tmp_path / "t",)))
    [target] = topic_targets(collection, 1, "paper-2021").values
    assert target == pytest.approx(topic1["task1_target_31"], rel=5e-9)
    [shared] = topic_targets(collection, 1, "paper-2021", normalised="all").values
    assert np.abs(shared - topic1["task1_target_31"]).max() > 1e-4


def test_topic_1_sections(topic1: dict[str, Any]) -> None:
    counts = np.array(topic1["geo_x_gender_counts"], float)
    counts[0, 0] = 0.0
    shares = counts / counts.sum()
    fractions = topic1["fractions"]
    assert shares[1:, 1:].sum() == pytest.approx(fractions["known_all"], abs=1e-8)
    assert shares[1:, 0].sum() == pytest.approx(fractions["known_geo_only"], abs=1e-8)
    assert shares[0, 1:].sum() == pytest.approx(fractions["known_gender_only"], abs=1e-8)


def test_topic_1_geography_target(topic1: dict[str, Any]) -> None:
    """From counts by continent; pages with two genders are few enough to leave six digits nearly whole."""
    counts = np.array(topic1["geo_x_gender_counts"], float).sum(axis=1)
    target = group_target(counts, GEOGRAPHY_ALONE, keep_unknown=False)[1:]
    assert target == pytest.approx(list(topic1["geo_only_task1_target"].values()), abs=HALF_A_DIGIT)


@pytest.mark.parametrize(
    "counts,exposure",
    [
        ([1527, 2822, 1603, 610, 240, 162], [0.114738, 0.087373, 0.081146, 0.079298, 0.078702, 0.078438]),
        ([33, 138, 127, 35, 16, 8], [0.319995, 0.154202, 0.127359, 0.120441, 0.118827, 0.118126]),
    ],
    ids=["topic 1", "topic 150"],
)
def test_target_exposure_of_work_levels(counts: list[int], exposure: list[float]) -> None:
    assert block_exposure(np.array(counts), np.float32) == pytest.approx(exposure, abs=HALF_A_DIGIT)


def test_topic_1_work_counts_are_those_of_the_worked_example(topic1: dict[str, Any]) -> None:
    counts = np.array([topic1["quality_counts"][name] for name in WORK_ORDER])
    assert counts.sum() == topic1["n_rel"]
    expected = [topic1["tgt_exposure"][name] for name in WORK_ORDER]
    assert block_exposure(counts, np.float32) == pytest.approx(expected, abs=HALF_A_DIGIT)


def test_topic_1_task_2_target_is_blended_section_by_section(topic1: dict[str, Any]) -> None:
    """No relevant page is about Antarctica or a third gender, so those cells are background alone."""
    published = np.array(topic1["task2_xtarget_8x4"])
    assert published.sum() == pytest.approx(1.0, abs=1e-8)
    for (rows, columns), background in INTERSECTION.sections():
        section = published[rows, columns]
        floor = 0.5 * section.sum() * background
        counts = np.array(topic1["geo_x_gender_counts"])[rows, columns]
        assert np.all(section >= floor * (1 - 1e-6))
        assert section[counts == 0] == pytest.approx(floor[counts == 0], rel=1e-6)


def test_metadata_samples(worked_examples: dict[str, Any], tmp_path: Path) -> None:
    samples = worked_examples["metadata_samples_2021"]
    lines = [
        {
            "page_id": sample["page_id"],
            "quality_score": sample["q"],
            "quality_score_disc": sample["cls"],
            "geographic_locations": sample["geo"],
            "gender": None,
        }
        for sample in samples
    ]
    path = tmp_path / "metadata.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    metadata = read_metadata(path, [GEOGRAPHY, GENDER])
    for sample in samples:
        row = int(np.searchsorted(metadata.page_ids, sample["page_id"]))
        assert WORK_ORDER[metadata.quality_class[row]] == sample["cls"]
        assert metadata.quality_score[row] == pytest.approx(sample["q"])
        expected = sum(GEOGRAPHY.mask_of(name) for name in sample["geo"]) or GEOGRAPHY.mask_of("Unknown")
        assert metadata.masks["geography"][row] == expected


def test_published_training_targets_begin_with_topic_1(topic1: dict[str, Any], published_folder: Path) -> None:
    rows = read_csv(published_folder / "t1_2021_train_targets_57x31_middle_cols_elided.csv")
    assert len(rows) == 57
    for place, value in enumerate(topic1["task1_target_31"]):
        if str(place) in rows[0]:
            assert float(rows[0][str(place)]) == pytest.approx(value, abs=HALF_A_DIGIT)


@pytest.mark.parametrize("year", [2021, 2022])
def test_loss_minus_disparity_plus_twice_relevance_is_the_same_for_all_runs(published_folder: Path, year: int) -> None:
    """‖target‖², averaged over topics: the same from every run, and from the topic statistics."""
    runs = read_csv(published_folder / f"t2_{year}_run_scores.csv")
    topics = read_csv(published_folder / f"t2_{year}_topic_stats.csv")
    of_topics = np.mean([squared_norm(row, ".mean") for row in topics])
    digits = max(float(row["EE-L"]) for row in runs) * 2e-6
    assert [squared_norm(row) for row in runs] == pytest.approx([of_topics] * len(runs), abs=digits)


def test_squared_norm_is_constant_per_topic(published_folder: Path) -> None:
    stats = {
        row["topic_id"]: squared_norm(row, ".mean") for row in read_csv(published_folder / "t2_2021_topic_stats.csv")
    }
    seen = _rows_without_names(published_folder / "t2_2021_run_topic_head_tail.csv")
    assert len(seen) == 10
    for _, topic, loss, disparity, relevance in seen:
        norm = float(loss) - float(disparity) + 2 * float(relevance)
        assert norm == pytest.approx(stats[topic], abs=5e-6)


def squared_norm(row: dict[str, str], suffix: str = "") -> float:
    return float(row[f"EE-L{suffix}"]) - float(row[f"EE-D{suffix}"]) + 2 * float(row[f"EE-R{suffix}"])


def _rows_without_names(path: Path) -> list[list[str]]:
    """Rows of a file whose header names two columns alike; the row of dots is left out."""
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    return [row for row in rows if row[0] != "..."]


@pytest.mark.parametrize(
    "task,year,measures", [(1, 2021, ("nDCG", "AWRF", "Score")), (2, 2021, ("EE-L", "EE-D", "EE-R"))]
)
def test_means_over_runs_and_over_topics_agree(published_folder: Path, task, year, measures) -> None:
    runs = read_csv(published_folder / f"t{task}_{year}_run_scores.csv")
    topics = read_csv(published_folder / f"t{task}_{year}_topic_stats.csv")
    for name in measures:
        over_runs = np.mean([float(row[name]) for row in runs])
        over_topics = np.mean([float(row[f"{name}.mean"]) for row in topics])
        assert over_runs == pytest.approx(over_topics, abs=2e-6)


def test_published_scores_are_products_and_awrf_keeps_above_its_floor(published_folder: Path) -> None:
    for _, _, relevance, fairness, score in _rows_without_names(published_folder / "t1_2021_run_topic_head_tail.csv"):
        assert float(score) == pytest.approx(float(relevance) * float(fairness), abs=2e-6)
    for row in read_csv(published_folder / "t1_2021_topic_stats.csv"):
        assert 1 - math.log(2) - 1e-6 <= float(row["AWRF.min"]) <= float(row["AWRF.max"]) <= 1.0


def test_largest_ndcg_of_topic_101_is_twenty_relevant_of_620(published_folder: Path) -> None:
    best = float(read_csv(published_folder / "t1_2021_topic_stats.csv")[0]["nDCG.max"])
    assert best == pytest.approx(ndcg(np.ones(20, bool), 620, 1000, np.float32), abs=HALF_A_DIGIT)


def test_published_geography_targets_of_task_2_sum_to_one(published_folder: Path) -> None:
    for row in read_csv(published_folder / "t2_2021_geo_targets_head_tail.csv"):
        if row["q_id"] != "...":
            assert sum(float(row[name]) for name in GEOGRAPHY.groups) == pytest.approx(1.0, abs=5e-6)
