"""`evenrank.show_run`: what a run ranks, for people to read: titles, quality, groups as totals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import align
from evenrank.core.groups import GroupSpace
from evenrank.core.records import NO_CLASS, WORK_ORDER, Run, Task
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.io.runs import read_runs
from evenrank.trec.collection import Collection, GivenRun, TopicChoice, as_collection, as_run, choose_topics, given_run

UNKNOWN_TITLE = "(not in the collection)"
NO_TITLE = "(the collection has no titles)"
MIN_SHOWN = 3
"""Smaller totals of a group of people are withheld, so that nobody is singled out."""


@dataclass(frozen=True)
class ShownPage:
    """One ranked page."""

    rank: int
    page_id: int | str
    title: str
    quality: str


@dataclass(frozen=True)
class ShownTopic:
    """What a run ranks for one topic."""

    topic: int
    title: str
    task: Task
    n_rankings: int
    n_pages: int
    """Different pages over all rankings."""
    pages: tuple[ShownPage, ...]
    """The first pages of the first ranking."""
    quality: dict[str, int]
    """Different pages by quality class."""
    groups: dict[str, dict[str, float | None]]
    """Different pages by dimension and group; a page of two groups is half in each. Small totals of people are None."""
    is_query: bool = False
    """Whether this is the subject of `rank --query`, which has a title of its own and a number that nobody chose."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def show_run(
    collection: Collection | FilePath,
    run: GivenRun,
    topics: TopicChoice | None = None,
    k: int = 10,
) -> list[ShownTopic]:
    """For each topic of a run: the first k pages, and all pages counted by quality and by group."""
    opened = as_collection(collection)
    given = given_run(run)
    loaded = as_run(opened, given) if isinstance(given, Run) else read_runs([given], opened.text_ids)[0]
    answered = list(dict.fromkeys(loaded.topic_ids.tolist()))
    wanted = answered if topics is None else [topic for topic in choose_topics(opened, topics) if topic in answered]
    if not wanted:
        raise EvenrankError(f"{loaded.name}: ranks nothing for the topics {topics!r}")
    return [_topic(opened, loaded, topic, k) for topic in wanted]


def _topic(collection: Collection, run: Run, topic: int, k: int) -> ShownTopic:
    rankings = [pages for other, _, pages in run.rankings() if other == topic]
    distinct = np.unique(np.concatenate(rankings))
    rows = collection.rows_of(distinct)
    known = collection.topic_by_id.get(topic)
    classes = collection.quality_class[rows[rows >= 0]]
    counts = np.bincount(classes, minlength=NO_CLASS + 1)
    return ShownTopic(
        topic=topic,
        title=run.titles.get(topic) or (known.title if known is not None else "(not a topic of the collection)"),
        task=run.task,
        n_rankings=len(rankings),
        n_pages=len(distinct),
        pages=tuple(_pages(collection, rankings[0][:k])),
        quality={name: int(count) for name, count in zip((*WORK_ORDER, "none"), counts, strict=True)},
        groups={name: _by_group(collection, rows, name) for name in _shown_dimensions(collection)},
        is_query=topic in run.titles,
    )


def _shown_dimensions(collection: Collection) -> list[str]:
    """The dimensions that the metadata say something about; all of them when there is none."""
    return [name for name in collection.masks if collection.has_groups(name)] or list(collection.masks)


def _pages(collection: Collection, page_ids: NDArray[np.int32]) -> list[ShownPage]:
    titles = collection.titles
    found = []
    for rank, (page, row) in enumerate(zip(page_ids.tolist(), collection.rows_of(page_ids).tolist(), strict=True), 1):
        title = UNKNOWN_TITLE if row < 0 else NO_TITLE if titles is None else titles[row]
        quality = int(collection.quality_class[row]) if row >= 0 else NO_CLASS
        found.append(ShownPage(rank, collection.shown_id(page), title, (*WORK_ORDER, "none")[quality]))
    return found


def _by_group(collection: Collection, rows: NDArray[np.intp], name: str) -> dict[str, float | None]:
    dimension = next(one for one in collection.dimensions if one.name == name)
    space = GroupSpace((dimension,))
    totals = align(collection.masks_of(rows, space, 1), space, [True]).total()
    least = MIN_SHOWN if dimension.is_personal else 0.0
    return {
        group: round(float(total), 2) if total >= least else None
        for group, total in zip(dimension.scored_groups, totals, strict=True)
        if total > 0.0
    }


def as_text(shown: ShownTopic) -> str:
    """A topic for a terminal."""
    many = f" in {shown.n_rankings} rankings" if shown.n_rankings > 1 else ""
    name = shown.title if shown.is_query else f"{shown.topic} {shown.title}"
    lines = [f"{name}: {shown.n_pages:,} page{'s' * (shown.n_pages != 1)}{many}"]
    width = max((len(page.title) for page in shown.pages), default=0)
    lines += [f"{page.rank:>6}  {page.title:<{width}}  {page.quality:<5}  {page.page_id}" for page in shown.pages]
    lines.append("  quality: " + "   ".join(f"{name} {count:,}" for name, count in shown.quality.items() if count))
    for name, totals in shown.groups.items():
        counts = {group: f"below {MIN_SHOWN}" if n is None else f"{n:,.0f}" for group, n in totals.items()}
        lines.append(f"  {name}: " + "   ".join(f"{group} {count}" for group, count in counts.items()))
    return "\n".join(lines) + "\n"
