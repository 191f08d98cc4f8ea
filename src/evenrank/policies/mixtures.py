"""Policies made of policies: `filter`, `union`, `best-of`, `fusion` and `inferred`, and settings that name others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.allowed import PageCount, PageCountOrAll, limits_of
from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.optimal.compound import CompoundProblem
from evenrank.policies.policy import Candidates, CheckedPolicy, Policy, Rankings, Request, counted_rows
from evenrank.policies.relevance import relevance_order


@dataclass(frozen=True)
class NamesPolicies:
    """A text, or several of them, each a policy as `make_policy` reads it."""

    def __str__(self) -> str:
        return ""

    def faults(self, name: str, value: str | tuple[str, ...]) -> Iterator[str]:
        from evenrank.policies.registry import make_policy

        if not value:
            yield f"{name} is empty, but must name a policy"
        for text in _texts(value):
            try:
                make_policy(text)
            except EvenrankError as error:
                yield from (f"{name}: {line}" for line in str(error).splitlines())


InnerPolicy = Annotated[str, NamesPolicies()]
InnerPolicies = Annotated[tuple[str, ...], NamesPolicies()]


def inner_policies(policy: Policy) -> dict[str, tuple[str, ...]]:
    """The policies that a policy runs, as texts, by the setting that names them."""
    return {
        name: _texts(getattr(policy, name))
        for name, limits in limits_of(type(policy)).items()
        if any(isinstance(limit, NamesPolicies) for limit in limits)
    }


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)


def _inner(text: str, task: Task) -> Policy:
    """The policy that a setting names."""
    from evenrank.policies.registry import make_policy

    return make_policy(text, task)


def rank_among(
    policy: Policy,
    chosen: NDArray[np.intp],
    candidates: Candidates,
    target: EstimatedTarget,
    request: Request,
    rng: np.random.Generator,
) -> Rankings:
    """What `policy` makes of the chosen candidates, as positions among all of them."""
    rankings = policy.rank(candidates.take(chosen), target, request, rng)
    return Rankings(chosen[rankings.positions], rankings.certificate)


@dataclass(frozen=True)
class Filter(CheckedPolicy):
    """The most relevant candidates, ranked by another policy."""

    name: ClassVar[str] = "filter"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("1step_pair",)
    citation: ClassVar[str] = "the track's overview, 'a filtering approach to select top ranked documents'"

    keep: PageCount = 1500
    """How many candidates stay (never fewer than a ranking is long). The track's run kept 4500 of a whole corpus; with
    the usual 2000 candidates, 4500 would keep them all."""
    then: InnerPolicy = "swap"
    """Policy that ranks them: a name, or name:setting=value,…"""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        chosen = relevance_order(candidates)[: max(self.keep, request.length)]
        return rank_among(_inner(self.then, request.task), chosen, candidates, target, request, rng)


@dataclass(frozen=True)
class Union(CheckedPolicy):
    """Pages that any of the rankers puts into its list, ranked by another policy."""

    name: ClassVar[str] = "union"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("2step_pair",)
    citation: ClassVar[str] = "the track's overview, 'top ranked documents from … the union of rankers'"

    rankers: InnerPolicies = ("deficit", "relevance-share")
    """Fair rankers whose lists are joined: names, or name:setting=value."""
    then: InnerPolicy = "swap"
    """Policy that ranks the union: a name, or name:setting=value,…"""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        rankers = [_inner(ranker, request.task) for ranker in self.rankers]
        lists = [ranker.rank(candidates, target, request, rng).positions for ranker in rankers]
        chosen = np.unique(np.concatenate([positions.reshape(-1) for positions in lists]))
        return rank_among(_inner(self.then, request.task), chosen, candidates, target, request, rng)


@dataclass(frozen=True)
class BestOf(CheckedPolicy):
    """Topic by topic the list with the highest expected nDCG × AWRF among those of several rankers."""

    name: ClassVar[str] = "best-of"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("1step_pair_list", "2step_pair_list")
    citation: ClassVar[str] = "the track's overview: the '_list' runs choose the better of two rankers' lists"

    rankers: InnerPolicies = ("filter", "union")
    """Policies to choose from, by what is expected from candidates and target, never from judgments: names, or
    name:setting=value."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        lists = [_inner(ranker, request.task).rank(candidates, target, request, rng) for ranker in self.rankers]
        depth = lists[0].positions.shape[1]
        if not depth:
            return lists[0]
        rows = counted_rows(candidates, target, request, candidates.alignment)
        problem = CompoundProblem.of(
            rows, candidates.alignment.page_type, candidates.relevance, target.values, request.weights(depth)
        )
        return max(lists, key=lambda found: problem.score(found.positions[0]))


Method = Literal["combsum", "combmnz", "rrf"]


def fuse(rankings: Sequence[NDArray[np.intp]], n_pages: int, method: Method, k: int = 60) -> NDArray[np.intp]:
    """All pages that are in any ranking, best fused score first; ties go to the page met first, list by list.

    CombSUM adds scores that fall evenly from 1 at rank 1 to 0 below the last rank; CombMNZ multiplies that sum by
    the number of lists a page is in; reciprocal rank fusion adds 1 / (k + rank).
    """
    totals, n_lists = np.zeros(n_pages), np.zeros(n_pages, np.intp)
    for ranking in rankings:
        ranks = np.arange(1, len(ranking) + 1)
        totals[ranking] += 1.0 / (k + ranks) if method == "rrf" else 1.0 - (ranks - 1) / len(ranking)
        n_lists[ranking] += 1
    if method == "combmnz":
        totals *= n_lists
    met = np.concatenate([np.empty(0, np.intp), *rankings])
    pages = met[np.sort(np.unique(met, return_index=True)[1])]
    return pages[np.argsort(-totals[pages], kind="stable")]


def by_dimension(candidates: Candidates, target: EstimatedTarget) -> Iterator[tuple[Candidates, EstimatedTarget]]:
    """Candidates and target as seen through each dimension alone."""
    for dimension in target.space.dimensions:
        rows = target.space.margin(candidates.alignment.rows, dimension.name)
        distinct, type_of = np.unique(rows, axis=0, return_inverse=True)
        alignment = Alignment(distinct, type_of.reshape(-1)[candidates.alignment.page_type])
        values = target.space.margin(target.values, dimension.name)
        yield (
            replace(candidates, alignment=alignment),
            EstimatedTarget(target.topic_id, GroupSpace((dimension,)), values),
        )


@dataclass(frozen=True)
class Fusion(CheckedPolicy):
    """The same policy once per dimension, its lists fused ranking by ranking."""

    name: ClassVar[str] = "fusion"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    citation: ClassVar[str] = "Fox and Shaw, CombSUM and CombMNZ, TREC-2 1993; Cormack et al., RRF, SIGIR 2009"

    policy: InnerPolicy = "exposure-disparity"
    """Policy that makes the list of each dimension: a name, or name:setting=value,…"""
    method: Method = "rrf"
    """How the lists are joined."""
    k: PageCountOrAll = 60
    """Constant of reciprocal rank fusion: higher trusts the head of the lists less."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        inner = _inner(self.policy, request.task)
        lists = [inner.rank(*view, request, rng).positions for view in by_dimension(candidates, target)]
        length = min(request.length, len(candidates))
        fused = [fuse(rows, len(candidates), self.method, self.k)[:length] for rows in zip(*lists, strict=True)]
        return Rankings(np.array(fused, np.intp).reshape(request.n_rankings, length))


@dataclass(frozen=True)
class Inferred(CheckedPolicy):
    """Another policy, over groups inferred from totals of the collection where they are unknown to the system."""

    name: ClassVar[str] = "inferred"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    needs_beliefs: ClassVar[bool] = True
    citation: ClassVar[str] = "the track's overview: attributes of pages may be known or inferred"

    policy: InnerPolicy = "exposure-disparity"
    """Policy that ranks: a name, or name:setting=value,… Without a dimension that is scored and unknown (set
    information=geography) it ranks as ever; a page never gets a group of its own, only what pages like it have."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        policy = _inner(self.policy, request.task)
        beliefs = candidates.beliefs
        if beliefs is not None:
            candidates, target = replace(candidates, alignment=beliefs.alignment, beliefs=None), beliefs.target
        return policy.rank(candidates, target, request, rng)
