"""Scores of an index with removed pages as if it had been built without them.

tantivy marks the pages of a segment as removed, but counts them in its statistics until the segment is merged, and
then estimates how many words the others have. Two things make the scores those of a new build:

- *Inverse document frequencies* are factors of a score. The pages that are left and have a word are counted
  (`tantivy_removed`), and its weight is multiplied by the quotient of the right factor and tantivy's.
- *Mean lengths* of fields are no factor. Whoever changes an index adds pages that are removed at once, of such number
  and length that all means are those of the pages that are left (`balance`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from evenrank.io.atomic import atomic_file
from evenrank.retrieval.engine.protocol import TEXT_FIELDS, TextField
from evenrank.retrieval.engine.tantivy_index import BoostOf, count_pages, read_meta

if TYPE_CHECKING:
    import tantivy


MOST_WORDS = 1 << 16
"""Words that are remembered while an index is open, with their factors and how many pages have them."""
FREE_CHOICE = 2000
"""Numbers of pages to choose from, so that the words that make the means right are nearly whole numbers."""


def count_slots(path: Path) -> int:
    """Pages of an index, removed ones included."""
    return sum(int(segment["max_doc"]) for segment in read_meta(path)["segments"])


PageCount = Callable[[TextField, str], int]


def page_counter(
    searcher: tantivy.Searcher, schema: tantivy.Schema, count_removed: PageCount | None = None
) -> PageCount:
    """Tells how many pages that are left have a word, and remembers it: all of them but the removed ones, where those
    can be counted, else it looks them up."""

    def count(field: TextField, word: str) -> int:
        if count_removed is None:
            return count_pages(searcher, schema, field, word)
        return int(searcher.doc_freq(field, word)) - count_removed(field, word)

    return lru_cache(MOST_WORDS)(count)


def idf_corrections(searcher: tantivy.Searcher, counts: PageCount, n_removed: int) -> BoostOf:
    """The weights of words with which their scores are right, in an index with so many removed pages."""
    n_pages = searcher.num_docs
    n_slots = n_pages + n_removed

    @lru_cache(MOST_WORDS)
    def idfs(field: TextField, word: str) -> tuple[np.float32, np.float32]:
        """Of the pages that are left, and tantivy's."""
        n_found = counts(field, word)
        return _idf(n_pages, n_found), _idf(n_slots, searcher.doc_freq(field, word))

    def boost_of(field: TextField, words: Sequence[str], weight: float) -> float:
        found = [idfs(field, word) for word in words]
        right, theirs = (sum(column, np.float32(0)) * (1 + K1) for column in zip(*found, strict=True))
        return float(_quotient(right * np.float32(weight), theirs))

    return boost_of


K1 = np.float32(1.2)
"""tantivy's, and of the type in which it computes."""


def _idf(n_pages: int, n_found: int) -> np.float32:
    odds = (np.float32(n_pages - n_found) + np.float32(0.5)) / (np.float32(n_found) + np.float32(0.5))
    return np.float32(math.log(np.float32(1) + odds))


def _quotient(product: np.float32, factor: np.float32) -> np.float32:
    """What `factor` has to be multiplied by to give `product`: to the last bit, wherever a number does."""
    near = product / factor
    around = (near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf)))
    return next((one for one in around if one * factor == product), near)


class Lengths(NamedTuple):
    """How many words the pages of an index have, in the order of `TEXT_FIELDS`."""

    n_pages: int
    n_words: tuple[int, ...]
    n_removed: int = 0
    """Pages that were removed or replaced since the index was built."""


def measure_words(
    searcher: tantivy.Searcher, schema: tantivy.Schema, path: Path, words: Mapping[TextField, str], page: Any
) -> list[int]:
    """tantivy's own count of words, removed pages included; `words` has one of each field of a page at an address."""
    from tantivy import Query

    n_slots, found = count_slots(path), []
    for field in TEXT_FIELDS:
        explanation = orjson.loads(Query.term_query(schema, field, words[field]).explain(searcher, page).to_json())
        parts = {part["description"].partition(",")[0]: part for part in explanation["details"][2]["details"]}
        found.append(round(float(parts["avgdl"]["value"]) * n_slots))
    return found


def balance(lengths: Lengths, n_slots: int, n_words: Sequence[int]) -> tuple[int, list[int]] | None:
    """How many pages, and words in each field, make the mean lengths those of `lengths`; None where they are.

    The exact number of words is a fraction. Of some numbers of pages the one is chosen whose fractions matter least.
    """
    right, theirs = np.array(lengths.n_words, np.int64), np.array(n_words, np.int64)
    n_pages = max(lengths.n_pages, 1)
    error = np.abs(n_slots * right - theirs * n_pages) / np.maximum(theirs * n_pages, 1)
    least = max(1, int(np.ceil((theirs * n_pages / np.maximum(right, 1) - n_slots).max())))
    more = np.arange(least, least + FREE_CHOICE)[:, None]
    wanted, fraction = np.divmod((n_slots + more) * right - theirs * n_pages, n_pages)
    wanted, fraction = np.where(2 * fraction >= n_pages, wanted + 1, wanted), np.minimum(fraction, n_pages - fraction)
    left = fraction / n_pages / np.maximum(theirs + wanted, 1)
    is_possible = (wanted >= 0).all(axis=1)
    worst = np.where(is_possible, left.max(axis=1), np.inf)
    best = int(worst.argmin())
    if error.max() <= max(2 * worst[best], SINGLE_PRECISION):
        return None
    return int(more[best, 0]), wanted[best].tolist()


SINGLE_PRECISION = 2.0**-22
"""Relative error of the mean lengths that tantivy says it uses."""


def write_lengths(path: Path, lengths: Lengths) -> None:
    with atomic_file(path) as file:
        file.write(orjson.dumps(lengths._asdict()))


def read_lengths(path: Path, measure: Callable[[], Lengths]) -> Lengths:
    """The lengths that were kept; those that `measure` finds for an index that was never changed."""
    if not path.is_file():
        return measure()
    record = orjson.loads(path.read_bytes())
    return Lengths(record["n_pages"], tuple(record["n_words"]), record["n_removed"])
