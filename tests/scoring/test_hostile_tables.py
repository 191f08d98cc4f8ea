"""Inputs that make no sense: refused in words, all faults at once, with their rows; nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenrank
from evenrank.errors import EvenrankError

GROUPS = {"a": "x", "b": "y"}
NAN = float("nan")


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ({"q": [True, "a"]}, "query 'q', rank 1: item id is neither a string nor an integer: True"),
        ({"q": [b"a", b"b"]}, "query 'q', rank 2: item id is neither a string nor an integer: b'b'"),
        ({"q": [["a", "b"], "b"]}, "rank 1: item id is neither a string nor an integer: ['a', 'b']"),
        ({"q": {"a", "b"}}, "ranking of query 'q': a value of type set is not accepted"),
        ({"q": b"ab"}, "ranking of query 'q': a value of type bytes is not accepted"),
        (np.zeros((2, 2, 2)), "rankings: a value of type ndarray is not accepted"),
        (pd.DataFrame([["q", "a", "b"]], columns=["query", "item", "item"]), "two columns have the name item"),
        (frame(query=["q", "q"], item=["a", 2.5]), "row 2: item id is neither a string nor an integer: 2.5"),
        (frame(query=["q", "q"], item=pd.array(["a", pd.NA], "string")), "row 2: no item id: <NA>"),
        (frame(query=["q", "q"], item=[pd.Timestamp(0), pd.NaT]), "row 2: no item id"),
        (frame(query=["q", "q"], item=["a", ""], score=[1, 2]), "row 2: no item id: ''"),
    ],
)
def test_rankings_that_make_no_sense(rankings: object, message: str) -> None:
    with pytest.raises(EvenrankError) as caught:
        evenrank.score(rankings, GROUPS, target="equal")
    assert message in str(caught.value)


@pytest.mark.parametrize("k", ["10", 2.0, True])
def test_a_depth_that_is_no_whole_number(k: object) -> None:
    with pytest.raises(EvenrankError, match=r"is not accepted \(give a whole number\)"):
        evenrank.score({"q": ["a"]}, GROUPS, k=k)  # type: ignore[arg-type]
    with pytest.raises(EvenrankError, match=r"is not accepted \(give a whole number\)"):
        evenrank.rerank({"q": {"a": 1}}, GROUPS, k=k)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ({"q": {"a": 1.0, "b": 0.5}, "p": ["b", "a"]}, "items, query 'p': no scores, where other queries have them"),
        ({"p": ["b", "a"], "q": {"a": 1.0, "b": 0.5}}, "items, query 'p': no scores, where other queries have them"),
        ({"q": {"z": 1.0, "w": 0.5}}, "none of the items to rank has a known group"),
    ],
)
def test_what_cannot_be_ranked_again(items: object, message: str) -> None:
    with pytest.raises(EvenrankError) as caught:
        evenrank.rerank(items, GROUPS)
    assert message in str(caught.value)


def test_columns_of_pandas_and_polars_alone() -> None:
    expected = evenrank.score({"q": ["a", "b"]}, GROUPS, target="equal").scores
    for rankings in (pd.Series(["a", "b"]), pl.Series(["a", "b"])):
        assert evenrank.score(rankings, pd.Series(GROUPS), target="equal").scores == expected
    lazy = pl.LazyFrame({"query": ["q", "q"], "item": ["a", "b"]})
    assert evenrank.score(lazy, GROUPS, target="equal").scores == expected
    with_numbers = evenrank.score({"q": [np.int64(1), np.int64(2)]}, {1: "x", 2: "y"}, target="equal", measures="AWRF")
    assert with_numbers.scores == {"AWRF": pytest.approx(expected["AWRF"])}


def test_a_file_with_faults_of_every_kind(tmp_path: Path) -> None:
    """Lines with too few cells do not hide the other faults, and empty lines do not shift the numbers."""
    (tmp_path / "run.csv").write_text("query,item,score\nq,a,1\nq\n\nq,,2\nq,b,nan\nq,a,3,4\n,c,1\n", "utf-8")
    (tmp_path / "groups.csv").write_text("item,group,share\na,x,\n\nb\nb,y,-1\n", "utf-8")
    with pytest.raises(EvenrankError) as caught:
        evenrank.score(str(tmp_path / "run.csv"), str(tmp_path / "groups.csv"), target="equal")
    text = str(caught.value).replace(f"{tmp_path}/", "")
    for fault in (
        "run.csv, line 3: 1 cell, where 3 were expected",
        "run.csv, line 7: 4 cells, where 3 were expected",
        "run.csv, line 5: no item id: ''",
        "run.csv, line 8: no query id: ''",
        "run.csv, line 6: score is not a finite number: 'nan'",
        "groups.csv, line 4: 1 cell, where 3 were expected",
        "groups.csv, line 2: share is not a finite number: ''",
        "groups.csv, line 5: share is below 0: '-1'",
    ):
        assert fault in text, text


def test_a_trec_run_whose_first_line_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a first 0.5 t\nq Q0 b 2 high t\n", "utf-8")
    with pytest.raises(EvenrankError) as caught:
        evenrank.score(str(tmp_path / "run"), GROUPS, target="equal")
    assert "line 1: rank is not a finite number: 'first'" in str(caught.value)
    assert "line 2: score is not a finite number: 'high'" in str(caught.value)


def test_large_frames_are_numbered_together_and_score_as_dicts_do() -> None:
    """Texts that Arrow holds take another way; ids, groups and judgments must meet all the same."""
    rng = np.random.default_rng(1)
    items = [f"i{n}" for n in rng.permutation(12_000)]
    run = frame(query=np.repeat([f"q{n}" for n in range(12)], 1000), item=items, score=rng.random(12_000)).astype(
        {"query": "str", "item": "str"}
    )
    groups = frame(item=sorted(items), group=rng.choice(["x", "y", "z"], 12_000)).astype({"item": "str"})
    judged = run.sample(10_500, random_state=2)[["query", "item"]].assign(grade=1)
    as_dicts = (
        {query: dict(zip(part["item"], part["score"], strict=True)) for query, part in run.groupby("query")},
        dict(zip(groups["item"], groups["group"], strict=True)),
        {query: dict.fromkeys(part["item"], 1) for query, part in judged.groupby("query")},
    )
    found = evenrank.score(run, groups, judged, k=20).scores
    assert found == pytest.approx(evenrank.score(*as_dicts, k=20).scores)
    assert evenrank.score(run, as_dicts[1], judged, k=20).scores == pytest.approx(found)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rankings": frame(query="q", item=["a", "b"], score=[1j, 2])}, "row 1: score is not a finite number: 1j"),
        ({"rankings": frame(query="q", item=["a", "b"], score=pd.to_timedelta([1, 2]))}, "row 2: score is not a"),
        (
            {"groups": {"a": {"x": "half"}, "b": "y"}},
            "item 'a', group 'x': share is not a number of at least 0: 'half'",
        ),
        ({"relevance": {"q": {"a": "good"}}}, "relevance, query 'q', item 'a': grade is not a finite number"),
        ({"target": frame(group=["x", "x"], share=[0.2, 0.3])}, "target, row 2: group has a share already: 'x'"),
        ({"target": frame(query=[None, "q"], group=["x", "y"], share=1)}, "target, row 1: no query id"),
        ({"measures": 3}, "measures: a value of type int is not accepted"),
    ],
)
def test_other_inputs_that_make_no_sense(given: dict[str, object], message: str) -> None:
    usual: dict[str, object] = {"rankings": {"q": ["a", "b"]}, "groups": GROUPS}
    with pytest.raises(EvenrankError) as caught:
        evenrank.score(**(usual | given))  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"settings": ["fairness=2"]}, "settings: a value of type list is not accepted"),
        ({"seed": "x"}, "seed: a value of type str is not accepted"),
        ({"workers": 0}, "workers is 0"),
        ({"policy": "swap", "n_rankings": 2}, "policy swap makes one ranking of each query; these make several: "),
        ({"policy": "controller"}, "policy controller makes several rankings of each query; these make one: "),
        ({"policy": "mmr"}, "policy mmr compares texts"),
        ({"policy": "optimall"}, "did you mean 'optimal'?"),
    ],
)
def test_options_of_rerank_that_make_no_sense(given: dict[str, object], message: str) -> None:
    with pytest.raises(EvenrankError) as caught:
        evenrank.rerank({"q": {"a": 1.0, "b": 0.5}}, GROUPS, **given)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "Task" not in str(caught.value)


def test_records_dates_and_an_index_of_the_same_name() -> None:
    expected = evenrank.score({"q": ["a", "b"]}, GROUPS, target="equal").scores
    rows = [{"query": "q", "item": "a", "score": 2}, {"query": "q", "item": "b", "score": 1}]
    groups = [{"item": item, "group": group} for item, group in GROUPS.items()]
    assert evenrank.score(rows, groups, target=pd.Series({"x": 1, "y": 1})).scores == expected
    indexed = pd.DataFrame(rows).set_index("item", drop=False)
    assert evenrank.score(indexed, groups, target="equal").scores == expected
    for zone in (None, "UTC"):
        dates = pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize(zone)
        found = evenrank.score(frame(query="q", item=dates), frame(item=dates, group=["x", "y"]), target="equal")
        assert found.scores == expected


def test_ids_that_match_nowhere_are_noted() -> None:
    found = evenrank.score({"q": ["a"]}, {"A": "x"})
    assert found.notes == ("1 of 1 ranked items have no known group and count in none (are the ids the same in both?)",)


def test_many_faults_are_counted_and_few_are_shown() -> None:
    n = 20_000
    run = frame(query="q", item=["a"] * n, score=NAN)
    groups = frame(item=[None] * n, group="x")
    with pytest.raises(evenrank.InputError) as caught:
        evenrank.score(run, groups, frame(query="q", item=[True] * n, grade=np.inf))
    lines = str(caught.value).splitlines()
    assert len(lines) < 60
    assert "and 99,949 more faults" in lines[-1]
    negative = {"q": {f"i{number}": -1.0 for number in range(n)}}
    with pytest.raises(evenrank.InputError) as caught:
        evenrank.rerank(negative, {"i0": "x"})
    assert len(str(caught.value).splitlines()) == 11
    assert "items, query 'q', item 'i0': score is negative: -1.0" in str(caught.value)


def test_equal_scores_keep_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(5)
    run = frame(
        query=rng.choice(["p", "q"], 500), item=[f"i{n}" for n in range(500)], score=rng.integers(0, 9, 500) / 8
    )
    expected = {
        query: part.sort_values("score", ascending=False, kind="stable")["item"].tolist()
        for query, part in run.groupby("query")
    }
    found = evenrank.rerank(run, {"i0": "x"}, policy="relevance", relevance="rank").to_dict()
    assert found == expected
