"""Four-column qrels."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.errors import InputError
from evenrank.io.topics import parse_judgment, read_qrels, write_qrels


def test_reads_what_it_writes(tmp_path: Path) -> None:
    write_qrels(tmp_path / "q", [(1, 5, 1), (1, 6, 0), (2, 5, 2)])
    grades = read_qrels(tmp_path / "q")
    assert grades == {1: {5: 1, 6: 0}, 2: {5: 2}}


def test_faults_name_the_line(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"1 0 5 1\n1 0 5\n1 0 x 1\n1 0 5 0\n1 0 6 high\n\xff 0 1 1\n1 0 99999999999 1\n")
    with pytest.raises(InputError) as caught:
        read_qrels(tmp_path / "q")
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5, 6, 7]


def test_grades_have_one_sign_at_most(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 5 -1\n1 0 6 --1\n")
    with pytest.raises(InputError, match="grade '--1' is not a whole number"):
        read_qrels(tmp_path / "q")


def test_grades_below_the_least_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 5 -1\n1 0 6 7\n1 0 7 -3\n")
    assert read_qrels(tmp_path / "q") == {1: {5: -1, 6: 7, 7: -3}}
    with pytest.raises(InputError, match="grade -1 is below 0") as caught:
        read_qrels(tmp_path / "q", min_grade=0)
    assert [fault.line for fault in caught.value.faults] == [1, 3]


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read_qrels(tmp_path / "q")


@given(st.binary(max_size=60))
def test_no_line_gives_a_traceback(line: bytes) -> None:
    try:
        topic, page, _ = parse_judgment(line)
    except ValueError as error:
        assert str(error)
    else:
        assert topic >= 0
        assert page >= 0
