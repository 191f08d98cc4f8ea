"""Randomness is handed in: generators derived from a seed and the ids of what they serve."""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, *ids: int | str) -> np.random.Generator:
    """A generator that depends on `seed` and on every id, and on nothing else.

    The same ids give the same stream on every machine and in every process, whatever ran before.
    """
    text = "\x1f".join([str(seed), *(f"{type(part).__name__}:{part}" for part in ids)])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))
