"""The scored part of a run beside the truth of a topic: what the measures see."""

from __future__ import annotations

from evenrank.evaluation.ranked_pages import RankedPages
from evenrank.evaluation.topic_truth import TopicTruth
from evenrank.metrics.view import TopicView
from evenrank.records import Task


def topic_view(task: Task, ranked: RankedPages, truth: TopicTruth) -> TopicView:
    """One topic of a run, ready to be measured."""
    protocol = truth.protocol
    return TopicView(
        task=task,
        protocol=protocol,
        pages=ranked.pages,
        ranks=ranked.ranks,
        rankings=ranked.rankings,
        n_rankings=_n_counted(task, ranked, truth),
        depth=protocol.depth(task),
        ideal_depth=(protocol.ideal_depth or protocol.task1_depth) if task == 1 else protocol.depth(2),
        is_relevant=truth.is_relevant(ranked.pages),
        n_relevant=truth.n_relevant,
        alignment=ranked.alignment,
        full_target=truth.wanted_exposure(task),
        drops_unknown=task == 1 and not protocol.keeps_unknown_task1 and truth.space.has_unknown,
    )


def _n_counted(task: Task, ranked: RankedPages, truth: TopicTruth) -> int:
    """Rankings over which means are taken: those present, or all that were asked for."""
    if task == 1:
        return 1
    if truth.protocol.missing_ranking == "skipped":
        return ranked.n_rankings
    return truth.protocol.task2_rankings or truth.protocol.sequence_length
