"""What the search of lists finds for the training topics, kept with an index: a server learns from it at its start."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import orjson

from evenrank.core.records import Topic
from evenrank.core.settings import check_value
from evenrank.core.types import Floats
from evenrank.io.atomic import atomic_file
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.relevance import LexicalModel, ScoredPages, SearchSettings, probability_by_rank
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import own_version

FILE_NAME = "training-pages.json"
PAGES_PER_GROUP = 200
"""Pages that a list wants of each region, and of each other group that is searched for."""
LOG = logging.getLogger("evenrank.retrieval")


@dataclass(frozen=True)
class FoundPages:
    """What the file has of one topic, best first."""

    page_ids: Floats
    scores: Floats


def list_settings(
    n_pages: int, dimensions: tuple[str, ...], group_counts: tuple[tuple[str, int], ...]
) -> CandidateSettings:
    """How many pages lists look at: no pairs of groups, with which lists score alike and take longer."""
    return CandidateSettings(n_pages, PAGES_PER_GROUP, dimensions, group_counts, has_intersections=False)


def own_group_counts(collection: Collection) -> tuple[tuple[str, int], ...]:
    """Name and number of known groups of each dimension that is the collection's own."""
    known = collection.known_dimensions
    return tuple((name, len(known[name].groups) - 1) for name in collection.manifest.own_dimensions)


def is_training(topic: Topic) -> bool:
    """Whether a topic teaches which pages are relevant."""
    return topic.split == "train" and len(topic.rel_docs) > 0


def write_training_pages(collection: Collection, engine: Engine, folder: Path) -> None:
    """Search for the training topics of a collection, as lists usually do, and keep in a folder what was found."""
    searched = tuple(one.name for one in collection.dimensions if not one.is_personal)
    settings = list_settings(CandidateSettings().n_pages, searched, own_group_counts(collection))
    model, found = LexicalModel(engine, SearchSettings(candidates=settings)), {}
    for topic in filter(is_training, collection.topics):
        pages = model.score(topic, settings.n_pages)
        found[_mark(topic, settings)] = {"page_ids": pages.page_ids, "scores": pages.scores}
    if found:
        with atomic_file(folder / FILE_NAME) as file:
            file.write(orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY))


def read_training_pages(folder: Path, settings: CandidateSettings, topics: Iterable[Topic]) -> dict[int, ScoredPages]:
    """What was found for topics with these settings, as far as a folder has it."""
    try:
        record = orjson.loads((folder / FILE_NAME).read_bytes())
        known = {topic.id: record[mark] for topic in topics if (mark := _mark(topic, settings)) in record}
        found = {topic: check_value(one, FoundPages) for topic, one in known.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError) as error:
        LOG.warning("%s: not used, and searched for again: %s", folder / FILE_NAME, error)
        return {}
    return {
        topic: ScoredPages(one.page_ids.astype(np.int32), one.scores, probability_by_rank(one.scores))
        for topic, one in found.items()
    }


def _mark(topic: Topic, settings: CandidateSettings) -> str:
    """Changes with everything that decides what is found in the index."""
    asked = replace(SearchSettings(), candidates=settings)
    made_of = (own_version(), asked, topic.title, topic.keywords, topic.scope)
    return hashlib.sha256(repr(made_of).encode()).hexdigest()
