"""The pool of a judgments file, and the score of a run had it not helped to build that pool.

If scores hardly change when a run is left out, the pool is fair to runs that come later (J. Zobel, How reliable are the
results of large-scale information retrieval experiments?, 1998). Runs of one team are alike, so they can be left out
together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenrank.core.records import Run, Topic
from evenrank.core.text_ids import TextIds
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.votes import Store, pages_in

Evaluate = Callable[[Run, Sequence[Topic]], Mapping[int, float]]
"""A run and topics with judgments → its score on each topic that can be scored."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One run with and without the pages that only it, or its team, brought."""

    run: str
    n_unique: int
    """Judged pages that no other team brought."""
    n_unique_relevant: int
    n_topics: int
    """Topics that can be scored either way: those with a relevant page left."""
    score: float
    """Mean over these topics, with all judgments."""
    score_without: float
    """Mean over these topics, without the unique pages."""
    rank: int
    """Place among the runs from 1, with all judgments."""
    rank_without: int
    """Place among the others' scores with all judgments."""

    @property
    def change(self) -> float:
        """Score without its pages minus score with them."""
        return self.score_without - self.score


def stored_pool(store: Store, ids: TextIds | None = None) -> Pool:
    """The pages of a judgments file with the runs that brought them and are not withdrawn.

    It is always the pool that is being judged, whatever pool files were loaded since. Where page ids are text, pages
    have the numbers of `ids`.
    """
    number = pages_in(store, ids)
    brought: dict[tuple[int, int, int], list[str]] = {}
    rows = store.connection.execute(
        "SELECT i.topic, i.tier, i.page, c.run FROM item i "
        "JOIN contribution c ON c.topic = i.topic AND c.page = i.page "
        "JOIN pooled_run r ON r.name = c.run WHERE r.is_withdrawn = 0 ORDER BY i.topic, i.tier, i.page, c.run"
    )
    for topic, tier, page, run in rows:
        brought.setdefault((topic, tier, page if number is None else int(number[page])), []).append(run)
    return Pool(pages=tuple(sorted(PooledPage(*key, tuple(runs)) for key, runs in brought.items())), ids=ids)


def unique_pages(pool: Pool, team: Collection[str]) -> dict[int, set[int]]:
    """Topic → pooled pages that only runs of `team` brought."""
    pages: dict[int, set[int]] = {}
    for entry in pool.pages:
        if entry.runs and all(name in team for name in entry.runs):
            pages.setdefault(entry.topic, set()).add(entry.page)
    return pages


def without_pages(topic: Topic, pages: Collection[int]) -> Topic:
    """The topic as if `pages` had never been judged."""
    gone = np.fromiter(pages, np.int32, len(pages))
    assessed = None if topic.assessed_docs is None else topic.assessed_docs[~np.isin(topic.assessed_docs, gone)]
    return replace(topic, rel_docs=topic.rel_docs[~np.isin(topic.rel_docs, gone)], assessed_docs=assessed)


def leave_one_out(
    runs: Sequence[Run],
    pool: Pool,
    topics: Sequence[Topic],
    evaluate: Evaluate,
    team_of: Mapping[str, str] | None = None,
    higher_is_better: bool = True,
) -> list[LeftOut]:
    """Each run scored with all judgments and without those its team alone brought, best first."""
    teams = {run.name: (team_of or {}).get(run.name, run.name) for run in runs}
    scores = {run.name: evaluate(run, topics) for run in runs}
    sign = 1 if higher_is_better else -1
    rows = []
    for run in runs:
        gone = unique_pages(pool, {name for name, team in teams.items() if team == teams[run.name]})
        without = [without_pages(topic, gone.get(topic.id, ())) for topic in topics]
        fewer = evaluate(run, without)
        both = [topic for topic in scores[run.name] if topic in fewer]
        others = [sign * _mean(by_topic) for name, by_topic in scores.items() if name != run.name]
        rows.append(
            LeftOut(
                run.name,
                *_n_removed(topics, without),
                len(both),
                _mean(scores[run.name], both),
                _mean(fewer, both),
                _place(sign * _mean(scores[run.name]), others),
                _place(sign * _mean(fewer), others),
            )
        )
    return sorted(rows, key=lambda row: (row.rank, row.run))


def _mean(scores: Mapping[int, float], topics: Collection[int] | None = None) -> float:
    values = [scores[topic] for topic in (scores if topics is None else topics)]
    return float(np.mean(values)) if values else float("nan")


def _n_removed(topics: Sequence[Topic], without: Sequence[Topic]) -> tuple[int, int]:
    """Numbers of judged and of relevant pages that are gone."""
    n_judged = sum(_n_judged(a) - _n_judged(b) for a, b in zip(topics, without, strict=True))
    return n_judged, sum(len(a.rel_docs) - len(b.rel_docs) for a, b in zip(topics, without, strict=True))


def _n_judged(topic: Topic) -> int:
    return len(topic.rel_docs if topic.assessed_docs is None else topic.assessed_docs)


def _place(value: float, others: Sequence[float]) -> int:
    return 1 + sum(other > value for other in others)
