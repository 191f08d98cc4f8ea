"""`fusion`: one fair list per dimension, joined by CombSUM, CombMNZ or reciprocal ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.allowed import PageCountOrAll
from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.inner import InnerPolicy
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request

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
    paper_runs: ClassVar[tuple[str, ...]] = ()
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
        from evenrank.policies.registry import make_policy

        inner = make_policy(self.policy, request.task)
        lists = [inner.rank(*view, request, rng).positions for view in by_dimension(candidates, target)]
        length = min(request.length, len(candidates))
        fused = [fuse(rows, len(candidates), self.method, self.k)[:length] for rows in zip(*lists, strict=True)]
        return Rankings(np.array(fused, np.intp).reshape(request.n_rankings, length))
