"""What a policy takes (candidates, target, request), what it gives back, and what it may learn before."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.allowed import setting_faults
from evenrank.core.exposure import LOG, Attention
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import Collected, EvenrankError, UnknownNameError
from evenrank.retrieval.learn.relevant_count import RelevantCount

LEAST_ATTENTION = 1e-6
"""Least attention of a rank, as a share of that of the first."""


@dataclass(frozen=True)
class Beliefs:
    """The expected groups of pages over all the groups that are scored, and how uncertain they are."""

    alignment: Alignment
    """Expected group weights of each page: pages that look alike to the system have the same ones."""
    variance: NDArray[np.float64]
    """For each page type the variance of its group weights, summed over groups."""
    own_share: NDArray[np.float64]
    """For each page type, how much of its own fair exposure the target holds for its groups: between 1/2 and 1."""
    target: EstimatedTarget
    """Estimated target over all the groups that are scored."""

    def take(self, positions: NDArray[np.integer]) -> Beliefs:
        """The beliefs about some of the pages."""
        return replace(self, alignment=self.alignment.take(positions))


@dataclass(frozen=True)
class Candidates:
    """The pages a policy may rank for one topic, best first; arrays run beside each other."""

    topic_id: int
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    """Probability that the page is relevant, calibrated."""
    scores: NDArray[np.float64]
    """Score of the search engine, higher is better; any scale."""
    work_needed: NDArray[np.float64]
    """1 − quality score, in [0, 1]."""
    quality_class: NDArray[np.uint8]
    """Quality class in work order (`records.WORK_ORDER`); `records.NO_CLASS` when unknown."""
    alignment: Alignment
    """Group weights of each page, as the protocol that is served counts them; zeros for a page of no group."""
    vectors: NDArray[np.float32] | None = None
    """Text vector of each page, of length 1; None when no policy asked for them."""
    beliefs: Beliefs | None = None
    """What is expected of groups that the scorer looks at and the system does not know; None when it knows them all."""
    n_relevant: RelevantCount | None = None
    """How many pages of the topic are relevant, found or not: median and 80 % interval. None unless a learned model
    estimated it; the sum of `relevance` is then all that is known."""

    def __len__(self) -> int:
        return len(self.page_ids)

    @cached_property
    def divided(self) -> Alignment:
        """The alignment with every page shared between its groups, so that a page of two groups counts once.

        What groups should get is summed over the groups of a page; shared, it is their mean, and a page gains nothing
        from being in many groups.
        """
        rows = self.alignment.rows
        return Alignment(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0), self.alignment.page_type)

    def utility(self, task: Task) -> NDArray[np.float64]:
        """What showing each page is worth, the best page 1: relevance, in Task 2 times the work needed."""
        worth = self.relevance * self.work_needed if task == 2 else self.relevance
        best = worth.max(initial=0.0)
        return worth / best if best > 0.0 else np.zeros(len(self))

    def take(self, positions: NDArray[np.integer]) -> Candidates:
        """Some of the candidates, in the order asked for."""
        return replace(
            self,
            page_ids=self.page_ids[positions],
            relevance=self.relevance[positions],
            scores=self.scores[positions],
            work_needed=self.work_needed[positions],
            quality_class=self.quality_class[positions],
            alignment=self.alignment.take(positions),
            vectors=None if self.vectors is None else self.vectors[positions],
            beliefs=None if self.beliefs is None else self.beliefs.take(positions),
        )


def rank_weights(attention: Attention, n_ranks: int) -> NDArray[np.float64]:
    """Attention of ranks 1 … n_ranks as policies count it: ranks that nobody reaches keep a little."""
    weights = attention.weights(n_ranks).astype(np.float64)
    return np.maximum(weights, LEAST_ATTENTION * weights[:1])


@dataclass(frozen=True)
class Request:
    """What is wanted of a policy: the task and its size."""

    task: Task
    n_rankings: int
    """1 in Task 1, 100 in Task 2."""
    length: int
    """Pages in a ranking: 1000 in Task 1, 50 in Task 2."""
    attention: Attention = LOG
    """How people read."""

    def weights(self, n_ranks: int | None = None) -> NDArray[np.float64]:
        """Attention of the first ranks of a ranking, by default of all of it."""
        return rank_weights(self.attention, self.length if n_ranks is None else n_ranks)


def ignores_unknown(target: EstimatedTarget, request: Request) -> bool:
    """Whether exposure of fully unknown pages counts for no group, as in Task 1 of 2021."""
    return request.task == 1 and float(target.values[0]) == 0.0


def counted_rows(
    candidates: Candidates, target: EstimatedTarget, request: Request, alignment: Alignment | None = None
) -> NDArray[np.float64]:
    """Alignment rows by page type (divided, unless others are given), without the fully unknown cell where that does
    not count."""
    rows = (alignment or candidates.divided).rows.copy()
    if ignores_unknown(target, request):
        rows[:, 0] = 0.0
    return rows


@dataclass(frozen=True)
class Rankings:
    """What a policy gives back."""

    positions: NDArray[np.intp]
    """Ranking by rank: indices into the candidates, without repetition in a row. Rows are shorter than asked
    when there are fewer candidates."""
    certificate: dict[str, float] = field(default_factory=dict)
    """How far from the best possible list, for policies that can prove it."""


class Policy(Protocol):
    """One way to make fair rankings. Its settings are the fields of a frozen dataclass."""

    name: ClassVar[str]
    """Name on the command line."""
    tasks: ClassVar[tuple[Task, ...]]
    """Tasks it serves."""
    paper_runs: ClassVar[tuple[str, ...]]
    """Runs of the paper's tables whose method it reconstructs from their descriptions; their scores are not its own."""
    citation: ClassVar[str]
    """Where the method comes from."""

    def rank(
        self,
        candidates: Candidates,
        target: EstimatedTarget,
        request: Request,
        rng: np.random.Generator,
    ) -> Rankings:
        """Rankings of the candidates that serve `target`; all randomness comes from `rng`."""
        ...


class CheckedPolicy:
    """A policy whose settings are checked, when it is made, against what their types declare."""

    name: ClassVar[str]
    paper_runs: ClassVar[tuple[str, ...]] = ()

    def faults(self) -> Iterable[str]:
        """What no single type can declare, such as settings that do not fit each other; their types may be wrong."""
        return ()

    def __post_init__(self) -> None:
        if faults := [*setting_faults(self), *self.faults()]:
            raise EvenrankError("\n".join(f"{self.name}: {fault}" for fault in faults))


class PolicyByTask:
    """One name for policies of several tasks, each with settings of its own; the task of a request says which ranks."""

    name: ClassVar[str]
    paper_runs: ClassVar[tuple[str, ...]] = ()
    of_task: ClassVar[Mapping[Task, type[Policy]]]
    """The policy of each task; its fields are the settings."""
    former_settings: ClassVar[Mapping[str, str]] = {}
    """Settings of earlier versions that are still accepted and have no effect, and what to do instead."""

    def __init__(self, **settings: Any) -> None:
        known = {task: [field.name for field in fields(owner)] for task, owner in self.of_task.items()}  # type: ignore[arg-type]
        names = sorted({name for of_task in known.values() for name in of_task})
        for name in [name for name in settings if name in self.former_settings]:
            reason = self.former_settings[name]
            warnings.warn(f"the setting {name} of {self.name} has no effect: {reason}", FutureWarning, stacklevel=2)
            del settings[name]
        if unknown := [name for name in settings if name not in names]:
            raise EvenrankError("\n".join(str(UnknownNameError("setting", name, names)) for name in unknown))
        faults = Collected()
        self._by_task: dict[Task, Policy | None] = {}
        for task, owner in self.of_task.items():
            own = {name: value for name, value in settings.items() if name in known[task]}
            self._by_task[task] = faults.check(partial(owner, **own))
        faults.raise_any()

    def for_task(self, task: Task) -> Policy:
        """The policy of a task, with those of the settings that it has."""
        policy = self._by_task[task]
        assert policy is not None
        return policy

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        """The rankings of the policy for the task that is asked for."""
        return self.for_task(request.task).rank(candidates, target, request, rng)


def parse_policy(text: str) -> tuple[str, dict[str, str]]:
    """Name and settings of `name:setting=value,setting=value`."""
    name, _, rest = text.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair.strip()]
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs}


def settings_of(policy: object) -> dict[str, Any]:
    """The settings of a policy, by name; none of one that is no dataclass."""
    return asdict(policy) if is_dataclass(policy) and not isinstance(policy, type) else {}


@dataclass(frozen=True)
class TrainingTopic:
    """A training topic as a policy learns from it."""

    candidates: Candidates
    wanted: EstimatedTarget
    """The target that the topic's training judgments give."""
    relevant_mass: NDArray[np.float64]
    """What the pages that the judgments name give to each group, as the task counts it (`estimated.group_mass`)."""
    is_relevant: NDArray[np.bool_]
    """Which candidates the judgments name."""


@runtime_checkable
class LearningPolicy(Protocol):
    """A policy with settings to learn."""

    @property
    def learned(self) -> bool:
        """Whether `fit` is wanted before ranking."""
        ...

    def fit(self, training: Sequence[TrainingTopic], request: Request) -> Policy:
        """The policy with its learned settings filled in."""
        ...


def wants_learning(policy: Policy) -> bool:
    """Whether a policy asks to be fitted before ranking."""
    return isinstance(policy, LearningPolicy) and policy.learned
