"""Attention by rank: the track's discount (the paper's weight w_i), and other models of how people read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evenrank.errors import (
    EvenrankError,
    Fault,
    InputError,
    UnknownNameError,
    WrongTypeError,
    input_error,
    listed,
    reason_of,
)
from evenrank.plugins import call_plug_in

Weights = NDArray[np.floating]
PERSISTENCE = 0.8
"""Of `rbp`, where none is given: the chance that a reader continues to the next page."""
SATISFACTION = 0.5
"""Of `gerr`, where none is given: the chance that a relevant page is all that a reader wanted."""
MAX_FAULTS = 20
"""Wrong weights of a table that are listed; the others are counted."""
MAX_TABLE_BYTES = 16 << 20
"""Largest file of weights."""
OWN_RANKS = 10_000
"""Ranks of which a browsing model of others is asked; later ones get no attention, as with any table."""
NEGLIGIBLE = 1e-12
"""Share of the first rank's attention below which the end of such a table is left out."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LEAST_FIRST, MOST = 1e-6, 1e6
"""Smallest weight of rank 1 and largest of any rank in a table: single precision keeps their squares."""
_WEIGHTS = f"weights are numbers from 0 to {MOST:,.0f}"
_FIRST = f"give rank 1 a weight of at least {LEAST_FIRST:f}"


def discounts(depth: int, dtype: DTypeLike = np.float64) -> Weights:
    """Attention weights of ranks 1 … depth: 1 / log2(max(rank, 2)), so ranks 1 and 2 weigh the same.

    With `dtype` float32 the logarithm itself is taken in single precision, as the published code does.
    """
    ranks = np.maximum(np.arange(1, depth + 1), 2).astype(dtype)
    weights: Weights = np.reciprocal(np.log2(ranks))
    return weights


FORMULAS: dict[str, Callable[[int, DTypeLike], Weights]] = {
    "log": discounts,
    "dcg": lambda n, dtype: (1.0 / np.log2(np.arange(2, n + 2))).astype(dtype),
    "reciprocal": lambda n, dtype: (1.0 / np.arange(1, n + 1)).astype(dtype),
    "uniform": lambda n, dtype: np.ones(n, dtype),
}
"""`log`: 1 / log2(max(rank, 2)), the track's; `dcg`: 1 / log2(rank + 1); `reciprocal`: 1 / rank; `uniform`: 1."""
MODELS = (*FORMULAS, "rbp", "gerr", "table")
"""Names of the attention models."""


@dataclass(frozen=True, slots=True)
class Formula:
    """Attention by one of `FORMULAS`, which have no parameter."""

    name: str = "log"

    def __post_init__(self) -> None:
        if self.name not in FORMULAS:
            raise UnknownNameError("attention model", self.name, MODELS)

    def __str__(self) -> str:
        return self.name

    def weights(self, n_ranks: int, dtype: DTypeLike = np.float64) -> Weights:
        """Attention of ranks 1 … n_ranks."""
        return FORMULAS[self.name](n_ranks, dtype)


@dataclass(frozen=True, slots=True)
class Geometric:
    """Attention persistence^(rank − 1): a reader continues to the next page with the same chance at every rank.

    This is the browsing model of rank-biased precision (Moffat and Zobel 2008), without its constant 1 − persistence.
    """

    persistence: float = PERSISTENCE

    def __post_init__(self) -> None:
        if not 0.0 < self.persistence < 1.0:
            raise EvenrankError(f"attention {str(self)!r}: the persistence must lie between 0 and 1")

    def __str__(self) -> str:
        return f"rbp:{self.persistence!r}"

    def weights(self, n_ranks: int, dtype: DTypeLike = np.float64) -> Weights:
        """Attention of ranks 1 … n_ranks."""
        return np.asarray(self.persistence ** np.arange(n_ranks), dtype)


@dataclass(frozen=True, slots=True)
class Cascade:
    """Attention persistence^(rank − 1) × (1 − satisfaction)^(relevant pages above): readers stop when they are served.

    This is the browsing model of expected reciprocal rank with a patience (Chapelle et al. 2009, section 7.2), as
    Diaz et al. (2020) use it for expected exposure.
    """

    persistence: float = PERSISTENCE
    satisfaction: float = SATISFACTION

    def __post_init__(self) -> None:
        if not (0.0 < self.persistence < 1.0 and 0.0 <= self.satisfaction < 1.0):
            raise EvenrankError(
                f"attention {str(self)!r}: the persistence must lie between 0 and 1, the satisfaction from 0 to below 1"
            )

    def __str__(self) -> str:
        return f"gerr:{self.persistence!r},{self.satisfaction!r}"

    def weights(self, n_ranks: int, dtype: DTypeLike = np.float64) -> Weights:
        """Attention of ranks 1 … n_ranks where every page is relevant, as at the head of an ideal ranking."""
        return np.asarray((self.persistence * (1.0 - self.satisfaction)) ** np.arange(n_ranks), dtype)

    def given(self, ranks: NDArray[np.intp], n_above: NDArray[np.intp], dtype: DTypeLike = np.float64) -> Weights:
        """Attention of pages at `ranks` (from 0) with `n_above` relevant pages above them."""
        return np.asarray(self.persistence**ranks * (1.0 - self.satisfaction) ** n_above, dtype)

    def expected(self, relevance: NDArray[np.floating]) -> AttentionTable:
        """Attention to expect at each rank of a ranking whose pages are relevant with these chances."""
        return AttentionTable(tuple(self.expected_weights(relevance).tolist()) or (1.0,))

    def expected_weights(self, relevance: NDArray[np.floating]) -> NDArray[np.float64]:
        """The weights of `expected`.

        Exact where pages are relevant independently of each other: the mean of (1 − satisfaction)^(relevant above) is
        the product of 1 − satisfaction × chance over the pages above.
        """
        weights = np.ones(len(relevance))
        np.cumprod(self.persistence * (1.0 - self.satisfaction * relevance[:-1]), out=weights[1:])
        return weights


@dataclass(frozen=True, slots=True)
class AttentionTable:
    """Attention of each rank as given, rank 1 first; ranks beyond the table get none."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        wrong = [f"rank {rank} has {repr(v)[:40]}" for rank, v in enumerate(self.values, 1) if not _is_weight(v)]
        if wrong:
            raise EvenrankError(f"attention: {listed(wrong, MAX_FAULTS)} ({_WEIGHTS})")
        if not self.values or self.values[0] < LEAST_FIRST:
            raise EvenrankError(f"attention: rank 1 has {self.values[0] if self.values else 'no weight'} ({_FIRST})")

    def __str__(self) -> str:
        return "table:" + ",".join(map(repr, self.values))

    def weights(self, n_ranks: int, dtype: DTypeLike = np.float64) -> Weights:
        """Attention of ranks 1 … n_ranks."""
        weights = np.zeros(n_ranks, dtype)
        known = self.values[:n_ranks]
        weights[: len(known)] = known
        return weights


Attention = Formula | Geometric | Cascade | AttentionTable
LOG = Formula("log")


class BrowsingModel(Protocol):
    """A browsing model of one's own: attention by rank alone."""

    def weights(self, n_ranks: int, /) -> Sequence[float] | Weights:
        """Attention of ranks 1 … n_ranks."""
        ...


GivenAttention = str | Sequence[float] | Weights | BrowsingModel | Callable[[int], float]
"""What functions take as attention (`parse_attention`)."""


def page_attention(
    model: Attention,
    ranks: NDArray[np.intp],
    rankings: NDArray[np.intp],
    is_relevant: NDArray[np.bool_],
    dtype: DTypeLike = np.float64,
) -> Weights:
    """Attention that each ranked page gets; pages come ranking after ranking, by rank (from 0)."""
    if not isinstance(model, Cascade):
        return model.weights(int(ranks.max(initial=-1)) + 1, dtype)[ranks]
    above: NDArray[np.intp] = np.cumsum(is_relevant) - is_relevant
    starts = np.flatnonzero(np.diff(rankings, prepend=-1))
    n_above: NDArray[np.intp] = above - np.repeat(above[starts], np.diff(np.append(starts, len(ranks))))
    return model.given(ranks, n_above, dtype)


def parse_attention(given: object, *, may_read: bool = True) -> Attention:
    """The attention model that is meant by a text (`log`, `rbp:0.8`, `table:FILE`, `table:1,0.5`), a list of weights,
    a function of the rank (1, 2, …), or an object or class with the method `weights(n_ranks)`.

    A function or an object becomes the table of its first `OWN_RANKS` weights. `str` of a model is a text that gives
    the same model without its file. Where `may_read` is false, as for what visitors of a server send, no text names a
    file.
    """
    if isinstance(given, Attention):
        return given
    if isinstance(given, str):
        return _parse_text(given.strip(), may_read)
    if isinstance(given, list | tuple | np.ndarray):
        values = np.atleast_1d(given).tolist() if isinstance(given, np.ndarray) else given
        return AttentionTable(tuple(float(value) if _is_weight(value) else value for value in values))
    if callable(given) or hasattr(given, "weights"):
        return _tabulated(given)
    wanted = "a list of weights, a function of the rank, or an object with weights(n_ranks)"
    raise WrongTypeError(given, "attention", f"{', '.join(MODELS)}, {wanted}")


def _tabulated(given: Any) -> AttentionTable:
    """The weights of a browsing model of others, up to the rank after which they are negligible."""
    what = f"attention {getattr(given, '__name__', type(given).__name__)}"
    model = call_plug_in(what, given) if isinstance(given, type) else given
    if hasattr(model, "weights"):
        found = call_plug_in(what, model.weights, OWN_RANKS)
    elif callable(model):
        found = [call_plug_in(f"{what}, rank {rank}", model, rank) for rank in range(1, OWN_RANKS + 1)]
    else:
        raise EvenrankError(
            f"{what}: the class has no method weights(n_ranks) (add one, or give a function of the rank)"
        )
    values = np.asarray(found, object).ravel().tolist()[:OWN_RANKS]
    table = AttentionTable(tuple(float(value) if _is_weight(value) else value for value in values))
    seen = np.flatnonzero(np.array(table.values) >= NEGLIGIBLE * table.values[0])
    return AttentionTable(table.values[: int(seen[-1]) + 1])


def check_attention(given: object, n_ranks: int, *, may_read: bool = True, by_rank_alone: bool = False) -> str:
    """The text of an attention model that policies can plan for; EvenrankError for one that they cannot.

    `by_rank_alone` is for callers that show the attention of rankings without knowing what in them is relevant.
    """
    model = parse_attention(given, may_read=may_read)
    if by_rank_alone and isinstance(model, Cascade):
        raise EvenrankError(
            f"attention {str(model)!r} depends on which articles are relevant, and lists show attention by rank alone "
            f"(choose rbp:{model.persistence:g}, or rank with `evenrank rank --attention {model}`)"
        )
    weights = model.weights(n_ranks)
    rises = np.flatnonzero(np.diff(weights) > 0.0)
    if len(rises):
        rank = int(rises[0]) + 1
        raise EvenrankError(
            f"attention: rank {rank + 1} has {weights[rank]:g}, more than rank {rank} with {weights[rank - 1]:g} "
            "(policies need attention that does not rise)"
        )
    return str(model)


def _parse_text(text: str, may_read: bool) -> Attention:
    in_brackets = re.fullmatch(r"(rbp|gerr)\((.*)\)", text)
    name, colon, parameter = in_brackets.expand(r"\1:\2").partition(":") if in_brackets else text.partition(":")
    if name == "table":
        listed = _listed_weights(parameter)
        if not listed and not may_read:
            raise EvenrankError(f"attention {text[:40]!r}: this is not a list of weights (write table:1,0.5,0.25)")
        return AttentionTable(listed or _read_weights(parameter))
    if name == "rbp":
        if colon and not _NUMBER.fullmatch(parameter):
            raise EvenrankError(f"attention {text!r}: {parameter!r} is not a number (write rbp:{PERSISTENCE})")
        return Geometric(float(parameter) if colon else PERSISTENCE)
    if name == "gerr":
        parts = [part.strip() for part in parameter.split(",")] if colon else []
        if colon and not (len(parts) <= 2 and all(map(_NUMBER.fullmatch, parts))):
            raise EvenrankError(
                f"attention {text!r}: {parameter!r} is not two numbers (write gerr:{PERSISTENCE},{SATISFACTION})"
            )
        return Cascade(*map(float, parts))
    if colon and name in FORMULAS:
        raise EvenrankError(f"attention {text!r}: {name} has no parameter")
    if name not in FORMULAS:
        raise UnknownNameError("attention model", name, MODELS)
    return Formula(name)


def _listed_weights(text: str) -> tuple[float, ...]:
    """Numbers joined by commas; nothing when the text is anything else, such as the name of a file."""
    parts = [part.strip() for part in text.split(",")]
    return tuple(map(float, parts)) if all(map(_NUMBER.fullmatch, parts)) else ()


def _read_weights(path: str) -> tuple[float, ...]:
    """The weights of a file, a number per line; InputError has every wrong line."""
    fix = "write table:FILE, a file with a number per line, rank 1 first, or table:1,0.5,0.25"
    if not path:
        raise EvenrankError(f"attention 'table:': no file is named ({fix})")
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_TABLE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise input_error(path, 0, f"cannot be read: {reason_of(error)}", fix) from None
    if len(content) > MAX_TABLE_BYTES:
        raise input_error(path, 0, f"larger than {MAX_TABLE_BYTES >> 20} MiB", fix)
    lines = [line.strip() for line in content.decode("utf-8-sig", "replace").rstrip().split("\n")]
    faults = [
        Fault(path, number, f"{line[:40]!r} is not a weight", _WEIGHTS)
        for number, line in enumerate(lines, 1)
        if not _NUMBER.fullmatch(line) or not _is_weight(float(line))
    ]
    if faults:
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    weights = tuple(map(float, lines))
    if weights[0] < LEAST_FIRST:
        raise input_error(path, 1, f"rank 1 has {weights[0]}", _FIRST)
    return weights


def _is_weight(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return bool(0 <= value <= MOST)


def block_exposure(
    counts: NDArray[np.integer], dtype: DTypeLike = np.float64, attention: Attention = LOG
) -> NDArray[np.float64]:
    """Mean attention of consecutive blocks of `counts` ranks; 0 for an empty block.

    This is the ideal exposure of a relevant page in each work level, levels in work order
    (the paper's equation for the target exposure of a document, Diaz et al. 2020).
    """
    ends = np.cumsum(counts)
    weights = attention.weights(int(ends[-1]) if len(ends) else 0, dtype)
    means = np.zeros(len(counts))
    for level, (end, count) in enumerate(zip(ends, counts, strict=True)):
        if count:
            means[level] = weights[end - count : end].mean()
    return means
