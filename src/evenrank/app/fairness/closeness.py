"""How close attention is to a goal: one figure, which says nothing about a single person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.app.fairness.balance import Balance
from evenrank.core.groups import GroupSpace
from evenrank.measures.awrf import awrf

PUBLIC_CERTIFICATE = ("relevance_share",)
"""Figures of a certificate in which groups do not enter."""
DECIMALS, LOSS_DECIMALS, CURVE_DECIMALS = 2, 3, 3
"""Decimals of figures that genders enter, of EE-L, and of AWRF along the trade-off: as many as pages show."""


@dataclass(frozen=True)
class Closeness:
    """AWRF of some articles, and what it counts."""

    value: float | None
    """From 0 to 1; 0 when no group of the articles is known, None when it is withheld."""
    is_complete: bool
    """Whether all groups are counted; else those of people, such as their genders, are not."""


def closeness_of(balance: Balance) -> Closeness:
    """The figure of a complete list or of all draws; with few people, without their groups."""
    if balance.has_few_people:
        return public_closeness(balance)
    return Closeness(_awrf(balance, balance.exposure, balance.goal), is_complete=True)


def public_closeness(balance: Balance) -> Closeness:
    """The figure by what is shown beside each article alone, such as its region.

    Whatever visitors select, even one person, it does not depend on a gender. Nor does its difference from another one.
    """
    if all(dimension.is_personal for dimension in balance.space.dimensions):
        return Closeness(None, is_complete=False)
    exposure, goal = (_without_people(values, balance.space) for values in (balance.exposure, balance.goal))
    has_people = any(dimension.is_personal for dimension in balance.space.dimensions)
    return Closeness(_awrf(balance, exposure, goal), is_complete=not has_people)


def _awrf(balance: Balance, exposure: NDArray[np.float64], goal: NDArray[np.float64]) -> float:
    """AWRF, in Task 1 without what is unknown."""
    first = 0 if balance.counts_unknown else 1
    has, wanted = exposure[first:], goal[first:]
    return awrf(has, wanted) if has.sum() > 0 and wanted.sum() > 0 else 0.0


def _without_people(values: NDArray[np.float64], space: GroupSpace) -> NDArray[np.float64]:
    """Values by group, summed over the dimensions that describe people."""
    axes = tuple(axis for axis, dimension in enumerate(space.dimensions) if dimension.is_personal)
    return np.asarray(values.reshape(space.shape).sum(axis=axes).reshape(-1))


def public_certificate(certificate: Mapping[str, float], space: GroupSpace, has_few_people: bool) -> dict[str, float]:
    """What a certificate may say about people: with few of them, only what does not depend on their groups.

    With many, figures are rounded, and those of single depths (`AWRF@10`) are left out: ten ranks may have one person.
    """
    if not any(dimension.is_personal for dimension in space.dimensions):
        return dict(certificate)
    kept = {name: value for name, value in certificate.items() if name in PUBLIC_CERTIFICATE}
    others = {name: value for name, value in certificate.items() if name not in kept and "@" not in name}
    return kept if has_few_people else {**kept, **{name: round_figure(name, value) for name, value in others.items()}}


def round_figure(name: str, value: float) -> float:
    """A figure with as many decimals as pages show of it."""
    return round(value, LOSS_DECIMALS if name.startswith("EE-L") else DECIMALS)
