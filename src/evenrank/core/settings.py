"""Settings: dataclasses whose fields are described, read from text and checked, with one wording for every fault."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from evenrank.errors import Collected, EvenrankError, UnknownNameError, WrongTypeError

TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
WANTED = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}
"""What a value of a type is called in messages."""
MAX_QUOTED = 200
"""Characters of a text that a message repeats."""

S = TypeVar("S")
Settings = Mapping[str, object]
"""Values of settings by name, as Python values or as the text that follows `--set NAME=`."""


@dataclass(frozen=True)
class Setting:
    """One setting as it is printed."""

    name: str
    default: Any
    choices: tuple[str, ...]
    """Allowed words; empty when the setting is a number or free text."""
    explanation: str
    allowed: str = ""
    """What its values must be, such as `from 0 to 1`; empty when the type says it all."""


def describe_settings(owner: type) -> list[Setting]:
    """The fields of a settings dataclass with their defaults and the line under each."""
    explanations = _lines_under_fields(owner)
    hints, full = get_type_hints(owner), get_type_hints(owner, include_extras=True)
    return [
        Setting(
            name=field.name,
            default=None if field.default is MISSING else field.default,
            choices=get_args(hints[field.name]) if get_origin(hints[field.name]) is Literal else (),
            explanation=explanations.get(field.name, ""),
            allowed=" and ".join(filter(None, map(str, getattr(full[field.name], "__metadata__", ())))),
        )
        for field in fields(owner)
    ]


def _lines_under_fields(owner: type) -> dict[str, str]:
    """Field name → the string literal that follows it in the source; nothing for a class that has none."""
    try:
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    except (OSError, TypeError):
        return {}
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[statement.target.id] = inspect.cleandoc(text.value)
    return found


def read_pairs(pairs: Iterable[str], option: str = "--set") -> dict[str, str]:
    """Names and texts of NAME=VALUE pairs; the last one of a name counts."""
    listed = list(pairs)
    wrong = [pair for pair in listed if "=" not in pair]
    if wrong:
        raise EvenrankError(f"{option} {', '.join(wrong)}: write NAME=VALUE")
    return {name.strip(): text.strip() for name, _, text in (pair.partition("=") for pair in listed)}


def setting_texts(settings: Settings) -> dict[str, str]:
    """Python values as `--set` would write them, so that both are checked alike."""
    if not isinstance(settings, Mapping):
        raise WrongTypeError(settings, "settings", "a dict such as {'fairness': 2.0}")
    return {str(name): _text(value) for name, value in settings.items()}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_settings(owner: type, texts: Mapping[str, str]) -> dict[str, Any]:
    """Settings from text, each as its field's type; all faults are reported in one EvenrankError."""
    values, faults = parse_each(owner, texts)
    if faults:
        raise EvenrankError("\n".join(faults))
    return values


def parse_each(owner: type, texts: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The settings that can be read from text, each as its field's type, and what is wrong with the others."""
    hints = get_type_hints(owner)
    names = [field.name for field in fields(owner)]
    values = {}
    faults = []
    for name, text in texts.items():
        if name not in names:
            faults.append(str(UnknownNameError("setting", name, sorted(names))))
            continue
        try:
            values[name] = parse_value(text, hints[name])
        except ValueError as error:
            faults.append(f"{name}={text[:MAX_QUOTED]}{'…' * (len(text) > MAX_QUOTED)}: {error}")
    return values, faults


def make_settings(owner: type[S], texts: Mapping[str, str], defaults: Mapping[str, Any] | None = None) -> S:
    """The settings object that texts give; names, types, choices and what the object checks itself, all at once.

    `defaults` take the place of the fields' own where a text says nothing, or nothing that can be read.
    """
    values, faults = parse_each(owner, texts)
    found = Collected()
    found.add(faults)
    made = found.check(lambda: owner(**{**(defaults or {}), **values}))
    found.raise_any()
    assert made is not None
    return made


def parse_value(text: str, hint: Any) -> Any:
    """The value of a type that a text means; ValueError says what would be valid."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _parse_union(text, inner)
    if origin is Literal:
        return _parse_choice(text, {str(choice): choice for choice in inner})
    if origin is tuple:
        parts = [] if text.casefold() == "none" else [part.strip() for part in text.split(",")]
        return tuple(parse_value(part, inner[0]) for part in parts if part)
    if hint is bool:
        if text.casefold() not in TRUTH:
            raise ValueError(f"not {WANTED[bool]}")
        return TRUTH[text.casefold()]
    return _parse_number(text, hint) if hint in (int, float) else text


def _parse_union(text: str, hints: tuple[Any, ...]) -> Any:
    """A text that may stand for None or for a fixed word; otherwise for a value of the remaining type."""
    words = [word for hint in hints if get_origin(hint) is Literal for word in get_args(hint)]
    if text in words:
        return text
    if NoneType in hints and text.casefold() == "none":
        return None
    (only,) = (hint for hint in hints if hint is not NoneType and get_origin(hint) is not Literal)
    return parse_value(text, only)


def _parse_choice(text: str, choices: Mapping[str, Any]) -> Any:
    """The choice of that name; a hyphen may stand for a space, which a shell would split at."""
    for spelling in (text, text.replace("-", " ")):
        if spelling in choices:
            return choices[spelling]
    raise ValueError(f"choose from {', '.join(choices)}")


def _parse_number(text: str, kind: type[int] | type[float]) -> int | float:
    try:
        number = kind(text if text.isascii() and "_" not in text else "")  # Python takes 1_0 and other scripts' digits
    except ValueError:
        raise ValueError(f"not {WANTED[kind] if kind is int else 'a number'}") from None
    if kind is float and not math.isfinite(number):
        raise ValueError(f"not {WANTED[float]}")
    return number


def check_value(value: Any, hint: Any, place: str = "") -> Any:
    """A value from Python or JSON as its type: a dataclass, tuple, array, literal, number, text or None.

    ValueError names the first place that holds anything else. Whole numbers pass as numbers, and numpy's numbers as
    Python's; true and false pass as neither, and NaN and infinity are never numbers.
    """
    origin, inner = _origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _check_dataclass(value, hint, place)
    if origin in (Union, UnionType):
        return _check_union(value, inner, place)
    if origin is Literal:
        return value if value in inner else _refuse(value, place, f"one of {', '.join(map(str, inner))}")
    if origin is tuple:
        return tuple(_check_items(value, inner[0], place))
    if origin is np.ndarray:
        return np.array(_check_items(value, float, place), np.float64)
    return _check_plain(value, hint, place)


def _origin(hint: Any) -> Any:
    """What a generic hint is made of; since numpy 2.5 `NDArray[float64]` is an alias that stands for an array."""
    origin = get_origin(hint)
    while (meant := getattr(origin, "__value__", None)) is not None:
        origin = get_origin(meant) or meant
    return origin


def _check_union(value: Any, hints: tuple[Any, ...], place: str) -> Any:
    if value is None and NoneType in hints:
        return None
    if isinstance(value, str) and any(get_origin(hint) is Literal and value in get_args(hint) for hint in hints):
        return value
    (only,) = (hint for hint in hints if hint is not NoneType and get_origin(hint) is not Literal)
    return check_value(value, only, place)


def _check_dataclass(value: Any, owner: Any, place: str) -> Any:
    if not isinstance(value, Mapping):
        return _refuse(value, place, "an object")
    hints = get_type_hints(owner)
    names = [field.name for field in fields(owner)]
    wrong = [f"no {name}" for name in names if name not in value]
    wrong += [f"an unknown {name}" for name in value if name not in names]
    if wrong:
        raise ValueError(f"{place or 'the record'} has {', '.join(wrong)}")
    return owner(**{name: check_value(value[name], hints[name], f"{place}.{name}".lstrip(".")) for name in names})


def _check_items(value: Any, hint: Any, place: str) -> list[Any]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return [_refuse(value, place, "a list")]
    return [check_value(item, hint, f"{place}[{at}]") for at, item in enumerate(value)]


def _check_plain(value: Any, kind: Any, place: str) -> Any:
    accepted = {int: Integral, float: Real}.get(kind, kind)
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        return _refuse(value, place, WANTED[kind])
    if kind is float and not math.isfinite(value):
        return _refuse(value, place, WANTED[float])
    return kind(value)


def _refuse(value: Any, place: str, wanted: str) -> Any:
    shown = repr(value)
    raise ValueError(f"{place or 'the record'} is {shown[:40]}{'…' * (len(shown) > 40)}, not {wanted}")
