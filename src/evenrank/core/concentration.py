"""Topics that are nearly all in one group of a dimension: a target over it asks for pages that the topic does not have.

One rule for command line, Python API and web app. It counts pages: of those whose region is known, the share that is in
Africa. A page of two regions is in both, so shares of attention, which divide a page between its groups, would hide
that all of Nigerian history is in Africa.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.groups import GroupSpace
from evenrank.core.withheld import are_few, are_few_alike

ONE_GROUP = 0.8
"""Share of the pages that are known in a dimension from which on one group is nearly everything."""
ONE_GROUP_OF_PEOPLE = 0.9
"""The same for groups of people: a subject that is mostly about men is what a target is there for."""
SURE_OF = 2 / 3
"""Share of the topic that one group has at least, if chance brought it the pages that are known: five of six known
pages are no sign that a worldwide topic, which is unknown for the most part, is about one region."""
CHANCE = 1.96
"""Standard errors of an interval of 95 %."""
MOSTLY = 0.5
"""Share of biographies from which on a topic is about people; only then all of them in one group is worth a word."""
FINER: dict[str, str] = {"geography": "sub-region"}
"""A finer dimension for one that is too coarse."""


@dataclass(frozen=True)
class Concentration:
    """A dimension in which nearly all of a topic is in one group."""

    dimension: str
    group: str
    share: float
    """Of the pages that are known in the dimension."""
    finer: str = ""
    """A finer dimension that could take its place; empty when none would help."""


def concentrations(alignment: Alignment, weights: NDArray[np.float64], space: GroupSpace) -> tuple[Concentration, ...]:
    """The dimensions in which nearly all pages of a topic are in one group.

    `weights` say how likely each page belongs to the topic. Pages that are not known count as `least_share` says, so
    that a few known ones name no group. Groups of people are named only where most pages are about people, no group is
    of a few, whose total would say something about one of them, and those who are all of one group are at least
    `FEWEST_ALIKE`.
    """
    counted = np.bincount(alignment.page_type[weights > 0.0], minlength=len(alignment.rows))
    of_type, squares_of_type = (
        np.bincount(alignment.page_type, weights**power, minlength=len(alignment.rows)) for power in (1, 2)
    )
    found = []
    for dimension in space.dimensions:
        first = 1 if dimension.has_unknown else 0
        is_in = space.margin(alignment.rows, dimension.name)[:, first:] > 0.0
        known = float(of_type @ is_in.any(axis=1))
        if known <= 0.0 or (dimension.is_personal and not _may_be_named(known / of_type.sum(), counted @ is_in)):
            continue
        shares = of_type @ is_in / known
        share, enough = float(shares.max()), ONE_GROUP_OF_PEOPLE if dimension.is_personal else ONE_GROUP
        n_known, unknown = known**2 / float(squares_of_type @ is_in.any(axis=1)), of_type.sum() - known
        least = (known * share + unknown * least_share(share, n_known)) / of_type.sum()
        if share >= enough and (dimension.is_personal or least >= SURE_OF):
            found.append(Concentration(dimension.name, dimension.scored_groups[first + int(shares.argmax())], share))
    return tuple(found)


def least_share(share: float, n: float) -> float:
    """The lower end of Wilson's interval (1927) for a share of so many pages; pages of unequal weight are fewer."""
    middle, spread = share + CHANCE**2 / (2 * n), np.sqrt(share * (1 - share) / n + (CHANCE / (2 * n)) ** 2)
    return float((middle - CHANCE * spread) / (1 + CHANCE**2 / n))


def _may_be_named(share_of_people: float, people: NDArray[np.integer]) -> bool:
    """Whether a topic is about people, none of their groups is of a few, and not all of a few handfuls are alike."""
    counts = people.astype(np.float64)
    return share_of_people >= MOSTLY and not are_few(counts).any() and not are_few_alike(counts)
