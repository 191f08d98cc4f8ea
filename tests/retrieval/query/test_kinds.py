"""Subjects that name a kind of thing: which articles are about such a thing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import IndexPage
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.people import are_of_kind, defining_nouns, defining_words, named_kinds

PAGES = [
    (1, "Una (Sava)", "The Una is a left tributary of the Sava, a river of the Balkans.", True),
    (2, "River Lydden", "The Lydden flows through Dorset, where a river is often called a brook.", True),
    (3, "Danube salmon", "The Danube salmon is a species of fish endemic to the river Danube.", False),
    (4, "Rhone (river)", "Rising in the Alps, the Rhone reaches the sea. The river is long.", True),
    (5, "List of rivers of Peru", "This lists the rivers of Peru.", True),
    (6, "Phoenix River", "Phoenix River (born 1980) is an American actor from Red River.", False),
    (7, "History of the Mississippi River", "People have long lived beside the river.", False),
    (8, "Riverton, Wyoming", "Riverton is a city in Wyoming by the Wind River.", False),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TantivyEngine:
    made = TantivyEngine.create(tmp_path_factory.mktemp("kinds") / "pages")
    made.add(IndexPage(page_id, title, text, text) for page_id, title, text, _ in PAGES)
    made.commit()
    return made


def test_articles_about_a_thing_of_the_kind_are_told_from_those_that_name_one(engine: TantivyEngine) -> None:
    ids = np.array([page_id for page_id, *_ in PAGES], np.int32)
    topic = Topic(1, "Rivers", keywords=("river", "tributary"))
    found = are_of_kind(engine, topic, ids, [title for _, title, *_ in PAGES])
    assert found.tolist() == [is_of_kind for *_, is_of_kind in PAGES]


def test_a_class_names_a_kind_with_its_last_word(engine: TantivyEngine) -> None:
    ids, titles = np.array([3, 6, 7, 8], np.int32), [PAGES[at][1] for at in (2, 5, 6, 7)]
    classes = [("River fish",), ("Former river",), ("Event", "Former river"), ()]
    found = are_of_kind(engine, Topic(1, "Rivers"), ids, titles, classes)
    assert found.tolist() == [False, False, True, False]  # the second is a person, whose classes do not count


def test_a_keyword_names_a_kind_too(engine: TantivyEngine) -> None:
    ids, titles = np.array([1, 2, 6], np.int32), ["Una (Sava)", "River Lydden", "Phoenix River"]
    assert are_of_kind(engine, Topic(1, "Rivers"), ids, titles).tolist() == [False, True, False]
    tributaries = Topic(1, "Rivers", keywords=("tributary", "actor"))
    assert are_of_kind(engine, tributaries, ids, titles).tolist() == [True, True, False]  # a person is no river


def test_the_head_of_a_title_names_the_kind(engine: TantivyEngine) -> None:
    rivers = Topic(1, "Longest rivers of Bosnia", keywords=("tributary", "actor"))
    assert named_kinds(rivers, engine) == {"river", "tributary"}
    assert named_kinds(Topic(1, "Film biography", keywords=("actor", "film")), engine) == {"actor"}
    assert named_kinds(Topic(1, "Film biography"), engine) == {"biography"}
    people = are_of_kind(engine, Topic(1, "Film biography"), np.array([2, 6], np.int32), ["River Lydden", "Phoenix"])
    assert people.tolist() == [False, True]


@pytest.mark.parametrize(
    "title", ["Physics", "Human rights", "Wales", "Women scientists", "Painters", "Jazz", "News", "Tour de France", ""]
)
def test_other_subjects_name_no_kind(title: str, engine: TantivyEngine) -> None:
    assert named_kinds(Topic(1, title, keywords=("river",)), engine) == frozenset()
    assert not are_of_kind(engine, Topic(1, title), np.array([1, 2], np.int32), ["Una (Sava)", "River Lydden"]).any()


@pytest.mark.parametrize(
    ("opening", "words"),
    [
        ("The Una is a left tributary of the Sava.", ["left", "tributary"]),
        ("Zale galbanata is a species of moth in the family Erebidae.", ["species", "moth"]),
        ("Flores is one of the Lesser Sunda Islands, an island arc.", ["lesser", "sunda", "islands"]),
        ("The Line Islands are a chain of atolls.", ["chain", "atolls"]),
        ("Sukiyaki is a Japanese-language song.", ["song"]),
        ("Bété is a semi-tonal Kru–Kwa language.", ["language"]),
        ("Esperanto is a semi-auxlang.", ["semi", "auxlang"]),
        ("It flows west.", []),
        ("", []),
    ],
)
def test_the_first_sentence_says_what_its_subject_is(opening: str, words: list[str]) -> None:
    assert defining_words(opening) == words


@pytest.mark.parametrize(
    ("opening", "nouns"),
    [
        ("The Foos are a high school football team.", ["team"]),
        ("Foo is a volcano lying between two lakes.", ["volcano", "lying"]),
        ("Foo is a genus of birds containing the typical white-eyes.", ["birds"]),
        ("Foo are a Brighton-based folk music collective, consisting of three.", ["collective"]),
        ("Foo is a species of bird-dropping moth.", ["moth"]),
        ("Foo is a Canadian airport parking operator based in Mississauga.", ["operator"]),
        ("Foo is a graphic novel series by Bar.", ["novel", "series"]),
        ("Foo is the former United States Secretary of Defense of the army.", ["secretary"]),
        ("It flows west. It is a river.", []),
    ],
)
def test_the_noun_itself_says_what_a_thing_is(opening: str, nouns: list[str]) -> None:
    assert set(nouns) <= set(defining_nouns(opening))
    assert not {"school", "football", "states", "army", "river", "airport", "bird", "based"} & set(
        defining_nouns(opening)
    )


def bridges_among(pages: list[tuple[str, str]], folder: Path) -> list[str]:
    """Titles of the pages, each a title and a text, that are taken for bridges."""
    made = TantivyEngine.create(folder / "index")
    made.add(IndexPage(number, title, text, text) for number, (title, text) in enumerate(pages, 1))
    made.commit()
    ids, titles = np.arange(1, len(pages) + 1, dtype=np.int32), [title for title, _ in pages]
    found = are_of_kind(made, Topic(1, "Bridges"), ids, titles)
    made.close()
    return [title for title, is_one in zip(titles, found, strict=True) if is_one]


def test_things_that_are_named_after_things_are_not_of_their_kind(tmp_path: Path) -> None:
    pages = [
        ("The Bridge on the River", "The Bridge on the River is a film directed by Lean."),
        ("Park Bridge", "Park Bridge is a townland."),
        ("Old Bridge", "Old Bridge brings a road over the Una."),
        ("Bridge Books", "Bridge Books is a firm that prints."),
        ("Bridges of Una", "Una is a town that a bridge is in."),
        ("History of Una", "Una is a bridge."),
    ]
    assert bridges_among(pages, tmp_path) == ["Old Bridge", "Bridges of Una"]


def test_a_first_word_is_a_kind_before_a_name_only(tmp_path: Path) -> None:
    pages = [
        ("Bridge End", "Bridge End brings a road over the Una."),
        ("Bridge of Una", "It brings a road over the Una."),
        ("Bridge hand", "A hand of thirteen cards."),
        ("Old Bridge (song)", "Old Bridge was first sung in 1970."),
        ("Bridge in the Belly", "Bridge in the Belly are a Brighton-based folk music collective."),
    ]
    assert bridges_among(pages, tmp_path) == ["Bridge End", "Bridge of Una"]


def test_keywords_name_kinds_where_those_are_many(tmp_path: Path) -> None:
    def kinds(n_airports: int, n_others: int) -> list[bool]:
        texts = ["Foo is an airport in Bar."] * n_airports + ["Foo is an airline of Bar."] * n_others
        made = TantivyEngine.create(tmp_path / f"{n_airports}-{n_others}")
        made.add(IndexPage(number, f"Foo {number}", text, text) for number, text in enumerate(texts, 1))
        made.commit()
        ids = np.arange(1, len(texts) + 1, dtype=np.int32)
        topic = Topic(1, "Airports", keywords=("airline", "series"))
        found: list[bool] = are_of_kind(made, topic, ids, [f"Foo {number}" for number in ids.tolist()]).tolist()
        made.close()
        return found

    assert kinds(10, 2) == [True] * 10 + [False] * 2
    assert all(kinds(10, 20))
    assert all(kinds(4, 2))  # too few to be enough


def test_somebody_who_makes_films_is_none(tmp_path: Path) -> None:
    made = TantivyEngine.create(tmp_path / "films")
    texts = ["Max is an Indian film and television actor.", "Max is an Indian film about a school."]
    made.add(IndexPage(number, "Max", text, text) for number, text in enumerate(texts, 1))
    made.commit()
    assert are_of_kind(made, Topic(1, "Films"), np.array([1, 2], np.int32), ["Max", "Max"]).tolist() == [False, True]
    made.close()


def test_a_series_is_a_kind(engine: TantivyEngine) -> None:
    assert named_kinds(Topic(1, "Television series", keywords=("species", "sitcom")), engine) == {"series", "sitcom"}


def test_all_that_somebody_is_counts(tmp_path: Path) -> None:
    made = TantivyEngine.create(tmp_path / "people")
    opening = "Max Bo (born 1963) is a Slovak businessman and convicted criminal."
    made.add([IndexPage(1, "Max Bo", opening, opening)])
    made.commit()
    assert are_of_kind(made, Topic(1, "Crime biography", keywords=("criminal",)), np.array([1]), ["Max Bo"]).all()
    made.close()
