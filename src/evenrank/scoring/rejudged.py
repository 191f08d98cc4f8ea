"""Scores of runs under other judgments than the collection's own: of others, with pages left out, or of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenrank.core.protocol import Protocol
from evenrank.core.records import Run, Topic
from evenrank.measures.registry import MAIN
from evenrank.scoring.evaluate import evaluate, without_withdrawn
from evenrank.scoring.protocol_settings import ProtocolSettings
from evenrank.scoring.sensitivity import kendall_tau
from evenrank.trec.assessment.files import with_judgments
from evenrank.trec.assessment.machine import machine_judgments
from evenrank.trec.assessment.votes import Store, pages_in
from evenrank.trec.collection import Collection


def scorer(
    collection: Collection, protocol: str | Protocol, groups: str, **settings: Any
) -> Callable[[Run, Sequence[Topic]], dict[int, float]]:
    """Scores by topic under the main measure of the run's task, with the judgments that the topics bring.

    A run none of whose topics has a relevant page has no scores.
    """
    few: ProtocolSettings = {**settings, "n_resamples": 2}

    def score(run: Run, topics: Sequence[Topic]) -> dict[int, float]:
        if not any(len(topic.rel_docs) for topic in topics if topic.id in run.topic_ids):
            return {}
        rejudged = replace(collection.with_topics(topics), campaign=None)
        [result] = evaluate(rejudged, run, protocol, groups, **few).runs
        return {topic: values[result.main_measure] for topic, values in result.topics.items()}

    return score


@dataclass(frozen=True, slots=True)
class MachineLeaderboard:
    """The runs of one task, scored with the judgments of people and with those of a program."""

    source: str
    task: int
    measure: str
    n_topics: int
    """Topics that both can score."""
    scores: dict[str, tuple[float, float]]
    """Run → its mean over these topics with people's judgments, and with the program's."""
    tau: float
    """Kendall's τ between the two orders of the runs; NaN for a single run."""


def machine_leaderboards(
    collection: Collection, runs: Iterable[Run], judgments: Store, protocol: str, groups: str = "intersection"
) -> list[MachineLeaderboard]:
    """How runs rank with each source of machine judgments beside people's, for each task.

    Only topics that people have judged are scored, to the same tiers; each side has its own relevant pages. Withdrawn
    runs are left out.
    """
    by_people, counted, _ = without_withdrawn(with_judgments(collection, judgments), list(runs))
    number = pages_in(judgments, collection.text_ids)
    grades: dict[str, dict[int, dict[int, int]]] = {}
    for entry in machine_judgments(judgments):
        page = entry.page if number is None else int(number[entry.page])
        grades.setdefault(entry.source, {}).setdefault(entry.topic, {})[page] = entry.grade
    score = scorer(collection, protocol, groups)
    loaded = sorted(counted, key=lambda run: (run.task, run.name))
    people = {run.name: score(run, by_people.topics) for run in loaded}
    found = []
    for source, by_topic in grades.items():
        topics = [_graded_by(topic, by_topic[topic.id]) for topic in by_people.topics if topic.id in by_topic]
        machine = {run.name: score(run, topics) for run in loaded}
        for task in sorted({run.task for run in loaded}):
            names = [run.name for run in loaded if run.task == task]
            shared = sorted(set.intersection(*(people[name].keys() & machine[name].keys() for name in names)))
            pairs = {name: (_mean(people[name], shared), _mean(machine[name], shared)) for name in names}
            left, right = (list(column) for column in zip(*pairs.values(), strict=True))
            tau = kendall_tau(left, right) if len(names) > 1 and shared else np.nan
            found.append(MachineLeaderboard(source, task, MAIN[task].name, len(shared), pairs, tau))
    return found


def _graded_by(topic: Topic, grades: dict[int, int]) -> Topic:
    """The topic with the judgments of a program."""
    relevant = np.array(sorted(page for page, grade in grades.items() if grade > 0), np.int32)
    return replace(topic, rel_docs=relevant, assessed_docs=np.array(sorted(grades), np.int32))


def _mean(scores: dict[int, float], topics: Sequence[int]) -> float:
    return float(np.mean([scores[topic] for topic in topics])) if topics else float("nan")
