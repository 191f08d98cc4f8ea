"""Candidates from the index of a small generated collection."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evenrank.cli.main import cli
from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.io.faults import FaultLog
from evenrank.io.runs import read_run
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.make_job import open_source
from evenrank.ranking.sources import SearchSource, calibrate_scores
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.calibration import JudgedScores
from evenrank.retrieval.learn.learned_model import model_path, save
from evenrank.retrieval.learn.training import train_on_topics
from evenrank.retrieval.model_choice import ModelChoice, choose_model
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from tests.retrieval.small_collection import make_small


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = GenerateSettings(n_pages=1500, n_train_topics=2, n_eval_topics=2, seed=4)
    collection = generate_collection(tmp_path_factory.mktemp("indexed") / "collection", settings)
    build_index(collection, FaultLog(), n_threads=1).close()
    return collection


@pytest.fixture(scope="module")
def source(indexed: Collection) -> SearchSource:
    found = open_source(indexed, None, BuildSettings(n_candidates=200), 50)
    assert isinstance(found, SearchSource)
    return found


def question(collection: Collection, split: str) -> Topic:
    return next(topic for topic in collection.topics if topic.split == split)


def test_pages_come_best_first_with_probabilities(indexed: Collection, source: SearchSource) -> None:
    found = source.find(question(indexed, "eval"))
    assert len(found) >= 200
    assert len(np.unique(found.page_ids)) == len(found)
    assert (np.diff(found.scores) <= 0).all()
    assert (np.diff(found.relevance) <= 1e-12).all()
    assert ((found.relevance > 0) & (found.relevance < 1)).all()


def test_every_group_has_candidates_as_far_as_it_has_pages(indexed: Collection, source: SearchSource) -> None:
    plain = SearchSource(source.session, 200, (), calibration=source.calibration)
    topic = question(indexed, "eval")
    few, many = plain.find(topic), source.find(topic)
    assert len(few) == 200
    assert np.isin(few.page_ids, many.page_ids).all()
    africa = indexed.masks["geography"][indexed.rows_of(many.page_ids)] & 2 > 0
    before = indexed.masks["geography"][indexed.rows_of(few.page_ids)] & 2 > 0
    assert africa.sum() >= before.sum()


def test_probabilities_do_not_depend_on_evaluation_judgments(indexed: Collection, source: SearchSource) -> None:
    assert source.calibration is not None
    blind = tuple(t if t.split == "train" else Topic(t.id, t.title, t.keywords, split="eval") for t in indexed.topics)
    other = Collection.open(indexed.path).with_topics(blind)
    again = open_source(other, None, BuildSettings(n_candidates=200), 50)
    assert isinstance(again, SearchSource)
    assert np.array_equal(again.calibration.coefficients, source.calibration.coefficients)


def test_a_copy_in_another_process_forgets_what_was_found(source: SearchSource) -> None:
    assert source.remembered
    copy = pickle.loads(pickle.dumps(source))
    assert copy.describe() == source.describe()
    assert copy.remembered == {}


def test_rank_from_search_and_fill_up_a_short_run(indexed: Collection, tmp_path: Path) -> None:
    def rank(output: Path, *options: object) -> None:
        arguments = ["rank", indexed.path, "-o", output, "--policy", "deficit", "--workers", 1, *options]
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output + str(result.exception)

    rank(tmp_path / "searched.tsv", "--task", 2)
    searched = read_run(tmp_path / "searched.tsv")
    assert searched.n_rankings == 200
    assert set(np.diff(searched.starts)) == {50}

    short, topic = tmp_path / "short.tsv", question(indexed, "eval").id
    short.write_text("".join(f"{topic}\t{page}\n" for page in indexed.page_ids[:10].tolist()))
    rank(tmp_path / "filled.tsv", "--task", 2, "--topics", topic, "--from", short)
    filled = read_run(tmp_path / "filled.tsv")
    assert set(np.diff(filled.starts)) == {50}


def test_mmr_reads_titles(indexed: Collection, tmp_path: Path) -> None:
    arguments = ["rank", indexed.path, "-o", tmp_path / "mmr.tsv", "--task", 1, "--policy", "mmr"]
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output + str(result.exception)
    run = read_run(tmp_path / "mmr.tsv")
    assert all(len(np.unique(pages)) == len(pages) == 1000 for _, _, pages in run.rankings())


def test_without_an_index_the_error_says_what_to_run(golden_collection: Collection) -> None:
    with pytest.raises(EvenrankError, match="evenrank index"):
        open_source(golden_collection, None, BuildSettings(), 50)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection with a learned model, whose unseen topics have complete judgments."""
    collection = make_small(tmp_path_factory.mktemp("taught") / "collection")
    trained = train_on_topics(FeatureExtractor(LexicalModel(open_index(collection))), collection.topics)
    save(trained.state, model_path(collection))
    return collection


def source_of(collection: Collection, model: str) -> SearchSource:
    found = open_source(collection, None, BuildSettings(), 50, choose_model(collection, model))
    assert isinstance(found, SearchSource)
    return found


def log_loss(source: SearchSource, topics: list[Topic]) -> float:
    """Mean over topics of the log loss for each relevant candidate."""
    losses = []
    for topic in topics:
        found = source.find(topic)
        labels = np.isin(found.page_ids, topic.rel_docs)
        likelihood = np.where(labels, found.relevance, 1.0 - found.relevance)
        losses.append(-np.log(np.maximum(likelihood, 1e-9)).sum() / labels.sum())
    return float(np.mean(losses))


def test_what_is_learned_arrives_in_the_probabilities(taught: Collection) -> None:
    unseen = [topic for topic in taught.topics if topic.split == "eval"]
    seen = [topic for topic in taught.topics if topic.split == "train"]
    untrained, learned = source_of(taught, "untrained"), source_of(taught, "learned")
    assert log_loss(learned, unseen) < 0.9 * log_loss(untrained, unseen)
    # as sure of itself on the topics it was trained on as on others, not more
    assert log_loss(learned, seen) > 0.6 * log_loss(learned, unseen)


def test_the_record_names_the_model(taught: Collection, source: SearchSource) -> None:
    choice = choose_model(taught, "learned")
    assert source_of(taught, "learned").describe()["model"] == choice.describe()
    assert source.describe()["model"] == {"kind": "untrained"}


def test_a_model_works_in_another_process_and_without_training_topics(taught: Collection) -> None:
    learned = source_of(taught, "learned")
    topic = next(topic for topic in taught.topics if topic.split == "eval")
    copy = pickle.loads(pickle.dumps(learned))
    np.testing.assert_array_equal(copy.find(topic).relevance, learned.find(topic).relevance)
    alone = source_of(taught.with_topics([topic]), "learned")
    assert alone.calibration is None
    assert alone.describe()["relevance"] == "by the model"
    np.testing.assert_allclose(alone.find(topic).relevance.sum(), learned.find(topic).relevance.sum(), rtol=0.2)


def test_a_model_needs_an_index(golden_collection: Collection, golden_runs: list[Path]) -> None:
    with pytest.raises(EvenrankError, match="no index for a relevance model"):
        open_source(golden_collection, golden_runs[0], BuildSettings(), 50, ModelChoice("learned"))


@pytest.mark.parametrize("distance, strength", [(2.0, 30.0), (4.0, 0.1)])
def test_training_topics_decide_whether_a_topic_has_a_share_of_its_own(distance: float, strength: float) -> None:
    """Where scores set relevant pages apart, they tell how many there are; where they do not, others' share counts."""
    rng = np.random.default_rng(6)
    labels = [rng.random(400) < share for share in np.geomspace(0.01, 0.6, 30)]
    scores = [np.where(relevant, 2.0 + distance, 2.0) + rng.normal(0.0, 1.0, 400) for relevant in labels]
    samples = [JudgedScores.complete(*topic) for topic in zip(scores, labels, strict=True)]
    assert calibrate_scores(samples, range(30)).settings.prior_strength == strength


def test_the_record_says_how_much_the_training_topics_count(source: SearchSource) -> None:
    assert source.calibration is not None
    assert source.describe()["prior_strength"] == source.calibration.settings.prior_strength
