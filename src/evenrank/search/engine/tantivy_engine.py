"""The tantivy engine: an index in a folder, opened in milliseconds, committed atomically."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.search.engine.protocol import (
    EVERYTHING,
    Hits,
    IndexPage,
    IndexStatistics,
    Restriction,
    StoredPage,
    TextField,
    ValueField,
    WeightedTerm,
)
from evenrank.search.engine.tantivy_query import build_query
from evenrank.search.engine.tantivy_schema import ANALYSER_OF, build_analysers, build_schema, to_document

if TYPE_CHECKING:
    import tantivy

HEAP_BYTES = 200_000_000
"""Memory of the writer, over all threads."""
SCORE_DIGITS = 5
"""Digits of the best score that count: the order of additions, and so the last bits, differ between builds."""
_SPARE = 64
"""Hits asked for beyond k, so that ties at the cut can be ordered."""


class TantivyEngine:
    """`Engine` on tantivy. BM25 has k1 = 1.2 and b = 0.75, which are fixed there."""

    def __init__(self, index: tantivy.Index, path: Path, n_threads: int = 2) -> None:
        self._index, self.path, self._n_threads = index, path, n_threads
        self._analysers = build_analysers()
        for name, analyser in self._analysers.items():
            index.register_tokenizer(name, analyser)
        self._schema = index.schema
        self._writer: tantivy.IndexWriter | None = None
        self._ordinal: int | None = None
        self._searcher = index.searcher()

    @classmethod
    def open(cls, path: str | os.PathLike[str], n_threads: int = 2) -> TantivyEngine:
        """The index in a folder."""
        import tantivy

        try:
            return cls(tantivy.Index.open(str(path)), Path(path), n_threads)
        except (ValueError, OSError) as error:
            raise EvenrankError(f"{path}: no index that can be opened: {error} (run: evenrank index)") from error

    @classmethod
    def create(cls, path: str | os.PathLike[str], n_threads: int = 2) -> TantivyEngine:
        """A new, empty index in a folder."""
        import tantivy

        Path(path).mkdir(parents=True, exist_ok=True)
        return cls(tantivy.Index(build_schema(), str(path), reuse=False), Path(path), n_threads)

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
                raise EvenrankError(f"{self.path}: another process is writing this index: {error}") from error
        return self._writer

    @property
    def n_added(self) -> int:
        """Pages ever added and committed: one more than the largest ordinal in the index."""
        from tantivy import Query

        top = self._searcher.search(Query.all_query(), 1, count=False, order_by_field="ordinal").hits
        return 1 + int(self._fast("ordinal", [top[0][1]])[0]) if top else 0

    def add(self, pages: Iterable[IndexPage]) -> None:
        """Add pages; see `Engine.add`."""
        writer = self.writer
        if self._ordinal is None:
            self._ordinal = self.n_added
        for page in pages:
            writer.add_document(to_document(page, self._ordinal))
            self._ordinal += 1

    def delete(self, page_ids: Iterable[int]) -> None:
        """Remove pages; see `Engine.delete`."""
        for page_id in page_ids:
            self.writer.delete_documents_by_term("page_id", int(page_id))

    def commit(self) -> None:
        """Make changes visible; see `Engine.commit`."""
        self.writer.commit()
        self.refresh()

    def refresh(self) -> None:
        """Search what other processes have committed since this index was opened."""
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, terms: Sequence[WeightedTerm], k: int, restriction: Restriction = EVERYTHING) -> Hits:
        """The k best pages; see `Engine.search`."""
        query = build_query(self._schema, terms, restriction)
        searcher = self._searcher
        spare = _SPARE
        while True:
            n_asked = max(1, min(k + spare, searcher.num_docs))
            hits = searcher.search(query, n_asked, count=False).hits if k > 0 else []
            scores = rounded(np.array([score for score, _ in hits], np.float64))
            is_cut_inside_a_tie = len(hits) > k and scores[k - 1] == scores[-1]
            if len(hits) < n_asked or not is_cut_inside_a_tie or n_asked == searcher.num_docs:
                break
            spare *= 8
        page_ids = self._page_ids(searcher, [address for _, address in hits])
        order = order_of_ties(scores, page_ids)[:k]
        return Hits(page_ids[order], scores[order])

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

    def values(self, name: ValueField, page_ids: Sequence[int]) -> NDArray[np.float64]:
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
        opening = bytes(document.get_first("opening") or b"").decode("utf-8", "replace")
        return StoredPage(page_id, document.get_first("title") or "", opening)

    def analyse(self, field: TextField, text: str) -> list[str]:
        """The words of a text as `field` indexes them."""
        return list(self._analysers[ANALYSER_OF[field]].analyze(text))

    def document_frequency(self, field: TextField, word: str) -> int:
        """Number of pages whose field holds an analysed word."""
        return int(self._searcher.doc_freq(field, word))

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


def order_of_ties(scores: NDArray[np.float64], page_ids: NDArray[np.int32]) -> NDArray[np.intp]:
    """Positions by falling score, equal scores by page id; scores must fall already, so that ties stand together."""
    tie = np.zeros(len(scores), np.int64)
    np.cumsum(scores[1:] != scores[:-1], out=tie[1:])
    return np.argsort(tie << 32 | page_ids, kind="stable")


def rounded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores to so many digits of the best one that equal pages have equal scores in every build."""
    best = np.abs(scores).max(initial=0.0)
    decimals = SCORE_DIGITS - int(np.floor(np.log10(best))) if best > 0 else 0
    return np.round(scores, decimals)
