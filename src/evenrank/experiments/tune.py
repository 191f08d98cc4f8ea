"""`evenrank.tune`: the settings of a policy that do best on training queries, within a stated budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.settings import setting_texts
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.experiments.data import CollectionData, OwnData, PolicyChoice, StudyData, policy_name
from evenrank.experiments.search_space import MAX_DRAWS, Chosen, Space, draw_settings, policy_space
from evenrank.experiments.trials import Trial, run_trials
from evenrank.io.atomic import write_json
from evenrank.measures.registry import Named, as_measure, listed_measures
from evenrank.policies.registry import make_policy
from evenrank.scoring.tables import Cell, Column, Table, TableResult
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import Target

Method = Literal["random", "halving"]
METHODS: dict[str, str] = {
    "random": "as many combinations as the budget says, each on all training queries",
    "halving": "three times as many on a ninth of the queries; the best third continues with three times the queries",
}
ETA = 3
"""Successive halving: from round to round a third of the combinations stays, on three times the queries."""
MAX_BUDGET = 10_000
MAX_ROWS = 10
"""Combinations that a printed result lists."""


@dataclass(frozen=True)
class Tried:
    """One combination of settings and what it reached."""

    settings: Chosen
    """What differs from the policy's defaults."""
    n_queries: int
    """Training queries it was tried on."""
    value: float
    """Mean of the measures over these queries; NaN when it failed."""
    error: str = ""


@dataclass(frozen=True, repr=False)
class Tuned(TableResult):
    """The best settings that were tried, and everything that was."""

    data: str
    policy: str
    task: Task
    settings: dict[str, str]
    """The best settings, as text; empty when the defaults were best."""
    measures: tuple[str, ...]
    higher_is_better: bool
    method: str
    budget: int
    queries: tuple[str, ...]
    """Training queries, on which all values are."""
    seed: int
    space: Mapping[str, Any]
    """What values were drawn from, by setting."""
    tried: tuple[Tried, ...]
    """In the order in which they were tried; the first has the policy's defaults."""

    @property
    def value(self) -> float:
        """What the best settings reached on all training queries."""
        best = tuple(sorted(self.settings.items()))
        return next(one.value for one in reversed(self.tried) if one.settings == best)

    @property
    def default_value(self) -> float:
        """What the defaults reached on all training queries."""
        return next(
            one.value
            for one in self.tried
            if one.settings == self.tried[0].settings and one.n_queries == len(self.queries)
        )

    def record(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "schema": "evenrank.tune/1",
            "evenrank_version": version("evenrank"),
            "data": self.data,
            "policy": self.policy,
            "task": self.task,
            "settings": self.settings,
            "value": self.value,
            "default_value": self.default_value,
            "measures": list(self.measures),
            "method": self.method,
            "budget": self.budget,
            "queries": list(self.queries),
            "seed": self.seed,
            "space": dict(self.space),
            "tried": [
                {
                    "settings": dict(one.settings),
                    "n_queries": one.n_queries,
                    "value": None if math.isnan(one.value) else one.value,
                    **({"error": one.error} if one.error else {}),
                }
                for one in self.tried
            ],
        }

    def write(self, path: FilePath) -> Path:
        """The record as a JSON file."""
        write_json(path, self.record())
        return Path(path)

    def table(self) -> Table:
        """The best combinations that were tried on all training queries, best first."""
        sign = -1.0 if self.higher_is_better else 1.0
        whole = {one.settings: one for one in self.tried if one.n_queries == len(self.queries)}
        ordered = sorted(whole.values(), key=lambda one: (math.isnan(one.value), sign * one.value))
        columns = (Column("value", digits=4), Column("settings"))
        rows: list[tuple[Cell, ...]] = [(one.value, shown_settings(one.settings)) for one in ordered[:MAX_ROWS]]
        caption = f"{self.policy} on {len(self.queries)} training queries of {self.data}: " + ", ".join(self.measures)
        return Table(columns, tuple(rows), caption)

    def _shown(self) -> tuple[list[Table], list[str]]:
        return [self.table()], []


def shown_settings(settings: Chosen) -> str:
    """Settings in one line."""
    return " ".join(f"{name}={text}" for name, text in settings) or "(defaults)"


@dataclass(frozen=True)
class TuneTask:
    """One policy to tune on one data set."""

    data: StudyData
    policy: PolicyChoice
    measures: tuple[Named, ...]
    budget: int
    method: Method
    fixed: Mapping[str, object]
    given: Mapping[str, object] | None
    seed: int
    most_queries: int | None = None
    """Training queries that are used at most, drawn at random; None: all."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method", self.method, METHODS)
        if type(self.budget) is not int or not 1 <= self.budget <= MAX_BUDGET:
            raise EvenrankError(f"budget is {self.budget!r} (give a whole number of trials from 1 to {MAX_BUDGET:,})")
        if not self.data.queries("train"):
            fix = "give a train_share above 0, or no policy to tune"
            raise EvenrankError(f"{self.data.name}: there is no query to tune {policy_name(self.policy)} on ({fix})")
        make_policy(self.policy, self.data.task, setting_texts(self.fixed))
        if len(directions := {as_measure(one, self.data.task).higher_is_better for one in self.measures}) != 1:
            found = ", ".join(map(str, self.measures)) if directions else "none"
            raise EvenrankError(f"measures to tune by: {found} (give some that are all better when higher, or lower)")

    @property
    def higher_is_better(self) -> bool:
        return as_measure(self.measures[0], self.data.task).higher_is_better

    @cached_property
    def space(self) -> Space:
        space = policy_space(self.policy, self.given, self.data.task)
        return {name: values for name, values in space.items() if name not in self.fixed}

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """The training queries in random order, so that the first ones are a sample."""
        names = self.data.queries("train")
        order = derive(self.seed, "queries", len(names)).permutation(len(names))
        return tuple(names[at] for at in order[: self.most_queries].tolist())

    def combinations(self) -> list[Chosen]:
        """The defaults, and as many different ones as the budget pays for and the values allow."""
        n_wanted = self.budget * (ETA if len(self.rounds) > 1 else 1)
        rng = derive(self.seed, "tune", policy_name(self.policy))
        found = {tuple(sorted(setting_texts(self.fixed).items())): None}
        n_repeated = 0
        while self.space and len(found) < n_wanted and n_repeated < MAX_DRAWS:
            drawn = draw_settings(self.policy, self.data.task, self.space, self.fixed, rng)
            n_repeated = n_repeated + 1 if drawn in found else 0
            found[drawn] = None
        return list(found)

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """Queries of each round."""
        n = len(self.queries)
        small = [round(n / ETA**power) for power in (2, 1)]
        return (*small, n) if self.method == "halving" and small[0] >= 1 and self.budget >= ETA else (n,)

    def trials(self, combinations: Sequence[Chosen], n_queries: int) -> list[Trial]:
        return [
            Trial(self.data, self.policy, settings, self.queries[:n_queries], self.measures, self.seed)
            for settings in combinations
        ]

    def kept(self, tried: Sequence[Tried]) -> list[Chosen]:
        """The best third of a round, the defaults always among them."""
        sign = -1.0 if self.higher_is_better else 1.0
        ordered = sorted(tried, key=lambda one: (math.isnan(one.value), sign * one.value))
        n_kept = max(2, round(len(ordered) / ETA))
        return list(dict.fromkeys([tried[0].settings, *(one.settings for one in ordered)]))[:n_kept]

    def result(self, tried: Sequence[Tried]) -> Tuned:
        whole = [one for one in tried if one.n_queries == len(self.queries) and not math.isnan(one.value)]
        if not whole:
            raise EvenrankError(f"{policy_name(self.policy)} on {self.data.name}: every trial failed: {tried[0].error}")
        best = (max if self.higher_is_better else min)(whole, key=lambda one: one.value)
        return Tuned(
            data=self.data.name,
            policy=policy_name(self.policy),
            task=self.data.task,
            settings=dict(best.settings),
            measures=tuple(map(str, self.measures)),
            higher_is_better=self.higher_is_better,
            method=self.method,
            budget=self.budget,
            queries=self.queries,
            seed=self.seed,
            space={name: values.describe() for name, values in self.space.items()},
            tried=tuple(tried),
        )


def run_tasks(tasks: Sequence[TuneTask], folder: Path | None, workers: int | None) -> list[Tuned]:
    """All tasks, round by round together, so that processes are never idle while others have work."""
    open_combinations = [task.combinations() for task in tasks]
    tried: list[list[Tried]] = [[] for _ in tasks]
    for number in range(max(len(task.rounds) for task in tasks) if tasks else 0):
        going = [at for at, task in enumerate(tasks) if number < len(task.rounds)]
        trials = [tasks[at].trials(open_combinations[at], tasks[at].rounds[number]) for at in going]
        found = iter(run_trials([trial for part in trials for trial in part], folder, workers, f"round {number + 1}"))
        for at, part in zip(going, trials, strict=True):
            pairs = [(trial, next(found)) for trial in part]
            done = [Tried(a.settings, len(a.queries), b.mean(a.measures), b.error) for a, b in pairs]
            tried[at] += done
            open_combinations[at] = tasks[at].kept(done)
    return [task.result(done) for task, done in zip(tasks, tried, strict=True)]


def usual_tuning_measures(data: StudyData) -> tuple[str, ...]:
    """What policies are tuned by: the task's main measure, of lists its mean over depths."""
    return tuple(one for one in data.usual_measures() if one.partition("@")[0] == "Score") or ("EE-L",)


def tune(
    data: Collection | FilePath | OwnData,
    policy: PolicyChoice = "optimal",
    task: Task = 1,
    *,
    budget: int = 24,
    method: Method = "random",
    measures: Named | Iterable[Named] = (),
    settings: Mapping[str, object] | None = None,
    space: Mapping[str, object] | None = None,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    target: Target = "track",
    model: str = "untrained",
    seed: int = 0,
    workers: int | None = None,
    folder: FilePath | None = None,
) -> Tuned:
    """The settings of a policy that do best on the training topics of a collection, or on queries of one's own.

    `budget` is the number of combinations of settings that may be tried on all training queries: so many with the
    method `random`; with `halving`, three times as many on few queries, of which the best third continues, at the same
    cost. The policy's defaults are always among them. `measures` are what is compared, their mean if there are several:
    by default Score at 10, 20, 50, 100 and full depth, or EE-L. `settings` are fixed; `space` says what to draw from,
    by setting: a list of values, or a range `{"low": 0.1, "high": 10, "log": True}`; by default every number, word and
    switch of the policy that weighs one aim against another: not what is demanded (`min_precision`) or how long to
    compute (`proof`). Evaluation topics are never looked at. With a `folder`, finished trials are kept there, and an
    interrupted search resumes. The same seed gives the same result on any number of workers; a policy given as a class
    or an object is tried in this process.
    """
    if isinstance(data, OwnData):
        chosen: StudyData = data
    else:
        path, engine = (data.path, data.engine) if isinstance(data, Collection) else (Path(data), None)
        chosen = CollectionData(path, task, str(path), protocol, target, model, engine)
    named = listed_measures(measures)
    known = (str(as_measure(one, chosen.task)) if isinstance(one, str) else one for one in named)
    asked = TuneTask(
        chosen,
        policy,
        tuple(known) or usual_tuning_measures(chosen),
        budget,
        method,
        settings or {},
        space,
        seed,
    )
    return run_tasks([asked], None if folder is None else Path(folder), workers)[0]
