"""Settings of a protocol, changed by text (`task1_depth=50`, `normalised=geography,gender`) or from Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Literal, TypedDict, get_type_hints

from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.exposure import Attention, parse_attention
from evenrank.protocol import Protocol
from evenrank.settings import check_value, parse_value, read_pairs

FIXED = ("name", "summary", "dimensions", "sets")
"""Fields of a protocol that say what it is and cannot be set."""
LEAST = {"min_tier": 0, "interval_seed": 0, "n_resamples": 2}
"""Smallest whole number of a setting; 1 for the others."""
MOST = 1_000_000
"""Largest whole number of a setting, except of the seed: rankings are shorter, and more would fill the memory."""


class ProtocolSettings(TypedDict, total=False):
    """Keyword arguments that change a protocol; `Protocol` explains each."""

    discount_type: Literal["float32", "float64"]
    log_base: float
    normalised: Iterable[str] | Literal["all"]
    unlisted_page: Literal["no group", "unknown", "dropped"]
    keeps_unknown_task1: bool
    no_exposure: Literal["uniform", "zero", "undefined"]
    target_sum: Literal["one", "pages"]
    set_target: Literal["own", "margin"]
    task1_depth: int
    ideal_depth: int | None
    task2_depth: int | None
    task2_rankings: int | None
    target_depth: int | None
    relevant_exposure: bool
    min_tier: int
    longer_ranking: Literal["cut", "rejected"]
    repeated_page: Literal["counted", "rejected"]
    missing_ranking: Literal["skipped", "empty"]
    missing_topic: Literal["skipped", "empty"]
    task1_length: int
    task2_length: int
    sequence_length: int
    interval_stream: Literal["sequential", "shared"]
    attention: str | Sequence[float] | Attention
    interval_seed: int
    n_resamples: int
    confidence: float
    interval_ties: Literal["exact", "rounded"]
    depth: int
    """Both `task1_depth` and `task2_depth`."""
    rankings: int
    """The same as `task2_rankings`."""


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Protocol)


def setting_names() -> tuple[str, ...]:
    """The settings of a protocol that can be changed."""
    return tuple(field.name for field in fields(Protocol) if field.name not in FIXED)


def parse_protocol_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Settings from NAME=VALUE texts; all faults are reported in one EvenrankError."""
    settings: dict[str, Any] = {}
    faults = []
    for spelling, text in read_pairs(pairs).items():
        name = spelling.replace("-", "_")
        try:
            settings[name] = check_protocol_setting(name, _parse(name, text))
        except (ValueError, EvenrankError) as error:
            faults.append(str(error) if name == "attention" else f"--set {spelling}={text}: {error}")
    if faults:
        raise EvenrankError("\n".join(faults))
    return settings


def _parse(name: str, text: str) -> Any:
    if name not in setting_names():
        raise UnknownNameError("setting", name, setting_names())
    return math.e if name == "log_base" and text == "e" else parse_value(text, _hints()[name])


def check_protocol_setting(name: str, value: Any) -> Any:
    """The value in the setting's own type; ValueError or UnknownNameError says what would be valid."""
    if name not in setting_names():
        raise UnknownNameError("setting", name, setting_names())
    if name == "normalised" and isinstance(value, str):
        value = parse_value(value, _hints()[name])
    if name == "attention":
        value = str(parse_attention(value))
    value = check_value(value, _hints()[name], "the value")
    _check_range(name, value)
    return value


def _check_range(name: str, value: Any) -> None:
    if type(value) is int and value < (least := LEAST.get(name, 1)):
        raise ValueError(f"{value} is too small (at least {least})")
    if type(value) is int and name != "interval_seed" and value > MOST:
        raise ValueError(f"{value} is too large (at most {MOST:,})")
    if name == "confidence" and not 0.0 < value < 1.0:
        raise ValueError(f"{value} is not between 0 and 1")
    if name == "log_base" and not value > 1.0:
        raise ValueError(f"{value} is not a number above 1")
