"""Rare collections: memory stays bounded, and the collector is left as it was found."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from evenrank.garbage import YOUNG_OBJECTS, rare_collections


@pytest.fixture(autouse=True)
def usual_threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_nested_blocks_restore_the_threshold_at_the_end_of_the_outer_one() -> None:
    with rare_collections():
        with rare_collections():
            assert gc.get_threshold() == (YOUNG_OBJECTS, 10, 10)
        assert gc.get_threshold() == (YOUNG_OBJECTS, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_an_error_restores_the_threshold() -> None:
    with pytest.raises(KeyError), rare_collections():
        raise KeyError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("set_by_the_user", [(0, 10, 10), (10 * YOUNG_OBJECTS, 5, 5)])
def test_a_rarer_collector_is_left_alone(set_by_the_user: tuple[int, int, int]) -> None:
    gc.set_threshold(*set_by_the_user)
    with rare_collections():
        assert gc.get_threshold() == set_by_the_user
    assert gc.get_threshold() == set_by_the_user


def test_what_the_program_sets_inside_a_block_stays() -> None:
    with rare_collections():
        gc.set_threshold(1000, 5, 5)
    assert gc.get_threshold() == (1000, 5, 5)


def test_blocks_that_overlap_in_two_threads_restore_the_threshold() -> None:
    is_inside, may_leave = threading.Event(), threading.Event()

    def stay() -> None:
        with rare_collections():
            is_inside.set()
            may_leave.wait(60)

    thread = threading.Thread(target=stay)
    with rare_collections():
        thread.start()
        assert is_inside.wait(60)
    assert gc.get_threshold() == (YOUNG_OBJECTS, 10, 10)
    may_leave.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


def test_cycles_are_freed_inside_a_block() -> None:
    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    with rare_collections():
        first = weakref.ref(Cycle())
        assert first() is not None
        for _ in range(2 * YOUNG_OBJECTS):
            Cycle()
        assert first() is None
