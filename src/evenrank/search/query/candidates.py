"""Group-aware candidates: a plain search and one for each group; nobody can be fair with pages it never saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from evenrank.alignment.dimension import Dimension
from evenrank.alignment.dimensions import DIMENSIONS
from evenrank.errors import UnknownNameError
from evenrank.search.engine.protocol import GROUP_FIELDS, Engine, Hits, Restriction, WeightedTerm


@dataclass(frozen=True)
class CandidateSettings:
    """How many pages are looked at for a topic."""

    n_pages: int = 2000
    """Pages of the plain search."""
    n_per_group: int = 100
    """Pages wanted of each group, as far as it has them; 0 searches plainly only."""
    dimensions: tuple[str, ...] = GROUP_FIELDS
    """Dimensions whose groups are searched for."""
    has_intersections: bool = True
    """Whether each combination of known groups of two dimensions is a group as well."""


def find_candidates(
    engine: Engine,
    terms: Sequence[WeightedTerm],
    settings: CandidateSettings | None = None,
    up_to_page_id: int | None = None,
) -> Hits:
    """The best pages overall and of each group, merged without repetition, in the order of `Engine.search`."""
    settings = settings or CandidateSettings()
    found = [engine.search(terms, settings.n_pages, Restriction(up_to_page_id=up_to_page_id))]
    if settings.n_per_group and len(found[0].page_ids) >= settings.n_pages:
        for groups in group_masks(settings):
            restriction = Restriction(groups, up_to_page_id=up_to_page_id)
            found.append(engine.search(terms, settings.n_per_group, restriction))
    return merge(found)


def group_masks(settings: CandidateSettings) -> Iterator[dict[str, int]]:
    """The masks of each group to search for; pages of which nothing is known are no group."""
    masks = {name: _known_groups(name) for name in settings.dimensions}
    for name, bits in masks.items():
        yield from ({name: bit} for bit in bits)
    if settings.has_intersections:
        for one, other in combinations(masks, 2):
            yield from ({one: a, other: b} for a, b in product(masks[one], masks[other]))


def merge(found: Sequence[Hits]) -> Hits:
    """Hits of the same query under different restrictions, each page once, by (−score, page id)."""
    page_ids = np.concatenate([hits.page_ids for hits in found])
    scores = np.concatenate([hits.scores for hits in found])
    order = np.lexsort((-scores, page_ids))
    is_first = np.append(True, np.diff(page_ids[order]) != 0)[: len(order)]
    kept = order[is_first]
    best = kept[np.lexsort((page_ids[kept], -scores[kept]))]
    return Hits(page_ids[best], scores[best])


def group_mask(dimension: str, group: str) -> int:
    """The mask of a group by its name, as a user writes it; an error that lists the names otherwise."""
    known = DIMENSIONS[dimension]
    try:
        return known.mask_of(group)
    except KeyError:
        raise UnknownNameError(f"{dimension} group", group, known.groups) from None


def _known_groups(name: str) -> list[int]:
    dimension: Dimension = DIMENSIONS[name]
    return [1 << position for position in range(1, len(dimension.groups))]
