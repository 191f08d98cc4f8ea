"""The number of relevant pages from a few judged ones: curves by hand, generated collections, rankings that follow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import evenrank
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.learn.judged_count import JudgedRanking, count_matching, judged_ranks
from evenrank.retrieval.learn.relevant_count import RelevantCount
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings

N_MARKS = 15


def test_perfect_rankings_are_counted_well() -> None:
    for n_pages, n_relevant in ((2000, 12), (2000, 300), (100_000, 900)):
        judged: dict[int, bool] = {}
        for _ in range(N_MARKS):
            at = JudgedRanking(n_pages, judged).next_rank(n_pages)
            assert at is not None
            assert at not in judged
            judged[at] = at <= n_relevant
        found = JudgedRanking(n_pages, judged).estimate()
        assert found.low <= n_relevant <= found.high
        assert 0.6 < found.median / n_relevant < 1.6
        chances = JudgedRanking(n_pages, judged).chances(n_pages)
        unjudged = np.delete(chances, np.array(list(judged)) - 1)
        assert (np.diff(unjudged) <= 1e-12).all()
        assert all(chances[rank - 1] == float(is_relevant) for rank, is_relevant in judged.items())


def after_marks(is_relevant: NDArray[np.bool_]) -> RelevantCount:
    """The estimate after all marks, when all pages were found in this order."""
    judged: dict[int, bool] = {}
    for _ in range(N_MARKS):
        at = JudgedRanking(len(is_relevant), judged).next_rank(len(is_relevant))
        assert at is not None
        judged[at] = bool(is_relevant[at - 1])
    return JudgedRanking(len(is_relevant), judged).estimate()


def test_intervals_are_as_wide_as_the_order_is_poor() -> None:
    """Two thirds of the relevant pages by a curve, the others anywhere: unlike each of the curves that are weighed."""
    n_pages, n_topics = 1000, 20
    shares: dict[float, float] = {}
    widths: dict[float, float] = {}
    ranks = np.arange(1, n_pages + 1)
    for spread in (0.05, 0.3, 0.8):
        truth, found = [], []
        for topic in range(n_topics):
            rng = derive(3, "orders", topic)
            chances = 0.9 / (1.0 + (ranks / np.exp(rng.uniform(2.0, 4.5))) ** (1.0 / spread))
            is_relevant = rng.random(n_pages) < chances
            is_relevant |= rng.random(n_pages) < 0.5 * (spread > 0.1) * is_relevant.mean()
            truth.append(is_relevant.sum())
            found.append(after_marks(is_relevant))
        medians, low, high = np.array(found).T
        shares[spread] = float(((low <= truth) & (truth <= high)).mean())
        widths[spread] = float(np.median((high + 0.5) / (low + 0.5)))
        assert 0.5 < np.median(medians / truth) < 2.0
    assert widths[0.05] < 0.7 * min(widths[0.3], widths[0.8]), widths
    assert min(shares.values()) >= 0.65, shares


def test_what_is_known_narrows_the_number() -> None:
    blind, matching = JudgedRanking(5000, {}), JudgedRanking(5000, {}, n_matching=40)
    sized = JudgedRanking(5000, {}, n_matching=40, project_size=400)
    widths = [one.estimate().high / one.estimate().low for one in (blind, matching, sized)]
    assert widths == sorted(widths, reverse=True)
    assert 300 < sized.estimate().median < 500
    assert JudgedRanking(5000, {}, 40).estimate() == matching.estimate()  # no chance in it
    assert JudgedRanking(20, dict.fromkeys(range(1, 21), True)).estimate().median >= 20
    assert JudgedRanking(3, {1: True, 2: False, 3: False}).next_rank(3) is None
    assert JudgedRanking(3, {}).next_rank(0) is None
    assert JudgedRanking(10, {}).chances(0).shape == (0,)
    assert count_matching(np.array([2.0, 1.0, 0.1])) == 2
    assert count_matching(np.empty(0)) == 0
    assert judged_ranks(np.array([7, 5]), {5: True, 9: False}) == {2: True}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("count") / "c"
    made = generate_collection(folder, GenerateSettings(1500, n_train_topics=2, n_eval_topics=24, seed=21))
    build_index(made, FaultLog())
    return Collection.open(folder)


def test_marks_where_they_say_most(collection: Collection, tmp_path: Path) -> None:
    judged = tmp_path / "judged.qrels"
    judged.write_text("")
    for _ in range(N_MARKS):
        known = judged if judged.stat().st_size else None
        for one in evenrank.count_relevant(collection, "eval", judged=known):
            grade = int(one.next_page in collection.topic_by_id[one.topic_id].rel_docs)
            with judged.open("a") as file:
                file.write(f"{one.topic_id} 0 {one.next_page} {grade}\n")
    counts = evenrank.count_relevant(collection, "eval", judged=judged)
    truth = np.array([len(collection.topic_by_id[one.topic_id].rel_docs) for one in counts])
    ratios = np.array([one.n_relevant.median for one in counts]) / truth
    assert all(one.n_judged == N_MARKS for one in counts)
    assert 0.5 < np.median(ratios) < 2.0
    n_covered = sum(
        one.n_relevant.low <= n <= one.n_relevant.high for one, n in zip(counts, truth.tolist(), strict=True)
    )
    assert n_covered >= 16

    ranked = evenrank.rank(collection, 1, "relevance", topics="eval", judged=judged, length="relevant")
    lengths = {one.topic_id: one.page_ids.shape[1] for one in ranked.topics}
    for one in counts:
        assert max(10, one.n_relevant.low) <= lengths[one.topic_id] <= max(10, one.n_relevant.high)
    assert ranked.record["candidates"]["judged"] == {str(one.topic_id): N_MARKS for one in counts}

    command = [sys.executable, "-m", "evenrank.cli.main", "count", str(collection.path), "--judged", str(judged)]
    done = subprocess.run([*command, "--format", "tsv"], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["topic", "title", "relevant", "low", "high", "judged", "page_id", "rank", "page_title"]
    assert [int(row[2]) for row in rows[1:]] == [round(one.n_relevant.median) for one in counts]


def test_faults_are_told(collection: Collection, tmp_path: Path) -> None:
    judged = tmp_path / "judged.qrels"
    judged.write_text("7777 0 3 1\n")
    with pytest.raises(EvenrankError, match="no judgments of these topics"):
        evenrank.count_relevant(collection, "eval", judged=judged)
    with pytest.raises(EvenrankError, match="leave one out"):
        evenrank.rank(collection, 1, judged=judged, n_relevant=12)
    with pytest.raises(EvenrankError, match="at least 1"):
        evenrank.count_relevant(collection, project_size=0)
    (one,) = evenrank.count_relevant(collection, query="railway bridge", project_size=50)
    assert one.title == "railway bridge"
    assert one.n_relevant.low < 50 < one.n_relevant.high
