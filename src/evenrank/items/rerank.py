"""`evenrank.rerank`: fair rankings of anything by any policy, with a certificate where the policy can prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment
from evenrank.alignment.groups import GroupSpace
from evenrank.errors import EvenrankError, MissingExtraError, UnknownNameError, WrongTypeError
from evenrank.items.groupings import read_groups
from evenrank.items.rankings import ITEMS, RankedItems, Vocabulary, read_rankings
from evenrank.items.relevance import RelevantItems
from evenrank.items.tables import Faults, check_count
from evenrank.items.wanted import joint_target, targets_of
from evenrank.parallel import map_batches, n_cores
from evenrank.policies.policy import Candidates, Policy, Request
from evenrank.policies.registry import POLICIES
from evenrank.records import Task
from evenrank.rng import derive
from evenrank.search.relevance import probability_by_rank
from evenrank.settings import parse_settings
from evenrank.targets.target import EstimatedTarget

if TYPE_CHECKING:
    import pandas as pd

QUERIES_AT_ONCE = 8
"""Queries sent to a process together."""
N_IN_PARALLEL = 32
"""Fewer queries are ranked in this process."""

SHOWN = (
    "score",
    "upper_bound",
    "objective",
    "lower_bound",
    "gap",
    "EE-L",
    "EE-L_lower_bound",
    "relevance_share",
    "AWRF",
)
"""Numbers of a certificate that the short form names."""
SHOWN_ROWS = 20
"""Rows of rankings that a notebook shows."""


@dataclass(frozen=True)
class Reranked:
    """Fair rankings by query."""

    rankings: dict[str | int, list[list[str | int]]]
    """Query → its rankings, best item first."""
    certificates: dict[str | int, dict[str, float]]
    """Query → what the policy proves of its rankings; empty for policies that prove nothing."""
    policy: str
    notes: tuple[str, ...] = ()

    @property
    def certificate(self) -> dict[str, float]:
        """The mean over queries of each number that every certificate has."""
        found = [one for one in self.certificates.values() if one]
        if not found:
            return {}
        shared = [name for name in found[0] if all(name in one for one in found)]
        return {name: float(np.mean([one[name] for one in found])) for name in shared}

    def to_dict(self) -> dict[str | int, list[Any]]:
        """Query → items; query → lists of items where there are several rankings."""
        return {query: lists[0] if len(lists) == 1 else lists for query, lists in self.rankings.items()}

    def rows(self) -> list[dict[str, Any]]:
        """A row per ranked item: query, ranking, rank, item."""
        return [
            {"query": query, "ranking": number, "rank": rank, "item": item}
            for query, lists in self.rankings.items()
            for number, items in enumerate(lists, 1)
            for rank, item in enumerate(items, 1)
        ]

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame: a row per ranked item."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("a data frame", "pandas") from error
        return pd.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """A polars frame: a row per ranked item."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("a polars frame", "polars") from error
        return pl.DataFrame(self.rows())

    def __repr__(self) -> str:
        n_rankings = sum(map(len, self.rankings.values()))
        shown = {name: value for name, value in self.certificate.items() if name in SHOWN}
        proof = ", ".join(f"{name} {value:.4g}" for name, value in shown.items())
        queries = "1 query" if len(self.rankings) == 1 else f"{len(self.rankings):,} queries"
        rankings = "1 ranking" if n_rankings == 1 else f"{n_rankings:,} rankings"
        text = f"<Reranked by {self.policy}: {queries}, {rankings}"
        return text + (f"; certificate: {proof}>" if proof else ">")

    def _repr_html_(self) -> str:
        from html import escape

        from evenrank.evaluation.tables.html import html_of
        from evenrank.evaluation.tables.table import Column, Table

        rows = [tuple(row.values()) for row in self.rows()]
        columns = tuple(Column(name) for name in ("query", "ranking", "rank", "item"))
        table = html_of(Table(columns, tuple(rows[:SHOWN_ROWS])))
        more = f"<p>… and {len(rows) - SHOWN_ROWS:,} more rows</p>" if len(rows) > SHOWN_ROWS else ""
        return f"<p>{escape(repr(self).strip('<>'))}</p>\n{table}{more}"


@dataclass(frozen=True)
class _Query:
    """What a policy needs to rank one query."""

    number: int
    relevance: NDArray[np.float64]
    scores: NDArray[np.float64]
    alignment: Alignment
    target: NDArray[np.float64]


@dataclass(frozen=True)
class _Job:
    """What decides the rankings of every query; it can be sent to another process."""

    policy: Policy
    n_rankings: int
    length: int | None
    shape: tuple[int, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    seed: int

    def rank(self, query: _Query, space: GroupSpace) -> tuple[NDArray[np.intp], dict[str, float]]:
        n_items = len(query.relevance)
        candidates = Candidates(
            topic_id=query.number,
            page_ids=np.arange(n_items, dtype=np.int32),
            relevance=query.relevance,
            scores=query.scores,
            work_needed=np.ones(n_items),
            quality_class=np.zeros(n_items, np.uint8),
            alignment=query.alignment,
        )
        request = Request(1 if self.n_rankings == 1 else 2, self.n_rankings, self.length or n_items)
        target = EstimatedTarget(query.number, space, query.target)
        rankings = self.policy.rank(candidates, target, request, derive(self.seed, query.number))
        return rankings.positions, rankings.certificate


def rerank(
    items: object,
    groups: object,
    target: object | None = None,
    policy: str = "optimal",
    k: int | None = None,
    n_rankings: int = 1,
    *,
    relevance: Literal["score", "rank"] = "score",
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Reranked:
    """Rankings of the items of each query that are relevant and give groups the attention that the target wants.

    `items`: a dict of query → (item → score), a data frame with the columns query, item and score, a TREC run file, or
    any other form that `score` takes. A score is the expected relevance of an item, best a probability; with
    `relevance="rank"`, or without scores, it is estimated from the rank. `groups` and `target` are as for `score`;
    by default, groups should get attention as they share in the expected relevance of the query's items.

    `policy` is a name of `POLICIES`. `k` is the length of a ranking, by default all items. With `n_rankings` above 1,
    the rankings of a query are fair together: a group that one of them neglects is made up for by the others. The same
    seed gives the same rankings.
    """
    check_count("k", k)
    check_count("n_rankings", n_rankings)
    check_count("workers", workers)
    if settings is not None and not isinstance(settings, Mapping):
        raise WrongTypeError(settings, "settings", "a dict such as {'fairness': 2.0}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise WrongTypeError(seed, "seed", "a whole number")
    owner = _policy_of(policy, n_rankings)
    chosen = owner(**parse_settings(owner, {name: _text(value) for name, value in (settings or {}).items()}))
    faults = Faults()
    vocabulary = Vocabulary.empty()
    ranked = read_rankings(items, vocabulary, faults, ITEMS)
    _check_scores(ranked, vocabulary, relevance, faults)
    grouped = read_groups(groups, vocabulary, faults)
    _check_single(ranked)
    believed = _believed(ranked, relevance)
    expected = _as_relevance(ranked, believed, len(vocabulary))
    wanted = targets_of("relevant" if target is None else target, grouped, expected, ranked.queries, faults)
    faults.raise_if_any()
    if not len(ranked.items):
        raise EvenrankError("items: nothing to rank")
    if not any(part.alignment.rows[part.alignment.page_type[ranked.items], 1:].any() for part in grouped.parts):
        raise EvenrankError("groups: none of the items to rank has a known group (are the ids the same in both?)")
    space = grouped.space
    job = _Job(chosen, n_rankings, k, space.shape, tuple((part.name, part.groups) for part in grouped.parts), seed)
    queries = _queries(ranked, believed, grouped.joint(), _full(joint_target(wanted), space.shape))
    found = list(_rank_all(job, queries, workers))
    return _result(ranked, vocabulary, found, policy, wanted)


def _policy_of(name: str, n_rankings: int) -> type[Policy]:
    """The policy of that name; an error that lists those that serve where it does not."""
    task: Task = 1 if n_rankings == 1 else 2
    usable = [other for other, one in POLICIES.items() if not getattr(one, "needs_text", False)]
    if name not in POLICIES:
        raise UnknownNameError("policy", name, usable)
    if name not in usable:
        raise EvenrankError(f"policy {name} compares texts, and items have none (choose another policy)")
    if task not in POLICIES[name].tasks:
        makes, wanted = ("several rankings", "one") if task == 1 else ("one ranking", "several")
        serving = ", ".join(other for other in usable if task in POLICIES[other].tasks)
        raise EvenrankError(f"policy {name} makes {makes} of each query; these make {wanted}: {serving}")
    return POLICIES[name]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_single(ranked: RankedItems) -> None:
    if len(ranked.systems) > 1:
        raise EvenrankError(f"items of several systems: {', '.join(ranked.systems)} (give those of one)")


def _check_scores(ranked: RankedItems, items: Vocabulary, relevance: str, faults: Faults) -> None:
    if relevance not in ("score", "rank"):
        raise EvenrankError(f"relevance is {relevance!r} (give 'score' or 'rank')")
    if ranked.scores is None or relevance == "rank":
        return
    query = np.repeat(ranked.query, ranked.lengths)
    fix = "give expected relevance, such as probabilities, or have it inferred from the rank: relevance='rank'"
    for row in np.flatnonzero(ranked.scores < 0.0).tolist():
        place = f"query {ranked.queries.names[query[row]]!r}, item {items.names[ranked.items[row]]!r}"
        faults.add(ITEMS, "score is negative:", place, float(ranked.scores[row]), fix)


def _believed(ranked: RankedItems, relevance: str) -> NDArray[np.float64]:
    """The expected relevance of every row: its score, or what its rank lets expect."""
    if ranked.scores is not None and relevance == "score":
        return ranked.scores
    parts = [probability_by_rank(-np.arange(length, dtype=np.float64)) for length in ranked.lengths.tolist()]
    return np.concatenate(parts) if parts else np.empty(0)


def _as_relevance(ranked: RankedItems, believed: NDArray[np.float64], n_items: int) -> RelevantItems:
    query = np.repeat(ranked.query, ranked.lengths)
    order = np.argsort(query * n_items + ranked.items, kind="stable")
    return RelevantItems(query[order], ranked.items[order], np.maximum(believed[order], 0.0))


def _full(target: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """A target over known intersections as one over all, the unknown ones being 0."""
    full = np.zeros((len(target), *shape))
    full[(slice(None), *(slice(1, None) for _ in shape))] = target.reshape(len(target), *(n - 1 for n in shape))
    return full.reshape(len(target), -1)


def _queries(
    ranked: RankedItems, believed: NDArray[np.float64], joint: Alignment, target: NDArray[np.float64]
) -> list[_Query]:
    """The queries with their items in the order given; only the kinds of item that a query has are sent along."""
    found = []
    starts = ranked.starts
    for at, query in enumerate(ranked.query.tolist()):
        rows = slice(int(starts[at]), int(starts[at + 1]))
        kinds, kind = np.unique(joint.page_type[ranked.items[rows]], return_inverse=True)
        scores = believed[rows] if ranked.scores is None else ranked.scores[rows]
        alignment = Alignment(joint.rows[kinds], kind.reshape(-1))
        found.append(_Query(query, np.maximum(believed[rows], 0.0), scores, alignment, target[query]))
    return found


def _rank_all(
    job: _Job, queries: Sequence[_Query], workers: int | None
) -> list[tuple[NDArray[np.intp], dict[str, float]]]:
    n_workers = workers or (n_cores() if len(queries) >= N_IN_PARALLEL else 1)
    parts = [queries[at : at + QUERIES_AT_ONCE] for at in range(0, len(queries), QUERIES_AT_ONCE)]
    results = map_batches(_rank_part, ((job, part) for part in parts), n_workers)
    return [one for part in results for one in part]


def _rank_part(part: tuple[_Job, Sequence[_Query]]) -> list[tuple[NDArray[np.intp], dict[str, float]]]:
    from evenrank.items.groupings import Grouping

    job, queries = part
    none = Alignment(np.empty((0, 0)), np.empty(0, np.intp))
    space = GroupSpace(tuple(Grouping(name, groups, none).dimension() for name, groups in job.groups))
    return [job.rank(query, space) for query in queries]


def _result(
    ranked: RankedItems,
    items: Vocabulary,
    found: Sequence[tuple[NDArray[np.intp], dict[str, float]]],
    policy: str,
    wanted: Sequence[NDArray[np.float64]],
) -> Reranked:
    names = np.empty(len(items), object)
    names[:] = items.names
    rankings: dict[str | int, list[list[str | int]]] = {}
    certificates: dict[str | int, dict[str, float]] = {}
    starts = ranked.starts
    without = []
    for at, (positions, certificate) in enumerate(found):
        query = ranked.queries.names[int(ranked.query[at])]
        offered = ranked.items[starts[at] : starts[at + 1]]
        rankings[query] = [names[offered[row]].tolist() for row in positions]
        certificates[query] = certificate
        if any(target[int(ranked.query[at])].sum() <= 0.0 for target in wanted):
            without.append(str(query))
    notes = (f"queries without a target: {', '.join(without[:8])}",) if without else ()
    return Reranked(rankings, certificates, policy, notes)
