"""`evenrank.experiment`: a study from data to scores, tests and a report; resumable, cached by content, parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.settings import setting_texts
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, listed
from evenrank.experiments.data import CollectionData, OwnData, PolicyChoice, Scores, Split, StudyData, checksum
from evenrank.experiments.study import DataSpec, PolicySpec, Study, read_study
from evenrank.experiments.tradeoff import AXES, undominated, upward
from evenrank.experiments.trials import Trial, run_trials
from evenrank.experiments.tune import Tuned, TuneTask, run_tasks, usual_tuning_measures
from evenrank.measures.registry import Named
from evenrank.retrieval.engine.indexing import build_index
from evenrank.scoring.compare import TESTS, holm
from evenrank.scoring.tables import Table, TableResult
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings

WORLDS = "worlds"
"""Folder of generated collections, inside that of the experiment."""
N_RESAMPLES = 2000
"""Resamples of queries for upper limits of regret."""


@dataclass(frozen=True)
class PooledData:
    """The queries of several data sets as one, such as those of the seeds of a world."""

    name: str
    parts: tuple[StudyData, ...]

    @property
    def task(self) -> Task:
        return self.parts[0].task

    def queries(self, split: Split) -> list[str]:
        return [f"{at}:{query}" for at, part in enumerate(self.parts) for query in part.queries(split)]

    def usual_measures(self) -> tuple[str, ...]:
        return self.parts[0].usual_measures()

    def fingerprint(self) -> str:
        return checksum([part.fingerprint() for part in self.parts])

    def score(
        self,
        policy: PolicyChoice,
        settings: Mapping[str, object],
        queries: Sequence[str],
        measures: Sequence[Named],
        seed: int,
    ) -> Scores:
        pooled: Scores = {str(measure): {} for measure in measures}
        for at, part in enumerate(self.parts):
            mine = [query.partition(":")[2] for query in queries if query.partition(":")[0] == str(at)]
            scores = part.score(policy, settings, mine, measures, seed) if mine else {}
            for measure, values in scores.items():
                pooled[measure] |= {f"{at}:{query}": value for query, value in values.items()}
        return pooled


@dataclass(frozen=True)
class Cell:
    """One policy on one data set: its settings and the scores on the queries that were not tuned on."""

    data: str
    task: Task
    policy: str
    """Label of the policy."""
    settings: dict[str, str]
    scores: Scores
    tuned: Tuned | None = None
    error: str = ""

    def mean(self, measure: str) -> float:
        """The mean over queries; NaN where there are none."""
        values = list(self.scores.get(measure, {}).values())
        return float(np.mean(values)) if values else float("nan")


@dataclass(frozen=True)
class Pair:
    """Two policies on one data set and measure."""

    data: str
    task: Task
    measure: str
    first: str
    second: str
    difference: float
    """Mean over the queries that both have of first minus second."""
    n_queries: int
    p: float
    p_holm: float
    """Corrected for all pairs of policies on the data set and measure."""


@dataclass(frozen=True)
class Regret:
    """What a policy loses against the best one of a data set, by one measure."""

    data: str
    task: Task
    measure: str
    policy: str
    value: float
    regret: float
    """Share of the best policy's mean where higher is better; otherwise the difference to it."""
    upper: float
    """Upper limit from resampled queries, at a level that holds for all data sets of the task together; NaN where
    there is one query."""


@dataclass(frozen=True, repr=False)
class Experiment(TableResult):
    """The result of a study."""

    study: Study
    cells: tuple[Cell, ...]
    n_queries: Mapping[str, Mapping[Split, int]]
    """Queries of each split, by data set."""

    def of(self, data: str, task: Task) -> list[Cell]:
        """The policies on one data set that could be scored."""
        return [cell for cell in self.cells if (cell.data, cell.task) == (data, task) and not cell.error]

    @property
    def groups(self) -> list[tuple[str, Task]]:
        """Data sets and tasks in the order of the study."""
        return list(dict.fromkeys((cell.data, cell.task) for cell in self.cells))

    def measures(self, data: str, task: Task) -> tuple[str, ...]:
        """Measures that were computed there."""
        return tuple(next((cell.scores for cell in self.of(data, task)), {}))

    @cached_property
    def tests(self) -> tuple[Pair, ...]:
        """All pairs of policies on every data set and measure."""
        return tuple(
            pair
            for data, task in self.groups
            for measure in self.measures(data, task)
            for pair in _pairs(self.of(data, task), measure, self.study)
        )

    @cached_property
    def regrets(self) -> tuple[Regret, ...]:
        """What each policy loses against the best, on every data set and measure."""
        n_sets = {task: sum(task == other for _, other in self.groups) for _, task in self.groups}
        return tuple(
            regret
            for data, task in self.groups
            for measure in self.measures(data, task)
            for regret in _regrets(self.of(data, task), measure, self.study, n_sets[task])
        )

    def pareto(self, data: str, task: Task) -> list[str]:
        """Policies that no other one is at least as relevant and as fair as, and better in one of them."""
        cells = [cell for cell in self.of(data, task) if all(axis in cell.scores for axis in AXES[task])]
        points = np.array([[upward(axis, task) * cell.mean(axis) for axis in AXES[task]] for cell in cells])
        return [cells[at].policy for at in np.flatnonzero(undominated(points.reshape(len(cells), len(AXES[task]))))]

    @property
    def notes(self) -> list[str]:
        """What the numbers cannot say."""
        single = [data for data, n in self.n_queries.items() if n["eval"] == 1]
        what = "one query shows what policies do there, not which is better elsewhere: tests and limits need several"
        return [f"{data}: {what}" for data in single]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "schema": "evenrank.experiment/1",
            "evenrank_version": version("evenrank"),
            "study": self.study.record(),
            "n_queries": self.n_queries,
            "cells": [
                {
                    "data": cell.data,
                    "task": cell.task,
                    "policy": cell.policy,
                    "settings": cell.settings,
                    "means": {measure: cell.mean(measure) for measure in cell.scores},
                    "scores": cell.scores,
                    "tuned": None if cell.tuned is None else cell.tuned.record(),
                    "error": cell.error,
                }
                for cell in self.cells
            ],
            "regrets": [asdict(one) for one in self.regrets],
            "tests": {"test": self.study.test, "correction": "Holm", "pairs": [asdict(one) for one in self.tests]},
            "pareto": [{"data": data, "task": task, "policies": self.pareto(data, task)} for data, task in self.groups],
        }

    def write(self, folder: FilePath) -> Path:
        """The report: `report.html`, tables as LaTeX and TSV, figures where matplotlib is installed, `results.json`."""
        from evenrank.experiments.report import write_study

        return write_study(self, Path(folder))

    def _shown(self) -> tuple[list[Table], list[str]]:
        from evenrank.experiments.report import scores_table

        return [scores_table(self, data, task) for data, task in self.groups], self.notes


def _values(cells: Sequence[Cell], measure: str) -> NDArray[np.float64]:
    """Policy by query, for the queries on which the measure is defined for all."""
    shared = [query for query in cells[0].scores[measure] if all(query in c.scores[measure] for c in cells)]
    return np.array([[cell.scores[measure][query] for query in shared] for cell in cells])


def _pairs(cells: Sequence[Cell], measure: str, study: Study) -> list[Pair]:
    pairs = list(combinations(cells, 2))
    values = [_values(pair, measure) for pair in pairs]
    differences = [both[0] - both[1] for both in values]
    p_values = [TESTS[study.test](each, study.seed) if len(each) else 1.0 for each in differences]
    return [
        Pair(
            a.data, a.task, measure, a.policy, b.policy, float(each.mean()) if len(each) else 0.0, len(each), p, p_holm
        )
        for (a, b), each, p, p_holm in zip(pairs, differences, p_values, holm(p_values), strict=True)
    ]


def _regrets(cells: Sequence[Cell], measure: str, study: Study, n_sets: int) -> list[Regret]:
    values = _values(cells, measure)
    if not values.size:
        return []
    higher = study.measure(measure, cells[0].task).higher_is_better
    n_queries = values.shape[1]
    rng = derive(study.seed, "regret", n_queries)
    weights = rng.multinomial(n_queries, np.full(n_queries, 1.0 / n_queries), N_RESAMPLES) / n_queries
    means = values.mean(axis=1)
    limits = np.quantile(_regret_of(weights @ values.T, higher), 1.0 - study.level / n_sets, axis=0)
    limits = limits if n_queries > 1 else np.full(len(cells), np.nan)
    return [
        Regret(cell.data, cell.task, measure, cell.policy, float(mean), float(regret), float(limit))
        for cell, mean, regret, limit in zip(cells, means, _regret_of(means, higher), limits, strict=True)
    ]


def _regret_of(means: NDArray[np.float64], higher: bool) -> NDArray[np.float64]:
    """What each policy (last axis) loses against the best."""
    if not higher:
        return np.asarray(means - means.min(axis=-1, keepdims=True))
    best = means.max(axis=-1, keepdims=True)
    return np.asarray(np.where(best == 0.0, 0.0, 1.0 - means / np.where(best == 0.0, 1.0, best)))


def experiment(
    study: FilePath | Mapping[str, Any] | Study, folder: FilePath, *, workers: int | None = None
) -> Experiment:
    """A study, from a TOML file or a dict of the same, run and reported in `folder`.

    In a dict, policies and measures may be objects, and own data may be anything that `rerank` and `score` take.

    Worlds are generated, policies tuned on training queries on the same budget each, and all policies scored on the
    other queries. Everything that is finished is kept in the folder by its content: an interrupted or changed study
    resumes with what it can use. `report.html` there is the report, `results.json` has everything.
    """
    asked = study if isinstance(study, Study) else read_study(study)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    result = run_study(asked, [made for spec in asked.data for made in open_data(spec, place)], place, workers)
    result.write(place)
    return result


def run_study(study: Study, sets: Sequence[StudyData], folder: Path, workers: int | None = None) -> Experiment:
    """A study on data sets that are open already; finished trials are kept in the folder."""
    for data in sets:
        train, scored = data.queries("train"), data.queries("eval")
        if both := sorted(set(train) & set(scored)):
            raise EvenrankError(f"{data.name}: queries to tune on would be scored: {listed(both)} (divide them)")
        if not scored:
            many = f"all {len(train):,} queries are" if len(train) > 1 else "its only query is"
            fix = "give more queries or a smaller train_share; train_share = 0 scores all, where no policy is tuned"
            raise EvenrankError(f"{data.name}: {many} for tuning, so none is left to score ({fix})")
    todo = [(data, policy) for data in sets for policy in study.policies if data.task in policy.tasks]
    tuned = _tune_all(study, todo, folder, workers)
    cells = _score_all(study, todo, tuned, folder, workers)
    splits: tuple[Split, ...] = ("train", "eval")
    counts = {data.name: {split: len(data.queries(split)) for split in splits} for data in sets}
    return Experiment(study, tuple(cells), counts)


def open_data(spec: DataSpec, folder: Path) -> list[StudyData]:
    """The data set of a specification for each of its tasks."""
    made: list[StudyData] = []
    for task in spec.tasks:
        if spec.own:
            made.append(OwnData(**spec.own, name=spec.name))
        elif spec.collection is not None:
            made.append(CollectionData(spec.collection, task, spec.name, **spec.options))
        else:
            paths = [world_folder(settings, folder) for settings in spec.worlds]
            parts = tuple(CollectionData(path, task, spec.name, **spec.options) for path in paths)
            made.append(parts[0] if len(parts) == 1 else PooledData(spec.name, parts))
    return made


def world_folder(settings: GenerateSettings, folder: Path, workers: int | None = None) -> Path:
    """The collection of a world with its index, inside `folder`; what is missing of them is made."""
    place = folder / WORLDS / checksum(settings.record(), version("evenrank"))[:16]
    if not (place / "manifest.json").exists():
        generate_collection(place, settings, workers=workers)
    build_index(place, workers=workers)  # a finished index is opened, one that was interrupted is finished
    return place


def _tune_all(
    study: Study, todo: Sequence[tuple[StudyData, PolicySpec]], folder: Path, workers: int | None
) -> dict[tuple[str, Task, str], Tuned]:
    """What the tuned policies chose on each data set; all with the same budget and seed."""
    tasks = {
        (data.name, data.task, policy.label): TuneTask(
            data,
            policy.name,
            usual_tuning_measures(data),
            study.budget,
            study.method,
            policy.settings,
            policy.space,
            study.seed,
            study.tuning_queries,
        )
        for data, policy in todo
        if policy.is_tuned
    }
    return dict(zip(tasks, run_tasks(list(tasks.values()), folder, workers), strict=True))


def _score_all(
    study: Study,
    todo: Sequence[tuple[StudyData, PolicySpec]],
    tuned: Mapping[tuple[str, Task, str], Tuned],
    folder: Path,
    workers: int | None,
) -> list[Cell]:
    """Every policy on the queries that were not tuned on."""
    trials, empty = [], []
    for data, policy in todo:
        chosen = tuned.get((data.name, data.task, policy.label))
        settings = setting_texts(policy.settings) if chosen is None else chosen.settings
        measures = study.measures.get(data.task) or data.usual_measures()
        queries = tuple(data.queries("eval"))
        trials.append(Trial(data, policy.name, tuple(sorted(settings.items())), queries, measures, study.seed))
        empty.append(Cell(data.name, data.task, policy.label, settings, {}, chosen))
    found = run_trials(trials, folder, workers, "scores")
    return [replace(cell, scores=one.scores, error=one.error) for cell, one in zip(empty, found, strict=True)]
