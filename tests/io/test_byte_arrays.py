"""Array arithmetic on text against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenrank.io.byte_arrays import (
    digit_values,
    hashes,
    integer_table,
    n_digits,
    unit_decimals,
    words_of,
)

PAD = bytes(64)


def word(text: bytes) -> np.ndarray:
    return words_of(np.frombuffer(text + PAD, np.uint8))[:1]


@given(st.binary(min_size=0, max_size=12))
def test_n_digits_counts_the_digits_in_front(text: bytes) -> None:
    expected = len(text) - len(text.lstrip(b"0123456789"))
    assert n_digits(word(text))[0] == min(expected, 8)


@given(st.from_regex(rb"[0-9]{1,8}", fullmatch=True), st.binary(max_size=4))
def test_digit_values_reads_the_number(digits: bytes, behind: bytes) -> None:
    assert digit_values(word(digits + b"," + behind), np.array([len(digits)]))[0] == int(digits)


@given(st.from_regex(rb"[01]\.[0-9]{1,22}", fullmatch=True))
def test_unit_decimals_equals_float(text: bytes) -> None:
    buffer = np.frombuffer(text + b"," + PAD, np.uint8)
    values, ends, is_good = unit_decimals(buffer, words_of(buffer), np.array([0]))
    assert is_good[0] == (float(text) <= 1.0) or float(text) == 1.0
    if is_good[0] and ends[0] == len(text):
        assert values[0] == np.float32(float(text[:18]))


@given(st.lists(st.binary(min_size=8, max_size=40), min_size=1, max_size=20))
def test_hashes_tell_strings_apart(strings: list[bytes]) -> None:
    joined = b"".join(strings)
    ends = np.cumsum([len(s) for s in strings])
    starts = np.concatenate([[0], ends[:-1]])
    found = hashes(words_of(np.frombuffer(joined + PAD, np.uint8)), starts, ends)
    assert len(set(found.tolist())) == len(set(strings))


@given(
    st.lists(st.tuples(st.integers(0, 99_999_999), st.integers(0, 99_999_999)), min_size=1, max_size=30), st.booleans()
)
def test_integer_table_reads_what_was_written(rows: list[tuple[int, int]], with_end: bool) -> None:
    text = "\n".join(f"{a}\t{b}" for a, b in rows) + ("\n" if with_end else "")
    table = integer_table(text.encode())
    assert table is not None
    assert table.tolist() == [list(row) for row in rows]


def test_integer_table_refuses_other_shapes() -> None:
    for text in (
        b"1\t2\n3\n",
        b"1\t2\n3\t4\t5\n",
        b"1\tx\n",
        b"1\t\n",
        b"1\t-2\n",
        b"1\t2\n\n3\t4\n",
        b"1 2\n",
        b":\t2\n",
    ):
        assert integer_table(text) is None or integer_table(text).shape[1] not in (2, 3)


@given(st.binary(max_size=200))
def test_integer_table_never_raises(text: bytes) -> None:
    table = integer_table(text)
    assert table is None or table.dtype == np.int64
