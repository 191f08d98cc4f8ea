"""The texts of pooled pages: taken from the corpus, stored beside the judgments, completed while the server runs."""

from __future__ import annotations

import logging
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Collection as Container
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path

import orjson

from evenrank.core.records import Article
from evenrank.core.text_ids import TextIds
from evenrank.database.database import Location, is_database_address
from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.errors import DamagedStoreError, InputError
from evenrank.io.articles import ArticleFile, map_articles
from evenrank.io.faults import FaultLog
from evenrank.parallel import n_cores
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import is_changes
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

_UPKEEP = re.compile(
    r"\b(?:stubs?|good articles|featured articles|wikipedia|articles? (?:with|needing|lacking|containing)"
    r"|use \w+ (?:dates|english)|short description|all (?:articles|pages)|webarchive|cs1)\b",
    re.I,
)
"""Categories of upkeep: many of them say how good an article is."""
_PICTURE = re.compile(r"\.(?:jpe?g|png|svg|gif|tiff?|webp|ogg|webm|pdf)$", re.I)
VERSION = 1
"""Changes when texts must be extracted again."""
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
LOG = logging.getLogger("evenrank.app")
PATIENCE_SECONDS = 2.0
"""How long a visitor waits for the first text of a new page: enough for a small corpus."""


@dataclass(frozen=True, slots=True)
class ContentPart:
    """A heading with the text below it."""

    level: int
    """1 to 6; 0 for the lead, which has no heading."""
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ArticleContent:
    """One article as it is shown."""

    title: str
    parts: tuple[ContentPart, ...]
    """Lead and sections in the article's order."""
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values of the infobox."""
    tables: tuple[str, ...] = ()
    """Words of table cells, one table each."""
    captions: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def texts(self) -> list[str]:
        """All texts, for finding words in them."""
        parts = [text for part in self.parts for text in (part.title, part.text)]
        facts = [value for _, value in self.facts]
        return [self.title, *parts, *facts, *self.tables, *self.captions, *self.categories]


def content_of(article: Article) -> ArticleContent:
    """The content of an article of the corpus."""
    page = parse_wikitext(article.text)
    sections = [ContentPart(section.level, section.title, section.text) for section in page.sections]
    return ArticleContent(
        title=article.title,
        parts=tuple(_without_empty([ContentPart(0, "", page.lead), *sections])),
        facts=tuple((_label(name), value) for name, value in page.infobox if value and not _is_picture(name, value)),
        tables=tuple(line for line in page.tables.splitlines() if line.strip()),
        captions=page.captions,
        categories=tuple(name for name in page.categories if not _UPKEEP.search(name)),
    )


def _without_empty(parts: list[ContentPart]) -> Iterator[ContentPart]:
    """The parts that have text, or a part below them: a list of references, once cleaned, is a bare heading."""
    for part, following in zip(parts, [*parts[1:], ContentPart(0, "", "")], strict=True):
        if part.text or following.level > part.level > 0:
            yield part


def _label(name: str) -> str:
    return name.replace("_", " ").strip().capitalize()


def _is_picture(name: str, value: str) -> bool:
    return name.lower().startswith(("image", "logo", "map")) or _PICTURE.search(value) is not None


def pack_content(content: ArticleContent) -> bytes:
    """The content as compressed bytes."""
    return zlib.compress(orjson.dumps(asdict(content)), 6)


def unpack_content(blob: bytes) -> ArticleContent:
    """The content in bytes that `pack_content` made."""
    record = orjson.loads(zlib.decompress(blob))
    return ArticleContent(
        title=record["title"],
        parts=tuple(ContentPart(**part) for part in record["parts"]),
        facts=tuple((name, value) for name, value in record["facts"]),
        tables=tuple(record["tables"]),
        captions=tuple(record["captions"]),
        categories=tuple(record["categories"]),
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
    add_texts(store, collection, keys_of(unread_pages(store, pages), ids))
    return Texts(store)


def _open_store(path: Path, collection: Collection) -> SqliteFile:
    """The file of texts; a corrupted or outdated one is rebuilt where there is a corpus."""
    try:
        return open_file(SqliteFile(path), SCHEMA, may_create=True)
    except (InputError, DamagedStoreError):
        if collection.corpus is None or not collection.corpus.is_file():
            raise
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    return open_file(SqliteFile(path), SCHEMA, may_create=True)


def unread_pages(store: SqliteFile, pages: Iterable[int]) -> frozenset[int]:
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
    for rows in find_contents(collection.open_corpus(), wanted):
        if is_over():
            return
        if rows:
            _store(store, rows)
    _store(store, [{"page": page, "content": None} for page in sorted(unread_pages(store, wanted.values()))])


def _store(store: SqliteFile, rows: list[dict[str, object]]) -> None:
    with store.transaction() as connection:
        connection.executemany("INSERT OR REPLACE INTO text VALUES (:page, :content)", rows)


def source_mark(collection: Collection) -> str:
    """What distinguishes the corpus from another one."""
    sources = collection.manifest.sources
    found = [source for name, source in sources.items() if name == "corpus" or is_changes(name)]
    return f"{VERSION} " + (" ".join(f"{source.size_bytes}:{source.md5}" for source in found) or "none")


def find_contents(source: ArticleFile, wanted: Keys) -> Iterator[list[dict[str, object]]]:
    """Rows of the wanted pages, batch by batch; the end of the file is not read when all are found."""
    n_found = 0
    n_workers = 1 if source.size_bytes < SMALL_CORPUS_BYTES else n_cores()
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


@dataclass(frozen=True)
class LateTexts:
    """The texts of pooled pages; one that is not there yet starts a search for all that are missing."""

    texts: Texts
    collection: Collection
    ids: Callable[[], TextIds | None] = lambda: None
    """The ids of pages in the judgments, where they are text."""
    _tried: set[int] = field(default_factory=set)
    """Pages that were looked for since the start, so that an unreadable corpus is not read again and again."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def find(self, page: int, pooled: Callable[[], AbstractSet[int]]) -> ArticleContent | Absence:
        """The content of a page or why there is none; `pooled` gives the pages that are in the pool now."""
        found = self.texts.find(page)
        if found is not Absence.UNREAD or page in self._tried:
            return found
        thread = self._start({page} | pooled())
        if thread is not None:
            thread.join(PATIENCE_SECONDS)
        return self.texts.find(page)

    def wait(self) -> None:
        """Returns when nothing is being read."""
        for thread in list(self._threads):
            thread.join()

    def close(self) -> None:
        """Ends a search that is under way; the next server resumes it."""
        self._is_over.set()
        self.wait()
        self.texts.close()

    def _start(self, pages: AbstractSet[int]) -> threading.Thread | None:
        """A thread that reads what is missing of the pages; None while there is one, or when nothing is missing."""
        with self._lock:
            if self._is_over.is_set() or any(thread.is_alive() for thread in self._threads):
                return None
            wanted = unread_pages(self.texts.store, pages) - self._tried
            if not wanted:
                return None
            self._tried.update(wanted)
            thread = threading.Thread(target=self._read, args=(wanted,), daemon=True)
            self._threads[:] = [thread]
            thread.start()
            return thread

    def _read(self, wanted: frozenset[int]) -> None:
        with SqliteFile(self.texts.store.path) as store:  # this thread's connection is closed with it
            try:
                add_texts(store, self.collection, keys_of(wanted, self.ids()), self._is_over.is_set)
            except Exception:
                LOG.exception("texts of new pages in the pool were not read; the next start tries again")
