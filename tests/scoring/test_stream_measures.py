"""Measures of a stream, worked by hand, against the track's scorer, and with intervals."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import evenrank
from evenrank import Stream, StreamMeasures, StreamRanking, measure_stream
from evenrank.errors import EvenrankError
from evenrank.ranking.stream_log import Candidate
from evenrank.scoring.stream_measures import streams_table

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden-2019"


def ranking(number: int, query: str, *items: tuple[str, float, str]) -> StreamRanking:
    candidates = tuple(Candidate(item, relevance, {group: 1.0}) for item, relevance, group in items)
    return StreamRanking(number, float(number), query, candidates, tuple(range(len(items))))


def two_rankings() -> list[StreamRanking]:
    return [
        ranking(1, "q", ("a", 1.0, "x"), ("b", 0.5, "y"), ("c", 0.0, "y")),
        ranking(2, "q", ("b", 0.5, "y"), ("a", 1.0, "x"), ("c", 0.0, "y")),
    ]


def test_worked_example() -> None:
    found = measure_stream(two_rankings(), attention="reciprocal", blocks=2)
    total = 2 * (1 + 1 / 2 + 1 / 3)
    exposure = np.array([1.5, total - 1.5]) / total
    target = np.array([2.0, 1.0]) / 3.0
    assert found.values["utility"] == pytest.approx((1.25 + 1.0) / 2)
    assert found.values["quality"] == pytest.approx(2.25 / 2.5)
    assert found.values["unfairness"] == pytest.approx(np.linalg.norm(exposure - target))
    assert found.worst_group == "x"
    assert found.values["worst_ratio"] == pytest.approx(exposure[0] / target[0])
    assert found.values["switches"] == pytest.approx(1 / 3)
    assert list(found.values) == ["utility", "quality", "unfairness", "worst_ratio", "switches"]
    assert [point.request for point in found.points] == [1, 2]
    assert found.points[0].worst_group == "x"


def test_grades_are_the_truth_in_every_form() -> None:
    grades = {("q", "a"): 0.0, ("q", "b"): 1.0, ("q", "c"): 0.0}
    rankings = two_rankings()
    by_mapping = measure_stream(rankings, grades, exposure="impact")
    by_function = measure_stream(rankings, lambda query, item: grades[query, item], exposure="impact")
    by_rows = measure_stream(rankings, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], exposure="impact")
    assert by_mapping == by_function == by_rows
    assert by_mapping.shares == {"x": (0.0, 0.0), "y": (1.0, 1.0)}
    with pytest.raises(EvenrankError, match="one for each candidate"):
        measure_stream(rankings, [[1.0]])
    for wrong in (math.nan, -1.0, math.inf):
        with pytest.raises(EvenrankError, match="grades of ranking 1 of 'q' are not numbers"):
            measure_stream(rankings, {("q", "a"): wrong})


def test_targets() -> None:
    rankings = two_rankings()
    assert measure_stream(rankings, target="equal").shares["x"][1] == 0.5
    assert measure_stream(rankings, target="population").shares["x"][1] == pytest.approx(1 / 3)
    given = measure_stream(rankings, target={"x": 1, "z": 3})
    assert given.shares["z"] == (0.0, 0.75)
    assert (given.worst_group, given.values["worst_ratio"]) == ("z", 0.0)


def test_a_log_is_measured_with_its_clicks(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    with Stream("relevance", {"a": "x", "b": "y"}, exposure="clicks", log=log) as stream:
        stream.observe(stream.rank("q", {"a": 1.0, "b": 1.0}).number, {"b": 3})
        stream.observe(1, ["a"])
    found = measure_stream(log)
    assert found.shares == {"x": (0.25, 0.5), "y": (0.75, 0.5)}
    assert found == measure_stream(log, exposure="clicks")
    log.write_bytes(log.read_bytes().replace(b'"order":[0,1]', b'"order":[0,7]'))
    with pytest.raises(EvenrankError, match=r"stream.log:2: the order"):
        measure_stream(log)
    with pytest.raises(EvenrankError, match="from the log"):
        measure_stream(two_rankings(), exposure="clicks")


def test_a_log_is_measured_as_it_was_counted(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    for target in ("population", "equal"):
        options = {"attention": "rbp:0.5", "exposure": "impact", "window": 50}
        with Stream("optimal", {"a": "x", "b": "y", "c": "y"}, target, log=log, **options) as stream:  # type: ignore[arg-type]
            stream.rank("q", {"a": 0.9, "b": 0.8, "c": 0.3})
    found = measure_stream(log)
    assert found.shares == {group: pytest.approx(tuple(share)) for group, share in stream.shares().items()}
    assert found.settings == {"target": "equal", "attention": "rbp:0.5", "exposure": "impact", "blocks": 2}
    assert measure_stream(log, target="population", attention="log").settings["target"] == "population"
    log.write_bytes(log.read_bytes().replace(b'"rbp:0.5"', b'"rbp:5"', 1))
    with pytest.raises(EvenrankError, match=r"stream.log:1: "):
        measure_stream(log)


def test_nothing_to_measure_is_said() -> None:
    with pytest.raises(EvenrankError, match="no rankings"):
        measure_stream([])
    with pytest.raises(EvenrankError, match="hold a list"):
        measure_stream([["a"]])  # type: ignore[list-item]
    with pytest.raises(EvenrankError, match="blocks is 0"):
        measure_stream(two_rankings(), blocks=0)


def test_streams_without_groups_or_relevance_have_values() -> None:
    stream = Stream("relevance")
    found = measure_stream([stream.rank("q", {}), stream.rank("q", {"a": 0.0})])
    assert found.worst_group is None
    assert math.isnan(found.values.pop("worst_ratio"))
    assert found.values == {"utility": 0.0, "quality": 1.0, "unfairness": 0.0, "switches": 0.0}


def stationary(seed: int, n_requests: int = 100) -> StreamMeasures:
    rng = np.random.default_rng(seed)
    stream = Stream("relevance", lambda item: item[0])
    rows = ({f"{'xy'[at % 2]}{at}": float(rng.random()) for at in range(4)} for _ in range(n_requests))
    return measure_stream([stream.rank("q", items) for items in rows])


def test_intervals_of_a_mean_are_students_over_the_blocks() -> None:
    """Of a mean, the jackknife over blocks of one size is Student's interval of the blocks' means."""
    relevance = np.sort(np.random.default_rng(3).random((100, 4)))[:, ::-1]
    blocks = (relevance @ [1.0, 1.0, 1.0 / math.log2(3), 0.5]).reshape(20, 5).mean(axis=1)
    reach = 2.0930240544 * blocks.std(ddof=1) / math.sqrt(20)  # 97.5 % quantile with 19 degrees of freedom
    found = stationary(3).intervals["utility"]
    assert (found.low, found.high) == pytest.approx((blocks.mean() - reach, blocks.mean() + reach), rel=1e-9)


def test_intervals_of_a_ratio_leave_out_a_block_at_a_time() -> None:
    requests = [
        ranking(number, f"q{number}", ("a", number / 4, "x"), ("b", (4 - number) / 4, "y")) for number in range(4)
    ]
    gained = np.array([number / 4 + (4 - number) / 8 for number in range(4)])
    ideal = np.array([max(n, 4 - n) / 4 + min(n, 4 - n) / 8 for n in range(4)])
    without = (gained.sum() - gained) / (ideal.sum() - ideal)
    error = math.sqrt(3 / 4 * float(((without - without.mean()) ** 2).sum()))
    found = measure_stream(requests, attention="reciprocal", blocks=4).intervals["quality"]
    assert found.se == pytest.approx(error, rel=1e-9)
    assert found.high == pytest.approx(gained.sum() / ideal.sum() + 3.1824463053 * error, rel=1e-9)


def test_intervals_hold_their_values() -> None:
    found = stationary(1)
    for name, interval in found.intervals.items():
        assert interval.low <= found.values[name] <= interval.high


def test_tables_json_and_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra report")
    found = stationary(2)
    assert streams_table([found, found]).rows[0][1] == 100
    document = json.loads(json.dumps(found.to_json()))
    assert document["measures"]["utility"] == found.values["utility"]
    assert len(document["over_time"]) == 100
    found.plot(tmp_path / "one.svg")
    evenrank.plot_streams([found, found], tmp_path / "two.svg")
    again = found.plot(tmp_path / "again.svg")
    assert len(again.axes) == 3
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def golden_rankings(run: str, sequence: str) -> Iterator[StreamRanking]:
    """The rankings of a run; readers pass by what has no known groups, as they do in the track's scorer."""
    with gzip.open(GOLDEN / "data/article-level.csv.gz", "rt") as file:
        groups = {row[0]: {g: float(n) for g, n in Counter(row[1:]).items()} for row in csv.reader(file)}
    with gzip.open(GOLDEN / "data/evaluation-sample-with-relevance.json.gz", "rt") as file:
        records = [json.loads(line) for line in file]
    relevant = {(str(r["qid"]), d["doc_id"]): float(d["relevance"]) for r in records for d in r["documents"]}
    query_of = dict(csv.reader((GOLDEN / "data/sequences.csv").open()))
    with gzip.open(GOLDEN / "runs" / f"{run}.json.gz", "rt") as file:
        for line in file:
            entry = json.loads(line)
            if entry["q_num"].partition(".")[0] == sequence:
                query = query_of[entry["q_num"]]
                known = tuple(
                    Candidate(d, relevant.get((query, d), 0.0) if d in groups else 0.0, groups.get(d, {}))
                    for d in entry["ranking"]
                )
                yield StreamRanking(1, 1.0, query, known, tuple(range(len(known))))


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden data of 2019 are not here")
@pytest.mark.parametrize("run", ["random", "ideal", "noisy", "static"])
def test_unfairness_is_that_of_the_tracks_scorer(run: str) -> None:
    with (GOLDEN / "expected/sequence-scores.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["run"] == run and row["group"] == "level"]
    for row in rows[:2]:
        rankings = list(golden_rankings(run, row["sequence"]))
        found = measure_stream(rankings, attention="gerr:0.5,0.7", exposure="impact", blocks=1)
        assert found.values["unfairness"] == pytest.approx(float(row["unfairness"]), abs=1e-12)
