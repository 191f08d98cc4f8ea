"""What the forms offer and explain, read from `choices.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from evenrank.app.pages.i18n import Message

TABLE = "table:"
"""How the text of an attention model with weights for each rank begins."""


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
class AttentionChoice:
    """How far people read, as a coordinator sees it."""

    name: str
    """An attention model, as `rank --attention` takes it."""
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
    return tomllib.loads(files("evenrank.app.request").joinpath("choices.toml").read_text("utf-8"))


@cache
def policy_choices() -> dict[str, PolicyChoice]:
    """Policies by name; the first one is the default."""
    return {entry["name"]: PolicyChoice(**entry) for entry in _table()["policy"]}


@cache
def goal_choices() -> dict[str, GoalChoice]:
    """Goals by name; the first one is the default."""
    return {entry["name"]: GoalChoice(**entry) for entry in _table()["goal"]}


@cache
def attention_choices() -> dict[str, AttentionChoice]:
    """How far people read, by the name of the model; the first one is the default."""
    return {entry["name"]: AttentionChoice(**entry) for entry in _table()["attention"]}


def describe_attention(text: str) -> str:
    """An attention model in words."""
    known = attention_choices().get(text)
    if known is not None:
        return known.label
    if text.startswith(TABLE):
        return Message("own weights for %(n)s ranks", n=text.count(",") + 1)
    return text


@cache
def strength_choices() -> tuple[StrengthChoice, ...]:
    """Strengths of fairness, the lightest first."""
    return tuple(StrengthChoice(**entry) for entry in _table()["strength"])
