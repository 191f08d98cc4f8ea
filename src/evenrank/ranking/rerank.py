"""`evenrank.rerank`: fair rankings of anything by any policy, with a certificate where the policy can prove it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import Attention, GivenAttention, check_attention, parse_attention
from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.io.columns import LARGEST, SHOWN_PER_KIND, Faults, check_count
from evenrank.io.group_targets import WantedGroups, read_target
from evenrank.io.groupings import Grouping
from evenrank.io.item_groups import read_groups
from evenrank.io.item_relevance import RelevantItems
from evenrank.io.rankings import ITEMS, RankedItems, read_rankings, source_name
from evenrank.io.vocabulary import Vocabulary
from evenrank.parallel import map_batches
from evenrank.policies.policy import Candidates, Policy, Request, parse_policy
from evenrank.policies.registry import POLICIES, find_policy, idle_settings, make_policy
from evenrank.ranking.reranked import Id, QueryCertificates, QueryRankings, Reranked
from evenrank.retrieval.relevance import probability_by_rank

MAX_ITEMS = 200_000
"""Items of one query, at most: policies compare hundreds of rankings of them."""
MAX_CELLS, LEAST_CELLS = 4_000_000, 1_000_000
"""Kinds of item of one query times groups, at most: in small tables, and in the largest ones."""
CELLS_PER_ROW = 2
"""A row of a table takes as much memory as this many cells."""


@dataclass(frozen=True)
class RerankInputs:
    """What was read, by number: what numbered the ids is no longer needed, and takes as much memory as the rest."""

    queries: list[Id]
    """The names of the queries, in the order of their rankings."""
    items: NDArray[np.object_]
    """The names of the items by number."""
    query: NDArray[np.intp]
    """The query of each ranking by number."""
    starts: NDArray[np.intp]
    """First row of each ranking, and the number of rows."""
    item: NDArray[np.intp]
    """The item of each row."""
    believed: NDArray[np.float64]
    """The expected relevance of each row."""
    scores: NDArray[np.float64]
    wanted: WantedGroups
    notes: tuple[str, ...] = ()


def read_inputs(items: object, groups: object, target: object | None, relevance: str) -> RerankInputs:
    """All inputs; every fault of theirs in one error."""
    faults = Faults()
    vocabulary = Vocabulary.empty()
    ranked = read_rankings(items, vocabulary, faults, ITEMS)
    _check_scores(ranked, vocabulary, relevance, faults)
    grouped = read_groups(groups, vocabulary, faults)
    _check_single(ranked, faults)
    believed = _believed(ranked, relevance)
    expected = _as_relevance(ranked, believed, len(vocabulary))
    wanted = read_target("relevant" if target is None else target, grouped, expected, ranked.queries, faults)
    faults.raise_if_any()
    if not len(ranked.items):
        raise EvenrankError(f"{source_name(items, 'items')}: nothing to rank (give a row for each item)")
    if not any(_has_known_group(part.alignment, ranked.items) for part in grouped.parts):
        raise EvenrankError("groups: none of the items to rank has a known group (are the ids the same in both?)")
    return RerankInputs(
        queries=_names(ranked.queries)[ranked.query].tolist(),
        items=_names(vocabulary),
        query=ranked.query,
        starts=ranked.starts,
        item=ranked.items,
        believed=believed,
        scores=believed if ranked.scores is None else ranked.scores,
        wanted=wanted,
        notes=(*ranked.notes, *grouped.notes(), *wanted.notes, *_score_notes(ranked, relevance)),
    )


def _has_known_group(alignment: Alignment, items: NDArray[np.intp]) -> bool:
    return bool(alignment.rows[np.unique(alignment.page_type[items]), 1:].any())


def refuse_large_queries(given: RerankInputs) -> None:
    """EvenrankError for a query whose ranking would fill the memory."""
    lengths = np.diff(given.starts)
    if len(large := np.flatnonzero(lengths > MAX_ITEMS)):
        found = f"query {given.queries[large[0]]!r} has {lengths[large[0]]:,} items"
        raise EvenrankError(f"items: {found} (give up to {MAX_ITEMS:,} of each query, the most relevant ones)")
    joint = given.wanted.groupings.joint()
    n_kinds, n_groups = joint.rows.shape
    most = max(LEAST_CELLS, MAX_CELLS - CELLS_PER_ROW * len(given.item))
    for at in np.flatnonzero(np.minimum(lengths, n_kinds) * n_groups > most).tolist():
        kinds = np.unique(joint.page_type[given.item[given.starts[at] : given.starts[at + 1]]])
        if len(kinds) * n_groups > most:
            found = f"query {given.queries[at]!r} has items of {len(kinds):,} kinds over {n_groups:,} groups"
            raise EvenrankError(f"items: {found} (merge small groups, or give fewer items of each query)")


def _names(known: Vocabulary) -> NDArray[np.object_]:
    names = np.empty(len(known), object)
    names[:] = known.names
    return names


def _check_single(ranked: RankedItems, faults: Faults) -> None:
    """The items of a query come from one system, and in one ranking."""
    if len(ranked.systems) > 1 and not faults.rows:
        raise EvenrankError(f"items of several systems: {', '.join(ranked.systems)} (give those of one)")
    queries, counts = np.unique(ranked.query, return_counts=True)
    if len(several := queries[counts > 1]) and not faults.rows:
        names = ", ".join(repr(ranked.queries.names[query]) for query in several[:8].tolist())
        raise EvenrankError(f"items: several rankings of one query: {names} (give the items of a query once)")


def _check_scores(ranked: RankedItems, items: Vocabulary, relevance: str, faults: Faults) -> None:
    if relevance not in ("score", "rank"):
        raise EvenrankError(f"relevance is {relevance!r} (give 'score' or 'rank')")
    if ranked.scores is None or relevance == "rank":
        return
    query = np.repeat(ranked.query, ranked.lengths)
    inferred = "have it inferred from the rank: relevance='rank', or --relevance rank"
    fix = f"give expected relevance, such as probabilities, or {inferred}"
    kinds = {"score is negative:": ranked.scores < 0.0, f"score is above {LARGEST:g}:": ranked.scores > LARGEST}
    for kind, is_wrong in kinds.items():
        rows = np.flatnonzero(is_wrong)
        for row in rows[:SHOWN_PER_KIND].tolist():
            place = f"query {ranked.queries.names[query[row]]!r}, item {items.names[ranked.items[row]]!r}"
            faults.add(ITEMS, kind, place, float(ranked.scores[row]), fix)
        faults.n_more += max(0, len(rows) - SHOWN_PER_KIND)


def _score_notes(ranked: RankedItems, relevance: str) -> list[str]:
    """A note where scores cannot be probabilities, as those of BM25 are not."""
    if ranked.scores is None or relevance == "rank" or (highest := float(ranked.scores.max(initial=0.0))) <= 1.0:
        return []
    taken = f"scores up to {highest:.4g} are taken as expected relevance, and are no probabilities"
    return [f"{taken} (if a search engine gave them, infer it from the rank: relevance='rank', --relevance rank)"]


def _believed(ranked: RankedItems, relevance: str) -> NDArray[np.float64]:
    """The expected relevance of every row: its score, or what its rank lets expect."""
    if ranked.scores is not None and relevance == "score":
        return ranked.scores
    lengths = np.unique(ranked.lengths).tolist()
    of_length = {length: probability_by_rank(-np.arange(length, dtype=np.float64)) for length in lengths}
    parts = [of_length[length] for length in ranked.lengths.tolist()]
    return np.concatenate(parts) if parts else np.empty(0)


def _as_relevance(ranked: RankedItems, believed: NDArray[np.float64], n_items: int) -> RelevantItems:
    query = np.repeat(ranked.query, ranked.lengths)
    order = np.argsort(query * n_items + ranked.items, kind="stable")
    return RelevantItems(query[order], ranked.items[order], np.maximum(believed[order], 0.0))


QUERIES_AT_ONCE = 8
"""Queries sent to a process together."""
MAX_RANKINGS = 100_000
"""Rankings of one query, at most: a thousand times those of the track."""
CELLS_AT_ONCE = 1_000_000
"""Shares of groups in the targets of queries that are held at once."""


_Query = tuple[Candidates, NDArray[np.float64]]
"""The items of a query, and its target."""


@dataclass(frozen=True)
class _Job:
    """What decides the rankings of every query; it can be sent to another process."""

    policy: Policy
    n_rankings: int
    length: int | None
    attention: Attention
    shape: tuple[int, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    seed: int

    def rank(self, query: _Query, space: GroupSpace) -> tuple[NDArray[np.intp], dict[str, float]]:
        candidates, number = query[0], query[0].topic_id
        length = self.length or len(candidates)
        request = Request(1 if self.n_rankings == 1 else 2, self.n_rankings, length, self.attention)
        target = EstimatedTarget(number, space, query[1])
        rankings = self.policy.rank(candidates, target, request, derive(self.seed, number))
        return rankings.positions, rankings.certificate


def rerank(
    items: object,
    groups: object,
    target: object | None = None,
    policy: str | Policy = "optimal",
    k: int | None = None,
    n_rankings: int = 1,
    *,
    relevance: Literal["score", "rank"] = "score",
    attention: GivenAttention = "log",
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Reranked:
    """Rankings of the items of each query that are relevant and give groups the attention that the target wants.

    `items`: a dict of query → (item → score), a data frame with the columns query, item and score, a TREC run file, or
    any other form that `score` takes. A score is the expected relevance of an item, best a probability; with
    `relevance="rank"`, or without scores, it is estimated from the rank. `groups` and `target` are as for `score`;
    by default, groups should get attention as they share in the expected relevance of the query's items.

    `policy` is a name of `POLICIES` or a policy object. `k` is the length of a ranking, by default all items. With
    `n_rankings` above 1, the rankings of a query are fair together: a group that one of them neglects is made up for by
    the others. `attention` is how people read, as for `score`. The same seed gives the same rankings on any number of
    `workers`: processes, by default this one alone.
    """
    check_count("k", k)
    check_count("n_rankings", n_rankings, MAX_RANKINGS)
    check_count("workers", workers)
    if settings is not None and not isinstance(settings, Mapping):
        raise WrongTypeError(settings, "settings", "a dict such as {'fairness': 2.0}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise WrongTypeError(seed, "seed", "a whole number")
    chosen = _policy_of(policy, n_rankings, settings or {})
    given = read_inputs(items, groups, target, relevance)
    refuse_large_queries(given)
    read = parse_attention(check_attention(attention, k or int(np.diff(given.starts).max())))
    parts = given.wanted.groupings.parts
    shape = given.wanted.groupings.space.shape
    job = _Job(chosen, n_rankings, k, read, shape, tuple((part.name, part.groups) for part in parts), seed)
    has_target = np.ones(len(given.queries), bool)
    queries = _queries(given, shape, has_target, is_sequence=n_rankings > 1)
    rankings, certificates = _result(given, _rank_all(job, queries, workers))
    without = [str(given.queries[at]) for at in np.flatnonzero(~has_target)[:8].tolist()]
    notes = [f"queries without a target: {', '.join(without)}"] if without else []
    idle = idle_settings(chosen.name, 1 if n_rankings == 1 else 2, settings or {})
    notes += [f"the setting {name} of {chosen.name} has no effect: {reason}" for name, reason in idle.items()]
    return Reranked(rankings, certificates, chosen.name, (*given.notes, *notes))


def _policy_of(policy: str | Policy, n_rankings: int, settings: Mapping[str, object]) -> Policy:
    """The policy asked for, with its settings; an error that lists those that serve where it does not."""
    task: Task = 1 if n_rankings == 1 else 2
    usable = [other for other, one in POLICIES.items() if not getattr(one, "needs_text", False)]
    name = parse_policy(policy)[0] if isinstance(policy, str) else ""
    if isinstance(policy, str) and name not in POLICIES:
        raise UnknownNameError("policy", name, usable)
    entry = find_policy(name) if isinstance(policy, str) else policy
    if getattr(entry, "needs_text", False):
        raise EvenrankError(f"policy {entry.name} compares texts, and items have none (choose another policy)")
    if task not in getattr(entry, "tasks", (task,)):
        makes, wanted = ("several rankings", "one") if task == 1 else ("one ranking", "several")
        serving = ", ".join(other for other in usable if task in POLICIES[other].tasks)
        raise EvenrankError(f"policy {entry.name} makes {makes} of each query; these make {wanted}: {serving}")
    return make_policy(policy, task, settings)


def _full(target: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """A target over known intersections as one over all, the unknown ones being 0."""
    full = np.zeros((len(target), *shape))
    full[(slice(None), *(slice(1, None) for _ in shape))] = target.reshape(len(target), *(n - 1 for n in shape))
    return full.reshape(len(target), -1)


def _queries(
    given: RerankInputs, shape: tuple[int, ...], has_target: NDArray[np.bool_], *, is_sequence: bool
) -> Iterator[_Query]:
    """The queries with their items in the order given; only the kinds of item that a query has are sent along.

    In a sequence, items without a group count in none, as in `score`; policies for Task 2 would otherwise take them for
    a group that is due nothing. Those for one list leave them out themselves.

    They come one after the other, and `has_target` is filled meanwhile: all of them at once would fill the memory.
    """
    starts, joint = given.starts, given.wanted.groupings.joint()
    step = max(1, CELLS_AT_ONCE // max(math.prod(shape), given.wanted.width))
    for first in range(0, len(given.query), step):
        numbers = given.query[first : first + step]
        known = given.wanted.joint(numbers)
        has_target[first : first + step] = known.sum(axis=1) > 0.0
        target = _full(known, shape)
        for at, query in enumerate(numbers.tolist()):
            rows = slice(int(starts[first + at]), int(starts[first + at + 1]))
            kinds, kind = np.unique(joint.page_type[given.item[rows]], return_inverse=True)
            counted = joint.rows[kinds]
            if is_sequence:
                counted[:, 0] = 0.0
            items = Candidates(
                topic_id=query,
                page_ids=np.arange(len(kind), dtype=np.int32),
                relevance=np.maximum(given.believed[rows], 0.0),
                scores=given.scores[rows],
                work_needed=np.ones(len(kind)),
                quality_class=np.zeros(len(kind), np.uint8),
                alignment=Alignment(counted, kind.reshape(-1)),
            )
            yield items, target[at]


def _rank_all(
    job: _Job, queries: Iterator[_Query], workers: int | None
) -> Iterator[tuple[NDArray[np.intp], dict[str, float]]]:
    parts = iter(lambda: list(islice(queries, QUERIES_AT_ONCE)), [])
    return chain.from_iterable(map_batches(_rank_part, ((job, part) for part in parts), workers))


def _rank_part(part: tuple[_Job, Sequence[_Query]]) -> list[tuple[NDArray[np.intp], dict[str, float]]]:
    job, queries = part
    none = Alignment(np.empty((0, 0)), np.empty(0, np.intp))
    space = GroupSpace(tuple(Grouping(name, groups, none).dimension() for name, groups in job.groups))
    return [job.rank(query, space) for query in queries]


def _result(
    given: RerankInputs, found: Iterable[tuple[NDArray[np.intp], dict[str, float]]]
) -> tuple[QueryRankings, QueryCertificates]:
    """What was found of each query, as numbers of items."""
    rankings, certificates = QueryRankings(given.queries, given.items), QueryCertificates(given.queries)
    for at, (positions, certificate) in enumerate(found):
        rankings.append(given.item[given.starts[at] + positions])
        certificates.append(certificate)
    return rankings, certificates
