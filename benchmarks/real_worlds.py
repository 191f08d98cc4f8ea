"""Real data as worlds of an experiment: topics of Wikipedia, queries of TREC 2019, law students, credit, recidivism.

None of it is part of the project; what is missing beside the checkout is left out. Scores of people are what they are
ranked by, or are learned from other people; no group is ever shown for a single person. Random halves of one table
overlap, so that differences between policies look surer than they are: their tests and intervals are not to be quoted.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import evenrank
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.experiments.data import OwnData, Scores, Split, StudyData, checksum
from evenrank.policies.policy import wants_learning
from evenrank.policies.registry import make_policy
from evenrank.ranking.job import Prepared, RankingJob
from evenrank.ranking.record import run_from_topics
from evenrank.trec.import_files import ImportFiles, import_collection
from real_sample import SAMPLE, has_sample
from real_topics import WindowPart, held_out

SHARED = SAMPLE.parents[1]
PEOPLE = SHARED / "data" / "people"
TREC_2019 = SHARED / "golden-2019" / "data"
DEPTHS = ("Score@10", "Score@20", "Score@50")
SHORT, N_SEQUENCE = 20, 20
"""Ranks of each ranking of people in Task 2, and rankings of a sequence."""


@dataclass(frozen=True)
class WindowTopics:
    """Half of the 57 real topics to learn and tune on, the others to score, all inside their judged windows."""

    name: str
    task: Task
    folder: Path
    remainder: int
    """Which half is scored."""

    @cached_property
    def _part(self) -> WindowPart:
        return WindowPart(held_out(evenrank.Collection.open(self.folder), self.remainder), 0, self.task, "known")

    @cached_property
    def _prepared(self) -> dict[tuple[str, bool], Prepared | None]:
        return {}

    def queries(self, split: Split) -> list[str]:
        return [str(topic.id) for topic in self._part.collection.topics if topic.split == split]

    def usual_measures(self) -> tuple[str, ...]:
        return ("Score", "nDCG", "AWRF", *DEPTHS, "Score@100") if self.task == 1 else ("EE-L", "P", "Shown")

    def fingerprint(self) -> str:
        return checksum("57 real topics", self.remainder, self.task)

    def _prepare(self, job: RankingJob, query: str) -> Prepared | None:
        key = (query, bool(getattr(job.policy, "needs_beliefs", False)))
        if key not in self._prepared:
            self._prepared[key] = job.prepare(int(query))
        return self._prepared[key]

    def score(
        self, policy: str, settings: Mapping[str, object], queries: Sequence[str], measures: Sequence[str], seed: int
    ) -> Scores:
        job = replace(self._part.base, policy=make_policy(policy, self.task, settings), seed=seed)
        job = job.learned() if wants_learning(job.policy) else job
        found = [job.rank_prepared(one) for query in queries if (one := self._prepare(job, query)) is not None]
        run = run_from_topics(job, policy, found)
        results = evenrank.evaluate(self._part.collection, [run], measures=measures, min_tier=0, n_resamples=2)
        rows = {str(topic): row for topic, row in results.runs[0].topics.items() if str(topic) in set(queries)}
        return {name: {query: row[name] for query, row in rows.items()} for name in measures}


def real_topics(cache: Path) -> Iterator[StudyData]:
    """The 57 topics, each half scored while the other is learned from."""
    if not has_sample():
        return
    folder = cache / "wikipedia-sample"
    if not any(folder.glob("index*")):
        files = ImportFiles(
            SAMPLE / "metadata.jsonl.gz", SAMPLE / "topics-2021-train.jsonl", (), SAMPLE / "corpus.jsonl.gz"
        )
        evenrank.build_index(import_collection(folder, files))
    tasks: tuple[Task, ...] = (1, 2)
    for task in tasks:
        for remainder, half in enumerate(("even", "odd")):
            yield WindowTopics(f"57 topics, {half}", task, folder, remainder)


def trec_2019() -> Iterator[StudyData]:
    """Queries of TREC 2019 with clicks and groups of authors; the track gave no scores, so they are drawn around the
    clicks: log-odds of ±1 and noise of one unit."""
    path = TREC_2019 / "evaluation-sample-with-relevance.json.gz"
    if not path.exists():
        return
    with gzip.open(TREC_2019 / "article-level.csv.gz", "rt", encoding="utf-8") as lines:
        groups = {row[0]: _shares(row[1:]) for row in csv.reader(lines)}
    rng = derive(0, "TREC 2019")
    items: dict[str, dict[str, float]] = {}
    relevance: dict[str, dict[str, int]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            grades = {one["doc_id"]: one["relevance"] for one in record["documents"]}
            if not any(grades.values()) or sum(one in groups for one in grades) < 2:
                continue
            odds = 2.0 * np.array(list(grades.values())) - 1.0 + rng.standard_normal(len(grades))
            items[str(record["qid"])] = dict(zip(grades, (1.0 / (1.0 + np.exp(-odds))).tolist(), strict=True))
            relevance[str(record["qid"])] = grades
    yield OwnData(items, groups, relevance, name="TREC 2019")


def _shares(groups: Sequence[str]) -> dict[str, float]:
    counts = Counter(group for group in groups if group)
    return {group: n / sum(counts.values()) for group, n in counts.items()}


def people(n_halves: int, k: int) -> Iterator[StudyData]:
    """Random halves of each table of people as queries, lists of `k` and sequences of short rankings; attention is due
    as the relevance of groups."""
    if not PEOPLE.exists():
        return
    credit = _table("german-credit")
    yield from _halves("German credit", credit["score"], credit["score"], credit["sex"], n_halves, k)
    compas = _table("compas-race")
    yield from _halves(
        "COMPAS", compas["Recidivism_rawscore"], compas["Recidivism_rawscore"], compas["Race"], n_halves, k
    )
    for name in ("gender", "race_black"):
        train, test = _table(f"law-{name}-train"), _table(f"law-{name}-test")
        known = np.column_stack([np.ones_like(train["lsat"]), train["lsat"], train["ugpa"]])
        weights = np.linalg.lstsq(known, train["outcome"], rcond=None)[0]
        predicted = np.column_stack([np.ones_like(test["lsat"]), test["lsat"], test["ugpa"]]) @ weights
        yield from _halves(
            f"law students, {name.split('_')[0]}", predicted, test["outcome"], test["protected"], n_halves, k
        )


def _table(name: str) -> dict[str, NDArray[np.float64]]:
    with gzip.open(PEOPLE / f"{name}.csv.gz", "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return {column: np.array([float(row[column]) for row in rows]) for column in rows[0]}


def _halves(
    name: str,
    score: NDArray[np.float64],
    outcome: NDArray[np.float64],
    protected: NDArray[np.float64],
    n_halves: int,
    k: int,
) -> Iterator[OwnData]:
    expected, truth = (_from_0_to_1(values).tolist() for values in (score, outcome))
    groups = {person: "protected" if is_protected else "other" for person, is_protected in enumerate(protected > 0.5)}
    rng = derive(0, name)
    halves = {f"half {at}": rng.permutation(len(score))[: len(score) // 2].tolist() for at in range(n_halves)}
    items = {half: {person: expected[person] for person in chosen} for half, chosen in halves.items()}
    relevance = {half: {person: truth[person] for person in chosen} for half, chosen in halves.items()}
    yield OwnData(items, groups, relevance, name=name, k=k)
    yield OwnData(items, groups, relevance, name=name, k=SHORT, n_rankings=N_SEQUENCE)


def _from_0_to_1(values: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = (values - values.min()) / np.ptp(values)
    return scaled


def real_worlds(cache: Path, n_halves: int, k: int) -> Iterator[StudyData]:
    """All real worlds that are there."""
    yield from people(n_halves, k)
    yield from trec_2019()
    yield from real_topics(cache)
