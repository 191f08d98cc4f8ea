"""Bounds of scores without a model, against every way of filling a small collection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import evenrank
from evenrank.cli.main import cli
from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import Run, Task, Topic
from evenrank.errors import EvenrankError
from evenrank.trec.collection import Collection

Pages = NDArray[np.int32]
N_GROUPS = {"geography": 8, "gender": 4}


def small(collection: Collection, unknown: dict[str, list[int]]) -> tuple[Collection, Pages]:
    """The collection with a topic of few pages, the places in `unknown` being of an unknown group."""
    known = np.flatnonzero(
        (np.asarray(collection.masks["geography"]) > 1)
        & (np.asarray(collection.masks["gender"]) > 1)
        & (np.asarray(collection.quality_class) < 6)
    )[:8]
    masks = {name: np.array(values) for name, values in collection.masks.items()}
    for name, places in unknown.items():
        masks[name][known[places]] = UNKNOWN_MASK
    pages = np.asarray(collection.page_ids)[known].astype(np.int32)
    topic = Topic(7, "few pages", split="eval", rel_docs=pages[[0, 5, 6]], assessed_docs=pages[[0, 1, 5, 6]])
    return replace(collection, masks=masks).with_topics([topic]), pages


def run_of(pages: Pages, task: Task) -> Run:
    rankings = [pages[[0, 1, 2, 3]]] if task == 1 else [pages[[0, 1, 2]], pages[[2, 0, 3]]]
    lengths = [len(one) for one in rankings]
    return Run(
        name="small",
        task=task,
        topic_ids=np.full(len(rankings), 7, np.int32),
        repeats=np.arange(1, len(rankings) + 1, dtype=np.int32),
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        pages=np.concatenate(rankings).astype(np.int32),
    )


def fillings(
    collection: Collection, pages: Pages, unknown: dict[str, list[int]], open_places: list[int]
) -> Iterator[Collection]:
    """The collection in every way in which unknown groups and unjudged pages can be filled."""
    rows = collection.rows_of(pages)
    slots = [(name, rows[place]) for name, places in unknown.items() for place in places]
    [topic] = collection.topics
    subsets = [some for n in range(len(open_places) + 1) for some in combinations(open_places, n)]
    for groups in product(*(range(N_GROUPS[name]) for name, _ in slots)):
        masks = {name: np.array(values) for name, values in collection.masks.items()}
        for (name, row), group in zip(slots, groups, strict=True):
            masks[name][row] = 1 << group
        filled = replace(collection, masks=masks)
        for added in subsets:
            relevant = np.concatenate([topic.rel_docs, pages[list(added)]])
            yield filled.with_topics([replace(topic, rel_docs=relevant)])


CASES = [
    ("geography", {"geography": [1, 5]}, [2, 3]),
    ("geography", {"geography": [2]}, [2, 3]),
    ("intersection", {"geography": [1], "gender": [1]}, [2, 3]),
    ("intersection", {"gender": [0, 3]}, [2]),
]


@pytest.mark.parametrize(("groups", "unknown", "unjudged"), CASES)
@pytest.mark.parametrize("task", [1, 2])
@pytest.mark.parametrize("protocol", ["paper-2021", "official-2021"])
def test_bounds_contain_every_filling(
    golden_collection: Collection,
    groups: str,
    unknown: dict[str, list[int]],
    unjudged: list[int],
    task: Task,
    protocol: str,
) -> None:
    collection, pages = small(golden_collection, unknown)
    [topic] = collection.topics
    judged = np.concatenate([topic.assessed_docs, pages[[place for place in (2, 3) if place not in unjudged]]])
    collection = collection.with_topics([replace(topic, assessed_docs=judged)])
    run = run_of(pages, task)
    chosen = {"depth": 4, "min_tier": 0, "n_resamples": 2}
    [found] = evenrank.evaluate(collection, run, protocol, groups, bounds="ranked", **chosen).bounds.runs
    bounds = {name: one for name, one in found.scores.items() if one is not None}
    assert set(bounds) == ({"nDCG", "AWRF", "Score", "P"} if task == 1 else {"EE-L", "nDCG", "P"})
    seen: dict[str, list[float]] = {name: [] for name in bounds}
    for filled in fillings(collection, pages, unknown, unjudged):
        scores = evenrank.evaluate(filled, run, protocol, groups, **chosen).scores
        for name, values in seen.items():
            values.append(scores[name])
    for name, values in seen.items():
        bound = bounds[name]
        assert bound.low <= min(values) + 1e-6, name
        assert bound.high >= max(values) - 1e-6, name
        if bound.is_exact:
            assert (bound.low, bound.high) == pytest.approx((min(values), max(values)), abs=1e-6), name
    assert bounds["nDCG"].is_exact
    assert bounds["P"].is_exact


def test_a_collection_without_anything_unknown_has_bounds_of_no_width(golden_collection: Collection) -> None:
    collection, pages = small(golden_collection, {})
    results = evenrank.evaluate(collection, run_of(pages, 1), depth=4, n_resamples=2, bounds="none")
    for name, bound in results.bounds["small"].scores.items():
        assert bound.high - bound.low < 1e-9, name
        assert bound.low == pytest.approx(results.scores[name])


def test_more_may_be_unknown_in_the_collection_than_in_the_runs(golden_collection: Collection) -> None:
    collection, pages = small(golden_collection, {"geography": [1]})
    ends = {
        scope: evenrank.evaluate(collection, run_of(pages, 1), depth=4, n_resamples=2, bounds=scope).bounds["small"]
        for scope in ("none", "ranked", "collection")
    }
    for name in ("nDCG", "AWRF", "Score"):
        none, ranked, whole = (ends[scope].scores[name] for scope in ("none", "ranked", "collection"))
        assert whole.low <= ranked.low + 1e-3
        assert ranked.low <= none.low + 1e-3
        assert whole.high >= ranked.high - 1e-3
        assert ranked.high >= none.high - 1e-3
    assert ends["ranked"].judged == pytest.approx(0.5)


def test_the_command_prints_bounds_and_says_when_there_is_no_conclusion(
    golden_collection: Collection, golden_runs: list[Path]
) -> None:
    runs = [str(path) for path in golden_runs[:2]]
    ran = CliRunner().invoke(cli, ["evaluate", str(golden_collection.path), *runs, "--bounds", "none", "--depth", "20"])
    assert ran.exit_code == 0, ran.output
    assert "certified" in ran.stdout
    assert "exact" in ran.stdout
    assert "no conclusion" in ran.stderr or "whatever the unknown is" in ran.stderr
    args = ["evaluate", str(golden_collection.path), *runs, "--bounds", "none", "--depth", "20", "--format", "json"]
    record = json.loads(CliRunner().invoke(cli, args).stdout)
    assert record["bounds"]["unjudged"] == "none"
    for entry in (*record["runs"], *record["topics"]):
        for name, bound in entry["bounds"].items():
            if bound is not None:
                assert bound["low"] <= entry["scores"][name] <= bound["high"]


def test_other_words_are_refused(golden_collection: Collection, golden_runs: list[Path]) -> None:
    with pytest.raises(EvenrankError, match="choose from ranked, collection, none"):
        evenrank.evaluate(golden_collection, golden_runs[0], bounds="some")


def test_plain_tables_have_bounds_of_unknown_groups() -> None:
    """Two groups, one unknown item at rank 2 that is relevant too: the target moves with it."""
    found = evenrank.score({"q": ["a", "x", "b"]}, {"a": "g", "b": "h"}, {"q": ["a", "x"]}, bounds=True)
    [run] = found.bounds.runs
    values = []
    for group in ("g", "h"):
        filled = evenrank.score({"q": ["a", "x", "b"]}, {"a": "g", "b": "h", "x": group}, {"q": ["a", "x"]})
        values.append(filled.scores["AWRF"])
    assert run.scores["AWRF"].low <= min(values)
    assert run.scores["AWRF"].high >= max(values)
    assert run.scores["nDCG"] == (found.scores["nDCG"], found.scores["nDCG"], True)
    stated = evenrank.score({"q": ["a", "x", "b"]}, {"a": "g", "b": "h"}, {"q": ["a", "x"]}, "equal", bounds=True)
    filled = [
        evenrank.score({"q": ["a", "x", "b"]}, {"a": "g", "b": "h", "x": group}, {"q": ["a"]}, "equal").scores["AWRF"]
        for group in ("g", "h")
    ]
    assert stated.bounds.runs[0].scores["AWRF"].low == pytest.approx(min(filled), abs=1e-3)
    assert found.to_json()["systems"][0]["bounds"]["Score"]["exact"] is False
    with pytest.raises(EvenrankError, match="give groups"):
        evenrank.score({"q": ["a"]}, None, {"q": ["a"]}, bounds=True)


def test_bounds_over_intersections_hold_for_every_filling() -> None:
    """Two groupings, each unknown for one ranked and relevant item; the target follows the relevant items."""
    rankings, relevant = {"q": ["a", "x", "b", "y"]}, {"q": ["a", "x", "y"]}
    place, age = {"a": "g", "b": "h", "y": "h"}, {"a": "old", "b": "young", "x": "young"}
    [run] = evenrank.score(rankings, {"place": place, "age": age}, relevant, bounds=True).bounds.runs
    for where, years in product(("g", "h", "unknown"), ("old", "young", "unknown")):
        filled = {"place": {**place, "x": where}, "age": {**age, "y": years}}
        scores = evenrank.score(rankings, filled, relevant).scores
        for name in ("AWRF", "Score", "AWRF[place]", "AWRF[age]"):
            assert run.scores[name].low <= scores[name] <= run.scores[name].high, (name, where, years)
    assert run.scores["AWRF"].low > 0.0


def test_plain_tables_have_bounds_of_unjudged_items() -> None:
    """`x` has no group, `u` is ranked and not judged; every filling is inside, and those of nDCG and P are reached."""
    runs = {"one": {"q": ["a", "u", "x", "b"]}, "two": {"q": ["b", "x", "a"]}}
    groups, judged = {"a": "g", "b": "h", "u": "h"}, {"a": 1, "x": 1, "b": 0, "c": 1}
    found = evenrank.score(runs, {**groups, "c": "g"}, {"q": judged}, measures=["nDCG", "P", "AWRF", "Score"], k=4)
    bounded = evenrank.score(
        runs, {**groups, "c": "g"}, {"q": judged}, measures=["nDCG", "P", "AWRF", "Score"], k=4, bounds="ranked"
    )
    assert bounded["one"].scores == found["one"].scores
    for name in runs:
        values = []
        for group, grade in product(("g", "h"), (0, 1)):
            filled = evenrank.score(
                {name: runs[name]}, {**groups, "c": "g", "x": group}, {"q": {**judged, "u": grade}}, k=4
            )
            values.append(filled.scores)
        bounds = bounded.bounds[name].scores
        for measure in ("nDCG", "P", "AWRF", "Score"):
            of_measure = [one[measure] for one in values]
            assert bounds[measure].low <= min(of_measure) + 1e-12
            assert bounds[measure].high >= max(of_measure) - 1e-12
            if measure in ("nDCG", "P"):
                assert bounds[measure][:2] == pytest.approx((min(of_measure), max(of_measure)))
    assert [one.judged for one in bounded.bounds.runs] == [pytest.approx(3 / 4), 1.0]
    assert bounded.bounds["two"].scores["nDCG"].low < found["two"].scores["nDCG"], "an item of the other run counts"


def test_bounds_of_unjudged_items_need_judgments_that_name_them() -> None:
    inputs = {"q": ["a", "u"]}, {"a": "g", "u": "h"}
    for relevance, scope, wanted in (
        ({"q": ["a"]}, "ranked", "list them with grade 0"),
        ({"q": {"a": 2, "b": 0}}, "ranked", "without grades above 1"),
        ({"q": {"a": 1, "b": 0}}, "collection", "choose ranked, none"),
        ({"q": {"a": 1, "b": 0}}, "some", "choose from"),
    ):
        with pytest.raises(EvenrankError, match=wanted):
            evenrank.score(*inputs, relevance, bounds=scope)


def test_the_command_for_plain_tables_has_both_kinds_of_bounds(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("query,item,rank\nq,a,1\nq,u,2\n")
    (tmp_path / "groups.csv").write_text("item,group\na,g\nu,h\n")
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    words = ["score", "--run", tmp_path / "run.csv", "--groups", tmp_path / "groups.csv", "--qrels", tmp_path / "qrels"]
    ends = {}
    for given in ([], ["none"], ["ranked"]):
        ran = CliRunner().invoke(cli, [*map(str, words), "--bounds", *given, "--format", "json"])
        assert ran.exit_code == 0, ran.output
        record = json.loads(ran.stdout)
        ends[tuple(given)] = record["systems"][0]["bounds"]["P"]
        assert record["systems"][0]["judged"]["share"] == 0.5
    assert ends[()] == ends[("none",)] == {"low": 0.5, "high": 0.5, "exact": True}
    assert ends[("ranked",)] == {"low": 0.5, "high": 1.0, "exact": True}
