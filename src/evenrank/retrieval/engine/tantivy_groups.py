"""One search for many groups on tantivy.

A search for each of thirty groups costs thirty times what a plain one does, because the words are looked up anew each
time, however few pages a group has. Here one search goes deep among all pages, or those of all groups, and its hits are
dealt out to the groups they belong to. A group that has enough of them is answered; the others are searched for again,
deeper, until they have enough or there are no more pages. What is found is the same, page by page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.engine.protocol import Hits, Query, order_of_ties, round_scores
from evenrank.retrieval.engine.tantivy_index import group_filter, is_one_of, restrict

if TYPE_CHECKING:
    import tantivy

FIRST_DEPTH = 30
"""Pages that the first search asks for, as a multiple of those wanted of one group."""
PLAIN_DEPTH = 2
"""The same of a query that asks for no group: a few more, because of ties."""
PAGES_PER_HIT = 100
"""Pages of the index for each that the first search asks for at least: of a large index, deeper hits cost little beside
another search."""
DEEPER = 2
"""How much deeper each further search goes; it concerns fewer groups, which are rarer."""
WORTH_IT = 4
"""Groups from which a common search is cheaper than one for each."""


class CommonHits(NamedTuple):
    """Hits of a common search, best first."""

    scores: NDArray[np.float64]
    """As the engine gives them, not rounded."""
    page_ids: NDArray[np.int32]
    masks: Mapping[str, NDArray[np.int64]]
    """Group mask of each page by dimension."""
    is_all: bool
    """Whether no page of the groups is missing."""

    def best_of(self, groups: Mapping[str, int], k: int) -> Hits | None:
        """The k best pages of a group; None where pages that were not found might be among them."""
        belongs = np.ones(len(self.scores), np.bool_)
        for name, mask in groups.items():
            belongs &= (self.masks[name] & mask) != 0
        page_ids, scores = self.page_ids[belongs], round_scores(self.scores[belongs])
        if not self.is_all:
            if len(scores) < k:
                return None
            lowest = round_scores(np.append(self.scores[belongs], self.scores[-1]))[-1]
            if scores[k - 1] <= lowest:  # a page that was not found may have the same score
                return None
        order = order_of_ties(scores, page_ids)[:k]
        return Hits(page_ids[order], scores[order])


def differ_in_groups_only(queries: Sequence[Query]) -> bool:
    """Whether one question is asked of several groups, and perhaps of all pages first, so that a common search can
    answer it."""
    if not queries:
        return False
    first, of_groups = queries[0], [query for query in queries if query.restriction.groups]
    return len(of_groups) >= max(WORTH_IT, len(queries) - 1) and all(
        query.terms is first.terms
        and query.k == (of_groups[-1] if query.restriction.groups else first).k > 0
        and (query.restriction.groups or query is first)
        and query.restriction.page_ids is None
        and query.restriction.up_to_page_id == first.restriction.up_to_page_id
        for query in queries
    )


def search_groups(
    searcher: tantivy.Searcher, schema: tantivy.Schema, scoring: tantivy.Query, queries: Sequence[Query]
) -> list[Hits]:
    """The answer to each of several queries that `differ_in_groups_only`; `scoring` is their common question."""
    found: dict[int, Hits] = {}
    depth = max(FIRST_DEPTH * queries[-1].k, PLAIN_DEPTH * queries[0].k, searcher.num_docs // PAGES_PER_HIT)
    while len(found) < len(queries):
        open_ones = [number for number in range(len(queries)) if number not in found]
        common = find_common(searcher, schema, scoring, [queries[number] for number in open_ones], depth)
        for number in open_ones:
            hits = common.best_of(queries[number].restriction.groups, queries[number].k)
            if hits is not None:
                found[number] = hits
        depth *= DEEPER
    return [found[number] for number in range(len(queries))]


def find_common(
    searcher: tantivy.Searcher, schema: tantivy.Schema, scoring: tantivy.Query, queries: Sequence[Query], depth: int
) -> CommonHits:
    """The best pages of any of the groups asked for; of all pages, where one query asks for no group."""
    groups = [query.restriction.groups for query in queries]
    wanted = restrict(schema, scoring, replace(queries[0].restriction, groups={}))
    if all(groups):
        wanted = is_one_of(wanted, [group_filter(schema, each) for each in _widest(groups)])
    n_asked = max(1, min(depth, searcher.num_docs))
    hits = searcher.search(wanted, n_asked, count=False).hits
    addresses = [address for _, address in hits]
    names = sorted({name for each in groups for name in each})
    return CommonHits(
        scores=np.array([score for score, _ in hits], np.float64),
        page_ids=np.array(searcher.fast_field_values("page_id", addresses), np.int32),
        masks={name: np.array(searcher.fast_field_values(name, addresses), np.int64) for name in names},
        is_all=len(hits) < n_asked or n_asked == searcher.num_docs,
    )


def _widest(groups: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
    """The groups that no other one of them contains."""
    return [one for one in groups if not any(other.items() < one.items() for other in groups)]
