"""Where candidates come from: a source finds the pages of a topic, with scores and probabilities of relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.records import Topic, no_pages
from evenrank.search.learn.calibration import CalibrationSettings


@dataclass(frozen=True)
class Found:
    """Pages of one topic, best first, without repetition."""

    page_ids: NDArray[np.int32]
    scores: NDArray[np.float64]
    """Higher is better; any scale."""
    relevance: NDArray[np.float64]
    """Probability that the page is relevant."""

    def __len__(self) -> int:
        return len(self.page_ids)

    def take(self, positions: NDArray[np.integer]) -> Found:
        """Some of the pages, in the order asked for."""
        return Found(self.page_ids[positions], self.scores[positions], self.relevance[positions])


CALIBRATION = CalibrationSettings(method="logistic", ridge=1e-3)
"""How scores become probabilities: little shrinkage, so that pages far down the list get probabilities near 0."""
NOTHING = Found(no_pages(), np.empty(0), np.empty(0))


class CandidateSource(Protocol):
    """Finds candidates; it must be possible to send it to another process."""

    def find(self, topic: Topic) -> Found:
        """The candidates of a topic; none when the source knows nothing of it."""
        ...

    def describe(self) -> dict[str, Any]:
        """What the source is and how it came to its probabilities, for the record beside a run."""
        ...


@dataclass(frozen=True)
class Supplemented:
    """A source whose short lists are filled up from another one, below everything the first one found."""

    main: CandidateSource
    supplement: CandidateSource
    n_wanted: int
    """Lists of this length need no supplement."""

    def find(self, topic: Topic) -> Found:
        found = self.main.find(topic)
        return found if len(found) >= self.n_wanted else append(found, self.supplement.find(topic))

    def describe(self) -> dict[str, Any]:
        return {**self.main.describe(), "supplement": self.supplement.describe(), "supplemented_below": self.n_wanted}


def append(found: Found, more: Found) -> Found:
    """The pages of `found`, then the new ones of `more`, none of them more relevant than the last of `found`."""
    if not len(found):
        return more
    new = ~np.isin(more.page_ids, found.page_ids)
    n_new = np.count_nonzero(new)
    return Found(
        np.concatenate([found.page_ids, more.page_ids[new]]),
        np.concatenate([found.scores, found.scores.min() - np.arange(1.0, n_new + 1)]),
        np.concatenate([found.relevance, np.minimum(more.relevance[new], found.relevance.min())]),
    )
