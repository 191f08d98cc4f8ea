"""Array arithmetic on text: many short numbers or strings in one buffer, all at once.

Buffers carry padding behind their last byte, so that a look past the end of a line stays inside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ID_DIGITS = 10
DECIMAL_CHARS = 24
EXACT_DECIMALS = 15
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)

Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]


def has_bytes(buffer: Bytes, places: Places, wanted: bytes) -> NDArray[np.bool_]:
    """Whether `wanted` stands at each place."""
    is_there = np.ones(len(places), bool)
    for offset, byte in enumerate(wanted):
        is_there &= buffer[places + offset] == byte
    return is_there


def integers(buffer: Bytes, places: Places) -> tuple[NDArray[np.int32], Places, NDArray[np.bool_]]:
    """The whole number at each place, the place behind it, and whether there is one that fits in 31 bits."""
    values = np.zeros(len(places), np.int64)
    is_open = np.ones(len(places), bool)
    lengths = np.zeros(len(places), np.intp)
    for offset in range(ID_DIGITS + 1):
        digit = buffer[places + offset].astype(np.int64) - 48
        is_open &= (digit >= 0) & (digit <= 9)
        if not is_open.any():
            break
        values = np.where(is_open, values * 10 + digit, values)
        lengths += is_open
    fits = (lengths > 0) & ~is_open & (values < 2**31)
    return np.where(fits, values, 0).astype(np.int32), places + lengths, fits


def unit_decimals(buffer: Bytes, places: Places) -> tuple[NDArray[np.float32], Places, NDArray[np.bool_]]:
    """The plain decimal from 0 to 1 at each place up to a comma, the place of the comma, and whether it is one.

    `0`, `1`, `0.25` and `1.0` are read here; exponents and anything longer are left to a slower reader.
    """
    chars = buffer[places[:, None] + np.arange(DECIMAL_CHARS)]
    is_comma = chars == ord(",")
    lengths = is_comma.argmax(axis=1)
    is_good = is_comma.any(axis=1) & (lengths != 2) & (lengths > 0)
    is_good &= (chars[:, 0] == 48) | (chars[:, 0] == 49)
    is_good &= (lengths == 1) | (chars[:, 1] == ord("."))
    digits = np.zeros(len(places), np.int64)
    scale = np.ones(len(places))
    for column in range(2, DECIMAL_CHARS):
        digit = chars[:, column].astype(np.int64) - 48
        inside = column < lengths
        is_good &= ~inside | ((digit >= 0) & (digit <= 9))
        if column < 2 + EXACT_DECIMALS:
            digits = np.where(inside, digits * 10 + digit, digits)
            scale = np.where(inside, scale * 10.0, scale)
    values = (chars[:, 0].astype(np.float64) - 48) + digits / scale
    is_good &= values <= 1.0
    return values.astype(np.float32), places + lengths, is_good


def hashes(buffer: Bytes, starts: Places, ends: Places) -> NDArray[np.uint64]:
    """A 64-bit hash of each of the byte strings `buffer[start:end]`, eight bytes at a time."""
    words = np.lib.stride_tricks.as_strided(buffer[:8].view("<u8"), (len(buffer) - 8,), (1,))
    mixed = (ends - starts).astype(np.uint64) * _MULTIPLIER
    longest = int((ends - starts).max(initial=0))
    last = np.maximum(ends - 8, starts)
    for offset in range(0, longest, 8):
        mixed = (mixed ^ words[np.minimum(starts + offset, last)]) * _MULTIPLIER
        mixed ^= mixed >> _SHIFT
    return mixed


def integer_table(text: bytes) -> NDArray[np.int64] | None:
    """Lines of tab-separated whole numbers as a table; None when any line is of another shape."""
    n_columns = text.find(b"\n", 0, 200)
    n_columns = text[:n_columns].count(b"\t") + 1
    buffer = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
    ends = np.flatnonzero((buffer == 9) | (buffer == 10))
    if len(ends) % n_columns:
        return None
    separators = buffer[ends].reshape(-1, n_columns)
    if (separators[:, -1] != 10).any() or (separators[:, :-1] != 9).any():
        return None
    lengths = np.diff(ends, prepend=-1) - 1
    if lengths.min(initial=1) < 1 or lengths.max(initial=1) > ID_DIGITS:
        return None
    values = _right_aligned(buffer, ends, lengths)
    return None if values is None else values.reshape(-1, n_columns)


def _right_aligned(buffer: Bytes, ends: Places, lengths: Places) -> NDArray[np.int64] | None:
    """Values of digit strings that end before `ends`; None when something else than a digit is in them."""
    values = np.zeros(len(ends), np.int64)
    power = 1
    for offset in range(int(lengths.max(initial=0))):
        inside = offset < lengths
        digit = np.where(inside, buffer[np.maximum(ends - 1 - offset, 0)], 48).astype(np.int64) - 48
        if ((digit < 0) | (digit > 9)).any():
            return None
        values += digit * power
        power *= 10
    return values
