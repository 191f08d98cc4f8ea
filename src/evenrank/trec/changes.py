"""Changes of a collection: JSON lines that say which pages and topics are put in or deleted.

{"op": "put", "id": 12, "metadata": {"quality_score": 0.4, "geographic_locations": ["Asia"]}}
{"op": "put", "id": 12, "article": {"title": "Tea", "url": "https://…", "text": "'''Tea''' is …"}}
{"op": "delete", "id": 13}
{"op": "put-topic", "split": "train", "topic": {"id": 7, "title": "Tea", "rel_docs": [12]}}
{"op": "delete-topic", "id": 8}

Lines apply in order. `put` adds a page or changes it: what a line does not name stays as it is. Metadata and articles
are records as in their own files, without the id, and replace the whole record; null removes it. A page without
metadata, old or new, gets an empty record, with unknown groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from evenrank.core.records import Article, Topic
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import shown_value
from evenrank.io.corpus import corpus_article, repaired_text
from evenrank.io.faults import MAX_COUNTED, FaultLog
from evenrank.io.json_lines import load_record, read_lines
from evenrank.io.metadata import Metadata, metadata_of_lines
from evenrank.io.metadata_fields import MAX_PAGE_ID, MaskField
from evenrank.io.name_lists import NameLists
from evenrank.io.topics import parse_topic

OPERATIONS = {
    "put": frozenset({"op", "id", "metadata", "article"}),
    "delete": frozenset({"op", "id"}),
    "put-topic": frozenset({"op", "topic", "split"}),
    "delete-topic": frozenset({"op", "id"}),
}
"""Operations and their fields."""


@dataclass(frozen=True)
class ChangedArticle:
    """What a data folder keeps of an article."""

    title: bytes
    size_bytes: int


@dataclass
class Changes:
    """What is new of each page and topic; None for what is removed."""

    n_lines: int = 0
    metadata: dict[int, tuple[int, bytes] | None] = field(default_factory=dict)
    """Line of the file and record."""
    articles: dict[int, ChangedArticle | None] = field(default_factory=dict)
    topics: dict[int, Topic | None] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    """Pages that were given an article, even if a later line removes it."""
    repeated: set[int] = field(default_factory=set)
    """Pages whose article is there more than once; the last one counts."""

    def columns(
        self, path: Path, dimensions: Iterable[MaskField], names: NameLists | None, faults: FaultLog
    ) -> Metadata | None:
        """The metadata as columns; None where no page has any. What is wrong goes to `faults`."""
        records = [(page, *found) for page, found in self.metadata.items() if found is not None]
        if not records:
            return None
        lines = [b'{"page_id":%d%s%s' % (page, b"" if text == b"{}" else b",", text[1:]) for page, _, text in records]
        return metadata_of_lines(path, lines, [line for _, line, _ in records], [*dimensions], names, faults)


def read_changes(
    path: Path, ids: TextIds | None, *, has_articles: bool, write_article: Callable[[bytes], object], faults: FaultLog
) -> Changes:
    """The changes in a file, with the articles passed to `write_article` as lines of a corpus in the file's order.

    With `ids` page ids are text, and get their numbers there. A collection without texts takes no articles.
    """
    found = Changes()
    reader = _Reader(found, ids, has_articles, write_article)
    for number, line in read_lines(path):
        found.n_lines += 1
        try:
            reader.read(number, load_record(line))
        except orjson.JSONDecodeError as error:
            faults.add(path, number, f"not JSON: {error}", "give one JSON record a line")
        except ValueError as error:
            faults.add(path, number, str(error), "fix the record or leave it out")
        if faults.n_faults >= MAX_COUNTED:
            break
    return found


@dataclass(frozen=True)
class _Reader:
    found: Changes
    ids: TextIds | None
    has_articles: bool
    write_article: Callable[[bytes], object]

    def read(self, number: int, record: dict[str, Any]) -> None:
        """Take a record; ValueError says what is wrong with it, and nothing of it is taken."""
        operation = record.get("op")
        if operation not in OPERATIONS:
            raise ValueError(f"op is {shown_value(operation)}, not one of {', '.join(OPERATIONS)}")
        if unknown := sorted(record.keys() - OPERATIONS[operation]):
            raise ValueError(f"{operation} has no field {shown_value(unknown[0])} (it has {_listed(operation)})")
        if operation == "put-topic":
            self._put_topic(record)
        elif operation == "delete-topic":
            self.found.topics[_whole(record.get("id"))] = None
        elif operation == "put":
            self._put(number, record)
        elif page := self._page(record):
            self.found.metadata[page] = self.found.articles[page] = None

    def _put(self, number: int, record: dict[str, Any]) -> None:
        metadata, article = record.get("metadata"), record.get("article")
        if metadata is not None and (not isinstance(metadata, dict) or "page_id" in metadata):
            raise ValueError("metadata is no record of fields without page_id")
        if article is not None and not self.has_articles:
            raise ValueError("the collection was imported without articles")
        if article is not None and (not isinstance(article, dict) or "id" in article):
            raise ValueError("article is no record of title, url and text, without id")
        if not record.keys() & {"metadata", "article"}:
            raise ValueError("put names neither metadata nor article")
        page = self._page(record)
        if article is not None:
            taken = corpus_article({**article, "id": record["id"]}, repaired_text, self.ids is not None)
            self.write_article(article_line(taken))
            if self.found.articles.get(page) is not None:
                self.found.repeated.add(page)
            text = taken.text.encode("utf-8", "replace")
            if self.found.metadata.get(page, ()) is None and "metadata" not in record:
                self.found.metadata[page] = (number, b"{}")
            self.found.written.add(page)
            self.found.articles[page] = ChangedArticle(taken.title.encode("utf-8", "replace"), len(text))
        elif "article" in record:
            self.found.articles[page] = None
        if "metadata" in record:
            self.found.metadata[page] = None if metadata is None else (number, orjson.dumps(metadata))

    def _put_topic(self, record: dict[str, Any]) -> None:
        topic, split = record.get("topic"), record.get("split")
        if not isinstance(topic, dict):
            raise ValueError(f"topic is {shown_value(topic)}, not a record")
        if split not in ("train", "eval"):
            raise ValueError(f"split is {shown_value(split)}, not train or eval")
        parsed = parse_topic(topic, split, self.ids)
        self.found.topics[parsed.id] = parsed

    def _page(self, record: dict[str, Any]) -> int:
        """The number of the page of a record; 0 for a deleted one that is not known."""
        value = record.get("id")
        if self.ids is None:
            return _whole(value, MAX_PAGE_ID)
        text = check_text_id(value, "id")
        return self.ids.find(text) if record["op"] == "delete" else self.ids.number(text)


def _whole(value: object, largest: int = MAX_PAGE_ID) -> int:
    if type(value) is not int or not 0 < value <= largest:
        raise ValueError(f"id is {shown_value(value)}, not a whole number from 1 to {largest}")
    return value


def _listed(operation: str) -> str:
    return ", ".join(sorted(OPERATIONS[operation] - {"op"}))


def article_line(article: Article) -> bytes:
    """A line of a corpus."""
    record = {"id": article.key or article.page_id, "title": article.title, "url": article.url, "text": article.text}
    return orjson.dumps(record) + b"\n"


def put_line(
    page: int | str, *, metadata: object = ..., article: Article | None = None, removes_article: bool = False
) -> bytes:
    """A change that puts a page in; without `metadata` those that it has stay."""
    record: dict[str, object] = {"op": "put", "id": page}
    if metadata is not ...:
        record["metadata"] = metadata
    if removes_article:
        record["article"] = None
    if article is not None:
        record["article"] = {"title": article.title, "url": article.url, "text": article.text}
    return orjson.dumps(record) + b"\n"


def delete_line(page: int | str) -> bytes:
    """A change that deletes a page."""
    return orjson.dumps({"op": "delete", "id": page}) + b"\n"


@contextmanager
def packed_lines(path: str | os.PathLike[str]) -> Iterator[Callable[[bytes], object]]:
    """A function that adds lines to a new file, packed; the same lines give the same bytes."""
    from isal import igzip

    packed: Any = igzip.IGzipFile
    with open(path, "wb") as file, packed("", "wb", 1, file, mtime=0) as lines:
        yield lines.write
