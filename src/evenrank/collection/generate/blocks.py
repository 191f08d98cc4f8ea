"""Blocks of pages made in several processes, handed over in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenrank.collection.generate.amounts import expected_sentences
from evenrank.collection.generate.corpus import corpus_lines
from evenrank.collection.generate.gzip_parts import NO_PART, Part, compress_part
from evenrank.collection.generate.metadata import metadata_lines
from evenrank.collection.generate.pages import draw_pages, n_blocks
from evenrank.collection.generate.plan import make_plan
from evenrank.collection.generate.settings import GenerateSettings
from evenrank.parallel import map_batches
from evenrank.rng import derive

TYPICAL_SENTENCES = 12
"""Sentences of an article whose length neither helps nor hinders finding it."""
WORTH_SHARING = 6
"""Blocks from which on it pays to start processes."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The finished share of one block: compressed lines, and the pages of the topics."""

    n_pages: int
    metadata: Part
    corpus: Part | None
    page_id: NDArray[np.int32]
    """Of each page that belongs to a topic or mentions it; the next three columns go with it."""
    topic: NDArray[np.int16]
    """Number of the topic's theme."""
    is_relevant: NDArray[np.bool_]
    visibility: NDArray[np.float32]

    def without_lines(self) -> Block:
        """The same block once its lines are written, so that they need not stay in memory."""
        return replace(self, metadata=NO_PART, corpus=None)


def make_block(settings: GenerateSettings, number: int) -> Block:
    """One block, from generators that depend on the seed and on its number only."""
    plan = make_plan(settings)
    pages = draw_pages(plan, number)
    members = pages.members
    length = expected_sentences(pages.score) / TYPICAL_SENTENCES
    of_topic = members.theme < settings.n_topics
    metadata = metadata_lines(pages, derive(settings.seed, "metadata", number))
    return Block(
        n_pages=int(pages.is_listed.sum()),
        metadata=compress_part(metadata),
        corpus=compress_part(corpus_lines(plan, pages, number)) if settings.with_text else None,
        page_id=pages.page_id[members.page[of_topic]],
        topic=members.theme[of_topic].astype(np.int16),
        is_relevant=members.is_relevant[of_topic],
        visibility=(members.strength * length[members.page] ** 0.3)[of_topic].astype(np.float32),
    )


def make_blocks(settings: GenerateSettings, workers: int | None = None) -> Iterator[Block]:
    """All blocks in order, made by `workers` processes (None: one for each core, or this one for little work)."""
    count = n_blocks(make_plan(settings))
    if workers is None and count < WORTH_SHARING:
        workers = 1
    return map_batches(partial(make_block, settings), range(count), workers)
