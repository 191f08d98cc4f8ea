from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.records import Article, Topic
from evenrank.retrieval.engine.indexing import page_fields
from evenrank.retrieval.engine.protocol import IndexPage, WeightedTerm
from evenrank.retrieval.query.feedback import FeedbackSettings, expand, feedback_terms
from evenrank.retrieval.query.topic_query import (
    QuerySettings,
    build_terms,
    free_words,
    number_forms,
    singular,
    split_words,
    subject_words,
    topic_words,
)
from evenrank.retrieval.relevance import LexicalModel
from evenrank.retrieval.word_lists import word_list
from tests.retrieval.conftest import MakeEngine, page


def test_title_and_keywords_add_up() -> None:
    words = topic_words(Topic(1, "Agriculture", ("agriculture", "crops"), ""))
    assert words.weights == {"agriculture": 2.0, "crops": 1.0}


def test_singular_and_plural_are_one_word() -> None:
    words = topic_words(Topic(1, "Volcanoes", ("volcanoes", "poet", "poets", "poems"), ""))
    assert words.weights == {"volcanoes": 2.0, "poet": 2.0, "poems": 1.0}


def test_wording_of_projects_is_dropped_from_titles_only() -> None:
    topic = Topic(1, "Biography/science and academia work group", ("work", "academia biography"))
    assert topic_words(topic).weights == {"biography": 2.0, "science": 1.0, "academia": 2.0, "work": 1.0}


def test_a_cut_off_word_is_dropped() -> None:
    assert split_words("Political parties and polit...") == ["political", "parties", "and"]
    assert split_words("whole words …") == ["whole", "words"]


def test_many_keywords_share_their_weight() -> None:
    topic = Topic(1, "Law", tuple(f"word{number}" for number in range(40)))
    weights = topic_words(topic).weights
    assert weights["law"] == 1.0
    assert weights["word7"] == pytest.approx(0.25)


def test_scope_counts_little_and_each_word_once() -> None:
    topic = Topic(1, "Law", (), "This WikiProject covers courts, courts and law.")
    assert topic_words(topic, QuerySettings(scope_weight=0.5)).weights == {"law": 1.5, "courts": 0.5}


def test_words_of_the_scope_keep_their_order() -> None:
    # the order of a set changes from process to process, and with it the last bits of sums and the bytes of a model
    words = ["zebra", "apple", "mango", "court", "judge", "ocean", "violin", "bridge"]
    assert list(topic_words(Topic(1, "Law", (), " ".join([*words, "apples", "zebra"]))).weights) == ["law", *words]


def test_a_title_of_wording_only_is_taken_as_it_is() -> None:
    assert topic_words(Topic(1, "Wikipedia")).weights == {"wikipedia": 1.0}


def test_phrases() -> None:
    topic = Topic(1, "Human rights", ("human rights", "treaties", "bill of rights", "a very long phrase of words"))
    assert topic_words(topic).phrases == (("human", "rights"), ("bill", "of", "rights"))


def test_words_for_women_or_men_only_count_with_the_subject(make_engine: MakeEngine) -> None:
    words = topic_words(Topic(1, "Women scientists", ("woman scientist", "physics")))
    assert words.weights == {"scientists": 2.0, "physics": 1.0}
    assert words.together == (("women", "scientists"), ("woman", "scientist"))
    for title in ("Women", "Women's rights", "Scientists"):
        assert topic_words(Topic(1, title)).together == ()
    engine = make_engine([page(1, text="x")])
    settings = QuerySettings(fields={}, phrase_fields={}, together_fields={"lead": 1.5})
    pronouns = ("women", "womens", "woman", "female", "she", "her")
    assert build_terms(topic_words(Topic(1, "Women scientists")), engine, settings) == [
        WeightedTerm("lead", pronouns, 1.5, with_words=(("scientists", "scientist"),))
    ]


def test_free_words_keep_stop_words_when_there_is_nothing_else() -> None:
    assert free_words("The Who").weights == {"the": 1.0, "who": 1.0}
    assert free_words("history of the horse").weights == {"history": 1.0, "horse": 1.0}
    assert free_words("").weights == {}


def test_terms_per_field(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="x")])
    settings = QuerySettings(fields={"text": 2.0, "lead": 1.0}, phrase_fields={"lead": 0.5})
    terms = build_terms(topic_words(Topic(1, "Punk music", ())), engine, settings)
    assert terms == [
        WeightedTerm("text", ("punk",), 2.0),
        WeightedTerm("text", ("music",), 2.0),
        WeightedTerm("lead", ("punk", "punks"), 1.0),
        WeightedTerm("lead", ("music", "musics"), 1.0),
        WeightedTerm("lead", ("punk", "music"), 0.5, is_phrase=True),
    ]


@pytest.mark.parametrize(
    ("word", "single", "forms"),
    [
        ("players", "player", {"player", "players"}),
        ("libraries", "library", {"library", "libraries"}),
        ("church", "church", {"church", "churches"}),
        ("boxes", "box", {"box", "boxes"}),
        ("politics", "politic", {"politics", "politic"}),
        ("business", "business", {"business", "businesses"}),
        ("virus", "virus", {"virus", "viruses"}),
        ("gas", "gas", {"gas", "gases"}),
        ("lighthouses", "lighthouse", {"lighthouse", "lighthouses"}),
        ("volcanoes", "volcano", {"volcano", "volcanos", "volcanoes"}),
        ("movies", "movie", {"movie", "movies"}),
        ("species", "species", {"species"}),
        ("wolf", "wolf", {"wolf", "wolves"}),
        ("analysis", "analysis", {"analysis", "analyses"}),
    ],
)
def test_number_forms(word: str, single: str, forms: set[str]) -> None:
    assert singular(word) == single
    assert set(number_forms(word)) == forms


@given(st.text())
def test_any_text_has_words_or_none(text: str) -> None:
    for word in subject_words(text, is_name=True):
        assert word not in word_list("stop_words")
        assert word in number_forms(word)


FARM = ["cow barn milk", "cow barn hay", "cow barn tractor", "barn milk hay", "guitar song", "song album"]


def test_feedback_brings_words_that_the_first_pages_share(make_engine: MakeEngine) -> None:
    engine = make_engine(page(i, text=text) for i, text in enumerate(FARM, 1))
    terms = [WeightedTerm("text", ("cow",))]
    settings = FeedbackSettings(n_pages=3, n_words=5)
    new = {term.words[0]: term.weight for term in feedback_terms(engine, engine.search(terms, 3), settings)}
    assert set(new) == {"cow", "barn"}  # hay, milk and tractor are in one of the pages each
    assert max(new.values()) == 1.0
    assert engine.search(terms, 9).page_ids.tolist() == [1, 2, 3]
    assert engine.search(expand(engine, terms, settings), 9).page_ids.tolist() == [1, 2, 3, 4]


def test_expanded_scores_reach_at_most_one(make_engine: MakeEngine) -> None:
    engine = make_engine(page(i, text=text) for i, text in enumerate(FARM, 1))
    for share in (0.0, 0.4, 1.0):
        expanded = expand(engine, [WeightedTerm("text", ("cow",))], FeedbackSettings(n_pages=3, share=share))
        assert engine.search(expanded, 1).scores[0] <= 1.0 + 1e-5


def test_feedback_switched_off_scales_only(make_engine: MakeEngine) -> None:
    engine = make_engine(page(i, text=text) for i, text in enumerate(FARM, 1))
    terms = [WeightedTerm("text", ("cow",))]
    expanded = expand(engine, terms, FeedbackSettings(n_pages=0))
    assert [term.words for term in expanded] == [("cow",)]
    assert engine.search(expanded, 1).scores[0] == pytest.approx(1.0, abs=1e-4)


def test_feedback_on_nothing_changes_nothing(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, text="cow")])
    terms = [WeightedTerm("text", ("zebra",))]
    assert expand(engine, terms) == terms
    assert expand(engine, []) == []


def test_a_tie_of_fewer_pages_than_asked_for(make_engine: MakeEngine) -> None:
    engine = make_engine(page(i, text="cow" if i < 4 else "song") for i in range(1, 100))
    assert engine.search([WeightedTerm("text", ("cow",))], 1).page_ids.tolist() == [1]


WRAPPED = """compact memories have flexible capacities  a digital data storage
system with capacity up to bits and random and or sequential access
is described"""
"""A document as collections of abstracts have them: no title, no markup, lines that end at a fixed width."""


def test_abstracts_without_title_in_wrapped_lines(make_engine: MakeEngine) -> None:
    """The lead is the abstract, so words and phrases of any of its lines count as much as those of the first."""
    other = "the storage of grain in silos and barns"
    articles = (Article(1, "", "", WRAPPED), Article(2, "", "", other))
    engine = make_engine(IndexPage(*fields) for fields in page_fields(articles))
    terms = build_terms(free_words("sequential access"), engine)
    assert {term.field for term in terms if term.is_phrase} >= {"lead"}
    for name in ("lead", "text"):
        found = engine.search([term for term in terms if term.field == name], 5)
        assert found.page_ids.tolist() == [1], name
    assert LexicalModel(engine).score(Topic(1, "Digital storage systems"), 5).page_ids.tolist() == [1, 2]
