"""Which articles a typed title is about: the field of a place, both words of a kind, and what is prominent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from evenrank.app.articles.candidates import find_matches
from evenrank.app.articles.on_subject import ReadPage, asked_by, is_historic, is_of_place, places_in, with_keywords
from evenrank.app.request.question import Question
from evenrank.app.state import AppState, open_state
from evenrank.core.records import Topic
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.app.conftest import UNLIMITED

ARTICLES = {
    "Ada Demir": "Ada Demir (born 1958, Ankara) is a Turkish film director and screenwriter. She made nine films.",
    "Night Ferry": "Night Ferry is a 2016 Turkish drama film directed by Ada Demir. It is about a ferry.",
    "Can Kaya": "Can Kaya (born 1960) is a Turkish economist. He is a director of the bank, and likes film and cinema.",
    "Jan Keller": "Jan Keller (born 1970) is a German film director of Turkish descent. He made a film in Turkey.",
    "Rolf Yilmaz": "Rolf Yilmaz (born 1966) is a Turkish-German film actor. He is in a cinema film of Turkey.",
    "Anna Berg": "Anna Berg (born 1966) is a Turkish-born Swedish film actress. Her film Turkey was in every cinema.",
    "Bread soup": "Bread soup is a dish of Greece, Turkey and Spain that is in a film. The cinema likes it.",
    "Film festival of Lund": "The festival is a Swedish film festival. Its director once showed cinema of Turkey.",
    "Rosa Flores": "Rosa Flores (born 1990) is a Turkish film producer. Her cinema is in Izmir.",
    "Bela Stone": "Bela Stone (born 1963) is an American former professional baseball player who lives in Ohio.",
    "Tom Reed": "Tom Reed (1894–1948) was an American baseball player and manager. He was a pitcher.",
    "Joe Lamb": "Joe Lamb (1897–1938) was an American college baseball player. He was a player of one team.",
    "Max Frost": "Max Frost (born 1964) is a Canadian ice hockey player who liked baseball. The player has a team.",
    "Leo Fields": "Leo Fields (1892–1956) was an American football player and coach. He liked a baseball player.",
    "Wall line": "The Wall line was a border of the Cold War. It was built in 1961.",
    "Two blocs": "Two blocs is a phrase of the Cold War, and of those who write about the Cold War.",
    "After it": "After it is a theory of the post-Cold War world.",
    "Ann Novel": "Ann Novel (born 1947) is an American novelist best known for stories that are set in the Cold War.",
    "Kim Sato": "Kim Sato (born 1970) is a Japanese table tennis player. She won a medal in tennis.",
    "Eva Lund": "Eva Lund (born 1980) is a Swedish tennis player. She won a medal.",
    "Old Bridge": "The Old Bridge is a stone bridge over a river. The bridge is old.",
    "Measuring bridge": "A measuring bridge is an electrical circuit. The bridge measures a bridge.",
    "Marburg": "Marburg is a university town in Germany. The university is near a university, and an old university.",
    "Hall": "Hall University is a university in Germany.",
    "Jan Adler": "Jan Adler (born 1950) is a German author at a university. His university is a university in Germany.",
    "Cold War song": "Cold War song is a song.",
    "Plane maker": "A plane maker was founded in 1910. It sold planes. "
    + "It sold more. " * 9
    + "The Cold War was near.",
    "1950s": "The 1950s were a decade. The Cold War was cold, the Cold War was a war, the Cold War was long.",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppState]:
    folder = tmp_path_factory.mktemp("on-subject")
    texts = [f"A page {n} about nothing else is here, and {n} words." for n in range(60)]
    pages = [*ARTICLES.items(), *((f"Page {n}", text) for n, text in enumerate(texts))]
    lines = [
        json.dumps({"page_id": number, "qual_cat": "Start", "quality_score": 0.3})
        for number in range(1, len(pages) + 1)
    ]
    (folder / "metadata.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    articles = [{"id": at, "title": title, "url": "", "text": text} for at, (title, text) in enumerate(pages, 1)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in articles), "utf-8")
    files = ImportFiles(metadata=folder / "metadata.jsonl", corpus=folder / "corpus.jsonl")
    build_index(import_collection(folder / "c", files)).close()
    state = open_state(folder / "c", replace(UNLIMITED, store=folder / "desk.sqlite", relevance_floor=0.15))
    yield state
    state.close()


def titles(desk: AppState, title: str, *keywords: str) -> set[str]:
    found = find_matches(desk, Question(title, keywords), 1).prepared.candidates.page_ids
    return set(desk.collection.titles_of(found.tolist()))


CINEMA = {"Ada Demir", "Night Ferry", "Rosa Flores"}


def test_a_field_of_a_place_is_that_place_first_and_that_field(desk: AppState) -> None:
    assert titles(desk, "Turkish cinema") == CINEMA
    assert titles(desk, "Cinema of Turkey") == CINEMA  # "film" is searched for without anybody having typed it
    assert titles(desk, "Film in Turkey") == CINEMA


def test_a_kind_of_people_has_both_words(desk: AppState) -> None:
    assert titles(desk, "Baseball players") == {"Bela Stone", "Tom Reed", "Joe Lamb"}


def test_a_subject_is_prominent(desk: AppState) -> None:
    """A single mention is not enough, and a decade is about no subject."""
    assert titles(desk, "Cold War") == {"Wall line", "Two blocs", "Cold War song"}


def test_compounds_are_words_of_their_own(desk: AppState) -> None:
    assert titles(desk, "Tennis players") == {"Eva Lund"}
    assert titles(desk, "Table tennis players") == {"Kim Sato"}


def test_a_thing_is_what_its_first_sentence_says(desk: AppState) -> None:
    assert titles(desk, "Bridges") == {"Old Bridge"}
    assert titles(desk, "Universities in Germany") == {"Hall"}


def test_keywords_say_what_belongs_to_a_subject(desk: AppState) -> None:
    """A title is taken at its word only where nobody says more."""
    assert {"Jan Keller", "Rolf Yilmaz", *CINEMA} <= titles(desk, "Turkish cinema", "film", "director", "actor")


def test_without_a_floor_nothing_is_left_out(desk: AppState) -> None:
    loose = replace(desk, settings=replace(desk.settings, relevance_floor=0.0))
    assert {"Can Kaya", "Jan Keller", *CINEMA} <= titles(loose, "Turkish cinema")


def test_names_of_places() -> None:
    def said(text: str) -> list[tuple[str, str]]:
        return [(one.form, one.place) for one in places_in(text.split())]

    assert said("a south korean film in new zealand") == [
        ("south korean", "south korea"),
        ("new zealand", "new zealand"),
    ]
    assert said("santa fe in new mexico and mexico city") == [("new mexico", ""), ("mexico", "mexico")]
    assert said("a british singer of the ivorian army") == [("british", "united kingdom"), ("ivorian", "ivory coast")]


def test_what_a_title_asks_for() -> None:
    assert asked_by(Topic(0, "History of Mexico", ("Aztec", "revolution"))).further == {"aztec"}
    assert asked_by(Topic(0, "History of Mexico")).is_history
    assert asked_by(Topic(0, "Canadian ice hockey", ("NHL",))).further == frozenset()
    assert asked_by(Topic(0, "French Revolution")).place == ""  # written as a name
    assert asked_by(Topic(0, "French Cinema")).place == "france"
    assert with_keywords(Topic(0, "Music of Mali"), "en").keywords == ("singer", "song", "musician")
    assert with_keywords(Topic(0, "Music of Mali"), "de").keywords == ()
    assert with_keywords(Topic(0, "Music of Mali", ("kora",)), "en").keywords == ("kora",)
    assert with_keywords(Topic(0, "Physics"), "en").keywords == ()


def page(title: str, text: str, *, is_person: bool = False) -> ReadPage:
    return ReadPage(title, text, is_person)


def test_the_place_of_a_page_is_the_first_that_it_names() -> None:
    asked = asked_by(Topic(0, "History of Mexico", ("Aztec",)))
    assert is_of_place(asked, page("Treaty of Cahuenga", "The treaty ended a war of Mexico and the United States."))
    assert is_of_place(asked, page("Ahuitzotl", "Ahuitzotl was an Aztec ruler. He lived in what is Mexico."))
    assert not is_of_place(asked, page("Tlaloc", "Tlaloc was an Aztec god. He is in a museum of Spain."))
    assert not is_of_place(
        asked, page("Charles de La Jaille", "Charles was a French general in Mexico.", is_person=True)
    )
    assert not is_of_place(asked, page("Lamy Building", "The building is in Santa Fe, New Mexico, near Mexico."))
    assert not is_of_place(asked, page("1840s", "Mexico lost a war."))


def test_history_is_about_the_past_and_public_life() -> None:
    for text, is_person in (
        ("Ana Ruiz (1810–1871) was a Mexican general.", True),
        ("Ana Ruiz (born 1960) is a Mexican historian.", True),
        ("The treaty of Niš was a peace treaty signed in 1739.", False),
    ):
        assert is_historic(page("A page", text, is_person=is_person)), text
    for text, is_person in (
        ("Ana Ruiz (1910–1971) was a Mexican tenor.", True),
        ("Ana Ruiz (born 1960) is a Mexican politician.", True),
        ("Ana Ruiz (1810–1871) was a councillor of the king.", True),
        ("The 1950 World Cup was the fourth tournament.", False),
        ("The bank is a bank in Mexico.", False),
    ):
        assert not is_historic(page("A page", text, is_person=is_person)), text
