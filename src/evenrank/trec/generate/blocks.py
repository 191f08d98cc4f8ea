"""Blocks of pages made in several processes, handed over in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.parallel import map_batches
from evenrank.trec.generate.amounts import expected_sentences
from evenrank.trec.generate.articles import corpus_lines
from evenrank.trec.generate.gzip_parts import NO_PART, GzipPart, compress_part
from evenrank.trec.generate.pages import draw_pages, hide_groups, metadata_lines, n_blocks
from evenrank.trec.generate.plan import plan_collection
from evenrank.trec.generate.settings import GenerateSettings
from evenrank.trec.generate.topics import TopicPages

TYPICAL_SENTENCES = 12
"""Sentences of an article whose length neither helps nor hinders finding it."""


@dataclass(frozen=True, slots=True, eq=False)
class WrittenBlock:
    """The finished share of one block: compressed lines, and the pages of the topics."""

    n_pages: int
    metadata: GzipPart
    corpus: GzipPart | None
    topic: NDArray[np.int16]
    """Number of the topic's theme, for each of the pages."""
    pages: TopicPages

    def without_lines(self) -> WrittenBlock:
        """The same block once its lines are written, so that they need not stay in memory."""
        return replace(self, metadata=NO_PART, corpus=None)


def make_block(settings: GenerateSettings, number: int) -> WrittenBlock:
    """One block, from generators that depend on the seed and on its number only."""
    plan = plan_collection(settings)
    pages = draw_pages(plan, number)
    members = pages.members
    length = expected_sentences(pages.score) / TYPICAL_SENTENCES
    of_topic = members.theme < settings.n_topics
    metadata = metadata_lines(hide_groups(plan, pages, number), derive(settings.seed, "metadata", number))
    return WrittenBlock(
        n_pages=int(pages.is_listed.sum()),
        metadata=compress_part(metadata),
        corpus=compress_part(corpus_lines(plan, pages, number)) if settings.with_text else None,
        topic=members.theme[of_topic].astype(np.int16),
        pages=TopicPages(
            page_id=pages.page_id[members.page[of_topic]],
            is_relevant=members.is_relevant[of_topic],
            visibility=(members.strength * length[members.page] ** 0.3)[of_topic].astype(np.float32),
        ),
    )


def make_blocks(settings: GenerateSettings, workers: int | None = None) -> Iterator[WrittenBlock]:
    """All blocks in order, made by `workers` processes, by default by this one alone."""
    count = n_blocks(plan_collection(settings))
    return map_batches(partial(make_block, settings), range(count), workers)
