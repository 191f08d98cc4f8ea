"""The pool: which pages of which topics are to be judged, in which tier, and which runs brought them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Run, Task
from evenrank.core.text_ids import TextIds
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.io.judgment_record import CampaignRuns
from evenrank.io.runs import read_runs
from evenrank.trec.collection import Collection, GivenRun, TopicChoice, as_collection, as_run, choose_topics, given_runs

SPEC = re.compile(r"(?P<task>[12]):(?P<depth>[1-9]\d*)(?:x(?P<n_rankings>[1-9]\d*))?")


@dataclass(frozen=True, slots=True)
class Tier:
    """The head of every ranking of one task."""

    task: Task
    """Runs of this task contribute."""
    depth: int
    """Pages taken from the head of a ranking."""
    n_rankings: int | None = None
    """Rankings of a topic that are looked at, lowest repeat number first; None: all of them."""

    def __str__(self) -> str:
        return f"{self.task}:{self.depth}" + (f"x{self.n_rankings}" if self.n_rankings else "")

    def rankings(self, run: Run) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """(topic id, first `depth` pages) of each ranking of `run` inside this tier; none for another task."""
        if run.task != self.task:
            return
        n_seen: dict[int, int] = {}
        for index in np.argsort(run.repeats, kind="stable"):
            topic = int(run.topic_ids[index])
            n_seen[topic] = n_seen.get(topic, 0) + 1
            if self.n_rankings is None or n_seen[topic] <= self.n_rankings:
                yield topic, run.ranking(int(index))[: self.depth]

    def share_of(self, rank: int, ranking: int) -> float:
        """How much of the tier must be pooled to reach a rank, from 1, of a ranking, from 1: as much of its depth and
        of its rankings.
        """
        return max(rank / self.depth, ranking / self.n_rankings if self.n_rankings else 0.0)

    def reduced(self, share: float) -> str:
        """The tier as a budget leaves it, written as a tier; `none` when not even its first ranks are left."""
        depth = int(self.depth * share + 1e-9)
        n_rankings = None if self.n_rankings is None else int(self.n_rankings * share + 1e-9)
        return "none" if depth == 0 or n_rankings == 0 else str(Tier(self.task, depth, n_rankings))


TRACK_TIERS = (Tier(task=1, depth=20), Tier(task=2, depth=5, n_rankings=25))
"""The tiers of the 2021 track (the paper's section on annotations)."""


def parse_tier(spec: str) -> Tier:
    """The tier written as TASK:DEPTH or TASK:DEPTHxRANKINGS, such as 1:20 or 2:5x25."""
    match = SPEC.fullmatch(spec.strip())
    if match is None:
        raise EvenrankError(f"not a tier: {spec!r} (write TASK:DEPTH or TASK:DEPTHxRANKINGS, such as 1:20 or 2:5x25)")
    n_rankings = match["n_rankings"]
    return Tier(cast(Task, int(match["task"])), int(match["depth"]), int(n_rankings) if n_rankings else None)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a run file entered a pool, and how it was checked."""

    file: str
    """Name of the file."""
    sha256: str
    """Checksum of the file as it was handed in."""
    size_bytes: int
    protocol: str
    """Protocol whose lengths it was checked by."""
    n_faults: int
    despite: str = ""
    """Why it entered although it had faults."""


@dataclass(frozen=True, slots=True)
class PooledRun:
    """A run whose pages are in the pool."""

    name: str
    task: Task
    fingerprint: str
    """Digest of the rankings, so that another run of the same name is noticed."""
    receipt: Receipt | None = field(default=None, compare=False)
    """None for a run that was never a file, or entered before there were receipts."""


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
    pages: tuple[PooledPage, ...] = ()
    cut: dict[int, int] = field(default_factory=dict)
    """Topic → first tier that is not whole, because not even its first ranks fit the budget, or a later run did not."""
    shares: dict[int, tuple[float, ...]] = field(default_factory=dict)
    """Topic → share of each tier that the budget allows, in depth and rankings; topics pooled whole are not there."""
    ids: TextIds | None = field(default=None, repr=False, compare=False)
    """The ids of pages where they are text; `pages` have their numbers."""
    total: int | None = None
    """Most pages of all topics together; None: no limit."""

    def with_ids(self, ids: TextIds | None) -> Pool:
        """The same pool with the numbers that `ids` gives to pages; an error when only one side has text ids."""
        if self.ids is ids:
            return self
        if self.ids is None or ids is None:
            found, wanted = ("whole numbers", "text") if self.ids is None else ("text", "whole numbers")
            raise EvenrankError(f"page ids of the pool are {found}, where {wanted} are expected (build the pool again)")
        number = self.ids.renumbered(ids).tolist()
        pages = sorted(replace(entry, page=number[entry.page]) for entry in self.pages)
        return replace(self, pages=tuple(pages), ids=ids)


def pool_fingerprint(run: Run) -> str:
    """A digest of the rankings of `run`; its name and scores do not matter."""
    digest = hashlib.sha256(str(run.task).encode())
    for array, dtype in ((run.topic_ids, "<i4"), (run.repeats, "<i4"), (run.starts, "<i8")):
        digest.update(np.ascontiguousarray(array, dtype).tobytes())
    if run.ids is None:
        digest.update(np.ascontiguousarray(run.pages, "<i4").tobytes())
    else:
        digest.update("\n".join(run.ids.texts(run.pages.tolist())).encode())
    return digest.hexdigest()[:16]


def counted_runs(campaign: CampaignRuns, runs: Iterable[Run]) -> tuple[list[Run], tuple[str, ...]]:
    """The runs that a campaign has not withdrawn, and what readers of their scores should know.

    A withdrawn run is known by its name, and by its rankings under another name.
    """
    gone = {mark: name for name, mark in campaign.withdrawn.items() if mark}
    counted: list[Run] = []
    withdrawn, changed, late = [], [], []
    for run in runs:
        mark = pool_fingerprint(run) if campaign.pooled or gone else ""
        if run.name in campaign.withdrawn:
            withdrawn.append(run.name)
            continue
        if mark in gone:
            withdrawn.append(f"{run.name} (its rankings are those of {gone[mark]})")
            continue
        counted.append(run)
        if campaign.pooled.get(run.name, mark) != mark:
            changed.append(run.name)
        elif campaign.pooled and mark not in campaign.pooled.values():
            late.append(run.name)
    said = {
        "withdrawn, and not scored": withdrawn,
        "not the rankings that were pooled under this name, so some of their pages may not be judged": changed,
        "not pooled, so pages that only they rank may not be judged": late,
    }
    notes = [f"{what}: {', '.join(names)}" for what, names in said.items() if names]
    return counted, (*notes, campaign.bias) if campaign.bias else tuple(notes)


def build_pool(
    runs: Iterable[Run],
    tiers: Sequence[Tier] = TRACK_TIERS,
    budget: int | None = None,
    topics: Container[int] | None = None,
    start: Pool | None = None,
    total: int | None = None,
) -> Pool:
    """`start` with the pages of `runs` added; pages already there keep their tier, so late runs can be added.

    A budget makes the tiers of a topic smaller in depth and rankings, all by the same share, so that each is the same
    in every run. What it leaves goes to the next ranks, the pages of most runs first: they are in a tier behind all
    others, which no score asks for. A total for all topics is divided evenly; what small topics leave goes to the
    others. Where ids are text, all runs have the same `Run.ids`.
    """
    new_runs = sorted(runs, key=lambda run: run.name)
    ids = new_runs[0].ids if new_runs else None
    start = (start or Pool(tuple(tiers), budget, total=total, ids=ids)).with_ids(ids)
    if tuple(tiers[: len(start.tiers)]) != start.tiers:
        named = ", ".join(map(str, start.tiers))
        raise EvenrankError(f"the pool was built with the tiers {named}: further ones can be added, none changed")
    pages: dict[int, Pages] = {}
    for entry in start.pages:
        tier = entry.tier if entry.tier <= len(start.tiers) else len(tiers) + 1
        pages.setdefault(entry.topic, {})[entry.page] = (tier, set(entry.runs))
    again = {run.name for run in start.runs} <= {run.name for run in new_runs}
    cut, shares = ({}, {}) if again else (dict(start.cut), dict(start.shares))
    whole = (1.0,) * len(tiers)
    contributions = _contributions(new_runs, tiers, topics)
    budgets = _budgets(pages, contributions, whole, budget, total)
    for topic, ranks in contributions.items():
        agreed = (*shares.get(topic, ()), *whole[len(shares.get(topic, ())) :])
        reached = _fill(pages.setdefault(topic, {}), ranks, agreed, budgets[topic])
        for number in sorted({tier for tier, _ in ranks}):
            share, wanted = reached[number - 1], agreed[number - 1]
            if share < wanted and (share == 0 or not again):  # other runs are pooled deeper
                cut[topic] = min(number, cut.get(topic, number))
        if reached != whole:
            shares[topic] = reached
    merged = _merged_runs(start.runs, new_runs)
    pooled = tuple(sorted(_entries(pages)))
    limited = (dict(sorted(cut.items())), dict(sorted(shares.items())))
    return Pool(tuple(tiers), budget, merged, pooled, *limited, ids, total)


Pages = dict[int, tuple[int, set[str]]]
"""Page of a topic → its tier, and the names of the runs that have it."""
Ranks = dict[tuple[int, float], dict[int, set[str]]]
"""(tier, share of it that reaches a rank) → page → names of the runs that have it there."""


def _contributions(runs: Sequence[Run], tiers: Sequence[Tier], topics: Container[int] | None) -> dict[int, Ranks]:
    """By topic, what the runs have at each place of each tier."""
    found: dict[int, Ranks] = {}
    for number, tier in enumerate(tiers, 1):
        for run in runs:
            n_rankings: Counter[int] = Counter()
            for topic, pages in tier.rankings(run):
                if topics is not None and topic not in topics:
                    continue
                n_rankings[topic] += 1
                ranks = found.setdefault(topic, {})
                for rank, page in enumerate(pages.tolist(), 1):
                    place = number, tier.share_of(rank, n_rankings[topic])
                    ranks.setdefault(place, {}).setdefault(page, set()).add(run.name)
    return found


def _budgets(
    pages: Mapping[int, Pages],
    contributions: Mapping[int, Ranks],
    whole: tuple[float, ...],
    budget: int | None,
    total: int | None,
) -> dict[int, int | None]:
    """Topic → its most pages: what it needs, or as much as every other topic that needs more."""
    if total is None:
        return dict.fromkeys(contributions, budget)
    needs = {topic: _n_with(pages.get(topic, {}), ranks, whole) for topic, ranks in contributions.items()}
    needs = {topic: n if budget is None else min(n, budget) for topic, n in needs.items()}
    left = total - sum(len(found) for topic, found in pages.items() if topic not in contributions)
    if sum(needs.values()) <= left:
        return {**needs} if budget is not None else dict.fromkeys(contributions)
    given: dict[int, int | None] = {}
    for place, topic in enumerate(sorted(needs, key=lambda topic: (needs[topic], topic))):
        share = min(needs[topic], max(left, 0) // (len(needs) - place))
        given[topic], left = share, left - share
    return given


def _fill(pages: Pages, ranks: Ranks, agreed: tuple[float, ...], budget: int | None) -> tuple[float, ...]:
    """Adds what fits to the pages of a topic, and notes the runs of all that are in; the share reached of each tier.

    `agreed` is the share of each tier that is pooled without a budget.
    """
    is_short = budget is not None and _n_with(pages, ranks, agreed) > budget
    reached = _shares_within(pages, ranks, agreed, budget or 0) if is_short else agreed
    beyond = len(agreed) + 1
    for tier, share in sorted(ranks):
        if share <= reached[tier - 1]:
            new = [page for page in ranks[tier, share] if pages.get(page, (beyond,))[0] == beyond]
            pages.update((page, (tier, set())) for page in new)
    if is_short:
        pages.update((page, (beyond, set())) for page in _next_pages(pages, ranks, (budget or 0) - len(pages)))
    for brought in ranks.values():
        for page in brought.keys() & pages.keys():
            pages[page][1].update(brought[page])
    return reached


def _n_with(pages: Pages, ranks: Ranks, shares: Sequence[float]) -> int:
    """Pages of the topic when each tier is pooled to its share."""
    wanted = set(pages)
    for (tier, share), brought in ranks.items():
        if share <= shares[tier - 1]:
            wanted |= brought.keys()
    return len(wanted)


def _shares_within(pages: Pages, ranks: Ranks, agreed: Sequence[float], budget: int) -> tuple[float, ...]:
    """The greatest shares that fit the budget: the same of each tier, then what else fits, tier by tier."""
    steps = sorted({share for _, share in ranks}, reverse=True)
    even = (tuple(min(step, most) for most in agreed) for step in steps)
    found = next((shares for shares in even if _n_with(pages, ranks, shares) <= budget), (0.0,) * len(agreed))
    for tier, most in enumerate(agreed, 1):
        for step in sorted(share for at, share in ranks if at == tier and found[tier - 1] < share <= most):
            tried = (*found[: tier - 1], step, *found[tier:])
            if _n_with(pages, ranks, tried) > budget:
                break
            found = tried
    return found


def _next_pages(pages: Pages, ranks: Ranks, n_left: int) -> list[int]:
    """Up to `n_left` pages behind those that are pooled: those that the least share of a tier reaches, and of these the
    pages of most runs first.
    """
    place: dict[int, tuple[float, int, int]] = {}
    for (_, share), brought in ranks.items():
        for page in brought.keys() - pages.keys():
            key = (share, -len(brought[page]), page)
            place[page] = min(key, place.get(page, key))
    return sorted(place, key=lambda page: place[page])[: max(n_left, 0)]


def _entries(pages: Mapping[int, Pages]) -> Iterator[PooledPage]:
    for topic, found in pages.items():
        for page, (tier, names) in found.items():
            yield PooledPage(topic, tier, page, tuple(sorted(names)))


def _merged_runs(known: Sequence[PooledRun], runs: Sequence[Run]) -> tuple[PooledRun, ...]:
    """All runs by name; one name must not stand for two runs."""
    merged = {run.name: run for run in known}
    for entry in (PooledRun(run.name, run.task, pool_fingerprint(run)) for run in runs):
        if merged.setdefault(entry.name, entry) != entry:
            raise EvenrankError(f"two different runs are named {entry.name!r}: rename one file, or start a new pool")
    return tuple(merged[name] for name in sorted(merged))


def whole_tiers(pool: Pool) -> dict[int, int]:
    """Topic → deepest tier of which all pages are in the pool; 0 when the budget cut even the first.

    A tier counts for a topic when some run of its task has a ranking there.
    """
    task_of = {run.name: run.task for run in pool.runs}
    tasks: dict[int, set[Task]] = {}
    for entry in pool.pages:
        tasks.setdefault(entry.topic, set()).update(task_of[name] for name in entry.runs)
    return {topic: _whole_tier(pool, found, pool.cut.get(topic)) for topic, found in tasks.items()}


def _whole_tier(pool: Pool, tasks: set[Task], cut: int | None) -> int:
    reached = [number for number, tier in enumerate(pool.tiers, 1) if tier.task in tasks]
    return max((number for number in reached if cut is None or number < cut), default=0)


def pool(
    collection: Collection | FilePath,
    runs: GivenRun | Iterable[GivenRun],
    *,
    tiers: Sequence[Tier | str] = (),
    budget: int | None = None,
    total: int | None = None,
    topics: TopicChoice = "eval",
    start: Pool | None = None,
    receipts: Mapping[str, Receipt] | None = None,
) -> Pool:
    """The heads of runs, in tiers such as `1:20` (Task 1, depth 20) and `2:5x25` (Task 2, depth 5, 25 rankings).

    `start` is a pool to add to: its pages keep their tier, and its tiers and budget are the default. Without it, the
    tiers are those of the 2021 track. `receipts` are what `admit_runs` gives for run files that it has checked.
    """
    opened = as_collection(collection)
    listed = given_runs(runs)
    loaded = [as_run(opened, run) for run in listed if isinstance(run, Run)]
    loaded += read_runs([run for run in listed if not isinstance(run, Run)], opened.text_ids)
    default = start.tiers if start else TRACK_TIERS
    chosen = tuple(tier if isinstance(tier, Tier) else parse_tier(tier) for tier in tiers) or default
    limit = budget if budget is not None or start is None else start.budget
    most = total if total is not None or start is None else start.total
    found = build_pool(loaded, chosen, limit, set(choose_topics(opened, topics)), start, most)
    if not found.pages:
        raise EvenrankError(
            f"nothing to pool: no run of the tasks of tiers {', '.join(map(str, chosen))} ranks a page for "
            f"the topics {topics!r} of {opened.path} (choose other tiers or topics)"
        )
    known = receipts or {}
    return replace(found, runs=tuple(replace(run, receipt=known.get(run.name, run.receipt)) for run in found.runs))
