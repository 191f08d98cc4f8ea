"""What CONTRIBUTING.md asks of pages: few words, and pictures or formulas in explanations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
MOST_WORDS = 1500
MOST_OF_A_DECISION = 400
MOST_OF_AN_EXPLANATION = 550
"""With a figure or two, as much as two screens of 1280 × 800 show."""
MOST_OF_ALL_GUIDES = 15_500
"""Words of how-to guides and tutorials, code and tables included."""
PAGES = sorted(page for page in DOCS.rglob("*.md") if "reference" not in page.relative_to(DOCS).parts)
EXPLANATIONS = sorted((DOCS / "explanation").glob("*.md"))
DECISIONS = sorted((DOCS / "decisions").glob("0*.md"))


def words(text: str) -> int:
    """Words of prose: without blocks of code and tables."""
    return len(re.sub(r"(?m)^\|.*$", "", re.sub(r"(?ms)^ *```.*?^ *```", "", text)).split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_outside_the_reference_is_short(page: Path) -> None:
    assert words(page.read_text("utf-8")) <= MOST_WORDS


def test_the_guides_are_short_together() -> None:
    guides = [page for page in PAGES if page.parent.name in ("how-to", "tutorial")]
    assert sum(len(page.read_text("utf-8").split()) for page in guides) <= MOST_OF_ALL_GUIDES


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_is_shorter(page: Path) -> None:
    text = page.read_text("utf-8")
    assert words(text) <= MOST_OF_A_DECISION
    assert re.search(r"(?m)^(\*Decided on|20\d\d-\d\d-\d\d$|\*20)", text)


@pytest.mark.parametrize("page", EXPLANATIONS, ids=lambda page: page.stem)
def test_an_explanation_fits_two_screens(page: Path) -> None:
    is_table_of_claims = page.stem == "evidence"
    assert is_table_of_claims or len(page.read_text("utf-8").split()) <= MOST_OF_AN_EXPLANATION


@pytest.mark.parametrize("page", EXPLANATIONS, ids=lambda page: page.stem)
def test_an_explanation_has_a_picture_or_a_formula(page: Path) -> None:
    text = page.read_text("utf-8")
    assert re.search(r"!\[|\{image\}|(?<!`)\$[^`]", text)
