"""Runs survive the way to a data frame and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenrank.errors import EvenrankError
from evenrank.interop.frames import qrels_frame, run_from_frame, run_to_frame, topics_frame
from evenrank.io.runs import read_run


@pytest.mark.parametrize("number", [0, 3])
def test_run_to_frame_and_back(golden_runs, number: int) -> None:
    run = read_run(golden_runs[number])
    frame = run_to_frame(run)
    assert list(frame.columns[:4]) == ["qid", "docno", "score", "rank"]
    back = run_from_frame(frame.sample(frac=1.0, random_state=1), run.name)
    assert back.task == run.task
    ordered = sorted(run.rankings(), key=lambda ranking: ranking[:2])
    for (topic, repeat, pages), (known_topic, known_repeat, known) in zip(back.rankings(), ordered, strict=True):
        assert (topic, repeat) == (known_topic, known_repeat)
        assert np.array_equal(pages, known)


def test_frame_without_scores_keeps_its_order() -> None:
    run = run_from_frame(pd.DataFrame({"query_id": ["2", "1", "2"], "doc_id": ["9", "5", "7"]}))
    assert [(topic, pages.tolist()) for topic, _, pages in run.rankings()] == [(1, [5]), (2, [9, 7])]


def test_empty_frame_is_an_empty_run() -> None:
    assert run_from_frame(pd.DataFrame({"qid": [], "docno": []})).n_rankings == 0


@pytest.mark.parametrize("frame", [{"qid": ["1"]}, {"qid": ["one"], "docno": ["5"]}])
def test_wrong_frames_are_explained(frame: dict) -> None:
    with pytest.raises(EvenrankError):
        run_from_frame(pd.DataFrame(frame))


def test_topics_and_qrels(golden_collection) -> None:
    topics, qrels = topics_frame(golden_collection, "eval"), qrels_frame(golden_collection, "eval")
    assert list(topics["qid"]) == ["101", "102", "103", "105", "107"]
    relevant = qrels[qrels["label"] == 1].groupby("qid").size()
    for topic in ("101", "107"):
        assert relevant[topic] == len(golden_collection.topic_by_id[int(topic)].rel_docs)
