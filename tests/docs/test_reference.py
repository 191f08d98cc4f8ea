"""The reference is made from the code; a stale page fails here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SPEC = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
assert SPEC is not None
assert SPEC.loader is not None
make_reference = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_reference)


MADE = make_reference.pages()


@pytest.mark.parametrize("name", sorted(MADE))
def test_page_is_fresh(name: str) -> None:
    found = (DOCS / "reference" / name).read_text("utf-8")
    assert found == MADE[name], "run: python docs/make_reference.py"
