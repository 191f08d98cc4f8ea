"""Tails of metadata lines that were parsed before, found by their hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SeenTails:
    """Tails seen so far: hashes ascending, and the codes of each. Never changed, so threads can share it."""

    hashes: NDArray[np.uint64]
    codes: NDArray[np.int64]

    @classmethod
    def none(cls, n_codes: int) -> SeenTails:
        return cls(np.empty(0, np.uint64), np.empty((0, n_codes), np.int64))

    def find(self, tails: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The place of each tail, and whether it was seen at all."""
        if len(self.hashes) == 0:
            return np.zeros(len(tails), np.intp), np.zeros(len(tails), bool)
        places = np.minimum(np.searchsorted(self.hashes, tails), len(self.hashes) - 1)
        return places, self.hashes[places] == tails

    def with_more(self, learnt: dict[int, tuple[int, ...]]) -> SeenTails:
        if not learnt:
            return self
        joined = np.concatenate([self.hashes, np.array(list(learnt), np.uint64)])
        codes = np.concatenate([self.codes, np.array(list(learnt.values()), np.int64)])
        order = np.argsort(joined)
        return SeenTails(joined[order], codes[order])
