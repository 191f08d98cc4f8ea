"""What the judgments so far do to scores: judged@k, scores without unjudged pages, leave-one-run-out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean

from evenrank.app.assess.judging import Judging
from evenrank.core.records import Run, Task, Topic
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.scoring.rejudged import scorer
from evenrank.trec.assessment.files import judged_topics
from evenrank.trec.assessment.unjudged import LeftOut, judged_at, judged_only, judged_pages, leave_one_out

DEPTHS = (5, 10, 20)
"""judged@k is shown for these k."""
PROTOCOL = "official-2021"


@dataclass(frozen=True)
class RunEffect:
    """One run under the judgments so far."""

    run: str
    task: Task
    judged: tuple[float, ...]
    """judged@k for each of `DEPTHS`, mean over judged topics."""
    score: float
    """Unjudged pages count as not relevant."""
    score_judged_only: float
    """Unjudged pages are taken out of the rankings first."""


@dataclass(frozen=True)
class Effects:
    """Everything on the page of scores, by task."""

    measures: dict[Task, str]
    """Main measure of each task that has runs."""
    runs: tuple[RunEffect, ...]
    left_out: dict[Task, list[LeftOut]]
    """Empty without a pool file."""

    def of_task(self, task: Task) -> list[RunEffect]:
        """The runs of a task, best first."""
        sign = -1 if MAIN[task].higher_is_better else 1
        return sorted((run for run in self.runs if run.task == task), key=lambda run: (sign * run.score, run.run))


def effects(judging: Judging) -> Effects:
    """The effects on all runs of the server, with the judgments of this moment."""
    topics = judged_topics(judging.store, judging.desk.collection.text_ids)
    tasks: list[Task] = sorted({run.task for run in judging.runs})
    return Effects(
        measures={task: MAIN[task].name for task in tasks},
        runs=tuple(run_effect(judging, run, topics) for run in judging.runs),
        left_out={task: _left_out(judging, task, topics) for task in tasks},
    )


def run_effect(judging: Judging, run: Run, topics: Sequence[Topic]) -> RunEffect:
    """One run: how much of it is judged, and its score both ways."""
    judged = {topic: pages for topic, pages in judged_pages(topics).items() if len(pages)}
    shares = tuple(_mean(judged_at(run, judged, depth).values()) for depth in DEPTHS)
    scores = [_score(judging, one, topics).values() for one in (run, judged_only(run, judged))]
    return RunEffect(run.name, run.task, shares, *map(_mean, scores))


def _score(judging: Judging, run: Run, topics: Sequence[Topic]) -> dict[int, float]:
    """Scores by topic; none when nothing can be scored yet. Topics count before their tiers are complete."""
    try:
        return scorer(judging.desk.collection, PROTOCOL, "intersection", min_tier=0)(run, topics)
    except EvenrankError:
        return {}


def _mean(values: Collection[float]) -> float:
    return fmean(values or [nan])


def _left_out(judging: Judging, task: Task, topics: Sequence[Topic]) -> list[LeftOut]:
    if judging.pool is None:
        return []
    same = [run for run in judging.runs if run.task == task]

    def evaluate(run: Run, given: Sequence[Topic]) -> dict[int, float]:
        return _score(judging, run, given)

    return leave_one_out(same, judging.pool, topics, evaluate, higher_is_better=MAIN[task].higher_is_better)
