"""What a policy knows about a topic: candidate pages with relevance, work needed and groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment


@dataclass(frozen=True)
class Candidates:
    """The pages a policy may rank for one topic, best first; arrays run beside each other."""

    topic_id: int
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    """Probability that the page is relevant, calibrated."""
    scores: NDArray[np.float64]
    """Score of the search engine, higher is better; any scale."""
    work_needed: NDArray[np.float64]
    """1 − quality score, in [0, 1]."""
    quality_class: NDArray[np.uint8]
    """Quality class in work order (`records.WORK_ORDER`); `records.NO_CLASS` when unknown."""
    alignment: Alignment
    """Group weights of each page; rows are normalised to sum to 1 (a page of no group has a row of zeros)."""

    def __len__(self) -> int:
        return len(self.page_ids)
