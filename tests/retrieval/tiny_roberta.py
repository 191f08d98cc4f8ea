"""A tiny RoBERTa with random weights, written as a Hugging Face export: ONNX model, byte-level BPE, config.

Its forward pass is written twice, as an ONNX graph and in numpy, so that an encoder's vectors can be checked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.implementations import ByteLevelBPETokenizer
from tokenizers.processors import RobertaProcessing

from evenrank.core.rng import derive

Array = NDArray[np.float32]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LINES = ["The horse is a mammal.", "A pony is a small horse.", "Income tax law of Ghana.", "A naïve café."]
WIDTH, INNER, N_POSITIONS, PADDING = 16, 32, 34, 1
"""34 positions hold 32 tokens: the first two stand for nothing and for padding."""


@dataclass(frozen=True)
class TinyRoberta:
    """The folder of the export, and what is in it."""

    folder: Path
    tokenizer: Tokenizer
    weights: dict[str, Array]

    def states(self, text: str, n_tokens: int) -> Array:
        """The vector of each of the first tokens of a text, computed without onnxruntime."""
        self.tokenizer.enable_truncation(n_tokens)
        ids = np.array(self.tokenizer.encode(text).ids)
        w = self.weights
        x = norm(w["words"][ids] + w["positions"][np.arange(len(ids)) + PADDING + 1])
        attention = softmax((x @ w["query"]) @ (x @ w["key"]).T / np.float32(np.sqrt(WIDTH)))
        x = norm(x + attention @ (x @ w["value"]))
        return norm(x + np.maximum(x @ w["up"], 0) @ w["down"])


def write_tiny_roberta(folder: Path, model: str = "model.onnx") -> TinyRoberta:
    """The export of a tiny RoBERTa; the pooled output comes first, as in some exports."""
    (folder / model).parent.mkdir(parents=True, exist_ok=True)
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(LINES * 5, vocab_size=320, min_frequency=1, special_tokens=SPECIAL, show_progress=False)
    bpe._tokenizer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    bpe.save_model(str(folder))
    bpe.save(str(folder / "tokenizer.json"))
    config = {"model_type": "roberta", "max_position_embeddings": N_POSITIONS, "pad_token_id": PADDING}
    (folder / "config.json").write_text(json.dumps(config))
    weights = random_weights(bpe.get_vocab_size())
    onnx.save(build_model(weights), str(folder / model))
    return TinyRoberta(folder, Tokenizer.from_file(str(folder / "tokenizer.json")), weights)


def random_weights(n_words: int) -> dict[str, Array]:
    rng = derive(3, "tiny roberta")
    shapes = {
        "words": (n_words, WIDTH),
        "positions": (N_POSITIONS, WIDTH),
        "up": (WIDTH, INNER),
        "down": (INNER, WIDTH),
    }
    shapes |= dict.fromkeys(("query", "key", "value", "pooler"), (WIDTH, WIDTH))
    return {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def build_model(weights: dict[str, Array]) -> onnx.ModelProto:
    """The graph: positions counted from the mask, one layer of attention, one of words, a pooler."""
    constants = {
        "one": np.ones(WIDTH, np.float32),
        "padding": np.array(PADDING, np.int64),
        "axis": np.array(1, np.int64),
        "scale": np.array(np.sqrt(WIDTH), np.float32),
        "zero": np.array(0, np.int64),
    }
    stored = [numpy_helper.from_array(array, name) for name, array in (weights | constants).items()]
    nodes = [
        node("CumSum", "attention_mask axis", "counted"),
        node("Mul", "counted attention_mask", "masked"),
        node("Add", "masked padding", "position_ids"),
        node("Gather", "words input_ids", "word"),
        node("Gather", "positions position_ids", "position"),
        node("Add", "word position", "sum0"),
        node("LayerNormalization", "sum0 one", "x0", epsilon=1e-5),
        *(node("MatMul", f"x0 {name}", name[0]) for name in ("query", "key", "value")),
        node("Transpose", "k", "kt", perm=[0, 2, 1]),
        node("MatMul", "q kt", "dots"),
        node("Div", "dots scale", "scaled"),
        node("Softmax", "scaled", "attention", axis=-1),
        node("MatMul", "attention v", "mixed"),
        node("Add", "x0 mixed", "sum1"),
        node("LayerNormalization", "sum1 one", "x1", epsilon=1e-5),
        node("MatMul", "x1 up", "inner"),
        node("Relu", "inner", "active"),
        node("MatMul", "active down", "outer"),
        node("Add", "x1 outer", "sum2"),
        node("LayerNormalization", "sum2 one", "last_hidden_state", epsilon=1e-5),
        node("Gather", "last_hidden_state zero", "first", axis=1),
        node("MatMul", "first pooler", "dense"),
        node("Tanh", "dense", "pooler_output"),
    ]
    texts = ["batch", "sequence"]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, texts) for n in ("input_ids", "attention_mask")]
    outputs = [
        helper.make_tensor_value_info("pooler_output", TensorProto.FLOAT, ["batch", WIDTH]),
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*texts, WIDTH]),
    ]
    graph = helper.make_graph(nodes, "tiny-roberta", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(kind: str, inputs: str, output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def norm(x: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5), np.float32)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)
