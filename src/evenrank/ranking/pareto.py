"""The frontier between relevance and fairness: what `optimal` gives at each weight of fairness."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenrank.core.exposure import GivenAttention
from evenrank.core.frames import pandas_frame
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.rng import derive
from evenrank.core.settings import Settings
from evenrank.core.target import EstimatedTarget
from evenrank.core.types import FilePath
from evenrank.errors import Collected, EvenrankError, listed
from evenrank.parallel import map_batches
from evenrank.policies.optimal import OptimalList, OptimalSequence
from evenrank.policies.policy import Candidates, Request
from evenrank.progress import track
from evenrank.ranking.job import RankingJob
from evenrank.ranking.make_job import RankOptions, make_job
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice, choose_model
from evenrank.trec.collection import Collection, TopicChoice, as_collection, choose_topics
from evenrank.trec.target_choice import Target

if TYPE_CHECKING:
    import pandas as pd

WEIGHTS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Weights of fairness from the order by relevance to fairness nearly alone."""
MEASURES: dict[Task, str] = {1: "AWRF", 2: "EE-L"}
"""The measure of fairness of each task, estimated from what the policy knows."""
SECOND: dict[Task, str] = {1: "Score", 2: "expected_precision"}
"""A second number of each task: relevance share × AWRF, or the expected share of relevant pages."""

MAX_WEIGHT = 1e9
"""Heaviest weight of fairness; beyond it, relevance is lost in rounding."""


@dataclass(frozen=True)
class FrontierPoint:
    """One trade-off, in the estimate of the policy."""

    fairness: float
    """Weight of fairness."""
    relevance_share: float
    """Discounted relevance, relative to the order by relevance."""
    measure: float
    """AWRF (Task 1, higher is better) or EE-L (Task 2, lower is better)."""
    second: float
    """Score (Task 1) or expected precision (Task 2)."""
    gap: float
    """How far the objective can be from its best at most: relative in Task 1, in units of EE-L in Task 2."""

    def row(self, task: Task) -> dict[str, float]:
        """The point with the names that its numbers have in a task."""
        return {
            "fairness": self.fairness,
            "relevance_share": self.relevance_share,
            MEASURES[task]: self.measure,
            SECOND[task]: self.second,
            "gap": self.gap,
        }


@dataclass(frozen=True)
class Frontiers:
    """The trade-offs between relevance and fairness: of each topic, and their mean."""

    task: Task
    topics: dict[int, list[FrontierPoint]]
    """Trade-offs by topic id, one for each weight of fairness."""
    mean: list[FrontierPoint]
    model: dict[str, Any]
    """The relevance model behind the estimates."""

    def rows(self) -> list[dict[str, Any]]:
        """A row per topic and weight, the mean last."""
        by_topic = {**{str(topic): points for topic, points in self.topics.items()}, "mean": self.mean}
        return [{"topic": topic, **point.row(self.task)} for topic, points in by_topic.items() for point in points]

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "model": self.model,
            "mean": [point.row(self.task) for point in self.mean],
            "topics": [
                {"topic": topic, "points": [point.row(self.task) for point in points]}
                for topic, points in self.topics.items()
            ],
        }

    def to_pandas(self) -> pd.DataFrame:
        """A data frame: a row per topic and weight, the mean last."""
        return pandas_frame(self.rows())

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the frontier to a .pdf, .png or .svg file."""
        draw_frontier(self.task, list(self.topics.values()), self.mean, Path(path))

    def __repr__(self) -> str:
        return f"<Frontiers: task {self.task}, {len(self.topics)} topics, {len(self.mean)} weights of fairness>"


def pareto(
    collection: Collection | FilePath,
    task: Task = 1,
    *,
    weights: Sequence[float] | str = WEIGHTS,
    candidates: Run | FilePath | None = None,
    topics: TopicChoice = "eval",
    model: str | ModelChoice = "untrained",
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    target: Target = "track",
    attention: GivenAttention | None = None,
    settings: Settings | None = None,
    workers: int | None = None,
) -> Frontiers:
    """The frontier between relevance and fairness: the policy `optimal` at several weights of fairness.

    Relevance and fairness are the policy's own estimates: no judgment is looked at. `weights` are numbers, or a text
    that joins them by commas; `protocol`, `target`, `attention` and `workers` are those of `rank`.
    """
    opened = as_collection(collection)
    faults = Collected()
    topic_ids = faults.check(lambda: choose_topics(opened, topics)) or []
    swept = faults.check(lambda: check_weights(weights)) or ()
    choice = _model(opened, model, faults)
    options = RankOptions(
        task=task,
        policy="optimal",
        settings=settings or {},
        candidates=candidates,
        model=choice,
        protocol=protocol,
        target=target,
        attention=attention,
    )
    job = make_job(opened, options, faults)
    found = topic_frontiers(job, topic_ids, swept, workers or 1)
    by_topic = dict(track(found, "topics", len(topic_ids), "topic"))
    if not by_topic:
        raise EvenrankError("no topic has candidates")
    return Frontiers(task, by_topic, mean_frontier(by_topic.values()), choice.describe())


def _model(collection: Collection, model: str | ModelChoice, faults: Collected) -> ModelChoice:
    if isinstance(model, str):
        return faults.check(lambda: choose_model(collection, model)) or UNTRAINED
    return model


def check_weights(weights: Sequence[float] | str) -> tuple[float, ...]:
    """The distinct weights, ascending; an error that names those that are no numbers or out of range."""
    given = weights.split(",") if isinstance(weights, str) else list(weights) if np.iterable(weights) else [weights]
    by_text = {str(one).strip(): _weight(one) for one in given}
    wrong = [repr(text[:40]) for text, weight in by_text.items() if weight is None]
    if wrong or not by_text:
        shown = f": {listed(wrong)} is not" if len(wrong) == 1 else f": {listed(wrong)} are not" if wrong else ""
        raise EvenrankError(f"weights of fairness must be numbers from 0 to {MAX_WEIGHT:g}{shown}")
    return tuple(sorted({weight for weight in by_text.values() if weight is not None}))


def _weight(given: object) -> float | None:
    try:
        weight = float(given)  # type: ignore[arg-type]  # what is no number is refused below
    except (TypeError, ValueError, OverflowError):
        return None
    return weight if 0.0 <= weight <= MAX_WEIGHT else None


def frontier(
    candidates: Candidates,
    target: EstimatedTarget,
    request: Request,
    weights: Sequence[float] = WEIGHTS,
    policy: OptimalList | OptimalSequence | None = None,
) -> list[FrontierPoint]:
    """The trade-offs of one topic, one for each weight of fairness; none without candidates."""
    policy = policy or (OptimalList() if request.task == 1 else OptimalSequence())
    rng = derive(0, candidates.topic_id)
    at_weights = (replace(policy, fairness=weight).rank(candidates, target, request, rng) for weight in weights)
    pairs = zip(weights, (rankings.certificate for rankings in at_weights), strict=True)
    return [_point(request.task, weight, certificate) for weight, certificate in pairs if certificate]


def topic_frontiers(
    job: RankingJob, topic_ids: Sequence[int], weights: Sequence[float] = WEIGHTS, n_workers: int = 1
) -> Iterator[tuple[int, list[FrontierPoint]]]:
    """(topic id, trade-offs) of each topic that has candidates, for a job whose policy is `optimal`."""
    parts = ((job, topic_id, weights) for topic_id in topic_ids)
    for topic_id, points in map_batches(_topic_frontier, parts, min(n_workers, len(topic_ids))):
        if points:
            yield topic_id, points


def mean_frontier(frontiers: Iterable[Sequence[FrontierPoint]]) -> list[FrontierPoint]:
    """The mean over topics of the trade-offs at each weight."""
    by_weight = zip(*frontiers, strict=True)
    return [
        FrontierPoint(
            fairness=points[0].fairness,
            relevance_share=float(np.mean([point.relevance_share for point in points])),
            measure=float(np.mean([point.measure for point in points])),
            second=float(np.mean([point.second for point in points])),
            gap=float(np.mean([point.gap for point in points])),
        )
        for points in by_weight
    ]


def _topic_frontier(part: tuple[RankingJob, int, Sequence[float]]) -> tuple[int, list[FrontierPoint]]:
    job, topic_id, weights = part
    if not isinstance(job.policy, OptimalList | OptimalSequence):
        raise EvenrankError(f"the frontier is that of optimal, not of {job.policy.name}")
    prepared = job.prepare(topic_id)
    if prepared is None:
        return topic_id, []
    return topic_id, frontier(*prepared, job.topic_request(prepared.candidates), weights, job.policy)


def _point(task: Task, weight: float, certificate: dict[str, float]) -> FrontierPoint:
    """The measure itself is the second number in Task 1, whatever the weight; the expected precision in Task 2."""
    score = certificate["relevance_share"] * certificate["AWRF"] if task == 1 else certificate["expected_precision"]
    return FrontierPoint(
        fairness=weight,
        relevance_share=certificate["relevance_share"],
        measure=certificate[MEASURES[task]],
        second=score,
        gap=certificate["gap"],
    )


LABELS: dict[Task, str] = {
    1: "AWRF, estimated (higher is fairer)",
    2: "expected exposure loss EE-L, estimated (lower is fairer)",
}


def draw_frontier(
    task: Task, frontiers: Sequence[Sequence[FrontierPoint]], mean: Sequence[FrontierPoint], path: Path
) -> None:
    """Write the figure, a thin line for each topic and a strong one for their mean; the same frontiers give the same
    bytes."""
    from evenrank.io.figures import COLOURS, GRID, clean_axes, figure_style, new_figure, save_figure_as

    with figure_style():
        figure, axes = new_figure(6.4, 4.4)
        for points in frontiers if len(frontiers) > 1 else ():
            axes.plot(*_line(points), color=GRID, linewidth=0.7, zorder=1)
        axes.plot(*_line(mean), "o-", color=COLOURS[0], markersize=4, zorder=2)
        for point in mean:
            place = (point.relevance_share, point.measure)
            axes.annotate(f"{point.fairness:g}", place, fontsize=7, xytext=(3, 4), textcoords="offset points")
        n_topics = f"mean of {len(frontiers)} topics" if len(frontiers) > 1 else "one topic"
        axes.set(xlabel="relevance kept, of the order by relevance", ylabel=LABELS[task])
        axes.set_title(f"Task {task}, {n_topics}; numbers are weights of fairness", fontsize=9)
        if task == 2 and min(point.measure for points in (*frontiers, mean) for point in points) > 0.0:
            axes.set_yscale("log")
        clean_axes(axes)
        save_figure_as(figure, path)


def _line(points: Sequence[FrontierPoint]) -> tuple[list[float], list[float]]:
    return [point.relevance_share for point in points], [point.measure for point in points]
