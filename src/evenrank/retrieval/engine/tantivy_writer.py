"""The writer of a tantivy index: pages added and removed, and commits with the marks by which a build resumes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from evenrank.errors import EvenrankError, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.retrieval.engine.protocol import IndexLayout, IndexPage
from evenrank.retrieval.engine.tantivy_schema import document_maker

if TYPE_CHECKING:
    import tantivy

HEAP_BYTES = 200_000_000
"""Memory of the writer, over all threads."""
MARKS_FILE = "marks.json"
"""Beside the index: its last marks."""


class TantivyWriter:
    """Changes an index. A searcher of the caller tells what is committed."""

    def __init__(self, index: tantivy.Index, path: Path, layout: IndexLayout, n_threads: int) -> None:
        self._index, self._path, self._layout, self._n_threads = index, path, layout, n_threads
        self._open: tantivy.IndexWriter | None = None
        self._ordinal: int | None = None
        self._added: PageIdSet | None = None

    @property
    def _writer(self) -> tantivy.IndexWriter:
        """The one writer of this index; an error when another process holds it."""
        if self._open is None:
            try:
                self._open = self._index.writer(HEAP_BYTES, self._n_threads)
            except ValueError as error:
                found = "another process is writing this index" if "Lock" in str(error) else "could not be written"
                raise EvenrankError(f"{self._path}: {found}: {error}") from error
        return self._open

    def add(self, pages: Iterable[IndexPage], searcher: tantivy.Searcher) -> None:
        """Add pages; each replaces an earlier one with its id."""
        writer = self._writer
        if self._ordinal is None:
            self._ordinal = count_added(searcher)
            self._added = None if self._ordinal else PageIdSet()
        to_document = document_maker(self._layout)
        for page in pages:
            if self._added is None or not self._added.add(page.page_id):
                writer.delete_documents_by_term("page_id", int(page.page_id))
            document = to_document(page, self._ordinal)
            try:
                writer.add_document(document)
            except (ValueError, OSError) as error:
                raise self._failure(error) from error
            self._ordinal += 1

    def delete(self, page_ids: Iterable[int]) -> None:
        """Remove pages."""
        for page_id in page_ids:
            self._writer.delete_documents_by_term("page_id", int(page_id))

    def commit(self, mark: str, searcher: tantivy.Searcher) -> None:
        """Make changes visible to searchers that are opened afterwards.

        A commit and a write of the marks cannot be one step. So the mark is written before the commit, with the
        number of pages that the commit reaches, beside the mark before it; `mark` takes the one that holds.
        """
        n_added = count_added(searcher)
        reached = n_added if self._ordinal is None else self._ordinal
        with atomic_file(self._marks_path) as file:
            file.write(orjson.dumps([[n_added, self.mark(searcher)], [reached, mark]]))
        try:
            self._writer.commit()
        except (ValueError, OSError) as error:
            raise self._failure(error) from error

    def mark(self, searcher: tantivy.Searcher) -> str:
        """The mark of the last commit; empty when there is none."""
        try:
            marks = orjson.loads(self._marks_path.read_bytes())
        except (OSError, ValueError):
            return ""
        n_added = count_added(searcher)
        return next((mark for reached, mark in reversed(marks) if reached == n_added), "")

    def close(self) -> None:
        """Let go of the index, after its merges; what is not committed is dropped."""
        if self._open is not None:
            self._open.rollback()
            self._open.wait_merging_threads()
            self._open = None
            self._added = None  # another process may write now

    @property
    def _marks_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}-{MARKS_FILE}")

    def _failure(self, error: Exception) -> EvenrankError:
        fix = "make room and run the same command again: it resumes"
        return EvenrankError(f"{self._path}: could not be written: {reason_of(error)} ({fix})")


def count_added(searcher: tantivy.Searcher) -> int:
    """Pages ever added and committed: one more than the largest ordinal in the index."""
    from tantivy import Query

    top = searcher.search(Query.all_query(), 1, count=False, order_by_field="ordinal").hits
    ordinals: list[Any] = list(searcher.fast_field_values("ordinal", [address for _, address in top]))
    return 1 + int(ordinals[0]) if ordinals else 0


class PageIdSet:
    """The pages that were added to a new index, a bit each: only a page that comes again replaces another.

    Without it every page asks for the removal of an earlier one, which takes a tenth of the time of a build.
    """

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, page_id: int) -> bool:
        """Add a page, and say whether it was not there before."""
        byte, bit = page_id >> 3, 1 << (page_id & 7)
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1 - len(self._bits)))
        is_new = not self._bits[byte] & bit
        self._bits[byte] |= bit
        return is_new
