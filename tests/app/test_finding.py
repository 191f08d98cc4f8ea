"""The desk with a learned relevance model behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from evenrank.app.state import AppState, open_state
from evenrank.cli.serve import command
from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.ranking.subject import keep_to_subject, word_matches
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.learned_model import save
from evenrank.retrieval.learn.training import train_on_topics
from evenrank.retrieval.model_choice import choose_model
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of
from tests.desk_collections import QUESTION


@pytest.fixture(scope="module")
def learned_state(generated: Collection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppState]:
    folder = tmp_path_factory.mktemp("learned")
    trained = train_on_topics(FeatureExtractor(LexicalModel(open_index(generated))), generated.topics)
    save(trained.state, folder / "model.json")
    model = choose_model(generated, str(folder / "model.json"))
    state = open_state(generated.path, replace(UNLIMITED, store=folder / "desk.sqlite", model=model))
    yield state
    state.close()


def test_lists_use_the_model(state: AppState, learned_state: AppState) -> None:
    topic = Topic(0, "Chess", ("chess", "grandmaster", "pawns"))
    plain, learned = state.learned().source.find(topic), learned_state.learned().source.find(topic)
    assert set(learned.page_ids.tolist()) == set(plain.page_ids.tolist())
    assert learned.page_ids.tolist() != plain.page_ids.tolist()
    assert (np.diff(learned.relevance) <= 0).all()
    assert learned_state.source.describe()["model"]["kind"] == "learned"
    answer = client_of(learned_state).post("/lists", data=QUESTION, follow_redirects=True)
    assert answer.status_code == 200
    assert "Chess" in answer.text


def test_what_is_about_a_subject_does_not_depend_on_the_scale_of_scores(
    state: AppState, learned_state: AppState
) -> None:
    """Scores of a learned model are log-odds: a share of the best one left out half of the articles, or all of them."""
    topic = Topic(0, "Chess", ("chess", "grandmaster", "pawns"))

    def about(asked: AppState, shift: float = 0.0) -> set[int]:
        found, model = asked.learned().source.find(topic), asked.source.model()
        moved = replace(found, scores=found.scores + shift)
        matches = word_matches(model, topic, moved)
        kept = keep_to_subject(asked.collection, model.engine, topic, moved, matches).found.page_ids
        assert 0 < len(kept) < len(found)
        return set(kept.tolist())

    assert about(learned_state) == about(state)
    assert about(learned_state, shift=-100.0) == about(state)


def test_a_model_that_is_not_there_is_told(generated: Collection) -> None:
    result = CliRunner().invoke(command, [str(generated.path), "--model", "learned"])
    assert isinstance(result.exception, EvenrankError)
    assert "evenrank learn" in str(result.exception)
