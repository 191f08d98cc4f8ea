"""Oracle runs: rankings of a given precision, made from the judgments, for trying formats and metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.records import N_RANKINGS, RANKING_LENGTH, Run, Split, Task, Topic
from evenrank.rng import derive


def oracle_run(
    collection: Collection,
    task: Task,
    precision: float,
    seed: int = 0,
    split: Split | None = None,
    name: str = "oracle",
) -> Run:
    """A valid run in which each position holds a relevant page with probability `precision`.

    Relevant pages run out in small topics; other pages then take their places. `split` is by default that of the
    evaluation topics, or of the training topics when there are no others.
    """
    if not 0.0 <= precision <= 1.0:
        raise EvenrankError(f"precision must lie between 0 and 1, not {precision}")
    length = min(RANKING_LENGTH[task], len(collection))
    rankings = (
        (
            topic.id,
            repeat,
            _ranking(collection, topic, length, precision, derive(seed, "oracle", task, topic.id, repeat)),
        )
        for topic in _topics(collection, split)
        for repeat in range(1, N_RANKINGS[task] + 1)
    )
    return Run.from_rankings(name, task, rankings)


def _topics(collection: Collection, split: Split | None) -> list[Topic]:
    judged = [topic for topic in collection.topics if len(topic.rel_docs)]
    if split is None:
        split = "eval" if any(topic.split == "eval" for topic in judged) else "train"
    chosen = [topic for topic in judged if topic.split == split]
    if not chosen:
        raise EvenrankError(f"{collection.path}: no judged topic to make an oracle of (import topics with judgments)")
    return chosen


def _ranking(
    collection: Collection, topic: Topic, length: int, precision: float, rng: np.random.Generator
) -> NDArray[np.int32]:
    """One ranking of `length` pages."""
    relevant = np.intersect1d(topic.rel_docs, collection.page_ids)
    n_relevant = min(int((rng.random(length) < precision).sum()), len(relevant))
    chosen = rng.choice(relevant, n_relevant, replace=False)
    others = _others(collection.page_ids, relevant, length - n_relevant, rng)
    pages = np.concatenate([chosen, others])
    rng.shuffle(pages)
    return pages.astype(np.int32)


def _others(
    page_ids: NDArray[np.int32], relevant: NDArray[np.int32], n_wanted: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Distinct pages that are not relevant; relevant ones when there are no others left."""
    drawn = (
        page_ids[rng.permutation(len(page_ids))] if len(page_ids) < 10 * n_wanted else _sample(page_ids, n_wanted, rng)
    )
    free = drawn[~np.isin(drawn, relevant)]
    return free[:n_wanted]


def _sample(page_ids: NDArray[np.int32], n_wanted: int, rng: np.random.Generator) -> NDArray[np.int32]:
    rows = rng.integers(0, len(page_ids), 4 * n_wanted + 64)
    _, first = np.unique(rows, return_index=True)
    return np.asarray(page_ids[rows[np.sort(first)]])
