"""Two types of target, so that a policy cannot be handed the truth by accident."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.groups import GroupSpace
from evenrank.targets.sparse import SparseTarget


@dataclass(frozen=True)
class TrueTarget:
    """What the judgments say a topic's exposure should be. Only metrics take this type."""

    topic_id: int
    space: GroupSpace
    values: NDArray[np.float64] | SparseTarget
    """Wanted share of each group, the fully unknown cell first; sparse where there are many."""


@dataclass(frozen=True)
class EstimatedTarget:
    """What a system believes a topic's exposure should be. Only policies take this type."""

    topic_id: int
    space: GroupSpace
    values: NDArray[np.float64]
    """One value per group, the fully unknown cell first: a distribution (sum 1)."""
