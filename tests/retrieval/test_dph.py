"""DPH: a value worked out by hand, counts from a real index, and its place among the relevance models."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from evenrank.core.records import Topic, no_pages
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine import tantivy_engine
from evenrank.retrieval.engine.protocol import IndexPage, WeightedTerm, WordCounts
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.model_choice import BagOfWords, dph
from evenrank.retrieval.relevance import LexicalModel

TEXTS = {
    1: "chess chess board game for people with pieces",
    2: "chess is old",
    3: "opera singers sing an opera in the old opera house",
    4: "board meeting",
}


@pytest.fixture
def engine(tmp_path: Path) -> TantivyEngine:
    made = TantivyEngine.create(tmp_path / "index")
    made.add(IndexPage(page_id, f"Page {page_id}", text=text) for page_id, text in TEXTS.items())
    made.commit()
    made.refresh()
    return made


def test_a_value_worked_by_hand() -> None:
    """tf = 2, l = 8, mean length 6, N = 3, F = 3: f = ¼, (¾)² / 3 = 0.1875; 2·log2(1.5) = 1.169925;
    ½·log2(2π·2·¾) = 1.618231; together 0.1875 · 2.788156 = 0.522779."""
    counts = WordCounts(np.array([[2.0, 0.0]]), np.array([8.0]), np.array([3.0, 5.0]), 6.0, 3)
    assert dph(counts, np.array([1.0, 7.0])) == pytest.approx([0.522779], abs=1e-6)
    assert dph(counts, np.array([2.0, 1.0])) == pytest.approx([2 * 0.522779], abs=1e-6)


def test_an_index_counts_words(engine: TantivyEngine) -> None:
    counts = engine.count_words("text", ["chess", "board", "opera", "nowhere"], [1, 3, 99, 2])
    assert counts.in_pages.tolist() == [[2, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert counts.in_all.tolist() == [3, 2, 3, 0]
    lengths = [len(engine.analyse("text", TEXTS[page])) for page in (1, 3, 2)]
    assert counts.lengths[[0, 1, 3]].tolist() == lengths
    assert counts.lengths[2] == 0
    assert counts.n_pages == 4
    assert counts.mean_length == pytest.approx(
        np.mean([len(engine.analyse("text", text)) for text in TEXTS.values()]), rel=1e-6
    )


def test_occurrences_of_frequent_words_are_projected(engine: TantivyEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one page counted of two, `chess` (2 + 1) is projected from the one with the highest id."""
    monkeypatch.setattr(tantivy_engine, "MOST_COUNTED", 1)
    assert engine.count_words("text", ["chess"], []).in_all.tolist() == [2]


def test_pages_come_in_the_order_of_dph(engine: TantivyEngine) -> None:
    model = BagOfWords(LexicalModel(engine))
    topic = Topic(1, "Chess", ("chess", "board"), "", rel_docs=no_pages())
    found = model.score(topic, 10)
    assert model.words(topic) == {"chess": 2, "board": 1}
    assert sorted(found.page_ids[:3].tolist()) == [1, 2, 4]
    assert (np.diff(found.scores) <= 0).all()
    counts = engine.count_words("text", ["chess", "board"], found.page_ids[:3].tolist())
    assert found.scores[:3] == pytest.approx(dph(counts, np.array([2.0, 1.0])))


@pytest.mark.parametrize("weighting", ["dph", "bm25"])
def test_pages_without_the_words_follow_below(engine: TantivyEngine, weighting: Literal["dph", "bm25"]) -> None:
    model = BagOfWords(LexicalModel(engine), weighting)
    topic = Topic(1, "Chess", (), "", rel_docs=no_pages())
    assert sorted(model.score(topic, 10).page_ids.tolist()) == [1, 2, 3, 4]
    assert set(model.score(topic, 10).page_ids[:2].tolist()) == {1, 2}
    assert sorted(model.score(topic, 10, up_to_page_id=2).page_ids.tolist()) == [1, 2]
    assert len(model.score(topic, 2)) == 2


def test_bm25_is_the_order_of_the_index(engine: TantivyEngine) -> None:
    topic = Topic(1, "Chess", ("board",), "", rel_docs=no_pages())
    found = BagOfWords(LexicalModel(engine), "bm25").score(topic, 3)
    terms = [WeightedTerm("text", (word,), 1.0) for word in ("chess", "board")]
    assert found.page_ids.tolist() == engine.search(terms, 3).page_ids.tolist()


def test_other_engines_are_refused() -> None:
    class Elsewhere:
        pass

    with pytest.raises(EvenrankError, match="needs an index on this machine"):
        BagOfWords(LexicalModel(Elsewhere())).score(Topic(1, "Chess", (), "", rel_docs=no_pages()), 10)  # type: ignore[arg-type]
