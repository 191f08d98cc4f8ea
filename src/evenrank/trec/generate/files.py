"""The files of a generated collection in the official formats: where they are, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenrank.progress import Progress
from evenrank.trec.generate.blocks import WrittenBlock
from evenrank.trec.generate.gzip_parts import GzipWriter, compress_part
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
        metadata = GzipWriter(stack.enter_context(files.metadata.open("wb")))
        corpus = GzipWriter(stack.enter_context(files.corpus.open("wb"))) if files.corpus else None
        for block in blocks:
            metadata.write(block.metadata)
            if corpus and block.corpus:
                corpus.write(block.corpus)
            kept.append(block.without_lines())
            bar.update(block.n_pages)
        metadata.finish()
        if corpus:
            corpus.finish()
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
    _write_gzip(files.topics, json_lines(training_records(seed, ids[:n_train], themes[:n_train], tagged)))
    _write_gzip(files.eval_topics, json_lines([query_record(seed, number, theme) for number, theme in asked]))
    _write_gzip(files.eval_qrels, json_lines(qrel_records(ids[n_train:], themes[n_train:], pools)))


def _write_gzip(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        writer = GzipWriter(file)
        writer.write(compress_part(data))
        writer.finish()
