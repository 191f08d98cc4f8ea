"""A short soak: nothing acknowledged is lost, nobody who behaves sees a failure. `make soak` runs a longer one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from tests.robustness.soak import MOST_OF_A_STORE, growth, leaks, lost, soak, unversioned


@pytest.mark.long
def test_nothing_is_lost_beside_slow_clients(tmp_path: Path) -> None:
    state = soak(tmp_path, minutes=0.5, n_each=8, pause=0.3)
    assert state.failures == []
    assert state.n_refused == 0
    assert sum(state.draws.values()) > 0
    assert state.votes
    assert lost(tmp_path, state) == (0, 0)
    assert leaks(state.left_open) == {}


def test_growth_compares_the_second_quarter_with_the_last() -> None:
    flat = [(float(second), 50, 100.0) for second in range(100)]
    assert growth(flat) == (0.0, 0.0)
    rising = [(float(second), second, 100.0 + second) for second in range(100)]
    assert growth(rising) == (50.0, 50.0)


def test_descriptors_that_nothing_explains_are_leaks() -> None:
    assert leaks(Counter({"desk.sqlite": MOST_OF_A_STORE, "desk.sqlite-wal": 2, "socket": 3})) == {}
    assert leaks(Counter({"desk.sqlite": MOST_OF_A_STORE + 1})) == {"desk.sqlite": MOST_OF_A_STORE + 1}
    assert leaks(Counter({"desk.sqlite-wal": 20})) == {"desk.sqlite-wal": 20}


def test_another_version_of_a_file_is_no_leak() -> None:
    names = Counter({"data-12": 1, "index-3": 2, "desk-facts-efabb532-23181a5175ee.npy": 1, "mask-gender.npy": 1})
    expected = {"data": 1, "index": 2, "desk-facts.npy": 1, "mask-gender.npy": 1}
    assert unversioned(names) == expected
    assert unversioned(Counter({"desk.sqlite-wal": 1, "socket": 2})) == {"desk.sqlite-wal": 1, "socket": 2}
