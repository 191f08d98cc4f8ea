"""Text encoders on a CPU: any Hugging Face encoder exported to ONNX, from a folder with model and tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.parallel import n_cores
from evenrank.search.encoder_files import EncoderFiles, encoder_files, packaged_files

Vectors = NDArray[np.float32]
Pooling = Literal["first", "mean"]

PACKAGED_PREFIX = "Represent this sentence for searching relevant passages: "
"""What bge, the packaged model, was trained to see before queries."""
TOKEN_STATES = ("last_hidden_state", "token_embeddings")
"""Names that exporters give to the vectors of tokens."""


@dataclass(frozen=True)
class EncoderSettings:
    """Which encoder, and how its output becomes a vector."""

    path: str | None = None
    """Folder with `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`; None takes the packaged bge-small."""
    pooling: Pooling | None = None
    """`first`: the vector of the first token; `mean`: of all tokens. None: first for the packaged model, else mean."""
    query_prefix: str | None = None
    """Put before queries, never before pages. None: that of the packaged model, nothing for others."""
    n_tokens: int = 200
    """Tokens of a page that are read, its title and first paragraph or two; fewer if the model takes fewer."""


class Encoder:
    """Texts → vectors of length 1. One text at a time: with dynamic int8, a batch changes the result."""

    def __init__(self, settings: EncoderSettings | None = None) -> None:
        self.settings = settings or EncoderSettings()
        path = self.settings.path
        self.files: EncoderFiles = packaged_files() if path is None else encoder_files(Path(path))
        self.pooling: Pooling = self.settings.pooling or ("first" if path is None else "mean")
        prefix = self.settings.query_prefix
        self.query_prefix = prefix if prefix is not None else PACKAGED_PREFIX if path is None else ""
        self.n_tokens = min(self.settings.n_tokens, self.files.most_tokens or self.settings.n_tokens)

    @property
    def folder(self) -> Path:
        return self.files.folder

    @cached_property
    def fingerprint(self) -> str:
        """Identifies model and settings; vectors of different fingerprints do not mix."""
        marks = [*self.files.hashes, self.pooling, str(self.n_tokens)]
        return hashlib.sha256("\n".join(marks).encode()).hexdigest()[:16]

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError("a text encoder", "dense") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(str(self.files.model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the errors of onnxruntime have no common type of their own
            raise EvenrankError(f"{self.files.model}: not a model that can be run: {error}") from error

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError("a text encoder", "dense") from error
        try:
            tokenizer = Tokenizer.from_file(str(self.files.tokenizer))
        except Exception as error:  # tokenizers raises nothing narrower
            raise EvenrankError(f"{self.files.tokenizer}: not a tokenizer that can be used: {error}") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.n_tokens)
        return tokenizer

    @cached_property
    def _inputs(self) -> dict[str, type[np.signedinteger[Any]]]:
        """Type of each tensor that the model wants; RoBERTa and others want no token types."""
        wanted = {tensor.name: tensor.type for tensor in self._session.get_inputs()}
        if unknown := sorted(set(wanted) - {"input_ids", "attention_mask", "token_type_ids"}):
            fix = "export it for the task feature-extraction"
            raise EvenrankError(f"{self.files.model}: wants {', '.join(unknown)}, which no text encoder needs ({fix})")
        return {name: np.int32 if kind == "tensor(int32)" else np.int64 for name, kind in wanted.items()}

    @cached_property
    def _output(self) -> str:
        """The output with a vector for each token, whatever its place; where there is none, the first."""
        outputs: dict[str, int] = {tensor.name: len(tensor.shape) for tensor in self._session.get_outputs()}
        named = [name for name in TOKEN_STATES if name in outputs]
        return next(iter([*named, *(name for name, n_axes in outputs.items() if n_axes == 3), *outputs]))

    @cached_property
    def n_dimensions(self) -> int:
        return int(self.encode_query("x").shape[0])

    def encode_query(self, text: str) -> Vectors:
        """The vector of a query."""
        return self._vector(self.query_prefix + text)

    def encode_pages(self, texts: Iterable[str]) -> Iterator[Vectors]:
        """The vector of each page, from its title and opening, in order; on all cores."""
        with ThreadPoolExecutor(n_cores()) as pool:
            yield from pool.map(self._vector, texts)

    def _vector(self, text: str) -> Vectors:
        encoded = self._tokenizer.encode(text)
        tensors = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        given = {name: np.array([tensors[name]], kind) for name, kind in self._inputs.items()}
        (states,) = self._session.run([self._output], given)
        vector = pooled(np.asarray(states[0], np.float32), self.pooling)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


def pooled(states: Vectors, pooling: Pooling) -> Vectors:
    """One vector from those of a text's tokens (there is no padding to leave out), or the one that the model made."""
    if states.ndim == 1:
        return states
    return np.asarray(states[0] if pooling == "first" else states.mean(axis=0))
