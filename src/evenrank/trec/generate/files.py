"""The files of a generated collection in the official formats, from blocks of pages that several processes make.

Each block is compressed where it is made: parts of one gzip member, joined in order.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from isal.isal_zlib import crc32_combine
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.parallel import map_batches
from evenrank.progress import Progress
from evenrank.trec.generate.articles import corpus_lines, expected_sentences
from evenrank.trec.generate.pages import draw_pages, hide_groups, metadata_lines, n_blocks
from evenrank.trec.generate.plan import plan_collection
from evenrank.trec.generate.settings import GenerateSettings
from evenrank.trec.generate.topics import (
    TopicPages,
    evaluation_pools,
    json_lines,
    qrel_records,
    query_record,
    training_judgments,
    training_records,
)

LEVEL = 6
TYPICAL_SENTENCES = 12
"""Sentences of an article whose length neither helps nor hinders finding it."""


@dataclass(frozen=True, slots=True)
class GzipPart:
    """A piece of a gzip stream."""

    deflated: bytes
    crc: int
    size: int
    """Bytes before compression."""


NO_PART = GzipPart(b"", 0, 0)


def compress_part(data: bytes) -> GzipPart:
    """`data` as deflate blocks that end on a byte and are not the last."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    deflated = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return GzipPart(deflated, zlib.crc32(data), len(data))


@contextmanager
def gzip_writer(path: Path) -> Iterator[Callable[[GzipPart], None]]:
    """A function that adds parts to a new file of one gzip member, without time or name."""
    crc = size = 0

    def write(part: GzipPart) -> None:
        nonlocal crc, size
        file.write(part.deflated)
        crc = crc32_combine(crc, part.crc, part.size)
        size += part.size

    with path.open("wb") as file:
        file.write(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
        yield write
        file.write(b"\x03\x00" + struct.pack("<II", crc, size & 0xFFFFFFFF))  # an empty last block


@dataclass(frozen=True, slots=True, eq=False)
class WrittenBlock:
    """The finished share of one block: compressed lines, and the pages of the topics."""

    n_pages: int
    metadata: GzipPart
    corpus: GzipPart | None
    topic: NDArray[np.int16]
    """Number of the topic's theme, for each of the pages."""
    pages: TopicPages


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


@dataclass(frozen=True, slots=True)
class GeneratedFiles:
    """Where the files of a generated collection are."""

    metadata: Path
    topics: Path
    eval_topics: Path
    """Evaluation topics as participants see them, without judgments."""
    eval_qrels: Path
    corpus: Path | None
    """None when no text was asked for."""


def file_paths(folder: Path, settings: GenerateSettings) -> GeneratedFiles:
    """Where the files of these settings are, in a folder."""
    return GeneratedFiles(
        metadata=folder / "trec_metadata.json.gz",
        topics=folder / "trec_topics.json.gz",
        eval_topics=folder / "eval-topics.json.gz",
        eval_qrels=folder / "eval-topics-with-qrels.json.gz",
        corpus=folder / "trec_corpus.json.gz" if settings.with_text else None,
    )


def write_pages(
    files: GeneratedFiles, settings: GenerateSettings, blocks: Iterable[WrittenBlock], bar: Progress
) -> list[TopicPages]:
    """Writes metadata and corpus; returns the pages of each topic."""
    kept: list[WrittenBlock] = []
    with ExitStack() as stack:
        write_metadata = stack.enter_context(gzip_writer(files.metadata))
        write_corpus = stack.enter_context(gzip_writer(files.corpus)) if files.corpus else None
        for block in blocks:
            write_metadata(block.metadata)
            if write_corpus and block.corpus:
                write_corpus(block.corpus)
            kept.append(replace(block, metadata=NO_PART, corpus=None))  # written lines need not stay in memory
            bar.update(block.n_pages)
    return _by_topic(kept, settings.n_topics)


def _by_topic(blocks: Sequence[WrittenBlock], n_topics: int) -> list[TopicPages]:
    """The blocks' pages of each topic, ids ascending."""
    topic = np.concatenate([block.topic for block in blocks])
    order = np.argsort(topic, kind="stable")
    borders = topic[order].searchsorted(np.arange(1, n_topics))
    columns = [
        np.split(np.concatenate(column)[order], borders)
        for column in (
            [block.pages.page_id for block in blocks],
            [block.pages.is_relevant for block in blocks],
            [block.pages.visibility for block in blocks],
        )
    ]
    return [TopicPages(*parts) for parts in zip(*columns, strict=True)]


def write_topic_files(files: GeneratedFiles, settings: GenerateSettings, topics: list[TopicPages]) -> None:
    """Writes the three topic files."""
    seed = settings.seed
    n_train = settings.n_train_topics
    ids = settings.topic_ids
    themes = plan_collection(settings).themes[: settings.n_topics]
    tagged = training_judgments(settings, topics[:n_train])
    pools = evaluation_pools(settings, topics[n_train:])
    asked = list(zip(ids, themes, strict=True))[n_train:]
    records = {
        files.topics: training_records(seed, ids[:n_train], themes[:n_train], tagged),
        files.eval_topics: [query_record(seed, number, theme) for number, theme in asked],
        files.eval_qrels: qrel_records(ids[n_train:], themes[n_train:], pools),
    }
    for path, of_file in records.items():
        with gzip_writer(path) as write:
            write(compress_part(json_lines(of_file)))
