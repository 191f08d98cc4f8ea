"""The analysis of text: what every engine indexes must be what tantivy's compiled analysis makes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import MakeEngine, page

from evenrank.errors import EvenrankError
from evenrank.search.engine.analysis import analyse, analyser_for
from evenrank.search.engine.protocol import TEXT_FIELDS, WeightedTerm


def test_english_words_and_stems() -> None:
    english = analyser_for("en")
    assert english.words("Boxing's ÉLITE: c++ x²") == ["boxing", "s", "elite", "c", "x2"]
    assert english.stems("Universities, boxing") == ["universiti", "box"]
    assert analyse(english, "lead", "Horses") == ["horses"]
    assert analyse(english, "text", "Horses") == ["hors"]
    assert english.words("a" * 40) == []


@given(st.text(max_size=60))
def test_any_thread_may_analyse(text: str) -> None:
    english = analyser_for("en")
    expected = english.stems(text)
    with ThreadPoolExecutor(2) as pool:
        assert all(stems == expected for stems in pool.map(english.stems, [text] * 4))


def test_every_word_of_the_analysis_is_found_in_the_index(make_engine: MakeEngine) -> None:
    text = "Łódź naïve Straße ½ Ⅷ universities' 3rd co-operate 東京 x_y"
    engine = make_engine([page(1, title=text, text=text, lead=text, categories=text, infobox=text, kind=text)])
    for field in TEXT_FIELDS:
        if field == "person":  # made from the text, not given
            continue
        words = engine.analyse(field, text)
        assert words
        assert engine.document_frequencies(field, words) == [1] * len(words)
        assert all(len(engine.search([WeightedTerm(field, (word,))], 1).page_ids) == 1 for word in words)


def test_what_is_no_code_of_a_language_is_named() -> None:
    with pytest.raises(EvenrankError, match="unknown language of text 'English'; choose from ar"):
        analyser_for("English")
