"""A BERT encoder in PyTorch, from the weights of an ONNX file: float arithmetic, many texts at a time, on a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.search.encode.onnx_weights import check_bert, read_weights

HEAD_SIZE = 32
"""Dimensions of an attention head in the packaged encoders; others say theirs in config.json."""
EPSILON = 1e-12
"""Of layer normalisation, as in BERT."""
CHUNK = 16_384
"""Texts that are tokenised at a time, while the GPU works on those before."""
BATCH = 1024
"""Texts of a chunk that go through the network together, of about the same length."""


class TorchNetwork:
    """Token states of texts. Half precision on a GPU, single on a CPU; the two agree to a cosine of 0.9999."""

    def __init__(self, model: Path, tokenizer: Path, n_tokens: int, device: str, n_heads: int | None = None) -> None:
        self.model, self.tokenizer_path, self.n_tokens = model, tokenizer, n_tokens
        self.device, self._n_heads = device, n_heads

    def encode(self, texts: Iterable[str], pooling: str) -> Iterator[NDArray[np.float32]]:
        """The pooled state of each text, in order."""
        chunks = _chunks(texts, CHUNK)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: self._tokens(next(chunks, [])))
            while len(tokens := waiting.result()):
                waiting = pool.submit(lambda: self._tokens(next(chunks, [])))
                yield from self._encode_chunk(tokens, pooling)

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [found.ids for found in self._tokenizer.encode_batch(list(texts))]

    def _encode_chunk(self, tokens: list[list[int]], pooling: str) -> NDArray[np.float32]:
        torch = import_torch()
        order = np.argsort([len(ids) for ids in tokens], kind="stable")
        pooled = []
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                batch = [tokens[at] for at in order[start : start + BATCH].tolist()]
                pooled.append(self._pooled(batch, pooling))
            states = torch.cat(pooled).float().cpu().numpy()
        found = np.empty_like(states)
        found[order] = states
        return np.asarray(found, np.float32)

    def _pooled(self, batch: list[list[int]], pooling: str) -> Any:
        torch = import_torch()
        longest = max(len(ids) for ids in batch)
        ids = np.zeros((len(batch), longest), np.int64)
        mask = np.zeros((len(batch), longest), bool)
        for row, text in enumerate(batch):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = True
        on_device = torch.from_numpy(mask).to(self.device)
        states = self._states(torch.from_numpy(ids).to(self.device), on_device)
        if pooling == "first":
            return states[:, 0]
        weights = on_device[..., None].to(states.dtype)
        return (states * weights).sum(1) / weights.sum(1)

    def _states(self, ids: Any, mask: Any) -> Any:
        """The states of all tokens after the last layer; `mask` is false for padding."""
        torch = import_torch()
        functional = torch.nn.functional
        w = self._weights
        n_tokens = ids.shape[1]
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n_tokens]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
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
    def _weights(self) -> dict[str, Any]:
        torch = import_torch()
        is_cpu = self.device == "cpu"
        if not is_cpu and not torch.cuda.is_available():
            raise EvenrankError(f"device {self.device!r}: PyTorch finds no GPU here (use --device cpu-float)")
        dtype = torch.float32 if is_cpu else torch.float16
        arrays = read_weights(self.model)
        return {name: torch.from_numpy(values.copy()).to(self.device, dtype) for name, values in arrays.items()}

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


def _chunks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
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
