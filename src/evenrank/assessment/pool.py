"""The pool: which pages of which topics are to be judged, in which tier, and which runs brought them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenrank.assessment.tiers import TRACK_TIERS, Tier
from evenrank.errors import EvenrankError
from evenrank.records import Run, Task


@dataclass(frozen=True, slots=True)
class PooledRun:
    """A run whose pages are in the pool."""

    name: str
    task: Task
    fingerprint: str
    """Digest of the rankings, so that another run of the same name is noticed."""


@dataclass(frozen=True, slots=True, order=True)
class PooledPage:
    """One page to judge for one topic."""

    topic: int
    tier: int
    """Tier from 1 that the page was first pooled in; later runs do not change it."""
    page: int
    runs: tuple[str, ...]
    """Names of all runs that have the page inside a tier, sorted."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Pages to judge, sorted by topic, tier and page id, with what they came from."""

    tiers: tuple[Tier, ...] = TRACK_TIERS
    budget: int | None = None
    """Most pages of one topic; None: no limit."""
    runs: tuple[PooledRun, ...] = ()
    pages: tuple[PooledPage, ...] = field(default=())


def fingerprint(run: Run) -> str:
    """A digest of the rankings of `run`; its name and scores do not matter."""
    digest = hashlib.sha256(str(run.task).encode())
    for array, dtype in ((run.topic_ids, "<i4"), (run.repeats, "<i4"), (run.starts, "<i8"), (run.pages, "<i4")):
        digest.update(np.ascontiguousarray(array, dtype).tobytes())
    return digest.hexdigest()[:16]


def build_pool(
    runs: Iterable[Run],
    tiers: Sequence[Tier] = TRACK_TIERS,
    budget: int | None = None,
    topics: Collection[int] | None = None,
    start: Pool | None = None,
) -> Pool:
    """`start` with the pages of `runs` added; pages already there keep their tier, so late runs can be added.

    A topic is filled tier by tier and in a tier rank by rank over all rankings. A budget ends it before the
    first rank that does not fit whole, so that what is judged has the same depth in every run.
    """
    start = start or Pool(tuple(tiers), budget)
    if tuple(tiers[: len(start.tiers)]) != start.tiers:
        known = ", ".join(map(str, start.tiers))
        raise EvenrankError(f"the pool was built with the tiers {known}: further ones can be added, none changed")
    new_runs = sorted(runs, key=lambda run: run.name)
    tier_of = {(entry.topic, entry.page): entry.tier for entry in start.pages}
    brought = {(entry.topic, entry.page): set(entry.runs) for entry in start.pages}
    for topic, ranks in sorted(_contributions(new_runs, tiers, topics).items()):
        _fill(topic, ranks, budget, tier_of, brought)
    pages = (
        PooledPage(topic, tier, page, tuple(sorted(brought[topic, page]))) for (topic, page), tier in tier_of.items()
    )
    return Pool(tuple(tiers), budget, _merged_runs(start.runs, new_runs), tuple(sorted(pages)))


Ranks = dict[tuple[int, int], dict[int, set[str]]]
"""(tier, rank) → page → names of the runs that have it there."""


def _contributions(runs: Sequence[Run], tiers: Sequence[Tier], topics: Collection[int] | None) -> dict[int, Ranks]:
    """By topic, what the runs have at each rank of each tier."""
    found: dict[int, Ranks] = {}
    for number, tier in enumerate(tiers, 1):
        for run in runs:
            for topic, pages in tier.rankings(run):
                if topics is not None and topic not in topics:
                    continue
                ranks = found.setdefault(topic, {})
                for rank, page in enumerate(pages.tolist(), 1):
                    ranks.setdefault((number, rank), {}).setdefault(page, set()).add(run.name)
    return found


def _fill(
    topic: int,
    ranks: Ranks,
    budget: int | None,
    tier_of: dict[tuple[int, int], int],
    brought: dict[tuple[int, int], set[str]],
) -> None:
    """Adds the pages of one topic while they fit; notes the runs of all that are in the pool."""
    n_pages = sum(1 for known, _ in tier_of if known == topic)
    for tier, rank in sorted(ranks):
        new = [page for page in ranks[tier, rank] if (topic, page) not in tier_of]
        if budget is not None and n_pages + len(new) > budget:
            break
        n_pages += len(new)
        tier_of.update(((topic, page), tier) for page in new)
    for pages in ranks.values():
        for page, names in pages.items():
            if (topic, page) in tier_of:
                brought.setdefault((topic, page), set()).update(names)


def _merged_runs(known: Sequence[PooledRun], runs: Sequence[Run]) -> tuple[PooledRun, ...]:
    """All runs by name; one name must not stand for two runs."""
    merged = {run.name: run for run in known}
    for entry in (PooledRun(run.name, run.task, fingerprint(run)) for run in runs):
        if merged.setdefault(entry.name, entry) != entry:
            raise EvenrankError(f"two different runs are named {entry.name!r}: rename one file, or start a new pool")
    return tuple(merged[name] for name in sorted(merged))


def by_topic(pool: Pool) -> Iterator[tuple[int, list[PooledPage]]]:
    """(topic id, its pages) in the pool's order."""
    topics: dict[int, list[PooledPage]] = {}
    for entry in pool.pages:
        topics.setdefault(entry.topic, []).append(entry)
    return iter(topics.items())
