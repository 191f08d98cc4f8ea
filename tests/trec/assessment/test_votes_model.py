"""Any sequence of votes and undos leaves the votes that a plain list of steps would leave."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.trec.assessment.assessors import name_assessors
from evenrank.trec.assessment.votes import (
    ADJUDICATION,
    Vote,
    all_votes,
    cast_vote,
    create_store,
    current_votes,
    undo_last,
)

NAMES = ("Ada", "Ben")
votes = st.tuples(
    st.sampled_from(NAMES),
    st.integers(10, 12),
    st.sampled_from([("graded", 0), ("graded", 1), ("unassessable", None), ("skipped", None)]),
    st.sampled_from(["web", ADJUDICATION]),
)
steps = st.lists(votes | st.sampled_from(NAMES), max_size=25)
"""Votes; a bare name is an undo of that assessor."""


@settings(max_examples=60, deadline=None)
@given(steps)
def test_current_votes_are_those_of_a_list(done: list[object]) -> None:
    kept: list[Vote] = []
    with create_store(Path(":memory:")) as store:
        name_assessors(store, NAMES)
        for number, step in enumerate(done):
            if isinstance(step, str):
                own = [vote for vote in kept if vote.assessor == step]
                undone = undo_last(store, step, f"u{number}")
                assert undone == (own[-1] if own else None)
                kept = [vote for vote in kept if vote != undone]
            else:
                name, page, (outcome, grade), method = step  # type: ignore[misc]
                vote = Vote(f"v{number}", 101, page, name, outcome, grade, time="t", method=method)
                assert cast_vote(store, vote)
                kept.append(vote)
        last = {(vote.assessor, vote.page, vote.method): vote for vote in kept}
        found = list(current_votes(store))
        assert {vote.token for vote in found} == {vote.token for vote in last.values()}
        n_votes = sum(not isinstance(step, str) for step in done)
        assert sum(vote.outcome != "withdrawn" for vote in all_votes(store)) == n_votes, "every vote is kept"
