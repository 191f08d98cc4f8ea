"""BERT in PyTorch, from the weights of an ONNX file: float arithmetic, many texts at a time, on a GPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError

Array = NDArray[np.float32]
_MATMUL = re.compile(r"^/(?:bert/)?(.+)/(?:MatMul|Gemm)$")
_PREFIX = re.compile(r"^bert\.")
_QUANTISED = "_quantized"


def read_weights(model: Path) -> dict[str, Array]:
    """Arrays by name, such as `encoder.layer.0.attention.self.query.weight`; matrices are input by output.

    From an ONNX file, or from such arrays in a file of numpy (.npz), which needs no package `onnx`.
    """
    if model.suffix == ".npz":
        with np.load(model) as arrays:
            return {name: arrays[name] for name in arrays.files}
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise MissingExtraError("a text encoder on a GPU", "gpu") from error
    graph = onnx.load(str(model)).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found: dict[str, Array] = {}
    for name in stored:
        if name.endswith(_QUANTISED):
            found[name.removesuffix(_QUANTISED)] = _dequantise(stored, name)
        elif not name.endswith(("_scale", "_zero_point")) and stored[name].dtype.kind == "f":
            found[name] = np.asarray(stored[name], np.float32)
    named = {_PREFIX.sub("", name): values for name, values in found.items() if not name.startswith("onnx::")}
    return named | _matrices(graph, found)


def _dequantise(stored: dict[str, Any], name: str) -> Array:
    base = name.removesuffix(_QUANTISED)
    scale, zero_point = stored[f"{base}_scale"], stored[f"{base}_zero_point"]
    return np.asarray((stored[name].astype(np.float32) - np.float32(zero_point)) * np.float32(scale), np.float32)


def _matrices(graph: Any, found: dict[str, Array]) -> dict[str, Array]:
    """Matrices that exporters keep under numbers, named by the node that uses them."""
    matrices = {}
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulInteger") or len(node.input) < 2:
            continue
        place = _MATMUL.match(node.name.removesuffix("_quant")) or _MATMUL.match(node.output[0].split("_output_0")[0])
        values = found.get(node.input[1].removesuffix(_QUANTISED))
        if place is not None and values is not None:
            matrices[place[1].replace("/", ".") + ".weight"] = values
    return matrices


def check_bert(weights: dict[str, Array], model: Path) -> int:
    """The number of layers; an error when parts of a BERT encoder are missing."""
    n_layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
    parts = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    wanted = [f"encoder.layer.{at}.{part}.weight" for at in range(n_layers) for part in parts]
    lacking = [name for name in ("embeddings.word_embeddings.weight", *wanted) if name not in weights]
    if lacking or not n_layers:
        raise EvenrankError(
            f"{model}: not a BERT encoder that can run on a GPU: no {', '.join(lacking[:3]) or 'layers'}"
        )
    return n_layers


HEAD_SIZE = 32
"""Dimensions of an attention head in the packaged encoders; others say theirs in config.json."""
EPSILON = 1e-12
"""Of layer normalisation, as in BERT."""
CHUNK = 16_384
"""Texts that are tokenised at a time, while the GPU works on those before."""
BATCH = 1024
"""Texts of a chunk that go through the network together, of about the same length."""
CLASSIFIER = ("pooler.dense.weight", "pooler.dense.bias", "classifier.weight", "classifier.bias")
"""Weights that a cross-encoder has beyond those of an encoder."""


class EncodedText(NamedTuple):
    """A text, or a pair of texts, as the network reads it."""

    ids: list[int]
    types: list[int]
    """0 for the first text of a pair, 1 for the second."""


class TorchNetwork:
    """Token states of texts. Half precision on a GPU, single on a CPU; the two agree to a cosine of 0.9999."""

    def __init__(self, model: Path, tokenizer: Path, n_tokens: int, device: str, n_heads: int | None = None) -> None:
        self.model, self.tokenizer_path, self.n_tokens = model, tokenizer, n_tokens
        self.device, self._n_heads = device, n_heads

    def encode(self, texts: Iterable[str], pooling: str) -> Iterator[NDArray[np.float32]]:
        """The pooled state of each text, in order."""
        return self._run(texts, lambda states, mask: _pooled(states, mask, pooling))

    def classify(self, pairs: Iterable[tuple[str, str]]) -> Iterator[NDArray[np.float32]]:
        """What the classifier of a cross-encoder says of each pair of texts, in order: its logits."""
        return self._run(pairs, lambda states, mask: self._logits(states))

    def _run(
        self, texts: Iterable[str] | Iterable[tuple[str, str]], head: Callable[[Any, Any], Any]
    ) -> Iterator[NDArray[np.float32]]:
        chunks = _chunks(texts, CHUNK)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: self._tokens(next(chunks, [])))
            while len(tokens := waiting.result()):
                waiting = pool.submit(lambda: self._tokens(next(chunks, [])))
                yield from self._run_chunk(tokens, head)

    def _tokens(self, texts: Sequence[Any]) -> list[EncodedText]:
        return [EncodedText(found.ids, found.type_ids) for found in self._tokenizer.encode_batch(list(texts))]

    def _run_chunk(self, tokens: list[EncodedText], head: Callable[[Any, Any], Any]) -> NDArray[np.float32]:
        torch = import_torch()
        order = np.argsort([len(each.ids) for each in tokens], kind="stable")
        outputs = []
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                batch = [tokens[at] for at in order[start : start + BATCH].tolist()]
                outputs.append(head(*self._batch_states(batch)))
            values = torch.cat(outputs).float().cpu().numpy()
        found = np.empty_like(values)
        found[order] = values
        return np.asarray(found, np.float32)

    def _batch_states(self, batch: list[EncodedText]) -> tuple[Any, Any]:
        """The states of all tokens of some texts, and which of them are no padding."""
        torch = import_torch()
        longest = max(len(each.ids) for each in batch)
        ids, types = (np.zeros((len(batch), longest), np.int64) for _ in range(2))
        mask = np.zeros((len(batch), longest), bool)
        for row, each in enumerate(batch):
            n = len(each.ids)
            ids[row, :n], types[row, :n], mask[row, :n] = each.ids, each.types, True
        on_device = [torch.from_numpy(array).to(self._place) for array in (ids, types, mask)]
        return self._states(*on_device), on_device[2]

    def _logits(self, states: Any) -> Any:
        """The pooler and the classifier of BERT over the first token."""
        torch = import_torch()
        lacking = [name for name in CLASSIFIER if name not in self._weights]
        if lacking:
            raise EvenrankError(f"{self.model}: not a cross-encoder that can run on a GPU: no {', '.join(lacking)}")
        return self._linear(torch.tanh(self._linear(states[:, 0], "pooler.dense")), "classifier")

    def _states(self, ids: Any, types: Any, mask: Any) -> Any:
        """The states of all tokens after the last layer; `mask` is false for padding."""
        torch = import_torch()
        functional = torch.nn.functional
        w = self._weights
        n_tokens = ids.shape[1]
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n_tokens]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][types], "embeddings.LayerNorm")
        attended = mask[:, None, None, :]
        n_heads = self._n_heads or x.shape[-1] // HEAD_SIZE
        for at in range(self._n_layers):
            layer = f"encoder.layer.{at}"
            q, k, v = (
                self._linear(x, f"{layer}.attention.self.{part}").unflatten(-1, (n_heads, -1)).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=attended).transpose(1, 2).flatten(2)
            mixed = self._linear(mixed, f"{layer}.attention.output.dense")
            x = self._norm(x + mixed, f"{layer}.attention.output.LayerNorm")
            wide = functional.gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(x + self._linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return x

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        scale, shift = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        normed = import_torch().nn.functional.layer_norm(
            x.float(), (x.shape[-1],), scale.float(), shift.float(), EPSILON
        )
        return normed.to(x.dtype)

    @cached_property
    def _n_layers(self) -> int:
        return check_bert(read_weights(self.model), self.model)

    @cached_property
    def _place(self) -> str:
        """The device, after a look whether it is there."""
        if self.device != "cpu" and not import_torch().cuda.is_available():
            raise EvenrankError(f"device {self.device!r}: PyTorch finds no GPU here (use --device cpu-float)")
        return self.device

    @cached_property
    def _weights(self) -> dict[str, Any]:
        torch = import_torch()
        dtype = torch.float32 if self._place == "cpu" else torch.float16
        arrays = read_weights(self.model)
        return {name: torch.from_numpy(values.copy()).to(self._place, dtype) for name, values in arrays.items()}

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError("a text encoder on a GPU", "gpu") from error
        tokenizer = Tokenizer.from_file(str(self.tokenizer_path))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.n_tokens)
        return tokenizer


def _pooled(states: Any, mask: Any, pooling: str) -> Any:
    if pooling == "first":
        return states[:, 0]
    weights = mask[..., None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)


def _chunks(texts: Iterable[Any], size: int) -> Iterator[list[Any]]:
    remaining = iter(texts)
    while chunk := list(islice(remaining, size)):
        yield chunk


def import_torch() -> Any:
    """PyTorch, or an error that says what to install."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("a text encoder on a GPU", "gpu") from error
    return torch
