"""Text encoders on a CPU: any Hugging Face encoder exported to ONNX, from a folder with model and tokenizer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.parallel import n_cores
from evenrank.retrieval.encode.encoder_files import EncoderFiles, encoder_files, packaged_files
from evenrank.retrieval.encode.network import Network
from evenrank.retrieval.encode.page_text import READ_OF_A_PAGE
from evenrank.retrieval.encode.torch_network import TorchNetwork

Vectors = NDArray[np.float32]
Pooling = Literal["first", "mean"]
Device = Literal["cpu", "cuda", "cpu-float"]

N_AHEAD = 32
"""Pages read ahead for each core: a corpus does not fit into memory."""
PACKAGED_PREFIX = "Represent this sentence for searching relevant passages: "
"""What bge, the packaged model, was trained to see before queries."""


@dataclass(frozen=True)
class EncoderSettings:
    """Which encoder, and how its output becomes a vector."""

    path: str | None = None
    """Folder with `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`; None takes the packaged bge-small."""
    pooling: Pooling | None = None
    """`first`: the vector of the first token; `mean`: of all tokens. None: first for the packaged model, else mean."""
    query_prefix: str | None = None
    """Put before queries, never before pages. None: that of the packaged model, nothing for others."""
    n_tokens: int = 48
    """Tokens of a text that are read, enough for a title and a sentence; fewer if the model takes fewer."""
    device: Device = "cpu"
    """`cpu`: onnxruntime, in the arithmetic of the model file (the packaged one is int8); `cuda`: PyTorch on a GPU, in
    float; `cpu-float`: the same on a CPU, to search with vectors that a GPU made."""


class Encoder:
    """Texts → vectors of length 1. One text at a time: with dynamic int8, a batch changes the result."""

    def __init__(self, settings: EncoderSettings | None = None) -> None:
        self.settings = settings or EncoderSettings()
        path = self.settings.path
        extra = "dense" if self.settings.device == "cpu" else "gpu"
        self.files: EncoderFiles = packaged_files(extra=extra) if path is None else encoder_files(Path(path))
        self.pooling: Pooling = self.settings.pooling or ("first" if path is None else "mean")
        prefix = self.settings.query_prefix
        self.query_prefix = prefix if prefix is not None else PACKAGED_PREFIX if path is None else ""
        self.n_tokens = min(self.settings.n_tokens, self.files.most_tokens or self.settings.n_tokens)

    @property
    def folder(self) -> Path:
        return self.files.folder

    @property
    def arithmetic(self) -> str:
        """`file`: as the model file has it (the packaged one is int8); `float`: PyTorch, on a GPU or a CPU."""
        return "file" if self.settings.device == "cpu" else "float"

    @cached_property
    def fingerprint(self) -> str:
        """Identifies model and settings; vectors of different fingerprints do not mix."""
        arithmetic = () if self.arithmetic == "file" else ("float",)
        return self.files.fingerprint(self.pooling, str(self.n_tokens), READ_OF_A_PAGE, *arithmetic)

    @cached_property
    def _network(self) -> Network:
        return Network(self.files, self.n_tokens)

    @cached_property
    def n_dimensions(self) -> int:
        return int(self.encode_query("x").shape[0])

    def encode_query(self, text: str) -> Vectors:
        """The vector of a query."""
        return self._vector(self.query_prefix + text)

    @cached_property
    def _torch(self) -> TorchNetwork | None:
        """The network in PyTorch; None when onnxruntime runs it."""
        return torch_network(self.files, self.n_tokens, self.settings.device)

    def encode_pages(self, pages: Iterable[tuple[str, ...]]) -> Iterator[Vectors]:
        """The vector of each page, the mean of those of its texts, in order; on all cores, or on the GPU."""
        return self._on_cores(pages) if self._torch is None else self._on_device(pages, self._torch)

    def _on_device(self, pages: Iterable[tuple[str, ...]], network: TorchNetwork) -> Iterator[Vectors]:
        sizes: deque[int] = deque()

        def texts() -> Iterator[str]:
            for page in pages:
                sizes.append(len(page))
                yield from page

        vectors: list[Vectors] = []
        for vector in network.encode(texts(), self.pooling):
            vectors.append(_unit(vector))
            if len(vectors) == sizes[0]:
                sizes.popleft()
                yield _unit(np.mean(vectors, axis=0))
                vectors = []

    def _on_cores(self, pages: Iterable[tuple[str, ...]]) -> Iterator[Vectors]:
        n_threads = n_cores()
        waiting: deque[Future[Vectors]] = deque()
        with ThreadPoolExecutor(n_threads) as pool:
            for texts in pages:
                waiting.append(pool.submit(self._page_vector, texts))
                if len(waiting) >= N_AHEAD * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _page_vector(self, texts: tuple[str, ...]) -> Vectors:
        return _unit(np.mean([self._vector(text) for text in texts], axis=0))

    def _vector(self, text: str) -> Vectors:
        if self._torch is not None:
            return _unit(next(self._torch.encode([text], self.pooling)))
        return _unit(pooled(self._network.run(text), self.pooling))


def torch_network(files: EncoderFiles, n_tokens: int, device: Device) -> TorchNetwork | None:
    """A network in PyTorch on a device; None when onnxruntime runs it."""
    if device == "cpu":
        return None
    place = "cpu" if device == "cpu-float" else device
    return TorchNetwork(files.model, files.tokenizer, n_tokens, place, files.n_heads)


def _unit(vector: Vectors) -> Vectors:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


def pooled(states: Vectors, pooling: Pooling) -> Vectors:
    """One vector from those of a text's tokens (there is no padding to leave out), or the one that the model made."""
    if states.ndim == 1:
        return states
    return np.asarray(states[0] if pooling == "first" else states.mean(axis=0))
