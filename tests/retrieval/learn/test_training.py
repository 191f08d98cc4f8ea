"""Training on a small generated collection, as search sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.cross_validation import LearningSettings
from evenrank.retrieval.learn.learn import ModelComparison, Quality, topic_quality, training_summary
from evenrank.retrieval.learn.learned_model import LearnedModel
from evenrank.retrieval.learn.training import Trained, TrainingExample, check_settings, train_on_topics
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection
from tests.retrieval.small_collection import make_small


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
    assert trained.state.encoder is None
    assert len(trained.examples) > len(training)  # in several forms


def test_all_candidates_are_scored(small: Collection, extractor: FeatureExtractor, trained: Trained) -> None:
    topic = next(topic for topic in small.topics if topic.split == "eval")
    found = LearnedModel(extractor, trained.state).score(topic, 50)
    assert len(found) == len(extractor.lexical.score(topic, trained.state.n_pages))
    assert all(np.isfinite(values).all() for values in found.features.values())
    assert (np.diff(found.probabilities) <= 0).all()


def test_a_training_topic_is_scored_as_in_the_report(
    small: Collection, extractor: FeatureExtractor, trained: Trained
) -> None:
    example = trained.examples[0]
    assert example.is_as_given
    found = LearnedModel(extractor, trained.state).score(small.topic_by_id[example.topic_id], 50)
    np.testing.assert_allclose(found.scores, np.sort(trained.scores()[0])[::-1])


def test_the_report_compares_forms_of_topics(trained: Trained) -> None:
    found = training_summary(trained)
    assert found.n_topics == 5
    assert [comparison.form for comparison in found.comparisons] == ["as given", "with keywords dropped"]
    assert found.learned.r_precision >= found.untrained.r_precision
    assert 0.0 <= found.calibration_error < 0.05
    values = list(found.contributions.values())
    assert values == sorted(values, reverse=True)
    assert set(found.contributions) == set(trained.examples[0].features)


@pytest.mark.parametrize("gain, words", [(0.2, "adds to"), (0.0, "adds nothing"), (-0.2, "use the untrained model")])
def test_the_report_says_what_learning_adds(trained: Trained, gain: float, words: str) -> None:
    quality = Quality(0.5, 0.5)
    comparison = ModelComparison("as given", quality, quality, gain, 0.05)
    assert words in replace(training_summary(trained), comparisons=(comparison,)).verdict


def test_unseen_topics_get_an_interval(small: Collection, extractor: FeatureExtractor, trained: Trained) -> None:
    learned = LearnedModel(extractor, trained.state)
    for topic in small.topics:
        found = learned.score(topic, 50).n_relevant
        assert found is not None
        assert 0.0 <= found.low <= found.median <= found.high


def test_quality_by_hand() -> None:
    labels = np.array([True, False, True, False, False])
    scores, features = np.array([5.0, 4, 3, 2, 1]), {"words": np.zeros(5)}
    example = TrainingExample(1, True, scores, features, features, labels, n_relevant=4)
    np.testing.assert_allclose(topic_quality([example], [scores]), [[0.2, 2 / 4]])
    np.testing.assert_allclose(topic_quality([example], [np.zeros(5)]), [[0.2, 2 / 4]])
    assert example.untrained_scores() is scores


def test_too_few_topics_are_counted(small: Collection, extractor: FeatureExtractor) -> None:
    none = [replace(topic, split="eval") for topic in small.topics]
    with pytest.raises(EvenrankError, match="0 training topics with relevant pages: at least 2"):
        train_on_topics(extractor, none)
    foreign = [replace(t, rel_docs=np.array([2**30], np.int32)) for t in small.topics if t.split == "train"]
    with pytest.raises(EvenrankError, match="0 training topics with relevant pages among candidates"):
        train_on_topics(extractor, foreign[:2])


def test_settings_that_are_no_numbers_are_all_named() -> None:
    with pytest.raises(EvenrankError, match=r"ridge=-1 .*n_learned=0 .*n_forms=0 is too small"):
        check_settings(LearningSettings(ridge=-1.0, n_learned=0, n_forms=0))
    check_settings(LearningSettings())
