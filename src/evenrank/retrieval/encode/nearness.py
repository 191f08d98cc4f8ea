"""How near pages are to a topic by the text vectors of an index, on a scale that topics and encoders share."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.retrieval.encode.dense import DenseScorer, recorded_encoders
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.encode.vector_cache import RecentTextVectors
from evenrank.retrieval.engine.protocol import Engine

LOG = logging.getLogger("evenrank.retrieval")
N_FIRST = 300
"""Pages of a search, best first, beside which nearness is also measured."""
NEARNESS = ("topic", "title", "topic beside the first", "title beside the first")
SCALES: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "bge-small-en": ((0.2027, 0.0698), (0.1836, 0.0722)),
    "e5-small-v2": ((0.0777, 0.0287), (0.0646, 0.029)),
}
"""Mean and deviation of the nearness of judged articles to their topics, and to the titles of these, by encoder."""
SMALLEST_DEVIATION = 1e-9
"""What a deviation is at least, so that all can be divided by it."""


@dataclass(frozen=True)
class Nearness:
    """How near pages are to a topic by the text vectors of an index, with the mean of its encoders."""

    scorers: tuple[DenseScorer, ...]
    topic: Topic
    first: NDArray[np.int32]
    """The first pages of the search, beside which nearness is also measured."""

    @classmethod
    def of(cls, scorers: tuple[DenseScorer, ...], topic: Topic, found: NDArray[np.int32]) -> Nearness | None:
        """The nearness to a topic by the encoders of an index; None without any. `found` are the pages of the search,
        best first."""
        return cls(scorers, topic, found[:N_FIRST]) if scorers and len(found) else None

    def evidence(self, page_ids: NDArray[np.int32]) -> list[dict[str, float]]:
        """Nearness to the topic and to its title: on the scale of each encoder, and beside the first pages."""
        found = np.zeros((len(page_ids), len(NEARNESS)))
        for scorer in self.scorers:
            pages, first = (scorer.similarity(self.topic, ids) for ids in (page_ids, self.first))
            for at, (mean, deviation) in enumerate(SCALES[scorer.encoder.name]):
                found[:, at] += (pages[at] - mean) / deviation
                found[:, at + 2] += (pages[at] - first[at].mean()) / max(float(first[at].std()), SMALLEST_DEVIATION)
        return [dict(zip(NEARNESS, row, strict=True)) for row in (found / len(self.scorers)).tolist()]


def open_scorers(engine: Engine, folder: Path) -> tuple[DenseScorer, ...]:
    """The text encoders that made the vectors of an index, if it has some of all pages. None where one is not on this
    machine, or another one than the known ones.

    What visitors ask for is not written down.
    """
    found = []
    try:
        for settings in recorded_encoders(folder)[:2]:
            encoder = Encoder(settings)
            if encoder.name not in SCALES or settings.device != "cpu":
                return ()
            scorer = DenseScorer.open(engine, encoder, folder)
            if not scorer.covers_index:
                return ()
            found.append(replace(scorer, texts=RecentTextVectors(scorer.texts.path, encoder.n_dimensions)))
            found[-1].encode_background()
    except (EvenrankError, OSError) as error:
        LOG.warning("text vectors are not used: %s", error)
        return ()
    return tuple(found)
