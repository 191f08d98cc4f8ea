"""Which totals are withheld, because they would say something about one person: few people, or all of one gender.

These rules are there so that figures about articles which a search found do not label a person. They cannot stop people
who choose the articles themselves. The totals of five men and five women they know of and one person more tell
the gender of that one, and so do two lists that differ in one person. A higher threshold only takes more known people.
So the web app shows totals of people only where its operator says so (`app/fairness/disclosure.py`); reports of the
command line, whose reader has the data, always do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace

FEWEST = 5
"""A group of fewer articles is not shown separately: a total of one article would be a label of a person."""
FEWEST_ALIKE = 20
"""That all of so many people have one gender is a fact about their subject; of fewer, it is a label of each of them.
Twenty is a convention, four times `FEWEST`, because “all” tells more of each person than a share does."""
NONE = 1e-6
"""Articles that count as none; an article of several groups is a fraction of one in each."""
SUM_DECIMALS = 12
"""Decimals of sums over groups of people: the last bit depends on who is in which group, and where a figure is rounded
in the middle between two others, anybody could see that bit."""


def without_people(values: NDArray[np.float64], space: GroupSpace) -> NDArray[np.float64]:
    """Values by group (the last axis), summed over the dimensions that describe people."""
    cells = values.reshape(*values.shape[:-1], *space.shape)
    first = values.ndim - 1
    axes = tuple(first + axis for axis, dimension in enumerate(space.dimensions) if dimension.is_personal)
    return np.asarray(cells.sum(axis=axes).reshape(*values.shape[:-1], -1).round(SUM_DECIMALS))


def are_few(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which totals are over too few articles; a total over none says nothing about anyone."""
    whole = np.ceil(counts - NONE)
    return np.asarray((whole > 0) & (whole < FEWEST))


def are_few_alike(counts: NDArray[np.float64]) -> bool:
    """Whether the totals of known groups are of several people, but of one group and fewer than `FEWEST_ALIKE`."""
    return bool((counts > NONE).sum() == 1 and counts.sum() < FEWEST_ALIKE - NONE)


def effective_number(weights: NDArray[np.float64]) -> float:
    """How many equal weights would be spread as widely, (Σw)²/Σw² (Kish 1965); 0 when there are none."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def has_few_effective(weights: NDArray[np.float64]) -> bool:
    """Whether weights of people are as concentrated as if there were few; without any, there is nobody to tell of."""
    return 0.0 < effective_number(weights) < FEWEST - NONE


def are_few_people(counts: NDArray[np.float64], space: GroupSpace, has_others: bool = False) -> bool:
    """Whether so few of these articles are about people that a figure which counts them may say something about one.

    With `has_others`, the goal follows people that are not among these articles; then none are few, too.
    """
    margins = [space.margin(counts, dimension.name)[1:] for dimension in space.dimensions if dimension.is_personal]
    people = np.array([margin.sum() for margin in margins])
    return bool((are_few(people) | (has_others & (people <= NONE))).any())


def hide_people(counts: NDArray[np.float64], has_others: bool = False) -> NDArray[np.bool_]:
    """Which totals of a personal dimension are withheld: all of them as soon as one known group has few people,
    or as fewer than `FEWEST_ALIKE` are all of one group.

    The first total is that of what is not known; whoever knows it and all others but one knows that one too. With
    `has_others`, the goal beside them follows other people; where these articles are about none, it tells of those.
    """
    is_none = has_others and not (counts[1:] > NONE).any()
    hides = np.full(counts.shape, is_none or are_few_alike(counts[1:]) or bool(are_few(counts[1:]).any()))
    hides[0] = False
    return hides


def reveal_people(
    counts: NDArray[np.float64], space: GroupSpace, has_others: bool = False, any_reveals: bool = False
) -> NDArray[np.bool_]:
    """Cells that would say something about a person, e.g. of a region whose biographies are few or of one gender.

    What is not personal, such as the region, is shown beside each article. So for each combination of those groups, the
    totals of a personal dimension are safe only when at least two of its groups have several people and none has few.
    The same holds for all that is withheld together, because the totals of the dimension are known: the combinations
    with the fewest people are withheld as well until it does. With `has_others`, as in `hide_people`, combinations
    without people are withheld, too. With `any_reveals`, all combinations with people are.
    """
    hides = np.zeros(counts.shape, bool)
    for axis, dimension in enumerate(space.dimensions):
        if dimension.is_personal:
            known = np.moveaxis(counts, axis, -1)[..., 1:]
            is_hidden = _withhold(known.reshape(-1, known.shape[-1]), has_others).reshape(known.shape[:-1])
            is_hidden |= any_reveals & (known > NONE).any(axis=-1)
            hides |= np.expand_dims(is_hidden, axis)
    return hides


def _withhold(known: NDArray[np.float64], has_others: bool) -> NDArray[np.bool_]:
    """Which rows of a table of people by combination and group are withheld."""
    is_hidden = ~_are_safe(known) | (has_others & ~(known > NONE).any(axis=-1))
    people = np.where(is_hidden | ~(known > NONE).any(axis=-1), np.inf, known.sum(axis=-1))
    for row in np.argsort(people, kind="stable")[: np.isfinite(people).sum()]:
        if _are_safe(known[is_hidden].sum(axis=0)):
            break
        is_hidden[row] = True
    return is_hidden


def _are_safe(known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether totals of the known groups of a dimension, the last axis, say nothing about one person."""
    is_safe = (np.ceil(known - NONE) >= FEWEST).sum(axis=-1) >= 2
    is_safe &= ~are_few(known).any(axis=-1)
    return np.asarray(is_safe | ~(known > NONE).any(axis=-1))
