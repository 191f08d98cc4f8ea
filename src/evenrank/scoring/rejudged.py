"""Scores of runs under other judgments than the collection's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evenrank.core.records import Run, Topic
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.protocol_settings import ProtocolSettings
from evenrank.trec.collection import Collection


def scorer(
    collection: Collection, protocol: str, groups: str, **settings: Any
) -> Callable[[Run, Sequence[Topic]], dict[int, float]]:
    """Scores by topic under the main measure of the run's task, with the judgments that the topics bring.

    A run none of whose topics has a relevant page has no scores.
    """
    few: ProtocolSettings = {**settings, "n_resamples": 2}

    def score(run: Run, topics: Sequence[Topic]) -> dict[int, float]:
        if not any(len(topic.rel_docs) for topic in topics if topic.id in run.topic_ids):
            return {}
        rejudged = collection.with_topics(topics)
        [result] = evaluate(rejudged, run, protocol, groups, **few).runs
        return {topic: values[result.main_measure] for topic, values in result.topics.items()}

    return score
