"""Settings: text becomes typed values, and every fault is told at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from evenrank.core.settings import describe_settings, parse_settings
from evenrank.errors import EvenrankError


@dataclass(frozen=True)
class Choices:
    """Some settings."""

    count: int = 3
    """How many."""
    share: float = 0.5
    """How much,
    over two lines."""
    way: Literal["up", "down"] = "up"
    """Which way."""
    names: tuple[str, ...] = ("a",)
    """Whose."""
    loud: bool = False
    """Whether."""
    word: str = "x"
    """What."""


def test_text_becomes_the_type_of_the_field() -> None:
    texts = {"count": "7", "share": "1e-2", "way": "down", "names": "b, c", "loud": "yes", "word": "y"}
    assert parse_settings(Choices, texts) == {
        "count": 7,
        "share": 0.01,
        "way": "down",
        "names": ("b", "c"),
        "loud": True,
        "word": "y",
    }


def test_all_faults_at_once() -> None:
    texts = {"count": "1.5", "share": "nan", "way": "left", "loud": "maybe", "colour": "red"}
    with pytest.raises(EvenrankError) as caught:
        parse_settings(Choices, texts)
    assert str(caught.value).splitlines() == [
        "count=1.5: not a whole number",
        "share=nan: not a finite number",
        "way=left: choose from up, down",
        "loud=maybe: not true or false",
        "unknown setting 'colour'; choose from count, loud, names, share, way, word",
    ]


def test_description_has_defaults_choices_and_the_line_under_each_field() -> None:
    described = {setting.name: setting for setting in describe_settings(Choices)}
    assert described["count"].default == 3
    assert described["share"].explanation == "How much,\nover two lines."
    assert described["way"].choices == ("up", "down")
    assert described["names"].choices == ()


@pytest.mark.parametrize("text", ["count=1_0", "count=١", "share=1_0.5", "share=٣", "share=inf", "share=nan"])
def test_numbers_are_written_as_in_files(text: str) -> None:
    """Python would take digits of other scripts and underscores."""
    name, _, value = text.partition("=")
    with pytest.raises(EvenrankError, match=f"{name}={value}: not a "):
        parse_settings(Choices, {name: value})
