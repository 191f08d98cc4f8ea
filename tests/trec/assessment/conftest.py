"""A judgments file with a small pool and two assessors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evenrank.trec.assessment.assessors import add_assessor, load_pool
from evenrank.trec.assessment.pool import Pool, PooledPage, PooledRun
from evenrank.trec.assessment.votes import Store, create_store

POOL = Pool(
    runs=(PooledRun("one", 1, ""), PooledRun("two", 2, "")),
    pages=tuple(
        PooledPage(topic, tier, page, ("one",) if tier == 1 else ("two",))
        for topic in (101, 102)
        for tier, pages in ((1, range(10, 16)), (2, range(20, 24)))
        for page in pages
    ),
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where judgments are kept. Files that test votes and races override this, to always use both databases."""
    return new_location(request, tmp_path)


def new_location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A file that is not there yet, or a database without tables."""
    if request.param == "sqlite":
        return tmp_path / "judgments.sqlite"
    return str(request.getfixturevalue("empty_postgres"))


@pytest.fixture
def store(location: Path | str) -> Iterator[Store]:
    """Topics 101 and 102, six pages of tier 1 and four of tier 2 each; assessors Ada and Ben; nothing assigned."""
    with create_store(location, seed=7) as opened:
        load_pool(opened, POOL, {101: "Mountains", 102: "Rivers"})
        for name in ("Ada", "Ben"):
            add_assessor(opened, name)
        yield opened
