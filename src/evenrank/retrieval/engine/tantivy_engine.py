"""The tantivy engine: an index in a folder, opened in milliseconds, committed atomically."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, reason_of
from evenrank.io.atomic import link_or_copy
from evenrank.retrieval.engine.analysis import analyse, analyser_for, count_words, field_texts
from evenrank.retrieval.engine.protocol import (
    EVERYTHING,
    QUALITY_FIELDS,
    SHOWN_FIELDS,
    TEXT_FIELDS,
    EngineUnavailableError,
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
from evenrank.retrieval.engine.tantivy_groups import differ_in_groups_only, search_groups
from evenrank.retrieval.engine.tantivy_index import (
    MOST_BITS,
    PRIVATE_FILES,
    REST_FIELD,
    TantivyWriter,
    bits_query,
    build_analysers,
    build_schema,
    has_rest,
    restrict,
    scoring_query,
    unpack_rest,
)
from evenrank.retrieval.engine.tantivy_removed import (
    RemovedPages,
    open_removed,
    removed_by_segment,
    removed_counter,
    removed_path,
)
from evenrank.retrieval.engine.tantivy_statistics import (
    Lengths,
    PageCount,
    balance,
    count_slots,
    idf_corrections,
    measure_words,
    page_counter,
    read_lengths,
    write_lengths,
)

if TYPE_CHECKING:
    import tantivy


MOST_COUNTED = 1000
"""Pages of a word in which its occurrences are counted; those of a more frequent word are projected from as many pages,
evenly spread over their ids, so that they do not depend on how the index was written."""
_TERM = re.compile(r'Term=Term\(field=\d+, type=Str, "(.*)"\)$', re.DOTALL)


def count_occurrences(
    searcher: tantivy.Searcher,
    schema: tantivy.Schema,
    field: TextField,
    words: Sequence[str],
    addresses: Sequence[tantivy.DocAddress | None],
) -> WordCounts:
    """Occurrences of words in pages (None: a page that is not there) and in all pages."""
    from tantivy import Occur, Query

    terms = [Query.term_query(schema, field, word) for word in words]
    query = Query.boolean_query([(Occur.Should, term) for term in terms])
    numbers = {word: number for number, word in enumerate(words)}
    counts, lengths = np.zeros((len(addresses), len(words))), np.zeros(len(addresses))
    mean_length = 0.0
    for row, address in enumerate(addresses):
        for word, count, length, mean in _explained(query, searcher, address):
            counts[row, numbers[word]], lengths[row], mean_length = count, length, mean
    total = np.array([_occurrences(term, searcher) for term in terms])
    return WordCounts(counts, lengths, total, mean_length, searcher.num_docs)


def _occurrences(term: tantivy.Query, searcher: tantivy.Searcher) -> float:
    """Of a word in all pages."""
    found = searcher.search(term, max(searcher.num_docs, 1), count=False, order_by_field="page_id").hits
    if not found:
        return 0.0
    chosen = np.unique(np.linspace(0, len(found) - 1, min(len(found), MOST_COUNTED)).astype(np.intp))
    counts = [count for place in chosen for _, count, _, _ in _explained(term, searcher, found[place][1])]
    return float(np.mean(counts) * len(found))


def _explained(
    query: tantivy.Query, searcher: tantivy.Searcher, address: tantivy.DocAddress | None
) -> Iterator[tuple[str, float, float, float]]:
    """(word, its occurrences, length of the field, mean length) for the words of a query that a page has."""
    if address is None:
        return
    try:
        explanation = orjson.loads(query.explain(searcher, address).to_json())
    except ValueError:  # no word of the query is in the page
        return
    yield from _term_scores(explanation)


def _term_scores(node: dict[str, Any]) -> Iterator[tuple[str, float, float, float]]:
    found = _TERM.match((node.get("context") or [""])[0])
    if found is None:
        for part in node.get("details") or ():
            yield from _term_scores(part)
        return
    parts = {part["description"].partition(",")[0]: part for part in node["details"][2]["details"]}
    yield orjson.loads(f'"{found.group(1)}"'), *(float(parts[name]["value"]) for name in ("freq", "dl", "avgdl"))


DEFAULT_LAYOUT = IndexLayout()
UPDATED_AT_ONCE = 5000
"""Changed pages that are in memory at a time."""
MOST_LOOKED_AT = 1000
"""Pages among which one is chosen to be added again."""
MOST_ROUNDS = 10
"""Merges can change mean lengths again; with fewer segments than before, so two or three rounds are enough."""
_SPARE = 64
"""Hits asked for beyond k, so that ties at the cut can be ordered."""


def _lengths_path(path: Path) -> Path:
    return path.with_name(f"{path.name}-lengths.json")


def _readable(path: Path, mirrors: list[tempfile.TemporaryDirectory[str]]) -> str:
    """The folder of an index; where it cannot be written, one of links to its files, which is put to the mirrors:
    tantivy makes a lock file even to read."""
    if os.access(path, os.W_OK):
        return str(path)
    folder = tempfile.TemporaryDirectory(prefix="evenrank-index-")
    for file in path.iterdir():
        if not file.name.endswith(".lock"):
            os.symlink(file.resolve(), Path(folder.name) / file.name)
    mirrors.append(folder)
    return folder.name


def _link_index(source: Path, path: Path) -> None:
    """An index in a new folder that shares the files of segments, which are never changed."""
    path.mkdir(parents=True)
    for file in source.iterdir():
        if file.name in PRIVATE_FILES:
            shutil.copy(file, path)
        elif not file.name.startswith("."):
            link_or_copy(file, path / file.name)


class TantivyEngine:
    """`Engine` on tantivy. BM25 has k1 = 1.2 and b = 0.75, which are fixed there."""

    def __init__(self, index: tantivy.Index, path: Path, layout: IndexLayout, n_threads: int) -> None:
        self._index, self.path, self.layout, self._n_threads = index, path, layout, n_threads
        self._analyser = analyser_for(layout.language)
        for name, analyser in build_analysers(layout.language).items():
            index.register_tokenizer(name, analyser)
        self._schema = index.schema
        self._mirrors: list[tempfile.TemporaryDirectory[str]] = []
        self._look_at_last_commit()

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], layout: IndexLayout = DEFAULT_LAYOUT, n_threads: int = 2
    ) -> TantivyEngine:
        """The index in a folder."""
        import tantivy

        try:
            mirrors: list[tempfile.TemporaryDirectory[str]] = []
            opened = cls(tantivy.Index.open(_readable(Path(path), mirrors)), Path(path), layout, n_threads)
            opened._mirrors += mirrors
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

    @classmethod
    def copy(cls, source: Path, path: Path, layout: IndexLayout) -> TantivyEngine | None:
        """A new index with the pages of another one, to be changed with `update`; None where that one lacks what is
        needed. One thread writes, so that pages added together are in one segment (`_settle`)."""
        if not has_rest(source):
            return None
        _link_index(source, path)
        if removed_path(source).is_dir():
            _link_index(removed_path(source), removed_path(path))
        if (lengths := _lengths_path(source)).is_file():
            shutil.copy(lengths, _lengths_path(path))
        return cls.open(path, layout, n_threads=1)

    def update(self, pages: Iterable[IndexPage], removed: Iterable[int], mark: str) -> bool:
        """Change pages and commit; see `UpdatingEngine.update`."""
        before = read_lengths(_lengths_path(self.path), self._count_lengths)
        segments, record = list(self._removed), RemovedPages(self.path, self.layout.language)
        remaining, n_words, n_removed, n_new = iter(pages), np.array(before.n_words, np.int64), 0, 0
        gone = list(removed)
        while (block := list(islice(remaining, UPDATED_AT_ONCE))) or gone:
            ids = [page.page_id for page in block]
            addresses = list(self._addresses([*ids, *gone]).values())
            earlier = self._whole(addresses)
            record.add(earlier, [segments[address.segment_ord] for address in addresses])
            n_words += self._words_of(block) - self._words_of(earlier)
            n_new += len(block) - len(earlier)
            n_removed += len(earlier)
            self.delete([*ids, *gone])
            self.add(block)
            gone = []
        lengths = Lengths(before.n_pages + n_new, tuple(n_words.tolist()), before.n_removed + n_removed)
        write_lengths(_lengths_path(self.path), lengths)
        self.commit()
        if not self._settle(lengths, record):
            return False
        record.finish(self.path, segments)
        self._look_at_last_commit()
        self._writer.put_mark(mark, self._searcher)
        return True

    def _settle(self, lengths: Lengths, record: RemovedPages) -> bool:
        """Make mean lengths of fields those of the pages that are left, after merges have run; False where that fails,
        as it can where each of a few pages has a segment of its own."""
        n_more, more_words, earlier = 0, dict[TextField, int](), self._removed
        for _ in range(MOST_ROUNDS):
            self.close()
            self.refresh()
            for segment in [one for one, n in self._removed.items() if one not in earlier and n == n_more]:
                record.add_fillers(n_more, more_words, segment)
            earlier = self._removed
            n_slots = count_slots(self.path)
            is_as_built = not lengths.n_removed and n_slots == self._searcher.num_docs
            if is_as_built or not self._searcher.num_docs:
                return True
            page, segment, n_words = self._measure()
            if balance(lengths, n_slots, n_words) is None:
                return True
            with_page = (np.array(n_words) + self._words_of([page])).tolist()
            n_more, needed = balance(lengths, n_slots + 1, with_page) or (0, [])
            more_words = dict(zip(TEXT_FIELDS, needed, strict=False))
            self._writer.add_removed(n_more, more_words)
            self.add([page])
            record.add([page], [segment])
            self.commit()
        self.close()
        return False

    def _measure(self) -> tuple[IndexPage, str, list[int]]:
        """A page, its segment, and how many words tantivy counts in each field.

        The page is in a segment with others, which stays when it is added again; a segment without pages is dropped.
        """
        from tantivy import Order
        from tantivy import Query as TantivyQuery

        searcher, everything = self._searcher, TantivyQuery.all_query()
        hits = searcher.search(everything, MOST_LOOKED_AT, count=False, order_by_field="ordinal", order=Order.Asc).hits
        n_pages = Counter(address.segment_ord for _, address in hits)
        address = max((address for _, address in hits), key=lambda address: n_pages[address.segment_ord])
        (page,) = self._whole([address])
        texts = field_texts(page, self._analyser)
        words = {name: analyse(self._analyser, name, text)[0] for name, text in texts.items()}
        segment = list(self._removed)[address.segment_ord]
        return page, segment, measure_words(searcher, self._schema, self.path, words, address)

    def _count_lengths(self) -> Lengths:
        """The lengths of pages; counted one by one where some were replaced while the index was built."""
        n_pages = self._searcher.num_docs
        if not n_pages:
            return Lengths(0, (0,) * len(TEXT_FIELDS))
        if count_slots(self.path) == n_pages:
            return Lengths(n_pages, tuple(self._measure()[-1]))
        ids, n_words = self.page_ids(), np.zeros(len(TEXT_FIELDS), np.int64)
        for start in range(0, n_pages, UPDATED_AT_ONCE):
            n_words += self._words_of(filter(None, self.pages(ids[start : start + UPDATED_AT_ONCE].tolist())))
        return Lengths(n_pages, tuple(n_words.tolist()))

    def _words_of(self, pages: Iterable[IndexPage]) -> NDArray[np.int64]:
        """Words in each field of pages together; a word without its ending is one, too."""
        total = np.zeros(len(TEXT_FIELDS), np.int64)
        for page in pages:
            texts = field_texts(page, self._analyser)
            total += [count_words(self._analyser, texts[name]) for name in TEXT_FIELDS]
        return total

    @property
    def n_removed(self) -> int:
        """Pages that were removed or replaced since the index was built; they take room until it is built again."""
        return read_lengths(_lengths_path(self.path), lambda: Lengths(0, ())).n_removed

    def pages(self, page_ids: Sequence[int]) -> list[IndexPage | None]:
        """Pages as they were added; see `UpdatingEngine.pages`."""
        addresses = self._addresses(page_ids)
        found = {page.page_id: page for page in self._whole(list(addresses.values()))}
        return [found.get(int(page_id)) for page_id in page_ids]

    def _whole(self, addresses: list[tantivy.DocAddress]) -> list[IndexPage]:
        """The pages at some addresses."""
        groups = self.layout.groups
        names = ("page_id", *groups, *QUALITY_FIELDS)
        rows = zip(*(self._fast(name, addresses) for name in names), strict=True)
        pages = []
        for address, (page_id, *masks, quality, score) in zip(addresses, rows, strict=True):
            document = self._searcher.doc(address)
            title, categories = (bytes(document.get_first(name) or b"").decode() for name in SHOWN_FIELDS[:2])
            lead, text, infobox, kind = unpack_rest(bytes(document.get_first(REST_FIELD) or b""))
            known = dict(zip(groups, masks, strict=True))
            number = math.nan if score is None else float(score)
            pages.append(
                IndexPage(int(page_id), title, lead, text, categories, infobox, kind, known, int(quality), number)
            )
        return pages

    def refresh(self) -> None:
        """Search what other processes have committed since this index was opened."""
        self._index.reload()
        self._look_at_last_commit()

    def _look_at_last_commit(self) -> None:
        self._searcher = self._index.searcher()
        self._removed = removed_by_segment(self.path)
        self._n_hidden = sum(self._removed.values())  # removed, and in tantivy's statistics
        self._counts = page_counter(self._searcher, self._schema, self._removed_counter())
        self._boost_of = idf_corrections(self._searcher, self._counts, self._n_hidden) if self._n_hidden else None

    def _removed_counter(self) -> PageCount | None:
        folder = removed_path(self.path)
        if not self._n_hidden or not folder.is_dir():
            return None
        index = open_removed(_readable(folder, self._mirrors), self.layout.language)
        return removed_counter(index, self._removed)

    def search(self, terms: Sequence[WeightedTerm], k: int, restriction: Restriction = EVERYTHING) -> Hits:
        """The k best pages; see `Engine.search`."""
        return self._best(restrict(self._schema, self._scoring(terms), restriction), k)

    def _scoring(self, terms: Sequence[WeightedTerm]) -> tantivy.Query:
        return scoring_query(self._schema, terms, self._boost_of)

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
            scoring = self._scoring(queries[0].terms)
            return search_groups(self._searcher, self._schema, scoring, queries)
        compiled: dict[int, tantivy.Query] = {}
        found = []
        for query in queries:
            if id(query.terms) not in compiled:
                compiled[id(query.terms)] = self._scoring(query.terms)
            found.append(self._best(restrict(self._schema, compiled[id(query.terms)], query.restriction), query.k))
        return found

    def matches(self, asked: Sequence[Sequence[WeightedTerm]], page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which pages have any of some terms; see `MatchingEngine.matches`. To look up the pages costs more than the
        words, so many lists of terms are asked at once: the score of a page has a bit for each."""
        having, order = np.zeros((len(asked), len(page_ids)), bool), np.argsort(page_ids)
        for start in range(0, len(asked) if len(page_ids) else 0, MOST_BITS):
            query = bits_query(self._schema, asked[start : start + MOST_BITS], page_ids.tolist())
            hits = self._searcher.search(query, len(page_ids), count=False).hits
            found = self._page_ids(self._searcher, [address for _, address in hits])
            bits = np.array([score for score, _ in hits], np.int64)
            places = order[np.searchsorted(page_ids, found, sorter=order)]
            for number in range(start, min(start + MOST_BITS, len(asked))):
                having[number, places] = bits >> (number - start) & 1
        return having

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
        if self._boost_of is None:
            return [int(self._searcher.doc_freq(field, word)) for word in words]
        return [self._counts(field, word) for word in words]

    def frequency_bounds(self, field: TextField, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Bounds of the frequencies; see `BoundingEngine.frequency_bounds`. tantivy's own count removed pages too."""
        counted = [int(self._searcher.doc_freq(field, word)) for word in words]
        return [max(0, n - self._n_hidden) for n in counted], [min(n, self._searcher.num_docs) for n in counted]

    def count_words(self, field: TextField, words: Sequence[str], page_ids: Sequence[int]) -> WordCounts:
        """Occurrences of words; see `CountingEngine.count_words`."""
        addresses = self._addresses(page_ids)
        return count_occurrences(self._searcher, self._schema, field, words, [addresses.get(page) for page in page_ids])

    def page_ids(self) -> NDArray[np.int32]:
        """The ids of all pages, ascending."""
        from tantivy import Query as TantivyQuery

        searcher = self._searcher
        hits = searcher.search(TantivyQuery.all_query(), max(searcher.num_docs, 1), count=False).hits
        return np.sort(self._page_ids(searcher, [address for _, address in hits]))

    def statistics(self) -> IndexStatistics:
        """How large the index is."""
        try:
            size = sum(entry.stat().st_size for entry in os.scandir(self.path) if entry.is_file())
        except OSError as error:
            fix = "restore the folder, or run evenrank index again"
            raise EngineUnavailableError(f"{self.path}: the index is gone: {reason_of(error)} ({fix})") from error
        return IndexStatistics(self._searcher.num_docs, self._searcher.num_segments, size)

    def close(self) -> None:
        """Let go of the writer, after its merges; what is not committed is dropped."""
        self._writer.close()
