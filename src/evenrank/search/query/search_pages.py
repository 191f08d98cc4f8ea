"""A search by any relevance model, restricted to groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.errors import UnknownNameError
from evenrank.records import Topic
from evenrank.search.engine.protocol import Engine, Restriction
from evenrank.search.query.candidates import CandidateSettings
from evenrank.search.relevance import LexicalModel, RelevanceModel, ScoredPages, probability_by_rank


class SearchResult(NamedTuple):
    """What a search shows, and what it was chosen from."""

    shown: ScoredPages
    found: ScoredPages


def search_pages(model: RelevanceModel, topic: Topic, n_pages: int, allowed: Restriction) -> SearchResult:
    """The best pages that the restriction allows.

    By words alone, the index itself restricts. Other models look at a fixed number of pages and some of each group,
    and the rest is left out of what they found.
    """
    if isinstance(model, LexicalModel):
        hits = model.search(topic, n_pages, allowed)
        pages = ScoredPages(hits.page_ids, hits.scores, probability_by_rank(hits.scores))
        return SearchResult(pages, pages)
    found = model.score(topic, max(n_pages, CandidateSettings().n_pages))
    return SearchResult(allowed_pages(model.engine, found, allowed).first(n_pages), found)


def allowed_pages(engine: Engine, found: ScoredPages, allowed: Restriction) -> ScoredPages:
    """Those of the pages that are in the groups of a restriction."""
    is_allowed = np.ones(len(found), bool)
    for name, mask in allowed.groups.items():
        values = engine.values(name, found.page_ids.tolist())
        is_allowed &= (values.astype(np.int64) & mask) > 0
    return found.take(np.flatnonzero(is_allowed))


def group_restriction(collection: Collection, groups: Mapping[str, str | None]) -> Restriction:
    """The restriction to groups by their names, as users write them; a dimension whose group is None does not count."""
    masks = {}
    for name, group in groups.items():
        if group is None:
            continue
        if name not in collection.masks:
            raise UnknownNameError("dimension of this collection", name, collection.masks)
        dimension = collection.known_dimensions[name]
        try:
            masks[name] = dimension.mask_of(group)
        except KeyError:
            raise UnknownNameError(f"group of {name}", group, dimension.groups) from None
    return Restriction(groups=masks)
