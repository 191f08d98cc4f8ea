"""The engine against hand-made indexes; the traps of tantivy-py each have a test."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.protocol import (
    EVERYTHING,
    IndexLayout,
    Query,
    Restriction,
    WeightedTerm,
    merge_terms,
    order_of_ties,
    set_bits,
)
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.engine.tantivy_index import count_added, read_meta
from tests.retrieval.conftest import MakeEngine, page

HORSE = [WeightedTerm("text", ("hors",))]


def found(engine: TantivyEngine, terms: list[WeightedTerm], k: int = 10, **restriction: object) -> list[int]:
    return engine.search(terms, k, Restriction(**restriction)).page_ids.tolist()  # type: ignore[arg-type]


def test_fields_are_searched_apart(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, "Horse", "a mammal"), page(2, "Mammal", "a horse is one")])
    assert found(engine, [WeightedTerm("title", ("hors",))]) == [1]
    assert found(engine, [WeightedTerm("text", ("hors",))]) == [2]
    assert found(engine, [WeightedTerm("lead", ("horse",))]) == [2]


def test_lead_is_not_stemmed_and_text_is(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="boxing champion"), page(2, text="a box of chocolates")])
    assert found(engine, [WeightedTerm("lead", ("boxing",))]) == [1]
    assert found(engine, [WeightedTerm("text", tuple(engine.analyse("text", "boxing")))]) == [1, 2]


def test_accents_and_case_are_folded(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="ÅNGSTRÖM café")])
    assert engine.analyse("lead", "Angström CAFÉ") == ["angstrom", "cafe"]
    assert found(engine, [WeightedTerm("lead", ("cafe",))]) == [1]


def test_weights_add_up_linearly(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse and rider"), page(2, text="rider alone here")])
    single = engine.search(HORSE, 5).scores[0]
    assert engine.search([WeightedTerm("text", ("hors",), 3.0)], 5).scores[0] == pytest.approx(3 * single, abs=1e-3)


def test_a_repeated_term_is_folded_into_its_weight(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse"), page(2, text="cow")])
    twice = engine.search(HORSE * 2, 5).scores[0]
    assert twice == pytest.approx(2 * engine.search(HORSE, 5).scores[0], abs=1e-3)
    assert merge_terms([*HORSE, WeightedTerm("text", ("hors",), -1.0)]) == []


def test_of_alternatives_the_best_counts(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="player players"), page(2, text="player"), page(3, text="piano")])
    either = engine.search([WeightedTerm("lead", ("player", "players"))], 5)
    rare = engine.search([WeightedTerm("lead", ("players",))], 5)
    assert either.page_ids.tolist() == [1, 2]
    assert either.scores[0] == pytest.approx(rare.scores[0])


def test_phrases_are_words_in_a_row(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="the human rights of all"), page(2, text="rights of a human")])
    phrase = WeightedTerm("lead", ("human", "rights"), is_phrase=True)
    assert found(engine, [phrase]) == [1]
    assert str(phrase) == 'lead:"human rights"'


def test_words_together_are_all_in_the_field_in_any_order(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="rights of a human"), page(2, text="human error"), page(3, text="rights")])
    both = WeightedTerm("lead", ("human", "humans"), 2.0, with_words=(("right", "rights"),))
    hits = engine.search([both], 5)
    parts = engine.search([WeightedTerm("lead", ("human", "humans")), WeightedTerm("lead", ("right", "rights"))], 1)
    assert hits.page_ids.tolist() == [1]
    assert hits.scores[0] == pytest.approx(2.0 * parts.scores[0], abs=1e-3)
    assert str(both) == "lead:human/humans+right/rights"


def test_user_text_is_never_parsed(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="it's c++ AND foo:bar (unclosed \"quote")])
    for text in ("it's", "c++", "AND", "foo:bar", "(unclosed", '"quote', "a\\", "[x TO y]"):
        words = engine.analyse("lead", text)
        assert words
        assert engine.search([WeightedTerm("lead", (word,)) for word in words], 5) is not None


def test_no_terms_find_nothing(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse")])
    assert found(engine, []) == []
    assert found(engine, [WeightedTerm("text", ("zebra",))]) == []
    assert found(engine, HORSE, k=0) == []
    assert TantivyEngine.create(engine.path.parent / "empty").search(HORSE, 5).page_ids.tolist() == []


def test_delete_and_update(make_engine: MakeEngine) -> None:
    engine = make_engine([page(2**31 - 1, text="horse"), page(2, text="horse")])
    engine.delete([2**31 - 1])
    engine.commit()
    assert found(engine, HORSE) == [2]
    engine.delete([2])
    engine.add([page(2, text="cow")])
    engine.commit()
    assert found(engine, HORSE) == []
    assert engine.statistics().n_pages == 1


def test_changes_are_invisible_until_the_commit_and_dropped_without_one(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse")])
    engine.add([page(2, text="horse")])
    assert found(engine, HORSE) == [1]
    engine.close()
    with TantivyEngine.open(engine.path) as again:
        assert found(again, HORSE) == [1]
        again.add([page(3, text="horse")])
        again.commit()
        assert found(again, HORSE) == [1, 3]


class KilledError(Exception):
    """Stands in for the end of the process."""


class KilledWriter:
    """A writer whose process ends before its commit."""

    def __init__(self, writer: object) -> None:
        self.writer = writer

    def commit(self) -> None:
        raise KilledError

    def __getattr__(self, name: str) -> object:
        return getattr(self.writer, name)


def test_the_mark_is_that_of_the_commit_that_holds(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1)])
    engine.add([page(2)])
    engine.commit("two")
    assert engine.mark() == "two"
    engine.add([page(3)])
    engine._writer._open = KilledWriter(engine._writer._open)  # type: ignore[assignment]
    with pytest.raises(KilledError):
        engine.commit("three")
    engine.close()
    again = TantivyEngine.open(engine.path)
    assert again.mark() == "two"
    again.add([page(3)])
    again.commit("three")
    assert again.mark() == "three"


def test_a_page_that_is_added_again_replaces_the_earlier_one(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse"), page(2, text="horse")])
    engine.add([page(1, text="cow"), page(3, text="cow"), page(3, text="horse")])
    engine.commit()
    assert found(engine, HORSE) == [2, 3]
    assert engine.statistics().n_pages == 3


def test_many_searches_are_answered_as_one_by_one(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse cow"), page(2, text="horse")])
    cow = [WeightedTerm("text", ("cow",))]
    first, second = engine.search_many([Query(HORSE, 1), Query(cow, 5, Restriction(page_ids=[1]))])
    assert first.page_ids.tolist() == found(engine, HORSE, 1)
    assert second.page_ids.tolist() == [1]


def test_any_dimension_can_restrict(tmp_path: Path) -> None:
    engine = TantivyEngine.create(tmp_path, IndexLayout(("occupation", "first-letter")))
    engine.add([page(1, text="horse", masks={"occupation": 0b10}), page(2, text="horse")])
    engine.commit()
    assert found(engine, HORSE, groups={"occupation": 0b10}) == [1]
    assert found(engine, HORSE, groups={"first-letter": 0b1}) == [1, 2]  # bit 0: unknown


def test_pages_are_counted_on_after_every_open(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1), page(2)])
    engine.add([page(3)])
    engine.commit()
    assert count_added(engine._searcher) == 3
    engine.close()
    again = TantivyEngine.open(engine.path)
    again.add([page(4)])
    again.commit()
    assert count_added(again._searcher) == 4


def test_analysers_are_there_after_every_open(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="Horses")])
    engine.close()
    again = TantivyEngine.open(engine.path)
    assert found(again, HORSE) == [1]
    again.add([page(2, text="Horses")])
    again.commit()
    assert found(again, HORSE) == [1, 2]


@pytest.mark.parametrize("chunks", [[range(1, 41)], [range(40, 20, -1), range(1, 21)], [[i] for i in range(40, 0, -1)]])
def test_ties_are_ordered_by_page_id_whatever_the_segments(tmp_path: Path, chunks: list[list[int]]) -> None:
    engine = TantivyEngine.create(tmp_path, n_threads=2)
    for chunk in chunks:
        engine.add(page(i, text="horse") for i in chunk)
        engine.commit()
    assert found(engine, HORSE, k=7) == [1, 2, 3, 4, 5, 6, 7]


def test_closing_finishes_merges_and_drops_what_is_not_committed(tmp_path: Path) -> None:
    engine = TantivyEngine.create(tmp_path / "pages", n_threads=1)
    for start in range(1, 801, 100):  # eight segments of about one size are merged
        engine.add(page(i, text=f"horse {i}") for i in range(start, start + 100))
        engine.commit()
    engine.close()
    names = {path.name for path in engine.path.iterdir()}
    engine.refresh()
    assert engine.statistics().n_segments == 1
    segment = read_meta(engine.path)["segments"][0]["segment_id"].replace("-", "")
    assert {name.partition(".")[0] for name in names} == {segment, "", "meta"}  # nothing of before is left or written
    engine.add([page(801, text="cow")])
    engine.delete([1])
    engine.close()
    engine.refresh()
    assert len(engine.page_ids()) == 800


def test_ties_longer_than_the_spare_hits(make_engine: MakeEngine) -> None:
    engine = make_engine(page(i, text="horse") for i in range(3000, 0, -1))
    assert found(engine, HORSE, k=3) == [1, 2, 3]


def test_restriction_to_groups(make_engine: MakeEngine) -> None:
    masks = {1: (0b0010, 0b010), 2: (0b1010, 0b100), 3: (0b0001, 0b001)}
    engine = make_engine(page(i, text="horse", masks={"geography": a, "gender": b}) for i, (a, b) in masks.items())
    assert found(engine, HORSE, groups={"geography": 0b0010}) == [1, 2]
    assert found(engine, HORSE, groups={"geography": 0b1001}) == [2, 3]
    assert found(engine, HORSE, groups={"geography": 0b0010, "gender": 0b100}) == [2]
    assert found(engine, HORSE, groups={"geography": 0b0100}) == []
    assert set_bits(0b1010) == (1, 3)


def test_a_restriction_does_not_change_scores(make_engine: MakeEngine) -> None:
    engine = make_engine(page(i, text="horse " * i) for i in range(1, 6))
    free, bound = engine.search(HORSE, 9), engine.search(HORSE, 9, Restriction(page_ids=[2, 4, 99]))
    expected = [score for page_id, score in zip(*free, strict=True) if page_id in (2, 4)]
    np.testing.assert_allclose(bound.scores, expected)
    assert found(engine, HORSE, up_to_page_id=3) == [3, 2, 1]


def test_values_and_stored_pages(make_engine: MakeEngine) -> None:
    engine = make_engine([page(5, "Five", "first words", quality_class=2, quality_score=0.25), page(6, "Six")])
    np.testing.assert_array_equal(engine.values("quality_class", [6, 5, 7]), [6, 2, np.nan])
    np.testing.assert_array_equal(engine.values("quality_score", [5, 6]), [0.25, np.nan])
    assert engine.values("geography", []).shape == (0,)
    five, missing = engine.stored([5, 7])
    assert missing is None
    assert five is not None
    assert (five.page_id, five.title, five.opening) == (5, "Five", "first words")


def test_document_frequency_and_statistics(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse horse"), page(2, text="horses"), page(3, text="cow")])
    assert engine.document_frequencies("text", ["hors", "cow", "dog"]) == [2, 1, 0]
    statistics = engine.statistics()
    assert statistics.n_pages == 3
    assert statistics.size_bytes > 0


def test_scores_are_bm25_as_another_implementation_has_it(make_engine: MakeEngine) -> None:
    bm25s = pytest.importorskip("bm25s")
    texts = ["red horse", "horse horse cow", "cow", "red red red rider cow horse", "rider"]
    engine = make_engine(page(i + 1, text=text) for i, text in enumerate(texts))
    reference = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    reference.index([text.split() for text in texts], show_progress=False)
    expected = reference.get_scores(["horse", "red"])
    hits = engine.search([WeightedTerm("lead", ("horse",)), WeightedTerm("lead", ("red",))], 5)
    np.testing.assert_allclose(hits.scores, 2.2 * expected[hits.page_ids - 1], rtol=1e-3)


def test_one_index_is_shared_by_threads(make_engine: MakeEngine) -> None:
    engine = make_engine(page(i, text="horse " * (i % 7)) for i in range(1, 200))
    expected = engine.search(HORSE, 50).page_ids.tolist()
    with ThreadPoolExecutor(4) as pool:
        assert all(ids == expected for ids in pool.map(lambda _: found(engine, HORSE, 50), range(40)))


def _search_elsewhere(path: str) -> list[int]:
    return TantivyEngine.open(path).search(HORSE, 5, EVERYTHING).page_ids.tolist()


def test_one_index_is_shared_by_processes(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse")])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_search_elsewhere, [str(engine.path)]) == [1]
        engine.add([page(2, text="horse")])
        engine.commit()
        assert pool.apply(_search_elsewhere, [str(engine.path)]) == [1, 2]


def test_a_second_writer_is_refused_and_named(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="horse")])
    with pytest.raises(EvenrankError, match="another process is writing"):
        TantivyEngine.open(engine.path).delete([1])


def test_no_index_is_said_clearly(tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="run: evenrank index"):
        TantivyEngine.open(tmp_path)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 2**31 - 1)), max_size=30))
def test_ties_are_ordered_as_by_sorting_twice(pages: list[tuple[int, int]]) -> None:
    scores = np.sort(np.array([score for score, _ in pages], np.float64))[::-1]
    page_ids = np.array([page_id for _, page_id in pages], np.int32)
    np.testing.assert_array_equal(order_of_ties(scores, page_ids), np.lexsort((page_ids, -scores)))
