"""Training on a small generated collection, with real trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.search.small_collection import make_small

from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.search.engine.indexing import open_index
from evenrank.search.learn.features import FeatureExtractor
from evenrank.search.learn.learned_model import LearnedModel
from evenrank.search.learn.training import Example, Trained, check_settings, train_on_topics, usable
from evenrank.search.learn.training_data import LearningSettings
from evenrank.search.learn.training_report import quality, report
from evenrank.search.relevance import LexicalModel

pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return make_small(tmp_path_factory.mktemp("training") / "collection")


@pytest.fixture(scope="module")
def extractor(small: Collection) -> FeatureExtractor:
    return FeatureExtractor(LexicalModel(open_index(small)))


@pytest.fixture(scope="module")
def trained(small: Collection, extractor: FeatureExtractor) -> Trained:
    return train_on_topics(extractor, small.topics)


def test_only_training_topics_are_learned_from(small: Collection, trained: Trained) -> None:
    training = tuple(sorted(topic.id for topic in small.topics if topic.split == "train"))
    assert trained.state.cross_fit.topic_ids == training
    assert trained.state.n_rescored is None
    assert trained.state.encoder is None


def test_all_candidates_are_scored(small: Collection, extractor: FeatureExtractor, trained: Trained) -> None:
    topic = next(topic for topic in small.topics if topic.split == "eval")
    found = LearnedModel(extractor, trained.state).score(topic, 50)
    assert len(found) == len(extractor.model.score(topic, trained.state.n_pages))
    assert all(np.isfinite(values).all() for values in found.features.values())
    assert (np.diff(found.probabilities) <= 0).all()


def test_a_training_topic_is_scored_as_in_the_report(
    small: Collection, extractor: FeatureExtractor, trained: Trained
) -> None:
    example = trained.examples[0]
    found = LearnedModel(extractor, trained.state).score(small.topic_by_id[example.topic_id], 50)
    np.testing.assert_allclose(found.scores, np.sort(example.scores(trained.state.cross_fit))[::-1])


def test_the_report_says_that_learning_helps(trained: Trained) -> None:
    found = report(trained)
    assert found.n_topics == len(trained.examples) == 5
    assert found.learned.precision_at_10 > found.untrained.precision_at_10
    assert found.learned.r_precision > found.untrained.r_precision
    assert 0.0 <= found.calibration_error < 0.05
    assert found.count_error < 1.0
    values = list(found.contributions.values())
    assert values == sorted(values, reverse=True)
    assert set(found.contributions) == set(trained.examples[0].features)


def test_unseen_topics_get_better_probabilities(
    small: Collection, extractor: FeatureExtractor, trained: Trained
) -> None:
    learned = LearnedModel(extractor, trained.state)
    unseen = [topic for topic in small.topics if topic.split == "eval"]
    errors = []
    for topic in unseen:
        found = learned.score(topic, 50)
        n_relevant = np.isin(found.page_ids, topic.rel_docs).sum()
        errors.append(abs(found.probabilities.sum() / n_relevant - 1.0))
    assert np.mean(errors) < 0.6


def test_quality_by_hand() -> None:
    labels = np.array([True, False, True, False, False])
    example = Example(1, np.array([5.0, 4, 3, 2, 1]), {"x": np.zeros(5)}, labels, n_relevant=4)
    found = quality([example], [example.lexical])
    assert found.precision_at_10 == pytest.approx(0.2)
    assert found.r_precision == pytest.approx(2 / 4)
    assert quality([example], [np.zeros(5)]) == found


def test_too_few_topics_are_counted(small: Collection, extractor: FeatureExtractor) -> None:
    none = [replace(topic, split="eval") for topic in small.topics]
    with pytest.raises(EvenrankError, match="0 training topics with relevant pages: at least 2"):
        train_on_topics(extractor, none)
    foreign = [replace(t, rel_docs=np.array([2**30], np.int32)) for t in small.topics if t.split == "train"]
    with pytest.raises(EvenrankError, match="0 training topics with relevant pages among their candidates"):
        train_on_topics(extractor, foreign[:2])


def test_topics_without_a_relevant_page_to_learn_from_are_left_out() -> None:
    deep = Example(1, np.arange(4.0)[::-1], {"x": np.zeros(4)}, np.array([False, False, True, False]), 1)
    assert usable([deep], LearningSettings(n_learned=3)) == [deep]
    assert usable([deep], LearningSettings(n_learned=2)) == []


def test_settings_that_are_no_numbers_are_all_named() -> None:
    settings = LearningSettings(n_trees=0, n_leaves=1, page_share=2.0, shrinkage=-1.0)
    with pytest.raises(EvenrankError, match=r"n_trees=0 .*n_leaves=1 .*shrinkage=-1 .*page_share=2 is not above 0"):
        check_settings(settings)
    check_settings(LearningSettings())
