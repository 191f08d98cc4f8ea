"""The log: every act of an organiser is in it, a gap shows, a name can be erased, and old files open."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from evenrank.database.database import open_database
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.agreement import Bootstrap, measure_agreement
from evenrank.trec.assessment.assessors import (
    Overlap,
    add_assessor,
    assessors,
    assign_pages,
    erase_name,
    hand_over,
    load_pool,
    withdraw_link,
)
from evenrank.trec.assessment.campaign import restore_run, withdraw_run
from evenrank.trec.assessment.files import export_log, import_qrels, read_exported_log
from evenrank.trec.assessment.log import check_log, find_departures, find_gaps, log_entries, names_by_pseudonym
from evenrank.trec.assessment.queues import add_remark, next_item, remarks_on
from evenrank.trec.assessment.votes import (
    ADJUDICATION,
    RulingConflictError,
    ScaleChangedError,
    Store,
    Vote,
    all_votes,
    cast_or_change,
    cast_ruling,
    cast_votes,
    create_store,
    current_votes,
    first_votes,
    judgments_schema,
    reopen_answers,
    reopen_page,
    set_max_grade,
    standing_ruling,
    undo_last,
    withdraw_rulings,
)
from tests.trec.assessment.conftest import POOL, new_location

VERSION_3 = Path(__file__).with_name("judgments_version_3.sql")


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    return new_location(request, tmp_path)


def vote(token: str, name: str, grade: int = 1, page: int = 10, method: str = "web") -> Vote:
    return Vote(token, 101, page, name, "graded", grade, method=method)


@pytest.fixture
def campaign(store: Store) -> Store:
    """Ada, Ben and the organisers Olga and Omar, everything that organisers do once."""
    for name in ("Olga", "Omar"):
        add_assessor(store, name, "organiser", by="Olga" if name == "Omar" else None)
    add_assessor(store, "Cleo", by="Olga")
    set_max_grade(store, 3, "Olga")
    assign_pages(store, ["Ada", "Ben", "Cleo"], Overlap(0.5, 2), "Olga")
    cast_or_change(store, vote("a", "Ada", 0))
    cast_or_change(store, vote("b", "Ben", 3))
    cast_ruling(store, vote("r1", "Olga", 2, method=ADJUDICATION), None)
    undo_last(store, "Olga", "u1")
    cast_ruling(store, vote("r2", "Omar", 1, method=ADJUDICATION), None)
    withdraw_rulings(store, 101, 10, "Olga")
    reopen_page(store, 101, 10, "Olga")
    cast_or_change(store, vote("c", "Ada", 1, 11))
    reopen_answers(store, 101, "Ada", "Omar")
    hand_over(store, 101, "Ada", "Cleo", "Omar")
    withdraw_link(store, "Ada", "Omar")
    withdraw_run(store, "two", "asked for by the team", "Olga")
    restore_run(store, "two", "a mistake", "Olga")
    return store


def test_everything_that_organisers_do_is_in_the_log(campaign: Store) -> None:
    entries = list(log_entries(campaign))
    names = names_by_pseudonym(campaign)
    assert [(names.get(entry.actor, entry.actor), entry.action) for entry in entries] == [
        ("operator", "load-pool"),
        ("operator", "add-person"),
        ("operator", "add-person"),
        ("operator", "add-person"),
        ("Olga", "add-person"),
        ("Olga", "add-person"),
        ("Olga", "rescale"),
        ("Olga", "assign"),
        ("Olga", "rule"),
        ("Olga", "withdraw-ruling"),
        ("Omar", "rule"),
        ("Olga", "withdraw-ruling"),
        ("Olga", "reopen"),
        ("Omar", "reopen"),
        ("Omar", "hand-over"),
        ("Omar", "withdraw-link"),
        ("Olga", "withdraw-run"),
        ("Olga", "restore-run"),
    ]
    assert [entry.number for entry in entries] == list(range(1, 19))
    assert check_log(campaign) == []
    shown = str([entry.record() for entry in entries])
    assert not any(name in shown for name in ("Ada", "Ben", "Cleo", "Olga", "Omar"))


@pytest.mark.parametrize("statement", ["UPDATE event SET action = 'nothing'", "DELETE FROM event"])
def test_the_file_itself_guards_the_log(campaign: Store, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="the log is kept"):
        campaign.connection.execute(statement)


def test_a_gap_in_the_log_shows(campaign: Store) -> None:
    entries = list(log_entries(campaign))
    assert find_gaps(entries) == []
    assert find_gaps([*entries[:3], *entries[4:]])[0] == "entry 5 follows entry 3: entries are missing or out of order"
    changed = [*entries[:4], replace(entries[4], details={"role": "organiser"}), *entries[5:]]
    assert find_gaps(changed) == ["entry 5 is not what was written behind entry 4"]


def test_a_vote_that_was_changed_past_the_rules_shows(store: Store) -> None:
    cast_votes(store, [vote("a", "Ada", 0), vote("b", "Ben", 1)])
    set_and_seal(store)
    assert check_log(store) == []
    store.connection.execute("UPDATE vote SET assessor = 'Ben' WHERE token = 'a'")
    assert any("votes 1 to 2 are not those" in found for found in check_log(store))


def set_and_seal(store: Store) -> None:
    """An act that the log notes, with the votes before it."""
    withdraw_link(store, "Ben")


def test_a_name_is_erased_and_the_chain_holds(campaign: Store) -> None:
    cast_votes(campaign, [vote("last", "Ben", 1, 12)])
    add_remark(campaign, "remark", 101, 12, "Ben", "I am not sure.")
    n_votes = len(list(all_votes(campaign)))
    pseudonym = erase_name(campaign, "Ben", "Olga")
    assert check_log(campaign) == []
    assert "Ben" not in [person.name for person in assessors(campaign)]
    assert [entry.assessor for entry in current_votes(campaign)] == [pseudonym]
    assert [remark.author for remark in remarks_on(campaign, 101, 12)] == [pseudonym]
    assert len(list(all_votes(campaign))) == n_votes
    withdraw_link(campaign, pseudonym)
    assert check_log(campaign) == []
    with pytest.raises(EvenrankError, match="nobody is named 'Ben'"):
        erase_name(campaign, "Ben")


def test_a_second_ruling_is_noticed_and_keeps_the_first(store: Store) -> None:
    for name in ("Olga", "Omar"):
        add_assessor(store, name, "organiser")
    cast_votes(store, [vote("a", "Ada", 0), vote("b", "Ben", 1)])
    first = vote("r1", "Olga", 1, method=ADJUDICATION)
    assert cast_ruling(store, first, None) is None
    assert cast_ruling(store, first, None) is None, "sent again, it is not stored again"
    with pytest.raises(RulingConflictError, match="Olga has ruled on it meanwhile") as caught:
        cast_ruling(store, vote("r2", "Omar", 0, method=ADJUDICATION), None)
    assert caught.value.standing is not None
    before = cast_ruling(store, vote("r2", "Omar", 0, method=ADJUDICATION), caught.value.standing.token)
    assert before is not None
    assert (before.assessor, before.grade) == ("Olga", 1)
    standing = standing_ruling(store, 101, 10)
    assert standing is not None
    assert (standing.assessor, standing.grade) == ("Omar", 0)
    assert [entry.token for entry in current_votes(store) if entry.method == ADJUDICATION] == ["r1", "r2"]
    rules = [entry for entry in log_entries(store) if entry.action == "rule"]
    assert [entry.details["overrules"] for entry in rules] == [None, "r1"]


def test_the_scale_cannot_change_what_votes_meant(store: Store) -> None:
    cast_or_change(store, vote("a", "Ada", 1))
    with pytest.raises(EvenrankError, match="1 grade was given on the scale from 0 to 1"):
        set_max_grade(store, 3)
    assert [entry.max_grade for entry in current_votes(store)] == [1]
    reopen_page(store, 101, 10, "Ben")
    set_max_grade(store, 3)
    cast_or_change(store, vote("b", "Ada", 3))
    assert [(entry.grade, entry.max_grade) for entry in all_votes(store) if entry.grade is not None] == [(1, 1), (3, 3)]


def test_first_votes_stay_what_they_were(store: Store) -> None:
    cast_or_change(store, vote("slip", "Ada", 1))
    undo_last(store, "Ada", "u")
    cast_or_change(store, vote("a", "Ada", 0))
    cast_or_change(store, vote("b", "Ben", 1))
    cast_or_change(store, vote("a2", "Ada", 1))
    reopen_answers(store, 101, "Ben", "Ada")
    cast_or_change(store, vote("b2", "Ben", 0))
    assert [entry.token for entry in first_votes(store)] == ["a", "b"]
    assert [entry.token for entry in current_votes(store)] == ["a2", "b2"]


def test_a_file_of_version_3_is_upgraded(location: Path | str) -> None:
    schema = judgments_schema(7)
    old = replace(schema, version=3, script=VERSION_3.read_text("utf-8"), upgrades={})
    columns = "token, topic, page, assessor, outcome, grade, comment, time, method"
    with open_database(location, old, may_create=True) as store, store.transaction() as connection:
        connection.execute("INSERT INTO topic (id, title, pooled_tier) VALUES (101, 'Mountains', 1)")
        connection.execute("INSERT INTO item VALUES (101, 10, 1)")
        connection.execute("INSERT INTO assessor (name, role, created) VALUES ('Ada', 'assessor', '2026')")
        connection.execute("INSERT INTO assignment VALUES ('Ada', 101, 10, 'primary', 0.5)")
        row = ("t", 101, 10, "Ada", "graded", 1, "", "2026", "web")
        connection.execute(f"INSERT INTO vote ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    with create_store(location) as upgraded:
        [kept] = current_votes(upgraded)
        assert (kept.token, kept.topic_version, kept.max_grade) == ("t", 1, None)
        assert next_item(upgraded, "Ada") is None
        load_pool(upgraded, POOL, {101: "Mountains", 102: "Rivers"})
        add_assessor(upgraded, "Ada")
        assert check_log(upgraded) == []
        with pytest.raises(sqlite3.IntegrityError, match="votes are kept"):
            upgraded.connection.execute("UPDATE vote SET grade = 0")
        erase_name(upgraded, "Ada")
        assert check_log(upgraded) == []


def test_alpha_of_first_votes_is_kept_apart(store: Store) -> None:
    for page, first, second in ((10, 1, 1), (11, 0, 1), (12, 1, 0), (13, 0, 0), (14, 1, 1)):
        cast_or_change(store, vote(f"a{page}", "Ada", first, page))
        cast_or_change(store, vote(f"b{page}", "Ben", second, page))
    before = measure_agreement(store, Bootstrap(200))
    assert before.alpha == before.first_alpha
    for page in (11, 12):
        cast_or_change(store, vote(f"discussed{page}", "Ben", 1 - (page == 11), page))
    after = measure_agreement(store, Bootstrap(200))
    assert after.alpha.value == 1
    assert after.first_alpha == before.alpha
    assert after.first_pairs == before.pairs
    assert [(row.topic, row.n_pages, row.alpha.value) for row in after.topics] == [(101, 5, 1)]
    [topic] = after.first_topics
    assert topic.alpha.value == before.alpha.value
    assert topic.kappa.value == before.pairs[0].kappa.value
    assert topic.kappa.low < topic.kappa.value


def test_many_at_once_leave_an_unbroken_log(store: Store) -> None:
    organisers = [f"organiser {n}" for n in range(5)]
    for name in organisers:
        add_assessor(store, name, "organiser")

    def work(worker: int) -> int:
        n_refused = 0
        for page in range(10, 16):
            name = ("Ada", "Ben")[worker % 2]
            cast_or_change(store, vote(f"{worker}-{page}", name, worker % 2, page))
            if worker < len(organisers):
                ruling = vote(f"r{worker}-{page}", organisers[worker], 1, page, ADJUDICATION)
                seen = standing_ruling(store, 101, page)
                try:
                    cast_ruling(store, ruling, seen.token if seen else None)
                except RulingConflictError:
                    n_refused += 1
        return n_refused

    with ThreadPoolExecutor(8) as pool:
        n_refused = sum(pool.map(work, range(8)))
    assert check_log(store) == []
    rules = [entry.details for entry in log_entries(store) if entry.action == "rule"]
    assert len(rules) == 5 * 6 - n_refused
    assert len(list(all_votes(store))) == 8 * 6 + len(rules)
    for page in range(10, 16):
        chain = [rule["overrules"] for rule in rules if rule["page"] == page]
        assert chain[0] is None
        assert chain[1:] == [rule["vote"] for rule in rules if rule["page"] == page][:-1], "each saw the one before"


def test_an_end_that_was_cut_off_shows_beside_an_earlier_log(campaign: Store, tmp_path: Path) -> None:
    export_log(campaign, tmp_path / "log.jsonl")
    kept = read_exported_log(tmp_path / "log.jsonl")
    assert find_departures(log_entries(campaign), kept) == []
    cut = kept[:-2]
    assert find_gaps(cut) == [], "an end that is missing breaks no chain"
    assert [line.split(" of ")[0] for line in find_departures(cut, kept)] == [
        f"entry {entry.number}" for entry in kept[-2:]
    ]


def test_a_grade_on_another_scale_is_no_first_vote(store: Store) -> None:
    cast_or_change(store, vote("a", "Ada", 1))
    reopen_answers(store, 101, "Ada", "Ben")
    set_max_grade(store, 3)
    with pytest.raises(ScaleChangedError):
        cast_or_change(store, vote("b", "Ada", 1), max_grade=1)
    cast_or_change(store, vote("c", "Ada", 1), topic_version=99, max_grade=3)
    [first] = first_votes(store)
    assert (first.token, first.max_grade, first.topic_version) == ("c", 3, 1)


def test_an_erased_name_is_in_no_token(store: Store, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("101 0 10 1\n", "utf-8")
    import_qrels(store, tmp_path / "qrels", "Ada")
    erase_name(store, "Ada")
    assert not any("Ada" in str(vote) for vote in all_votes(store))
    assert check_log(store) == []
