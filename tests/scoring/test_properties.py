"""What must hold for any collection and any run: ranges, symmetry between groups, the identity of expected exposure."""

from __future__ import annotations

import gzip
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenrank.core.protocol import PROTOCOLS
from evenrank.core.records import Run
from evenrank.measures.awrf import awrf
from evenrank.measures.expected_exposure import ee_loss, ordered_dot
from evenrank.measures.registry import measures_of
from evenrank.scoring.evaluate import evaluate
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.measures.one_ranking import ndcg

N_GROUPS = 6
masses = hnp.arrays(np.float64, N_GROUPS, elements=st.floats(0, 10)).filter(lambda values: values.sum() > 1e-3)
bases = st.sampled_from([2.0, math.e])


@given(masses, masses, bases)
def test_awrf_keeps_its_range(exposure, target, base) -> None:
    floor = 1.0 - math.log(2, base)
    assert floor - 1e-12 <= awrf(exposure, target, base) <= 1.0


@given(masses, bases)
def test_awrf_of_the_target_itself_is_one(target, base) -> None:
    assert awrf(3.0 * target, target, base) == pytest.approx(1.0, abs=1e-12)


@given(masses, masses, st.permutations(range(N_GROUPS)))
def test_renaming_the_groups_changes_nothing(exposure, target, order) -> None:
    left, right = exposure[order], target[order]
    assert awrf(left, right) == pytest.approx(awrf(exposure, target), abs=1e-12)
    for measure in (ee_loss, ordered_dot):
        assert measure(left, right) == pytest.approx(measure(exposure, target), rel=1e-9, abs=1e-12)
    assert ordered_dot(left, left) == pytest.approx(ordered_dot(exposure, exposure))


@given(masses, masses)
def test_loss_minus_disparity_plus_twice_relevance_is_the_squared_target(exposure, target) -> None:
    left = ee_loss(exposure, target) - ordered_dot(exposure, exposure) + 2 * ordered_dot(exposure, target)
    assert left == pytest.approx(float(target @ target), rel=1e-9, abs=1e-9)


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 100), st.integers(60, 1000))
def test_ndcg_keeps_its_range(relevant, n_others, ideal_depth) -> None:
    n_relevant = sum(relevant) + n_others
    assert 0.0 <= ndcg(np.array(relevant, bool), n_relevant, ideal_depth) <= 1.0 + 1e-12


@given(st.lists(st.booleans(), min_size=2, max_size=40))
def test_moving_a_relevant_page_up_never_lowers_ndcg(relevant) -> None:
    before = np.array(relevant)
    after = np.sort(before)[::-1]
    assert ndcg(after, len(relevant), 1000) >= ndcg(before, len(relevant), 1000) - 1e-12


def runs_of(collection, task: int) -> st.SearchStrategy[Run]:
    """Runs of one topic with pages in and out of the collection."""
    pages = st.integers(0, 250_000) | st.sampled_from(collection.page_ids[:400].tolist())
    pages |= st.sampled_from(collection.topic_by_id[103].rel_docs.tolist())
    ranking = st.lists(pages, min_size=1, max_size=40, unique=True)
    rankings = st.lists(ranking, min_size=1, max_size=1 if task == 1 else 5)
    return rankings.map(
        lambda lists: Run.from_rankings(
            "made", task, iter([(103, number, np.array(one, np.int32)) for number, one in enumerate(lists, 1)])
        )
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("task", [1, 2])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_scores_of_any_run_keep_the_ranges_that_the_registry_states(golden_collection, protocol, task, data) -> None:
    run = data.draw(runs_of(golden_collection, task))
    quick = replace(PROTOCOLS[protocol], n_resamples=9)
    scores = evaluate(golden_collection, run, quick, "geography,gender")["made"].topics[103]
    for measure in measures_of(task):
        value = scores[measure.name]
        assert math.isnan(value) or measure.low - 1e-9 <= value <= measure.high + 1e-9, measure.name
    if task == 2:
        squared = scores["EE-L"] - scores["EE-D"] + 2 * scores["EE-R"]
        assert squared * scores["EE-L/T2"] == pytest.approx(scores["EE-L"], rel=1e-6, abs=1e-9)


def test_order_of_pages_in_the_metadata_is_no_matter(golden_collection, golden_files, golden_runs, tmp_path) -> None:
    """Shuffled but for repeated ids, of which the first line counts."""
    lines = gzip.decompress(Path(golden_files.metadata).read_bytes()).splitlines(keepends=True)
    first = {line.split(b",", 1)[0]: line for line in reversed(lines)}
    shuffled = list(first.values())
    random.Random(7).shuffle(shuffled)
    assert len(shuffled) < len(lines)
    path = tmp_path / "shuffled.json"
    path.write_bytes(b"".join(shuffled))
    files = ImportFiles(path, golden_files.topics, golden_files.eval_topics)
    other = import_collection(tmp_path / "collection", files)
    assert evaluate(other, golden_runs) == evaluate(golden_collection, golden_runs)
