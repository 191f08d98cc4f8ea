"""Score: the official measure of Task 1."""

from __future__ import annotations

from evenrank.metrics.measure import Measure

SCORE = Measure(
    name="Score",
    task=1,
    label="relevance times fairness, the official measure of Task 1",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty="0",
    formula="nDCG × AWRF",
    citation="the paper, section 4.2",
)


def score(ndcg: float, awrf: float) -> float:
    """nDCG × AWRF of one topic: a run must be both accurate and fair."""
    return ndcg * awrf
