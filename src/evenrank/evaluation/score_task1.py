"""Task 1, per topic: nDCG, AWRF and Score of a single ranking."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.evaluation.ranked_pages import RankedPages
from evenrank.evaluation.topic_truth import TopicTruth
from evenrank.exposure import discounts
from evenrank.metrics.awrf import awrf
from evenrank.metrics.ndcg import ndcg
from evenrank.metrics.precision import precision
from evenrank.metrics.score import score
from evenrank.protocol import Protocol


def score_task1(ranked: RankedPages, truth: TopicTruth) -> dict[str, float]:
    """The scores of one ranking by measure name."""
    protocol = truth.protocol
    is_relevant = truth.is_relevant(ranked.pages)
    ideal_depth = protocol.ideal_depth or protocol.task1_depth
    relevance = ndcg(is_relevant, truth.n_relevant, ideal_depth, protocol.discount_type)
    fairness = _fairness(task1_exposure(ranked, protocol), truth)
    return {
        "nDCG": relevance,
        "AWRF": fairness,
        "Score": score(relevance, fairness),
        "P": precision(is_relevant, protocol.task1_depth),
    }


def task1_exposure(ranked: RankedPages, protocol: Protocol) -> NDArray[np.float64]:
    """Attention that a ranking gives to each group (the paper's cumulated attention), as a share of all there is."""
    weights = discounts(len(ranked.pages), protocol.discount_type)
    total = ranked.alignment.total(weights.astype(np.float64))
    exposure: NDArray[np.float64] = total / max(weights.sum(), 1.0)
    if not protocol.keeps_unknown_task1:
        exposure[0] = 0.0
    return exposure


def exposes_nothing(ranked: RankedPages, protocol: Protocol) -> bool:
    """Whether the ranking gives no attention to any group that the protocol keeps."""
    return float(task1_exposure(ranked, protocol).sum()) <= 0.0


def _fairness(exposure: NDArray[np.float64], truth: TopicTruth) -> float:
    """AWRF over the groups that the protocol keeps."""
    first = 0 if truth.protocol.keeps_unknown_task1 else 1
    exposure, target = exposure[first:], truth.task1_target[first:]
    if exposure.sum() <= 0.0:
        if truth.protocol.no_exposure == "zero":
            return 0.0
        exposure = np.ones_like(exposure)
    return awrf(exposure, target, truth.protocol.log_base)
