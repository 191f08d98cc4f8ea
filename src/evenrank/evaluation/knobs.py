"""Knobs of a protocol as text: `task1_depth=50`, `log_base=2`, `normalised=geography,gender`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, get_args, get_origin, get_type_hints

from evenrank.alignment.dimensions import DIMENSIONS
from evenrank.errors import EvenrankError
from evenrank.protocol import Protocol

NOT_KNOBS = ("name", "summary")
LEAST = {"min_tier": 0, "interval_seed": 0, "n_resamples": 2}
"""Smallest whole number of a knob; 1 for the others."""
MOST = 1_000_000
"""Largest whole number of a knob, except of the seed: rankings are shorter, and more would fill the memory."""
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Protocol)


def knob_names() -> tuple[str, ...]:
    """The knobs that can be set."""
    return tuple(field.name for field in fields(Protocol) if field.name not in NOT_KNOBS)


def parse_knobs(settings: Iterable[str]) -> dict[str, Any]:
    """Knob values from `name=value` texts; all faults come in one EvenrankError."""
    knobs: dict[str, Any] = {}
    faults = []
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        try:
            if not equals or name not in knob_names():
                raise ValueError(f"write KNOB=VALUE, where KNOB is one of: {', '.join(knob_names())}")
            knobs[name] = checked_knob(name, _parse(text.strip(), _hints()[name]))
        except ValueError as error:
            faults.append(f"--set {setting}: {error}")
    if faults:
        raise EvenrankError("\n".join(faults))
    return knobs


def checked_knob(name: str, value: Any) -> Any:
    """The value of a knob in the knob's own type; ValueError when it cannot have it, saying what would be right."""
    value = _typed(value, _hints()[name])
    _check_range(name, value)
    return value


def _typed(value: Any, hint: Any) -> Any:
    """A value from Python in the type of `hint`: numpy's numbers and lists of names are taken too."""
    if get_origin(hint) is Literal:
        return value
    if hint is bool:
        return _instance(value, bool, "True or False")
    if hint is float:
        return float(_instance(value, Real, "a number"))
    if hint is int or int in get_args(hint):
        return None if value is None and hint is not int else int(_instance(value, Integral, "a whole number"))
    return _names(value) if isinstance(value, str) else tuple(_instance(value, Iterable, "names of dimensions"))


def _instance(value: Any, kind: Any, wanted: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{value!r} is not {wanted}")
    return value


def _check_range(name: str, value: Any) -> None:
    hint = _hints()[name]
    if get_origin(hint) is Literal and value not in get_args(hint):
        raise ValueError(f"{value!r} is not one of: {', '.join(map(str, get_args(hint)))}")
    if type(value) is int and value < (least := LEAST.get(name, 1)):
        raise ValueError(f"{value} is too small (at least {least})")
    if type(value) is int and name != "interval_seed" and value > MOST:
        raise ValueError(f"{value} is too large (at most {MOST:,})")
    if name == "normalised" and value != "all" and (unknown := set(value) - set(DIMENSIONS)):
        raise ValueError(f"no dimension {', '.join(sorted(unknown))} (there is: all, none, {', '.join(DIMENSIONS)})")
    if name == "confidence" and not 0.0 < value < 1.0:
        raise ValueError(f"{value} is not between 0 and 1")
    if name == "log_base" and not 1.0 < value < math.inf:
        raise ValueError(f"{value} is not a number above 1")


def _parse(text: str, hint: Any) -> Any:
    """The value that the text stands for, by the knob's type."""
    if hint is bool:
        return _parse_choice(text.casefold(), _TRUTH)
    if hint is float:
        return math.e if text == "e" else _number(text, float)
    if hint is int:
        return _number(text, int)
    if get_origin(hint) is Literal:
        return _parse_choice(text.replace("-", " "), {str(value): value for value in get_args(hint)})
    if int in get_args(hint):
        return None if text.casefold() == "none" else _number(text, int)
    return _names(text)


def _number(text: str, kind: type[int] | type[float]) -> float:
    try:
        return kind(text)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise ValueError(f"{text!r} is not {wanted}") from None


def _parse_choice(text: str, choices: dict[str, Any]) -> Any:
    if text not in choices:
        raise ValueError(f"{text!r} is not one of: {', '.join(choices)}")
    return choices[text]


def _names(text: str) -> tuple[str, ...] | str:
    """`all`, `none`, or names of dimensions joined by commas."""
    if text == "all":
        return "all"
    return () if text in ("", "none") else tuple(part.strip() for part in text.split(","))
