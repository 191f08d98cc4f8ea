"""Groups of candidates: the rows that a protocol counts, a restriction to some groups, beliefs about unknown ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment, align
from evenrank.core.groups import UNKNOWN_MASK, Dimension, GroupSpace
from evenrank.core.target import EstimatedTarget, blend
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Beliefs
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import DIMENSIONS
from evenrank.trec.manifest import Manifest

PRIOR_PAGES = 20.0
"""Weight, in pages, of all of them in what is believed of pages that look alike: few of those say little."""


def parse_restriction(within: Sequence[str], known: Mapping[str, Dimension] = DIMENSIONS) -> dict[str, int]:
    """Allowed groups of each dimension as a mask, from `dimension=group`; `known` is any group but the unknown one.

    Several groups of one dimension are alternatives.
    """
    allowed: dict[str, int] = {}
    wrong = []
    for text in within:
        name, _, group = (part.strip() for part in text.partition("="))
        try:
            (dimension,) = GroupSpace.of((name,), known).dimensions
            mask = (1 << len(dimension.groups)) - 2 if group.casefold() == "known" else dimension.mask_of(group)
        except KeyError:
            wrong.append(f"within {text!r}: choose a group of {name} from {', '.join(dimension.groups)}, or known")
            continue
        except EvenrankError as error:
            wrong.append(f"within {text!r}: {error} (give dimension=group)")
            continue
        allowed[name] = allowed.get(name, 0) | mask
    if wrong:
        raise EvenrankError("\n".join(wrong))
    return allowed


def is_within(collection: Collection, rows: NDArray[np.intp], within: Sequence[str]) -> NDArray[np.bool_]:
    """Which pages a restriction leaves; pages without metadata are unknown in every dimension."""
    kept = np.ones(len(rows), np.bool_)
    restrictions = parse_restriction(within, collection.known_dimensions)
    lacking = [name for name in restrictions if name not in collection.masks]
    if lacking:
        has = ", ".join(sorted(collection.masks))
        raise EvenrankError(f"within: the collection has no {' and no '.join(lacking)} (it has {has})")
    for name, allowed in restrictions.items():
        (masks,) = collection.masks_of(rows, collection.space(name), UNKNOWN_MASK)
        kept &= (masks & np.array(allowed, masks.dtype)) != 0
    return kept


def restricted_dimensions(within: Sequence[str]) -> set[str]:
    """Names of the dimensions that a restriction concerns."""
    return {text.partition("=")[0].strip() for text in within}


def cells_within(space: GroupSpace, within: Sequence[str]) -> NDArray[np.bool_] | None:
    """Which groups a restriction leaves; None without one that concerns these dimensions."""
    allowed = _allowed_in(space, within)
    if not allowed:
        return None
    cells = np.ones((), np.bool_)
    for dimension in space.dimensions:
        mask = allowed.get(dimension.name, -1)
        of_dimension = np.array([bool(mask >> bit & 1) for bit in range(len(dimension.groups))])
        cells = np.logical_and.outer(cells, of_dimension)
    return np.asarray(cells.reshape(-1))


def masks_within(
    masks: Sequence[NDArray[np.unsignedinteger]], space: GroupSpace, within: Sequence[str]
) -> list[NDArray[np.unsignedinteger]]:
    """Masks by dimension without the groups that a restriction leaves out; a page that is in no other keeps them.

    A list of rivers in Africa has rivers that are in Europe, too. They are there as rivers in Africa, so they count as
    nothing else.
    """
    allowed = _allowed_in(space, within)
    kept = []
    for values, dimension in zip(masks, space.dimensions, strict=True):
        inside = values & np.array(allowed.get(dimension.name, -1)).astype(values.dtype)
        kept.append(np.where(inside != 0, inside, values))
    return kept


def _allowed_in(space: GroupSpace, within: Sequence[str]) -> dict[str, int]:
    """The masks of a restriction, as far as it concerns the dimensions of a space."""
    known = {dimension.name: dimension for dimension in space.dimensions}
    return parse_restriction([text for text in within if restricted_dimensions([text]) <= set(known)], known)


def beliefs_about(
    collection: Collection,
    rows: NDArray[np.intp],
    space: GroupSpace,
    scored: Sequence[str],
    known_target: EstimatedTarget,
    mass: NDArray[np.float64],
) -> Beliefs | None:
    """What is believed of the scored dimensions that the system does not know; None when it knows them all.

    Pages that look alike in the dimensions of `space` are believed to be distributed over the others as all such pages
    of the collection are: totals, never the groups of a page. `mass` is what each candidate adds to the target.
    """
    names = [dimension.name for dimension in space.dimensions]
    hidden = [name for name in scored if name not in names and name in collection.masks]
    if not hidden:
        return None
    known_masks = collection.masks_of(rows, space, UNKNOWN_MASK)
    codes = _codes(known_masks, space)
    present, page_type = np.unique(codes, return_inverse=True)
    table = _hidden_by_look(_Version.of(collection), tuple(names), tuple(hidden))
    wide = GroupSpace.of((*names, *hidden), collection.known_dimensions)
    look = align([masks[_first_of_each(page_type)] for masks in known_masks], space, [False] * len(space.dimensions))
    moments = []
    for number, code in enumerate(present.tolist()):
        shares, members = table.of(code)
        outcomes = np.einsum("g,mh->mgh", look.rows[look.page_type[number]], members).reshape(len(members), -1)
        moments.append(group_moments(shares, outcomes, wide))
    expected, variance, own_share = map(np.array, zip(*moments, strict=True))
    alignment = Alignment(expected, page_type.reshape(-1))
    return Beliefs(alignment, variance, own_share, _wide_target(alignment, wide, known_target, mass))


def group_moments(
    shares: NDArray[np.float64], outcomes: NDArray[np.float64], space: GroupSpace
) -> tuple[NDArray[np.float64], float, float]:
    """Mean and variance of group weights that are `outcomes` with the probabilities `shares`, and how much of a page's
    own fair exposure the target holds for its groups."""
    mean = shares @ outcomes
    spread = float(shares @ (outcomes**2).sum(axis=1) - mean @ mean)
    held = float(shares @ [row @ blend(row, space) for row in outcomes] - mean @ blend(mean, space))
    return mean, max(spread, 0.0), held / spread if spread > 1e-12 else 0.5


def _wide_target(
    alignment: Alignment, wide: GroupSpace, known: EstimatedTarget, mass: NDArray[np.float64]
) -> EstimatedTarget:
    """The target over all scored groups: blended as the scorer does, with the known groups' shares as estimated."""
    total = alignment.total(mass)
    if total.sum() <= 0.0:
        return EstimatedTarget(known.topic_id, wide, blend(np.full(wide.n_groups, 1.0 / wide.n_groups), wide))
    wanted = blend(total / total.sum(), wide).reshape(len(known.values), -1)
    shares = wanted.sum(axis=1, keepdims=True)
    scaled = wanted * known.values[:, None] / np.where(shares > 0.0, shares, 1.0)
    return EstimatedTarget(known.topic_id, wide, (scaled / scaled.sum()).reshape(-1))


class _HiddenByLook:
    """How pages that look alike are distributed over the masks of hidden dimensions."""

    def __init__(self, counts: dict[int, NDArray[np.float64]], members: NDArray[np.float64]) -> None:
        overall = np.sum(list(counts.values()), axis=0)
        self._prior = PRIOR_PAGES * overall / max(float(overall.sum()), 1.0)
        self._counts = counts
        self._members = members

    def of(self, code: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Shares of the masks, and the memberships of each."""
        weights = self._counts.get(code, 0.0) + self._prior
        return np.asarray(weights / weights.sum()), self._members


@dataclass(frozen=True)
class _Version:
    """A version of a collection, which can be a key of a cache."""

    path: Path
    manifest: Manifest = field(compare=False)
    mark: str

    @classmethod
    def of(cls, collection: Collection) -> _Version:
        return cls(collection.path, collection.manifest, repr(collection.manifest))


@lru_cache(maxsize=4)
def _hidden_by_look(version: _Version, known: tuple[str, ...], hidden: tuple[str, ...]) -> _HiddenByLook:
    """Totals over a version of the collection, worked out once in each process."""
    collection = Collection.open(version.path, version.manifest)
    rows = np.arange(len(collection.page_ids))
    space, others = (GroupSpace.of(names, collection.known_dimensions) for names in (known, hidden))
    looks = _codes(collection.masks_of(rows, space, UNKNOWN_MASK), space)
    hidden_masks = collection.masks_of(rows, others, UNKNOWN_MASK)
    combined = _codes(hidden_masks, others)
    values, number = np.unique(combined, return_inverse=True)
    first = _first_of_each(number)
    members = align([masks[first] for masks in hidden_masks], others, [False] * len(others.dimensions)).dense()
    present, look = np.unique(looks, return_inverse=True)
    counts = np.zeros((len(present), len(values)))
    np.add.at(counts, (look.reshape(-1), number.reshape(-1)), 1.0)
    return _HiddenByLook(dict(zip(present.tolist(), counts, strict=True)), members)


def _codes(masks: Sequence[NDArray[np.unsignedinteger]], space: GroupSpace) -> NDArray[np.int64]:
    """One number for each combination of masks."""
    code = np.zeros(len(masks[0]), np.int64)
    for mask, dimension in zip(masks, space.dimensions, strict=True):
        code = code * (1 << len(dimension.groups)) + mask.astype(np.int64)
    return code


def _first_of_each(number: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where each of the numbers 0, 1, … occurs first."""
    return np.unique(number.reshape(-1), return_index=True)[1]
