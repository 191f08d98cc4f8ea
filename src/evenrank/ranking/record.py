"""The record beside a run: all that decided its rankings, and how close to the best they provably are."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from evenrank.core.records import Run, Topic
from evenrank.policies.optimal.precision_floor import LEAST_FAIRNESS
from evenrank.policies.policy import Policy, settings_of
from evenrank.ranking.job import RankingJob, TopicRankings

PARTS = ("evenrank", "numpy", "scipy", "tantivy")
"""Packages whose version can change a ranking."""


def run_from_topics(job: RankingJob, name: str, results: Iterable[TopicRankings]) -> Run:
    """The rankings of all topics as a run; repeats count from 1, empty rankings are left out."""
    run = Run.from_rankings(
        name,
        job.request.task,
        (
            (topic.topic_id, repeat, pages)
            for topic in results
            for repeat, pages in enumerate(topic.page_ids, 1)
            if len(pages)
        ),
    )
    return replace(run, ids=job.collection.text_ids, titles={topic.id: topic.title for topic in job.extra_topics})


def run_record(job: RankingJob, results: Sequence[TopicRankings], command: Sequence[str]) -> dict[str, Any]:
    """The record of a finished job as plain data."""
    return {
        "policy": job.policy.name,
        "task": job.request.task,
        "protocol": job.protocol,
        "settings": settings_of(job.policy),
        "candidates": {**asdict(job.settings), **job.source.describe()},
        "seed": job.seed,
        "n_rankings": job.request.n_rankings,
        "length": job.request.length,
        "ends": job.length,
        **({"subjects": [_subject(topic) for topic in job.extra_topics]} if job.extra_topics else {}),
        "topics": [
            {
                "topic": topic.topic_id,
                "n_candidates": topic.n_candidates,
                **({} if topic.n_on_subject is None else {"n_on_subject": topic.n_on_subject}),
                "length": int(topic.page_ids.shape[1]),
                "certificate": topic.certificate,
            }
            for topic in results
        ],
        "mean_certificate": mean_certificate(results),
        "versions": {"python": platform.python_version(), **{part: version(part) for part in PARTS}},
        "command": list(command),
    }


def legible(result: TopicRankings, policy: Policy) -> TopicRankings:
    """Rankings whose certificate means something: no −0, and no objective where fairness weighs nothing.

    The objective of a sequence is a loss less a reward for relevance, which is divided by the weight of fairness.
    """
    weight = result.certificate.get("fairness_used", getattr(policy, "fairness", 1.0))
    left_out = ("objective", "lower_bound", "restricted_lower_bound") if weight < LEAST_FAIRNESS else ()
    kept = {name: value + 0.0 for name, value in result.certificate.items() if name not in left_out}
    return replace(result, certificate=kept)


def _subject(topic: Topic) -> dict[str, Any]:
    """A topic that is in no file, as the record names it."""
    between = ", " if any(" " in keyword for keyword in topic.keywords) else " "
    return {"topic": topic.id, "title": topic.title, "query": between.join(topic.keywords)}


def mean_certificate(results: Iterable[TopicRankings]) -> dict[str, float]:
    """The mean over topics of each number that every certificate has."""
    certificates = [topic.certificate for topic in results if topic.certificate]
    if not certificates:
        return {}
    shared = [name for name in certificates[0] if all(name in other for other in certificates)]
    return {name: float(np.mean([certificate[name] for certificate in certificates])) for name in shared}
