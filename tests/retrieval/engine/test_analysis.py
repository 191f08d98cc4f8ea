"""The analysis of text: what every engine indexes must be what tantivy's compiled analysis makes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.analysis import analyse, analyser_for, compile_analyser, fold
from evenrank.retrieval.engine.protocol import TEXT_FIELDS, WeightedTerm
from tests.retrieval.conftest import MakeEngine, page


def test_english_words_and_stems() -> None:
    english = analyser_for("en")
    assert english.words("Boxing's ÉLITE: c++ x²") == ["boxing", "s", "elite", "c", "x2"]
    assert english.stems("Universities, boxing") == ["universiti", "box"]
    assert analyse(english, "lead", "Horses") == ["horses"]
    assert analyse(english, "text", "Horses") == ["hors"]
    assert english.words("a" * 40) == []


def test_other_forms_of_letters_and_digits_become_plain_ones() -> None:
    assert fold("Ångström, ﬁn Æsir x² ½ – “東京” ⑴") == "angstrom, fin aesir x2 ½    東京  (1)"
    assert fold("İstanbul") == "İstanbul"  # no plain form in the table, once it is lower case
    assert fold("a\ud800b") == "a b"  # half a character
    assert analyser_for("en").words("[ˈaɪ] ⑴") == ["ˈai", "1"]


@given(st.text(st.characters(max_codepoint=0x24FF, categories=["L", "N", "P", "Zs"]), max_size=30))
def test_folded_text_has_the_words_of_tantivys_own_folding(text: str) -> None:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(40)).filter(Filter.lowercase())
    words = builder.filter(Filter.ascii_fold()).build().analyze(text)
    small_capitals_and_numbers_in_brackets = [word for word in words if word != word.lower() or not word.isalnum()]
    if not small_capitals_and_numbers_in_brackets and all(len(run.encode()) < 40 for run in text.split()):
        assert analyser_for("en").words(text) == words


ASCII_TEXT = st.text(st.characters(max_codepoint=127), max_size=60)
LONG_WORDS = st.lists(st.sampled_from(["Universities", "x" * 39, "x" * 40, "Y" * 41, "generously's"])).map(" ".join)


@given(ASCII_TEXT | LONG_WORDS)
def test_ascii_text_has_the_words_of_the_compiled_analysis(text: str) -> None:
    english = analyser_for("en")
    assert english.words(text) == compile_analyser("en", is_stemmed=False).analyze(text)
    assert english.stems(text) == compile_analyser("en", is_stemmed=True).analyze(text)


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
