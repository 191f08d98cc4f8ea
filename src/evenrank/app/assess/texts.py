"""The texts of pooled pages, taken out of the corpus once, in a file beside the judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Collection as Container
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from evenrank.app.assess.content import ArticleContent, content_of, pack_content, unpack_content
from evenrank.core.records import Article
from evenrank.core.text_ids import TextIds
from evenrank.database.database import Location, is_database_address
from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.errors import DamagedStoreError, InputError
from evenrank.io.articles import map_articles, open_articles
from evenrank.io.faults import FaultLog
from evenrank.trec.collection import Collection

VERSION = 1
"""Changes when texts must be taken anew."""
SMALL_CORPUS_BYTES = 20_000_000
"""Up to this size one process reads the corpus: starting others would take longer."""
SCHEMA = Schema(
    name="a file of article texts",
    version=1,
    script="""
CREATE TABLE source (mark TEXT NOT NULL);
CREATE TABLE text (page INTEGER PRIMARY KEY, content BLOB);  -- NULL: not in the corpus
""",
    table="text",
    fix="remove it: it is made from the corpus",
)


class Absence(Enum):
    """Why a page has no text."""

    GONE = "The corpus was read, and does not have the page."
    UNREAD = "There was no corpus to read."


@dataclass(frozen=True)
class Texts:
    """Contents by page id."""

    store: SqliteFile

    def find(self, page: int) -> ArticleContent | Absence:
        """The content of a page, or why there is none."""
        row = self.store.connection.execute("SELECT content FROM text WHERE page = ?", (page,)).fetchone()
        if row is None:
            return Absence.UNREAD
        return Absence.GONE if row[0] is None else unpack_content(row[0])

    def close(self) -> None:
        self.store.close()


def texts_path(judgments: Location, folder: Path) -> Path:
    """Where the texts for judgments are: beside their file, or in a folder of this machine when they are elsewhere."""
    if is_database_address(judgments):
        return folder / "judgments.texts.sqlite"
    judgments = Path(judgments)
    return judgments.with_name(f"{judgments.stem}.texts.sqlite")


Keys = Mapping[int | str, int]
"""Id of a page in the corpus → its number in the judgments: the same, unless ids are text."""


def keys_of(pages: Iterable[int], ids: TextIds | None) -> Keys:
    """The ids of pages in the corpus; `ids` are those of the judgments, where they are text."""
    return {page if ids is None else ids.text(page): page for page in pages}


def open_texts(path: Path, collection: Collection, pages: Container[int], ids: TextIds | None = None) -> Texts:
    """The texts of `pages`; those that are missing are looked for in the corpus. With `ids` page ids are text."""
    store = _open_store(path, collection)
    with store.transaction() as connection:
        mark = source_mark(collection)
        if [found for (found,) in connection.execute("SELECT mark FROM source")] != [mark]:
            connection.execute("DELETE FROM text")
            connection.execute("DELETE FROM source")
            connection.execute("INSERT INTO source VALUES (?)", (mark,))
    add_texts(store, collection, keys_of(unread(store, pages), ids))
    return Texts(store)


def _open_store(path: Path, collection: Collection) -> SqliteFile:
    """The file of texts; one that is damaged, or of an earlier time, is made anew where there is a corpus."""
    try:
        return open_file(SqliteFile(path), SCHEMA, may_create=True)
    except (InputError, DamagedStoreError):
        if collection.corpus is None or not collection.corpus.is_file():
            raise
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    return open_file(SqliteFile(path), SCHEMA, may_create=True)


def unread(store: SqliteFile, pages: Iterable[int]) -> frozenset[int]:
    """Those of the pages that the corpus was not searched for yet."""
    return frozenset(pages) - {page for (page,) in store.connection.execute("SELECT page FROM text")}


def add_texts(
    store: SqliteFile, collection: Collection, wanted: Keys, is_over: Callable[[], bool] = lambda: False
) -> None:
    """Takes the wanted pages out of the corpus, if it is here. Texts are stored as they are found; a page is gone
    only when the search came to its end."""
    corpus = collection.corpus
    if not wanted or corpus is None or not corpus.is_file():
        return
    for rows in find_contents(corpus, wanted, collection.manifest.has_text_ids):
        if is_over():
            return
        if rows:
            _store(store, rows)
    _store(store, [{"page": page, "content": None} for page in sorted(unread(store, wanted.values()))])


def _store(store: SqliteFile, rows: list[dict[str, object]]) -> None:
    with store.transaction() as connection:
        connection.executemany("INSERT OR REPLACE INTO text VALUES (:page, :content)", rows)


def source_mark(collection: Collection) -> str:
    """What distinguishes the corpus from another one."""
    source = collection.manifest.sources.get("corpus")
    return f"{VERSION} " + ("none" if source is None else f"{source.size_bytes}:{source.md5}")


def find_contents(corpus: Path, wanted: Keys, has_text_ids: bool = False) -> Iterator[list[dict[str, object]]]:
    """Rows of the wanted pages, batch by batch; the end of the file is not read when all are found."""
    source, n_found = open_articles(corpus, has_text_ids=has_text_ids), 0
    n_workers = 1 if source.size_bytes < SMALL_CORPUS_BYTES else None
    for batch in map_articles(
        PickPages(wanted), source, FaultLog(), label="texts of pooled pages", n_workers=n_workers
    ):
        yield batch.result
        n_found += len(batch.result)
        if n_found == len(wanted):
            return


@dataclass(frozen=True)
class PickPages:
    """The work on one batch of articles: a pure function, for any process."""

    wanted: Keys

    def __call__(self, articles: tuple[Article, ...]) -> list[dict[str, object]]:
        found = ((self.wanted.get(article.key or article.page_id), article) for article in articles)
        return [
            {"page": page, "content": pack_content(content_of(article))} for page, article in found if page is not None
        ]
