from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from tests.search.conftest import MakeEngine

from evenrank.errors import EvenrankError
from evenrank.records import Topic
from evenrank.rng import derive
from evenrank.search.encode.hybrid import below
from evenrank.search.engine.protocol import IndexPage, StoredPage
from evenrank.search.learn.features import FeatureExtractor, standardised
from evenrank.search.learn.learned_model import LearnedModel, make_sample
from evenrank.search.learn.model_file import fingerprint, load, save
from evenrank.search.learn.page_features import asks_for_people, dph, is_biography, page_features
from evenrank.search.learn.ranker import Ranker, fit_ranker, out_of_fold_scores
from evenrank.search.learn.training import train_on_topics
from evenrank.search.learn.training_data import LearningSettings, Sample, as_table
from evenrank.search.learn.trees import import_lightgbm
from evenrank.search.relevance import LexicalModel
from evenrank.settings import check_value

pytest.importorskip("lightgbm")
SMALL = LearningSettings(n_trees=20, n_models=2, n_pages_in_leaf=5)


def simulated_samples(n_topics: int = 12, n_pages: int = 80) -> list[Sample]:
    """Topics in which a page is relevant when the hidden sum of two features is high; a third is noise."""
    samples = []
    for topic in range(n_topics):
        rng = derive(3, "sample", topic)
        a, b, noise = rng.normal(size=(3, n_pages))
        labels = a + b + 0.5 * rng.normal(size=n_pages) > 1.5
        samples.append(Sample(topic, {"words_z": a, "dense_z": b, "is_list": noise}, labels))
    return samples


def precision_at_10(scores: list[np.ndarray], samples: list[Sample]) -> float:
    pairs = zip(scores, samples, strict=True)
    return float(np.mean([sample.labels[np.argsort(-s)[:10]].mean() for s, sample in pairs]))


def test_a_ranker_finds_what_two_features_say_together() -> None:
    samples = simulated_samples()
    names = ["words_z", "dense_z", "is_list"]
    held_out = out_of_fold_scores(samples, names, SMALL)
    alone = precision_at_10([sample.features["words_z"] for sample in samples], samples)
    assert precision_at_10(held_out, samples) > alone + 0.1


@pytest.mark.parametrize("line_weight", [0.0, 1.0])
def test_a_ranker_never_ranks_less_of_a_good_thing_higher(line_weight: float) -> None:
    samples = simulated_samples()
    ranker = fit_ranker(samples, ["words_z", "is_list"], replace(SMALL, line_weight=line_weight))
    rising = {"words_z": np.linspace(-3, 3, 50), "is_list": np.zeros(50)}
    assert (np.diff(ranker.scores(rising)) >= -1e-9).all()


def test_the_same_seed_gives_the_same_ranker() -> None:
    samples = simulated_samples(4)
    assert fit_ranker(samples, ["words_z"], SMALL) == fit_ranker(samples, ["words_z"], SMALL)


def test_contributions_add_up_to_the_score() -> None:
    samples = simulated_samples(4)
    ranker = fit_ranker(samples, ["words_z", "dense_z"], SMALL)
    parts = ranker.contributions(samples[0].features)
    assert set(parts) == {"words_z", "dense_z", "base"}
    np.testing.assert_allclose(sum(parts.values()), ranker.scores(samples[0].features), atol=1e-6)


def test_a_score_is_the_mean_of_trees_and_line() -> None:
    samples = simulated_samples(4)
    names = ["words_z", "dense_z"]
    table = as_table(samples[0].features, names)
    ranker = fit_ranker(samples, names, replace(SMALL, line_weight=3.0))
    expected = (ranker.trees.scores(table) + 3.0 * ranker.line.scores(table)) / 4.0
    np.testing.assert_allclose(ranker.scores(samples[0].features), expected)
    alone = fit_ranker(samples, names, replace(SMALL, line_weight=0.0))
    np.testing.assert_array_equal(alone.scores(samples[0].features), alone.trees.scores(table))
    assert check_value(asdict(ranker), Ranker) == ranker


def test_lambdarank_learns_too() -> None:
    samples = simulated_samples()
    settings = LearningSettings(objective="lambdarank", n_trees=20, n_models=1, n_pages_in_leaf=5)
    assert precision_at_10(out_of_fold_scores(samples, ["words_z", "dense_z"], settings), samples) > 0.5


def test_a_missing_feature_is_named() -> None:
    with pytest.raises(EvenrankError, match=r"needs dense, x .*dense scorer"):
        as_table({"words": np.zeros(3)}, ["words", "dense", "x"])


def test_nothing_to_learn_from_is_said() -> None:
    empty = [Sample(i, {"words_z": np.zeros(5)}, np.zeros(5, bool)) for i in range(3)]
    with pytest.raises(EvenrankError, match="nothing to learn from"):
        fit_ranker(empty, ["words_z"], SMALL)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format_version": 99}'])
def test_files_that_are_no_models(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(EvenrankError, match=r"model\.json"):
        load(path)


THEMES = {"horse": "saddle stable rider", "guitar": "chord string melody", "ship": "harbour sail captain"}


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
    sample = make_sample(FeatureExtractor(model), topics[0], 60)
    assert set(sample.features) >= {"lexical", "text", "lead", "categories", "title", "phrase", "feedback", "dph"}
    assert all(len(values) == len(sample.labels) for values in sample.features.values())
    assert all(np.isfinite(values).all() for values in sample.features.values())
    assert sample.features["lead"][sample.labels].min() > sample.features["lead"][~sample.labels].max()
    assert sample.features["categories"].max() <= 1.0 + 1e-6


def test_a_model_is_trained_saved_and_used(corpus: tuple[LexicalModel, list[Topic]], tmp_path: Path) -> None:
    lexical, topics = corpus
    trained = train_on_topics(FeatureExtractor(lexical), topics, SMALL)
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        save(train_on_topics(FeatureExtractor(lexical), topics, SMALL).state, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert fingerprint(paths[0]) == fingerprint(paths[1])
    again = LearnedModel(FeatureExtractor(lexical), load(paths[0]))
    assert again.state.settings == SMALL
    assert again.state.cross_fit.topic_ids == (1, 2, 3)
    found = again.score(topics[1], 100)
    assert np.isin(found.page_ids[:20], topics[1].rel_docs).all()
    assert (np.diff(found.scores) <= 0).all()
    assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()
    before = LearnedModel(FeatureExtractor(lexical), trained.state).score(topics[1], 100)
    np.testing.assert_array_equal(found.page_ids, before.page_ids)
    np.testing.assert_array_equal(found.probabilities, before.probabilities)
    assert len(again.score(Topic(9, "Zebra"), 100)) == 0


def test_below() -> None:
    scores = below(np.array([3.0, 1.0]), np.array([0.5, 0.5, 0.2]))
    assert scores[:2].tolist() == [3.0, 1.0]
    assert scores[2] == scores[3] < 1.0
    assert scores[4] < scores[3]
    assert below(np.empty(0), np.array([1.0])).tolist() == [1.0]


def test_biographies_and_topics_about_people() -> None:
    assert is_biography(StoredPage(1, "A", "Ada Lovelace (10 December 1815 – 27 November 1852) was a mathematician."))
    assert is_biography(StoredPage(1, "B", "Alan Kay (born May 17, 1940) is a computer scientist."))
    assert not is_biography(StoredPage(1, "C", "Chess is a board game (for two)."))
    assert asks_for_people(Topic(1, "Composers"))
    assert asks_for_people(Topic(1, "Japan/Biography task force"))
    assert not asks_for_people(Topic(1, "Volcanoes", ("lava",)))
    features = page_features(Topic(1, "Chess"), [StoredPage(1, "List of chess openings", "")])
    assert features["is_list"].tolist() == [1.0]
    assert features["is_part"].tolist() == [1.0]


def test_dph_by_hand() -> None:
    # tf 1 of l 4, mean l 4, rarity 8: f = 1/4, norm = 9/32, information = 3 + ½ log2(2π · ¾).
    scores = dph({"cow": 1.0}, [["cow", "a", "b", "c"], ["a", "b", "c", "d"]], lambda word: 8.0)
    assert scores[0] == pytest.approx(9 / 32 * (3 + 0.5 * np.log2(1.5 * np.pi)))
    assert scores[1] == 0.0
    assert np.isfinite(dph({"cow": 1.0}, [["cow"]], lambda word: 1.0)).all()


def test_standardised() -> None:
    np.testing.assert_allclose(standardised(np.array([1.0, 3.0])), [-1.0, 1.0])
    assert standardised(np.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert standardised(np.empty(0)).shape == (0,)


def test_a_library_that_lightgbm_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lightgbm.py").write_text("raise OSError('libgomp.so.1: cannot open shared object file')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    with pytest.raises(EvenrankError, match=r"libgomp\.so\.1.*apt-get install libgomp1"):
        import_lightgbm()
