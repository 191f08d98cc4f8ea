"""Trust in a leaderboard: worked cases, formulas against scipy and simulation, and what the command says."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenrank.core.protocol import PAPER_2021
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.scoring.intervals import Interval
from evenrank.scoring.results import Results, RunResult
from evenrank.scoring.trust import detectable_difference, topics_needed, trust

SCORE = MAIN[1].key
module = sys.modules[trust.__module__]


def results_of(values: dict[str, list[float]], task: int = 1) -> Results:
    key = MAIN[task].key
    runs = tuple(
        RunResult(
            name,
            task,
            {key: float(np.mean(row))},
            Interval(0.0, 1.0, 0.1),
            {number: {key: value} for number, value in enumerate(row)},
        )
        for name, row in values.items()
    )
    return Results(PAPER_2021, "intersection", runs, {task: (MAIN[task],)})


def test_a_run_that_always_wins_stays_first() -> None:
    found = trust(results_of({"b": [0.1, 0.2, 0.3, 0.4], "a": [0.5, 0.6, 0.7, 0.8], "c": [0.0, 0.1, 0.2, 0.3]}))
    assert [one.run for one in found.runs] == ["a", "b", "c"]
    assert found.best_stays == 1.0
    assert [(one.best_rank, one.worst_rank) for one in found.runs] == [(1, 1), (2, 2), (3, 3)]
    assert (found.tau, found.tau_low, found.tau_halves) == (1.0, 1.0, 1.0)
    assert [(pair.better, pair.worse) for pair in found.pairs] == [("a", "b"), ("b", "c"), ("a", "c")]


def test_two_equal_runs_are_both_first_and_differ_by_nothing() -> None:
    found = trust(results_of({"a": [0.2, 0.4, 0.6], "b": [0.2, 0.4, 0.6]}))
    assert [one.first for one in found.runs] == [1.0, 1.0]
    assert found.tau == 0.0
    (pair,) = found.pairs
    assert (pair.difference, pair.effect, pair.p, pair.topics_needed) == (0.0, 0.0, 1.0, None)
    assert found.tau_halves is None


def test_runs_that_are_equal_share_a_rank() -> None:
    found = trust(results_of({"a": [0.9, 0.8, 0.7], "b": [0.9, 0.8, 0.7], "c": [0.1, 0.2, 0.3]}))
    assert [(run.run, run.rank) for run in found.runs] == [("a", 1), ("b", 1), ("c", 3)]
    assert found.summary()[0].startswith("a stays first, tied with b, in 100% of resamples")


def test_a_lower_loss_is_better() -> None:
    found = trust(results_of({"low": [1.0, 2.0, 1.5, 1.0], "high": [3.0, 4.0, 3.5, 5.0]}, task=2))
    assert [one.run for one in found.runs] == ["low", "high"]
    assert found.pairs[0].difference > 0.0


def test_a_coin_toss_stays_first_about_half_the_time() -> None:
    rng = np.random.default_rng(4)
    noise = rng.normal(size=200)
    found = trust(results_of({"a": list(noise), "b": list(2 * noise.mean() - noise)}))
    assert 0.4 < found.best_stays < 0.6
    assert found.pairs[0].p > 0.5


def test_the_same_seed_gives_the_same_answer() -> None:
    rng = np.random.default_rng(1)
    results = results_of({name: list(rng.random(12)) for name in "abcd"})
    assert trust(results, seed=3) == trust(results, seed=3)
    assert trust(results, seed=3).tau != trust(results, seed=4).tau


def test_resamples_are_the_same_however_many_are_made_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    results = results_of({name: list(rng.random(12)) for name in "abcd"})
    at_once = trust(results)
    monkeypatch.setattr(module, "VALUES_AT_ONCE", 100)
    assert trust(results) == at_once


def test_infinite_values_are_left_out() -> None:
    found = trust(results_of({"a": [3.0, 4.0, math.inf], "b": [1.0, 2.0, 3.0]}, task=2))
    assert (found.n_topics, found.runs[0].run, found.runs[0].mean) == (2, "b", 1.5)


def test_missing_topics_and_few_topics_are_said() -> None:
    found = trust(results_of({"a": [0.1, 0.2, 0.3], "b": [0.2, 0.3]}))
    assert found.n_topics == 2
    assert "compared on 2 of 3 topics, those on which all runs have a finite value" in found.notes
    assert any("2 topics are too few" in note for note in found.notes)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(EvenrankError, match="at least two runs"):
        trust(results_of({"a": [0.1, 0.2]}))
    with pytest.raises(EvenrankError, match=r"'nDCG'; choose from .*others were not computed"):
        trust(results_of({"a": [0.1, 0.2], "b": [0.2, 0.3]}), measure="nDCG")


@given(effect=st.floats(0.1, 2.0), power=st.sampled_from([0.5, 0.8, 0.9]))
def test_the_topics_needed_reach_the_power(effect: float, power: float) -> None:
    """Against scipy's noncentral t: the approximation is within two topics of the exact number."""
    needed = topics_needed(effect, power)
    assert needed is not None

    def exact_power(n_topics: int) -> float:
        critical = stats.t.ppf(0.975, n_topics - 1)
        return float(stats.nct.sf(critical, n_topics - 1, effect * np.sqrt(n_topics)))

    assert exact_power(needed + 2) >= power
    assert needed <= 4 or exact_power(needed - 2) < power


def test_the_detectable_difference_falls_with_topics() -> None:
    falling = [detectable_difference(0.2, n) for n in (5, 12, 49, 200)]
    assert falling == sorted(falling, reverse=True)
    assert detectable_difference(0.2, 49) == pytest.approx(0.2 * (stats.t.ppf(0.975, 48) + 0.8416212) / 7.0, abs=1e-6)


def test_results_of_a_collection(golden_collection, golden_runs) -> None:
    import evenrank

    results = evenrank.evaluate(golden_collection, golden_runs, protocol="official-2021")
    with pytest.raises(EvenrankError, match="say which one"):
        trust(results)
    found = trust(results, task=1)
    assert [one.run for one in found.runs] == [run.run for run in results.of_task(1)]
    assert str(found).count("─") > 0
    assert set(found.to_json()) >= {"runs", "pairs", "best_stays", "summary", "tau_low"}
    assert len(found.to_pandas(pairs=True)) == 3


def test_scores_of_plain_tables_are_ordered_by_what_was_computed() -> None:
    import evenrank

    rankings = {
        "fair": {"q1": ["a", "b"], "q2": ["b", "a"], "q3": ["a", "b"]},
        "unfair": {"q1": ["a", "c"], "q2": ["c", "a"], "q3": ["a", "c"]},
    }
    scores = evenrank.score(rankings, {"a": "x", "b": "y", "c": "x"}, target="equal")
    found = trust(scores)
    assert found.measure == "AWRF"
    assert [one.run for one in found.runs] == ["fair", "unfair"]
    assert found.best_stays == 1.0
