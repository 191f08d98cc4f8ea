"""How much attention a rank gets: a named model, or weights of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.exposure import discounts
from evenrank.types import Floats

PERSISTENCE = 0.8
"""Of `rbp`, where none is given: the chance that a reader continues to the next item."""
MODELS: dict[str, Callable[[int, float], Floats]] = {
    "log": lambda n, _: np.asarray(discounts(n), np.float64),
    "dcg": lambda n, _: np.asarray(1.0 / np.log2(np.arange(2, n + 2)), np.float64),
    "rbp": lambda n, persistence: np.asarray(persistence ** np.arange(n), np.float64),
    "reciprocal": lambda n, _: 1.0 / np.arange(1, n + 1),
    "uniform": lambda n, _: np.ones(n),
}
"""`log`: 1 / log2(max(rank, 2)), the track's; `dcg`: 1 / log2(rank + 1); `rbp`: persistence^(rank − 1); `reciprocal`:
1 / rank; `uniform`: 1."""


def attention_weights(attention: str | Sequence[float] | Floats, n_ranks: int) -> Floats:
    """Weights of ranks 1 … n_ranks; ranks beyond weights of one's own get no attention."""
    if isinstance(attention, str):
        name, persistence = _parse(attention)
        return np.asarray(MODELS[name](n_ranks, persistence), np.float64)
    if isinstance(attention, (list, tuple, np.ndarray)):
        return _own_weights(attention, n_ranks)
    raise WrongTypeError(attention, "attention model", f"{', '.join(MODELS)}, or a list of weights")


def _own_weights(attention: Sequence[float] | Floats, n_ranks: int) -> Floats:
    weights = np.asarray(attention, np.float64)
    if weights.ndim != 1 or not len(weights) or not np.isfinite(weights).all() or (weights < 0.0).any():
        raise EvenrankError("attention: weights must be a list of finite numbers of at least 0")
    if not weights.any():
        raise EvenrankError("attention: no weight is above 0")
    return np.concatenate([weights[:n_ranks], np.zeros(max(0, n_ranks - len(weights)))])


def _parse(text: str) -> tuple[str, float]:
    """`rbp(0.9)` → its name and its parameter."""
    match = re.fullmatch(r"(\w+)(?:\(([0-9.]+)\))?", text.strip())
    name = match[1] if match else text
    if name not in MODELS:
        raise UnknownNameError("attention model", text, MODELS)
    given = match[2] if match else None
    if given is not None and name != "rbp":
        raise EvenrankError(f"attention {text!r}: {name} has no parameter")
    persistence = PERSISTENCE if given is None else float(given)
    if not 0.0 < persistence < 1.0:
        raise EvenrankError(f"attention {text!r}: the persistence must lie between 0 and 1")
    return name, persistence
