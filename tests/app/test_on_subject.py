"""Which articles a typed title is about: the field of a place, the past, women, and kinds of things and people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenrank.app.articles.asked_subject import (
    SUBJECT_WORDS,
    asked_by,
    known_fields,
    places_in,
    with_keywords,
    words_and_phrases,
)
from evenrank.app.articles.candidates import find_matches
from evenrank.app.articles.on_subject import (
    ENOUGH,
    LEAST,
    LIKELY,
    PERHAPS,
    ReadPage,
    evidence_of,
    evidence_rows,
    known_trees,
    least_chance,
    speaks_against,
)
from evenrank.app.lists.work_list import make_list
from evenrank.app.request.question import BROAD, NothingFoundError, Question
from evenrank.app.state import AppState, open_state
from evenrank.core.records import Topic
from evenrank.retrieval.encode.dense import encode_index
from evenrank.retrieval.encode.encoder import EncoderSettings
from evenrank.retrieval.encode.nearness import Nearness
from evenrank.retrieval.engine.analysis import is_biography
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.collection import as_collection
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.app.conftest import UNLIMITED, client_of, posted

ARTICLES = {
    "Ada Demir": "Ada Demir (born 1958, Ankara) is a Turkish film director and screenwriter. She made nine films.",
    "Night Ferry": "Night Ferry is a 2016 Turkish drama film directed by Ada Demir. It is about a ferry.",
    "Can Kaya": "Can Kaya (born 1960) is a Turkish economist. He is a director of the bank, and likes film and cinema.",
    "Jan Keller": "Jan Keller (born 1970) is a German film director of Turkish descent. He made a film in Turkey.",
    "Anna Berg": "Anna Berg (born 1966) is a Turkish-born Swedish film actress. Her film Turkey was in every cinema.",
    "Bread soup": "Bread soup is a dish of Greece, Turkey and Spain that is in a film. The cinema likes it.",
    "Film festival of Lund": "The festival is a Swedish film festival. Its director once showed cinema of Turkey.",
    "Rosa Flores": "Rosa Flores (born 1990) is a Turkish film producer. Her cinema is in Izmir.",
    "1950s": "The 1950s were a decade. The Cold War was cold, the Cold War was a war, the Cold War was long.",
    "Two blocs": "Two blocs is a phrase of the Cold War, and of those who write about the Cold War.",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppState]:
    yield from open_desk(tmp_path_factory.mktemp("on-subject"), ARTICLES)


def open_desk(folder: Path, articles_by_title: dict[str, str]) -> Iterator[AppState]:
    texts = [f"A page {n} about nothing else is here, and {n} words." for n in range(60)]
    pages = [*articles_by_title.items(), *((f"Page {n}", text) for n, text in enumerate(texts))]
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


def test_a_broad_subject_is_read_on(tmp_path: Path) -> None:
    """Three hundred articles are read of any subject, and all of one that nearly all of these are about."""
    bridges = {
        f"Bridge {n}": f"Bridge {n} is a stone bridge across a river. The bridge has arches." for n in range(450)
    }
    parks = {f"Park {n}": f"Park {n} is a park with a pond and a view of a bridge." for n in range(450)}
    with contextmanager(open_desk)(tmp_path, bridges | parks) as state:
        assert titles(state, "Bridges") == set(bridges)


CINEMA = {"Ada Demir", "Night Ferry", "Rosa Flores"}


def test_a_field_of_a_place_is_that_place_first_and_that_field(desk: AppState) -> None:
    assert titles(desk, "Turkish cinema") == CINEMA
    assert titles(desk, "Cinema of Turkey") == CINEMA  # "film" is searched for without anybody having typed it
    assert titles(desk, "Film in Turkey") == CINEMA
    assert titles(desk, "Turkish cinema", "film", "director", "actor") == CINEMA


def test_a_period_is_about_no_subject(desk: AppState) -> None:
    assert titles(desk, "Cold War") == {"Two blocs"}


def test_without_a_floor_nothing_is_left_out(desk: AppState) -> None:
    loose = replace(desk, settings=replace(desk.settings, relevance_floor=0.0))
    assert {"Can Kaya", "Jan Keller", *CINEMA} <= titles(loose, "Turkish cinema")


def chance(title: str, name: str, text: str, *keywords: str, is_person: bool = False, match: float = 0.6) -> float:
    """How likely an article that matches well is about a subject."""
    trees = known_trees()["words"]
    evidence = evidence_of(asked_by(Topic(0, title, keywords)), ReadPage(name, text, is_person), match)
    return float(trees.chances(evidence_rows([evidence], trees.columns))[0])


@pytest.mark.parametrize(
    ("title", "on", "off"),
    [
        (
            "Bridges",
            ("Old Bridge", "The Old Bridge is a stone arch bridge across the river Una. The bridge was built in 1560."),
            ("Rogers Bridge Park", "Rogers Bridge Park is a city park in Georgia. It is near an old bridge."),
        ),
        (
            "Tennis players",
            ("Eva Lund", "Eva Lund (born 1980) is a Swedish tennis player. She won a tennis tournament in 1999."),
            ("Kim Sato", "Kim Sato (born 1970) is a Japanese table tennis player. She won a medal in doubles."),
        ),
        (
            "Universities in Germany",
            ("Hall University", "Hall University is a public university in Halle, Germany. The university is old."),
            ("Marburg", "Marburg is a university town in Germany. Its university has a hospital."),
        ),
        (
            "History of Mexico",
            ("Treaty of Cahuenga", "The Treaty of Cahuenga was a treaty that ended a war of Mexico in 1847."),
            ("Charles de Jaille", "Charles de Jaille was a French general. He died in 1870 in Mexico."),
        ),
        (
            "Geography of Canada",
            ("Back River", "The Back River is a river in Canada. The river flows into a bay."),
            ("Chess in Canada", "The federation is a Canadian chess federation. It was founded in 1872."),
        ),
        (
            "Women's volleyball",
            ("Mari Ito", "Mari Ito is a Japanese volleyball player. She plays for the Japan women's volleyball team."),
            ("Leo Rossi", "Leo Rossi is an Italian volleyball player. He plays for his volleyball club."),
        ),
        (
            "Solar energy",
            ("Sun farm", "Sun farm is a plant for solar energy. Solar energy is sold there; solar energy is cheap."),
            ("Solar flare", "A solar flare is a sudden release of energy from the sun. Flares eject a solar plasma."),
        ),
    ],
)
def test_what_an_article_says_of_itself_decides(title: str, on: tuple[str, str], off: tuple[str, str]) -> None:
    is_on, is_off = (chance(title, *page, is_person=is_biography(page[1])) for page in (on, off))
    assert is_on >= LIKELY > is_off


def test_much_of_the_past_makes_up_for_little_of_the_place() -> None:
    ruler = (
        "Itzli",
        "Itzli (c. 1430 – 1502) was an Aztec ruler in the time of the conquest of central Mexico.",
    )
    actress = ("Ana Rio", "Ana Rio (born 1980) is a Mexican actress. She lives in Mexico City, Mexico.")
    asked = ("Aztec", "revolution", "conquest")
    by_keywords, by_title, of_today = (
        chance("History of Mexico", *ruler, *asked, is_person=True),
        chance("History of Mexico", *ruler, is_person=True),
        chance("History of Mexico", *actress, *asked, is_person=True),
    )
    assert by_keywords >= LEAST > of_today
    assert by_keywords > by_title


def test_few_likely_articles_are_joined_by_less_likely_ones() -> None:
    assert least_chance(np.array([0.2, *[LEAST] * ENOUGH]), is_broad=False) == LEAST
    assert least_chance(np.array([0.2, 0.9, LEAST]), is_broad=False) == LIKELY
    assert least_chance(np.array([0.2, *[LEAST] * ENOUGH]), is_broad=True) == PERHAPS
    assert 0.2 < least_chance(np.array([0.2, 0.3]), is_broad=False) <= 0.3  # at least the best one


@pytest.mark.parametrize("name", ["words", "vectors"])
def test_more_evidence_makes_an_article_no_less_likely(name: str) -> None:
    trees, rng = known_trees()[name], np.random.default_rng(5)
    rows = rng.uniform(0.0, 1.0, (400, len(trees.columns)))
    before, n_tried = trees.chances(rows), 0
    for at, column in enumerate(trees.columns):
        if column.partition(": ")[2] in ("person", "has keywords", "long ago", "sort"):
            continue
        more = rows.copy()
        more[:, at] += 0.5
        gains = trees.chances(more) - before
        assert (gains <= 1e-9 if speaks_against(column) else gains >= -1e-9).all(), column
        n_tried += bool(gains.any())
    assert n_tried >= 5
    assert 0.0 < before.min() < before.max() < 1.0


def test_a_broad_question_lists_what_may_be_about_the_subject(desk: AppState) -> None:
    close = find_matches(desk, Question("Turkish cinema"), 1)
    broad = find_matches(desk, Question("Turkish cinema", match=BROAD), 1)
    n_close, n_broad = (len(one.prepared.candidates) for one in (close, broad))
    assert broad.n_perhaps == 0
    assert n_broad == n_close + close.n_perhaps > n_close
    assert set(close.prepared.candidates.page_ids) < set(broad.prepared.candidates.page_ids)


def test_a_list_says_what_it_leaves_out_and_lists_it_on_request(desk: AppState) -> None:
    client = client_of(desk)
    path = posted(client, "/lists", {"title": "Turkish cinema"})
    found = find_matches(desk, Question("Turkish cinema"), 1)
    n_listed, n_more = len(found.prepared.candidates), found.n_perhaps
    html = client.get(path).text
    assert f"{n_more} more article" in html
    assert 'name="match" value="broad"' in html
    reading = client.get(
        client.get(f"{path}/manage").text.partition('id="link-read"')[2].split('value="')[1].split('"')[0]
    )
    assert 'name="match"' not in reading.text
    broad = posted(client, f"{path}/again", {"match": "broad"})
    assert client.get(f"/api{broad}").json()["question"]["match"] == BROAD
    assert len(client.get(f"{broad}.json").json()["articles"]) == n_listed + n_more
    html = client.get(broad).text
    assert "Articles that may be about the subject are included" in html
    assert "Also articles that may be about it" in html  # how the list was made
    plain = posted(client, "/lists", {"title": "Turkish cinema", "policy": "relevance"})
    broad_plain = posted(client, f"{plain}/again", {"match": "broad"})
    assert client.get(f"/api{broad_plain}").json()["question"]["policy"] == "relevance"
    short = posted(client, "/lists", {"title": "Turkish cinema", "length": "1"})
    assert 'name="match"' not in client.get(short).text  # a list that is full gains nothing
    titled = {"title": "Turkish cinema", "match": "broad", "kind-1": "titles", "role-1": "in", "text-1": "Night Ferry"}
    assert "may be about the subject are included" not in client.get(posted(client, "/lists", titled)).text
    close = posted(client, f"{broad}/again", {"match": "close"})
    assert len(client.get(f"{close}.json").json()["articles"]) == n_listed
    assert client.post("/api/lists", json={"title": "Turkish cinema", "match": "loose"}).status_code == 400


def test_vectors_of_an_index_are_evidence_and_nothing_that_is_asked_is_written(tmp_path: Path) -> None:
    with contextmanager(open_desk)(tmp_path, ARTICLES) as state:
        assert state.learned().scorers == ()
        assert getattr(make_list(state, Question("Turkish cinema")).model, "encoder", "") is None
    collection = as_collection(tmp_path / "c")
    encode_index(collection, EncoderSettings())
    state = open_state(tmp_path / "c", replace(UNLIMITED, store=tmp_path / "desk.sqlite", relevance_floor=0.15))
    topic, scorers = Topic(0, "Turkish cinema", ("saz",)), state.learned().scorers
    nearness = Nearness.of(scorers, topic, np.array([2, 40], np.int32))
    assert nearness is not None
    assert Nearness.of(scorers, topic, np.empty(0, np.int32)) is None
    folder = index_folder(state.collection)
    before = {path.name: path.stat().st_size for path in folder.glob("queries-*.bin")}
    film, other = nearness.evidence(np.array([2, 40], np.int32))
    assert set(film) == {"topic", "title", "topic beside the first", "title beside the first"}
    assert all(film[name] > other[name] for name in film)
    assert "Night Ferry" in titles(state, "Turkish cinema")
    made = make_list(state, Question("Turkish cinema", ("kino",)))
    assert made.model is not None
    assert made.model.encoder == scorers[0].encoder.fingerprint
    assert {path.name: path.stat().st_size for path in folder.glob("queries-*.bin")} == before
    state.close()


def test_what_may_be_about_the_subject_is_counted_within_its_groups(desk: AppState) -> None:
    anywhere = find_matches(desk, Question("Turkish cinema"), 1)
    unknown = find_matches(desk, Question("Turkish cinema", within=("geography=Unknown",)), 1)
    assert anywhere.n_perhaps == unknown.n_perhaps > 0  # nothing is known of these articles
    with pytest.raises(NothingFoundError):
        find_matches(desk, Question("Turkish cinema", within=("geography=Asia",)), 1)


def test_each_line_of_the_list_of_words_is_a_subject() -> None:
    lines = SUBJECT_WORDS.read_text("utf-8").splitlines()[1:]
    names = [name for line in lines for name in line.split("\t")[0].split()]
    assert {line.count("\t") for line in lines} == {5}
    assert len(names) == len(set(names)) == len(known_fields())
    assert all(field.words.whole or field.words.beginnings for field in known_fields().values())


def test_phrases_stand_beside_their_words() -> None:
    assert {"rapid_transit", "rapid", "transit", "line"} <= words_and_phrases(["a", "rapid", "transit", "line"])
    assert "rapid_transit" not in words_and_phrases(["rapid", "and", "in", "transit"])
    assert asked_by(Topic(0, "Hip hop")).words == ("hip_hop",)
    assert asked_by(Topic(0, "Ghost towns")).words == ("ghost_town",)


def test_either_of_two_subjects_is_enough() -> None:
    bay = ("Mule Bay", "Mule Bay is a bay on the coast of Alaska. The bay is ten miles wide.")
    strait = ("Owl Strait", "Owl Strait is a strait between two islands. The strait is two miles wide.")
    town = ("Mule Town", "Mule Town is a town on the coast of Alaska, on Mule Bay.")
    assert len(asked_by(Topic(0, "Bays and straits")).fields) == 1
    assert len(asked_by(Topic(0, "Football clubs")).fields) == len(asked_by(Topic(0, "Football clubs")).words)
    fever = ("Malaria", "Malaria is an infectious disease. Malaria is caused by parasites that mosquitoes carry.")
    assert chance("Malaria and tuberculosis", *fever) >= LIKELY
    assert len(asked_by(Topic(0, "Malaria and tuberculosis")).fields) == 1
    steel = asked_by(Topic(0, "Trinidad and Tobago steelpan music"))  # this "and" is part of a name
    assert (steel.place, len(steel.fields)) == ("trinidad and tobago", len(steel.words))
    on_bay, on_strait, on_town = (chance("Bays and straits", *page) for page in (bay, strait, town))
    assert min(on_bay, on_strait) >= LIKELY > on_town


def test_a_place_has_parts() -> None:
    assert {"african", "nigerian", "kenya"} <= asked_by(Topic(0, "Elections in Africa")).forms
    assert {"british", "scottish", "england"} <= asked_by(Topic(0, "British painters")).forms
    assert "french" not in asked_by(Topic(0, "British painters")).forms
    assert asked_by(Topic(0, "Rivers of Canada", ("Ontario",))).keywords == (frozenset({"ontario"}),)


def test_people_of_a_place_are_people() -> None:
    asked = asked_by(Topic(0, "Israeli people"))
    assert (asked.is_people, asked.is_past, asked.words, asked.place) == (True, False, (), "israel")
    assert not asked_by(Topic(0, "Indigenous peoples of the Americas")).is_people


def test_an_article_about_men_is_not_about_women() -> None:
    final = "{} final is an event of boxing, in which boxers of all nations meet; the boxing took place in 2018."
    women = chance("Women's boxing", "Boxing – Women's lightweight", final.format("The women's lightweight"))
    men = chance("Women's boxing", "Boxing – Men's lightweight", final.format("The men's lightweight"))
    assert women >= LIKELY > women - 0.2 > men


def test_names_of_places() -> None:
    def said(text: str) -> list[tuple[str, str]]:
        return [(one.form, one.place) for one in places_in(text.split())]

    assert said("a south korean film in new zealand") == [
        ("south korean", "south korea"),
        ("new zealand", "new zealand"),
    ]
    assert said("santa fe in new mexico and mexico city") == [("new mexico", ""), ("mexico city", "mexico city")]
    assert said("a british singer of the ivorian army") == [("british", "united kingdom"), ("ivorian", "ivory coast")]


def test_what_a_title_asks_for(desk: AppState) -> None:
    engine = desk.source.model().engine
    assert asked_by(Topic(0, "History of Mexico")).is_past
    assert asked_by(Topic(0, "History of Mexico")).fields == ()
    assert asked_by(Topic(0, "Former railway lines")).words == ("railway_line",)
    assert asked_by(Topic(0, "French Revolution")).place == ""  # written as a name
    assert asked_by(Topic(0, "French Cinema")).place == "france"
    assert asked_by(Topic(0, "World War I")).words == ("world_war_i",)
    assert asked_by(Topic(0, "Dance War I")).words == ("dance", "war", "i")
    assert asked_by(Topic(0, "Women's rights")).words == ("rights",)
    assert asked_by(Topic(0, "Women in medicine")).of_gender[0] == "woman"
    assert [asked_by(Topic(0, title)).sort for title in ("Rivers", "Poets", "Music of Mali", "Cold War")] == [
        *("thing", "people", "field", "topic")
    ]
    assert asked_by(Topic(0, "Nuclear power", ("nuclear", "reactor"))).keywords == (frozenset({"reactor"}),)
    assert with_keywords(Topic(0, "Music of Mali"), engine).keywords == ("singer", "song", "musician")
    assert with_keywords(Topic(0, "Music of Turkey", ("saz",)), engine).keywords == ("saz", "turkish")
    assert with_keywords(Topic(0, "Blorbology"), engine).keywords == ()
