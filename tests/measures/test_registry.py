"""What holds for every measure of the registry: facts, ranges, empty rankings, depth, names."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import evenrank
from evenrank.cli.metrics import command as metrics_command
from evenrank.core.alignment import Alignment
from evenrank.core.problem import QueryBatch, QueryView
from evenrank.core.protocol import PROTOCOLS
from evenrank.errors import EvenrankError
from evenrank.measures import awrf, expected_exposure, prefix, relevance
from evenrank.measures.measure import Measure, lifted
from evenrank.measures.registry import MAIN, MEASURES, as_measure, chosen_measures, measures_of
from evenrank.scoring.compare import compare
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.results import measure_interval
from evenrank.testing import check_measure

from .conftest import Relevant

BUILT_IN = tuple(MEASURES.builtin.values())
CASES = [pytest.param(m, task, id=f"{m.name} task {task}") for m in BUILT_IN for task in m.tasks]
N_GROUPS = 5


@st.composite
def views(draw: st.DrawFn, task: int) -> QueryView:
    """Any rankings of distinct pages in any groups, with any relevance and any target, empty ones included."""
    n_rankings = 1 if task == 1 else draw(st.integers(1, 4))
    lengths = [draw(st.integers(0, 8)) for _ in range(n_rankings)]
    n_pages = sum(lengths)
    relevant = draw(st.lists(st.booleans(), min_size=n_pages, max_size=n_pages))
    groups = draw(st.lists(st.integers(0, N_GROUPS - 1), min_size=n_pages, max_size=n_pages))
    shares = st.one_of(st.just(0.0), st.floats(0.01, 1.0))
    target = np.array(draw(st.lists(shares, min_size=N_GROUPS, max_size=N_GROUPS)))
    protocol = PROTOCOLS[draw(st.sampled_from(list(PROTOCOLS)))]
    pages = np.concatenate([draw(st.permutations(range(1, 9)))[:n] for n in lengths] or [[]]).astype(np.int32)
    return QueryView(
        QueryBatch(
            attention_model=protocol.attention_model,
            protocol=protocol,
            items=pages,
            pairs=np.zeros(n_pages, np.intp),
            ranks=np.concatenate([np.arange(n) for n in lengths] or [[]]).astype(np.intp),
            rankings=np.repeat(np.arange(n_rankings), lengths).astype(np.intp),
            n_rankings=np.array([n_rankings]),
            depth=np.array([8]),
            ideal_depth=np.array([8]),
            gains=np.array(relevant, bool),
            n_relevant=np.array([8 + draw(st.integers(0, 5))]),
            alignment=Alignment(np.eye(N_GROUPS), np.array(groups, np.intp)),
            full_target=(target / max(target.sum(), 1e-9))[None],
            relevant_items=Relevant(
                np.arange(1, 9, dtype=np.int32),
                np.array(draw(st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8))),
                Alignment(
                    np.eye(N_GROUPS), np.array(draw(st.lists(st.integers(0, 4), min_size=8, max_size=8)), np.intp)
                ),
            ),
            drops_unknown=task == 1 and not protocol.keeps_unknown_task1,
            is_share=task == 1,
            relevant_only=task == 2 and protocol.relevant_exposure,
            is_ordered=draw(st.booleans()),
            is_exact=True,
        )
    )


@pytest.mark.parametrize(("measure", "task"), CASES)
@given(data=st.data())
def test_the_value_lies_in_the_range_or_is_undefined(measure: Measure, task: int, data: st.DataObject) -> None:
    value = measure(data.draw(views(task)))
    assert math.isnan(value) or measure.low - 1e-9 <= value <= measure.high + 1e-9


@pytest.mark.parametrize(("measure", "task"), CASES)
@given(data=st.data())
def test_an_empty_ranking_has_the_stated_value(measure: Measure, task: int, data: st.DataObject) -> None:
    view = data.draw(views(task))
    stated = measure.empty_value(view)
    assert measure(view.emptied()) == pytest.approx(stated, nan_ok=True)


@pytest.mark.parametrize(("measure", "task"), CASES)
@given(data=st.data())
def test_a_depth_that_cuts_nothing_changes_nothing(measure: Measure, task: int, data: st.DataObject) -> None:
    view = data.draw(views(task))
    assert measure.at(view.depth)(view) == pytest.approx(measure(view), nan_ok=True)


@pytest.mark.parametrize("measure", BUILT_IN, ids=lambda measure: measure.name)
def test_every_measure_states_its_facts(measure: Measure) -> None:
    assert measure.low < measure.high
    assert measure.tasks
    assert set(measure.official_in) <= set(measure.tasks)
    assert all((measure.label, measure.formula, measure.citation))
    assert not (measure.on_request and measure.official_in)
    assert measure.facts()["name"] == measure.name


def test_every_measure_has_a_case_worked_by_hand() -> None:
    """A measure is called by its name in the tests of values; a new one without such a case fails here."""
    cases = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*_measures.py"))
    families = (awrf, expected_exposure, prefix, relevance)
    names = {one: name for family in families for name, one in vars(family).items() if isinstance(one, Measure)}
    assert [measure.name for measure in BUILT_IN if f"{names[measure]}(" not in cases] == []


@settings(max_examples=30)
@given(data=st.data(), task=st.sampled_from([1, 2]))
def test_a_batch_gives_what_its_views_give(data: st.DataObject, task: int) -> None:
    """Every measure over several queries at once, against one query at a time in the published order of sums."""
    common = {"protocol": PROTOCOLS["paper-2021"], "is_ordered": True, "drops_unknown": task == 1}
    found = [replace(data.draw(views(task)).batch, **common, relevant_only=False) for _ in range(3)]
    batch = joined(found)
    for measure in (one for one in BUILT_IN if task in one.tasks):
        if "item" in measure.name or measure.name in ("L2UEXP", "TotUEXP", "Gini"):
            continue  # these need the judged items of each query, which a batch of topics does not hold
        for variant in (measure, measure.at(3)):
            apart = [float(variant.over(one)[0]) for one in found]
            assert variant.over(batch) == pytest.approx(apart, nan_ok=True, abs=1e-9), variant.key


def joined(batches: list[QueryBatch]) -> QueryBatch:
    """One batch of several of one pair each."""

    def rows(name: str) -> np.ndarray:
        return np.concatenate([getattr(one, name) for one in batches])

    lengths = [len(one.items) for one in batches]
    pairs = np.repeat(np.arange(len(batches)), lengths)
    whole = {name: rows(name) for name in ("items", "ranks", "gains", "n_rankings", "depth", "ideal_depth")}
    types = np.concatenate([one.alignment.page_type for one in batches])
    return replace(
        batches[0],
        **whole,
        pairs=pairs,
        rankings=pairs * 100 + rows("rankings"),
        n_relevant=rows("n_relevant"),
        alignment=Alignment(np.eye(N_GROUPS), types.astype(np.intp)),
        full_target=rows("full_target"),
        is_exact=False,
        values={},
    )


def test_names_are_unique_and_main_measures_are_official() -> None:
    assert len({measure.name.casefold() for measure in BUILT_IN}) == len(BUILT_IN)
    assert all(task in measure.official_in for task, measure in MAIN.items())


def test_measures_by_name() -> None:
    assert as_measure("ndcg@10", 1).key == "nDCG@10"
    assert as_measure("EE-L", 2) is MAIN[2]
    assert [m.key for m in chosen_measures("P@5, nDCG", 1)] == ["P@5", "nDCG", "Score"]
    assert [m.key for m in chosen_measures(["EE-D", "AWRF"], 2)] == ["EE-D", "EE-L"]
    assert chosen_measures((), 1) == measures_of(1)
    assert set(chosen_measures("all", 2)) == {m for m in BUILT_IN if 2 in m.tasks}


@pytest.mark.parametrize(
    ("name", "said"), [("nDGC", "unknown measure of Task 1 'nDGC'; choose from"), ("P@0", "@"), ("P@x", "@")]
)
def test_unknown_names_and_depths_are_refused(name: str, said: str) -> None:
    with pytest.raises(EvenrankError, match=said):
        chosen_measures([name], 1)


@pytest.mark.parametrize("measure", BUILT_IN, ids=lambda measure: measure.name)
def test_built_in_measures_pass_the_checks_that_others_can_run(measure: Measure) -> None:
    check_measure(measure)


def test_a_function_becomes_a_measure() -> None:
    @evenrank.measure("FirstRelevant", tasks=(1, 2), higher_is_better=True, low=0.0, high=1.0)
    def first_relevant(view: QueryView) -> float:
        """The reciprocal of the first rank that has a relevant page."""
        ranks = view.ranks[view.is_relevant]
        return 1.0 / (1 + ranks.min()) if len(ranks) else 0.0

    check_measure(first_relevant)
    assert as_measure(first_relevant, 2) is first_relevant
    assert first_relevant.facts()["label"] == "The reciprocal of the first rank that has a relevant page"
    rankings = {"q": ["a", "b", "c"], "r": ["b", "a"]}
    found = evenrank.score(rankings, relevance={"q": ["b"], "r": ["b"]}, measures=[first_relevant, "MRR"])
    assert found.scores == {"FirstRelevant": 0.75, "MRR": 0.75}
    with pytest.raises(EvenrankError, match="a word without @"):
        evenrank.measure("a@b")
    with pytest.raises(EvenrankError, match="gave str"):
        evenrank.score(rankings, relevance={"q": ["b"]}, measures=evenrank.measure("odd")(lambda view: "no"))


@pytest.mark.parametrize(
    ("facts", "said"),
    [({"low": 0.5}, "is not from 0.5 to inf"), ({"if_empty": 0.3}, "if_empty says 0.3"), ({"high": 0.2}, "to 0.2")],
)
def test_checks_fail_for_a_careless_measure(facts: dict, said: str) -> None:
    careless = evenrank.measure("careless", **facts)(lambda view: float(view.is_relevant.sum()))
    with pytest.raises(AssertionError, match=said):
        check_measure(careless)


def test_headings(make_view: Callable[..., QueryView]) -> None:
    paper = PROTOCOLS["paper-2021"]
    assert as_measure("P", 2).heading(2, paper) == "P@50"
    assert as_measure("nDCG", 1).heading(1, paper) == "nDCG"
    assert as_measure("nDCG", 2).heading(2, paper) == "nDCG@50"
    assert as_measure("AWRF@10", 1).heading(1, paper) == "AWRF@10"


def test_one_line_brings_a_new_measure_everywhere(
    monkeypatch: pytest.MonkeyPatch, golden_collection, golden_runs
) -> None:
    """A measure in the list is computed, has intervals and tests, and is listed by the command."""
    first = Measure(
        name="RR",
        tasks=(1,),
        label="how early the first relevant page comes",
        formula="1 / rank of the first relevant page",
        higher_is_better=True,
        low=0.0,
        high=1.0,
        if_empty=0.0,
        citation="reciprocal rank",
        compute=lifted(lambda view: 1.0 / (1 + int(view.is_relevant.argmax())) if view.is_relevant.any() else 0.0),
    )
    monkeypatch.setitem(MEASURES.builtin, "RR", first)
    results = evaluate(golden_collection, golden_runs[:2], n_resamples=99)
    assert all(0.0 < run.scores["RR"] <= 1.0 for run in results.runs)
    interval = measure_interval(results.runs[0], "RR", results.protocol)
    assert interval.low <= results.runs[0].scores["RR"] <= interval.high
    assert "RR" in {row.measure for row in compare(results, "T1syn00", measures=["RR"]).rows}
    assert "RR" in str(results)
    assert "reciprocal rank" in CliRunner().invoke(metrics_command, ["--format", "json"]).output
