"""Exposure towards wanted shares (`exposure-disparity`), and LambdaMART, which learns what pages are worth to it.

The University of Glasgow's best runs of the track and its two learned ones, reconstructed from their descriptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Share, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError, load_extra
from evenrank.policies.diversification import background_share, mixed_share, relevance_share
from evenrank.policies.greedy import TypeQueues, fill_row
from evenrank.policies.policy import (
    Candidates,
    CheckedPolicy,
    Rankings,
    Request,
    TrainingTopic,
    counted_rows,
    ignores_unknown,
    settings_of,
)
from evenrank.policies.relevance import relevance_order, scaled, shown_share


class ExposureGap:
    """Utility + weight × alignment · (wanted share × exposure given so far and now − exposure given to the group).

    Exposure of pages that count for no group is left out on both sides. The gap runs on over the rankings.
    """

    def __init__(
        self, rows: NDArray[np.float64], wanted: NDArray[np.float64], weights: NDArray[np.floating], weight: float
    ) -> None:
        self._wanted_of_type = weight * (rows @ wanted)
        self._gain = np.outer(rows.sum(axis=1), self._wanted_of_type) - weight * (rows @ rows.T)
        """What one unit of exposure for a page of the row's type does to the gap of the column's type."""
        self._gap = np.zeros(len(rows))
        self._discounts: list[float] = weights.tolist()

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        values = self._wanted_of_type * self._discounts[slot]
        values += self._gap
        values += heads
        return values

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        self._gap += self._discounts[slot] * self._gain[page_type]


def best_background(
    shares: Sequence[NDArray[np.float64]], worlds: Sequence[NDArray[np.float64]], wanted: Sequence[NDArray[np.float64]]
) -> float:
    """The weight w in [0, 1] for which (1 − w) · share + w · world is nearest to what was wanted (least squares)."""
    direction = np.concatenate([world - share for world, share in zip(worlds, shares, strict=True)])
    distance = np.concatenate([target - share for target, share in zip(wanted, shares, strict=True)])
    length = float(direction @ direction)
    return float(np.clip(direction @ distance / length, 0.0, 1.0)) if length > 0.0 else 0.5


@dataclass(frozen=True)
class ExposureDisparity(CheckedPolicy):
    """Wanted exposure is a mix of the world and of the candidates' relevance by group."""

    name: ClassVar[str] = "exposure-disparity"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ("UoGTrDExpDisT1", "UoGTrDExpDisT2", "UoGTrDExpDisLT1", "UoGTrLambT2")
    run_settings: ClassVar[dict[str, str]] = {
        "UoGTrDExpDisLT1": "learned=true,learner=lambdamart",
        "UoGTrLambT2": "learned=true,learner=lambdamart",
    }
    citation: ClassVar[str] = (
        "the track's overview; exposure as in Biega et al., Equity of attention, SIGIR 2018; Burges, From RankNet to "
        "LambdaRank to LambdaMART, 2010"
    )

    untuned: ClassVar[tuple[str, ...]] = ("learner",)
    """LambdaMART needs an extra."""

    weight: Weight = 0.1
    """Value of one unit of missing exposure against the best page's relevance."""
    background: Share = 0.5
    """Part of the wanted exposure that follows the world; the rest follows the relevance of the candidates."""
    learned: bool = False
    """Learn on the training topics before ranking, as `learner` says."""
    learner: Literal["share", "lambdamart"] = "share"
    """What is learned: `background`, one number, by least squares (share), or what a page is worth, from its relevance
    and from what its groups are among the candidates and in the world, by LambdaMART (extra `learn`)."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        share = relevance_share(candidates, request.task, drop_unknown=ignores_unknown(target, request))
        wanted = mixed_share(share, target.space, self.background)
        gap = ExposureGap(counted_rows(candidates, target, request), wanted, request.weights(), self.weight)
        queues = TypeQueues(candidates, self.worth(candidates, target, request), request.length)
        rankings = [fill_row(queues, gap, request.length) for _ in range(request.n_rankings)]
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, -1))

    def worth(self, candidates: Candidates, target: EstimatedTarget, request: Request) -> NDArray[np.float64]:
        """What showing each page is worth, the best page 1."""
        return candidates.utility(request.task)

    def fit(self, training: Sequence[TrainingTopic], request: Request) -> ExposureDisparity:
        """This policy with `background`, or what pages are worth, learned from topics with known relevant pages."""
        if self.learner == "lambdamart":
            return LearnedDisparity(**settings_of(self), trees=train_trees(training, request))
        shares, worlds, wanted = [], [], []
        for topic in training:
            drop = ignores_unknown(topic.wanted, request)
            share = relevance_share(topic.candidates, request.task, drop_unknown=drop)
            if share is not None:
                shares.append(share)
                worlds.append(background_share(share, topic.wanted.space))
                wanted.append(topic.wanted.values)
        if not shares:
            return self
        return replace(self, background=best_background(shares, worlds, wanted))


TREES: dict[str, object] = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "learning_rate": 0.1,
    "min_data_in_leaf": 20,
    "label_gain": [0, 1, 3, 7],
    "monotone_constraints": [1, 1, 1, 0, 0, 0, 0],
    "lambdarank_truncation_level": 100,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "seed": 0,
    "verbosity": -1,
}
"""Parameters of LightGBM; one thread and a fixed seed give the same trees on every machine."""
N_TREES = 100


def page_features(candidates: Candidates, target: EstimatedTarget, request: Request) -> NDArray[np.float64]:
    """What LambdaMART knows of each candidate: relevance, work, and its groups among the candidates and in the world.

    The last column is what its groups lack in the order by relevance of what they have in the world.
    """
    ignored = ignores_unknown(target, request)
    share = relevance_share(candidates, request.task, drop_unknown=ignored)
    world = background_share(share, target.space)
    rows = counted_rows(candidates, target, request)
    page_type = candidates.alignment.page_type
    order = relevance_order(candidates)
    rank = np.empty(len(order))
    rank[order] = np.arange(1, len(order) + 1)
    of_type = np.stack(
        [
            rows @ (world if share is None else share),
            rows @ world,
            rows @ (world - shown_share(rows, candidates, request)),
        ]
    )
    return np.column_stack(
        [
            candidates.relevance,
            scaled(candidates.scores.astype(np.float32)),
            1.0 / rank,
            candidates.work_needed,
            of_type.T[page_type],
        ]
    )


def page_grades(topic: TrainingTopic, request: Request) -> NDArray[np.int64]:
    """Labels to learn from: 0 for a page that is not relevant, else 1, and one more each for groups that the order by
    relevance shows less than wanted and, in Task 2, for more work needed than most relevant pages do."""
    candidates = topic.candidates
    rows = counted_rows(candidates, topic.wanted, request)
    lacking = rows @ (topic.wanted.values - shown_share(rows, candidates, request)) > 0.0
    grades = 1 + lacking[candidates.alignment.page_type].astype(np.int64)
    if request.task == 2 and topic.is_relevant.any():
        grades += candidates.work_needed > np.median(candidates.work_needed[topic.is_relevant])
    return np.where(topic.is_relevant, grades, 0)


def train_trees(training: Sequence[TrainingTopic], request: Request) -> str:
    """LambdaMART trained on the topics that have relevant pages among their candidates, as LightGBM's text."""
    learned = [topic for topic in training if topic.is_relevant.any()]
    if not learned:
        raise EvenrankError("lambdamart learns from training topics with relevant pages, and there are none")
    lightgbm = _lightgbm()
    data = lightgbm.Dataset(
        np.concatenate([page_features(topic.candidates, topic.wanted, request) for topic in learned]),
        np.concatenate([page_grades(topic, request) for topic in learned]),
        group=[len(topic.candidates) for topic in learned],
    )
    return str(lightgbm.train(TREES, data, N_TREES).model_to_string())


def _lightgbm() -> Any:
    return load_extra("lightgbm", "LambdaMART", "learn")


@lru_cache(maxsize=4)
def _booster(trees: str) -> Any:
    return _lightgbm().Booster(model_str=trees)


@dataclass(frozen=True)
class LearnedDisparity(ExposureDisparity):
    """The policy after learning: what a page is worth is what the trees say."""

    trees: str = ""
    """LightGBM's text."""

    def worth(self, candidates: Candidates, target: EstimatedTarget, request: Request) -> NDArray[np.float64]:
        values = _booster(self.trees).predict(page_features(candidates, target, request), num_threads=1)
        return np.asarray(scaled(np.asarray(values, np.float32)), np.float64)
