"""Gold pages, assessors by topic, and hand-overs that keep to them."""

from __future__ import annotations

import pytest

from evenrank.errors import EvenrankError
from evenrank.trec.assessment.alarms import LOW_GOLD, alarms
from evenrank.trec.assessment.assessors import (
    NameTakenError,
    Overlap,
    add_assessor,
    assign_pages,
    choose_assessors,
    chosen_assessors,
    erase_name,
    hand_over,
    withdraw_link,
)
from evenrank.trec.assessment.coverage import settle_all
from evenrank.trec.assessment.gold import gold_ruling, gold_scores, import_gold, mark_gold, unmark_gold
from evenrank.trec.assessment.log import check_log, log_entries
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import Store, Vote, cast_or_change, cast_ruling, current_votes, undo_last

NONE = Overlap(share=0.0)


@pytest.fixture
def campaign(store: Store) -> Store:
    """Ada has topic 101, Ben 102; Olga organises."""
    add_assessor(store, "Olga", "organiser")
    assign_pages(store, ["Ada", "Ben"], NONE)
    return store


def vote(token: str, name: str, page: int, grade: int, topic: int = 101) -> Vote:
    return Vote(token, topic, page, name, "graded", grade)


def test_gold_pages_go_to_everybody_of_the_topic_and_keep_their_ruling(campaign: Store) -> None:
    assign_pages(campaign, ["Ada", "Ben"], NONE)
    hand_over(campaign, 102, "Ben", "Ada")  # Ada judges both topics
    assert import_gold(campaign, [(101, 10, 1), (102, 20, 0)], "Olga") == 0, "Ada has these pages already"
    settled = settle_all(current_votes(campaign))
    assert (settled[101, 10].grade, settled[102, 20].grade) == (1, 0)
    assert [entry.action for entry in log_entries(campaign)][-3:] == ["rule", "rule", "mark-gold"]
    add_assessor(campaign, "Cleo")
    hand_over(campaign, 101, "Ada", "Cleo")
    assign_pages(campaign, ["Ada", "Ben", "Cleo"], NONE)
    assert (101, 10) in [(item.topic, item.page) for item in queue(campaign, "Cleo")]


def test_the_first_answer_counts_even_when_it_is_taken_back(campaign: Store) -> None:
    cast_ruling(campaign, Vote("r", 101, 10, "Olga", "graded", 1, comment="a mountain", method="adjudication"), None)
    mark_gold(campaign, 101, 10, "Olga")
    assert gold_ruling(campaign, "Ada", 101, 10) is None, "nothing is told before an answer"
    cast_or_change(campaign, vote("a", "Ada", 10, 0))
    told = gold_ruling(campaign, "Ada", 101, 10)
    assert told is not None
    assert (told.grade, told.comment) == (1, "a mountain")
    undo_last(campaign, "Ada", "undo")
    cast_or_change(campaign, vote("b", "Ada", 10, 1))
    assert gold_ruling(campaign, "Ada", 101, 10) is None
    [score] = gold_scores(campaign)
    assert (score.assessor, score.n_pages, score.n_right) == ("Ada", 1, 0)
    unmark_gold(campaign, 101, 10, "Olga")
    assert gold_scores(campaign) == []
    assert check_log(campaign) == []


def test_many_wrong_answers_on_gold_pages_raise_an_alarm(campaign: Store) -> None:
    import_gold(campaign, [(101, page, 1) for page in range(10, 16)], "Olga")
    for page in range(10, 16):
        cast_or_change(campaign, vote(f"a{page}", "Ada", page, int(page < 13)))
    [alarm] = [alarm for alarm in alarms(campaign) if alarm.kind == "gold"]
    assert (alarm.assessor, alarm.n, alarm.value, alarm.expected) == ("Ada", 6, 0.5, LOW_GOLD)


def test_a_page_without_a_ruling_or_outside_the_pool_is_no_gold_page(campaign: Store) -> None:
    with pytest.raises(EvenrankError, match="needs a ruling"):
        mark_gold(campaign, 101, 10)
    before = list(current_votes(campaign))
    with pytest.raises(EvenrankError, match=r"1 pages are not in the pool.*999 of topic 101"):
        import_gold(campaign, [(101, 10, 1), (101, 999, 1)], "Olga")
    assert list(current_votes(campaign)) == before


def test_chosen_people_alone_get_a_topic(store: Store) -> None:
    for name in ("Cleo", "Dan"):
        add_assessor(store, name)
    choose_assessors(store, 101, ["Cleo", "Dan"], by="Ada")
    assign_pages(store, ["Ada", "Ben", "Cleo", "Dan"], Overlap(1.0, 3))
    judges = {
        topic: {name for name in ("Ada", "Ben", "Cleo", "Dan") if list(queue(store, name, topic))}
        for topic in (101, 102)
    }
    assert judges[101] == {"Cleo", "Dan"}
    assert len(judges[102]) == 4
    add_assessor(store, "Eve")
    assert hand_over(store, 101, "Cleo", "Dan").n_kept == 10, "Dan judges them already, and nobody else may"
    assert erase_name(store, "Dan") in chosen_assessors(store)[101]
    choose_assessors(store, 101, [])
    assert chosen_assessors(store) == {}


def test_a_topic_whose_people_have_no_link_is_named(store: Store) -> None:
    choose_assessors(store, 101, ["Ada"])
    withdraw_link(store, "Ada")
    with pytest.raises(EvenrankError, match="nobody who was chosen for topic 101 has a link"):
        assign_pages(store, ["Ben"], NONE)
    with pytest.raises(EvenrankError, match="not among the assessors: Nobody"):
        choose_assessors(store, 101, ["Nobody"])


@pytest.mark.parametrize("name", ["Ada", "ada", " Ada", "Ａda", "ADA"])
def test_a_name_that_reads_like_one_that_is_here_is_refused(store: Store, name: str) -> None:
    with pytest.raises(NameTakenError):
        add_assessor(store, name, is_new=True)


def test_nobody_is_named_like_a_pseudonym(store: Store) -> None:
    with pytest.raises(EvenrankError, match="pseudonym"):
        add_assessor(store, "person-0123456789")
