"""What not knowing costs: systems built without an attribute of pages, or with a faulty one, and scored with the truth.

The track's participants had no gender, and the scorer had it. Here every policy ranks the same topics with the
attribute known, masked, undisclosed for a share of the pages, or wrong for a share of them. What a system learns on
training topics it learns from what it sees; the scorer always knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.frames import DataFrame, pandas_frame
from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.protocol import DEFAULT_PROTOCOL, PAPER_2021, Protocol
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.settings import Settings
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.policies.registry import PolicyEntry, make_policy
from evenrank.progress import track
from evenrank.ranking.job import RankingJob
from evenrank.ranking.make_job import RankOptions, make_job
from evenrank.ranking.record import run_from_topics
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.sensitivity import few_topics_note, paired_change
from evenrank.trec.collection import Collection, TopicChoice, as_collection, choose_topics

COMPARED: dict[Task, tuple[str, ...]] = {
    1: ("optimal", "exposure-disparity", "deficit", "proportional", "relevance"),
    2: ("optimal", "plackett-luce", "controller", "deficit", "relevance"),
}
"""Policies of each task that are compared unless others are named."""
MEASURE: dict[Task, str] = {1: "Score", 2: "EE-L"}
COMPANION: dict[Task, str] = {1: "nDCG", 2: "P"}
"""Relevance beside the measure; the name of a measure, or how it begins."""
SIGN: dict[Task, float] = {1: -1.0, 2: 1.0}
"""A cost is positive where the measure became worse."""


@dataclass(frozen=True)
class Condition:
    """What the systems are shown of the attribute."""

    name: str
    masks: dict[str, NDArray[np.unsignedinteger[Any]]]
    """Groups of each page as the systems see them."""
    is_known: bool
    """Whether the attribute is among what the systems know at all."""
    is_true: bool
    """Whether all that they see of it is the truth; only then they search by its groups."""
    undisclosed: float = 0.0
    """Share of the pages whose group the systems know to be missing; 0 where they know of none."""


@dataclass(frozen=True)
class InformationCosts:
    """The mean score of each policy under each condition, and what the condition costs it."""

    task: Task
    hidden: str
    """The attribute that systems do not know, or not well."""
    protocol: str
    n_topics: int
    scores: dict[str, dict[str, tuple[float, float]]]
    """Policy → condition → (measure, relevance beside it), means over topics."""
    topics: dict[str, dict[str, dict[int, float]]]
    """Policy → condition → topic → measure."""

    def rows(self) -> list[dict[str, Any]]:
        """A row for each policy and condition; the cost is positive where the measure became worse.

        `low` and `high` are the ends of the 95 % interval of the cost, paired by topic; `clear` says whether it leaves
        out 0 on enough topics to say so.
        """
        return [
            {
                "policy": policy,
                self.hidden: condition,
                MEASURE[self.task]: value,
                COMPANION[self.task]: relevance,
                **self._cost(policy, condition),
            }
            for policy, by_condition in self.scores.items()
            for condition, (value, relevance) in by_condition.items()
        ]

    def _cost(self, policy: str, condition: str) -> dict[str, Any]:
        sign = SIGN[self.task]
        known, found = (
            {topic: sign * value for topic, value in self.topics[policy][one].items()} for one in ("known", condition)
        )
        cost, interval = paired_change(known, found, PAPER_2021)
        is_clear = condition != "known" and not self.notes() and not interval.low <= 0.0 <= interval.high
        ends = (interval.low + 0.0, interval.high + 0.0)
        return {"cost": cost + 0.0, "low": ends[0], "high": ends[1], "clear": is_clear}  # never −0

    def notes(self) -> list[str]:
        """A warning where topics are too few to say anything."""
        return few_topics_note(self.n_topics)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "hidden": self.hidden,
            "protocol": self.protocol,
            "n_topics": self.n_topics,
            "rows": self.rows(),
            "notes": self.notes(),
        }

    def to_pandas(self) -> DataFrame:
        """A data frame: a row for each policy and condition."""
        return pandas_frame(self.rows())

    def __repr__(self) -> str:
        n_conditions = len(next(iter(self.scores.values())))
        return (
            f"<InformationCosts: task {self.task}, {self.hidden} hidden, {len(self.scores)} policies, "
            f"{n_conditions} conditions, {self.n_topics} topics>"
        )


def information(
    collection: Collection | FilePath,
    task: Task = 2,
    *,
    hidden: str = "gender",
    policies: Sequence[str | PolicyEntry] = (),
    rates: Sequence[float] = (0.2, 0.5),
    topics: TopicChoice = "eval",
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    settings: Settings | None = None,
    seed: int = 0,
) -> InformationCosts:
    """What it costs policies that systems do not know an attribute of pages that the scorer knows.

    `hidden` is a dimension of the collection. Systems have it as it is (known), not at all (masked), unknown for a
    share `rates` of the pages (undisclosed; the systems know that share or do not), or exchanged among pages for such
    a share (wrong). Policies are objects or names, which may carry settings: `optimal:fairness=2`.
    """
    opened = as_collection(collection)
    compared = {one if isinstance(one, str) else one.name: one for one in policies or COMPARED[task]}
    names = tuple(compared)
    known = opened.default_groups(("geography", "gender"))
    _check(task, tuple(compared.values()), hidden, known, rates)
    topic_ids = choose_topics(opened, topics)
    scores: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in names}
    by_topic: dict[str, dict[str, dict[int, float]]] = {name: {} for name in names}
    conditions = list(conditions_of(opened, hidden, rates, seed))
    for condition in track(conditions, "conditions", len(conditions), "condition"):
        seen = tuple(name for name in known if condition.is_known or name != hidden)
        base = _job(opened, condition, task, seen, hidden, protocol, settings, seed)
        prepared = [found for found in map(base.prepare, topic_ids) if found is not None]
        for name in names:
            job = replace(base, policy=make_policy(compared[name], task)).learned()
            run = run_from_topics(job, name, map(job.rank_prepared, prepared))
            scored = evaluate(opened, run, protocol, min_tier=0)[name].topics
            ids = [found.candidates.topic_id for found in prepared if found.candidates.topic_id in scored]
            of_topics = [scored[topic] for topic in ids]
            scores[name][condition.name] = _mean(of_topics, MEASURE[task]), _mean(of_topics, COMPANION[task])
            by_topic[name][condition.name] = {topic: scored[topic][MEASURE[task]] for topic in ids}
    return InformationCosts(task, hidden, base.protocol, len(prepared), scores, by_topic)


def conditions_of(collection: Collection, hidden: str, rates: Sequence[float], seed: int) -> Iterator[Condition]:
    """What the systems are shown: the truth, nothing, and for each rate the truth with holes and with errors."""
    masks, truth = dict(collection.masks), np.asarray(collection.masks[hidden])
    yield Condition("known", masks, is_known=True, is_true=True)
    yield Condition("masked", masks, is_known=False, is_true=True)
    for rate in rates:
        rng = derive(seed, "information", f"{rate:g}")
        is_hit = rng.random(len(truth)) < rate
        with_holes = np.where(is_hit, truth.dtype.type(UNKNOWN_MASK), truth)
        holes = {**masks, hidden: with_holes}
        yield Condition(f"undisclosed {rate:.0%}", holes, is_known=True, is_true=False)
        if rate < 1.0:
            yield Condition(
                f"undisclosed {rate:.0%}, rate known", holes, is_known=True, is_true=False, undisclosed=rate
            )
        hit = np.flatnonzero(is_hit)
        with_errors = truth.copy()
        with_errors[hit] = truth[rng.permutation(hit)]
        yield Condition(f"wrong {rate:.0%}", {**masks, hidden: with_errors}, is_known=True, is_true=False)


def _job(
    collection: Collection,
    condition: Condition,
    task: Task,
    seen: tuple[str, ...],
    hidden: str,
    protocol: str | Protocol,
    settings: Settings | None,
    seed: int,
) -> RankingJob:
    """A job of systems that see this of the pages; what it learns on training topics, it learns from that."""
    searched = tuple(name for name in seen if condition.is_true or name != hidden)
    asked = {**(settings or {}), "information": searched}
    options = RankOptions(task=task, policy="relevance", settings=asked, seed=seed, protocol=protocol)
    base = make_job(collection, options)
    if searched == seen and condition.is_true:
        return base
    shown = replace(collection, masks=condition.masks)
    undisclosed = (f"{hidden}:{condition.undisclosed:g}",) if condition.undisclosed else ()
    build = replace(base.settings, information=seen, odds=(), undisclosed=undisclosed)
    return replace(base, settings=build, shown=shown).learned()


def _mean(topics: Sequence[Mapping[str, float]], measure: str) -> float:
    """Mean over topics of a measure, or of the one whose name begins so; an error when no topic is judged."""
    if not topics:
        raise EvenrankError("none of the topics has judgments to score with (choose others with --topics)")
    return float(np.mean([next(value for key, value in one.items() if key.startswith(measure)) for one in topics]))


def _check(
    task: Task, policies: Sequence[str | PolicyEntry], hidden: str, known: Sequence[str], rates: Sequence[float]
) -> None:
    """All that is wrong with what was asked for, at once."""
    faults = [] if task in (1, 2) else [f"task is {task!r} (give 1 or 2)"]
    if hidden not in known:
        faults.append(f"hidden is {hidden!r} (choose from {', '.join(known)})")
    elif len(known) < 2:
        faults.append(f"{hidden} is the only dimension, so nothing would be left to be fair about")
    faults += [f"rate is {rate:g}, but must be above 0 and at most 1" for rate in rates if not 0.0 < rate <= 1.0]
    for policy in policies:
        try:
            make_policy(policy, task)
        except EvenrankError as error:
            faults.append(str(error))
    if faults:
        raise EvenrankError("\n".join(faults))
