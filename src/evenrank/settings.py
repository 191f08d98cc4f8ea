"""Settings of a policy: what they are, and how text on the command line becomes one."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from evenrank.errors import EvenrankError


@dataclass(frozen=True)
class Setting:
    """One setting as it is printed."""

    name: str
    default: Any
    choices: tuple[str, ...]
    """Allowed words; empty when the setting is a number or free text."""
    explanation: str


def describe_settings(owner: type) -> list[Setting]:
    """The fields of a settings dataclass with their defaults and the line under each."""
    explanations, hints = _lines_under_fields(owner), get_type_hints(owner)
    return [
        Setting(
            name=field.name,
            default=None if field.default is MISSING else field.default,
            choices=get_args(hints[field.name]) if get_origin(hints[field.name]) is Literal else (),
            explanation=explanations.get(field.name, ""),
        )
        for field in fields(owner)
    ]


def _lines_under_fields(owner: type) -> dict[str, str]:
    """Field name → the string literal that follows it in the source."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[statement.target.id] = inspect.cleandoc(text.value)
    return found


def parse_settings(owner: type, texts: Mapping[str, str]) -> dict[str, Any]:
    """Settings from text, each as its field's type; all that is wrong is said at once."""
    hints, names = get_type_hints(owner), {field.name for field in fields(owner)}
    values, wrong = {}, []
    for name, text in texts.items():
        if name not in names:
            wrong.append(f"no setting {name!r}; there are: {', '.join(sorted(names)) or 'none'}")
            continue
        try:
            values[name] = _parse(text, hints[name])
        except ValueError as error:
            wrong.append(f"{name}={text}: {error}")
    if wrong:
        raise EvenrankError("\n".join(wrong))
    return values


def _parse(text: str, hint: Any) -> Any:
    """One text as a value of the hinted type."""
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise ValueError(f"choose from {', '.join(get_args(hint))}")
        return text
    if get_origin(hint) is tuple:
        return tuple(_parse(part.strip(), get_args(hint)[0]) for part in text.split(",") if part.strip())
    if hint is bool:
        return _parse_bool(text)
    if hint in (int, float):
        return _parse_number(text, hint)
    return text


def _parse_bool(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError("say true or false")
    return words[text.lower()]


def _parse_number(text: str, kind: type[int] | type[float]) -> int | float:
    try:
        number = kind(text)
    except ValueError:
        raise ValueError(f"not {'a whole number' if kind is int else 'a number'}") from None
    if not abs(number) < 1e300:
        raise ValueError("not a finite number")
    return number
