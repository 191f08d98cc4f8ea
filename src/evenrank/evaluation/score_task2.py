"""Task 2, per topic: expected exposure of a sequence of rankings against its target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.evaluation.ranked_pages import RankedPages
from evenrank.evaluation.topic_truth import TopicTruth
from evenrank.exposure import discounts
from evenrank.metrics.ee_disparity import ee_disparity
from evenrank.metrics.ee_loss import ee_loss
from evenrank.metrics.ee_relevance import ee_relevance
from evenrank.metrics.ee_share import ee_share


def score_task2(ranked: RankedPages, truth: TopicTruth) -> dict[str, float]:
    """The scores of one sequence by measure name."""
    is_relevant = truth.is_relevant(ranked.pages)
    exposure = task2_exposure(ranked, truth, is_relevant)
    target = truth.task2_target * truth.exposure_scale
    return {
        "EE-L": ee_loss(exposure, target),
        "EE-D": ee_disparity(exposure),
        "EE-R": ee_relevance(exposure, target),
        "EE-L/T2": ee_share(exposure, target),
        **_relevance(ranked, truth, is_relevant),
    }


def task2_exposure(ranked: RankedPages, truth: TopicTruth, is_relevant: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Expected exposure of each group: the mean over rankings of Σ discount × alignment."""
    protocol = truth.protocol
    weights = discounts(protocol.task2_depth, protocol.discount_type).astype(np.float64)[ranked.ranks]
    if protocol.relevant_exposure:
        weights = weights * is_relevant
    return ranked.alignment.total(weights) / max(1, n_counted(ranked, truth))


def n_counted(ranked: RankedPages, truth: TopicTruth) -> int:
    """Rankings over which the mean is taken: those present, or all that were asked for."""
    protocol = truth.protocol
    return ranked.n_rankings if protocol.missing_ranking == "skipped" else protocol.task2_rankings


def _relevance(ranked: RankedPages, truth: TopicTruth, is_relevant: NDArray[np.bool_]) -> dict[str, float]:
    """The relevance companions: nDCG and precision, mean over the rankings."""
    depth = truth.protocol.task2_depth
    n_rankings = max(1, n_counted(ranked, truth))
    weights = discounts(depth)
    gained = float(weights[ranked.ranks[is_relevant]].sum())
    ideal = float(weights[: min(depth, truth.n_relevant)].sum())
    return {
        "nDCG": gained / n_rankings / ideal if ideal else 0.0,
        "P": float(is_relevant.sum()) / (n_rankings * depth),
    }
