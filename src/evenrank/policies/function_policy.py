"""`evenrank.policy`: a policy made from one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, field, make_dataclass
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.plugins import call_plug_in
from evenrank.policies.policy import Candidates, CheckedPolicy, Policy, Rankings, Request

PolicyFunction = Callable[..., Any]
"""`(candidates, target, request, rng, *, settings…) → positions`."""


def policy(name: str, tasks: tuple[Task, ...] = (1, 2), citation: str = "") -> Callable[[PolicyFunction], type[Policy]]:
    """Turn a function `(candidates, target, request, rng) → positions` into a policy.

    The positions are indices into the candidates, best first: one row, which every ranking repeats, or one row for
    each ranking (`request.n_rankings`); what exceeds `request.length` is cut off. All randomness must come from `rng`.
    Keyword-only parameters with defaults become settings, for `--set NAME=VALUE` or `my_policy(strength=2.0)`.
    The result is taken wherever the name of a policy is: by `rank`, `rerank`, `pareto`, `tune` and `experiment`; an
    entry point of the group `evenrank.policies` makes it known by its name.
    """
    if not tasks or not set(tasks) <= {1, 2}:
        raise EvenrankError(f"policy {name!r}: tasks is {tasks!r} (give 1, 2 or both)")

    def make(function: PolicyFunction) -> type[Policy]:
        return _policy_class(function, name, tuple(tasks), citation)

    return make


def _policy_class(function: PolicyFunction, name: str, tasks: tuple[Task, ...], citation: str) -> type[Policy]:
    def rank(
        self: Any, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        found = call_plug_in(f"policy {name}", function, candidates, target, request, rng, **asdict(self))
        return Rankings(_checked_positions(name, found, len(candidates), request))

    members = {
        "name": name,
        "tasks": tasks,
        "citation": citation or f"{function.__module__}.{function.__qualname__}",
        "rank": rank,
        "function": staticmethod(function),
        "__doc__": inspect.getdoc(function) or f"A policy of {function.__module__}.",
    }
    made = make_dataclass(
        function.__name__, _settings(function, name), bases=(CheckedPolicy,), namespace=members, frozen=True
    )
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__  # where pickle looks for it
    return made


def _settings(function: PolicyFunction, name: str) -> list[tuple[str, Any, Any]]:
    """The keyword-only parameters of a function as fields of a dataclass."""
    parameters = list(inspect.signature(function).parameters.values())
    settings = [one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    missing = [one.name for one in settings if one.default is inspect.Parameter.empty]
    if missing:
        raise EvenrankError(f"policy {name!r}: settings without a default: {', '.join(missing)}")
    hints = get_type_hints(function, include_extras=True)
    return [(one.name, hints.get(one.name, type(one.default)), field(default=one.default)) for one in settings]


def _checked_positions(name: str, found: Any, n_candidates: int, request: Request) -> NDArray[np.intp]:
    """One row of positions for each ranking; an error that says what is wrong with them."""
    positions = _as_array(name, found)
    if positions.size == 0:
        return np.zeros((request.n_rankings, 0), np.intp)
    if positions.ndim not in (1, 2) or not np.issubdtype(positions.dtype, np.integer):
        raise EvenrankError(
            f"policy {name}: gave {positions.dtype} values in {positions.ndim} dimensions"
            " (give whole numbers: one row, or one row for each ranking)"
        )
    rows = np.tile(positions, (request.n_rankings, 1)) if positions.ndim == 1 else positions
    if len(rows) != request.n_rankings:
        raise EvenrankError(f"policy {name}: gave {len(rows)} rankings, {request.n_rankings} were asked for")
    if rows.min() < 0 or rows.max() >= n_candidates:
        outside = rows[(rows < 0) | (rows >= n_candidates)][0]
        raise EvenrankError(f"policy {name}: position {outside} is outside of the {n_candidates} candidates")
    rows = rows[:, : request.length]
    in_order = np.sort(rows, axis=1)
    if (in_order[:, 1:] == in_order[:, :-1]).any():
        raise EvenrankError(f"policy {name}: a ranking has the same candidate twice")
    return rows.astype(np.intp)


def _as_array(name: str, found: Any) -> NDArray[Any]:
    try:
        return np.asarray(found)
    except ValueError:  # rows of several lengths
        raise EvenrankError(f"policy {name}: gave rankings of several lengths (give rows of one length)") from None
