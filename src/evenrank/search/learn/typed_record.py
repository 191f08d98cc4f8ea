"""Plain data → dataclasses, each value of the type that its field says; what does not fit is named by its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

WORDS = {int: "a whole number", float: "a finite number", str: "a text"}


def typed(hint: Any, value: Any, place: str = "") -> Any:
    """The value as what the hint says: a dataclass, tuple, array, literal, number, text or None.

    ValueError names the first place that holds something else; what JSON has no word for, a NaN, is never a number.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _dataclass(hint, value, place)
    if origin in (Union, UnionType):
        (only,) = (part for part in inner if part is not NoneType)
        return None if value is None else typed(only, value, place)
    if origin is Literal:
        return value if value in inner else _refuse(place, value, f"one of {', '.join(inner)}")
    if origin is tuple:
        return tuple(_items(inner[0], value, place))
    if origin is np.ndarray:
        return np.array(_items(float, value, place), np.float64)
    return _plain(hint, value, place)


def _dataclass(owner: Any, value: Any, place: str) -> Any:
    if not isinstance(value, Mapping):
        return _refuse(place, value, "an object")
    hints, names = get_type_hints(owner), [field.name for field in fields(owner)]
    wrong = [f"no {name}" for name in names if name not in value]
    wrong += [f"an unknown {name}" for name in value if name not in names]
    if wrong:
        raise ValueError(f"{place or 'the record'} has {', '.join(wrong)}")
    return owner(**{name: typed(hints[name], value[name], f"{place}.{name}".lstrip(".")) for name in names})


def _items(hint: Any, value: Any, place: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        return [_refuse(place, value, "a list")]
    return [typed(hint, item, f"{place}[{at}]") for at, item in enumerate(value)]


def _plain(kind: Any, value: Any, place: str) -> Any:
    """A number or a text; a whole number is a number too, true and false are none."""
    kinds = (int, float) if kind is float else (kind,)
    if isinstance(value, bool) or not isinstance(value, kinds) or (kind is float and not math.isfinite(value)):
        return _refuse(place, value, WORDS[kind])
    return kind(value)


def _refuse(place: str, value: Any, wanted: str) -> Any:
    shown = repr(value)
    raise ValueError(f"{place or 'the record'} is {shown[:40]}{'…' * (len(shown) > 40)}, not {wanted}")
