"""Oracle runs: rankings of a given precision, made from the judgments, for trying formats and metrics."""

from __future__ import annotations

from collections.abc import Iterator

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
    return Run.from_rankings(name, task, _rankings(collection, _topics(collection, split), task, precision, seed))


def _rankings(
    collection: Collection, topics: list[Topic], task: Task, precision: float, seed: int
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """(topic, repeat, pages) of every ranking."""
    length = min(RANKING_LENGTH[task], len(collection))
    for topic in topics:
        relevant = np.asarray(collection.page_ids[np.sort(collection.relevant_rows(topic))])
        for repeat in range(1, N_RANKINGS[task] + 1):
            rng = derive(seed, "oracle", task, topic.id, repeat)
            yield topic.id, repeat, _ranking(collection.page_ids, relevant, length, precision, rng)


def _topics(collection: Collection, split: Split | None) -> list[Topic]:
    judged = [topic for topic in collection.topics if len(topic.rel_docs)]
    if split is None:
        split = "eval" if any(topic.split == "eval" for topic in judged) else "train"
    chosen = [topic for topic in judged if topic.split == split]
    if not chosen:
        raise EvenrankError(f"{collection.path}: no judged topic to make an oracle of (import topics with judgments)")
    return chosen


def _ranking(
    page_ids: NDArray[np.int32],
    relevant: NDArray[np.int32],
    length: int,
    precision: float,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """One ranking of `length` pages."""
    n_relevant = min(int((rng.random(length) < precision).sum()), len(relevant))
    chosen = rng.choice(relevant, n_relevant, replace=False)
    pages = np.concatenate([chosen, _others(page_ids, relevant, length - n_relevant, rng)])
    rng.shuffle(pages)
    return pages.astype(np.int32)


def _others(
    page_ids: NDArray[np.int32], relevant: NDArray[np.int32], n_wanted: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Up to `n_wanted` distinct pages that are not relevant."""
    if len(page_ids) < 100 * n_wanted:
        rows = rng.permutation(len(page_ids))
    else:
        rows = rng.choice(len(page_ids), 4 * n_wanted + 64, replace=False)
    drawn = page_ids[rows]
    return np.asarray(drawn[~np.isin(drawn, relevant)][:n_wanted])
