"""The same rankings, groups and relevance through plain tables and through a collection: the same numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evenrank
from evenrank.cli.main import cli
from evenrank.core.records import Run, Task
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MEASURES
from evenrank.trec.import_files import ImportFiles, import_collection

N_PAGES, N_TOPICS, DEPTH = 24, 3, 6
CONTINENTS = ("Africa", "Asia", "Europe", "Oceania")
GENDERS = ("female", "male")
PROTOCOL: dict[str, Any] = {
    "blend": 0.0,
    "depth": DEPTH,
    "normalised": "all",
    "missing_topic": "skipped",
    "missing_ranking": "skipped",
    "n_resamples": 2,
}
"""The choices of plain tables: targets as the relevant items, double precision, base 2."""


@dataclass(frozen=True)
class Case:
    """What differs between two ways of grouping the same pages, and how people read them."""

    dimensions: tuple[str, ...] = ("geography",)
    """One, or the intersections of two."""
    n_continents: tuple[int, int] = (1, 1)
    """Least and most continents of a page; a page of several is shared between them, one of none counts in none."""
    attention: str = "log"
    tasks: tuple[Task, ...] = (1, 2)


CASES = {
    "one group a page": Case(),
    "pages of several groups": Case(n_continents=(1, 3)),
    "pages without a group": Case(n_continents=(0, 2), tasks=(1,)),
    "intersections": Case(dimensions=("geography", "gender")),
    "intersections and several groups": Case(dimensions=("geography", "gender"), n_continents=(1, 3)),
    "other attention": Case(attention="rbp:0.8"),
}


@dataclass(frozen=True)
class Made:
    """The same pages as a collection and as plain tables."""

    collection: evenrank.Collection
    groups: dict[str, dict[int, list[str]]]
    relevant: dict[int, list[int]]


def make_collection(folder: Path, case: Case) -> Made:
    """A collection of pages of one quality class, and topics with some of them relevant."""
    rng = np.random.default_rng(5)
    least, most = case.n_continents
    pages = range(1, N_PAGES + 1)
    continents = {page: rng.choice(CONTINENTS, int(rng.integers(least, most + 1)), False).tolist() for page in pages}
    genders = {page: [GENDERS[int(rng.integers(2))]] for page in pages}
    relevant = {topic: sorted(map(int, rng.choice(N_PAGES, 9, replace=False) + 1)) for topic in range(1, N_TOPICS + 1)}
    metadata = folder / "metadata.jsonl"
    records = [
        {
            "page_id": page,
            "quality_score": 0.5,
            "quality_score_disc": "C",
            "geographic_locations": continents[page],
            "gender": genders[page],
        }
        for page in pages
    ]
    metadata.write_text("".join(json.dumps(record) + "\n" for record in records))
    topics = folder / "topics.jsonl"
    rows = [{"id": t, "title": f"topic {t}", "keywords": [], "rel_docs": pages} for t, pages in relevant.items()]
    topics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    groups = {"geography": continents, "gender": genders}
    collection = import_collection(folder / "c", ImportFiles(metadata=metadata, topics=topics))
    return Made(collection, {name: groups[name] for name in case.dimensions}, relevant)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    return {name: make_collection(tmp_path_factory.mktemp("one"), case) for name, case in CASES.items()}


@pytest.mark.parametrize(("case", "task"), [(name, task) for name, case in CASES.items() for task in case.tasks])
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_tables_and_a_collection_give_the_same_numbers(made: dict[str, Made], case: str, task: Task, seed: int) -> None:
    """Where attention is not `log`, nDCG differs on purpose: a collection keeps the logarithm in it.

    In Task 2 a collection counts pages without a group as a group, which plain tables do not.
    """
    given, chosen, rng = made[case], CASES[case], np.random.default_rng(seed)
    n_rankings = 1 if task == 1 else 3
    rankings = {
        topic: [(rng.permutation(N_PAGES)[:DEPTH] + 1).tolist() for _ in range(n_rankings)] for topic in given.relevant
    }
    run = Run.from_rankings(
        "run", task, [(t, n + 1, np.array(r, np.int32)) for t, many in rankings.items() for n, r in enumerate(many)]
    )
    of_gain = () if chosen.attention == "log" else ("nDCG", "Score")
    names = [m.name for m in MEASURES.builtin.values() if task in m.tasks and m.name not in of_gain]
    names += [f"{name}@3" for name in names]
    read: dict[str, Any] = {"measures": names, "attention": chosen.attention}
    ours = evenrank.score(rankings, given.groups, given.relevant, k=DEPTH, **read).runs[0]
    groups = ",".join(chosen.dimensions)
    theirs = evenrank.evaluate(given.collection, run, "paper-2021", groups, **read, **PROTOCOL).runs[0]
    for topic, scores in theirs.topics.items():
        own, found = ({name: values[name] for name in names} for values in (ours.queries[topic], scores))
        assert own == pytest.approx(found, abs=1e-9, nan_ok=True), topic


@pytest.mark.parametrize("missing", ["skip", "empty"])
@pytest.mark.parametrize(("case", "task"), [("pages of several groups", 1), ("intersections and several groups", 2)])
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_short_rankings_and_unanswered_queries_count_alike(
    made: dict[str, Made], case: str, task: Task, missing: Literal["skip", "empty"], seed: int
) -> None:
    given, rng = made[case], np.random.default_rng(seed)
    answered = [topic for topic in given.relevant if topic != 1 + seed % N_TOPICS]
    rankings = {
        topic: [
            (rng.permutation(N_PAGES)[: rng.integers(1, DEPTH + 1)] + 1).tolist() for _ in range(1 if task == 1 else 3)
        ]
        for topic in answered
    }
    run = Run.from_rankings(
        "run", task, [(t, n + 1, np.array(r, np.int32)) for t, many in rankings.items() for n, r in enumerate(many)]
    )
    names = [measure.name for measure in MEASURES.builtin.values() if task in measure.tasks]
    ours = evenrank.score(rankings, given.groups, given.relevant, k=DEPTH, measures=names, missing=missing).runs[0]
    protocol = PROTOCOL | {"missing_topic": "empty" if missing == "empty" else "skipped"}
    groups = ",".join(CASES[case].dimensions)
    theirs = evenrank.evaluate(given.collection, run, "paper-2021", groups, measures=names, **protocol).runs[0]
    assert set(ours.queries) == set(theirs.topics) == set(given.relevant if missing == "empty" else answered)
    for topic, scores in theirs.topics.items():
        own, found = ({name: values[name] for name in names} for values in (ours.queries[topic], scores))
        assert own == pytest.approx(found, abs=1e-9, nan_ok=True), topic


def test_the_relevant_items_themselves_are_fair_over_intersections() -> None:
    """A target `as the relevant items` is that of their intersections, and no product of shares."""
    groups = {"place": {"a": "here", "b": "there"}, "age": {"a": "old", "b": "young"}}
    found = evenrank.score({"q": [["a", "b"], ["b", "a"]]}, groups, {"q": ["a", "b"]}, measures=["AWRF", "EE-L"])
    assert found.scores["AWRF"] == pytest.approx(1.0)
    assert found.scores["EE-L"] == pytest.approx(0.0)
    fair = evenrank.rerank({"q": {"a": 0.8, "b": 0.8}}, groups, k=2, n_rankings=2)
    assert fair.certificate["EE-L"] == pytest.approx(0.0, abs=1e-9)
    by_population = evenrank.score({"q": [["a", "b"], ["b", "a"]]}, groups, target="population")
    assert by_population.scores["EE-L"] == pytest.approx(0.0)


def test_every_measure_of_a_collection_is_offered_by_tables(made: dict[str, Made]) -> None:
    plain = made["one group a page"]
    group, relevant = plain.groups["geography"], plain.relevant
    found = evenrank.score({t: pages[:4] for t, pages in relevant.items()}, group, relevant, measures="all")
    assert set(found.scores) == set(MEASURES.builtin)
    alone = evenrank.score({t: pages[:4] for t, pages in relevant.items()}, relevance=relevant, measures="all")
    assert set(alone.scores) == {m.name for m in MEASURES.builtin.values() if not m.needs_groups}
    with pytest.raises(EvenrankError, match="measure AWRF@5 needs groups"):
        evenrank.score({1: [1]}, relevance=relevant, measures="AWRF@5")


SYSTEMS = {
    "whole": {f"q{n}": ["a", "b", "c"] for n in range(8)},
    "half": {f"q{n}": ["b", "c", "a"] for n in range(4)},
}
GROUPS = {"a": "x", "b": "y", "c": "y"}
RELEVANCE = {f"q{n}": {"a": 2, "c": 1} for n in range(8)}


def test_a_missing_query_is_left_out_or_empty_and_said_so() -> None:
    skipped = evenrank.score(SYSTEMS, GROUPS, RELEVANCE)
    assert (len(skipped["whole"].queries), len(skipped["half"].queries)) == (8, 4)
    assert "half: 4 of 8 queries without a ranking, left out of its means: q4, q5, q6, q7" in skipped.notes
    empty = evenrank.score(SYSTEMS, GROUPS, RELEVANCE, missing="empty")
    assert len(empty["half"].queries) == 8
    assert empty["half"].queries["q7"] == {"nDCG": 0.0, "P": 0.0, "AWRF": 0.0, "Score": 0.0}
    assert empty["half"].scores["nDCG"] == pytest.approx(skipped["half"].scores["nDCG"] / 2)
    assert empty["whole"].scores == skipped["whole"].scores
    assert "half: 4 of 8 queries without a ranking, scored as empty: q4, q5, q6, q7" in empty.notes
    lone = evenrank.score(SYSTEMS["half"], GROUPS, RELEVANCE, missing="empty")
    assert lone.scores["nDCG"] == pytest.approx(empty["half"].scores["nDCG"])
    with pytest.raises(EvenrankError, match="missing queries"):
        evenrank.score(SYSTEMS, GROUPS, missing="zero")  # type: ignore[arg-type]


def test_systems_in_another_order_of_queries() -> None:
    turned = dict(reversed(SYSTEMS["whole"].items()))
    found = evenrank.score({"one": SYSTEMS["whole"], "two": turned}, GROUPS, RELEVANCE, measures="all")
    assert found["one"].scores == pytest.approx(found["two"].scores, nan_ok=True)


def test_results_of_tables_are_compared_and_have_intervals() -> None:
    rng = np.random.default_rng(1)
    systems = {name: {f"q{n}": list(rng.permutation(list("abc"))) for n in range(12)} for name in ("one", "two")}
    relevance = {f"q{n}": {"a": 2, "c": 1} for n in range(12)}
    found = evenrank.score(systems, GROUPS, relevance)
    assert found.runs is found.systems
    assert found["one"].topics is found["one"].queries
    interval = found["one"].interval
    assert interval.low <= found["one"].scores["Score"] <= interval.high
    compared = evenrank.compare(found, baseline="one")
    assert [row.measure for row in compared.rows] == ["nDCG", "P", "AWRF", "Score"]
    frame = compared.to_pandas()
    assert {"low", "high", "se"} <= set(frame.columns)
    assert not any(isinstance(cell, dict) for cell in frame.to_numpy().reshape(-1))
    with pytest.raises(EvenrankError, match="unknown baseline run 'on'"):
        evenrank.compare(found, baseline="on")


def test_a_target_group_without_items_is_the_worst_unfairness() -> None:
    wanted = {"x": 0.25, "y": 0.25, "nobody": 0.5}
    found = evenrank.score(SYSTEMS["whole"], GROUPS, target=wanted)
    assert 0.0 < found.scores["AWRF"] < evenrank.score(SYSTEMS["whole"], GROUPS, target="equal").scores["AWRF"]
    assert "group: no item belongs to 'nobody', which should get attention" in found.notes
    assert {share.group: share.attention for share in found.shares}["nobody"] == 0.0
    ranked = evenrank.rerank({"q": {"a": 0.9, "b": 0.5, "c": 0.4}}, GROUPS, wanted, k=2)
    assert len(ranked.to_dict()["q"]) == 2
    assert "no item belongs to 'nobody'" in ranked.notes[0]
    with pytest.raises(EvenrankError, match="unknown group 'women'; choose from men, woman; did you mean 'woman'"):
        evenrank.score({"q": ["a"]}, {"a": "men", "b": "woman"}, target={"men": 0.5, "women": 0.5})


def test_scores_that_are_no_probabilities_are_pointed_out() -> None:
    bm25 = {"q": {"a": 23.4, "b": 11.0, "c": 2.5}}
    assert "scores up to 23.4 are taken as expected relevance" in evenrank.rerank(bm25, GROUPS).notes[0]
    assert evenrank.rerank(bm25, GROUPS, relevance="rank").notes == ()


def test_swapped_files_are_refused(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text("q1 Q0 a 1 2.0 me\nq1 Q0 b 2 1.0 me\n")
    qrels.write_text("q1 0 a 1\n")
    swapped = CliRunner().invoke(cli, ["score", "--run", str(qrels), "--qrels", str(run)])
    assert swapped.exit_code != 0
    with pytest.raises(EvenrankError, match=r"judgments .* where rankings are expected"):
        evenrank.score(qrels, relevance=qrels)
    with pytest.raises(EvenrankError, match=r"rankings .* where relevance is expected"):
        evenrank.score(run, relevance=run)
    latex = CliRunner().invoke(cli, ["score", "--run", str(run), "--qrels", str(qrels), "--format", "latex"])
    assert latex.exit_code == 0, latex.output
    assert "\\begin{tabular}" in latex.output
