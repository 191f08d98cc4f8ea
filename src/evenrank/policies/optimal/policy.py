"""The policy `optimal`: one name for the list of Task 1 and the sequence of Task 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from evenrank.core.records import Task
from evenrank.policies.optimal.list import OptimalList
from evenrank.policies.optimal.sequence import OptimalSequence
from evenrank.policies.policy import Policy, PolicyByTask


class Optimal(PolicyByTask):
    """Task 1: one list with a high expected nDCG × AWRF at every depth. Task 2: the sequence of least expected loss."""

    name: ClassVar[str] = "optimal"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    citation: ClassVar[str] = f"Task 1: {OptimalList.citation}. Task 2: {OptimalSequence.citation}"
    former_settings: ClassVar[Mapping[str, str]] = {
        "floor": "every page may fill a group, and counts with its probability of relevance",
        "emphasis": "fairness counts alike at every depth (fairness sets how much)",
        "adapt_weights": "depths have equal weights unless depth_weights are given",
        "drop_unknown": "the unknown group counts where the target gives it a share",
        "work_weight": "the work that a page needs counts as it did by default",
        "tolerance": "the solver decides when to stop (proof=thorough proves more)",
        "max_iterations": "the solver decides when to stop (proof=thorough proves more)",
    }
    of_task: ClassVar[Mapping[Task, type[Policy]]] = {1: OptimalList, 2: OptimalSequence}
