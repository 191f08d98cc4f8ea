"""A cross-encoder reads a topic and a page together; slower than comparing vectors, so for the first pages only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.parallel import n_cores
from evenrank.retrieval.encode.encoder import Device, Network, network_files, torch_network
from evenrank.retrieval.encode.models import MINILM
from evenrank.retrieval.encode.torch_network import TorchNetwork
from evenrank.retrieval.encode.vector_cache import PairScores
from evenrank.retrieval.engine.protocol import Engine

N_TOKENS = 200
"""Tokens of topic and page together that are read."""


class CrossEncoder:
    """MiniLM, trained on MS MARCO to tell whether a passage answers a query."""

    def __init__(self, device: Device = "cpu") -> None:
        self.device = device
        self.files = network_files(MINILM)

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the network and its arithmetic; scores of different fingerprints do not mix."""
        return self.files.fingerprint(str(N_TOKENS), *(() if self.device == "cpu" else ("float",)))

    @cached_property
    def _network(self) -> Network:
        return Network(self.files, N_TOKENS)

    @cached_property
    def _torch(self) -> TorchNetwork | None:
        return torch_network(self.files, N_TOKENS, self.device)

    def scores(self, query: str, texts: Iterable[str]) -> NDArray[np.float64]:
        """How well each text answers the query, as log-odds; on all cores, or on the GPU."""
        if self._torch is not None:
            found = self._torch.classify((query, text) for text in texts)
            return np.array([logits[0] for logits in found], np.float64)
        with ThreadPoolExecutor(n_cores()) as pool:
            return np.array(list(pool.map(lambda text: self._network.run(query, text)[0], texts)), np.float64)


@dataclass(frozen=True)
class PageReader:
    """A cross-encoder over the pages of an index; what it says of a pair is kept on disk."""

    engine: Engine
    encoder: CrossEncoder
    kept: PairScores

    @classmethod
    def open(cls, engine: Engine, encoder: CrossEncoder, folder: Path) -> PageReader:
        """A reader whose scores live in `folder`, a file for each cross-encoder."""
        return cls(engine, encoder, PairScores(folder / f"pairs-{encoder.fingerprint}.bin"))

    def scores(self, topic: Topic, page_ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """How well each page answers the title of a topic, as log-odds."""
        query = query_of(topic)
        return self.kept.get(query, page_ids.tolist(), lambda lacking: self._read(query, lacking))

    def _read(self, query: str, page_ids: list[int]) -> NDArray[np.float64]:
        pages = self.engine.stored(page_ids)
        return self.encoder.scores(query, (f"{page.title}. {page.opening}" if page else "" for page in pages))


def query_of(topic: Topic) -> str:
    """What a cross-encoder is asked: the title of a topic, without the marks between its parts."""
    return re.sub(r"[/.…]+", " ", topic.title).strip()
