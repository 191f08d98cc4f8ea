"""Titles that ask for the past, and articles that are about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenrank.retrieval.engine.tantivy_engine import DEFAULT_LAYOUT, TantivyEngine
from evenrank.retrieval.query.past import are_past, asks_for_past
from tests.retrieval.conftest import MakeEngine, page

PAGES = {
    "Dahomey": ("Dahomey was an African kingdom in what is now Benin. It fell in 1904.", True, True),
    "Ammon": ("Ammon is an ancient Semitic nation.", True, True),
    "Saxony": ("Saxony is a state of Germany. It was a kingdom.", False, False),
    "2007 Games": ("The 2007 Games were held in Rio de Janeiro.", False, True),
    "Ana Souza": ("Ana Souza (born 1950) is a Brazilian footballer. She was captain.", False, False),
    "Rui Lima": ("Rui Lima (1802 \u2013 1871) was a Brazilian bishop.", True, True),
    "History of Peru": ("People have lived there for long.", True, False),
}


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("History of Brazil", 1),
        ("Former countries", 2),
        ("Ancient cities", 2),
        ("Brazil", 0),
        ("History", 0),
        ("Countries", 0),
    ],
)
def test_the_past_is_told_by_the_first_sentence(title: str, expected: int, make_engine: MakeEngine) -> None:
    engine = make_engine(page(number, name, text) for number, (name, (text, *_)) in enumerate(PAGES.items(), 1))
    found = are_past(engine, title, np.arange(1, len(PAGES) + 1, dtype=np.int32), list(PAGES))
    assert asks_for_past(title) == (expected > 0)
    wanted = [name for name, columns in PAGES.items() if expected and columns[expected]]
    assert [name for name, is_past in zip(PAGES, found, strict=True) if is_past] == wanted


def test_other_languages_are_left_alone(tmp_path: Path) -> None:
    engine = TantivyEngine.create(tmp_path / "index", replace(DEFAULT_LAYOUT, language="de"))
    engine.add([page(1, "Dahomey", "Dahomey was an African kingdom.")])
    engine.commit()
    assert not are_past(engine, "History of Africa", np.array([1], np.int32), ["Dahomey"]).any()
    engine.close()
