"""The frontier between relevance and fairness on data of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import evenrank
from evenrank.errors import EvenrankError
from evenrank.experiments.tradeoff import undominated

GROUPS = {f"i{n}": "large" if n < 8 else "small" for n in range(12)}
ITEMS = {f"q{q}": {item: 1.0 / (1 + n + q % 2) for n, item in enumerate(GROUPS)} for q in range(4)}
RELEVANT = {query: ["i0", "i1", "i8"] for query in ITEMS}
WEIGHTS = (0.0, 1.0, 10.0)


def test_more_fairness_is_fairer_and_less_relevant() -> None:
    found = evenrank.tradeoff(ITEMS, GROUPS, ITEMS, "equal", k=6, values=WEIGHTS)
    fairness, relevance = ([one.scores[name] for one in found.scores.systems] for name in ("AWRF", "nDCG"))
    assert fairness == sorted(fairness)
    assert relevance == sorted(relevance, reverse=True)
    assert fairness[0] < fairness[-1]
    assert relevance[0] == pytest.approx(1.0)


def test_each_point_is_rerank_and_score() -> None:
    found = evenrank.tradeoff(ITEMS, GROUPS, RELEVANT, "equal", "greedy", k=6, values=[2.0], measures=["P"])
    lists = evenrank.rerank(ITEMS, GROUPS, "equal", "greedy", 6, settings={"fairness": 2.0})
    alone = evenrank.score(lists.to_dict(), GROUPS, RELEVANT, "equal", ["nDCG", "AWRF", "P"], k=6)
    assert found.scores.systems[0].scores == alone.scores
    assert found.policy == "greedy"


def test_sequences_trade_precision_against_expected_exposure() -> None:
    found = evenrank.tradeoff(ITEMS, GROUPS, RELEVANT, "equal", k=3, n_rankings=4, values=(0, 10))
    assert found.axes == ("P", "EE-L")
    first, last = (one.scores["EE-L"] for one in found.scores.systems)
    assert last < first
    assert found.is_on_frontier[1]


def test_forms_agree() -> None:
    found = evenrank.tradeoff(ITEMS, GROUPS, RELEVANT, "equal", k=6, values=WEIGHTS)
    points = found.to_json()["points"]
    assert [point["fairness"] for point in points] == list(WEIGHTS)
    assert found.to_pandas()["AWRF"].tolist() == [point["AWRF"] for point in points]
    assert tuple(point["on_frontier"] for point in points) == found.is_on_frontier
    assert str(found).count("\n") == len(WEIGHTS) + 3
    assert "<table" in found._repr_html_()
    pytest.importorskip("matplotlib")
    assert found.plot().axes[0].get_xlabel().startswith("nDCG")


def test_undominated_points() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.4, 0.5], [0.5, 0.5]])
    assert undominated(points).tolist() == [True, True, True, False, True]
    assert undominated(np.empty((0, 2))).tolist() == []


def test_faults_are_named() -> None:
    with pytest.raises(EvenrankError, match="weights of fairness must be numbers"):
        evenrank.tradeoff(ITEMS, GROUPS, RELEVANT, values=("much",))
    with pytest.raises(EvenrankError, match="expected='rank'"):
        evenrank.tradeoff(ITEMS, GROUPS, "rank")
    with pytest.raises(EvenrankError, match="zeal"):
        evenrank.tradeoff(ITEMS, GROUPS, RELEVANT, setting="zeal")
