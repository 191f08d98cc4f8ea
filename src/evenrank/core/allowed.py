"""What settings may be: limits declared with a field's type, and all that is wrong with the values of an object.

balance: Annotated[float, Range(least=0.0, most=1.0)] = 0.5
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Protocol, get_args, get_origin, get_type_hints, runtime_checkable

from evenrank.core.settings import check_value

MOST = 1e9
"""Largest weight, power or price; what is weighed against it counts for next to nothing long before."""
MOST_PAGES = 100_000_000
"""Largest number of pages or ranks that a setting may ask for; the largest wiki has a tenth of them."""
MAX_QUOTED = 60
"""Characters of a value that a message repeats."""


@runtime_checkable
class SettingLimit(Protocol):
    """What a value must fulfil; `str` says it in words that follow "must be"."""

    def faults(self, name: str, value: Any) -> Iterator[str]:
        """What is wrong with the value of the setting of that name."""
        ...


@dataclass(frozen=True)
class Range:
    """Numbers between two ends, either of which may be missing."""

    least: float | None = None
    above: float | None = None
    """A lower end that is not allowed itself."""
    most: float | None = None
    below: float | None = None
    """An upper end that is not allowed itself."""

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f"from {_shown(self.least)} to {_shown(self.most)}"
        ends = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        return " and ".join(f"{word} {_shown(end)}" for word, end in ends.items() if end is not None)

    def __contains__(self, value: float) -> bool:
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def faults(self, name: str, value: float) -> Iterator[str]:
        if value not in self:
            yield f"{name} is {_shown(value)}, but must be {self}"


Share = Annotated[float, Range(least=0.0, most=1.0)]
Weight = Annotated[float, Range(least=0.0, most=MOST)]
PageCount = Annotated[int, Range(least=1, most=MOST_PAGES)]
PageCountOrAll = Annotated[int, Range(least=0, most=MOST_PAGES)]
"""Where 0 means all of them, or none."""


@dataclass(frozen=True)
class RisingRanks:
    """Ranks, each below the one before."""

    def __str__(self) -> str:
        return "at least 1 and rising"

    def faults(self, name: str, value: tuple[int, ...]) -> Iterator[str]:
        if not value or min(value) < 1 or list(value) != sorted(set(value)):
            yield f"{name} are {', '.join(map(_shown, value)) or 'empty'}, but must be {self}"


def setting_faults(settings: Any) -> list[str]:
    """Everything wrong with the values of a settings dataclass: their types, and what their types declare."""
    owner: Any = type(settings)
    return [
        fault
        for name, (hint, limits) in _declared(owner).items()
        for fault in _faults_of(name, getattr(settings, name), hint, limits)
    ]


def limits_of(owner: type) -> dict[str, tuple[SettingLimit, ...]]:
    """The limits that each field of a settings dataclass declares."""
    return {name: limits for name, (_, limits) in _declared(owner).items()}


def _faults_of(name: str, value: Any, hint: Any, limits: tuple[SettingLimit, ...]) -> Iterator[str]:
    if not is_dataclass(hint):  # a dataclass checks itself
        try:
            check_value(value, hint, name)
        except ValueError as error:
            yield str(error)
            return
    for limit in limits:
        yield from limit.faults(name, value)


@cache
def _declared(owner: type) -> dict[str, tuple[Any, tuple[SettingLimit, ...]]]:
    """Field name → its plain type and its limits; nothing for a class without fields."""
    if not is_dataclass(owner):
        return {}
    plain, full = get_type_hints(owner), get_type_hints(owner, include_extras=True)
    return {field.name: (plain[field.name], _limits(full[field.name])) for field in fields(owner)}


def _limits(hint: Any) -> tuple[SettingLimit, ...]:
    if get_origin(hint) is not Annotated:
        return ()
    return tuple(extra for extra in get_args(hint)[1:] if isinstance(extra, SettingLimit))


def _shown(value: float) -> str:
    """A number as short as it can be read back; a whole one in full."""
    text = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    text = text if isinstance(value, int) or float(text) == value else str(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"
