"""`n_relevant`: about how many pages are relevant decides the order, and leaves the target as it was estimated."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.ranking.make_job import RankOptions, make_job
from evenrank.ranking.sources import Session
from evenrank.retrieval.learn.calibration import shift_to_sum, stretch_to_sum
from evenrank.trec.collection import Collection


@given(st.lists(st.floats(1e-6, 1.0 - 1e-6), min_size=2, max_size=50), st.floats(0.01, 0.95))
def test_shifted_probabilities_sum_to_what_is_asked_for_and_keep_their_order(given_: list[float], share: float) -> None:
    before = np.array(given_)
    after = shift_to_sum(before, share * len(before))
    assert after.sum() == pytest.approx(share * len(before), rel=1e-6)
    assert (np.diff(after[np.argsort(before)]) >= -1e-12).all()


def test_the_log_odds_of_all_pages_move_alike() -> None:
    before = np.array([0.9, 0.5, 0.1, 0.0, 1.0])
    after = shift_to_sum(before, 1.6)
    moved = np.log(after[:3] / (1 - after[:3])) - np.log(before[:3] / (1 - before[:3]))
    assert moved == pytest.approx(np.full(3, moved[0]))
    assert after[3:].tolist() == [0.0, 1.0]
    assert shift_to_sum(before, 100.0).sum() == pytest.approx(1.0 + 3 * 0.999)
    assert shift_to_sum(np.array([0.0, 1.0]), 5.0).tolist() == [0.0, 1.0]


@given(st.lists(st.floats(1e-6, 1.0 - 1e-6), min_size=2, max_size=50), st.floats(0.01, 0.95))
def test_stretched_probabilities_sum_to_what_is_asked_for_and_keep_their_order(
    given_: list[float], share: float
) -> None:
    before = np.array(given_)
    after = stretch_to_sum(before, share * len(before))
    assert after.sum() == pytest.approx(share * len(before), rel=1e-6)
    assert (np.diff(after[np.argsort(-before, kind="stable")]) <= 1e-12).all()


def test_a_topic_with_a_tenth_of_the_relevant_pages_has_the_same_curve_in_a_tenth_of_the_ranks() -> None:
    curve = 0.9 / (1.0 + np.exp((np.arange(2000) - 200.0) / 20.0))
    small = stretch_to_sum(curve, curve.sum() / 10.0)
    assert small[:15] == pytest.approx(curve[5:150:10], rel=0.02)
    assert stretch_to_sum(curve, curve.sum()) == pytest.approx(curve)
    assert stretch_to_sum(np.zeros(3), 1.0).tolist() == [0.0, 0.0, 0.0]


def test_the_target_is_estimated_as_ever(golden_collection: Collection, golden_runs: list[Path]) -> None:
    plain, told = (
        make_job(golden_collection, RankOptions(task=2, candidates=golden_runs[0], n_relevant=number))
        for number in (None, 4)
    )
    before, after = plain.prepare(101), told.prepare(101)
    assert before is not None
    assert after is not None
    assert np.array_equal(before.target.values, after.target.values)
    assert after.candidates.relevance.sum() == pytest.approx(4.0)
    assert told.settings == replace(plain.settings, n_relevant=4.0)


def test_rank_takes_and_records_it(golden_collection: Collection, golden_runs: list[Path], tmp_path: Path) -> None:
    ranked = evenrank.rank(golden_collection, 1, candidates=golden_runs[0], n_relevant=12, length="relevant")
    assert ranked.record["candidates"]["n_relevant"] == 12.0
    assert {topic.page_ids.shape[1] for topic in ranked.topics if topic.n_candidates > 12} == {12}
    output = tmp_path / "run.tsv"
    words = ["rank", golden_collection.path, "--task", 1, "--from", golden_runs[0], "--relevant", 12, "-o", output]
    result = CliRunner().invoke(cli, [str(word) for word in (*words, "--length", "relevant")])
    assert result.exit_code == 0, result.output
    assert json.loads(Path(f"{output}.json").read_text())["mean_certificate"] == ranked.certificate
    for wrong in (0, -1, "many", float("nan")):
        with pytest.raises(EvenrankError, match=r"n_relevant is .*, but must be a number above 0"):
            evenrank.rank(golden_collection, 1, candidates=golden_runs[0], n_relevant=wrong)  # type: ignore[arg-type]


def test_a_session_is_opened_in_every_process(golden_collection: Collection) -> None:
    session = Session(golden_collection.path)
    assert session.collection is session.collection
    sent = pickle.loads(pickle.dumps(session))
    assert (sent, vars(sent)) == (session, {"path": golden_collection.path, "version": None, "engine_kind": None})
    opened = Session.of(golden_collection)
    assert opened.collection is golden_collection
    assert pickle.loads(pickle.dumps(opened)).version == golden_collection.manifest
