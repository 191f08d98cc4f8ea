"""Notes on rankings name topics as people would: by number, or a query by its words."""

from __future__ import annotations

from evenrank.ranking.notes import _named


def test_one_topic_and_several() -> None:
    assert _named({58: "80"}) == "in topic 58 (80)"
    assert _named({58: "80", 60: "7"}) == "in topics 58 (80), 60 (7)"


def test_a_query_is_named_by_its_title() -> None:
    assert _named({109: "male 97%"}, {109: "storm rain"}) == 'for "storm rain" (male 97%)'


def test_many_topics_are_counted() -> None:
    text = _named(dict.fromkeys(range(11), "1"))
    assert text.endswith("7 (1) and 3 more")
