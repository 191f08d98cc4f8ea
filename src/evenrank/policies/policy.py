"""The policy interface: candidates and an estimated target → one ranking, or a sequence of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.candidates import Candidates
from evenrank.records import Task
from evenrank.targets.target import EstimatedTarget


@dataclass(frozen=True)
class Request:
    """What is wanted of a policy: the task and its size."""

    task: Task
    n_rankings: int
    """1 in Task 1, 100 in Task 2."""
    length: int
    """Pages in a ranking: 1000 in Task 1, 50 in Task 2."""


@dataclass(frozen=True)
class Rankings:
    """What a policy gives back."""

    positions: NDArray[np.intp]
    """Ranking by rank: indices into the candidates, without repetition in a row. Rows are shorter than asked
    when there are fewer candidates."""
    certificate: dict[str, float] = field(default_factory=dict)
    """How far from the best possible list, for policies that can prove it."""


class Policy(Protocol):
    """One way to make fair rankings. Its settings are the fields of a frozen dataclass."""

    name: ClassVar[str]
    """Name on the command line."""
    tasks: ClassVar[tuple[Task, ...]]
    """Tasks it serves."""
    paper_runs: ClassVar[tuple[str, ...]]
    """Runs of the paper's tables that it reproduces."""
    citation: ClassVar[str]
    """Where the method comes from."""

    def rank(
        self,
        candidates: Candidates,
        target: EstimatedTarget,
        request: Request,
        rng: np.random.Generator,
    ) -> Rankings:
        """Rankings of the candidates that serve `target`; all randomness comes from `rng`."""
        ...


def settings_of(policy: Policy) -> dict[str, Any]:
    """The settings of a policy, by name."""
    from dataclasses import asdict, is_dataclass

    return asdict(policy) if is_dataclass(policy) and not isinstance(policy, type) else {}
