"""Topics about people: biographies get a bonus when the title names people, and nothing changes otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import Restriction
from evenrank.retrieval.find import explain, search_pages
from evenrank.retrieval.query.people import are_biographies, leaning
from evenrank.retrieval.query.topic_query import QuerySettings
from evenrank.retrieval.relevance import LexicalModel, SearchSettings
from tests.retrieval.conftest import MakeEngine, page

TEXTS = {
    1: "Chess is a board game of chess openings, chess endings and chess clocks.",
    2: "Chess clocks are used in chess tournaments.",
    3: "Vera Menchik (16 February 1906 – 26 June 1944) won the first championship in chess.",
    4: "Nona Gaprindashvili is a Georgian chess player.",
    5: "Ada Lovelace (1815 – 1852) translated a paper on the engine.",
}


@pytest.fixture
def model(make_engine: MakeEngine) -> LexicalModel:
    return LexicalModel(make_engine(page(number, f"P{number}", text) for number, text in TEXTS.items()))


def test_biographies_get_a_bonus_when_the_title_names_people(model: LexicalModel) -> None:
    without = LexicalModel(model.engine, SearchSettings(QuerySettings(people_bonus=0.0)))
    for title, bonus in (("Chess", 0.0), ("Chess players", 0.2)):
        before, after = (each.score(Topic(1, title, ("chess",)), 10) for each in (without, model))
        scores = dict(zip(before.page_ids.tolist(), before.scores.tolist(), strict=True))
        gains = {p: s - scores[p] for p, s in zip(after.page_ids.tolist(), after.scores.tolist(), strict=True)}
        assert gains == pytest.approx({1: 0.0, 2: 0.0, 3: bonus, 4: bonus})  # page 5 has no word of the topic
        assert after.scores.tolist() == sorted(after.scores.tolist(), reverse=True)
    assert after.page_ids[0] == 4


def test_a_keyword_that_names_people_does_not(model: LexicalModel) -> None:
    with_keyword = model.score(Topic(1, "Chess", ("players",)), 10)
    assert with_keyword.scores.max() <= 1.0 + 1e-9


def test_a_search_for_few_pages_finds_the_same(model: LexicalModel) -> None:
    topic = Topic(0, "Chess players")
    assert search_pages(model, topic, 1, Restriction())[0].page_ids[0] == model.score(topic, 10).page_ids[0]


def test_the_bonus_is_among_the_reasons(model: LexicalModel) -> None:
    topic = Topic(1, "Chess players", ("chess",))
    found = model.score(topic, 10)
    reasons = dict(explain(model, topic, 3).words)
    assert reasons["person:biography"] == pytest.approx(model.settings.query.people_bonus, rel=1e-3)
    assert sum(reasons.values()) == pytest.approx(found.scores[found.page_ids.tolist().index(3)], rel=1e-3)
    assert "person:biography" not in dict(explain(model, topic, 1).words)


def test_the_index_knows_biographies(model: LexicalModel) -> None:
    pages = model.engine.page_ids()
    assert pages[are_biographies(model.engine, pages)].tolist() == [3, 4, 5]
    assert are_biographies(model.engine, pages[:0]).tolist() == []


def test_pronouns_tell_whom_a_text_speaks_of(make_engine: MakeEngine) -> None:
    texts = [
        "She won. She wrote, and he read.",
        "He won, he wrote, and she read.",
        "Women won.",
        "He or she",
        "His and her",
    ]
    engine = make_engine(page(number, "P", text) for number, text in enumerate(texts, 1))
    pages = np.array([5, 4, 3, 2, 1], np.int32)
    assert leaning(engine, "women", pages).tolist() == [0, 0, 0, -1, 1]
    assert leaning(engine, "male", pages).tolist() == [0, 0, 0, 1, -1]
    assert leaning(engine, "scientist", pages).tolist() == [0] * 5
