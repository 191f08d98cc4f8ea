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

from evenrank.parallel import n_cores
from evenrank.records import Topic
from evenrank.search.encode.encoder_files import CROSS_ENCODER, packaged_files
from evenrank.search.encode.network import Network
from evenrank.search.encode.text_cache import PairScores
from evenrank.search.engine.protocol import Engine

N_TOKENS = 200
"""Tokens of topic and page together that are read."""


class CrossEncoder:
    """The packaged MiniLM, trained on MS MARCO to tell whether a passage answers a query."""

    def __init__(self) -> None:
        self._network = Network(packaged_files(CROSS_ENCODER), N_TOKENS)

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the network."""
        return self._network.files.fingerprint(str(N_TOKENS))

    def scores(self, query: str, texts: Iterable[str]) -> NDArray[np.float64]:
        """How well each text answers the query, as log-odds; on all cores."""
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
        query = re.sub(r"[/.…]+", " ", topic.title).strip()
        return self.kept.get(query, page_ids.tolist(), lambda lacking: self._read(query, lacking))

    def _read(self, query: str, page_ids: list[int]) -> NDArray[np.float64]:
        pages = self.engine.stored(page_ids)
        return self.encoder.scores(query, (f"{page.title}. {page.opening}" if page else "" for page in pages))
