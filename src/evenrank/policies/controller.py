"""`controller`: rankings steered by the exposure each group has had so far, sampled with Plackett–Luce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Range, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.plackett_luce import plackett_luce
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request


def control_terms(exposure: NDArray[np.float64], merit: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each group lags behind the best served one, given the exposure of all rankings before.

    (τ − 1) · max_G' [E(G')/M(G') − E(G)/M(G)] for ranking τ, where E is the mean exposure of the rankings before:
    with the sum in place of the mean the factor τ − 1 is in it already.
    """
    served = exposure / merit
    return np.asarray(served.max(initial=0.0) - served, np.float64)


@dataclass(frozen=True)
class Controller(CheckedPolicy):
    """Relevance × work needed plus control × lag of the page's groups; one Plackett–Luce sample per ranking."""

    name: ClassVar[str] = "controller"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    paper_runs: ClassVar[tuple[str, ...]] = ("pl_control_0.6", "pl_control_0.8", "pl_control_0.92")
    run_settings: ClassVar[dict[str, str]] = {
        "pl_control_0.6": "control=0.6",
        "pl_control_0.8": "control=0.8",
        "pl_control_0.92": "control=0.92",
    }
    citation: ClassVar[str] = (
        "Morik et al., Controlling fairness and bias in dynamic learning-to-rank (FairCo), SIGIR 2020"
    )

    control: Weight = 0.6
    """Weight of the control term, λ of the formula; the track's runs used 0.6, 0.8 and 0.92."""
    temperature: Weight = 0.1
    """Randomness of a ranking: Plackett–Luce weights are exp(value / temperature); 0 sorts by value."""
    floor: Annotated[float, Range(above=0.0, most=1.0)] = 0.001
    """Smallest share of merit of a group, so that a group of almost no merit does not steer everything."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        rows, page_type = candidates.divided.rows, candidates.alignment.page_type
        utility = candidates.utility(request.task)
        weights = request.weights(min(request.length, len(candidates)))
        merit = np.maximum(target.values, self.floor) * max(float(weights.sum()), 1.0)
        exposure = np.zeros(len(merit))
        rankings = np.empty((request.n_rankings, len(weights)), np.intp)
        for number in range(request.n_rankings):
            lag = rows @ control_terms(exposure, merit)
            rankings[number] = self._sample(utility + self.control * lag[page_type], len(weights), rng)
            exposure += np.bincount(page_type[rankings[number]], weights, minlength=len(rows)) @ rows
        return Rankings(rankings)

    def _sample(self, values: NDArray[np.float64], length: int, rng: np.random.Generator) -> NDArray[np.intp]:
        if self.temperature <= 0.0:
            return np.asarray(np.argsort(-values, kind="stable")[:length], np.intp)
        return np.asarray(plackett_luce(values / self.temperature, length, 1, rng)[0], np.intp)
