"""Group-aware candidates: a plain search and one for each group; nobody can be fair with pages it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from evenrank.retrieval.engine.protocol import Engine, Hits, IndexLayout, Query, Restriction, WeightedTerm
from evenrank.trec.dimensions import DIMENSIONS

MOST_GROUPS = 100
"""Groups that are searched for; with more, pairs of groups are left out."""


@dataclass(frozen=True)
class CandidateSettings:
    """How many pages are looked at for a topic."""

    n_pages: int = 2000
    """Pages of the plain search."""
    n_per_group: int = 100
    """Pages wanted of each group, as far as it has them; 0 searches plainly only."""
    dimensions: tuple[str, ...] = IndexLayout().groups
    """Dimensions whose groups are searched for."""
    group_counts: tuple[tuple[str, int], ...] = ()
    """Number of known groups of the dimensions that are the collection's own."""
    has_intersections: bool = True
    """Whether each combination of known groups of two dimensions is a group as well, unless they are too many."""


def find_candidates(
    engine: Engine,
    terms: Sequence[WeightedTerm],
    settings: CandidateSettings | None = None,
    up_to_page_id: int | None = None,
) -> Hits:
    """The best pages overall and of each group, merged without repetition, in the order of `Engine.search`."""
    settings = settings or CandidateSettings()
    everything = Restriction(up_to_page_id=up_to_page_id)
    if not settings.n_per_group:
        return engine.search(terms, settings.n_pages, everything)
    restrictions = [Restriction(groups, up_to_page_id=up_to_page_id) for groups in group_masks(settings)]
    of_groups = [Query(terms, settings.n_per_group, each) for each in restrictions]
    overall, *by_group = engine.search_many([Query(terms, settings.n_pages, everything), *of_groups])
    if len(overall.page_ids) < settings.n_pages:
        return overall
    return merge_hits([overall, *by_group])


def group_masks(settings: CandidateSettings) -> list[dict[str, int]]:
    """The masks of each group to search for; pages of which nothing is known are no group."""
    own = dict(settings.group_counts)
    masks = {name: _known_groups(own.get(name) or len(DIMENSIONS[name].groups) - 1) for name in settings.dimensions}
    single = [{name: bit} for name, bits in masks.items() for bit in bits]
    if not settings.has_intersections:
        return single
    pairs = [{one: a, other: b} for one, other in combinations(masks, 2) for a, b in product(masks[one], masks[other])]
    return single + pairs if len(single) + len(pairs) <= MOST_GROUPS else single


def merge_hits(found: Sequence[Hits]) -> Hits:
    """Hits of the same query under different restrictions, each page once, by (−score, page id)."""
    page_ids = np.concatenate([hits.page_ids for hits in found])
    scores = np.concatenate([hits.scores for hits in found])
    order = np.lexsort((-scores, page_ids))
    is_first = np.append(True, np.diff(page_ids[order]) != 0)[: len(order)]
    kept = order[is_first]
    best = kept[np.lexsort((page_ids[kept], -scores[kept]))]
    return Hits(page_ids[best], scores[best])


def _known_groups(n_groups: int) -> list[int]:
    return [1 << position for position in range(1, n_groups + 1)]
