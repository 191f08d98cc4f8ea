"""Frames, series, dicts and files as people really have them, with all that can be wrong in them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from tests.scoring.test_hostile_tables import GROUPS, NAN, frame

RUN = frame(query="q", item=["a", "b"], score=[2.0, 1.0])
EXPECTED = evenrank.score({"q": ["a", "b"]}, GROUPS, target="equal").scores
STRUCTS = pl.DataFrame({"query": ["q"], "item": [{"z": 1}]})
DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("rankings", "faults"),
    [
        ({None: ["a"], "q": ["b"], 3: ["a"]}, ["entry 1: no query id: None", "entry 3: query id is not a string as"]),
        ({NAN: ["a"]}, ["entry 1: no query id: nan"]),
        ({("u", 1): ["a"]}, ["entry 1: query id is neither a string nor an integer: ('u', 1)"]),
        ({"q": [["a"], []]}, ["query 'q', ranking 2: no item is ranked"]),
        ({"q": np.array(3)}, ["ranking of query 'q': a value of type ndarray is not accepted"]),
        (pl.DataFrame({"query": ["q"], "item": [["a", "b"]]}), ["row 1: item id is neither a string nor an integer"]),
        (STRUCTS, ["row 1: item id is neither a string nor an integer: {'z': 1}"]),
        (
            pl.DataFrame({"query": ["q", None, "q"], "item": ["a", "b", None], "score": [1.0, None, NAN]}),
            ["row 3: no item id: None", "row 2: no query id: None", "row 2: score is not a", "row 3: score is not a"],
        ),
        (frame(system=[None, "s"], query="q", item=["a", "b"]), ["row 1: no system id"]),
        (frame(ranking=[1, NAN], query="q", item=["a", "b"]), ["row 2: no ranking id"]),
        (frame(query="q", item=["a", "b"], score=["1_0", "٣"]), ["row 1: score is not a", "row 2: score is not a"]),
        (frame(query="q", item=["a", "b"], score=[Decimal("NaN"), Decimal(1)]), ["row 1: score is not a finite"]),
        (frame(query="q", item=pd.Categorical(["a", None])), ["row 2: no item id"]),
        (frame(query="q", item=pd.array([1, None], dtype="Int64")), ["row 2: no item id"]),
        (pl.DataFrame({"query": ["q", "q"], "item": [DAY, None]}), ["row 2: no item id: None"]),
        ({"q": {"i" * 10_000: NAN}}, ["iii…: score is not a finite number: nan"]),
    ],
)
def test_faults_of_rankings(rankings: object, faults: list[str]) -> None:
    for call in (evenrank.score, evenrank.rerank):
        with pytest.raises(EvenrankError) as caught:
            call(rankings, GROUPS, target="equal")
        for fault in faults:
            assert fault in str(caught.value)
        assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            frame(item=["a", "b"], g=[["x", ["y"]], "y"]),
            "row 1, g: group is neither a name nor a number: ['y']",
        ),
        (frame(item=["a", "b"], g=[{"x": NAN}, "y"]), "groups, row 1, g, group 'x': share is not a number of at least"),
        (frame(item=[], group=[]), "groups: no item is listed"),
        ({}, "groups: no item is listed"),
        (frame(item=["a"]), "groups: no grouping is given"),
    ],
)
def test_faults_of_groups(groups: object, message: str) -> None:
    with pytest.raises(EvenrankError) as caught:
        evenrank.score(RUN, groups, target="equal")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"relevance": {"q": [["a"], "b"]}}, "relevance, entry 1: item id is neither a string nor an integer: ['a']"),
        ({"relevance": {None: ["a"]}}, "relevance, entry 1: no query id: None"),
        ({"relevance": {"q": {"a": np.inf}}}, "relevance, query 'q', item 'a': grade is not a finite number: inf"),
        ({"target": frame(group=["x", None], share=[0.5, 0.5])}, "target, row 2: no group is named:"),
        ({"target": frame(group=["x", "y"], share=[0, 0])}, "target, grouping group: no share is above 0"),
        ({"target": {"x": 1j, "y": 1}}, "target, group 'x': share is not a number of at least 0: 1j"),
        ({"measures": []}, "measures: none is named"),
    ],
)
def test_faults_of_other_inputs(given: dict[str, object], message: str) -> None:
    with pytest.raises(EvenrankError) as caught:
        evenrank.score(RUN, GROUPS, **given)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "rankings",
    [
        RUN.set_index(["query", "item"]),
        RUN.set_index(["query", "item"])["score"],
        RUN.astype({"query": "category", "item": "category"}),
        RUN.assign(score=[Decimal("0.5"), Decimal("0.25")]),
        RUN.assign(Item=["b", "a"]),
        pl.DataFrame(RUN.to_dict("list")).with_columns(pl.col("item").cast(pl.Categorical)),
        pd.Series([["a", "b"]], index=["q"]),
        pd.Series({"a": 0.9, "b": 0.5}),
        RUN.iloc[::-1],
    ],
)
def test_rankings_in_other_forms(rankings: object) -> None:
    assert evenrank.score(rankings, GROUPS, target="equal").scores == EXPECTED
    (ranked,) = evenrank.rerank(rankings, GROUPS, target="equal").to_dict().values()
    assert ranked == ["a", "b"]


@pytest.mark.parametrize(
    "groups",
    [
        frame(item=["a", "b"], g=[["x"], ("y",)]),
        frame(item=["a", "b"], g=[{"x": 1.0}, {"y": Decimal(1)}]),
        pl.DataFrame({"item": ["a", "b"], "g": [["x"], ["y"]]}),
        {"a": {"x": np.float32(1)}, "b": {"y": Decimal(1)}},
        pl.DataFrame({"item": ["a", "b"], "g": ["x", "y"]}).with_columns(pl.col("g").cast(pl.Enum(["x", "y"]))),
    ],
)
def test_groups_in_other_forms(groups: object) -> None:
    assert evenrank.score(RUN, groups, target="equal").scores == EXPECTED
    shared = evenrank.score(RUN, frame(item=["a", "b"], g=[["x", "y"], None]), target="equal")
    assert [share.attention for share in shared.shares] == [0.5, 0.5]


def test_targets_and_keys_of_other_types() -> None:
    half = {"x": Decimal("0.5"), "y": Decimal("0.5")}
    assert evenrank.score(RUN, GROUPS, target=half).scores == EXPECTED
    found = evenrank.rerank({np.int64(7): {"a": 0.9, "b": 0.5}}, GROUPS).to_dict()
    assert [type(key) for key in found] == [int]


def test_a_query_is_ranked_again_once() -> None:
    """Several rankings of a query would overwrite each other."""
    with pytest.raises(EvenrankError) as caught:
        evenrank.rerank({"q": [["a", "b"], ["b", "a"]], "p": ["a"]}, GROUPS)
    assert "several rankings of one query: 'q' (give the items of a query once)" in str(caught.value)
    with pytest.raises(EvenrankError, match=r"n_rankings is 1000000 \(from 1 to 100,000\)"):
        evenrank.rerank(RUN, GROUPS, n_rankings=1_000_000)


@pytest.mark.parametrize("name", ["score", "rerank"])
def test_commands_report_all_faults_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("query,item,score\nq,a,1_0\nq,,0.5\n,b,inf\nq,c,0.1\nq,c,0.2\n", "utf-8")
    (tmp_path / "groups.csv").write_text("item,group,share\na,x,nan\nb,y,-1\n", "utf-8")
    (tmp_path / "target.csv").write_text("group,share\nz,1\n", "utf-8")
    files = [f"--{one}={tmp_path / one}.csv" for one in ("run", "groups", "target")]
    done = CliRunner().invoke(cli, [name, *files])
    text = str(done.exception).replace(f"{tmp_path}/", "")
    assert isinstance(done.exception, EvenrankError)
    for fault in (
        "run.csv, line 2: score is not a finite number: '1_0'",
        "run.csv, line 3: no item id: ''",
        "run.csv, line 4: no query id: ''",
        "run.csv, line 4: score is not a finite number: 'inf'",
        "item appears twice in one ranking: 'c'",
        "groups.csv, line 2: share is not a finite number: 'nan'",
        "groups.csv, line 3: share is below 0: '-1'",
        "target.csv, line 2: unknown group 'z'; choose from x, y",
    ):
        assert fault in text, text
