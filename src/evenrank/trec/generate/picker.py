"""Words drawn by weight, in bulk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def zipf_weights(n: int, shift: float = 2.7) -> NDArray[np.float64]:
    """Weights of ranks 1 … n that fall like word frequencies (Zipf–Mandelbrot), summing to 1."""
    weights: NDArray[np.float64] = 1 / (np.arange(1, n + 1) + shift)
    weights /= weights.sum()
    return weights


@dataclass(frozen=True, slots=True)
class Picker:
    """A list of words with cumulated weights."""

    words: list[str]
    cumulated: NDArray[np.float64]

    @classmethod
    def weighted(cls, words: Sequence[str], weights: NDArray[np.float64]) -> Picker:
        """Words with weights of any scale."""
        cumulated = np.cumsum(weights)
        return cls(list(words), cumulated / cumulated[-1])

    @classmethod
    def zipf(cls, words: Sequence[str]) -> Picker:
        """Words in order of falling frequency."""
        return cls.weighted(words, zipf_weights(len(words)))

    def draw(self, rng: np.random.Generator, n: int) -> list[str]:
        """`n` words."""
        words = self.words
        return [words[i] for i in self.cumulated.searchsorted(rng.random(n), side="right")]

    def stream(self, rng: np.random.Generator, chunk: int) -> Iterator[str]:
        """Words without end, drawn `chunk` at a time."""
        while True:
            yield from self.draw(rng, chunk)
