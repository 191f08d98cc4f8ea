"""`evenrank.score`: worked by hand, against other implementations, and the same from every form of input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import evenrank
from evenrank.errors import EvenrankError, InputError, UnknownNameError, WrongTypeError
from evenrank.measures.awrf import awrf

RANKINGS = {"q1": ["a", "b", "c"], "q2": ["d", "a"]}
GROUPS = {"a": "x", "b": "y", "c": "y", "d": "x"}
RELEVANCE = {"q1": {"a": 1, "c": 2}, "q2": {"d": 1}}


def test_by_hand() -> None:
    found = evenrank.score(RANKINGS, GROUPS, RELEVANCE, target={"x": 0.5, "y": 0.5})
    w3 = 1.0 / math.log2(3)
    first = found["rankings"].queries["q1"]
    assert first["nDCG"] == pytest.approx((1.0 + 2.0 * w3) / (2.0 + 1.0))
    assert first["P"] == pytest.approx(2 / 3)
    exposure = np.array([1.0, 1.0 + w3])
    assert first["AWRF"] == pytest.approx(awrf(exposure, np.array([0.5, 0.5])))
    assert first["Score"] == pytest.approx(first["nDCG"] * first["AWRF"])
    second = found["rankings"].queries["q2"]
    assert (second["nDCG"], second["P"]) == (1.0, 0.5)
    assert found.scores["nDCG"] == pytest.approx((first["nDCG"] + 1.0) / 2)
    by_group = {share.group: share for share in found.shares}
    assert by_group["x"].attention == pytest.approx((1.0 / (2.0 + w3) + 1.0) / 2)
    assert by_group["y"].target == 0.5


def test_same_scores_as_the_track_on_its_own_data(golden_collection: Any, golden_runs: list[Path]) -> None:
    run = evenrank.read_run(golden_runs[0])
    settings: dict[str, Any] = {"groups": "geography", "normalised": "all", "missing_topic": "skipped"}
    official = evenrank.evaluate(golden_collection, run, "paper-2021", **settings).runs[0]
    wanted = evenrank.targets(golden_collection, 1, "paper-2021", "geography", normalised="all").to_pandas()
    space = golden_collection.space("geography")
    names = space.dimensions[0].groups
    masks = golden_collection.masks["geography"]
    pages = np.unique(run.pages)
    rows = golden_collection.rows_of(pages)
    groups = {
        int(page): {names[bit]: 1.0 / int(mask).bit_count() for bit in range(len(names)) if int(mask) >> bit & 1}
        for page, mask in zip(pages[rows >= 0], masks[rows[rows >= 0]], strict=True)
    }
    listed = dict.fromkeys(names[1:], 1.0)
    mine = evenrank.score(
        {topic: list(map(int, page_ids)) for topic, _, page_ids in run.rankings()},
        {**groups, -1: listed},
        relevance={topic.id: [int(page) for page in topic.rel_docs] for topic in golden_collection.topics},
        target={topic: dict(row) for topic, row in wanted.iterrows() if topic in official.topics},
    )
    for topic, scores in official.topics.items():
        assert mine["rankings"].queries[topic]["AWRF"] == pytest.approx(scores["AWRF"], abs=1e-9)


@pytest.mark.long
def test_ndcg_is_that_of_ranx() -> None:
    ranx = pytest.importorskip("ranx")
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 4, 30)) if g} for q in range(5)}
    run = {f"q{q}": {f"d{d}": float(s) for d, s in enumerate(rng.random(30))} for q in range(5)}
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "precision@10"])
    mine = evenrank.score(ranx.Run(run), relevance=ranx.Qrels(qrels), attention="dcg", k=10)
    assert mine.scores["nDCG"] == pytest.approx(theirs["ndcg@10"], abs=1e-9)
    assert mine.scores["P"] == pytest.approx(theirs["precision@10"], abs=1e-9)


def _polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").DataFrame(frame.to_dict("list"))  # from_pandas would need pyarrow


RANKING_FRAME = pd.DataFrame(
    [(q, item, rank) for q, items in RANKINGS.items() for rank, item in enumerate(items, 1)],
    columns=["qid", "docno", "rank"],
)
GROUP_FRAME = pd.DataFrame({"item": list(GROUPS), "group": list(GROUPS.values())})
GRADE_FRAME = pd.DataFrame(
    [(q, item, grade) for q, items in RELEVANCE.items() for item, grade in items.items()],
    columns=["query_id", "doc_id", "relevance"],
)


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


class Scored(NamedTuple):
    query_id: str
    doc_id: str
    score: float


@pytest.mark.parametrize("form", ["pandas", "polars", "shuffled", "records", "scores", "files", "structured"])
def test_every_form_of_input_gives_the_same(form: str, tmp_path: Path) -> None:
    wanted = evenrank.score(RANKINGS, GROUPS, RELEVANCE).scores
    rankings: Any = RANKING_FRAME
    groups: Any = GROUP_FRAME
    relevance: Any = GRADE_FRAME
    if form == "polars":
        rankings, groups, relevance = map(_polars, (rankings, groups, relevance))
    elif form == "shuffled":
        rankings = rankings.sample(frac=1, random_state=1)
        groups = groups.set_index("item")
    elif form == "records":
        rankings = [Scored(q, d, -r) for q, d, r in RANKING_FRAME.itertuples(index=False)]
        relevance = [Qrel(*row) for row in GRADE_FRAME.itertuples(index=False)]
    elif form == "scores":
        rankings = {q: {item: -rank for rank, item in enumerate(items)} for q, items in RANKINGS.items()}
        groups = {item: {group: 1.0} for item, group in GROUPS.items()}
    elif form == "structured":
        rankings = RANKING_FRAME.to_records(index=False)
    elif form == "files":
        lines = [f"{q} Q0 {d} {r} {9 - r} me\n" for q, d, r in RANKING_FRAME.itertuples(index=False)]
        rankings = tmp_path / "run.trec"
        rankings.write_text("".join(lines))
        groups = tmp_path / "groups.csv"
        GROUP_FRAME.to_csv(groups, index=False)
        relevance = tmp_path / "qrels.txt"
        relevance.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in GRADE_FRAME.itertuples(index=False)))
    assert evenrank.score(rankings, groups, relevance).scores == pytest.approx(wanted)


def test_several_systems_rankings_and_groupings() -> None:
    groupings = {"size": GROUPS, "age": {"a": "old", "b": "new", "c": "old"}}
    other = {"q1": [["c", "a"], ["b", "c"]], "q2": [["a", "d"]]}
    found = evenrank.score({"one": RANKINGS, "two": other}, groupings, RELEVANCE, target="equal")
    assert [one.system for one in found.systems] == ["one", "two"]
    assert {measure.key for measure in found.columns} >= {"AWRF", "AWRF[size]", "AWRF[age]", "EE-L", "EE-D", "EE-R"}
    for system in found.systems:
        for scores in system.queries.values():
            assert scores["EE-L"] >= 0.0
    assert "of 4 ranked items lack a group in some groupings and count there in none" in found.notes[0]
    with pytest.raises(EvenrankError, match="several systems"):
        found.scores  # noqa: B018
    with pytest.raises(UnknownNameError, match="did you mean 'one'"):
        found["onee"]


class ItemListCollection:
    """Offers what LensKit's class of this name offers: a frame with user_id, item_id, rank and score."""

    def to_df(self) -> pd.DataFrame:
        return RANKING_FRAME.rename(columns={"qid": "user_id", "docno": "item_id"})


def test_objects_that_give_frames_are_read_as_frames() -> None:
    wanted = evenrank.score(RANKINGS, GROUPS, RELEVANCE).scores
    assert evenrank.score(ItemListCollection(), GROUPS, RELEVANCE).scores == pytest.approx(wanted)


def test_results_in_many_forms(tmp_path: Path) -> None:
    found = evenrank.score(RANKINGS, GROUPS, RELEVANCE)
    assert list(found.to_pandas().columns) == ["system", "queries", "nDCG", "P", "AWRF", "Score"]
    assert len(found.to_pandas(per_query=True)) == 2
    assert found.to_json()["schema"] == "evenrank.score/1"
    assert "<table" in found._repr_html_()
    assert "AWRF" in str(found)
    found.plot().savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_attention_models() -> None:
    values = {
        name: evenrank.score(RANKINGS, GROUPS, target="equal", attention=name).scores["AWRF"]
        for name in ("log", "dcg", "rbp(0.5)", "reciprocal", "uniform")
    }
    assert len(set(values.values())) == 5
    own = evenrank.score(RANKINGS, GROUPS, target="equal", attention=[1.0, 0.5, 1 / 3]).scores["AWRF"]
    assert own == pytest.approx(values["reciprocal"])
    for wrong in ("rpb", "rbp(2)", "dcg(1)", [0.0], [float("nan")], 3):
        with pytest.raises(EvenrankError):
            evenrank.score(RANKINGS, GROUPS, target="equal", attention=wrong)  # type: ignore[arg-type]


def test_readers_who_stop_at_relevant_items() -> None:
    """With `gerr` attention halves behind a relevant item; nDCG keeps its discount, which is that of the rank."""
    inputs = {"q": ["a", "b", "c"]}, {"a": "x", "b": "y", "c": "x"}, {"q": ["a"]}, "equal"
    stopped, by_rank = (evenrank.score(*inputs, attention=one) for one in ("gerr:0.5,0.5", "rbp:0.5"))
    shares = {share.group: share.attention for share in stopped.shares}
    assert shares == pytest.approx({"x": (1 + 1 / 8) / (1 + 1 / 4 + 1 / 8), "y": (1 / 4) / (1 + 1 / 4 + 1 / 8)})
    assert stopped.scores["nDCG"] == evenrank.score(*inputs).scores["nDCG"]
    assert stopped.scores["AWRF"] < by_rank.scores["AWRF"]
    bounded = evenrank.score(*inputs, attention="gerr:0.5,0.5", bounds=True, uncertainty="missing")
    assert bounded.bounds.runs[0].scores["AWRF"] is None
    assert bounded.uncertainty[1].means[-1].recorded == stopped.scores["Score"]
    with pytest.raises(EvenrankError, match="give relevance"):
        evenrank.score(*inputs[:2], attention="gerr")


def test_hostile_frames_are_reported_at_once_with_rows() -> None:
    rankings = pd.DataFrame(
        {
            "query": ["q", "q", None, "r", "r", "r"],
            "item": ["x", "x", "y", 3, None, "z"],
            "score": [2.0, 1.0, 3.0, float("nan"), 1.0, float("inf")],
        }
    )
    groups = pd.DataFrame({"item": ["x", "y", "y"], "group": ["g", "h", "g"], "share": [0.5, float("nan"), -1.0]})
    with pytest.raises(InputError) as caught:
        evenrank.score(rankings, groups, target={"zz": 1.0, "g": float("nan")})
    text = str(caught.value)
    for said in (
        "rankings, row 5: no item id",
        "rankings, row 4: item id is not a string",
        "rankings, row 3: no query id",
        "rankings, row 4: score is not a finite number: nan",
        "rankings, row 6: score is not a finite number: inf",
        "rankings, row 2: item appears twice in one ranking: 'x'",
        "groups, row 2: share is not a finite number",
        "groups, row 3: share is below 0",
        "unknown group 'zz'; choose from g, h",
        "share is not a number of at least 0: nan",
    ):
        assert said in text
    with pytest.raises(InputError, match=r"query 'q'.*no item is ranked"):
        evenrank.score({"q": [], "r": ["x"]}, {"x": "g"})
    many = pd.DataFrame({"query": [None] * 100, "item": ["x"] * 100})
    with pytest.raises(InputError, match="more faults"):
        evenrank.score(many, {"x": "g"})


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3, GROUPS), WrongTypeError, "rankings: a value of type int is not accepted"),
        (({"q": 3}, GROUPS), WrongTypeError, "ranking of query 'q'"),
        ((RANKINGS, 3), WrongTypeError, "groups: a value of type int is not accepted"),
        ((RANKINGS, GROUPS, 3), WrongTypeError, "relevance: a value of type int is not accepted"),
        ((RANKINGS, GROUPS, None, 3), WrongTypeError, "target: a value of type int is not accepted"),
        ((RANKINGS, GROUPS, None, "eqal"), UnknownNameError, "did you mean 'equal'"),
        ((RANKINGS, GROUPS, None, "relevant"), EvenrankError, "needs relevance"),
        ((RANKINGS,), EvenrankError, "nothing to score by"),
        ((RANKINGS, GROUPS, None, None, ["nDCG"]), EvenrankError, "measure nDCG needs relevance"),
        ((RANKINGS, GROUPS, None, None, ["AWFR"]), UnknownNameError, "did you mean 'AWRF'"),
        ((pd.DataFrame({"a": [1]}), GROUPS), EvenrankError, "no column item or item_id"),
        (("nowhere.csv", GROUPS), EvenrankError, "no such file"),
    ],
)
def test_wrong_input_is_named(arguments: tuple[Any, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        evenrank.score(*arguments)
