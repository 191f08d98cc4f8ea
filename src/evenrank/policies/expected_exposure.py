"""Published methods for expected exposure over a sequence: `frank-wolfe`, `expohedron` and `pl-rank`.

They are what `optimal` has to be compared with in Task 2. The first two never look at more than a sort of the pages,
the third learns a Plackett–Luce distribution by gradients. Each is given the estimated target and the probabilities of
relevance that every policy is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, Range, Share, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal.permutohedron import best_ranking, project
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.sequences import log_weights, plackett_luce

LEAST_SHARE = 1e-3
"""Exposure, as a share of what a group is due, below which its welfare no longer falls; keeps the slope finite."""
NOTHING = 1e-9
TIGHT = 1e-6
"""Exposure that is left of some ranks when it counts as given away."""
COVERED = 0.999
"""Share of an exposure vector after which its decomposition stops."""
N_HALVINGS = 40
"""Halvings of an interval in which the border of the expohedron is sought."""


def welfare_slope(relative: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """ψ′ at exposures relative to what is due; ψ(x) is x^α for α > 0, log x for α = 0, −x^α for α < 0 (Do et al.)."""
    x = np.maximum(relative, LEAST_SHARE)
    return np.asarray((abs(alpha) or 1.0) * x ** (alpha - 1.0))


@dataclass(frozen=True)
class FrankWolfe(CheckedPolicy):
    """Each ranking is the best for the gradient of utility and group welfare at the mean exposure of those before."""

    name: ClassVar[str] = "frank-wolfe"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    citation: ClassVar[str] = (
        "Do, Corbett-Davies, Atif and Usunier, Two-sided fairness in rankings via Lorenz dominance, NeurIPS 2021; "
        "online form: Usunier, Do and Dohmatob, Fast online ranking with fairness of exposure, FAccT 2022"
    )

    fairness: Share = 0.5
    """Weight of the welfare of groups against utility: 0 is the order by utility."""
    alpha: Annotated[float, Range(least=-10.0, most=1.0)] = -1.0
    """Curvature of welfare: 1 counts exposure as it is, 0 its logarithm, below 0 the groups worst served count most."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        length = min(request.length, len(candidates))
        weights = request.weights(length)
        rows, page_type = candidates.alignment.rows, candidates.alignment.page_type
        due = target.values * float(request.weights().sum())
        is_due = due > NOTHING
        utility = candidates.utility(request.task)
        given = np.zeros(len(due))
        rankings = np.empty((request.n_rankings, length), np.intp)
        for number in range(request.n_rankings):
            slope = np.zeros(len(due))
            slope[is_due] = welfare_slope(given[is_due] / due[is_due], self.alpha)
            gradient = (1.0 - self.fairness) * utility + self.fairness * (rows @ slope)[page_type]
            rankings[number] = best_ranking(gradient, length)
            exposure = np.bincount(page_type[rankings[number]], weights, minlength=len(rows)) @ rows
            given += (exposure - given) / (number + 1)
        return Rankings(rankings)


def decompose(point: NDArray[np.float64], weights: NDArray[np.float64]) -> list[tuple[float, NDArray[np.intp]]]:
    """(share, ranking) pairs whose mean exposure is `point`, a point of the expohedron of the discounts `weights`.

    From the ranking by the exposures, the ray through the point goes on to the border. There some of the pages have the
    first ranks among them to themselves, and the same is done in this face, of fewer dimensions (Grötschel, Lovász and
    Schrijver; Kletti et al. 2022). So there are never more rankings than pages.
    """
    discounts = np.zeros(len(point))
    discounts[: len(weights)] = weights
    most = np.cumsum(discounts)
    here, left = point.copy(), 1.0
    block = np.zeros(len(point), np.intp)
    """Pages of the same block share its ranks; those of an earlier block are always above those of a later one."""
    found: list[tuple[float, NDArray[np.intp]]] = []
    for _ in range(len(point)):
        order = np.lexsort((-here, block))
        is_last = _is_last_of_block(here[order], block[order], most)
        block[order] = np.cumsum(is_last) - is_last
        away = here.copy()
        away[order] -= discounts
        step = _way_to_border(here, away, block, most, is_last)
        share = step / (1.0 + step)
        found.append((left * share, order[: len(weights)]))
        here += step * away
        left *= 1.0 - share
        if left < 1.0 - COVERED or is_last.all():
            break
    return found


def _is_last_of_block(
    exposure: NDArray[np.float64], block: NDArray[np.intp], most: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether the pages down to each rank have all the exposure of these ranks, so that no other page can have any."""
    ends = np.append(block[1:] != block[:-1], True)
    return np.asarray(ends | (most - np.cumsum(exposure) < TIGHT))


def _way_to_border(
    here: NDArray[np.float64],
    away: NDArray[np.float64],
    block: NDArray[np.intp],
    most: NDArray[np.float64],
    is_last: NDArray[np.bool_],
) -> float:
    """The largest step along `away` for which the first pages of no block have more than its first ranks give."""

    def is_inside(step: float) -> bool:
        moved = here + step * away
        falling = moved[np.lexsort((-moved, block))]
        return bool((np.cumsum(falling)[~is_last] <= most[~is_last] + NOTHING).all())

    if is_last.all() or not np.abs(away).max() > NOTHING:
        return 1.0 / NOTHING
    low, high = 0.0, 1.0
    while is_inside(high) and high < 1.0 / NOTHING:
        low, high = high, 2.0 * high
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_inside(middle) else (low, middle)
    return low


def deliver(shares: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Which of several rankings comes when: every prefix has each of them nearly in its share (balanced words)."""
    owed = np.zeros(len(shares))
    order = np.empty(n, np.intp)
    for turn in range(n):
        owed += shares / shares.sum()
        order[turn] = owed.argmax()
        owed[order[turn]] -= 1.0
    return order


@dataclass(frozen=True)
class Expohedron(CheckedPolicy):
    """The Pareto-optimal exposures between utility and merit of single pages, as a sequence; groups have no part."""

    name: ClassVar[str] = "expohedron"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    citation: ClassVar[str] = (
        "Kletti, Renders and Loiseau, Introducing the expohedron for efficient Pareto-optimal fairness-utility "
        "amortizations in repeated rankings, WSDM 2022"
    )

    balance: Annotated[float, Range(least=0.0, below=1.0)] = 0.0
    """0: exposure in proportion to merit, as nearly as rankings can give it; towards 1 the order by utility."""
    pool: PageCount = 400
    """Pages that may be shown: those of highest utility."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        utility = candidates.utility(request.task)
        chosen = best_ranking(utility, max(self.pool, request.length))
        weights = request.weights(min(request.length, len(chosen)))
        if not len(chosen):
            return Rankings(np.empty((request.n_rankings, 0), np.intp))
        point = pareto_point(utility[chosen], weights, self.balance)
        parts = decompose(point, weights)
        order = deliver(np.array([share for share, _ in parts]), request.n_rankings)
        return Rankings(chosen[np.array([parts[at][1] for at in order], np.intp)])


def pareto_point(utility: NDArray[np.float64], weights: NDArray[np.float64], balance: float) -> NDArray[np.float64]:
    """The exposures that no mixture of rankings beats in both utility and distance from merit-proportional exposure.

    Such points maximise c · utility − ‖exposure − merit‖² for some c ≥ 0, and so are projections onto the expohedron.
    """
    merit = utility / (utility.sum() or 1.0) * float(weights.sum())
    return project(merit + balance / (1.0 - balance) * utility, weights).point


def pl_gradient(
    log_weight: NDArray[np.float64], samples: NDArray[np.intp], value: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Estimate of ∂/∂(log-weights) of the expected Σ weight of rank × value of page, from samples by rank.

    The PL-Rank estimator: what follows a page it placed, and for every rank up to its own the chance of being placed
    there times what that would change (Oosterhuis 2021, equation 26).
    """
    n_samples = len(samples)
    odds = np.exp(log_weight - log_weight.max())
    placed = np.cumsum(odds[samples], axis=1)
    rest = np.maximum(odds.sum() - np.hstack([np.zeros((n_samples, 1)), placed[:, :-1]]), NOTHING * odds.sum())
    rewards = weights * value[samples]
    from_here = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]
    chance = np.cumsum(weights / rest, axis=1)
    lost = np.cumsum(from_here / rest, axis=1)
    gradient = odds * (value * chance[:, -1].mean() - lost[:, -1].mean())
    own = odds[samples]
    correction = from_here - rewards + own * (value[samples] * (chance - chance[:, -1:]) - (lost - lost[:, -1:]))
    np.add.at(gradient, samples.reshape(-1), correction.reshape(-1) / n_samples)
    return np.asarray(gradient)


@dataclass(frozen=True)
class PLRank(CheckedPolicy):
    """A Plackett–Luce distribution trained for the topic by gradients of utility less exposure loss, then sampled."""

    name: ClassVar[str] = "pl-rank"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    citation: ClassVar[str] = (
        "Oosterhuis, Computationally efficient optimization of Plackett-Luce ranking models for relevance and "
        "fairness, SIGIR 2021"
    )

    fairness: Weight = 1.0
    """Cost of a unit of squared group exposure, in units of the best page's utility."""
    n_steps: PageCount = 60
    """Steps of gradient ascent."""
    n_samples: PageCount = 40
    """Rankings sampled for each step."""
    rate: Annotated[float, Range(above=0.0, most=100.0)] = 0.3
    """Largest change of a log-weight in one step; it shrinks to nothing over the steps."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        length = min(request.length, len(candidates))
        if not length:
            return Rankings(np.empty((request.n_rankings, 0), np.intp))
        weights = request.weights(length)
        rows, page_type = candidates.alignment.rows, candidates.alignment.page_type
        wanted = target.values * float(request.weights().sum())
        utility = candidates.utility(request.task)
        log_weight = log_weights(utility)
        log_weight = np.maximum(log_weight, log_weight.max() - 20.0)
        for step in range(self.n_steps):
            samples = plackett_luce(log_weight, length, self.n_samples, rng)
            shown = np.bincount(page_type[samples].reshape(-1), np.tile(weights, len(samples)), minlength=len(rows))
            excess = shown @ rows / len(samples) - wanted
            value = utility - 2.0 * self.fairness * (rows @ excess)[page_type]
            gradient = pl_gradient(log_weight, samples, value, weights)
            log_weight += self.rate * (1.0 - step / self.n_steps) * gradient / (np.abs(gradient).max() or 1.0)
        return Rankings(plackett_luce(log_weight, length, request.n_rankings, rng))
