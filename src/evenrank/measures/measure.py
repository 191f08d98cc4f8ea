"""A measure that carries its facts and computes itself over a batch of queries."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from evenrank.core.problem import QueryBatch, QueryView
from evenrank.core.protocol import Protocol
from evenrank.core.records import Task
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.plugins import call_plug_in

Compute = Callable[[QueryBatch], Floats]


def lifted(function: Callable[[QueryView], float]) -> Compute:
    """A plain function of one view as a function of a batch."""

    def compute(batch: QueryBatch) -> Floats:
        return np.array([function(batch.view(pair)) for pair in range(batch.n_pairs)], np.float64)

    compute.__wrapped__ = function  # type: ignore[attr-defined]  # for `inspect.unwrap`
    return compute


def _guarded(name: str, function: Callable[[QueryView], float]) -> Callable[[QueryView], float]:
    """The function of a plug-in, whose errors and wrong results are reported with the measure's name."""

    @wraps(function)
    def guarded(view: QueryView) -> float:
        value = call_plug_in(f"measure {name}", function, view)
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise EvenrankError(f"measure {name}: gave {type(value).__name__} (give a number, or NaN)") from error

    return guarded


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that computes itself: `measure.over(batch)` are its values, `measure(view)` its value on one query."""

    name: str
    """Name in tables and JSON."""
    compute: Compute
    """Value of each pair of a batch; NaN where it is undefined. `lifted` makes one of a function of a view."""
    tasks: tuple[Task, ...] = (1, 2)
    """Tasks of the track whose runs it can score."""
    higher_is_better: bool = True
    label: str = ""
    """What it measures, in a few words."""
    formula: str = ""
    low: float = -math.inf
    """Smallest possible value."""
    high: float = math.inf
    """Largest possible value."""
    if_empty: float | Callable[[QueryView], float] | None = None
    """Value of a ranking without items; a function where the query or the protocol decides. None to compute it."""
    if_infinite: str = ""
    """Why a value can be infinite, and which measures stay finite there, for notes on such values."""
    citation: str = ""
    official_in: tuple[Task, ...] = ()
    """Tasks of the track whose published tables have it; in the others it is a companion, which shows relevance."""
    on_request: bool = False
    """Whether it is computed only when it is asked for by name."""
    heading_has_depth: bool = False
    """Whether a companion's heading names the depth that is scored, as in `P@20`."""
    needs_relevance: bool = False
    """Whether it is undefined without judgments."""
    needs_groups: bool = False
    """Whether it is undefined without groups."""
    depth: int | None = None
    """Ranks that are considered; None for all that the protocol scores."""

    def over(self, batch: QueryBatch) -> Floats:
        """The value of each pair, computed once for each batch."""
        seen = batch if self.depth is None else batch.cut(self.depth)
        if self.name not in seen.values:
            seen.values[self.name] = np.asarray(self.compute(seen), np.float64)
        return seen.values[self.name]

    def __call__(self, view: QueryView) -> float:
        """The value on one query."""
        return float(self.over(view.batch)[0])

    @property
    def infinite_mean(self) -> str:
        """What notes say of a mean with infinite values."""
        return "and so is the mean" + (f" ({self.if_infinite})" if self.if_infinite else "")

    @property
    def key(self) -> str:
        """Name with its depth, as in `nDCG@10`; the key of its values."""
        return self.name if self.depth is None else f"{self.name}@{self.depth}"

    def __str__(self) -> str:
        return self.key

    def at(self, depth: int) -> Measure:
        """The same measure on the first `depth` ranks."""
        return replace(self, depth=depth)

    def heading(self, task: Task, protocol: Protocol) -> str:
        """Heading of a column."""
        if self.depth is None and self.heading_has_depth and self.is_companion(task):
            return f"{self.name}@{protocol.depth(task)}"
        return self.key

    def is_companion(self, task: Task) -> bool:
        """Whether it is printed beside the track's measures of a task and is not one of them."""
        return task not in self.official_in

    def facts(self) -> dict[str, Any]:
        """What is known of it, for lists and documentation; None for an infinite bound or a value that varies."""
        return {
            "name": self.name,
            "tasks": list(self.tasks),
            "label": self.label,
            "formula": self.formula,
            "higher_is_better": self.higher_is_better,
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
            "if_empty": self.if_empty if isinstance(self.if_empty, float) else None,
            "citation": self.citation,
            "official_in": list(self.official_in),
            "on_request": self.on_request,
        }

    def empty_value(self, view: QueryView) -> float:
        """Value of a ranking without items on the query of `view`."""
        if self.if_empty is None:
            return self(view.emptied())
        return self.if_empty(view) if callable(self.if_empty) else self.if_empty


def measure(
    name: str,
    tasks: tuple[Task, ...] = (1, 2),
    higher_is_better: bool = True,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    if_empty: float | None = None,
    label: str = "",
    formula: str = "",
    citation: str = "",
) -> Callable[[Callable[[QueryView], float]], Measure]:
    """Turn a function `(view) → float` of one query into a measure.

    The view has `is_relevant`, `grades`, `ranks` (from 0), `rankings` and `attention` of the ranked items, `exposure`
    and `target` of the groups, `n_relevant`, `n_rankings`, `depth` and more; see `QueryView`. NaN says that the measure
    is undefined for a query, which is then left out of means. The result is taken wherever the name of a measure is: by
    `score`, `evaluate`, `compare` and others; an entry point of the group `evenrank.measures` makes it known by name.
    """
    if not tasks or not set(tasks) <= {1, 2}:
        raise EvenrankError(f"measure {name!r}: tasks is {tasks!r} (give 1, 2 or both)")
    if not name or any(mark in name for mark in "@, "):
        raise EvenrankError(f"measure {name!r}: a name is a word without @ and commas")

    def make(function: Callable[[QueryView], float]) -> Measure:
        said = inspect.getdoc(function) or f"A measure of {function.__module__}."
        return Measure(
            name=name,
            compute=lifted(_guarded(name, function)),
            tasks=tuple(tasks),
            higher_is_better=higher_is_better,
            label=label or said.split("\n\n")[0].replace("\n", " ").rstrip("."),
            formula=formula or f"{function.__module__}.{function.__qualname__}",
            low=low,
            high=high,
            if_empty=if_empty,
            citation=citation or f"{function.__module__}.{function.__qualname__}",
            on_request=True,
        )

    return make
