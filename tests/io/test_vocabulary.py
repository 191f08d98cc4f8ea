"""Ids by number: text and integers, few and many, and an integer as the text of another table."""

from __future__ import annotations

import pytest

from evenrank.io.vocabulary import MANY, Vocabulary, number_names


@pytest.mark.parametrize("n_ids", [5, MANY + 5])
def test_ids_keep_their_numbers(n_ids: int) -> None:
    ids = [f"i{number}" for number in range(n_ids)]
    known = Vocabulary.empty()
    assert known.encode(ids).tolist() == list(range(n_ids))
    assert known.encode([ids[3], "new", ids[0]]).tolist() == [3, n_ids, 0]
    assert known.names == [*ids, "new"]
    assert len(known) == n_ids + 1


def test_an_integer_is_the_same_id_as_its_text() -> None:
    known = Vocabulary.empty()
    known.encode([7, 8])
    assert known.encode(["8", "9", "7"]).tolist() == [1, 2, 0]
    assert known.names == [7, 8, "9"]
    assert (known.get("7"), known.get(9), known.get("x")) == (0, 2, None)


def test_names_that_repeat_are_numbered_once() -> None:
    known = Vocabulary.empty()
    assert number_names(["b", "a", "b"], known).tolist() == [0, 1, 0]
    assert number_names(["c", "a"], known).tolist() == [2, 1]
