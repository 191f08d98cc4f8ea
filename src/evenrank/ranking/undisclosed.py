"""Groups that exist and are not in the data: what is believed of pages whose group is unknown to the system alone.

A biography without a gender in the data has one all the same, and the scorer may know it. Where a share of the pages
is undisclosed, and that share is given, the pages whose group is known say what the others are: of a hundred pages
known to be about men, half being undisclosed, another hundred are among the unknown ones. They are distributions over
the pages of a topic, never a label on a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment, align
from evenrank.core.groups import UNKNOWN_MASK, Dimension, GroupSpace
from evenrank.core.uncertainty import MissingGroups, Uncertainty
from evenrank.errors import EvenrankError
from evenrank.io.assumptions import read_assumptions
from evenrank.ranking.groups import PRIOR_PAGES, group_moments

Masks = Sequence[NDArray[np.unsignedinteger]]
Shares = Mapping[int, float]
"""Probability of each mask."""
Rates = Mapping[str, float] | Mapping[str, MissingGroups]
"""By dimension the share of pages whose group is missing, or how groups are missing."""


def parse_undisclosed(given: Sequence[str], information: Sequence[str], scored: Sequence[str]) -> dict[str, float]:
    """Share of the pages whose group is not in the data, by dimension, from `dimension:share`; all faults at once."""
    rates: dict[str, float] = {}
    faults = []
    for text in given:
        name, _, share = (part.strip() for part in text.partition(":"))
        try:
            rate = float(share)
        except ValueError:
            rate = float("nan")
        if name not in information:
            faults.append(f"undisclosed {text!r}: choose a dimension from {', '.join(information)}")
        if not 0.0 < rate < 1.0:
            faults.append(f"undisclosed {text!r}: give a share above 0 and below 1, such as {name or 'gender'}:0.5")
        rates[name] = rate
    if given and (lacking := [name for name in scored if name not in information]):
        faults.append(f"undisclosed: the system does not know {', '.join(lacking)} at all (leave one of the two out)")
    if faults:
        raise EvenrankError("\n".join(faults))
    return rates


def parse_assumed(texts: Sequence[str], space: GroupSpace) -> dict[str, MissingGroups]:
    """How groups came to be missing, by dimension, from texts such as `geography.odds.Africa=2`; all faults at once."""
    model = read_assumptions(list(texts))
    model.check({dimension.name: dimension.groups[1:] for dimension in space.dimensions})
    return {name: found.missing for name, found in model.dimensions.items() if found.missing is not None}


def assumed_texts(model: Uncertainty, dimensions: Sequence[Dimension]) -> tuple[str, ...]:
    """What a model says of missing groups, as the texts that `parse_assumed` reads and records keep."""
    texts = []
    for dimension in dimensions:
        missing = model.of(dimension.name, dimension.is_personal).missing
        if missing is None:
            continue
        if isinstance(missing.rate, Mapping):
            texts += [f"{dimension.name}.rate.{group}={rate!r}" for group, rate in missing.rate.items()]
        elif missing.rate is not None:
            texts.append(f"{dimension.name}.rate={missing.rate!r}")
        else:
            texts.append(f"{dimension.name}.share={missing.share[0]!r}..{missing.share[1]!r}")
            texts += [f"{dimension.name}.odds.{group}={low!r}..{high!r}" for group, (low, high) in missing.odds.items()]
    return tuple(texts)


def expected_groups(
    masks: Masks,
    relevance: NDArray[np.float64],
    space: GroupSpace,
    rates: Rates,
    normalise: Sequence[bool],
) -> tuple[Alignment, NDArray[np.float64], NDArray[np.float64]]:
    """Expected group weights of pages, and for each page type their variance and the share that the target holds.

    `masks` are what the system sees of the pages, an array for each dimension; `relevance` weighs pages in what the
    unknown ones are believed to be.
    """
    seen = np.stack([mask.astype(np.int64) for mask in masks], axis=1)
    types, page_type = np.unique(seen, axis=0, return_inverse=True)
    page_type = page_type.reshape(-1)
    weight = np.bincount(page_type, relevance, minlength=len(types)).astype(np.float64)
    alternatives = [_alternatives(types, weight, number, space, rates) for number in range(len(types))]
    outcomes = [list(product(*of_type)) for of_type in alternatives]
    flat = np.array([[mask for mask, _ in one] for of_type in outcomes for one in of_type], np.int64)
    aligned = align([flat[:, place].astype(masks[place].dtype) for place in range(len(masks))], space, normalise)
    rows = aligned.rows[aligned.page_type]
    ends = np.cumsum([len(of_type) for of_type in outcomes])
    moments = []
    for of_type, of_rows in zip(outcomes, np.split(rows, ends[:-1]), strict=True):
        shares = np.array([prod(share for _, share in one) for one in of_type])
        moments.append(group_moments(shares, of_rows, space))
    expected, variance, own_share = map(np.array, zip(*moments, strict=True))
    return Alignment(expected, page_type), variance, own_share


def _alternatives(
    types: NDArray[np.int64],
    weight: NDArray[np.float64],
    number: int,
    space: GroupSpace,
    rates: Rates,
) -> list[list[tuple[int, float]]]:
    """For each dimension the masks that pages of a type may have, with their probabilities."""
    found = []
    for place, dimension in enumerate(space.dimensions):
        mask = int(types[number, place])
        if mask != UNKNOWN_MASK or dimension.name not in rates:
            found.append([(mask, 1.0)])
            continue
        others = np.delete(types, place, axis=1)
        is_alike = (others == others[number]).all(axis=1)
        overall = _by_mask(types[:, place], weight)
        alike = _by_mask(types[is_alike, place], weight[is_alike])
        prior = PRIOR_PAGES / max(sum(overall.values()), 1e-12)
        smoothed = {value: alike.get(value, 0.0) + prior * total for value, total in overall.items()}
        found.append(list(unknown_shares(smoothed, rates[dimension.name], dimension.groups[1:]).items()))
    return found


def _by_mask(masks: NDArray[np.int64], weight: NDArray[np.float64]) -> dict[int, float]:
    values, number = np.unique(masks, return_inverse=True)
    return dict(zip(values.tolist(), np.bincount(number.reshape(-1), weight).tolist(), strict=True))


def unknown_shares(seen: Mapping[int, float], missing: float | MissingGroups, groups: Sequence[str] = ()) -> Shares:
    """What pages of unknown group are, from the weight of each mask as it is seen and how groups are missing.

    For each known page there are `rate` / (1 − `rate`) undisclosed ones; unknown pages beyond those are of no group.
    With odds in place of rates, the share of unknown pages that have a group is given.
    """
    known = {mask: weight for mask, weight in seen.items() if mask != UNKNOWN_MASK}
    if isinstance(missing, MissingGroups):
        odds = missing.weights(groups, None, 1)[0]
        hidden = {mask: weight * _mask_odds(mask, odds) for mask, weight in known.items()}
    else:
        hidden = {mask: weight * missing / (1.0 - missing) for mask, weight in known.items()}
    n_hidden = sum(hidden.values())
    total = max(n_hidden, seen.get(UNKNOWN_MASK, 0.0))
    if isinstance(missing, MissingGroups) and missing.rate is None:
        share = float(missing.shares(None, 1)[0])
        total = n_hidden / share if share > 0.0 else 0.0
    if total <= 0.0:
        return {UNKNOWN_MASK: 1.0}
    shares = {mask: weight / total for mask, weight in hidden.items() if weight > 0.0}
    return {UNKNOWN_MASK: (total - n_hidden) / total, **shares} if total > n_hidden else shares


def _mask_odds(mask: int, odds: NDArray[np.float64]) -> float:
    """Odds of being missing of a page with several groups: the geometric mean of theirs."""
    of_groups = [odds[bit] for bit in range(len(odds)) if mask >> (bit + 1) & 1]
    return float(prod(of_groups) ** (1.0 / len(of_groups))) if of_groups else 0.0
