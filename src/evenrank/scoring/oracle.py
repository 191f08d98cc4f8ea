"""Oracle runs: rankings of a given precision, made from the judgments, for trying formats and metrics."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Split, Task, Topic
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError, listed
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.trec.collection import Collection, as_collection


@dataclass(frozen=True)
class Oracle:
    """A run of known precision."""

    run: Run
    ends: dict[int, int]
    """Topic → about the last rank with the precision asked for, where relevant pages run out before the end."""

    @property
    def note(self) -> str:
        """Where relevant pages run out; empty when they suffice."""
        if not self.ends:
            return ""
        ends = [f"{topic} (about rank {rank})" for topic, rank in self.ends.items()]
        topics = "topics" if len(ends) > 1 else "topic"
        return f"relevant pages run out, and other pages follow, in {topics} {listed(ends)}"


def oracle_run(
    collection: Collection | str | os.PathLike[str],
    task: Task,
    precision: float,
    seed: int = 0,
    split: Split | None = None,
    name: str = "oracle",
    protocol: str | Protocol = DEFAULT_PROTOCOL,
) -> Oracle:
    """A valid run, by the lengths of the protocol, with the same precision at every depth.

    Among the first r pages, r × `precision` are relevant, to within one page, until they run out; which pages, and
    where the first one is, follows from the seed. `split` is by default that of the evaluation topics, or of the
    training topics when there are no others.
    """
    if not 0.0 <= precision <= 1.0:
        raise EvenrankError(f"precision must lie between 0 and 1, not {precision}")
    opened = as_collection(collection)
    topics = _topics(opened, split)
    asked = settle_protocol(protocol)
    length = min(asked.length(task), len(opened))
    repeats = range(1, asked.n_rankings(task) + 1)
    run = Run.from_rankings(name, task, _rankings(opened, topics, task, repeats, length, precision, seed))
    run = replace(run, ids=opened.text_ids)
    return Oracle(run, dict(_ends(opened, topics, length, precision)))


def _ends(collection: Collection, topics: list[Topic], length: int, precision: float) -> Iterator[tuple[int, int]]:
    for topic in topics:
        n_relevant = len(collection.relevant_rows(topic))
        if n_relevant < int(length * precision):
            yield topic.id, int(n_relevant / precision)


def _rankings(
    collection: Collection, topics: list[Topic], task: Task, repeats: range, length: int, precision: float, seed: int
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """(topic, repeat, pages) of every ranking."""
    for topic in topics:
        relevant = np.asarray(collection.page_ids[np.sort(collection.relevant_rows(topic))])
        for repeat in repeats:
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
    """One ranking of `length` pages; shorter where a small collection has too few pages that are not relevant."""
    is_relevant = relevant_ranks(length, precision, float(rng.random()))
    ranks = np.flatnonzero(is_relevant)
    is_relevant[ranks[len(relevant) :]] = False
    n_relevant = int(is_relevant.sum())
    others = _others(page_ids, relevant, length - n_relevant, rng)
    at_other = np.cumsum(~is_relevant)
    kept = is_relevant | (at_other <= len(others))
    pages = np.empty(length, np.int32)
    pages[is_relevant] = rng.choice(relevant, n_relevant, replace=False)
    pages[kept & ~is_relevant] = others
    return pages[kept]


def relevant_ranks(length: int, precision: float, offset: float) -> NDArray[np.bool_]:
    """Which ranks hold a relevant page: evenly spaced from an offset in [0, 1), so that every depth has the precision.

    Over all offsets, each rank is relevant with the probability `precision` (systematic sampling).
    """
    counts = np.floor(np.arange(length + 1) * precision + offset)
    return np.asarray(np.diff(counts) > 0, np.bool_)


def _others(
    page_ids: NDArray[np.int32], relevant: NDArray[np.int32], n_wanted: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Up to `n_wanted` distinct pages that are not relevant."""
    if len(page_ids) < 100 * n_wanted:
        rows = rng.permutation(len(page_ids))
    else:
        rows = rng.choice(len(page_ids), 4 * n_wanted + 64, replace=False)
    drawn = page_ids[rows]
    bounded = np.append(relevant, -1)  # relevant pages ascend; no page has the number -1
    return np.asarray(drawn[bounded[np.searchsorted(relevant, drawn)] != drawn][:n_wanted])
