"""The settings of a policy that can be tuned, and how values of them are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from evenrank.core.allowed import Range
from evenrank.core.records import Task
from evenrank.core.settings import read_pairs, setting_texts
from evenrank.errors import Collected, EvenrankError, UnknownNameError
from evenrank.experiments.data import PolicyChoice, policy_name
from evenrank.policies.registry import find_policy, make_policy, setting_names, setting_owners

KEPT = 0.5
"""Chance that a drawn combination keeps the default of a setting: few settings matter, and most defaults make sense."""
FACTOR = 30.0
"""Numbers without an upper limit are drawn, evenly on a logarithmic scale, up to so many times above or below the
default."""
MAX_DRAWS = 100
"""Combinations that are drawn until the policy accepts one, and until one is new."""

Chosen = tuple[tuple[str, str], ...]
"""Settings by name, as text, that differ from the defaults."""


@dataclass(frozen=True)
class ValueRange:
    """Numbers between two ends, even or even on a logarithmic scale."""

    low: float
    high: float
    is_log: bool = False
    is_whole: bool = False

    def draw(self, rng: np.random.Generator) -> object:
        if self.is_log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = rng.uniform(self.low, self.high)
        return round(value) if self.is_whole else float(f"{value:.3g}")

    def describe(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "scale": "log" if self.is_log else "linear"}


@dataclass(frozen=True)
class Choices:
    """Values one of which is drawn."""

    values: tuple[object, ...]

    def draw(self, rng: np.random.Generator) -> object:
        return self.values[int(rng.integers(len(self.values)))]

    def describe(self) -> dict[str, Any]:
        return {"values": list(self.values)}


Space = dict[str, ValueRange | Choices]


def policy_space(policy: PolicyChoice, given: Mapping[str, object] | None = None, task: Task | None = None) -> Space:
    """What can be tuned of a policy: `given` values or ranges, else every number, word and switch among its settings.

    A list of values is drawn from; `{"low": 0.1, "high": 10, "log": true}` is a range. Settings that the policy names
    as `untuned`, because they need an extra, are a demand of the user's, or say how to measure or how long to compute,
    are drawn from `given` values alone; so are its `sequence_settings`, which lists ignore, in Task 1.
    """
    if given:
        return _given_space(policy, given)
    entry = find_policy(policy) if isinstance(policy, str) else policy
    found: dict[str, ValueRange | Choices | None] = {}
    for owner in setting_owners(entry, task):
        hints = get_type_hints(owner, include_extras=True)
        left_out = getattr(owner, "untuned", ()) + (getattr(owner, "sequence_settings", ()) if task == 1 else ())
        settings = [
            one
            for one in fields(owner)  # type: ignore[arg-type]
            if one.default is not MISSING and one.name not in left_out
        ]
        found |= {one.name: _usual(hints[one.name], one.default) for one in settings}
    return {name: values for name, values in found.items() if values is not None}


def read_space(texts: Iterable[str]) -> dict[str, object]:
    """What to draw from, by setting, from NAME=VALUE,VALUE,… or NAME=LOW..HIGH (on a logarithmic scale above 0)."""
    space: dict[str, object] = {}
    for name, text in read_pairs(texts, "--try").items():
        low, dots, high = text.partition("..")
        if not dots:
            space[name] = [part.strip() for part in text.split(",")]
            continue
        try:
            ends = [int(end) if end.strip().isdecimal() else float(end) for end in (low, high)]
        except ValueError:
            raise EvenrankError(f"--try {name}={text}: write LOW..HIGH with two numbers, or values") from None
        space[name] = {"low": ends[0], "high": ends[1], "log": ends[0] > 0}
    return space


def _given_space(policy: PolicyChoice, given: Mapping[str, object]) -> Space:
    owner = policy_name(policy)
    faults, space = Collected(), Space()
    known = setting_names(policy)
    for name, values in given.items():
        if name not in known:
            faults.add([str(UnknownNameError(f"setting of {owner}", name, sorted(known)))])
        elif isinstance(values, Mapping) and {"low", "high"} <= set(values) <= {"low", "high", "log"}:
            low, high, is_log = values["low"], values["high"], bool(values.get("log", False))
            if not (_is_number(low) and _is_number(high) and low < high and (low > 0 or not is_log)):
                faults.add([f"{owner}: {name}: low must be below high, and above 0 on a logarithmic scale"])
            else:
                whole = isinstance(low, int) and isinstance(high, int)
                space[name] = ValueRange(float(low), float(high), is_log, whole)
        elif isinstance(values, Sequence) and not isinstance(values, str) and values:
            space[name] = Choices(tuple(values))
        else:
            faults.add([f"{owner}: {name}: give a list of values, or a range such as {{low = 0.1, high = 10}}"])
    faults.raise_any()
    return space


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _usual(hint: Any, default: Any) -> ValueRange | Choices | None:
    """How values of a field other than its default are drawn, by its type and limits; None for texts and lists."""
    limits = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Range)]
    kind = get_args(hint)[0] if limits else hint
    if kind is bool:
        return Choices((not default,))
    if get_origin(kind) is Literal:
        return Choices(tuple(word for word in get_args(kind) if word != default))
    if kind not in (int, float) or not isinstance(default, (int, float)):
        return None
    limit = limits[0] if limits else Range()
    low = limit.least if limit.least is not None else limit.above
    high = limit.most if limit.most is not None else limit.below
    if low is not None and high is not None and high <= 1.0:
        margin = 0.02 * (high - low)
        return ValueRange(low + margin * (limit.least is None), high - margin * (limit.most is None))
    middle = abs(float(default)) or 1.0
    lowest = max(middle / FACTOR, low or 0.0, 1.0 if kind is int else 1e-9)
    return ValueRange(lowest, max(min(middle * FACTOR, high or math.inf), lowest * 1.01), True, kind is int)


def draw_settings(
    policy: PolicyChoice, task: Task, space: Space, fixed: Mapping[str, object], rng: np.random.Generator
) -> Chosen:
    """A combination that the policy accepts and that changes something; `fixed` settings are in it as they are."""
    for _ in range(MAX_DRAWS):
        is_changed = rng.random(len(space)) >= KEPT
        is_changed[rng.integers(len(space))] = True
        drawn = {name: space[name].draw(rng) for name, changed in zip(space, is_changed, strict=True) if changed}
        texts = setting_texts({**drawn, **fixed})
        try:
            make_policy(policy, task, texts)
        except EvenrankError:
            continue
        return tuple(sorted(texts.items()))
    raise EvenrankError(f"{policy_name(policy)}: it accepts no combination of these values (give others)")
