"""How many removed pages have a word, which tantivy counts among those of the word until their segment is merged.

To look up the pages that are left takes longer the more pages have the word. So whoever changes an index puts the words
of the pages that it removes into a small index of their own, each with the segment that still has the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evenrank.retrieval.engine.protocol import TEXT_FIELDS, IndexPage, TextField
from evenrank.retrieval.engine.tantivy_index import (
    FILLER,
    PRIVATE_FILES,
    add_text_field,
    build_analysers,
    count_pages,
    read_meta,
    text_adder,
)
from evenrank.retrieval.engine.tantivy_statistics import PageCount

if TYPE_CHECKING:
    import tantivy

SEGMENT = "segment"
HEAP_BYTES = 50_000_000


def removed_path(path: Path) -> Path:
    """The folder of the removed pages of an index."""
    return path.with_name(f"{path.name}-removed")


def removed_by_segment(path: Path) -> dict[str, int]:
    """How many pages of each segment of an index were removed, in tantivy's order of segments."""
    segments = read_meta(path)["segments"]
    return {one["segment_id"]: (one["deletes"] or {"num_deleted_docs": 0})["num_deleted_docs"] for one in segments}


def open_removed(path: str, language: str) -> tantivy.Index:
    """The removed pages in a folder, to be searched or changed."""
    import tantivy

    index = tantivy.Index.open(path)
    for name, analyser in build_analysers(language).items():
        index.register_tokenizer(name, analyser)
    return index


def removed_counter(index: tantivy.Index, removed: Mapping[str, int]) -> PageCount | None:
    """Counts the removed pages that have a word; None where not all of them are known."""
    searcher, schema = index.searcher(), index.schema
    known = {segment: count_pages(searcher, schema, SEGMENT, segment) for segment in removed}
    if known != removed:
        return None
    return lambda field, word: count_pages(searcher, schema, field, word)


class RemovedPages:
    """Changes the removed pages of an index: what is added is kept by `finish`."""

    def __init__(self, path: Path, language: str) -> None:
        import tantivy

        self._path = removed_path(path)
        if not self._path.is_dir():
            self._path.mkdir()
            tantivy.Index(_schema(language), str(self._path), reuse=False)
        self._writer = open_removed(str(self._path), language).writer(HEAP_BYTES, 1)
        self._add_texts = text_adder(language)
        self._segments: set[str] = set()

    def add(self, pages: Iterable[IndexPage], segments: Sequence[str]) -> None:
        """Add pages, each with its segment."""
        from tantivy import Document

        for page, segment in zip(pages, segments, strict=True):
            document = Document()
            document.add_text(SEGMENT, segment)
            self._add_texts(document, page)
            self._writer.add_document(document)
        self._segments.update(segments)

    def add_fillers(self, n_pages: int, n_words: Mapping[TextField, int], segment: str) -> None:
        """Add the pages of `TantivyWriter.add_removed`, of which the first has all the words."""
        from tantivy import Document

        for number in range(n_pages):
            document = Document()
            document.add_text(SEGMENT, segment)
            for name in [name for name, n in n_words.items() if n] if number == 0 else ():
                document.add_text(name, FILLER)
            self._writer.add_document(document)

    def finish(self, path: Path, segments: Iterable[str]) -> None:
        """Keep the pages whose segment is still there, of those that there were."""
        for segment in {*segments, *self._segments} - set(removed_by_segment(path)):
            self._writer.delete_documents_by_term(SEGMENT, segment)
        self._writer.commit()
        self._writer.wait_merging_threads()
        for name in PRIVATE_FILES:
            (self._path / name).chmod(path.stat().st_mode & 0o666)


def _schema(language: str) -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field(SEGMENT, tokenizer_name="raw", index_option="basic")
    for name in TEXT_FIELDS:
        add_text_field(builder, name, language, "basic")
    return builder.build()
