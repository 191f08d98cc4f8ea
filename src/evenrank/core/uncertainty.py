"""What is not known of the data, as one model: groups that are missing or wrong, judgments, and the target.

A dimension's groups may be missing at random, or more often in some groups than in others (odds ratios or rates), and
recorded groups may be wrong (a table of errors, stated or from an audit). Relevant pages may lack their tag, pages may
be unjudged, and the share of the world in the target is debatable. The model says what is believed, with ranges where
that is uncertain; `scoring.imputation` draws data sets that agree with it, and `rank` ranks by what it expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evenrank.core.types import Floats
from evenrank.errors import EvenrankError

SOURCES = ("topics", "missing", "errors", "judgments", "target")
"""What an interval can carry, in the order of tables."""
Range = tuple[float, float]
"""A number that lies between the two, which are equal where it is known."""
PRIOR = 1.0
"""Observations that the prior of a row of an error table is worth in all (Perks 1947)."""


@dataclass(frozen=True)
class MissingGroups:
    """How groups came to be missing in one dimension."""

    share: Range = (1.0, 1.0)
    """Share of the items without a group that have one which is not recorded; the others belong to none."""
    odds: Mapping[str, Range] = field(default_factory=dict)
    """Odds of being missing relative to a group that is not named; empty when groups are missing at random."""
    rate: Mapping[str, float] | float | None = None
    """Probability that an item of each group (or of any) has it missing, in place of `share` and `odds`: then
    the number of items with a recorded group says how many are missing, and the others belong to none."""

    def weights(self, groups: Sequence[str], rng: np.random.Generator | None, n_draws: int) -> Floats:
        """Odds of being missing by draw and group, without a generator in the middle of their ranges; with `rate` they
        are absolute, else relative."""
        if self.rate is not None:
            by_group = self.rate if isinstance(self.rate, Mapping) else dict.fromkeys(groups, self.rate)
            rates = np.array([by_group.get(group, 0.0) for group in groups])
            return np.broadcast_to(rates / (1.0 - rates), (n_draws, len(groups)))
        low, high = np.log([self.odds.get(group, (1.0, 1.0)) for group in groups]).T
        return np.asarray(np.exp(low + (high - low) * _places(rng, n_draws)[:, None]))

    def shares(self, rng: np.random.Generator | None, n_draws: int) -> Floats:
        """Share of the items without a group that have one, by draw."""
        low, high = self.share
        return np.asarray(low + (high - low) * _places(rng, n_draws))


@dataclass(frozen=True)
class ErrorTable:
    """How often items of each group are recorded as another one: a rate, a stated table, or the counts of an audit."""

    rate: float = 0.0
    """Share of the items of each group that is recorded as another one, each of the others as often."""
    table: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """True group → recorded group → probability, in place of `rate`; a group that is not named has no errors."""
    worth: float | None = None
    """Checked items of each group that the rate or the table is worth; None takes it as exact."""
    checked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Recorded group → true group → checked items: an audit, in place of the others."""
    recorded: Mapping[str, float] = field(default_factory=dict)
    """Items that each group is recorded for, because an audit may check as many of a small group as of a large one."""

    def draw(self, groups: Sequence[str], rng: np.random.Generator, n_draws: int) -> Floats:
        """Probability of each recorded group given the true one: draw by true group by recorded group."""
        n = len(groups)
        if self.checked:
            checked = _matrix(self.checked, groups, 0.0) + PRIOR / n
            return self._reversed(_dirichlet(checked, rng, n_draws), groups)
        stated = self._stated(groups)
        if self.worth is None:
            return np.broadcast_to(stated, (n_draws, n, n))
        return _dirichlet(np.maximum(stated * self.worth, 1e-12), rng, n_draws)

    def expected(self, groups: Sequence[str]) -> Floats:
        """The table without its uncertainty: true group by recorded group."""
        if not self.checked:
            return self._stated(groups)
        checked = _matrix(self.checked, groups, 0.0) + PRIOR / len(groups)
        return np.asarray(self._reversed((checked / checked.sum(axis=1, keepdims=True))[None], groups)[0])

    def _stated(self, groups: Sequence[str]) -> Floats:
        n = len(groups)
        if self.table:
            return _matrix(self.table, groups, 1.0)
        off = self.rate / max(1, n - 1) if n > 1 else 0.0
        return np.full((n, n), off) + np.eye(n) * (1.0 - n * off)

    def _reversed(self, true_given_recorded: Floats, groups: Sequence[str]) -> Floats:
        """Bayes' rule: from true groups given recorded ones to recorded groups given true ones."""
        shares = np.array([self.recorded.get(group, sum(self.checked.get(group, {}).values())) for group in groups])
        joint = (true_given_recorded * shares[:, None]).transpose(0, 2, 1)
        total = joint.sum(axis=2, keepdims=True)
        return np.where(total > 0.0, joint / np.where(total > 0.0, total, 1.0), np.eye(len(groups)))


def _matrix(rows: Mapping[str, Mapping[str, float]], groups: Sequence[str], if_unnamed: float) -> Floats:
    """Rows by name as a matrix; a row that is not named has `if_unnamed` on the diagonal."""
    unnamed = {group: {group: if_unnamed} for group in groups}
    return np.array([[{**unnamed, **rows}[row].get(column, 0.0) for column in groups] for row in groups], np.float64)


def _places(rng: np.random.Generator | None, n_draws: int) -> Floats:
    """Where in a range each draw lies, from 0 to 1."""
    return np.full(n_draws, 0.5) if rng is None else rng.random(n_draws)


def _dirichlet(parameters: Floats, rng: np.random.Generator, n_draws: int) -> Floats:
    gamma = rng.standard_gamma(parameters, (n_draws, *parameters.shape))
    return np.asarray(gamma / np.maximum(gamma.sum(axis=-1, keepdims=True), 1e-300))


@dataclass(frozen=True)
class DimensionModel:
    """What is believed of one dimension."""

    missing: MissingGroups | None = None
    """None for the default of `Uncertainty.of`; a share of 0 takes items without a group as they are."""
    errors: ErrorTable | None = None
    """None where recorded groups are taken as true."""


@dataclass(frozen=True)
class JudgmentModel:
    """What is believed of judgments."""

    tagging: Range = (1.0, 1.0)
    """Share of the relevant pages that have the tag which makes them relevant in the data; 1 where pages were judged
    one by one."""
    unjudged: Literal["estimated", "irrelevant"] = "estimated"
    """Whether pages that nobody judged are relevant as often as judged ones at such ranks, or never."""


@dataclass(frozen=True)
class Uncertainty:
    """The model of all that is not known."""

    dimensions: Mapping[str, DimensionModel] = field(default_factory=dict)
    """By name; a dimension that is not named takes missing groups as missing at random, unless it describes people."""
    judgments: JudgmentModel = JudgmentModel()
    blend: Range = (0.25, 0.75)
    """Share of the world in the target."""

    def of(self, dimension: str, is_personal: bool = False) -> DimensionModel:
        """The model of a dimension.

        Most pages without a gender are not biographies, so nothing is filled in for a dimension that describes people
        unless the model says how much.
        """
        model = self.dimensions.get(dimension, DimensionModel())
        if model.missing is not None or is_personal:
            return model
        return replace(model, missing=MissingGroups())

    def check(self, dimensions: Mapping[str, Sequence[str]]) -> None:
        """EvenrankError that names everything that does not fit; `dimensions` are the known groups by name."""
        if faults := list(self._faults(dimensions)):
            raise EvenrankError("\n".join(faults))

    def _faults(self, dimensions: Mapping[str, Sequence[str]]) -> Iterator[str]:
        for name, model in self.dimensions.items():
            if name not in dimensions:
                yield f"the model of what is unknown names {name!r} (choose from {', '.join(dimensions)})"
                continue
            groups = dimensions[name]
            for group in dict.fromkeys(_named_groups(model)):
                if group not in groups:
                    yield f"{name}: no group {group!r} (choose from {', '.join(groups)})"
            rate = None if model.missing is None else model.missing.rate
            if isinstance(rate, Mapping) and (lacking := [group for group in groups if group not in rate]):
                yield f"{name}: no rate of {', '.join(lacking)} (give one for each group, 0 where none is missing)"

    def to_json(self) -> dict[str, Any]:
        """The model as saved with results."""
        return asdict(self)


def _named_groups(model: DimensionModel) -> Iterator[str]:
    """Names of groups that a model has, repeated ones too."""
    if model.missing is not None:
        yield from model.missing.odds
        yield from model.missing.rate if isinstance(model.missing.rate, Mapping) else ()
    if model.errors is not None:
        for rows in (model.errors.table, model.errors.checked):
            yield from rows
            yield from (group for row in rows.values() for group in row)


def chosen_sources(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names of sources in the order of `SOURCES`; `all` is all of them. EvenrankError for others."""
    names = [part.strip() for part in given.split(",")] if isinstance(given, str) else list(given)
    if "all" in names:
        return SOURCES
    wrong = [name for name in names if name not in SOURCES]
    if wrong or not names:
        raise EvenrankError(f"uncertainty {', '.join(map(repr, wrong)) or '(empty)'}: choose from {', '.join(SOURCES)}")
    return tuple(name for name in SOURCES if name in names)
