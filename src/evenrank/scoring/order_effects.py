"""How a leaderboard depends on its data: the order of runs again with other targets, pools, assessors and attributes.

Each effect scores all runs of a task again under one change and compares the order with the one as scored. The share of
wrong groups is raised until another run is first in most draws: the breakdown point of an attribute. Pages that only
one run ranks are taken out of the judgments as if it had not been pooled (Zobel, SIGIR 1998). With a judgments file,
each assessor is left out in turn, and pages with differing votes get one vote, drawn at random (Voorhees, SIGIR 1998).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evenrank.core.groups import GroupNames
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.rng import derive
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.progress import track
from evenrank.scoring.evaluate import judged_part, without_withdrawn
from evenrank.scoring.protocol_settings import joined_groups, settle_protocol
from evenrank.scoring.rejudged import scorer
from evenrank.scoring.sensitivity import BLENDS, kendall_tau, main_by_topic, means_of, scored_dimensions, with_errors
from evenrank.scoring.tables import Column, Table, TableResult
from evenrank.trec.assessment.agreement import graded_pages
from evenrank.trec.assessment.coverage import settle_all
from evenrank.trec.assessment.leave_one_out import leave_one_out
from evenrank.trec.assessment.pool import Pool, Tier, build_pool
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.votes import Vote, current_votes, open_store, pages_in
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs

ERROR_RATES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of wrong groups that are tried until another run is first."""
N_DRAWS = 4
"""Draws of wrong groups, and of votes on disputed pages."""


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """The order of the runs under one change."""

    cause: str
    """`target`, `pool`, `assessor`, `disagreement`, or the name of a dimension."""
    change: str
    """What is changed, in words."""
    first: str
    """The run that is first, in most draws where there are several."""
    stays: float
    """Share of the draws in which the run that is first as scored stays first."""
    tau: float
    """Kendall's τ with the order before the change, the mean over draws."""
    shift: float
    """Largest change of a run's mean score, the mean over draws."""


@dataclass(frozen=True, repr=False)
class OrderEffects(TableResult):
    """What changes the order of the runs of one task."""

    task: Task
    measure: str
    first: str
    effects: tuple[OrderEffect, ...]
    breakdown: dict[str, float | None]
    """Dimension → smallest tried share of wrong groups at which another run is first in most draws; None if at none."""
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """A row per change; of the pool, the runs whose pages change the order, and the first run."""
        headings: dict[str, str | Column] = {
            "cause": "",
            "change": "",
            "first": "",
            "stays": Column("stays", "first stays", digits=2),
            "tau": Column("tau", "τ", digits=3),
            "shift": "largest shift",
        }
        shown = (
            one for one in self.effects if one.cause != "pool" or one.tau < 1.0 or one.change.endswith(f" {self.first}")
        )
        return Table.of(shown, headings, f"Task {self.task}: what changes the order by {self.measure}")

    def summary(self) -> list[str]:
        """What an organiser should know, in sentences."""
        said = []
        for name, rate in self.breakdown.items():
            if rate is None:
                said.append(f"{self.first} stays first with up to {ERROR_RATES[-1]:.0%} of the {name} groups wrong")
            else:
                said.append(f"with {rate:.0%} of the {name} groups wrong, another run than {self.first} is first")
        others = [one for one in self.effects if one.cause not in self.breakdown]
        changed = [one.change for one in others if one.stays < 0.5]
        if others:
            what = "; ".join(changed) if changed else "none"
            said.append(f"changes of target, pool and judgments that put another run first: {what}")
        return said

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "summary": self.summary()}

    def _shown(self) -> tuple[list[Table], list[str]]:
        return [self.table()], [*self.summary(), *self.notes]


def order_effects(
    collection: Collection | FilePath,
    runs: GivenRun | Iterable[GivenRun],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: GroupNames = "intersection",
    *,
    judgments: FilePath | None = None,
    pool: FilePath | Pool | None = None,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    **settings: Any,
) -> list[OrderEffects]:
    """What changes the order of runs, by task: the target's blend, the pool, assessors, and wrong attributes.

    `judgments` is a judgments file, without which nothing is known of assessors; the leaderboard is that of the
    collection, which `with_judgments` gives the judgments of the file. `pool` is that of the topics; by
    default the one that the runs themselves give at the scored depth. A task of one run is passed over, unless there is
    no other.
    """
    opened = as_collection(collection)
    opened, loaded, about = without_withdrawn(opened, [as_run(opened, run) for run in given_runs(runs)])
    base = settle_protocol(settle_protocol(protocol, **settings), n_resamples=2, operation_order="any")
    named = joined_groups(groups)
    votes = [] if judgments is None else _votes(judgments, opened)
    pooled = pool if pool is None or isinstance(pool, Pool) else read_pool(pool).with_ids(opened.text_ids)
    by_task = {task: [run for run in loaded if run.task == task] for task in sorted({run.task for run in loaded})}
    ordered = {task: some for task, some in by_task.items() if len(some) > 1} or by_task
    return [
        _Leaderboard(opened, some, base, named, n_draws, seed).effects(votes, pooled, about)
        for some in ordered.values()
    ]


def _votes(judgments: FilePath, collection: Collection) -> list[Vote]:
    """The votes of a judgments file that count, with the collection's page numbers."""
    with open_store(str(judgments)) as store:
        number = pages_in(store, collection.text_ids)
        votes = list(current_votes(store))
    return votes if number is None else [replace(vote, page=int(number[vote.page])) for vote in votes]


@dataclass
class _Leaderboard:
    """Runs of one task, scored again and again."""

    collection: Collection
    runs: list[Run]
    protocol: Protocol
    groups: str
    n_draws: int
    seed: int

    def __post_init__(self) -> None:
        self.main = MAIN[self.runs[0].task]
        self.names = sorted(run.name for run in self.runs)
        if len(self.runs) < 2:
            raise EvenrankError(f"Task {self.runs[0].task}: one run has no order (give at least two)")
        self.base = self._means(self.collection, self.protocol)
        self.first = self._winner(self.base)

    def effects(self, votes: Sequence[Vote], pool: Pool | None, about: Sequence[str] = ()) -> OrderEffects:
        """All effects that the data allow."""
        found = list(track(self._targets(), "targets", len(BLENDS), "target"))
        notes = list(about)
        is_pooled = any(topic.assessed_docs is not None for topic in self.collection.topics)
        if is_pooled:
            found += self._without_runs(pool)
        else:
            notes.append("the judgments do not say which pages were judged, so nothing is said about the pool")
        if votes:
            found += track(self._assessors(votes), "assessors", None, "assessor")
            found += self._disagreement(votes)
        else:
            notes.append("no judgments file (--judgments), so nothing is said about assessors")
        breakdown: dict[str, float | None] = {}
        for dimension in scored_dimensions(self.collection, self.protocol, self.groups):
            rows = list(track(self._errors(dimension), dimension, None, "rate"))
            found += rows
            broken = bool(rows) and rows[-1].stays < 0.5
            breakdown[dimension] = ERROR_RATES[len(rows) - 1] if broken else None
        chosen = {"rates": list(ERROR_RATES), "n_draws": self.n_draws, "seed": self.seed}
        measure, task = self.main.name, self.runs[0].task
        return OrderEffects(task, measure, self.first, tuple(found), breakdown, chosen, tuple(notes))

    def _means(self, collection: Collection, protocol: Protocol) -> dict[str, float]:
        return means_of(main_by_topic(collection, self.runs, protocol, self.groups))

    def _winner(self, means: Mapping[str, float]) -> str:
        sign = -1.0 if self.main.higher_is_better else 1.0
        return min(self.names, key=lambda run: (np.isnan(means[run]), sign * means[run], run))

    def _effect(
        self, cause: str, change: str, draws: Sequence[Mapping[str, float]], base: Mapping[str, float] | None = None
    ) -> OrderEffect:
        """The order of one or several draws beside that of `base`, by default as scored."""
        before = self.base if base is None else base
        first = self._winner(before)
        winners = [self._winner(means) for means in draws]
        order = [before[run] for run in self.names]
        taus = [kendall_tau(order, [means[run] for run in self.names]) for means in draws]
        shifts = [max(abs(means[run] - before[run]) for run in self.names) for means in draws]
        return OrderEffect(
            cause,
            change,
            max(sorted(set(winners)), key=winners.count),
            winners.count(first) / len(winners),
            float(np.mean(taus)),
            float(np.mean(shifts)),
        )

    def _targets(self) -> Iterator[OrderEffect]:
        for weight in BLENDS:
            if weight != self.protocol.blend:
                means = self._means(self.collection, replace(self.protocol, blend=weight))
                yield self._effect("target", f"world {weight:.0%} of the target", [means])

    def _without_runs(self, pool: Pool | None) -> Iterator[OrderEffect]:
        """The order if each run in turn had not been pooled: its score without the judgments that it alone brought."""
        task = self.runs[0].task
        tier = Tier(task, self.protocol.depth(task), None if task == 1 else self.protocol.task2_rankings)
        judged = (judged_part(run, self.collection) for run in self.runs)  # what nobody judged changes nothing
        pooled = build_pool(judged, [tier]) if pool is None else pool
        score = scorer(self.collection, self.protocol, self.groups)
        topics = [topic for topic in self.collection.topics if topic.assessed_docs is not None]
        rows = leave_one_out(self.runs, pooled, topics, score, higher_is_better=self.main.higher_is_better)
        for row in rows:
            means = {**self.base, row.run: self.base[row.run] + row.change}
            yield self._effect("pool", f"without the pages of {row.run}", [means])

    def _rejudged(self, votes: Iterable[Vote]) -> dict[str, float] | None:
        """Means with the judgments of those votes; None when some run has no topic left."""
        grades: dict[int, dict[int, int]] = {}
        for (topic, page), value in settle_all(votes).items():
            if value.grade is not None:
                grades.setdefault(topic, {})[page] = value.grade
        topics = [
            replace(
                topic,
                rel_docs=_pages(page for page, grade in grades[topic.id].items() if grade > 0),
                assessed_docs=_pages(grades[topic.id]),
            )
            for topic in self.collection.topics
            if topic.id in grades
        ]
        try:
            return self._means(self.collection.with_topics(topics), self.protocol)
        except EvenrankError:
            return None

    def _assessors(self, votes: Sequence[Vote]) -> Iterator[OrderEffect]:
        base = self._rejudged(votes)
        for number, assessor in enumerate(sorted({vote.assessor for vote in votes}), 1):
            means = self._rejudged(vote for vote in votes if vote.assessor != assessor)
            if base is not None and means is not None:
                yield self._effect("assessor", f"without assessor {number}", [means], base)

    def _disagreement(self, votes: Sequence[Vote]) -> Iterator[OrderEffect]:
        """Pages with differing grades get that of one assessor, drawn at random."""
        disputed = {
            key: sorted(grades.items()) for key, grades in graded_pages(votes).items() if len(set(grades.values())) > 1
        }
        base = self._rejudged(votes)
        if not disputed or base is None:
            return
        draws = []
        for draw in range(self.n_draws):
            rng = derive(self.seed, "disagreement", str(draw))
            chosen = {key: grades[int(rng.integers(len(grades)))][0] for key, grades in disputed.items()}
            means = self._rejudged(
                vote
                for vote in votes
                if (vote.topic, vote.page) not in chosen or chosen[vote.topic, vote.page] == vote.assessor
            )
            draws += [] if means is None else [means]
        if draws:
            yield self._effect("disagreement", f"one vote for each of {len(disputed):,} disputed pages", draws, base)

    def _errors(self, dimension: str) -> Iterator[OrderEffect]:
        """Rising shares of wrong groups, until another run is first in most draws."""
        for rate in ERROR_RATES:
            draws = [
                self._means(
                    with_errors(self.collection, dimension, rate, derive(self.seed, "wrong", dimension, f"{rate}:{n}")),
                    self.protocol,
                )
                for n in range(self.n_draws)
            ]
            effect = self._effect(dimension, f"{rate:.0%} wrong", draws)
            yield effect
            if effect.stays < 0.5:
                return


def _pages(pages: Iterable[int]) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(sorted(pages), np.int32)
