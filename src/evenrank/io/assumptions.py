"""The model of what is unknown, read from a TOML or JSON file, from texts (`geography.rate=0.3`), or from dicts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenrank.core.types import FilePath
from evenrank.core.uncertainty import DimensionModel, ErrorTable, JudgmentModel, MissingGroups, Uncertainty
from evenrank.errors import EvenrankError, WrongTypeError, input_error
from evenrank.io.small_files import read_small_text, read_toml

Assumptions = Uncertainty | Mapping[str, Any] | str | os.PathLike[str] | Sequence[str] | None
"""A model, its parts by name, the path of its file, or texts `NAME=VALUE` and paths."""
FIX = "give a TOML or JSON file with a section for each dimension, such as [geography] and rate = 0.3"
MAX_ODDS = 1000.0
"""Largest odds ratio; its inverse is the smallest."""
KEYS = ("share", "odds", "rate", "errors")
"""What a dimension's section may say."""


def read_assumptions(given: Assumptions) -> Uncertainty:
    """The model of what is unknown; the default one where nothing is given. All faults are reported at once."""
    if isinstance(given, Uncertainty):
        return given
    if given is None:
        return Uncertainty()
    if isinstance(given, Mapping):
        return parse_assumptions(given, "assumptions")
    if isinstance(given, (str, os.PathLike)):
        given = [os.fspath(given)]
    if not isinstance(given, Iterable):
        raise WrongTypeError(given, "assumptions", "a file, a dict, or texts such as geography.rate=0.3")
    record: dict[str, Any] = {}
    for text in given:
        _merge(record, _assigned(text) if "=" in os.fspath(text) else _of_file(text))
    return parse_assumptions(record, ", ".join(map(str, given)))


def _of_file(path: FilePath) -> dict[str, Any]:
    if os.fspath(path).endswith(".json"):
        try:
            found = json.loads(read_small_text(path, FIX))
        except (ValueError, RecursionError) as error:
            raise input_error(path, 0, f"not JSON: {error}", FIX) from error
        if not isinstance(found, dict):
            raise input_error(path, 0, "not a JSON object", FIX)
        return found
    return read_toml(path, FIX)[1]


def _assigned(text: str) -> dict[str, Any]:
    """`geography.odds.Africa=2` as nested dicts; `missing=random` is the default model, `missing=FILE` that of a file.

    A range is written `2..4`.
    """
    name, _, value = (part.strip() for part in text.partition("="))
    if name == "missing":
        return {} if value in ("random", "at random") else _of_file(value)
    parts = name.split(".", 2)
    found: Any = _value(value)
    for part in reversed(parts):
        found = {part: found}
    return dict(found)


def _value(text: str) -> Any:
    parts = text.split("..")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = dict(value) if isinstance(value, Mapping) else value


def parse_assumptions(record: Mapping[str, Any], source: str) -> Uncertainty:
    """The model in a record as files have it: `judgments`, `target`, and a section for each dimension."""
    reader = _Reader(source)
    dimensions, judgments, blend = {}, JudgmentModel(), Uncertainty().blend
    for name, section in record.items():
        if not isinstance(section, Mapping):
            reader.fault(name, section, "a section with names and values")
        elif name == "judgments":
            judgments = reader.judgments(section)
        elif name == "target":
            reader.refuse_others(name, section, ("blend",))
            blend = reader.range(f"{name}.blend", section.get("blend", blend), 0.0, 1.0)
        else:
            dimensions[name] = reader.dimension(name, section)
    if reader.faults:
        raise EvenrankError("\n".join(list(dict.fromkeys(reader.faults))[:60]))
    return Uncertainty(dimensions, judgments, blend)


class _Reader:
    """Reads values and notes what is wrong with them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.faults: list[str] = []

    def fault(self, place: str, found: object, wanted: str) -> None:
        self.faults.append(f"{self.source}: {place} is {str(found)[:200]!r} (give {wanted})")

    def refuse_others(self, name: str, section: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in section:
            if key not in known:
                self.faults.append(
                    f"{self.source}: {name}.{str(key)[:200]} is not known (choose from {', '.join(known)})"
                )

    def number(self, place: str, found: object, low: float, high: float, wanted: str = "") -> float:
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not low <= found <= high:
            self.fault(place, found, wanted or f"a number from {low:g} to {high:g}")
            return low
        return float(found)

    def range(self, place: str, found: object, low: float, high: float) -> tuple[float, float]:
        values = list(found) if isinstance(found, (list, tuple)) else [found, found]
        wanted = f"a number from {low:g} to {high:g}, or a range of two"
        if len(values) != 2:
            self.fault(place, found, wanted)
            return low, low
        ends = [self.number(place, value, low, high, wanted) for value in values]
        return min(ends), max(ends)

    def shares(self, place: str, found: object) -> dict[str, dict[str, float]]:
        """A table of numbers by name and name."""
        rows: dict[str, dict[str, float]] = {}
        if not isinstance(found, Mapping) or not all(isinstance(row, Mapping) for row in found.values()):
            self.fault(place, found, "a table: for each group, numbers by group")
            return rows
        for name, row in found.items():
            rows[str(name)] = {
                str(key): self.number(f"{place}.{name}.{key}", value, 0.0, 1e9) for key, value in row.items()
            }
        return rows

    def dimension(self, name: str, section: Mapping[str, Any]) -> DimensionModel:
        self.refuse_others(name, section, KEYS)
        missing = None
        if section.keys() & {"share", "odds", "rate"}:
            missing = self.missing(name, section)
        errors = self.errors(f"{name}.errors", section["errors"]) if "errors" in section else None
        return DimensionModel(missing, errors)

    def missing(self, name: str, section: Mapping[str, Any]) -> MissingGroups:
        if "rate" in section and section.keys() & {"share", "odds"}:
            self.faults.append(f"{self.source}: {name} has rate beside share or odds (give one or the other)")
        share = self.range(f"{name}.share", section.get("share", 1.0), 0.0, 1.0)
        odds = section.get("odds", {})
        if not isinstance(odds, Mapping):
            self.fault(f"{name}.odds", odds, "odds ratios by group, such as odds = { Africa = 2 }")
            odds = {}
        rate: Any = section.get("rate")
        if isinstance(rate, Mapping):
            rate = {str(group): self.number(f"{name}.rate.{group}", value, 0.0, 0.99) for group, value in rate.items()}
        elif rate is not None:
            rate = self.number(f"{name}.rate", rate, 0.0, 0.99)
        by_group = {str(g): self.range(f"{name}.odds.{g}", value, 1 / MAX_ODDS, MAX_ODDS) for g, value in odds.items()}
        return MissingGroups(share, by_group, rate)

    def errors(self, place: str, found: object) -> ErrorTable:
        if not isinstance(found, Mapping):
            return ErrorTable(self.number(place, found, 0.0, 0.9, "a rate of errors from 0 to 0.9, or a table"))
        self.refuse_others(place, found, ("rate", "table", "worth", "checked", "recorded"))
        rate = self.number(f"{place}.rate", found.get("rate", 0.0), 0.0, 0.9)
        worth = found.get("worth")
        if worth is not None:
            worth = self.number(f"{place}.worth", worth, 1.0, 1e9)
        table = self.shares(f"{place}.table", found.get("table", {}))
        for name, row in table.items():
            if abs(sum(row.values()) - 1.0) > 1e-6:
                self.fault(f"{place}.table.{name}", sum(row.values()), "probabilities that sum to 1")
        checked = self.shares(f"{place}.checked", found.get("checked", {}))
        recorded = self.shares(place, {"recorded": found.get("recorded", {})}).get("recorded", {})
        return ErrorTable(rate, table, worth, checked, recorded)

    def judgments(self, section: Mapping[str, Any]) -> JudgmentModel:
        self.refuse_others("judgments", section, ("tagging", "unjudged"))
        unjudged = section.get("unjudged", "estimated")
        if unjudged not in ("estimated", "irrelevant"):
            self.fault("judgments.unjudged", unjudged, "estimated or irrelevant")
            unjudged = "estimated"
        return JudgmentModel(self.range("judgments.tagging", section.get("tagging", 1.0), 0.01, 1.0), unjudged)
