"""`evenrank.rerank`: proofs agree with `score`, every policy serves, and nothing is lost."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenrank
from evenrank.errors import EvenrankError, InputError, WrongTypeError

ITEMS = {"q": {"a": 0.9, "b": 0.8, "c": 0.6, "d": 0.3, "e": 0.1}}
GROUPS = {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y"}
TARGET = {"x": 0.4, "y": 0.6}


def test_no_permutation_is_better_than_the_certificate_says() -> None:
    found = evenrank.rerank(ITEMS, GROUPS, TARGET)
    best = max(
        evenrank.score({"q": list(order)}, GROUPS, ITEMS, TARGET).scores["Score"] for order in permutations(ITEMS["q"])
    )
    mine = evenrank.score(found.to_dict(), GROUPS, ITEMS, TARGET).scores["Score"]
    assert mine == pytest.approx(best)
    certificate = found.certificates["q"]
    assert certificate["score"] == pytest.approx(mine)
    assert certificate["upper_bound"] >= best - 1e-9
    assert sorted(found.to_dict()["q"]) == sorted(ITEMS["q"])


@pytest.mark.parametrize("seed", range(6))
def test_the_loss_of_a_sequence_is_that_of_score_where_groups_are_unknown(seed: int) -> None:
    """Items without a group count in none: the loss and its bound are those of the scorer."""
    rng = np.random.default_rng(seed)
    items = {"q": {f"i{n}": score for n, score in enumerate(rng.random(12).tolist())}}
    groups = {f"i{n}": "ab"[n % 2] for n in range(12) if rng.random() < 0.6} | {"absent": "c"}
    target = {"a": 0.3, "b": 0.5, "c": 0.2}
    found = evenrank.rerank(items, groups, target, k=4, n_rankings=10)
    scored = evenrank.score(found.to_dict(), groups, items, target, ["EE-L"], k=4).scores["EE-L"]
    proven = found.certificates["q"]
    assert proven["EE-L"] == pytest.approx(scored)
    for other in ("greedy", "controller", "relevance"):
        lists = evenrank.rerank(items, groups, target, other, k=4, n_rankings=10).to_dict()
        loss = evenrank.score(lists, groups, items, target, ["EE-L"], k=4).scores["EE-L"]
        assert loss >= proven["EE-L_lower_bound"] - 1e-9


@pytest.mark.parametrize("n_rankings", [1, 5])
@pytest.mark.parametrize("name", list(evenrank.POLICIES))
def test_every_policy_that_reads_no_text_serves(name: str, n_rankings: int) -> None:
    owner = evenrank.POLICIES[name]
    rng = np.random.default_rng(1)
    items = {q: {f"i{i}": float(p) for i, p in enumerate(rng.random(20))} for q in range(2)}
    groups = {f"i{i}": "ab"[i % 2] for i in range(20)}
    task = 1 if n_rankings == 1 else 2
    if task not in owner.tasks or getattr(owner, "needs_text", False):
        with pytest.raises(EvenrankError):
            evenrank.rerank(items, groups, policy=name, n_rankings=n_rankings)
        return
    found = evenrank.rerank(items, groups, policy=name, k=7, n_rankings=n_rankings)
    assert list(found.rankings) == [0, 1]
    for lists in found.rankings.values():
        assert len(lists) == n_rankings
        assert all(len(set(one)) == len(one) == 7 for one in lists)


def test_fairer_than_the_order_by_score_and_the_same_again() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"query": np.repeat(["p", "q"], 50), "item": [f"i{i}" for i in range(100)]})
    frame["score"] = rng.random(100) * np.where(np.arange(100) % 3 == 0, 0.3, 1.0)
    groups = pd.DataFrame({"item": frame["item"], "group": np.where(np.arange(100) % 3 == 0, "few", "many")})
    fair = evenrank.rerank(frame, groups, target={"few": 0.5, "many": 0.5}, k=20)
    plain = evenrank.rerank(frame, groups, policy="relevance", k=20)
    scores = evenrank.score({"fair": fair.to_dict(), "plain": plain.to_dict()}, groups, target={"few": 1, "many": 1})
    assert scores["fair"].scores["AWRF"] > scores["plain"].scores["AWRF"] + 0.05
    again = evenrank.rerank(frame, groups, target={"few": 0.5, "many": 0.5}, k=20, workers=2)
    assert again.rankings == fair.rankings
    assert again.certificates == fair.certificates


def test_several_groupings_and_unknown_items() -> None:
    groupings = {"size": GROUPS, "age": {"a": "old", "b": "new", "d": "old"}}
    found = evenrank.rerank(ITEMS, groupings, {"size": TARGET, "age": {"old": 0.5, "new": 0.5}})
    assert sorted(found.to_dict()["q"]) == sorted(ITEMS["q"])
    assert len(found.to_pandas()) == 5


def test_settings_may_be_tuples_as_in_rank() -> None:
    as_tuples = evenrank.rerank(ITEMS, GROUPS, TARGET, settings={"depths": (2, 4), "depth_weights": (0.5, 0.5)})
    as_text = evenrank.rerank(ITEMS, GROUPS, TARGET, settings={"depths": "2,4", "depth_weights": "0.5,0.5"})
    assert as_tuples.rankings == as_text.rankings
    assert "score@2" in as_tuples.certificate


def test_more_groups_than_a_mask_holds() -> None:
    items = {"q": {f"i{i}": 1.0 / (i + 1) for i in range(200)}}
    found = evenrank.rerank(items, {f"i{i}": f"provider {i // 2}" for i in range(200)}, target="equal")
    assert found.certificate["AWRF"] > 0.9


def test_wrong_input_is_named() -> None:
    wrong: dict[str, Any] = {"q": {"a": -1.0, "b": 2.0}}
    with pytest.raises(InputError, match=r"item 'a': score is negative: -1.0 .*relevance='rank'"):
        evenrank.rerank(wrong, GROUPS)
    assert evenrank.rerank(wrong, GROUPS, relevance="rank").to_dict()["q"][0] == "b"
    with pytest.raises(EvenrankError, match="compares texts"):
        evenrank.rerank(ITEMS, GROUPS, policy="mmr")
    with pytest.raises(EvenrankError, match="at least 1"):
        evenrank.rerank(ITEMS, GROUPS, k=0)
    with pytest.raises(EvenrankError, match="several systems"):
        evenrank.rerank({"one": {"q": ["a"]}, "two": {"q": ["b"]}}, GROUPS)


def test_a_notebook_shows_the_certificate_and_the_first_rows() -> None:
    items = {"<q>": {f"i{number}": 1.0 / (1 + number) for number in range(25)}}
    found = evenrank.rerank(items, {"i0": "x", "i1": "y"})
    shown = found._repr_html_()
    assert shown.startswith("<p>Reranked by optimal: 1 query, 1 ranking; certificate: score ")
    assert shown.count("&lt;q&gt;") == 20
    assert "… and 5 more rows" in shown


def test_several_rankings_of_one_query_are_refused() -> None:
    """The items of the last one were ranked, and those of the others left out without a word."""
    with pytest.raises(EvenrankError, match="several rankings of one query: 'q'"):
        evenrank.rerank({"q": [["a", "b"], ["c", "d"]]}, GROUPS)


def test_rankings_and_certificates_are_mappings() -> None:
    found = evenrank.rerank({"p": {"b": 0.4, "a": 0.3}, **ITEMS}, GROUPS, TARGET, relevance="rank")
    assert list(found.rankings) == list(found.certificates) == ["p", "q"]
    assert found.rankings == {query: [items] for query, items in found.to_dict().items()}
    assert sorted(found.rankings["p"][0]) == ["a", "b"]
    assert repr(found.rankings) == repr(dict(found.rankings))
    means = {name: np.mean([one[name] for one in found.certificates.values()]) for name in found.certificate}
    assert found.certificate == means
    with pytest.raises(KeyError):
        found.rankings["r"]


def test_one_ranking_without_its_query_is_recognised() -> None:
    with pytest.raises(WrongTypeError, match=r"""put it into one of queries, \{"q": \{'a': …\}\}"""):
        evenrank.rerank({"a": 0.9, "b": 0.4}, {"a": "left", "b": "right"})


@pytest.mark.parametrize(
    ("shares", "is_noted"),
    [([0.4, 0.3], True), ([0.7, 0.3], False), ([0.333, 0.666], False), ([3, 1], False), ([40, 60], False)],
)
def test_shares_with_another_sum_are_noted(shares: list[float], is_noted: bool) -> None:
    items, groups = {"q": {"a": 0.9, "b": 0.4}}, {"a": "left", "b": "right"}
    target = dict(zip(("left", "right"), shares, strict=True))
    notes = ("target: shares sum to 0.7, not 1, and are divided by their sum",) if is_noted else ()
    for given in (
        target,
        {"group": target},
        {"q": target},
        pd.DataFrame({"group": ["left", "right"], "share": shares}),
    ):
        assert evenrank.rerank(items, groups, given).notes == notes


def test_relevance_above_1_is_noted_and_the_note_is_announced() -> None:
    found = evenrank.rerank({"q": {"a": 12.3, "b": 0.4}}, {"a": "left", "b": "right"})
    assert "scores up to 12.3 are taken as expected relevance, and are no probabilities" in found.notes[0]
    assert "; 1 note in .notes; certificate" in repr(found)
