"""The example of the start page: the topic of which a list changes most, with the numbers of that list."""

from __future__ import annotations

from starlette.testclient import TestClient

from evenrank.app.pages.home import N_CONSIDERED, N_TOP, example_of, moved_groups, promising, spread
from evenrank.app.state import AppState
from evenrank.core.records import Topic


def test_the_example_moves_most_of_those_measured(state: AppState, client: TestClient) -> None:
    example = example_of(state)
    assert example is not None
    gains = {}
    for question in promising(state):
        gains[question.title] = sum(change.progress for change in moved_groups(state, question))
    assert max(gains, key=lambda title: gains[title]) == example.title
    html = client.get("/").text
    assert f"Example: {example.title}" in html
    assert example.rows[0].label in html


def test_topics_are_spread_evenly() -> None:
    topics = [Topic(number, f"topic {number}") for number in range(100)]
    chosen = spread(topics)
    assert len(chosen) == N_CONSIDERED
    assert (chosen[0], chosen[-1]) == (topics[0], topics[-1])
    assert spread(topics[:3]) == topics[:3]
    assert spread([]) == []


def test_the_example_comes_near_its_goal(state: AppState) -> None:
    example = example_of(state)
    assert example is not None
    assert example.fields["length"] == str(N_TOP)
    before, after = (sum(abs(getattr(row, name) - row.goal) for row in example.rows) for name in ("plain", "listed"))
    assert after < before / 2
