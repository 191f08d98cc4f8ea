"""What experiments are made on: the topics of a collection, or queries of one's own, each scored in one call."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from typing import Protocol as Interface

import orjson

from evenrank.core.exposure import GivenAttention, parse_attention
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.measures.registry import Named
from evenrank.policies.registry import PolicyEntry, make_policy
from evenrank.ranking.prepared import PreparedTopics
from evenrank.ranking.rerank import read_inputs, rerank
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.scoring.score import score
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import FILE_NAME
from evenrank.trec.target_choice import Target

Split = Literal["train", "eval"]
PolicyChoice = str | PolicyEntry
"""A policy by name, or a policy of one's own as a class or an object."""
Scores = dict[str, dict[str, float]]
"""Values by measure and query; queries on which a measure is undefined are left out."""
DEPTHS = (10, 20, 50, 100, 1000)
"""Depths at which lists are scored unless others are asked for."""
MOST_PREPARED = 16
"""Collections whose topics a process keeps prepared: those of a world with many seeds are all ranked in each trial."""
SEQUENCE_MEASURES = ("EE-L", "P", "Shown")
"""Measures of sequences of rankings unless others are asked for: fairness, precision, coverage."""


class StudyData(Interface):
    """Queries of two splits, one to tune on and one to score, and what policies reach on them."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    @property
    def task(self) -> Task:
        """1 for one list a query, 2 for a sequence of rankings."""
        ...

    def queries(self, split: Split) -> list[str]:
        """The queries of a split."""
        ...

    def usual_measures(self) -> tuple[str, ...]:
        """Measures that are computed unless others are asked for."""
        ...

    def fingerprint(self) -> str:
        """A checksum of everything that decides scores, but the policy."""
        ...

    def score(
        self,
        policy: PolicyChoice,
        settings: Mapping[str, object],
        queries: Sequence[str],
        measures: Sequence[Named],
        seed: int,
    ) -> Scores:
        """What a policy with these settings reaches on some of the queries."""
        ...


def policy_name(policy: PolicyChoice) -> str:
    """The name of a policy."""
    return policy if isinstance(policy, str) else policy.name


def checksum(*parts: object) -> str:
    """A checksum of plain data."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)).hexdigest()


@dataclass(frozen=True)
class CollectionData:
    """The topics of a collection with an index: tuned on its training topics, scored on its evaluation topics."""

    path: Path
    task: Task = 1
    name: str = ""
    protocol: str | Protocol = DEFAULT_PROTOCOL
    target: Target = field(default="track", hash=False)
    model: str = "untrained"
    engine: object = None
    """The `EngineKind` that opens its index, where no entry point names it."""

    def queries(self, split: Split) -> list[str]:
        topics = Collection.open(self.path).topics
        found = [str(topic.id) for topic in topics if topic.split == split and len(topic.rel_docs)]
        if not found:
            raise EvenrankError(f"{self.path}: no topic of the split {split!r} has relevant pages")
        return found

    def usual_measures(self) -> tuple[str, ...]:
        if self.task == 2:
            return SEQUENCE_MEASURES
        most = settle_protocol(self.protocol).depth(1)
        return ("Score", "nDCG", "AWRF", *(f"Score@{depth}" for depth in DEPTHS if depth < most))

    def fingerprint(self) -> str:
        manifest = (self.path / FILE_NAME).read_bytes().decode()
        return checksum(manifest, self.task, _content(self.protocol), _content(self.target), self.model)

    def score(
        self,
        policy: PolicyChoice,
        settings: Mapping[str, object],
        queries: Sequence[str],
        measures: Sequence[Named],
        seed: int,
    ) -> Scores:
        prepared = _prepared(self.fingerprint(), replace(self, name=""))
        run = prepared.rank(policy, settings, map(int, queries), seed)
        results = evaluate(self.path, [run], self.protocol, measures=measures, n_resamples=2)
        asked = set(queries)  # a protocol may count topics that a run does not answer as empty
        by_topic = {str(topic): row for topic, row in results.runs[0].topics.items() if str(topic) in asked}
        return {name: _defined({topic: row[name] for topic, row in by_topic.items()}) for name in map(str, measures)}


@lru_cache(maxsize=MOST_PREPARED)
def _prepared(fingerprint: str, data: CollectionData) -> PreparedTopics:
    """The topics of a collection, prepared once in each process; another fingerprint is another collection."""
    collection = Collection.open(data.path, engine=data.engine)
    return PreparedTopics(collection, data.task, protocol=data.protocol, target=data.target, model=data.model)


def _defined(values: Mapping[str, float]) -> dict[str, float]:
    return {query: value for query, value in values.items() if not math.isnan(value)}


class OwnData:
    """Queries of one's own: items with expected relevance and groups, as for `rerank`, and the relevance to score by.

    `items`, `groups`, `target` and `attention` are as for `evenrank.rerank`, `relevance` as for `evenrank.score`. With
    `n_rankings` above 1, each query has that many rankings of `k` items. A share of the queries, drawn by `seed`, is
    for tuning, and the others are scored: all of them with a share of 0, none with a share of 1.
    """

    def __init__(
        self,
        items: object,
        groups: object,
        relevance: object,
        target: object | None = None,
        *,
        k: int | None = None,
        n_rankings: int = 1,
        expected: Literal["score", "rank"] = "score",
        attention: GivenAttention = "log",
        train_share: float = 0.5,
        seed: int = 0,
        name: str = "own data",
    ) -> None:
        if not 0.0 <= train_share <= 1.0:
            raise EvenrankError(f"train_share is {train_share:g} (give a share of the queries, from 0 to 1)")
        given = read_inputs(items, groups, target, expected)
        self.attention = parse_attention(attention)
        ends = zip(given.starts[:-1].tolist(), given.starts[1:].tolist(), strict=True)
        self.name, self.groups, self.relevance, self.target = name, groups, relevance, target
        self.k, self.n_rankings, self._train_share, self._seed = k, n_rankings, train_share, seed
        self._items: dict[str, dict[object, float]] = {}
        self._query_of: dict[str, object] = {}
        for query, (start, end) in zip(given.queries, ends, strict=True):
            rows = given.items[given.item[start:end]].tolist()
            self._items[str(query)] = dict(zip(rows, given.believed[start:end].tolist(), strict=True))
            self._query_of[str(query)] = query

    @property
    def task(self) -> Task:
        return 1 if self.n_rankings == 1 else 2

    def queries(self, split: Split) -> list[str]:
        names = list(self._items)
        order = derive(self._seed, "split", len(names)).permutation(len(names))
        n_train = max(round(self._train_share * len(names)), 1 if self._train_share else 0)
        chosen = order[:n_train] if split == "train" else order[n_train:]
        return [names[at] for at in sorted(chosen.tolist())]

    def usual_measures(self) -> tuple[str, ...]:
        if self.task == 2:
            return SEQUENCE_MEASURES
        most = min(self.k or math.inf, max(map(len, self._items.values())))
        return ("Score", "nDCG", "AWRF", *(f"Score@{depth}" for depth in DEPTHS if depth < most))

    def fingerprint(self) -> str:
        inputs = [_content(one) for one in (self.groups, self.relevance, self.target)]
        rows = [[query, [[str(item), value] for item, value in items.items()]] for query, items in self._items.items()]
        return checksum(rows, *inputs, self.k, self.n_rankings, str(self.attention))

    def score(
        self,
        policy: PolicyChoice,
        settings: Mapping[str, object],
        queries: Sequence[str],
        measures: Sequence[Named],
        seed: int,
    ) -> Scores:
        chosen = {self._query_of[query]: self._items[query] for query in queries}
        made = make_policy(policy, self.task, settings)
        aim, read = self.target, self.attention
        found = rerank(chosen, self.groups, aim, made, self.k, self.n_rankings, attention=read, seed=seed)
        scores = score({made.name: found.to_dict()}, self.groups, self.relevance, aim, list(measures), read, self.k)
        by_query = scores.systems[0].queries
        return {
            name: _defined({str(query): row[name] for query, row in by_query.items()}) for name in map(str, measures)
        }


def _content(value: object) -> Any:
    """An input as plain data: the bytes of a file by their checksum, else what it says."""
    if isinstance(value, (str, os.PathLike)) and Path(value).is_file():
        return hashlib.sha256(Path(value).read_bytes()).hexdigest()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return [[str(key), _content(one)] for key, one in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_content(one) for one in value]
    to_csv = getattr(value, "to_csv", None) or getattr(value, "write_csv", None)
    return to_csv() if to_csv else str(value)
