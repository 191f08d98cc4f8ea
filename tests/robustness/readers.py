"""Every reader of a file that a user may give, as a function of a path; bad input raises EvenrankError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from evenrank.alignment.dimensions import DIMENSIONS
from evenrank.annotate.dump_pages import annotate_history, annotate_page_props, annotate_pages
from evenrank.annotate.entities import annotate_entities
from evenrank.assessment.imports import parse_vote
from evenrank.assessment.pool_file import read_pool
from evenrank.errors import EvenrankError
from evenrank.exposure import parse_attention
from evenrank.formats.articles import read_articles
from evenrank.formats.content import RawBatch, read_batches
from evenrank.formats.dump import PAGE_END, read_site
from evenrank.formats.faults import FaultLog
from evenrank.formats.json_lines import read_records
from evenrank.formats.metadata import read_metadata
from evenrank.formats.qrels import read_qrels
from evenrank.formats.runs import read_run
from evenrank.formats.topics import read_topics
from evenrank.items.score import score
from evenrank.search.learn.model_file import load
from evenrank.web.sources.entries import EntriesError, SourceEntry, parse_entries
from evenrank.web.storage.backup import restore_backup

Reader = Callable[[Path], object]


def _articles(path: Path) -> list[object]:
    return list(read_articles(path, FaultLog()))


def _batches(function: Callable[[RawBatch], object], record_end: bytes, path: Path) -> list[object]:
    return [function(batch) for batch in read_batches(path, FaultLog(), record_end=record_end)]


def _dump(path: Path) -> list[object]:
    return _batches(partial(annotate_pages, site=read_site(path)), PAGE_END, path)


def _entries(path: Path) -> list[SourceEntry]:
    """What somebody sends to the web app as a file, decoded as it decodes it."""
    try:
        return parse_entries(path.read_bytes().decode("utf-8", "replace"), path.name)
    except EntriesError as error:
        raise EvenrankError(str(error)) from error


def _backup(path: Path) -> None:
    target = path.with_name("restored.sqlite")
    try:
        restore_backup(path, {"store": target}, replace=True)
    finally:
        target.unlink(missing_ok=True)


def _items(path: Path) -> object:
    """A table as rankings, as groups and as judgments of rankings; whatever is wrong with it must be said."""
    rankings = {"q1": ["a", "b", "c"], "q2": ["b", "a"]}
    for given in ({"groups": path}, {"relevance": path}, {"target": path, "groups": {"a": "x", "b": "y", "c": "x"}}):
        with suppress(EvenrankError):
            score(rankings, **given)  # type: ignore[arg-type]
    return score(path, {"a": "x", "b": "y"})


READERS: dict[str, Reader] = {
    "run": read_run,
    "qrels": read_qrels,
    "topics": partial(read_topics, split="eval"),
    "metadata": partial(read_metadata, dimensions=tuple(DIMENSIONS.values()), optional=tuple(DIMENSIONS)),
    "pool": read_pool,
    "votes": partial(read_records, parse=parse_vote),
    "corpus": _articles,
    "dump": _dump,
    "wikidata": partial(_batches, partial(annotate_entities, wiki="enwiki", with_gender=True), b"\n"),
    "page_props": partial(_batches, annotate_page_props, b"\n"),
    "history": partial(_batches, annotate_history, PAGE_END),
    "model": load,
    "items": _items,
    "attention": lambda path: parse_attention(f"table:{path}"),
    "entries": _entries,
    "backup": _backup,
}
"""Name → reader; `corpus/NAME` holds the inputs that its fuzzing starts from."""
