"""Array arithmetic on text: many short numbers or strings in one buffer, all at once.

Text is taken eight bytes at a time as 64-bit words. Buffers carry padding behind their last byte, so that a look past
the end of a line stays inside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WORD = 8
_HIGH = np.uint64(0xF0F0F0F0F0F0F0F0)
_ZEROS = np.uint64(0x3030303030303030)
_SIXES = np.uint64(0x0606060606060606)
_LOW = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONE = np.uint64(1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_POWERS = 10.0 ** np.arange(2 * WORD + 1)

Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]
Words = NDArray[np.uint64]


def words_of(buffer: Bytes) -> Words:
    """The word that starts at each byte of the buffer but the last seven (a view, nothing is copied)."""
    return np.lib.stride_tricks.as_strided(buffer[:WORD].view("<u8"), (len(buffer) - WORD + 1,), (1,))


def has_bytes(words: Words, places: Places, wanted: bytes) -> NDArray[np.bool_]:
    """Whether `wanted`, of at least eight bytes, is at each place."""
    is_there = np.ones(len(places), bool)
    for offset in {*range(0, len(wanted) - WORD + 1, WORD), len(wanted) - WORD}:
        word = np.uint64(int.from_bytes(wanted[offset : offset + WORD], "little"))
        is_there &= words[places + offset] == word
    return is_there


def n_digits(words: Words) -> NDArray[np.intp]:
    """How many digits each word starts with."""
    odd = ((words & _HIGH) ^ _ZEROS) | (((words + _SIXES) & _HIGH) ^ _ZEROS)
    lowest = odd & (~odd + _ONE)
    lengths: NDArray[np.intp] = (np.bitwise_count(lowest - _ONE) >> np.uint8(3)).astype(np.intp)
    return lengths


def digit_values(words: Words, lengths: NDArray[np.intp]) -> NDArray[np.int64]:
    """The number that the first `lengths` digits of each word make; 0 for none."""
    shift = ((WORD - lengths) * 8).astype(np.uint64)
    digits = np.where(lengths > 0, (words << (shift & np.uint64(63))) & _LOW, np.uint64(0))
    digits = (digits * np.uint64(10 * 2**8 + 1)) >> np.uint64(8)
    digits = ((digits & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(100 * 2**16 + 1)) >> np.uint64(16)
    digits = ((digits & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)
    return digits.astype(np.int64)


def integers(words: Words, places: Places) -> tuple[NDArray[np.int32], Places, NDArray[np.bool_]]:
    """The whole number of up to eight digits at each place, the place behind it, and whether there is one.

    As in JSON, a number of several digits that starts with 0 is none.
    """
    here = words[places]
    lengths = n_digits(here)
    has_zero = (here & np.uint64(0xFF)) == np.uint64(ord("0"))
    return digit_values(here, lengths).astype(np.int32), places + lengths, (lengths == 1) | ((lengths > 1) & ~has_zero)


def unit_decimals(buffer: Bytes, words: Words, places: Places) -> tuple[NDArray[np.float32], Places, NDArray[np.bool_]]:
    """The plain decimal from 0 to 1 at each place, the place behind it, and whether there is one.

    `0.25` and `1.0` are read here, to sixteen decimals; anything else is left to a slower reader.
    """
    first = buffer[places]
    is_good = ((first == 48) | (first == 49)) & (buffer[places + 1] == ord("."))
    here = words[places + 2]
    lengths = n_digits(here)
    digits = digit_values(here, lengths)
    end = places + 2 + lengths
    if (lengths == WORD).any():
        following = words[places + 2 + WORD]
        more = np.where(lengths == WORD, n_digits(following), 0)
        digits = digits * _POWERS[more].astype(np.int64) + digit_values(following, more)
        lengths = lengths + more
        rest = n_digits(words[places + 2 + 2 * WORD])
        end = places + 2 + lengths + np.where(lengths == 2 * WORD, rest, 0)
    values = (first.astype(np.float64) - 48) + digits / _POWERS[lengths]
    return values.astype(np.float32), end, is_good & (lengths > 0) & (values <= 1.0)


def hashes(words: Words, starts: Places, ends: Places) -> NDArray[np.uint64]:
    """A 64-bit hash of each byte string from `starts` to `ends`, all of at least eight bytes."""
    mixed = (ends - starts).astype(np.uint64) * _MULTIPLIER
    longest = int((ends - starts).max(initial=0))
    last = ends - WORD
    for offset in range(0, longest, WORD):
        mixed = (mixed ^ words[np.minimum(starts + offset, last)]) * _MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
    return mixed


def integer_table(text: bytes) -> NDArray[np.int64] | None:
    """Lines of tab-separated whole numbers of up to eight digits as a table; None when any line is of another shape."""
    end = text.find(b"\n", 0, 200)
    n_columns = text[: end if end >= 0 else len(text)].count(b"\t") + 1
    buffer = np.frombuffer(text + (b"" if text.endswith(b"\n") else b"\n") + bytes(WORD), np.uint8)
    ends = np.flatnonzero((buffer == 9) | (buffer == 10))
    if len(ends) % n_columns:
        return None
    separators = buffer[ends].reshape(-1, n_columns)
    if (separators[:, -1] != 10).any() or (separators[:, :-1] != 9).any():
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    here = words_of(buffer)[starts]
    lengths = n_digits(here)
    if (lengths == 0).any() or (starts + lengths != ends).any():
        return None
    return digit_values(here, lengths).reshape(-1, n_columns)
