"""Candidates for people who wait: a search for each region and each gender, but not for each pair of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.policies.search_source import SearchSource
from evenrank.policies.sources import CALIBRATION
from evenrank.search.calibration import fit_calibration
from evenrank.search.candidates import CandidateSettings
from evenrank.search.engine import GROUP_FIELDS
from evenrank.search.relevance import LexicalModel


@dataclass(frozen=True)
class DeskSource(SearchSource):
    """The search behind the desk. Lists score as with a search for each pair, and take a third less time."""

    n_per_group: int = 200
    """Pages wanted of each region and each gender."""

    def model(self) -> LexicalModel:
        """The model behind this source."""
        model = super().model()
        groups = CandidateSettings(self.n_pages, self.n_per_group, self.dimensions, has_intersections=False)
        return replace(model, settings=replace(model.settings, candidates=groups))


def desk_source(collection: Collection, n_pages: int) -> DeskSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    source = DeskSource(collection.path, n_pages, tuple(GROUP_FIELDS))
    samples = []
    for topic in collection.topics:
        if topic.split == "train" and len(topic.rel_docs):
            hits = source.hits(topic)
            samples.append((hits.scores, np.isin(hits.page_ids, topic.rel_docs)))
    filled = [sample for sample in samples if len(sample[0])]
    return replace(source, calibration=fit_calibration(filled, CALIBRATION)) if filled else source
