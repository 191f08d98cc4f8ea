"""What is unusual about a run and changes its scores, with counts: nothing is scored in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.core.distinct import distinct
from evenrank.core.protocol import PROTOCOLS, Protocol
from evenrank.core.records import Run
from evenrank.errors import listed
from evenrank.measures.measure import Measure
from evenrank.scoring.ranked_pages import count_repeats
from evenrank.trec.collection import Collection

FEWEST_TOPICS = 5
"""With fewer topics a bootstrap interval says little."""
STRANGE_SHARE = 0.5
"""With more than this share of ranked pages outside the collection, the run is most likely one of another."""
OF_UNLISTED = {"no group": "they give no exposure", "unknown": "they count as unknown", "dropped": "they are left out"}
"""What a page without metadata does, by the protocol's `unlisted_page`."""


def run_notes(run: Run, collection: Collection, protocol: Protocol, topics: Sequence[int]) -> list[str]:
    """Notes on the rankings of the topics that are scored."""
    is_scored = np.isin(run.topic_ids, np.array(topics, np.int64))
    return [
        *_missing_rankings(run, protocol, topics),
        *_short_rankings(run, protocol, is_scored),
        *_strange_pages(run, collection, protocol, is_scored),
        *_repeated_pages(run, protocol, is_scored),
        *_other_protocol(run, protocol),
    ]


def value_notes(scores: Mapping[int, Mapping[str, float]], measures: Sequence[Measure]) -> list[str]:
    """Notes on values that are undefined, infinite, or outside the range of their measure, as repeats can make them."""
    nowhere = [m.key for m in measures if scores and all(np.isnan(row[m.key]) for row in scores.values())]
    notes = [f"undefined on every topic, so that there is no mean: {', '.join(nowhere)}"] if nowhere else []
    for measure in measures:
        values = {topic: row[measure.key] for topic, row in scores.items()}
        undefined = [topic for topic, value in values.items() if np.isnan(value)]
        outside = [topic for topic, value in values.items() if not _is_inside(value, measure)]
        if undefined and measure.key not in nowhere:
            notes.append(f"{measure.key} is undefined and left out of the mean on {_topics(undefined)}")
        infinite = [topic for topic, value in values.items() if np.isinf(value)]
        if infinite:
            notes.append(f"{measure.key} is infinite on {_topics(infinite)}, and so is the mean")
        if outside:
            notes.append(f"{measure.key} is outside its range ({_range(measure)}) on {_topics(outside)}")
    if 0 < len(scores) < FEWEST_TOPICS:
        n_topics = f"{len(scores)} topic{'s' * (len(scores) != 1)}"
        notes.append(f"only {n_topics}: an interval needs at least {FEWEST_TOPICS} to say much")
    return notes


def _missing_rankings(run: Run, protocol: Protocol, topics: Sequence[int]) -> list[str]:
    if run.task == 1:
        return []
    wanted = protocol.task2_rankings or protocol.sequence_length
    has = {topic: int(((run.topic_ids == topic) & (run.repeats <= wanted)).sum()) for topic in topics}
    lacking = {topic: wanted - n for topic, n in has.items() if 0 < n < wanted}
    if not lacking:
        return []
    how = "the mean is over those present" if protocol.missing_ranking == "skipped" else "they count as empty"
    total = f"{sum(lacking.values()):,} of {wanted * len(has):,}"
    return [f"rankings missing: {total}, in {_topics(list(lacking))}; {how}"]


def _short_rankings(run: Run, protocol: Protocol, is_scored: NDArray[np.bool_]) -> list[str]:
    lengths = np.diff(run.starts)[is_scored]
    depth = protocol.depth(run.task)
    n_short = int((lengths < depth).sum())
    if not n_short:
        return []
    counts = f"{n_short:,} of {len(lengths):,} (mean {lengths[lengths < depth].mean():.0f})"
    return [f"rankings with fewer than the {depth} pages that are scored: {counts}"]


def _strange_pages(run: Run, collection: Collection, protocol: Protocol, is_scored: NDArray[np.bool_]) -> list[str]:
    pages = _pages_of(run, is_scored)
    n_strange = len(pages) - int(collection.has_pages(pages).sum())
    if not n_strange:
        return []
    note = f"ranked pages that are not in the collection: {n_strange:,} of {len(pages):,}; "
    note += OF_UNLISTED[protocol.unlisted_page]
    return [note + (" (is this a run of another collection?)" if n_strange > STRANGE_SHARE * len(pages) else "")]


def _repeated_pages(run: Run, protocol: Protocol, is_scored: NDArray[np.bool_]) -> list[str]:
    if protocol.repeated_page == "rejected":
        return []
    pages = _pages_of(run, is_scored)
    n_repeated = count_repeats(pages, np.diff(run.starts)[is_scored])
    if not n_repeated:
        return []
    return [f"pages that appear again in the same ranking: {n_repeated:,} of {len(pages):,}; each counts every time"]


def _pages_of(run: Run, is_chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The pages of the chosen rankings, ranking after ranking."""
    return run.pages if is_chosen.all() else run.pages[np.repeat(is_chosen, np.diff(run.starts))]


def _other_protocol(run: Run, protocol: Protocol) -> list[str]:
    """A note when the run's record, or the length of all its rankings, says that it was made for another protocol."""
    if run.made_for is not None:
        made = f"made for {run.made_for}, as its record says, and scored with {protocol.name}"
        return [made] if run.made_for != protocol.name else []
    lengths = distinct(np.diff(run.starts))
    if len(lengths) != 1 or int(lengths[0]) == protocol.length(run.task):
        return []
    others = [other.name for other in PROTOCOLS.builtin.values() if other.length(run.task) == int(lengths[0])]
    if not others:
        return []
    asked = f"{protocol.name} asks for {protocol.length(run.task)}"
    return [f"every ranking has {lengths[0]} pages, as runs for {' and '.join(others)} have; {asked}"]


def _is_inside(value: float, measure: Measure) -> bool:
    return bool(np.isnan(value)) or measure.low - 1e-9 <= value <= measure.high + 1e-6


def _range(measure: Measure) -> str:
    return f"{measure.low:g} to {measure.high:g}"


def _topics(topics: Sequence[int]) -> str:
    return f"{len(topics)} topic{'s' * (len(topics) != 1)}: {listed(topics)}"
