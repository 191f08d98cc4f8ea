"""Where an article has the keywords of a question decides whether it is about it, and what is given as a reason."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.evidence import Evidence, find_evidence, names_among
from tests.retrieval.conftest import page

TEXTS = {
    "2001 Tour de France": ("The Tour de France is a bicycle race.", ""),
    "An opera singer": ("She is a soprano.", "On her last tour she sang in France."),
    "Shamsul Islam": ("Shamsul Islam was a politician.", "He was a member of parliament."),
    "Islam in Peru": ("Islam is a religion in Peru.", ""),
    "Ada (scientist)": ("Ada is a scientist.", "She writes. She teaches."),
    "Bob Bell": ("Bob Bell is a scientist who taught women.", "He writes. He reads to her."),
    "A soprano": ("She is a soprano.", "A scientist heard her."),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyEngine]:
    made = TantivyEngine.create(tmp_path_factory.mktemp("evidence") / "index", n_threads=1)
    made.add(
        page(number, title, f"{lead}\n{text}")._replace(lead=lead)
        for number, (title, (lead, text)) in enumerate(TEXTS.items(), 1)
    )
    made.commit()
    yield made
    made.close()


def evidence(engine: TantivyEngine, title: str, *keywords: str) -> Evidence:
    page_ids = np.arange(1, len(TEXTS) + 1, dtype=np.int32)
    return find_evidence(engine, Topic(0, title, keywords), page_ids, list(TEXTS))


def titles(is_one: np.ndarray) -> list[str]:
    return [title for title, is_it in zip(TEXTS, is_one, strict=True) if is_it]


def test_a_name_is_one_reason_and_never_split(engine: TantivyEngine) -> None:
    found = evidence(engine, "Tour de France")
    assert titles(found.in_lead) == titles(found.in_text) == ["2001 Tour de France"]
    assert found.reasons.of(0) == ["Tour de France"]
    assert found.reasons.of(1) == []


def test_a_word_of_a_fixed_phrase_tells_nothing_alone(engine: TantivyEngine) -> None:
    assert titles(evidence(engine, "Cycling", "tour").in_text) == ["2001 Tour de France", "An opera singer"]
    found = evidence(engine, "Tour de France", "tour")
    assert titles(found.in_text) == ["2001 Tour de France"]
    assert found.reasons.of(1) == ["tour"]


def test_words_that_are_no_name_may_be_apart_in_the_lead(engine: TantivyEngine) -> None:
    found = evidence(engine, "Religion of Peru")
    assert titles(found.in_lead) == ["Islam in Peru"]
    assert found.reasons.of(3) == ["Religion of Peru"]
    apart = evidence(engine, "Singing in France")
    assert not apart.in_lead.any()
    assert not apart.in_text.any()


def test_a_keyword_in_the_text_is_weaker_than_one_in_the_lead(engine: TantivyEngine) -> None:
    found = evidence(engine, "Scientists")
    assert titles(found.in_lead) == ["Ada (scientist)", "Bob Bell"]
    assert titles(found.in_text) == ["Ada (scientist)", "Bob Bell", "A soprano"]


def test_the_name_of_a_person_is_not_what_the_article_is_about(engine: TantivyEngine) -> None:
    found = evidence(engine, "Islam")
    assert titles(found.in_lead) == ["Islam in Peru"]
    assert "Shamsul Islam" in titles(found.in_text)


def test_women_scientists_are_both_and_no_reason_says_who_is_a_woman(engine: TantivyEngine) -> None:
    found = evidence(engine, "Women scientists", "woman scientist")
    assert titles(found.in_lead) == ["Ada (scientist)"]
    assert found.reasons.of(4) == []
    others = evidence(engine, "Male scientists")
    assert titles(others.in_lead) == ["Bob Bell"]


def test_what_somebody_wrote_as_a_name_is_one() -> None:
    assert names_among(Topic(0, "Tour de France", ("cycling",))) == {("tour", "de", "france")}
    assert names_among(Topic(0, "Football in Argentina", ("Benin Empire", "boat race"))) == {("benin", "empire")}
    assert names_among(Topic(0, "Women Scientists", ("Physics", ""))) == set()


def test_a_single_keyword_is_confirmed_by_the_title_or_by_another_keyword(engine: TantivyEngine) -> None:
    """With `scientist` alone, a page may be about anything that scientists do."""
    of_title = evidence(engine, "Soprano singers", "scientist", "teaches")
    assert titles(of_title.is_confirmed) == ["An opera singer", "Ada (scientist)", "A soprano"]
    assert evidence(engine, "Chess", "scientist").is_confirmed.all()  # nothing found has the title's word
    assert evidence(engine, "Soprano singers").is_confirmed.all()  # no keyword to confirm
    derived = evidence(engine, "Scientology", "scientist", "soprano")
    assert titles(derived.is_confirmed) == ["Ada (scientist)", "Bob Bell", "A soprano"]


def test_the_name_in_a_title_is_no_keyword_among_others(engine: TantivyEngine) -> None:
    """A page begins with it: one that mentions France further down is not about the history of France."""
    found = evidence(engine, "History of France", "soprano", "bicycle", "race")
    assert titles(found.is_confirmed) == titles(found.has_name) == ["2001 Tour de France"]
    named = evidence(engine, "Sport in Peru", "Ada", "scientist", "bicycle", "race")
    assert titles(named.has_name) == ["Islam in Peru"]
    assert not named.is_confirmed.any()  # nothing in that lead is about sport
    assert titles(evidence(engine, "Religion of Peru", "bicycle").is_confirmed) == ["Islam in Peru"]


def test_words_of_a_title_that_are_everywhere_confirm_nothing(engine: TantivyEngine) -> None:
    found = evidence(engine, "Bicycle women", "scientist", "race")
    assert titles(found.is_confirmed) == ["2001 Tour de France"]


def test_a_possessive_asks_for_women_too(engine: TantivyEngine) -> None:
    assert titles(evidence(engine, "Women's science", "scientist").in_lead) == ["Ada (scientist)", "Bob Bell"]
    assert titles(evidence(engine, "Science", "scientist").in_lead) == ["Ada (scientist)", "Bob Bell"]
    assert titles(evidence(engine, "Men's science", "scientist").in_lead) == ["Bob Bell"]


def test_two_keywords_are_different_ones(engine: TantivyEngine) -> None:
    assert titles(evidence(engine, "Scientist", "scientists", "taught").has_two_in_lead) == ["Bob Bell"]


def test_the_politics_of_a_country_are_not_about_women(engine: TantivyEngine) -> None:
    assert titles(evidence(engine, "Women scientists").in_lead) == ["Ada (scientist)"]
