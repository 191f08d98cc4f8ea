"""What each setting of a protocol does to a score, worked by hand on six pages and one topic."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from evenrank.core.exposure import Geometric
from evenrank.core.protocol import PROTOCOLS
from evenrank.core.records import Run
from evenrank.errors import EvenrankError, InputError, UnknownNameError
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.scoring.results import RunResult
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection

# page: (class, continents, genders)
PAGES: dict[int, tuple[str | None, list[str], list[str]]] = {
    1: ("Stub", ["Africa", "Asia"], ["female", "male"]),
    2: ("Stub", ["Europe"], ["male"]),
    3: ("FA", ["Asia"], []),
    4: ("C", [], ["female"]),
    5: ("B", [], []),
    6: (None, ["Europe"], ["third"]),
}
RELEVANT = [1, 2, 3, 5, 90]  # 90 has no metadata
WORLD = np.array([0.155070563, 1.54424e-07, 0.600202585, 0.103663858, 0.08609797, 0.049616733, 0.005348137])
GENDERS = np.array([0.495, 0.495, 0.01])
CONTINENTS = ["", "Africa", "Antarctica", "Asia", "Europe", "Latin America and the Caribbean", "Northern America"]
NAMES = ["", "female", "male", "third"]


@pytest.fixture(scope="module")
def six_pages(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("six")
    keys = ("quality_score_disc", "geographic_locations", "gender")
    pages = [{"page_id": page, **dict(zip(keys, facts, strict=True))} for page, facts in PAGES.items()]
    topics = [{"id": 7, "title": "t", "rel_docs": RELEVANT, "max_tier": 1}, {"id": 8, "title": "u", "rel_docs": [2]}]
    for name, records in (("m", pages), ("t", topics)):
        (folder / name).write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return import_collection(folder / "c", ImportFiles(folder / "m", eval_topics=(folder / "t",)))


def discount(rank: int) -> float:
    return 1.0 / math.log2(max(rank, 2))


def row(page: int, geography: bool, gender: bool) -> np.ndarray:
    """Alignment of a page, 8 × 4, each dimension divided by its sum when asked."""
    _, continents, genders = PAGES[page]
    left, right = np.zeros(8), np.zeros(4)
    left[[CONTINENTS.index(name) for name in continents or [""]]] = 1
    right[[NAMES.index(name) for name in genders or [""]]] = 1
    return np.outer(left / left.sum() if geography else left, right / right.sum() if gender else right)


def blended(matrix: np.ndarray) -> np.ndarray:
    """Half of itself, half of the world, section by section; the fully unknown cell as it is."""
    out = matrix.copy()
    out[1:, 1:] = matrix[1:, 1:] / 2 + matrix[1:, 1:].sum() / 2 * np.outer(WORLD, GENDERS)
    out[1:, 0] = matrix[1:, 0] / 2 + matrix[1:, 0].sum() / 2 * WORLD
    out[0, 1:] = matrix[0, 1:] / 2 + matrix[0, 1:].sum() / 2 * GENDERS
    return out


def divergence(p: np.ndarray, q: np.ndarray, base: float) -> float:
    p, q = p.ravel() / p.sum(), q.ravel() / q.sum()
    terms = [x * math.log(x / ((a + b) / 2)) for a, b in zip(p, q, strict=True) for x in (a, b) if x > 0]
    return sum(terms) / 2 / math.log(base)


def task1_run(*pages: int, topic: int = 7) -> Run:
    return Run.from_rankings("r", 1, [(topic, 1, np.array(pages, np.int32))])


def task2_run(*rankings: list[int], topic: int = 7) -> Run:
    return Run.from_rankings("r", 2, [(topic, n, np.array(p, np.int32)) for n, p in enumerate(rankings, 1)])


def scores(collection: Collection, run: Run, protocol: str, **settings: object) -> dict[str, float]:
    return scored(collection, run, protocol, **settings).topics[7]


def scored(collection: Collection, run: Run, protocol: str, **settings: object) -> RunResult:
    """Geography and gender under any protocol; those of 2022 have other dimensions by default."""
    return evaluate(collection, run, protocol, "geography,gender", n_resamples=9, **settings).runs[0]


Flags = tuple[bool, bool]
NORMALISED: dict[str, Flags] = {
    "official-2021": (False, False),
    "paper-2021": (False, False),
    "official-2022": (False, False),
}


@pytest.mark.parametrize(("protocol", "flags"), NORMALISED.items())
def test_awrf_of_task_1(six_pages: Collection, protocol: str, flags: Flags) -> None:
    """Rows normalised or not, the fully unknown cell kept or dropped, the logarithm, pages without metadata."""
    keeps, base = protocol == "official-2022", 2.0 if protocol == "paper-2021" else math.e
    mass, exposure = sum(row(page, *flags) for page in (1, 2, 3, 5)), np.zeros((8, 4))
    for rank, page in enumerate((5, 90, 1, 6, 4), 1):
        if page in PAGES:
            exposure += discount(rank) * row(page, *flags)
        elif protocol == "paper-2021":  # fully unknown; the others give no exposure to any group
            exposure[0, 0] += discount(rank)
    if not keeps:
        mass[0, 0] = exposure[0, 0] = 0.0
    wanted = 1.0 - divergence(exposure, blended(mass / mass.sum()), base)
    found = scores(six_pages, task1_run(5, 90, 1, 6, 4), protocol)
    assert found["AWRF"] == pytest.approx(wanted, abs=1e-7)
    assert found["Score"] == pytest.approx(found["AWRF"] * found["nDCG"])


def test_a_page_without_metadata_is_unknown_where_the_protocol_says_so(six_pages: Collection) -> None:
    settings = {"keeps_unknown_task1": True}
    unknown = scores(six_pages, task1_run(90, 2), "paper-2021", **settings)["AWRF"]
    assert unknown == pytest.approx(scores(six_pages, task1_run(5, 2), "paper-2021", **settings)["AWRF"])
    dropped = scores(six_pages, task1_run(90, 2), "official-2022")["AWRF"]
    assert dropped == pytest.approx(scores(six_pages, task1_run(2), "official-2022")["AWRF"])
    assert dropped != pytest.approx(scores(six_pages, task1_run(5, 2), "official-2022")["AWRF"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ndcg_counts_relevant_pages_without_metadata(six_pages: Collection, protocol: str) -> None:
    wanted = (discount(1) + discount(3)) / sum(map(discount, range(1, 6)))
    assert scores(six_pages, task1_run(90, 4, 3), protocol)["nDCG"] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("protocol", "run_depth"), [("official-2021", 20), ("paper-2021", 1000), ("official-2022", 500)]
)
def test_depth_of_task_1(six_pages: Collection, protocol: str, run_depth: int) -> None:
    fill = range(100, 100 + run_depth - 1)
    inside = scores(six_pages, task1_run(*fill, 2), protocol)["nDCG"]
    assert inside == pytest.approx(discount(run_depth) / sum(map(discount, range(1, 6))), rel=1e-5)
    beyond = task1_run(*fill, 99, 2)
    if protocol == "official-2022":
        with pytest.raises(InputError, match="topic 7: 501 pages"):
            scores(six_pages, beyond, protocol)
    assert scores(six_pages, beyond, protocol, longer_ranking="cut")["nDCG"] == 0.0


@pytest.mark.parametrize(("protocol", "depth"), [("official-2021", 1000), ("paper-2021", 1000), ("official-2022", 500)])
def test_depth_of_the_ideal_ranking(golden_collection: Collection, protocol: str, depth: int) -> None:
    topic = max(golden_collection.topics, key=lambda topic: len(topic.rel_docs))
    assert len(topic.rel_docs) > depth
    run = task1_run(int(topic.rel_docs[0]), topic=topic.id)
    found = scored(golden_collection, run, protocol).topics[topic.id]["nDCG"]
    assert found == pytest.approx(1.0 / sum(map(discount, range(1, depth + 1))), rel=1e-5)


@pytest.mark.parametrize(("protocol", "flags"), NORMALISED.items())
def test_task_2(six_pages: Collection, protocol: str, flags: Flags) -> None:
    """Depth, target depth, relevant pages only, missing rankings, and the fully unknown cell, which always counts."""
    depth = {"official-2021": 6, "paper-2021": 50, "official-2022": 20}[protocol]
    target_depth = 50 if protocol == "official-2021" else depth
    stub = (discount(1) + discount(2)) / 2  # pages 1 and 2, then B (page 5), then FA (page 3)
    mass = stub * (row(1, *flags) + row(2, *flags)) + discount(3) * row(5, *flags) + discount(4) * row(3, *flags)
    total = mass.sum() if protocol != "official-2022" else 2 * stub + discount(3) + discount(4)
    target = blended(mass / total) * sum(map(discount, range(1, target_depth + 1)))
    exposure = np.zeros((8, 4))
    for ranking in ([4, 1, 5], [2, 90]):
        for rank, page in enumerate(ranking, 1):
            if page == 90:
                exposure[0, 0] += discount(rank) * (protocol == "paper-2021")
            elif page in RELEVANT or protocol != "official-2022":
                exposure += discount(rank) * row(page, *flags)
    exposure /= 100 if protocol == "paper-2021" else 2
    found = scores(six_pages, task2_run([4, 1, 5], [2, 90]), protocol, min_tier=0)
    assert found["EE-D"] == pytest.approx((exposure**2).sum(), rel=1e-5)
    assert found["EE-R"] == pytest.approx((exposure * target).sum(), rel=1e-5)
    assert found["EE-L"] == pytest.approx(((exposure - target) ** 2).sum(), rel=1e-5)
    assert found["EE-L/T2"] == pytest.approx(found["EE-L"] / (target**2).sum(), rel=1e-5)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_attention_changes_exposure_and_leaves_ndcg(six_pages: Collection, protocol: str) -> None:
    """AWRF of pages 2 and 3 with the attention 1 and 0.25; the discounts of ranks 1 and 2 are equal."""
    mass = sum(row(page, False, False) for page in (1, 2, 3, 5))
    if protocol != "official-2022":
        mass[0, 0] = 0.0
    exposure = row(2, False, False) + 0.25 * row(3, False, False)
    base = 2.0 if protocol == "paper-2021" else math.e
    wanted = 1.0 - divergence(exposure, blended(mass / mass.sum()), base)
    usual = scores(six_pages, task1_run(2, 3), protocol)
    assert usual["AWRF"] != pytest.approx(wanted, abs=1e-3)
    for attention in ("rbp:0.25", "table:4,1", [2, 0.5], Geometric(0.25)):  # AWRF compares shares: 4 to 1 is 1 to 0.25
        found = scores(six_pages, task1_run(2, 3), protocol, attention=attention)
        assert found["AWRF"] == pytest.approx(wanted, abs=1e-7)
        assert found["nDCG"] == usual["nDCG"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_attention_changes_exposure_target_and_scale_of_task_2(six_pages: Collection, protocol: str) -> None:
    """Readers who continue with a chance of one half; two stubs (pages 1 and 2), then B (page 5), then FA (page 3)."""
    depth = {"official-2021": 50, "paper-2021": 50, "official-2022": 20}[protocol]
    stub, b, fa = (1 + 0.5) / 2, 0.25, 0.125
    mass = stub * (row(1, False, False) + row(2, False, False)) + b * row(5, False, False) + fa * row(3, False, False)
    total = mass.sum() if protocol != "official-2022" else 2 * stub + b + fa
    target = blended(mass / total) * (2.0 - 0.5 ** (depth - 1))
    exposure = (row(5, False, False) + 0.5 * row(1, False, False) + row(2, False, False)) / 2
    settings = {"min_tier": 0, "missing_ranking": "skipped"}
    found = scores(six_pages, task2_run([5, 1], [2]), protocol, attention="rbp:0.5", **settings)
    assert found["EE-D"] == pytest.approx((exposure**2).sum(), rel=1e-5)
    assert found["EE-R"] == pytest.approx((exposure * target).sum(), rel=1e-5)
    assert found["EE-L"] == pytest.approx(((exposure - target) ** 2).sum(), rel=1e-5)
    assert found["nDCG"] == scores(six_pages, task2_run([5, 1], [2]), protocol, **settings)["nDCG"]


def test_attention_reaches_measures_of_single_pages(six_pages: Collection) -> None:
    """Expected exposure of pages 1 and 2, half of 1 and half of 0.5 each, against their ideal of 0.75 each."""
    run = task2_run([1, 2], [2, 1])
    measures = {"measures": ["EE-L-item"], "min_tier": 0, "missing_ranking": "skipped"}
    found = scores(six_pages, run, "paper-2021", attention="rbp:0.5", **measures)
    assert found["EE-L-item"] == pytest.approx(0.25**2 + 0.125**2)  # pages 5 and 3 are never shown


def test_attention_is_saved_as_weights_and_not_as_a_file(six_pages: Collection, tmp_path: Path) -> None:
    table = tmp_path / "attention.txt"
    table.write_text("1\n0.25\n")
    results = evaluate(six_pages, task1_run(2, 3), attention=f"table:{table}", n_resamples=9)
    assert results.to_json()["protocol"]["attention"] == "table:1.0,0.25"
    assert evaluate(six_pages, task1_run(2, 3), n_resamples=9).to_json()["protocol"]["attention"] == "log"
    by_hand = replace(PROTOCOLS["paper-2021"], attention=f"table:{table}")
    assert by_hand.attention == "table:1.0,0.25"
    table.unlink()
    again = evaluate(six_pages, task1_run(2, 3), by_hand, n_resamples=9)
    assert again.runs[0].scores == results.runs[0].scores


@pytest.mark.parametrize(("protocol", "depth", "n_rankings"), [("official-2021", 6, 25), ("paper-2021", 50, 100)])
def test_cut_of_task_2(six_pages: Collection, protocol: str, depth: int, n_rankings: int) -> None:
    """Page 2 counts at the last scored rank of the last scored ranking, and one further on counts for nothing."""
    fill = list(range(100, 100 + depth - 1))
    empty = [fill] * (n_rankings - 1)

    def exposed(*rankings: list[int]) -> float:
        settings = {"min_tier": 0, "unlisted_page": "no group", "normalised": ()}
        return scores(six_pages, task2_run(*rankings), protocol, **settings)["EE-D"]

    assert exposed(*empty, [*fill, 2]) == pytest.approx((discount(depth) / n_rankings) ** 2, rel=1e-5)
    assert exposed(*empty, [*fill, 99, 2]) == 0.0
    assert exposed(*empty, fill, [2]) == 0.0


def test_official_2022_cuts_nothing_in_task_2(six_pages: Collection) -> None:
    fill = list(range(100, 160))
    late = scores(six_pages, task2_run(*[fill] * 119, [*fill, 2]), "official-2022")["EE-D"]
    assert late == pytest.approx((discount(61) / 120) ** 2, rel=1e-5)


def test_topics_of_task_2(six_pages: Collection) -> None:
    """official-2021 takes topics judged to the second tier; topic 7 was judged to the first."""
    both = Run.from_rankings("r", 2, [(topic, 1, np.array([2], np.int32)) for topic in (7, 8)])
    results = {name: scored(six_pages, both, name) for name in PROTOCOLS}
    assert {name: list(run.topics) for name, run in results.items()} == {
        "official-2021": [8],
        "paper-2021": [7, 8],
        "official-2022": [7, 8],
    }
    assert "topics not judged down to tier 2, left out: 7" in results["official-2021"].notes


def test_a_repeated_page(six_pages: Collection) -> None:
    once, twice = task1_run(2, 5), task1_run(2, 2)
    assert scores(six_pages, twice, "official-2021")["P"] == scores(six_pages, once, "official-2021")["P"]
    for protocol in ("paper-2021", "official-2022"):
        for run in (twice, task2_run([2, 2])):
            with pytest.raises(InputError, match="page 2 appears twice"):
                scores(six_pages, run, protocol)


def test_a_ranking_that_exposes_no_group(six_pages: Collection) -> None:
    mass = sum(row(page, False, False) for page in (1, 2, 3))
    uniform = np.ones((8, 4))
    uniform[0, 0] = 0.0
    wanted = 1.0 - divergence(uniform, blended(mass / mass.sum()), math.e)
    results = evaluate(six_pages, task1_run(5, 90), "official-2021", n_resamples=9).runs[0]
    assert results.topics[7]["AWRF"] == pytest.approx(wanted)
    assert "topics whose ranking exposes no known group, AWRF is that of a uniform distribution: 7" in results.notes
    paper = evaluate(six_pages, task1_run(5, 90), "paper-2021", n_resamples=9).runs[0]
    assert paper.topics[7]["AWRF"] == 0.0
    assert "topics whose ranking exposes no known group, AWRF is 0: 7" in paper.notes


def test_a_topic_that_the_run_does_not_answer(six_pages: Collection) -> None:
    for protocol, topics in (("official-2021", [7]), ("paper-2021", [7, 8]), ("official-2022", [7])):
        assert list(scored(six_pages, task1_run(2), protocol).topics) == topics


def test_a_ranking_without_exposure_is_undefined_in_2022(six_pages: Collection) -> None:
    both = Run.from_rankings("r", 1, [(7, 1, np.array([90], np.int32)), (8, 1, np.array([2], np.int32))])
    run = scored(six_pages, both, "official-2022")
    assert math.isnan(run.topics[7]["AWRF"])
    assert run.scores["AWRF"] == run.topics[8]["AWRF"]
    assert "topics whose ranking exposes no known group, AWRF is undefined, left out of the means: 7" in run.notes


def test_dimensions_that_a_collection_lacks_are_refused_by_name(six_pages: Collection) -> None:
    with pytest.raises(EvenrankError, match=r"no sub-region, source-region, occupation, .*which official-2022 scores"):
        evaluate(six_pages, task1_run(2), "official-2022")
    with pytest.raises(EvenrankError, match="no sub-region in its metadata"):
        evaluate(six_pages, task1_run(2), "official-2022", "sub-region")
    assert evaluate(six_pages, task1_run(2), "official-2022", "gender", n_resamples=9).runs[0].scores["AWRF"] > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arithmetic_of_the_discounts(six_pages: Collection, protocol: str) -> None:
    found = scores(six_pages, task1_run(4, 4 + 96, 3), protocol)["nDCG"]
    exact = discount(3) / sum(map(discount, range(1, 6)))
    assert (found == pytest.approx(exact, rel=1e-14)) == (protocol == "paper-2021")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_resamples(golden_collection: Collection, golden_runs: list[Path], protocol: str) -> None:
    """Drawn on from run to run in the official protocols, the same for every run otherwise; the seed is a setting."""

    def end(runs: list[Path], **settings: int) -> Callable[[str], float]:
        results = evaluate(golden_collection, runs, protocol, "geography,gender", n_resamples=99, **settings)
        return lambda name: results[name].interval.low

    alone, beside = end(golden_runs[1:2]), end(golden_runs[:2])
    assert (alone("T1syn01") == beside("T1syn01")) == (protocol == "paper-2021")
    assert end(golden_runs[:1], interval_seed=5)("T1syn00") != end(golden_runs[:1])("T1syn00")


def test_unknown_setting_lists_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown setting 'deep'; choose from discount_type, log_base"):
        settle_protocol("official-2021", deep=5)  # type: ignore[call-arg]
