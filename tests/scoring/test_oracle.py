"""Oracle runs have the precision asked for at every depth, and scores follow it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.records import Run, Task
from evenrank.errors import EvenrankError
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.oracle import _others, oracle_run, relevant_ranks
from evenrank.trec.collection import Collection

PRECISIONS = (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)


@given(
    st.integers(1, 1000),
    st.floats(0, 1, allow_nan=False),
    st.floats(0, 1, exclude_max=True, allow_nan=False),
)
def test_every_depth_has_the_precision_to_within_one_page(length: int, precision: float, offset: float) -> None:
    counts = np.cumsum(relevant_ranks(length, precision, offset))
    assert np.abs(counts - precision * np.arange(1, length + 1)).max() <= 1.0 + 1e-9


def hits_of(collection: Collection, run: Run) -> list[tuple[int, np.ndarray]]:
    relevant = {topic.id: topic.rel_docs for topic in collection.topics}
    return [(topic, np.isin(pages, relevant[topic])) for topic, _, pages in run.rankings()]


@pytest.mark.parametrize("task", [1, 2])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_precision_is_constant_until_relevant_pages_run_out(
    task: Task, precision: float, golden_collection: Collection
) -> None:
    oracle = oracle_run(golden_collection, task, precision, seed=3)
    for topic, hits in hits_of(golden_collection, oracle.run):
        end = oracle.ends.get(topic, len(hits))
        depths = np.arange(1, end + 1)
        slack = 1.0 + 1e-9 if topic not in oracle.ends else 2.0
        assert np.abs(np.cumsum(hits)[:end] - precision * depths).max(initial=0.0) <= slack
    assert all(len(set(pages.tolist())) == len(pages) for _, _, pages in oracle.run.rankings())


def test_where_relevant_pages_run_out_is_said(golden_collection: Collection) -> None:
    oracle = oracle_run(golden_collection, 1, 1.0)
    by_id = golden_collection.topic_by_id
    for topic, rank in oracle.ends.items():
        assert rank == len(golden_collection.relevant_rows(by_id[topic]))
    assert oracle.ends
    assert f"{next(iter(oracle.ends))} (about rank" in oracle.note
    assert oracle_run(golden_collection, 1, 0.0).note == ""


@pytest.mark.parametrize("task", [1, 2])
def test_other_precision_other_pages_and_same_seed_same_pages(task: Task, golden_collection: Collection) -> None:
    runs = [oracle_run(golden_collection, task, precision).run.pages.tobytes() for precision in PRECISIONS]
    assert len(set(runs)) == len(PRECISIONS)
    assert oracle_run(golden_collection, task, 0.6).run.pages.tobytes() == runs[3]
    assert oracle_run(golden_collection, task, 0.6, seed=1).run.pages.tobytes() != runs[3]


@pytest.mark.parametrize("protocol", ["official-2021", "paper-2021"])
def test_scores_follow_precision(protocol: str, golden_collection: Collection) -> None:
    runs = [oracle_run(golden_collection, 1, p, name=f"p{p}").run for p in PRECISIONS]
    results = evaluate(golden_collection, runs, protocol)
    for measure in ("nDCG", "P", "Score"):
        scores = [results[run.name].scores[measure] for run in runs]
        assert scores == sorted(scores)
        n_distinct = 4 if (measure, protocol) == ("P", "paper-2021") else len(PRECISIONS)  # P@1000 sees all pages
        assert len(set(scores)) >= n_distinct, f"{measure}: {scores}"
    assert results["p0.0"].scores["nDCG"] == 0.0
    if protocol == "paper-2021":
        assert results["p1.0"].scores["nDCG"] > 0.99  # a few relevant pages of this collection have no metadata


def test_impossible_precision_is_refused(golden_collection: Collection) -> None:
    with pytest.raises(EvenrankError, match="between 0 and 1"):
        oracle_run(golden_collection, 1, 1.5)


@pytest.mark.parametrize("relevant", [[], [2], [7, 9, 30], list(range(0, 4000, 2)), list(range(4000))])
def test_other_pages_are_distinct_and_never_relevant(relevant: list[int]) -> None:
    page_ids = np.arange(4000, dtype=np.int32)
    others = _others(page_ids, np.array(relevant, np.int32), 39, np.random.default_rng(1))
    assert len(set(others.tolist())) == len(others) == min(39, 4000 - len(relevant))
    assert not set(others.tolist()) & set(relevant)
