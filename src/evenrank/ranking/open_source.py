"""The source of candidates for a collection: a run somebody has, or the collection's index, or both."""

from __future__ import annotations

import os
from dataclasses import replace

from evenrank.collection.collection import Collection
from evenrank.collection.given import given_run
from evenrank.errors import NoIndexError
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.run_source import calibrated
from evenrank.ranking.search_source import search_source
from evenrank.ranking.sources import CandidateSource, Supplemented
from evenrank.records import Run
from evenrank.search.engine.indexing import index_folder
from evenrank.search.model_choice import UNTRAINED, ModelChoice


def open_source(
    collection: Collection,
    run: Run | str | os.PathLike[str] | None,
    settings: BuildSettings,
    n_wanted: int,
    model: ModelChoice = UNTRAINED,
) -> CandidateSource:
    """The pages of a run, filled up from the index to `n_wanted` if there is one; without a run, the index.

    `model` scores the pages that come from the index.
    """
    n_pages = max(settings.n_candidates, n_wanted)
    if run is None:
        return search_source(collection, n_pages, settings.information, model)
    has_index = index_folder(collection).exists()
    if model != UNTRAINED and not has_index:
        raise NoIndexError(f"{collection.path}: no index for a relevance model to search (run: evenrank index)")
    from_run = calibrated(replace(given_run(collection, run), ids=None), collection.topics)
    if not has_index:
        return from_run
    return Supplemented(from_run, search_source(collection, n_pages, settings.information, model), n_wanted)
