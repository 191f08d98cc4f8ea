"""Names in titles, and the forms in which pages have them."""

from __future__ import annotations

import pytest

from evenrank.retrieval.query.confirmation import (
    TopicWords,
    _have_words,
    _names,
    distinct_keywords,
    forms_of_name,
    names_in_title,
)


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Military history of Scotland", [("scotland",)]),
        ("World War II military history", [("world", "war", "ii")]),
        ("Art in New Zealand", [("new", "zealand")]),
        ("Military History of Scotland", [("scotland",)]),
        ("Japan/Biography task force", []),
        ("Women's football", []),
        ("Nigerian history", []),
        ("Crime Biography", []),
        ("Climate change", []),
        ("", []),
    ],
)
def test_names_are_what_has_a_capital_after_the_first_word(title: str, names: list[tuple[str, ...]]) -> None:
    assert names_in_title(title) == names


def test_a_place_has_adjectives() -> None:
    assert "brazilian" in forms_of_name("brazil")
    assert "italian" in forms_of_name("italy")
    assert "japanese" in forms_of_name("japan")
    assert {"scotland", "scottish", "scots"} == set(forms_of_name("scotland"))


@pytest.mark.parametrize(
    ("title", "is_one"), [("Irish literature", True), ("Brazilian football", True), ("Irish", False)]
)
def test_an_adjective_of_a_country_before_another_word_is_a_name(title: str, is_one: bool) -> None:
    words = tuple(title.lower().split())
    asked = TopicWords(title, {title: words, "poet": ("poet",)}, frozenset(), frozenset())
    assert _names(asked) == ([words[:1]] if is_one else [])
    assert {"brazil", "brazilian"} <= set(forms_of_name("brazilian"))
    assert set(forms_of_name("irish")) == {"ireland", "irish"}


def test_a_name_inside_another_is_none() -> None:
    heads = [" santa fe is in new mexico ", " it is an island in the gulf of mexico ", " foo is a mexican painter "]
    assert _have_words(heads, [("mexico",)], "en").tolist() == [False, False, True]
    assert _have_words([" art of new mexico "], [("new", "mexico")], "en").all()


def test_singular_and_plural_are_one_keyword() -> None:
    assert distinct_keywords([("volcanoes",), ("lava",), ("volcano",)]) == [[0, 2], [1]]
