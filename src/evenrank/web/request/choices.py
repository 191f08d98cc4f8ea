"""What the forms offer and explain, read from `choices.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class PolicyChoice:
    """A policy as a coordinator sees it."""

    name: str
    label: str
    explanation: str


@dataclass(frozen=True)
class GoalChoice:
    """A goal as a coordinator sees it."""

    name: str
    label: str
    explanation: str


@dataclass(frozen=True)
class StrengthChoice:
    """A weight of fairness as a coordinator sees it."""

    value: float
    label: str
    explanation: str


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("evenrank.web.request").joinpath("choices.toml").read_text("utf-8"))


@cache
def policy_choices() -> dict[str, PolicyChoice]:
    """Policies by name; the first one is the default."""
    return {entry["name"]: PolicyChoice(**entry) for entry in _table()["policy"]}


@cache
def goal_choices() -> dict[str, GoalChoice]:
    """Goals by name; the first one is the default."""
    return {entry["name"]: GoalChoice(**entry) for entry in _table()["goal"]}


@cache
def strength_choices() -> tuple[StrengthChoice, ...]:
    """Strengths of fairness, the lightest first."""
    return tuple(StrengthChoice(**entry) for entry in _table()["strength"])
