"""Which pages of a run are judged, what is left of a run without the others, and which of those may be relevant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Run, Topic
from evenrank.errors import EvenrankError

Unjudged = Literal["ranked", "collection", "none"]
SCOPES: dict[str, str] = {
    "ranked": "unjudged pages that a scored run ranks may be relevant, others are not",
    "collection": "any unjudged page of the collection may be relevant",
    "none": "unjudged pages are not relevant; groups alone are unknown",
}
"""Which unjudged pages may be relevant when scores are bounded."""


def check_scope(unjudged: str) -> Unjudged:
    """The scope of that name; EvenrankError for another."""
    if unjudged not in SCOPES:
        raise EvenrankError(f"bounds is {unjudged!r} (choose from {', '.join(SCOPES)})")
    return unjudged  # type: ignore[return-value]


def judged_pages(topics: Sequence[Topic]) -> dict[int, NDArray[np.int32]]:
    """Topic → judged pages, for the topics whose judgments say what was judged."""
    return {topic.id: topic.assessed_docs for topic in topics if topic.assessed_docs is not None}


def is_judged(run: Run, judged: Mapping[int, NDArray[np.int32]]) -> NDArray[np.bool_]:
    """For each page of the run, whether it is judged for its topic; topics without judgments have none."""
    topic_of_page = np.repeat(run.topic_ids, np.diff(run.starts))
    sizes = [len(pages) for pages in judged.values()]
    topics = np.repeat(np.fromiter(judged, np.int64, len(judged)), sizes)
    pages = np.concatenate(list(judged.values())) if judged else np.empty(0, np.int32)
    return np.isin(_key(topic_of_page, run.pages), _key(topics, pages))


def _key(topics: NDArray[np.integer], pages: NDArray[np.integer]) -> NDArray[np.int64]:
    """One number for a topic and a page."""
    key: NDArray[np.int64] = topics.astype(np.int64) << 32 | pages.astype(np.int64)
    return key


def judged_only(run: Run, judged: Mapping[int, NDArray[np.int32]]) -> Run:
    """The run without its unjudged pages; those behind move up, rankings may end empty."""
    kept = is_judged(run, judged)
    starts = np.concatenate([[0], np.cumsum(kept)])[run.starts].astype(np.int64)
    scores = None if run.scores is None else run.scores[kept]
    return replace(run, starts=starts, pages=run.pages[kept], scores=scores)


def judged_at(run: Run, judged: Mapping[int, NDArray[np.int32]], depth: int) -> dict[int, float]:
    """Topic → judged@depth: the judged share of the first `depth` pages, averaged over the topic's rankings.

    Topics of the run that have no judgments at all are left out; an empty ranking counts 0.
    """
    lengths = np.minimum(np.diff(run.starts), depth)
    n_judged = np.concatenate([[0], np.cumsum(is_judged(run, judged))])
    shares = (n_judged[run.starts[:-1] + lengths] - n_judged[run.starts[:-1]]) / np.maximum(lengths, 1)
    topics, row = np.unique(run.topic_ids, return_inverse=True)
    means = np.bincount(row, shares) / np.bincount(row) if len(topics) else np.empty(0)
    return {int(topic): float(mean) for topic, mean in zip(topics, means, strict=True) if int(topic) in judged}
