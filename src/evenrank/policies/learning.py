"""Learning a policy's settings on the training topics, whose judgments everybody may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.candidates import Candidates
from evenrank.policies.policy import Policy, Request
from evenrank.targets.target import EstimatedTarget


@dataclass(frozen=True)
class TrainingTopic:
    """A training topic as a policy learns from it."""

    candidates: Candidates
    wanted: EstimatedTarget
    """The target that the topic's training judgments give."""
    relevant_mass: NDArray[np.float64]
    """What the pages that the judgments name give to each group, as the task counts it (`estimated.group_mass`)."""


@runtime_checkable
class LearningPolicy(Protocol):
    """A policy with settings to learn."""

    @property
    def learned(self) -> bool:
        """Whether `fit` is wanted before ranking."""
        ...

    def fit(self, training: Sequence[TrainingTopic], request: Request) -> Policy:
        """The policy with its learned settings filled in."""
        ...


def wants_learning(policy: Policy) -> bool:
    """Whether a policy asks to be fitted before ranking."""
    return isinstance(policy, LearningPolicy) and policy.learned
