"""The policy `optimal`: optimises the track's measures themselves, and proves how near it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenrank.errors import EvenrankError
from evenrank.policies.candidates import Candidates
from evenrank.policies.optimal_list import rank_list
from evenrank.policies.optimal_sequence import rank_sequence
from evenrank.policies.policy import Rankings, Request
from evenrank.records import Task
from evenrank.targets.target import EstimatedTarget


@dataclass(frozen=True)
class Optimal:
    """Task 1: the ranking of highest expected nDCG × AWRF. Task 2: the sequence of least expected exposure loss."""

    name: ClassVar[str] = "optimal"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = (
        "Expected exposure: Diaz et al. 2020 (doi:10.1145/3340531.3411962); Frank–Wolfe: Jaggi, ICML 2013; "
        "AWRF: Sapiezynski et al. 2019"
    )

    fairness: float = 1.0
    """Weight of fairness against relevance. 0 is the order by relevance. In Task 1 it is the exponent of AWRF (1 is
    the measure itself); in Task 2 all of the relevance is worth 0.5 % of the squared exposure, divided by this."""
    work_weight: float = 0.25
    """Task 2: how far the reward of a relevant page grows with the work it needs: 0 not, 1 in proportion."""
    relevant_only: bool = False
    """Task 2: count the exposure of a page only as far as it is relevant (`official-2022`)."""
    head_depth: int = 0
    """Task 2: serve a scorer that looks at this many ranks only (`official-2021`: 6), then the rest; 0 is off."""
    scored_depth: int = 0
    """Task 1: ranks that the scorer looks at (`official-2021`: 20); 0 is the whole ranking."""
    log_base: float = 2.0
    """Task 1: base of the logarithm in the divergence: 2 (`paper-2021`), or 2.718281828 (`official-2021`)."""
    drop_unknown: bool = True
    """Task 1: leave the fully unknown group out of the exposure when the target gives it nothing."""
    tolerance: float = 5e-6
    """When to stop: share of the score (Task 1), or of the squared total exposure (Task 2), that may be missed."""
    max_iterations: int = 400
    """When to stop in any case."""

    def __post_init__(self) -> None:
        wrong = [text for text, is_wrong in self._faults().items() if is_wrong]
        if wrong:
            raise EvenrankError("optimal: " + "; ".join(wrong))

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        """The best rankings found, with a certificate; nothing is left to chance, so `rng` is not used."""
        del rng
        if not len(candidates) or not request.length or not request.n_rankings:
            return Rankings(np.empty((request.n_rankings, 0), np.intp))
        if request.task == 1:
            return rank_list(self, candidates, target, request)
        return rank_sequence(self, candidates, target, request)

    def _faults(self) -> dict[str, bool]:
        """What can be wrong with the settings, and whether it is."""
        return {
            f"fairness is {self.fairness}, but must not be negative": self.fairness < 0.0,
            f"work_weight is {self.work_weight}, but must be from 0 to 1": not 0.0 <= self.work_weight <= 1.0,
            f"head_depth is {self.head_depth}, but must not be negative": self.head_depth < 0,
            f"scored_depth is {self.scored_depth}, but must not be negative": self.scored_depth < 0,
            f"log_base is {self.log_base}, but must be above 1": self.log_base <= 1.0,
            f"tolerance is {self.tolerance}, but must be above 0": self.tolerance <= 0.0,
            f"max_iterations is {self.max_iterations}, but must be at least 4": self.max_iterations < 4,
        }
