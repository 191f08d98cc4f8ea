"""Page ids → rows: by binary search, or by a bitmap of the ids once there are many to look up."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.core.distinct import distinct_places

MANY = 200_000
"""Ids looked up by search before the bitmap is made, which costs about as much."""
LARGEST_GAP = 64
"""Mean distance of ids up to which a bitmap is made: 12 bytes for 64 ids, so at most 12 bytes for each page."""
SORTED_FROM = 4096
"""Ids from which sorting them first makes the search faster."""
CHUNK_WORDS = 1 << 14
"""Words of the bitmap that are made at once: a megabyte of flags stays in the processor's cache."""


class PageRows:
    """Finds the rows of pages in an ascending array of ids; the answers are the same in either way."""

    def __init__(self, page_ids: NDArray[np.int32]) -> None:
        self._page_ids = page_ids
        self._n_sought = 0

    def rows(self, wanted: NDArray[np.integer]) -> NDArray[np.intp]:
        """The row of each page; −1 for a page that is not there."""
        if not self._uses_bitmap(len(wanted)):
            return self._searched_rows(wanted)
        ids, is_inside = self._inside(wanted)
        words, n_before = self._bitmap
        word = ids >> 6
        up_to_id = words[word] << (63 - (ids & 63)).astype(np.uint8)
        rows = n_before[word] + np.bitwise_count(up_to_id).astype(np.intp) - 1
        return np.where((up_to_id >> np.uint8(63) != 0) & is_inside, rows, -1)

    def contain(self, wanted: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of the pages are there."""
        if not self._uses_bitmap(len(wanted)):
            return self._searched_rows(wanted) >= 0
        ids, is_inside = self._inside(wanted)
        bits = self._bitmap[0][ids >> 6] >> (ids & 63).astype(np.uint8) & np.uint8(1)
        found: NDArray[np.bool_] = (bits != 0) & is_inside
        return found

    def _uses_bitmap(self, n_wanted: int) -> bool:
        n_ids = len(self._page_ids)
        self._n_sought += n_wanted
        return (
            self._n_sought > MANY
            and n_ids > 0
            and int(self._page_ids[0]) >= 0
            and int(self._page_ids[-1]) < LARGEST_GAP * n_ids
        )

    def _inside(self, wanted: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.bool_] | np.bool_]:
        """The ids, with 0 in place of those that the bitmap does not reach, and which it does."""
        last = int(self._page_ids[-1])
        if len(wanted) == 0 or (int(wanted.min()) >= 0 and int(wanted.max()) <= last):
            return wanted, np.True_
        is_inside = (wanted >= 0) & (wanted <= last)
        return np.where(is_inside, wanted, 0), is_inside

    def _searched_rows(self, wanted: NDArray[np.integer]) -> NDArray[np.intp]:
        if len(self._page_ids) == 0:
            return np.full(len(wanted), -1, np.intp)
        if len(wanted) > SORTED_FROM:
            pages, place = distinct_places(wanted)
            rows: NDArray[np.intp] = self._searched_rows_of_few(pages)[place]
            return rows
        return self._searched_rows_of_few(wanted)

    def _searched_rows_of_few(self, wanted: NDArray[np.integer]) -> NDArray[np.intp]:
        rows = np.searchsorted(self._page_ids, wanted)
        rows[rows == len(self._page_ids)] = 0
        return np.where(self._page_ids[rows] == wanted, rows, -1)

    @cached_property
    def _bitmap(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """A bit for each possible id, 64 to a word, and how many ids come before each word (Jacobson 1989)."""
        ids = self._page_ids
        words = np.empty((int(ids[-1]) >> 6) + 1, np.uint64)
        firsts = range(0, len(words), CHUNK_WORDS)
        starts = np.searchsorted(ids, (np.array(firsts) << 6).astype(ids.dtype))
        for first, start, end in zip(firsts, starts, [*starts[1:], len(ids)], strict=True):
            flags = np.zeros(CHUNK_WORDS << 6, np.uint8)
            flags[np.subtract(ids[start:end], first << 6, dtype=np.intp)] = 1
            part = words[first : first + CHUNK_WORDS]
            part[:] = np.packbits(flags, bitorder="little").view("<u8")[: len(part)]
        n_inside = np.bitwise_count(words)
        n_before = np.cumsum(n_inside, dtype=np.int32)
        return words, n_before - n_inside
