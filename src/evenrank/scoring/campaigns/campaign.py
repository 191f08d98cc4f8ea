"""What a campaign is, what it is asked to score, and what comes out: arrays by query, before any table is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import setting_faults
from evenrank.core.groups import GroupShare
from evenrank.core.settings import Setting, Settings, describe_settings, make_settings, setting_texts
from evenrank.core.types import FilePath, Floats
from evenrank.errors import Collected, EvenrankError, UnknownNameError, WrongTypeError
from evenrank.io.faults import FaultLog

Input = Literal["groups", "target", "sequences", "attention", "k"]
OPTIONS: dict[Input, str] = {
    "groups": "--groups",
    "target": "--target",
    "sequences": "--sequences",
    "attention": "--attention",
    "k": "-k",
}
"""Inputs that only some campaigns have, and their options on the command line."""
MAX_FAULTS = 50
"""Faults of all files of a request that are shown; the others are counted."""


class CampaignSettings:
    """Settings of a protocol, checked against what their types declare when they are made."""

    def faults(self) -> list[str]:
        """What no single type can declare; types are as declared."""
        return []

    def __post_init__(self) -> None:
        if faults := setting_faults(self) or self.faults():
            raise EvenrankError("\n".join(faults))


@dataclass(frozen=True)
class CampaignRequest:
    """What to score, and by what."""

    runs: Mapping[str, FilePath]
    """Run files by the name of their system."""
    qrels: FilePath
    groups: Mapping[str, FilePath] = field(default_factory=dict)
    """Group files by the name of the grouping, which is empty for a single file without a name."""
    target: Mapping[str, FilePath] = field(default_factory=dict)
    """Target files by the name of their grouping."""
    sequences: FilePath | None = None
    measures: tuple[str, ...] = ()
    """Measures by name; none for the usual ones."""
    attention: Any = None
    k: int | None = None
    """Ranks that are scored; None for the campaign's own depth."""

    def given(self) -> list[Input]:
        """The inputs that are there, of those which only some campaigns have."""
        return [name for name in OPTIONS if getattr(self, name) not in (None, {})]


@dataclass(frozen=True)
class SystemColumns:
    """The scores of one system: an array by measure, with a value per query; NaN where a measure is undefined."""

    system: str
    queries: tuple[str, ...]
    columns: Mapping[str, Floats]
    groups: tuple[GroupShare, ...] = ()


@dataclass(frozen=True)
class CampaignScores:
    """The scores of all systems of a request."""

    systems: tuple[SystemColumns, ...]
    settings: Mapping[str, Any]
    """Every setting by name, defaults included."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CampaignProtocol:
    """A protocol: files of a campaign are read and scored as its organisers do."""

    name: str
    summary: str
    citation: str
    settings: type
    """Dataclass of its settings."""
    score: Callable[[CampaignRequest, Any], CampaignScores]
    """Called with a request that was checked and an object of `settings`."""
    needs: frozenset[Input] = frozenset()
    takes: frozenset[Input] = frozenset()
    """What it may be given beside what it needs."""

    def described_settings(self) -> list[Setting]:
        return describe_settings(self.settings)

    def run(self, request: CampaignRequest, settings: Settings) -> CampaignScores:
        """Scores of a request; everything that is wrong with its options is reported at once, before a file is read."""
        found = Collected()
        given = request.given()
        lacking = [OPTIONS[name] for name in OPTIONS if name in self.needs and name not in given]
        idle = [OPTIONS[name] for name in given if name not in self.needs | self.takes]
        found.add([f"protocol {self.name} needs {', '.join(lacking)}"] if lacking else [])
        found.add([f"protocol {self.name} has no {', '.join(idle)} (leave it out)"] if idle else [])
        made = found.check(lambda: make_settings(self.settings, setting_texts(settings)))
        found.raise_any()
        return self.score(request, made)


def named_files(given: object, what: str) -> dict[str, FilePath]:
    """Files by name: from a path alone (its name is empty), or from a mapping of names to paths."""
    if given is None:
        return {}
    if isinstance(given, (str, os.PathLike)):
        return {"": given}
    if isinstance(given, Mapping):
        wrong = [path for path in given.values() if not isinstance(path, (str, os.PathLike))]
        if not wrong:
            return {str(name): path for name, path in given.items()}
        given = wrong[0]
    raise WrongTypeError(given, what, "the path of a file, or a dict of names and paths")


def shared_faults() -> FaultLog:
    """A log for all files of a request, so that their faults are reported together."""
    return FaultLog(MAX_FAULTS)


def choose_measures(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The measures that are named, all of those known when none is; UnknownNameError for another name."""
    known, chosen = list(known), list(names)
    for name in chosen:
        if name not in known:
            raise UnknownNameError("measure", name, known)
    return list(dict.fromkeys(chosen)) or known


def measure_name(measure: str, grouping: str, groupings: Mapping[str, object]) -> str:
    """`unfairness:level`, or the measure alone where there is only one grouping."""
    return f"{measure}:{grouping}" if len(groupings) > 1 else measure


def check_names(groups: Mapping[str, object]) -> None:
    """EvenrankError for a group file without a name beside others."""
    if len(groups) > 1 and "" in groups:
        raise EvenrankError("several group files, one of them without a name (write --groups NAME=FILE)")


def repeated_note(system: str, n_repeated: int) -> str:
    """What is said of documents that a ranking has twice: published evaluators take each place as it comes."""
    return f"{system}: {n_repeated:,} ranked documents are in the same ranking further up, and count each time"


class Numbering(dict[str, int]):
    """Texts numbered in the order in which they first appear."""

    def __call__(self, text: str) -> int:
        """The number of a text; one that was not seen before gets the next one."""
        return self.setdefault(text, len(self))


def find_pairs(wanted: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.intp]:
    """The place of each wanted code among the known ones, which are all different; −1 for one that is not known."""
    if not len(known):
        return np.full(len(wanted), -1, np.intp)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    return np.where(known[order][place] == wanted, order[place], -1)
