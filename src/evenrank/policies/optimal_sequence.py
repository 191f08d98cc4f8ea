"""`optimal` for Task 2: the problem of a topic and its solution, at full depth or head first."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.exposure import discounts
from evenrank.policies.candidates import Candidates
from evenrank.policies.optimisation.compact import compact
from evenrank.policies.optimisation.exposure_loss import ExposureProblem
from evenrank.policies.optimisation.permutohedron import strongest_per_type, support
from evenrank.policies.optimisation.sequence import Sequence, certify, make_sequence
from evenrank.policies.policy import Rankings, Request
from evenrank.targets.target import EstimatedTarget

WORTH_OF_RELEVANCE = 0.005
"""What the most relevant ranking gains over one without any relevance, as a share of the squared total exposure."""
LEAST_FAIRNESS = 1e-9
"""Stands for a fairness of 0: relevance is then worth a billion times more."""


class SequenceSettings(Protocol):
    """The settings of `Optimal` that matter here."""

    @property
    def fairness(self) -> float: ...
    @property
    def work_weight(self) -> float: ...
    @property
    def relevant_only(self) -> bool: ...
    @property
    def head_depth(self) -> int: ...
    @property
    def tolerance(self) -> float: ...
    @property
    def max_iterations(self) -> int: ...


def rank_sequence(
    settings: SequenceSettings, candidates: Candidates, target: EstimatedTarget, request: Request
) -> Rankings:
    """A sequence of rankings, every prefix of it balanced, with its certificate."""
    whole, unreachable = sequence_problem(settings, candidates, target, request.length)
    kept = np.arange(len(candidates))
    if not settings.relevant_only:
        kept = strongest_per_type(whole.page_type, whole.gain, len(whole.discounts))
    problem = _restricted(whole, kept)
    is_head_first = 0 < settings.head_depth < len(problem.discounts)
    make = _head_first if is_head_first else _full_depth
    positions, certificate = make(settings, problem, request.n_rankings, unreachable)
    return Rankings(kept[positions], {**certificate, **_relevance(candidates.relevance, kept[positions])})


def sequence_problem(
    settings: SequenceSettings, candidates: Candidates, target: EstimatedTarget, length: int
) -> tuple[ExposureProblem, float]:
    """The exposure problem of a topic over all candidates, and the loss that no candidate can mend."""
    alignment = compact(candidates.alignment, np.ones(len(target.values), np.bool_))
    total = float(discounts(length).sum())
    weights = discounts(min(length, len(candidates))).astype(np.float64)
    wanted = target.values * total
    worth = WORTH_OF_RELEVANCE * total**2 / max(settings.fairness, LEAST_FAIRNESS)
    reward = _reward(candidates, settings.work_weight)
    problem = ExposureProblem(
        rows=alignment.rows,
        page_type=alignment.page_type,
        page_weight=candidates.relevance if settings.relevant_only else np.ones(len(candidates)),
        gain=worth * reward / (support(reward, weights) or 1.0),
        target=wanted[alignment.is_reached],
        discounts=weights,
    )
    return problem, float(np.sum(wanted[~alignment.is_reached] ** 2))


def _reward(candidates: Candidates, work_weight: float) -> NDArray[np.float64]:
    """Relevance of each page, more of it for pages that need more work."""
    return np.asarray(candidates.relevance * (1.0 - work_weight + work_weight * candidates.work_needed))


def _full_depth(
    settings: SequenceSettings, problem: ExposureProblem, n_rankings: int, unreachable: float
) -> tuple[NDArray[np.intp], dict[str, float]]:
    """The sequence that serves all ranks."""
    sequence = _solve(settings, problem, n_rankings)
    return sequence.positions, certify(problem, sequence, unreachable)


def _head_first(
    settings: SequenceSettings, problem: ExposureProblem, n_rankings: int, unreachable: float
) -> tuple[NDArray[np.intp], dict[str, float]]:
    """The sequence that serves the first ranks, and with what is left of the target the others.

    The certificate is that of the head. The tail is found with spare pages behind it, which take the place of pages
    that stand in the head already.
    """
    depth = settings.head_depth
    head_problem = replace(problem, discounts=problem.discounts[:depth])
    head = _solve(settings, head_problem, n_rankings)
    spare = np.append(problem.discounts[depth:], np.zeros(depth))
    tail_problem = replace(problem, discounts=spare, target=problem.target - head.outcome[:-1])
    tail = _solve(settings, tail_problem, n_rankings)
    positions = np.array([_joined(*pair, len(spare)) for pair in zip(head.positions, tail.positions, strict=True)])
    exposure = np.mean([problem.outcome(ranking)[:-1] for ranking in positions], axis=0)
    full_loss = float(np.sum((exposure - problem.target) ** 2)) + unreachable
    return positions, {**certify(head_problem, head, unreachable), "EE-L_full_depth": full_loss}


def _joined(head: NDArray[np.intp], tail: NDArray[np.intp], length: int) -> NDArray[np.intp]:
    """The head, then the pages of the tail that are not in it."""
    return np.concatenate([head, tail[~np.isin(tail, head)]])[:length]


def _solve(settings: SequenceSettings, problem: ExposureProblem, n_rankings: int) -> Sequence:
    """The sequence for one problem; the tolerance is a share of the squared total exposure."""
    tolerance = settings.tolerance * float(problem.discounts.sum()) ** 2
    return make_sequence(problem, n_rankings, tolerance, settings.max_iterations)


def _restricted(problem: ExposureProblem, kept: NDArray[np.intp]) -> ExposureProblem:
    """The problem with some of the pages only."""
    return replace(
        problem,
        page_type=problem.page_type[kept],
        page_weight=problem.page_weight[kept],
        gain=problem.gain[kept],
    )


def _relevance(relevance: NDArray[np.float64], positions: NDArray[np.intp]) -> dict[str, float]:
    """Expected precision of the rankings, and their discounted relevance relative to the order by relevance."""
    weights = discounts(positions.shape[1]).astype(np.float64)
    most = support(relevance, weights)
    return {
        "expected_precision": float(relevance[positions].mean()),
        "relevance_share": float((relevance[positions] @ weights).mean() / most) if most > 0.0 else 1.0,
    }
