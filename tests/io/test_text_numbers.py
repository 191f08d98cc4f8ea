"""Numbering texts in Arrow's memory gives what numbering them one by one gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenrank
from evenrank.io.vocabulary import MANY, ArrowTexts, Vocabulary

arrow = pytest.importorskip("pyarrow")
TEXTS = st.lists(st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=40), max_size=60)


def in_arrow(texts: list[str]) -> ArrowTexts:
    """The texts in two chunks."""
    middle = len(texts) // 2
    chunks = [arrow.array(part, arrow.large_string()) for part in (texts[:middle], texts[middle:])]
    return ArrowTexts(arrow.chunked_array(chunks))


def one_by_one(batches: list[list[str]]) -> tuple[list[list[int]], list[str]]:
    number: dict[str, int] = {}
    return [[number.setdefault(text, len(number)) for text in batch] for batch in batches], list(number)


@given(st.lists(TEXTS, max_size=3))
def test_numbers_and_names_are_those_of_a_dict(batches: list[list[str]]) -> None:
    vocabulary = Vocabulary.empty()
    found = [vocabulary.encode(in_arrow(batch)).tolist() for batch in batches]
    expected, names = one_by_one(batches)
    assert found == expected
    assert vocabulary.names == names
    assert len(vocabulary) == len(names)


@given(TEXTS, TEXTS)
def test_ids_of_both_kinds_of_memory_are_the_same(first: list[str], second: list[str]) -> None:
    expected, names = one_by_one([first, second, first])
    for ways in ((in_arrow, list, in_arrow), (list, in_arrow, list)):
        vocabulary = Vocabulary.empty()
        given = [way(batch) for way, batch in zip(ways, (first, second, first), strict=True)]
        assert [vocabulary.encode(one).tolist() for one in given] == expected
        assert vocabulary.names == names


def test_integers_after_texts_in_arrow_are_compared_as_text() -> None:
    vocabulary = Vocabulary.empty()
    assert vocabulary.encode(in_arrow(["i5", "7", "a\nb"])).tolist() == [0, 1, 2]
    assert (vocabulary.get("7"), vocabulary.get(7), vocabulary.get("x")) == (1, 1, None)
    assert vocabulary.encode([7, "i5", 8]).tolist() == [1, 0, 3]
    assert vocabulary.names == ["i5", "7", "a\nb", 8]


def test_arrow_columns_are_numbered_as_lists_are() -> None:
    texts = [f"item {number % 7919} é" for number in range(2 * MANY)]
    column = ArrowTexts.of(pd.Series(texts, dtype="str"))
    if column is None:
        pytest.skip("pandas keeps texts without Arrow here")
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = column[order]
    assert shuffled.tolist() == [texts[row] for row in order]
    both = [Vocabulary.empty(), Vocabulary.empty()]
    given = [one.encode(part) for one, part in zip(both, (shuffled, shuffled.tolist()), strict=True)]
    np.testing.assert_array_equal(*given)
    assert both[0].names == both[1].names
    names, places = shuffled.numbered()
    assert [names[place] for place in places] == shuffled.tolist()
    for blank in (None, "", " ", "\t"):
        assert ArrowTexts.of(pd.Series([*texts, blank], dtype="str")) is None


def test_large_and_small_tables_score_alike() -> None:
    """The same rankings, as a frame that is numbered at once and as dicts that are not."""
    rng = np.random.default_rng(3)
    n_items = MANY + 500
    items = [f"i{number}" for number in range(n_items)]
    query = [f"q{number % 50}" for number in range(n_items)]
    group = rng.choice(["a", "b", "c"], n_items).tolist()
    score = rng.permutation(n_items).astype(float)
    frame = pd.DataFrame({"query": query, "item": items, "score": score})
    groups = pd.DataFrame({"item": items, "group": group})
    run: dict[str, dict[str, float]] = {}
    for one, item, value in zip(query, items, score.tolist(), strict=True):
        run.setdefault(one, {})[item] = value
    large = evenrank.score(frame, groups, target="equal", k=20)
    small = evenrank.score(run, dict(zip(items, group, strict=True)), target="equal", k=20)
    assert large.scores == small.scores
    assert large.systems[0].queries == small.systems[0].queries


def test_faults_of_large_frames_have_their_rows() -> None:
    items = [f"i{number}" for number in range(MANY)]
    frame = pd.DataFrame({"query": "q", "item": [*items, "i7"], "score": np.arange(MANY + 1.0)})
    groups = pd.DataFrame({"item": [*items, "i9"], "group": "a"})
    with pytest.raises(evenrank.InputError) as caught:
        evenrank.score(frame, groups, pd.DataFrame({"query": "q", "item": ["i1", "i1"], "grade": 1}))
    text = str(caught.value)
    assert "rankings, row 8: item appears twice in one ranking: 'i7'" in text
    assert f"groups, row {MANY + 1}: item appears twice: 'i9'" in text
    assert "relevance, row 2: item is judged twice for one query: 'i1'" in text
