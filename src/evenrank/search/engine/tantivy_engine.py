"""The tantivy engine: an index in a folder, opened in milliseconds, committed atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, reason_of
from evenrank.formats.atomic import atomic_file
from evenrank.search.engine.analysis import analyse, analyser_for
from evenrank.search.engine.protocol import (
    EVERYTHING,
    SHOWN_FIELDS,
    Hits,
    IndexLayout,
    IndexPage,
    IndexStatistics,
    Query,
    Restriction,
    StoredPage,
    TextField,
    WeightedTerm,
    WordCounts,
    order_of_ties,
    round_scores,
    stored_page,
)
from evenrank.search.engine.tantivy_counts import count_words
from evenrank.search.engine.tantivy_groups import differ_in_groups_only, search_groups
from evenrank.search.engine.tantivy_schema import (
    build_analysers,
    build_schema,
    document_maker,
    restrict,
    scoring_query,
)

if TYPE_CHECKING:
    import tantivy

DEFAULT_LAYOUT = IndexLayout()
HEAP_BYTES = 200_000_000
"""Memory of the writer, over all threads."""
MARKS_FILE = "marks.json"
"""Beside the index: its last marks."""
_SPARE = 64
"""Hits asked for beyond k, so that ties at the cut can be ordered."""


def _mirror(path: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder of links to the files of an index that cannot be written: tantivy makes a lock file even to read."""
    folder = tempfile.TemporaryDirectory(prefix="evenrank-index-")
    for file in path.iterdir():
        if not file.name.endswith(".lock"):
            os.symlink(file.resolve(), Path(folder.name) / file.name)
    return folder


class TantivyEngine:
    """`Engine` on tantivy. BM25 has k1 = 1.2 and b = 0.75, which are fixed there."""

    def __init__(self, index: tantivy.Index, path: Path, layout: IndexLayout, n_threads: int) -> None:
        self._index, self.path, self.layout, self._n_threads = index, path, layout, n_threads
        self._analyser = analyser_for(layout.language)
        for name, analyser in build_analysers(layout.language).items():
            index.register_tokenizer(name, analyser)
        self._schema = index.schema
        self._writer: tantivy.IndexWriter | None = None
        self._ordinal: int | None = None
        self._added: PageIdSet | None = None
        self._searcher = index.searcher()
        self._mirror: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], layout: IndexLayout = DEFAULT_LAYOUT, n_threads: int = 2
    ) -> TantivyEngine:
        """The index in a folder."""
        import tantivy

        try:
            if os.access(path, os.W_OK):
                return cls(tantivy.Index.open(str(path)), Path(path), layout, n_threads)
            mirror = _mirror(Path(path))
            opened = cls(tantivy.Index.open(mirror.name), Path(path), layout, n_threads)
            opened._mirror = mirror
            return opened
        except (ValueError, OSError) as error:
            raise EvenrankError(
                f"{path}: no index that can be opened: {reason_of(error)} (run: evenrank index)"
            ) from error

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], layout: IndexLayout = DEFAULT_LAYOUT, n_threads: int = 2
    ) -> TantivyEngine:
        """A new, empty index in a folder."""
        import tantivy

        try:
            Path(path).mkdir(parents=True, exist_ok=True)
            made = tantivy.Index(build_schema(layout.groups, layout.language), str(path), reuse=False)
        except (ValueError, OSError) as error:
            raise EvenrankError(
                f"{path}: no index can be made there: {reason_of(error)} (make room, then try again)"
            ) from error
        return cls(made, Path(path), layout, n_threads)

    def __enter__(self) -> TantivyEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def writer(self) -> tantivy.IndexWriter:
        """The one writer of this index; an error when another process holds it."""
        if self._writer is None:
            try:
                self._writer = self._index.writer(HEAP_BYTES, self._n_threads)
            except ValueError as error:
                found = "another process is writing this index" if "Lock" in str(error) else "could not be written"
                raise EvenrankError(f"{self.path}: {found}: {error}") from error
        return self._writer

    @property
    def _n_added(self) -> int:
        """Pages ever added and committed: one more than the largest ordinal in the index."""
        from tantivy import Query

        top = self._searcher.search(Query.all_query(), 1, count=False, order_by_field="ordinal").hits
        return 1 + int(self._fast("ordinal", [top[0][1]])[0]) if top else 0

    def add(self, pages: Iterable[IndexPage]) -> None:
        """Add pages; see `Engine.add`."""
        writer = self.writer
        if self._ordinal is None:
            self._ordinal = self._n_added
            self._added = None if self._ordinal else PageIdSet()
        to_document = document_maker(self.layout)
        for page in pages:
            if self._added is None or not self._added.add(page.page_id):
                writer.delete_documents_by_term("page_id", int(page.page_id))
            document = to_document(page, self._ordinal)
            try:
                writer.add_document(document)
            except (ValueError, OSError) as error:
                fix = "make room and run the same command again: it resumes"
                raise EvenrankError(f"{self.path}: could not be written: {reason_of(error)} ({fix})") from error
            self._ordinal += 1

    def delete(self, page_ids: Iterable[int]) -> None:
        """Remove pages; see `Engine.delete`."""
        for page_id in page_ids:
            self.writer.delete_documents_by_term("page_id", int(page_id))

    def commit(self, mark: str = "") -> None:
        """Make changes visible; see `Engine.commit`.

        A commit and a write of the marks cannot be one step. So the mark is written before the commit, with the
        number of pages that the commit reaches, beside the mark before it; `mark` takes the one that holds.
        """
        reached = self._n_added if self._ordinal is None else self._ordinal
        with atomic_file(self._marks_path) as file:
            file.write(orjson.dumps([[self._n_added, self.mark()], [reached, mark]]))
        try:
            self.writer.commit()
        except (ValueError, OSError) as error:
            fix = "make room and run the same command again: it resumes"
            raise EvenrankError(f"{self.path}: could not be written: {reason_of(error)} ({fix})") from error
        self.refresh()

    def mark(self) -> str:
        """The mark of the last commit; see `Engine.mark`."""
        try:
            marks = orjson.loads(self._marks_path.read_bytes())
        except (OSError, ValueError):
            return ""
        n_added = self._n_added
        return next((mark for reached, mark in reversed(marks) if reached == n_added), "")

    def publish(self) -> None:
        """Nothing to do: the folder of the build is the index."""

    @property
    def _marks_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}-{MARKS_FILE}")

    def refresh(self) -> None:
        """Search what other processes have committed since this index was opened."""
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, terms: Sequence[WeightedTerm], k: int, restriction: Restriction = EVERYTHING) -> Hits:
        """The k best pages; see `Engine.search`."""
        return self._best(restrict(self._schema, scoring_query(self._schema, terms), restriction), k)

    def _best(self, query: tantivy.Query, k: int) -> Hits:
        searcher = self._searcher
        spare = _SPARE
        while True:
            n_asked = max(1, min(k + spare, searcher.num_docs))
            hits = searcher.search(query, n_asked, count=False).hits if k > 0 else []
            scores = round_scores(np.array([score for score, _ in hits], np.float64))
            is_cut_inside_a_tie = len(hits) > k and scores[k - 1] == scores[-1]
            if len(hits) < n_asked or not is_cut_inside_a_tie or n_asked == searcher.num_docs:
                break
            spare *= 8
        page_ids = self._page_ids(searcher, [address for _, address in hits])
        order = order_of_ties(scores, page_ids)[:k]
        return Hits(page_ids[order], scores[order])

    def search_many(self, queries: Sequence[Query]) -> list[Hits]:
        """The answer to each query; terms that queries share are compiled once."""
        if differ_in_groups_only(queries):
            scoring = scoring_query(self._schema, queries[0].terms)
            return search_groups(self._searcher, self._schema, scoring, queries)
        compiled: dict[int, tantivy.Query] = {}
        found = []
        for query in queries:
            if id(query.terms) not in compiled:
                compiled[id(query.terms)] = scoring_query(self._schema, query.terms)
            found.append(self._best(restrict(self._schema, compiled[id(query.terms)], query.restriction), query.k))
        return found

    @staticmethod
    def _page_ids(searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> NDArray[np.int32]:
        return np.array(searcher.fast_field_values("page_id", addresses), np.int32)

    def _fast(self, name: str, addresses: list[tantivy.DocAddress]) -> list[Any]:
        return list(self._searcher.fast_field_values(name, addresses))

    def _addresses(self, page_ids: Sequence[int]) -> dict[int, tantivy.DocAddress]:
        """Where the pages are, as far as they are in the index."""
        from tantivy import Query

        wanted = [int(page_id) for page_id in page_ids]
        if not wanted:
            return {}
        query = Query.term_set_query(self._schema, "page_id", wanted)
        found = [address for _, address in self._searcher.search(query, len(wanted), count=False).hits]
        return dict(zip(self._fast("page_id", found), found, strict=True))

    def values(self, name: str, page_ids: Sequence[int]) -> NDArray[np.float64]:
        """One number for each page; see `Engine.values`."""
        addresses = self._addresses(page_ids)
        found = dict(zip(addresses, self._fast(name, list(addresses.values())), strict=True))
        numbers = [found.get(int(page_id)) for page_id in page_ids]
        return np.array([np.nan if number is None else number for number in numbers], np.float64)

    def stored(self, page_ids: Sequence[int]) -> list[StoredPage | None]:
        """Title and opening of each page; see `Engine.stored`."""
        addresses = self._addresses(page_ids)
        return [
            self._stored(int(page_id), addresses[int(page_id)]) if int(page_id) in addresses else None
            for page_id in page_ids
        ]

    def _stored(self, page_id: int, address: tantivy.DocAddress) -> StoredPage:
        document = self._searcher.doc(address)
        return stored_page(
            page_id, {name: bytes(document.get_first(name) or b"").decode("utf-8", "replace") for name in SHOWN_FIELDS}
        )

    def analyse(self, field: TextField, text: str) -> list[str]:
        """The words of a text as `field` indexes them."""
        return analyse(self._analyser, field, text)

    def document_frequencies(self, field: TextField, words: Sequence[str]) -> list[int]:
        """Number of pages whose field holds each analysed word."""
        return [int(self._searcher.doc_freq(field, word)) for word in words]

    def count_words(self, field: TextField, words: Sequence[str], page_ids: Sequence[int]) -> WordCounts:
        """Occurrences of words; see `CountingEngine.count_words`."""
        addresses = self._addresses(page_ids)
        return count_words(self._searcher, self._schema, field, words, [addresses.get(page) for page in page_ids])

    def page_ids(self) -> NDArray[np.int32]:
        """The ids of all pages, ascending."""
        from tantivy import Query as TantivyQuery

        searcher = self._searcher
        hits = searcher.search(TantivyQuery.all_query(), max(searcher.num_docs, 1), count=False).hits
        return np.sort(self._page_ids(searcher, [address for _, address in hits]))

    def statistics(self) -> IndexStatistics:
        """How large the index is."""
        size = sum(entry.stat().st_size for entry in os.scandir(self.path) if entry.is_file())
        return IndexStatistics(self._searcher.num_docs, self._searcher.num_segments, size)

    def close(self) -> None:
        """Let go of the writer, after its merges; what is not committed is dropped."""
        if self._writer is not None:
            self._writer.rollback()
            self._writer.wait_merging_threads()
            self._writer = None
            self._added = None  # another process may write now


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
