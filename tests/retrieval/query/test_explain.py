from __future__ import annotations

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.find import explain
from evenrank.retrieval.learn.learned_model import LearnedModel
from evenrank.retrieval.learn.training import train_on_topics
from evenrank.retrieval.relevance import LexicalModel
from tests.retrieval.conftest import MakeEngine, page


@pytest.fixture
def model(make_engine: MakeEngine) -> LexicalModel:
    texts = {i: f"a horse and {'its rider' if i % 2 else 'a barn'} number{i}" for i in range(1, 30)}
    songs = {i: f"a song and {'its singer' if i % 2 else 'a guitar'} number{i}" for i in range(30, 60)}
    return LexicalModel(make_engine(page(i, f"P{i}", text) for i, text in (texts | songs).items()))


def topics() -> list[Topic]:
    horses, songs = np.arange(1, 30, dtype=np.int32), np.arange(30, 60, dtype=np.int32)
    return [Topic(1, "Horses", ("rider",), rel_docs=horses), Topic(2, "Songs", ("guitar",), rel_docs=songs)]


def test_words_add_up_to_the_score(model: LexicalModel) -> None:
    topic = topics()[0]
    found = model.score(topic, 10)
    first = explain(model, topic, int(found.page_ids[0]))
    assert sum(value for _, value in first.words) == pytest.approx(found.scores[0], rel=1e-3)
    assert {"lead:rider/riders", "text:hors"} <= {name for name, _ in first.words}
    assert [value for _, value in first.words] == sorted((v for _, v in first.words), reverse=True)
    assert "text:hors" in str(first)


def test_a_page_without_the_words_has_no_reasons(model: LexicalModel) -> None:
    assert explain(model, Topic(1, "Zebra"), 5).words == ()


def test_features_add_up_to_the_learned_score(model: LexicalModel) -> None:
    extractor = FeatureExtractor(model)
    learned = LearnedModel(extractor, train_on_topics(extractor, topics()).state)
    found = learned.score(topics()[0], 10)
    page_id = int(found.page_ids[0])
    reasons = explain(learned, topics()[0], page_id)
    assert "base" in dict(reasons.features)
    assert sum(dict(reasons.features).values()) == pytest.approx(found.scores[0])
    with pytest.raises(EvenrankError, match="page 59 is not among the"):
        explain(learned, topics()[0], 59)
