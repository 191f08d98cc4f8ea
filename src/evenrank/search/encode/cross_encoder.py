"""A cross-encoder reads a topic and a page together; slower than comparing vectors, so for the first pages only."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.parallel import n_cores
from evenrank.search.encode.encoder_files import CROSS_ENCODER, packaged_files
from evenrank.search.encode.network import Network

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
