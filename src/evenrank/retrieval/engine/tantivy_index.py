"""A tantivy index: its fields, documents, analysers and queries, and a writer whose commits let a build resume."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from evenrank.errors import EvenrankError, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.retrieval.engine.analysis import (
    ABSENT,
    UNSTEMMED_FIELDS,
    analyse,
    analyser_for,
    compile_analyser,
    field_texts,
    fold,
)
from evenrank.retrieval.engine.protocol import (
    POSITION_FIELDS,
    SHOWN_FIELDS,
    TEXT_FIELDS,
    IndexLayout,
    IndexPage,
    Restriction,
    TextField,
    WeightedTerm,
    merge_terms,
    set_bits,
    shown_texts,
)

if TYPE_CHECKING:
    import tantivy
    from tantivy import Query, Schema


STEMMED, WORDS = "evenrank_stemmed", "evenrank_words"
BUILT_IN = {STEMMED: "en_stem", WORDS: "default"}
"""tantivy's own analysers, which give English text that is folded the same words, and are faster than any that can be
put together from here; indexes made before they were used have ours."""


def build_schema(groups: Iterable[str], language: str = "en") -> tantivy.Schema:
    """The fields of an index whose pages carry the masks of some dimensions."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("page_id", fast=True, indexed=True)
    builder.add_integer_field("ordinal", fast=True)
    for name in TEXT_FIELDS:
        add_text_field(builder, name, language, "position" if name in POSITION_FIELDS else "freq")
    for shown in (*SHOWN_FIELDS, REST_FIELD):
        builder.add_bytes_field(shown, stored=True)
    for dimension in groups:
        builder.add_integer_field(dimension, fast=True)
        builder.add_integer_field(f"{dimension}_group", indexed=True)
    builder.add_integer_field("quality_class", fast=True)
    builder.add_float_field("quality_score", fast=True)
    return builder.build()


def add_text_field(builder: tantivy.SchemaBuilder, name: TextField, language: str, option: str) -> None:
    """Add a field, analysed as it is in all indexes of the language; the option says what is kept of each word."""
    analyser = WORDS if name in UNSTEMMED_FIELDS else STEMMED
    tokenizer = BUILT_IN[analyser] if language == "en" else analyser
    builder.add_text_field(name, tokenizer_name=tokenizer, index_option=option)


def build_analysers(language: str) -> dict[str, tantivy.TextAnalyzer]:
    """Analysers by name; an index forgets them, so they are registered after every open.

    English arrives folded and is analysed while it is indexed, any other language as words joined by spaces
    (`document_maker`).
    """
    if language == "en":
        return {WORDS: compile_analyser("en", is_stemmed=False), STEMMED: compile_analyser("en", is_stemmed=True)}
    from tantivy import TextAnalyzerBuilder, Tokenizer

    return {name: TextAnalyzerBuilder(Tokenizer.whitespace()).build() for name in (WORDS, STEMMED)}


def document_maker(layout: IndexLayout, *, keeps_rest: bool = True) -> Callable[[IndexPage, int], tantivy.Document]:
    """The function from a page, and its number in the build, to its document.

    With `keeps_rest` the document has all that was indexed, for `unpack_rest`. The number says how far a build came
    when it was killed. Fields are added one by one, with the type of each, which takes a third of the time of a
    document made from a dictionary; what all pages share is looked up once.
    """
    from tantivy import Document

    add_texts = text_adder(layout.language)
    dimensions = [(name, f"{name}_group") for name in layout.groups]

    def to_document(page: IndexPage, ordinal: int) -> tantivy.Document:
        document = Document()
        add_integer, add_bytes = document.add_integer, document.add_bytes
        add_integer("page_id", page.page_id)
        add_integer("ordinal", ordinal)
        add_texts(document, page)
        for shown, content in shown_texts(page).items():
            if content:
                add_bytes(shown, content)
        if keeps_rest:
            add_bytes(REST_FIELD, pack_rest(page))
        for dimension, group_field in dimensions:
            mask = int(page.masks.get(dimension, 1))
            add_integer(dimension, mask)
            for group in set_bits(mask):
                add_integer(group_field, group)
        add_integer("quality_class", page.quality_class)
        if not isnan(page.quality_score):
            document.add_float("quality_score", page.quality_score)
        return document

    return to_document


def text_adder(language: str) -> Callable[[tantivy.Document, IndexPage], None]:
    """The function that adds the texts of a page to a document, as far as they are analysed here."""
    analyser, is_english = analyser_for(language), language == "en"

    def add_texts(document: tantivy.Document, page: IndexPage) -> None:
        for name, text in field_texts(page, analyser).items():
            if is_english:
                document.add_text(name, fold(text))
            else:
                document.add_text(name, ABSENT if text is ABSENT else " ".join(analyse(analyser, name, text)))

    return add_texts


BoostOf = Callable[[TextField, Sequence[str], float], float]
"""The weight with which a word, or words in a row, are scored in place of the one given (`tantivy_statistics`)."""


def scoring_query(schema: Schema, terms: Sequence[WeightedTerm], boost_of: BoostOf | None = None) -> Query:
    """The query that scores by `terms`; tantivy adds up single words faster in a query of their own."""
    from tantivy import Occur, Query

    make = _TermQueries(schema, boost_of)
    single: list[tuple[Occur, Query]] = []
    other: list[tuple[Occur, Query]] = []
    for term in merge_terms(terms):
        is_single = len(term.words) == 1 and not term.with_words
        (single if is_single else other).append((Occur.Should, make.term_query(term)))
    if single and other:
        single = [(Occur.Should, Query.boolean_query(single))]
    return Query.boolean_query([*single, *other])


def restrict(schema: Schema, scoring: Query, restriction: Restriction) -> Query:
    """A query among the pages that `restriction` allows."""
    from tantivy import Occur, Query

    filters = list(_filters(schema, restriction))
    if not filters:
        return scoring
    silent = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in filters]
    return Query.boolean_query([(Occur.Must, scoring), *silent])


class _TermQueries:
    """Makes the queries of weighted terms."""

    def __init__(self, schema: Schema, boost_of: BoostOf | None) -> None:
        from tantivy import Occur, Query

        self._schema, self._boost_of = schema, boost_of
        self._query, self._must = Query, Occur.Must  # imported once, not for each term

    def term_query(self, term: WeightedTerm) -> Query:
        """The best of the alternatives, the words in a row, or all of several words, times the weight."""
        weight = float(term.weight)
        if term.is_phrase and len(term.words) > 1:
            phrase = self._query.phrase_query(self._schema, term.field, list(term.words))
            return self._weighted(phrase, term.field, term.words, weight)
        if not term.with_words:
            return self._best_word(term.field, term.words, weight)
        parts = [self._best_word(term.field, words, weight) for words in (term.words, *term.with_words)]
        return self._query.boolean_query([(self._must, part) for part in parts])

    def _best_word(self, field: TextField, words: Sequence[str], weight: float) -> Query:
        queries = ((word, self._query.term_query(self._schema, field, word, "freq")) for word in dict.fromkeys(words))
        single = [self._weighted(query, field, [word], weight) for word, query in queries]
        return single[0] if len(single) == 1 else self._query.disjunction_max_query(single)

    def _weighted(self, query: Query, field: TextField, words: Sequence[str], weight: float) -> Query:
        boost = weight if self._boost_of is None else self._boost_of(field, words, weight)
        return query if boost == 1.0 else self._query.boost_query(query, boost)


MOST_BITS = 20
"""Lists of terms that one query asks for: scores are exact up to 24 bits."""


def bits_query(schema: Schema, asked: Sequence[Sequence[WeightedTerm]], page_ids: Sequence[int]) -> Query:
    """A query for pages whose score has bit n where they have any of the terms of list n."""
    from tantivy import Occur, Query

    pages = Query.const_score_query(Query.term_set_query(schema, "page_id", page_ids), 0.0)
    bits = [
        (Occur.Should, Query.const_score_query(scoring_query(schema, terms), float(1 << bit)))
        for bit, terms in enumerate(asked)
        if terms
    ]
    return Query.boolean_query([(Occur.Must, pages), *bits])


def is_one_of(scoring: Query, filters: Sequence[Query]) -> Query:
    """A query among the pages that at least one filter lets through."""
    from tantivy import Occur, Query

    either = Query.boolean_query([(Occur.Should, each) for each in filters])
    return Query.boolean_query([(Occur.Must, scoring), (Occur.Must, Query.const_score_query(either, 0.0))])


def group_filter(schema: Schema, groups: Mapping[str, int]) -> Query:
    """Pages that share a bit with the mask of every dimension."""
    from tantivy import Occur, Query

    parts = [_in_groups(schema, name, int(mask)) for name, mask in groups.items()]
    return parts[0] if len(parts) == 1 else Query.boolean_query([(Occur.Must, part) for part in parts])


def _in_groups(schema: Schema, dimension: str, mask: int) -> Query:
    """Pages of any of the groups in a mask."""
    from tantivy import Query

    groups, field = set_bits(mask), f"{dimension}_group"
    if len(groups) == 1:  # read from the postings; of a set, all pages are collected first
        return Query.term_query(schema, field, groups[0], "basic")
    return Query.term_set_query(schema, field, list(groups))


def _filters(schema: Schema, restriction: Restriction) -> Iterable[Query]:
    from tantivy import FieldType, Query

    for name, mask in restriction.groups.items():
        yield _in_groups(schema, name, int(mask))
    if restriction.page_ids is not None:
        yield Query.term_set_query(schema, "page_id", [int(page) for page in restriction.page_ids])
    if restriction.up_to_page_id is not None:
        last = int(restriction.up_to_page_id)
        yield Query.range_query(schema, "page_id", FieldType.Integer, None, last)


REST_FIELD = "rest"
"""What a page was indexed with and `SHOWN_FIELDS` lack, packed: it can be indexed again without its source."""
REMOVED_ID = -1
"""The id of pages that were never there (`TantivyWriter.add_removed`)."""
FILLER = "z "
"""A word."""


def read_meta(path: Path) -> dict[str, Any]:
    """What tantivy says of an index in a folder: its schema, and its segments with their pages."""
    found: dict[str, Any] = orjson.loads((path / "meta.json").read_bytes())
    return found


def has_rest(path: Path) -> bool:
    """Whether pages of an index can be read whole (`unpack_rest`); those of earlier versions of Evenrank cannot."""
    return any(entry["name"] == REST_FIELD for entry in read_meta(path)["schema"])


def pack_rest(page: IndexPage) -> bytes:
    """What `unpack_rest` reads; texts have no null characters."""
    from isal import isal_zlib

    parts = (page.lead, page.text, page.infobox, page.kind)
    return isal_zlib.compress("\0".join(parts).encode("utf-8", "replace"), 1)


def unpack_rest(packed: bytes) -> tuple[str, str, str, str]:
    """Lead, text, infobox and kind of a page."""
    from isal import isal_zlib

    lead, text, infobox, kind = isal_zlib.decompress(packed).decode().split("\0")
    return lead, text, infobox, kind


HEAP_BYTES = 200_000_000
"""Memory of the writer, over all threads."""
THREAD_BYTES = 15_000_000
"""The least memory of a thread that tantivy accepts, so at most 13 threads write."""
MARKS_FILE = "marks.json"
"""Beside the index: its last marks."""


PRIVATE_FILES = ("meta.json", ".managed.json")
"""What tantivy writes so that its owner alone can read it; the rest has the rights that the folder has."""


class TantivyWriter:
    """Changes an index. A searcher of the caller tells what is committed."""

    def __init__(self, index: tantivy.Index, path: Path, layout: IndexLayout, n_threads: int) -> None:
        self._index, self._path, self._layout = index, path, layout
        self._n_threads = min(n_threads, HEAP_BYTES // THREAD_BYTES)
        self._open: tantivy.IndexWriter | None = None
        self._is_committed = True
        self._ordinal: int | None = None
        self._added: PageIdSet | None = None

    @property
    def _writer(self) -> tantivy.IndexWriter:
        """The one writer of this index, to change it; an error when another process holds it."""
        self._is_committed = False
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
        to_document = document_maker(self._layout, keeps_rest=has_rest(self._path))
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

    def add_removed(self, n_pages: int, n_words: Mapping[TextField, int]) -> None:
        """Add pages and remove them again: they are in no answer, but in the statistics, with so many words each field.

        tantivy drops a segment in which nothing is left, so another page has to be added before the next commit.
        """
        from tantivy import Document

        for number in range(n_pages):
            document = Document()
            document.add_integer("page_id", REMOVED_ID)
            for name, n in n_words.items() if number == 0 else ():
                document.add_text(name, FILLER * n)
            self._writer.add_document(document)
        self.delete([REMOVED_ID])

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
        self._is_committed = True

    def put_mark(self, mark: str, searcher: tantivy.Searcher) -> None:
        """Give the last commit another mark."""
        with atomic_file(self._marks_path) as file:
            file.write(orjson.dumps([[count_added(searcher), mark]]))

    def mark(self, searcher: tantivy.Searcher) -> str:
        """The mark of the last commit; empty when there is none."""
        try:
            marks = orjson.loads(self._marks_path.read_bytes())
        except (OSError, ValueError):
            return ""
        n_added = count_added(searcher)
        return next((mark for reached, mark in reversed(marks) if reached == n_added), "")

    def close(self) -> None:
        """Let go of the index, after its merges; what is not committed is dropped.

        A rollback gives up merges, which still write and remove files after it, so only what is not committed gets one.
        """
        if self._open is not None:
            if not self._is_committed:
                self._open.rollback()
            self._open.wait_merging_threads()
            for name in PRIVATE_FILES:  # a server often runs as somebody else than who builds the index
                (self._path / name).chmod(self._path.stat().st_mode & 0o666)
            self._open, self._is_committed = None, True
            self._added = None  # another process may write now

    @property
    def _marks_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}-{MARKS_FILE}")

    def _failure(self, error: Exception) -> EvenrankError:
        fix = "make room and run the same command again: it resumes"
        return EvenrankError(f"{self._path}: could not be written: {reason_of(error)} ({fix})")


def count_pages(searcher: tantivy.Searcher, schema: Schema, field: str, word: str) -> int:
    """Pages that are left and whose field has a word."""
    import tantivy

    found: Any = searcher.search(tantivy.Query.term_query(schema, field, word, "basic"), 1, count=True)
    return int(found.count)


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
