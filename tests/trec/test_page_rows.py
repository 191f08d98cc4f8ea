"""Rows of pages: the bitmap and the search give the same answers, whatever the ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.trec import page_rows
from evenrank.trec.page_rows import PageRows


def expected_rows(ids: np.ndarray, wanted: np.ndarray) -> list[int]:
    row_of = {page: row for row, page in enumerate(ids.tolist())}
    return [row_of.get(page, -1) for page in wanted.tolist()]


@pytest.fixture
def without_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_rows, "MANY", -1)
    monkeypatch.setattr(page_rows, "CHUNK_WORDS", 2)


IDS = st.lists(st.integers(0, 700), min_size=1, max_size=90, unique=True).map(
    lambda ids: np.array(sorted(ids), np.int32)
)
WANTED = st.lists(st.integers(-3, 900), max_size=60).map(lambda ids: np.array(ids, np.int32))


@given(ids=IDS, wanted=WANTED)
@settings(max_examples=150, deadline=None)
def test_both_ways_find_the_same_rows(ids: np.ndarray, wanted: np.ndarray) -> None:
    by_search, by_bitmap = PageRows(ids), PageRows(ids)
    by_bitmap._n_sought = page_rows.MANY
    expected = expected_rows(ids, wanted)
    for found in (by_search, by_bitmap):
        assert found.rows(wanted).tolist() == expected
        assert found.contain(wanted).tolist() == [row >= 0 for row in expected]


@pytest.mark.parametrize("ids", [[0], [63], [64], [0, 63, 64, 127, 128], [127, 128, 255, 256], list(range(0, 1000, 7))])
@pytest.mark.usefixtures("without_search")
def test_bitmap_at_the_edges_of_words_and_chunks(ids: list[int]) -> None:
    held = np.array(ids, np.int32)
    wanted = np.arange(-2, ids[-1] + 200)
    assert PageRows(held).rows(wanted).tolist() == expected_rows(held, wanted)


@pytest.mark.usefixtures("without_search")
def test_ids_far_apart_are_searched_and_none_is_no_fault() -> None:
    far = PageRows(np.array([5, 2**31 - 1], np.int32))
    assert far.rows(np.array([2**31 - 1, 6, 5])).tolist() == [1, -1, 0]
    assert "_bitmap" not in vars(far)
    assert PageRows(np.empty(0, np.int32)).rows(np.array([1, 2])).tolist() == [-1, -1]


def test_the_bitmap_is_made_once_many_pages_are_sought() -> None:
    ids = np.arange(0, 60_000, 3, dtype=np.int32)
    found = PageRows(ids)
    wanted = np.random.default_rng(7).integers(-5, 70_000, 30_000)
    answers = [found.rows(wanted).tolist() for _ in range(8)]
    assert "_bitmap" in vars(found)
    assert answers == [expected_rows(ids, wanted)] * 8
