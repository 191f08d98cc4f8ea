"""Measures as short texts, in the manner of ir_measures: `AWRF@20`, `EE-L@50`, `AWRF(groups=geography)@100`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evenrank.core.protocol import DEFAULT_PROTOCOL
from evenrank.core.records import Run
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MEASURES, measures_of
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.protocol_settings import parse_protocol_settings
from evenrank.scoring.results import RunResult
from evenrank.trec.collection import Collection

_FORM = re.compile(r"(?P<name>[A-Za-z][\w/-]*?)(?:\((?P<parameters>[^()]*)\))?(?:@(?P<depth>[1-9]\d*))?")
_SPELLINGS = {name.replace("-", "").replace("/", "").casefold(): name for name in MEASURES.builtin}
ARGUMENTS = ("protocol", "groups")


@dataclass(frozen=True)
class MeasureAt:
    """A measure with its depth and settings."""

    name: str
    depth: int | None = None
    """Pages of each ranking that are scored; None for the protocol's depth."""
    protocol: str = DEFAULT_PROTOCOL
    groups: str = "intersection"
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    text: str = ""
    """As the user wrote it."""

    def __str__(self) -> str:
        return self.text


class Metric(NamedTuple):
    """One value, with the field names that ir_measures uses."""

    query_id: str
    measure: str
    value: float


def parse_measure(text: str) -> MeasureAt:
    """The measure that a text names; `EE_L` and `EE-L` are the same, quotes around parameters are optional."""
    match = _FORM.fullmatch(text.strip())
    name = _SPELLINGS.get(re.sub(r"[-_/]", "", match["name"]).casefold()) if match else None
    if match is None or name is None:
        names = ", ".join(dict.fromkeys(_SPELLINGS.values()))
        raise EvenrankError(f"{text!r} is not a measure: write NAME@DEPTH, where NAME is one of {names}")
    parameters = dict(_parameters(match["parameters"] or "", text))
    chosen = {key: parameters.pop(key) for key in ARGUMENTS if key in parameters}
    settings = parse_protocol_settings(f"{key}={value}" for key, value in parameters.items())
    depth = int(match["depth"]) if match["depth"] else None
    return MeasureAt(name, depth, settings=settings, text=text.strip(), **chosen)


def _parameters(inside: str, text: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, (part.strip() for part in inside.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise EvenrankError(f"{text!r}: {part!r} is not name=value")
        yield key.strip(), value.strip().strip("\"'")


def calc_aggregate(measures: Iterable[str], collection: Collection, run: Run) -> dict[str, float]:
    """The mean over topics of each measure, by the text that was given."""
    return {
        measure.text: _scored(measure, collection, run).scores[measure.name] for measure in map(parse_measure, measures)
    }


def iter_calc(measures: Iterable[str], collection: Collection, run: Run) -> Iterator[Metric]:
    """The value of each measure on each topic."""
    for measure in map(parse_measure, measures):
        for topic, scores in _scored(measure, collection, run).topics.items():
            yield Metric(str(topic), measure.text, scores[measure.name])


def _scored(measure: MeasureAt, collection: Collection, run: Run) -> RunResult:
    if measure.name not in {known.name for known in measures_of(run.task)}:
        raise EvenrankError(f"{measure.text}: not a measure of task {run.task}, which {run.name} is a run of")
    settings = dict(measure.settings)
    if measure.depth is not None:
        settings["depth"] = measure.depth
    return evaluate(collection, run, measure.protocol, measure.groups, **settings)[run.name]
