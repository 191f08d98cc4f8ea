from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from evenrank.retrieval.engine.protocol import IndexPage
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine

MakeEngine = Callable[[Iterable[IndexPage]], TantivyEngine]


@pytest.fixture
def make_engine(tmp_path: Path) -> MakeEngine:
    """A committed index of the pages."""

    def make(pages: Iterable[IndexPage]) -> TantivyEngine:
        engine = TantivyEngine.create(tmp_path / "index", n_threads=1)
        engine.add(pages)
        engine.commit()
        return engine

    return make


def page(page_id: int, title: str = "", text: str = "", **more: object) -> IndexPage:
    """A page whose lead is its text."""
    return IndexPage(page_id, title, **{"lead": text, "text": text, **more})  # type: ignore[arg-type]
