"""Two readers of one format agree: the fast one for clean tables of numbers, and the one that goes line by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.io import run_rows
from evenrank.io.run_rows import RunRows, read_rows

CELL = st.one_of(
    st.integers(0, 2**31 - 1).map(str), st.sampled_from(["0", "007", "00000001", "99999999", "2147483648"])
)
LINES = st.lists(st.lists(CELL, min_size=1, max_size=4).map("\t".join), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two") / "run"


def content(rows: RunRows) -> tuple[object, ...]:
    arrays = (rows.topic_ids, rows.repeats, rows.pages, rows.lines)
    return (rows.task, [array.tolist() for array in arrays], [(fault.line, fault.found) for fault in rows.faults])


@given(lines=LINES, end=st.sampled_from(["\n", "", "\r\n", "\n\n"]), has_header=st.booleans())
def test_fast_and_slow_readers_of_runs_agree(path: Path, lines: list[str], end: str, has_header: bool) -> None:
    newline = "\r\n" if end == "\r\n" else "\n"
    header = ["id\tpage_id"] if has_header else []
    path.write_text(newline.join([*header, *lines]) + end, newline="")
    by_choice = content(read_rows(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_rows, "_table", lambda text, start: None)
        assert content(read_rows(path)) == by_choice


def test_a_table_of_several_blocks_is_read_as_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("".join(f"{topic}\t{page}\n" for topic in range(1, 30) for page in range(1, 40)))
    whole = content(read_rows(path))
    monkeypatch.setattr(run_rows, "BLOCK", 37)
    assert content(read_rows(path)) == whole
    assert np.array_equal(read_rows(path).lines, np.arange(1, 29 * 39 + 1))
