"""Words as they are written come before their other forms: names that look like plurals, and accents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import Restriction
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.evidence import find_evidence
from evenrank.retrieval.query.feedback import FeedbackSettings
from evenrank.retrieval.relevance import LexicalModel, SearchSettings
from tests.retrieval.conftest import page

TEXTS = {
    1: "Lago is a town with people.",
    2: "Lagos is a port of Nigeria with many people in it.",
    3: "Ikeja is the capital of Lagos and a town with many people.",
    4: "Pao is a bread of Goa that is eaten with soup.",
    5: "A pão is a bread of Portugal that is eaten with much of soup and olives.",
    6: "Bread is baked from flour and water.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyEngine]:
    made = TantivyEngine.create(tmp_path_factory.mktemp("exact") / "index", n_threads=1)
    made.add(page(number, f"P{number}", text)._replace(lead=text) for number, text in TEXTS.items())
    made.commit()
    yield made
    made.close()


def found(engine: TantivyEngine, *keywords: str) -> list[int]:
    """Pages by two ways of searching, which agree."""
    model = LexicalModel(engine, SearchSettings(feedback=FeedbackSettings(n_pages=0)))
    topic = Topic(0, "", keywords)
    searched: list[int] = model.search(topic, 6, Restriction()).page_ids.tolist()
    assert searched == model.score(topic, 6).page_ids.tolist()
    return searched


def test_a_name_that_looks_like_a_plural_comes_before_its_singular(engine: TantivyEngine) -> None:
    assert found(engine, "lagos") == [1, 2, 3]  # the shortest text
    assert found(engine, "Lagos") == [2, 3, 1]


def test_a_page_with_another_name_is_not_about_it(engine: TantivyEngine) -> None:
    page_ids = np.array([1, 2, 3], np.int32)
    for keyword, is_in_lead in (("lagos", [True, True, True]), ("Lagos", [False, True, True])):
        assert find_evidence(engine, Topic(0, "Cities", (keyword,)), page_ids).in_lead.tolist() == is_in_lead


def test_a_word_written_with_accents_comes_before_one_without(engine: TantivyEngine) -> None:
    assert found(engine, "pao", "bread") == found(engine, "Pao", "bread")
    assert found(engine, "pao", "bread")[0] == 4  # the shorter text
    assert found(engine, "pão", "bread")[0] == 5


def test_nothing_changes_without_accents(engine: TantivyEngine) -> None:
    plain = LexicalModel(engine)
    topic = Topic(0, "Bread", ("soup",))
    before = plain.score(topic, 6)
    after = plain.score(replace(topic, keywords=("soup", "ünknown")), 6)
    assert before.page_ids.tolist() == after.page_ids.tolist()
