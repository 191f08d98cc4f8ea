"""Score: the official measure of Task 1."""

from __future__ import annotations

from evenrank.measures.awrf import AWRF
from evenrank.measures.measure import Measure
from evenrank.measures.ndcg import NDCG

SCORE = Measure(
    name="Score",
    tasks=(1,),
    label="relevance times fairness, the official measure of Task 1: a run must be both accurate and fair",
    formula="nDCG × AWRF",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=lambda view: NDCG.empty_value(view) * AWRF.empty_value(view),
    citation="the paper, section 4.2",
    compute=lambda view: NDCG(view) * AWRF(view),
    official_in=(1,),
)
