"""Texts of pages that came into the pool while the server was running, read beside the work of the assessors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from evenrank.app.assess.content import ArticleContent
from evenrank.app.assess.texts import Absence, Texts, add_texts, keys_of, unread
from evenrank.core.text_ids import TextIds
from evenrank.database.sqlite import SqliteFile
from evenrank.trec.collection import Collection

LOG = logging.getLogger("evenrank.app")
PATIENCE_SECONDS = 2.0
"""So long a visitor waits for the first text of a new page: enough for a small corpus."""


@dataclass(frozen=True)
class LateTexts:
    """The texts of pooled pages; one that is not there yet starts a search for all that are missing."""

    texts: Texts
    collection: Collection
    ids: Callable[[], TextIds | None] = lambda: None
    """The ids of pages in the judgments, where they are text."""
    _tried: set[int] = field(default_factory=set)
    """Pages that were looked for since the start, so that a corpus that cannot be read is not read for ever."""
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
            wanted = unread(self.texts.store, pages) - self._tried
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
