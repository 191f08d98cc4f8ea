"""The learned model on small corpora: what it learns, saves, and says again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.protocol import IndexPage
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.cross_validation import LearningSettings, Sample, cross_fit, fit_samples, topic_forms
from evenrank.retrieval.learn.learned_model import LearnedModel, load, model_fingerprint, save
from evenrank.retrieval.learn.training import make_training_example, train_on_topics
from evenrank.retrieval.relevance import LexicalModel
from tests.retrieval.conftest import MakeEngine

SETTINGS = LearningSettings(n_learned=100)
NAMES = ("words", "topic_vector")
THEMES = {"horse": "saddle stable rider", "guitar": "chord string melody", "ship": "harbour sail captain"}


def simulated_samples(n_topics: int = 12, n_pages: int = 80) -> list[Sample]:
    """Topics in which a page is relevant when the hidden sum of two features is high."""
    samples = []
    for topic in range(n_topics):
        rng = derive(3, "sample", topic)
        a, b = rng.normal(size=(2, n_pages))
        labels = a + b + 0.5 * rng.normal(size=n_pages) > 1.5
        samples.append(Sample(topic, {"words": a, "topic_vector": b}, labels))
    return samples


def precision_at_10(scores: list[np.ndarray], samples: list[Sample]) -> float:
    pairs = zip(scores, samples, strict=True)
    return float(np.mean([sample.labels[np.argsort(-s)[:10]].mean() for s, sample in pairs]))


def test_a_line_finds_what_two_features_say_together() -> None:
    samples = simulated_samples()
    model = cross_fit(samples, NAMES, SETTINGS)
    held_out = [model.scores(sample.topic_id, sample.features) for sample in samples]
    alone = precision_at_10([sample.features["words"] for sample in samples], samples)
    assert precision_at_10(held_out, samples) > alone + 0.1


def test_nothing_to_learn_from_is_said() -> None:
    empty = [Sample(i, {"words": np.zeros(5)}, np.zeros(5, bool)) for i in range(3)]
    with pytest.raises(EvenrankError, match="nothing to learn from"):
        fit_samples(empty, ("words",), 0.1)


@pytest.mark.parametrize("n_forms", [1, 2, 4])
def test_topics_are_seen_in_several_forms(n_forms: int) -> None:
    topic = Topic(7, "Horses", tuple("abcdef"))
    forms = topic_forms(topic, LearningSettings(n_forms=n_forms))
    assert forms[0] == topic
    assert len(forms) <= n_forms
    assert len({form.keywords for form in forms}) == len(forms)
    assert all(set(form.keywords) <= set(topic.keywords) and form.title == "Horses" for form in forms)
    assert (n_forms < 2) or forms[1].keywords == ()
    assert forms == topic_forms(topic, LearningSettings(n_forms=n_forms))
    assert len(topic_forms(Topic(7, "Horses"), LearningSettings())) == 1


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format_version": 99}'])
def test_files_that_are_no_models(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(EvenrankError, match=r"model\.json"):
        load(path)


@pytest.fixture
def corpus(make_engine: MakeEngine) -> tuple[LexicalModel, list[Topic]]:
    """Pages on three subjects, half of them biographies; each subject is a training topic."""
    pages, topics = [], []
    for number, (word, others) in enumerate(THEMES.items()):
        ids = np.arange(1 + 100 * number, 41 + 100 * number)
        rng = derive(1, word)
        for i in ids.tolist():
            life = "(born 1950) " if i % 2 else ""
            lead = f"Page {i} {life}is about the {word} and {rng.choice(others.split())}."
            pages.append(IndexPage(i, f"Page {i}", lead, lead + f" Some {' '.join(THEMES)} words.", f"{word} things"))
        topics.append(Topic(number + 1, word.title(), (word,), rel_docs=ids.astype(np.int32)))
    return LexicalModel(make_engine(pages)), topics


def test_features_of_real_pages(corpus: tuple[LexicalModel, list[Topic]]) -> None:
    model, topics = corpus
    example = make_training_example(FeatureExtractor(model), topics[0], 60)
    assert tuple(example.features) == FeatureExtractor(model).names == ("words", "filed", "people")
    assert all(len(values) == len(example.labels) for values in example.features.values())
    assert example.features["filed"][example.labels].min() > example.features["filed"][~example.labels].max()
    assert not example.features["people"].any()
    people = make_training_example(FeatureExtractor(model), Topic(4, "Horse composers", ("horse",)), 60).features[
        "people"
    ]
    assert 0 < people.sum() < len(people)


def test_a_model_is_trained_saved_and_used(corpus: tuple[LexicalModel, list[Topic]], tmp_path: Path) -> None:
    lexical, topics = corpus
    trained = train_on_topics(FeatureExtractor(lexical), topics, SETTINGS)
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        save(train_on_topics(FeatureExtractor(lexical), topics, SETTINGS).state, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert model_fingerprint(paths[0]) == model_fingerprint(paths[1])
    again = LearnedModel(FeatureExtractor(lexical), load(paths[0]))
    assert again.state.settings == SETTINGS
    assert again.state.cross_fit.topic_ids == (1, 2, 3)
    found = again.score(topics[1], 100)
    assert np.isin(found.page_ids[:20], topics[1].rel_docs).all()
    assert (np.diff(found.scores) <= 0).all()
    assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()
    assert found.n_relevant is not None
    assert found.n_relevant.low <= found.n_relevant.median <= found.n_relevant.high
    before = LearnedModel(FeatureExtractor(lexical), trained.state).score(topics[1], 100)
    np.testing.assert_array_equal(found.page_ids, before.page_ids)
    np.testing.assert_array_equal(found.probabilities, before.probabilities)
    assert len(again.score(Topic(9, "Zebra"), 100)) == 0
