"""Hashes of titles in their normal form, of millions at once: most titles are in it but for their first letter.

The hash of a title is that of its bytes after the first character: a polynomial in an odd number modulo 2^64, so that
one running sum over the bytes of many titles gives the hash of each. The few titles that are not in normal form, such
as those with underscores, are hashed one by one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

ROW_BITS = 32
"""Of a key; the others are the hash."""
BLOCK = 1 << 17
"""Bytes of titles that are hashed at a time: what is computed from them stays in the processor's cache."""
FACTOR = 0x9E3779B97F4A7C15
"""Any odd number with mixed bits."""
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def normal_title(title: str) -> str:
    """A title in the form in which titles are compared: NFC, blanks for underscores, first letter upper case."""
    clean = unicodedata.normalize("NFC", _DIRECTION.sub("", title)).replace("_", " ")
    clean = " ".join(clean.split()).lstrip(":").strip()
    return clean[:1].upper() + clean[1:]


def title_hash(title: str) -> int:
    """The hash of a title in normal form."""
    total = 0
    for byte in reversed(title[1:].encode("utf-8", "surrogatepass")):
        total = (total * FACTOR + byte) & _ALL
    return total >> ROW_BITS


_ALL = (1 << 64) - 1


def hash_titles(offsets: NDArray[np.int64], text: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The hash of the normal form of each title; title n is `text[offsets[n]:offsets[n + 1]]`."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for first, end in _blocks(offsets):
        block = text[offsets[first] : offsets[end]]
        bounds = offsets[first : end + 1] - offsets[first]
        hashes[first:end] = _after_first_characters(block, bounds)
        for row in _not_normal(block, bounds).tolist():
            title = bytes(block[bounds[row] : bounds[row + 1]]).decode()
            hashes[first + row] = title_hash(normal_title(title))
    return hashes


def _blocks(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Parts of the titles of about `BLOCK` bytes each."""
    first, n_titles = 0, len(offsets) - 1
    while first < n_titles:
        end = max(first + 1, int(np.searchsorted(offsets, offsets[first] + BLOCK, side="right")) - 1)
        yield first, min(end, n_titles)
        first = end


def _after_first_characters(block: NDArray[np.uint8], bounds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The hash of each title as it is."""
    powers, inverses = _powers(max(BLOCK, len(block)) + 1)
    sums = np.empty(len(block) + 1, np.uint64)  # not np.zeros, whose pages the system would have to map for each block
    sums[0] = 0
    np.multiply(block, powers[: len(block)], out=sums[1:])
    np.cumsum(sums, out=sums)
    lengths = _CHARACTER_BYTES[block[np.minimum(bounds[:-1], max(len(block) - 1, 0))]] if len(block) else 0
    starts = np.minimum(bounds[:-1] + lengths, bounds[1:])
    return np.asarray((sums[bounds[1:]] - sums[starts]) * inverses[starts] >> np.uint64(ROW_BITS))


@cache
def _powers(n: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Powers of the factor and of its inverse modulo 2^64."""
    found = []
    for factor in (FACTOR, pow(FACTOR, -1, 1 << 64)):
        powers = np.full(n, factor, np.uint64)
        powers[0] = 1
        found.append(np.cumprod(powers))
    return found[0], found[1]


_CHARACTER_BYTES = np.repeat([1, 2, 3, 4], [0xC0, 0x20, 0x10, 0x10])
"""Bytes of a character in UTF-8, by the first of them."""
_CHANGED = re.compile(r"[\s_]|" + _DIRECTION.pattern)
_CHANGED_BYTES = sorted(
    int.from_bytes(chr(code).encode().ljust(3, b"\0"), "big")
    for code in range(0xD800)
    if code != ord(" ") and _CHANGED.match(chr(code))
)
"""Characters that the normal form never has, as the bytes of UTF-8, filled up to three."""
_LEADS = np.isin(np.arange(256), [code >> 16 for code in _CHANGED_BYTES])


def _not_normal(block: NDArray[np.uint8], bounds: NDArray[np.int64]) -> NDArray[np.intp]:
    """Titles whose normal form may differ in more than the case of the first character."""
    padded = np.append(block, np.zeros(3, np.uint8))
    is_checked = block >= 0x80  # and the letter before, which an accent may join
    few = np.flatnonzero(is_checked | (block < ord(" ")) | (block == ord("_")))
    is_checked[:-1] |= is_checked[1:]
    if not unicodedata.is_normalized("NFC", bytes(block[is_checked]).decode()):
        return np.arange(len(bounds) - 1)
    places = few[_LEADS[block[few]]]
    codes = np.zeros(len(places), np.int64)
    n_bytes = _CHARACTER_BYTES[block[places]]
    for at in range(3):
        codes = codes << 8 | np.where(at < n_bytes, padded[places + at], 0)
    is_blank = block == ord(" ")
    starts = bounds[:-1][bounds[:-1] < bounds[1:]]
    ends = bounds[1:][bounds[:-1] < bounds[1:]] - 1
    odd = [
        places[np.isin(codes, _CHANGED_BYTES)],
        np.flatnonzero(is_blank[1:] & is_blank[:-1]),
        starts[is_blank[starts] | (block[starts] == ord(":"))],
        ends[is_blank[ends]],
        starts[_expanding()[block[starts].astype(np.intp) << 8 | padded[starts + 1]]],
    ]
    return np.unique(np.searchsorted(bounds, np.concatenate(odd), side="right") - 1)


@cache
def _expanding() -> NDArray[np.bool_]:
    """The first two bytes of characters whose upper case has several, such as ß."""
    found = np.zeros(1 << 16, bool)
    codes = [code for code in range(0x80, 0x10000) if len(chr(code).upper()) > 1]
    found[[int.from_bytes(chr(code).encode()[:2], "big") for code in codes]] = True
    return found
