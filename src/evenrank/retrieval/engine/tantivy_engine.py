"""The tantivy engine: an index in a folder, opened in milliseconds, committed atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, reason_of
from evenrank.retrieval.engine.analysis import analyse, analyser_for
from evenrank.retrieval.engine.protocol import (
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
from evenrank.retrieval.engine.tantivy_counts import count_words
from evenrank.retrieval.engine.tantivy_groups import differ_in_groups_only, search_groups
from evenrank.retrieval.engine.tantivy_schema import (
    build_analysers,
    build_schema,
    restrict,
    scoring_query,
)
from evenrank.retrieval.engine.tantivy_writer import TantivyWriter

if TYPE_CHECKING:
    import tantivy

DEFAULT_LAYOUT = IndexLayout()
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

    @cached_property
    def _writer(self) -> TantivyWriter:
        return TantivyWriter(self._index, self.path, self.layout, self._n_threads)

    def add(self, pages: Iterable[IndexPage]) -> None:
        """Add pages; see `Engine.add`."""
        self._writer.add(pages, self._searcher)

    def delete(self, page_ids: Iterable[int]) -> None:
        """Remove pages; see `Engine.delete`."""
        self._writer.delete(page_ids)

    def commit(self, mark: str = "") -> None:
        """Make changes visible; see `Engine.commit`."""
        self._writer.commit(mark, self._searcher)
        self.refresh()

    def mark(self) -> str:
        """The mark of the last commit; see `Engine.mark`."""
        return self._writer.mark(self._searcher)

    def publish(self) -> None:
        """Nothing to do: the folder of the build is the index."""

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
        self._writer.close()
