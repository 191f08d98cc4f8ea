"""Small parts by themselves: questions, charts, percentages, what is missing, age of the data."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.app.articles.article import KINDS, ArticleFacts, article_links, enough_of, open_facts
from evenrank.app.articles.collection_view import data_age, date_in_words
from evenrank.app.fairness.balance import round_share
from evenrank.app.fairness.charts import around, plot, round_steps
from evenrank.app.pages.i18n import percent, points
from evenrank.app.request.choices import choices_of
from evenrank.app.request.forms import parse_form
from evenrank.app.request.question import Question, QuestionError, parse_question, question_from_json
from evenrank.app.request.question_fields import MAX_FAIRNESS
from evenrank.app.settings import WebSettings
from evenrank.trec.collection import Collection


def test_a_question_from_a_form() -> None:
    fields = {"title": " Chess \n", "keywords": "chess, pawns;\nchess,, rook", "fairness": "0.3", "scope": "a\tb"}
    assert parse_question(fields) == Question("Chess", ("chess", "pawns", "rook"), "a b", fairness=0.3)


def test_all_faults_of_a_question_at_once() -> None:
    with pytest.raises(QuestionError) as caught:
        parse_question({"title": "", "policy": "none", "fairness": "nan", "scope": "x" * 3000})
    assert set(caught.value.by_field) == {"title", "policy", "fairness", "scope"}


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300), st.text(max_size=10))
def test_a_question_is_refused_or_comes_back_the_same(title: str, keywords: str, scope: str, fairness: str) -> None:
    try:
        question = parse_question({"title": title, "keywords": keywords, "scope": scope, "fairness": fairness})
    except QuestionError:
        return
    assert question_from_json(question.to_json()) == question
    assert parse_question(parse_form(urlencode(question.to_fields()).encode())) == question
    assert 0 <= question.fairness <= MAX_FAIRNESS
    assert question.title.isprintable() or any(ord(char) > 127 for char in question.title)


def test_every_policy_on_offer_serves_task_1() -> None:
    assert all(1 in Question("x", policy=name).ranker().tasks for name in choices_of("policy"))


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_and_inside(low: float, width: float) -> None:
    steps = round_steps((low, low + width))
    assert len(steps) <= 7
    assert all(low - width / 100 <= step <= low + width * 1.01 for step in steps)
    assert steps == sorted(steps)


def test_a_plot_by_hand() -> None:
    drawn = plot([(0.0, 0.0), (10.0, 1.0)], [(5.0, 0.5)], (0.0, 10.0), (0.0, 1.0), level=1.0)
    assert drawn.points == ((46.0, 208.0), (346.0, 14.0))
    assert drawn.marks == ((196.0, 111.0),)
    assert [tick.label for tick in drawn.x_ticks] == ["0", "2", "4", "6", "8", "10"]
    assert drawn.level == 14.0
    assert around([99.0, 100.0], 4.0, 100.0) == (97.5, 100.0)


def test_shares_as_people_read_them() -> None:
    assert [percent(share) for share in (0.0, 0.004, 0.0994, 0.0996, 0.9951, 0.9999, 1 - 1e-15, 1.0)] == [
        "0\u00a0%",
        "0.4\u00a0%",
        "9.9\u00a0%",
        "10\u00a0%",
        "99.5\u00a0%",
        "99.9\u00a0%",
        "100\u00a0%",
        "100\u00a0%",
    ]
    assert [percent(share, True) for share in (0.99951, 1.0)] == ["99.9\u00a0%", "100.0\u00a0%"]
    assert [round_share(share) for share in (0.9949, 0.99951, 1 - 1e-15)] == [0.995, 0.999, 1.0]
    assert [points(value) for value in (0.012, -0.012, 0.0001, -0.0001)] == ["+1.2", "−1.2", "0.0", "0.0"]


def test_what_is_missing_by_hand() -> None:
    """Good articles have a median of 40 in each kind, so 10 are enough. A kind that no article has is never missing;
    without good articles, having none of a kind is."""
    counts = np.array([[40, 40, 40, 0, 40], [40, 40, 40, 0, 40], [9, 10, 0, 0, 40], [-1] * 5], np.int32)
    enough = enough_of(counts, np.array([4, 5, 0, 0]))
    assert enough.tolist() == [10, 10, 10, 0, 10]
    facts = ArticleFacts(counts, enough)
    assert facts.missing(np.array([2, 0, 3, -1])) == [("text", "sources"), (), (), ()]
    assert enough_of(counts, np.array([0, 0, 0, 0])).tolist() == [1, 1, 1, 0, 1]


def test_a_kind_that_no_article_has_is_not_missing(hostile: Collection) -> None:
    facts = open_facts(hostile)
    assert facts is not None
    assert dict(zip(KINDS, facts.enough.tolist(), strict=True)) == {
        "text": 1,
        "sections": 0,
        "sources": 0,
        "images": 0,
        "links": 1,
    }


def test_links_lead_to_the_title_whatever_it_holds() -> None:
    links = article_links("A?b&c #d/é", WebSettings())
    assert links["article"] == "https://en.wikipedia.org/wiki/A%3Fb%26c_%23d/%C3%A9"
    assert "title=A%3Fb%26c_%23d/%C3%A9&action=history" in links["history"]


def test_the_age_of_the_data(generated: Collection, hostile: Collection) -> None:
    assert data_age(generated).is_synthetic
    assert not data_age(hostile).is_synthetic
    assert data_age(hostile).text == "date not recorded"
    dated = replace(hostile, manifest=replace(hostile.manifest, data_date="2021-10-01"))
    assert data_age(dated).text == "1 October 2021"
    assert date_in_words("2017-09") == "September 2017"
    assert data_age(hostile, "October 2021").text == "October 2021"


def test_words_that_are_in_nearly_every_article_depend_on_the_language() -> None:
    assert parse_question({"title": "the", "keywords": "Fluss"}, language="de").title == "the"
    assert parse_question({"title": "der die das"}).title == "der die das"
    with pytest.raises(QuestionError, match="nearly every article"):
        parse_question({"title": "der die das"}, language="de")
