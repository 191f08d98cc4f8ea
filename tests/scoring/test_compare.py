"""Paired tests by hand and against scipy; directions, ties, correction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenrank
from evenrank.core.records import Run
from evenrank.errors import EvenrankError
from evenrank.scoring.compare import MAX_EXACT, TESTS, compare, holm, randomisation_p, t_test_p
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.collection import Collection


def test_randomisation_by_hand() -> None:
    """Three differences of one sign: of the 8 sign patterns only the two all-equal ones reach the sum."""
    assert randomisation_p(np.array([1.0, 2.0, 3.0])) == 2 / 8
    assert randomisation_p(np.array([1.0, -1.0])) == 1.0
    assert randomisation_p(np.zeros(5)) == 1.0
    assert randomisation_p(np.array([0.0, 1.0, 0.0, 2.0, 3.0])) == 2 / 8, "topics that tie change nothing"


def test_randomisation_agrees_with_scipy() -> None:
    from scipy.stats import permutation_test

    values = np.random.default_rng(3).normal(0.3, 1.0, 10)
    known = permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True)
    assert randomisation_p(values) == pytest.approx(known.pvalue)


def test_sampled_randomisation_is_close_to_the_exact_one() -> None:
    values = np.random.default_rng(4).normal(0.4, 1.0, MAX_EXACT)
    padded = np.concatenate([values, [1e-9, -1e-9]])
    assert randomisation_p(padded) == pytest.approx(randomisation_p(values), abs=0.005)
    assert randomisation_p(padded, seed=1) == randomisation_p(padded, seed=1)


def test_t_test_agrees_with_scipy() -> None:
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(5).normal(0.2, 1.0, 30)
    assert t_test_p(values) == pytest.approx(float(ttest_1samp(values, 0.0).pvalue), rel=1e-12)
    assert t_test_p(np.zeros(4)) == 1.0
    assert t_test_p(np.ones(4)) == 0.0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_order_and_never_lowers_a_p(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= c <= 1.0 for p, c in zip(p_values, corrected, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(corrected)[order]) >= 0)


@pytest.mark.parametrize("test", TESTS)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-6), min_size=2, max_size=9))
def test_p_does_not_depend_on_who_is_first_or_on_the_order_of_topics(test: str, values: list[float]) -> None:
    differences = np.array(values)
    p = TESTS[test](differences, 0)
    assert 0.0 <= p <= 1.0
    assert TESTS[test](-differences, 0) == pytest.approx(p)
    assert TESTS[test](differences[::-1].copy(), 0) == pytest.approx(p)


@pytest.fixture(scope="module")
def results(golden_collection, golden_runs: list[Path]):
    return evaluate(golden_collection, golden_runs)


def test_wins_follow_the_direction_of_the_measure(results) -> None:
    rows = {(row.run, row.measure): row for row in compare(results, "T2syn01").rows}
    base, other = results["T2syn01"].topics, results["T2syn02"].topics
    row = rows["T2syn02", "EE-L"]
    assert row.wins == sum(other[t]["EE-L"] < base[t]["EE-L"] for t in base)
    assert row.difference == pytest.approx(row.mean - row.baseline_mean)
    assert row.difference < 0
    assert rows["T2syn02", "EE-R"].wins == sum(other[t]["EE-R"] > base[t]["EE-R"] for t in base)
    assert row.interval.low <= row.difference <= row.interval.high


def test_a_run_against_itself_under_another_name_ties_everywhere(golden_collection, golden_runs, tmp_path) -> None:
    copy = tmp_path / "copy.gz"
    copy.write_bytes(golden_runs[0].read_bytes())
    for row in compare(evaluate(golden_collection, [golden_runs[0], copy]), "copy").rows:
        assert (row.wins, row.ties, row.losses, row.p, row.p_holm) == (0, 5, 0, 1.0, 1.0)
        assert row.verdict == "no clear difference"


def test_means_are_over_the_topics_that_are_compared(golden_collection: Collection) -> None:
    """A run that leaves out a topic is not held against the baseline's mean over all of them, and it is said."""
    full = replace(oracle_run(golden_collection, 1, 0.6).run, name="full")
    rankings = [ranking for ranking in full.rankings() if ranking[0] != 101]
    results = evaluate(golden_collection, [full, Run.from_rankings("part", 1, iter(rankings))], "official-2021")
    comparisons = compare(results, "full")
    for row in comparisons.rows:
        shared = [scores[row.measure] for topic, scores in results["full"].topics.items() if topic != 101]
        assert row.n_topics == len(shared) == 4
        assert row.baseline_mean == pytest.approx(np.mean(shared)) == pytest.approx(row.mean)
        assert row.difference == 0.0
    assert comparisons.notes[0] == "part: compared on the 4 topics that full has too, of 5"
    assert comparisons.to_json()["notes"] == list(comparisons.notes)


def test_too_few_topics_for_any_clear_difference_are_noted() -> None:
    relevance = {f"q{n}": {"a": 1.0, "b": 0.0, "c": 0.0} for n in range(6)}
    groups = {"a": "x", "b": "y", "c": "y"}
    best, worst = (dict.fromkeys(relevance, order) for order in (["a", "b", "c"], ["b", "c", "a"]))
    systems = {"worst": worst, **{f"best {n}": best for n in range(2)}}
    scores = evenrank.score(systems, groups, relevance, "equal", measures=["nDCG"])
    found = evenrank.compare(scores, baseline="worst")
    assert [row.verdict for row in found.rows] == ["no clear difference"] * 2
    assert [row.p_holm for row in found.rows] == [0.0625] * 2
    said = "with 6 topics and 2 comparisons, no difference can be clear: the least p (Holm) is 0.0625"
    assert said in found.notes
    assert said not in evenrank.compare(scores, "worst", "t-test").notes


def test_results_can_be_taken_further(results) -> None:
    comparisons = compare(results, "T1syn00", test="t-test", measures=["AWRF"])
    frame = comparisons.to_pandas()
    assert list(frame["measure"]) == ["AWRF", "AWRF"]
    assert {"low", "high", "p_holm"} <= set(frame.columns)
    assert "T1syn02" in str(comparisons)
    assert "<table" in comparisons._repr_html_()


@pytest.mark.parametrize(
    "options,said",
    [
        ({"baseline": "nobody"}, "unknown baseline run 'nobody'"),
        ({"baseline": "T1syn00", "test": "guess"}, "unknown test 'guess'"),
        ({"baseline": "T1syn00", "measures": ["EE-L"]}, "unknown measure of Task 1 'EE-L'"),
    ],
)
def test_impossible_requests_are_explained(results, options, said: str) -> None:
    with pytest.raises(EvenrankError, match=said):
        compare(results, **options)
