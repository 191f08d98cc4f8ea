"""Exports and imports: byte-identical round trips, nothing invented, nothing half-written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenrank.errors import EvenrankError, InputError
from evenrank.trec.assessment.files import (
    EXPORTS,
    IMPORTS,
    JUDGED,
    count_left_out,
    import_topics,
    import_votes,
    judged_topics,
)
from evenrank.trec.assessment.votes import Store, Vote, all_votes, cast_votes, create_store, current_votes, undo_last

TIME = "2026-01-01T00:00:00.000Z"
VOTES = [
    Vote("a1", 101, 10, "Ada", "graded", 1, "long „quoted“ comment\nwith lines", 4.5, TIME),
    Vote("a2", 101, 11, "Ada", "graded", 0, seconds=3, time=TIME),
    Vote("a3", 101, 12, "Ada", "skipped", time=TIME),
    Vote("a4", 101, 13, "Ada", "unassessable", comment="empty page", time=TIME),
    Vote("a5", 101, 14, "Ada", "graded", 2, time=TIME),
    Vote("b5", 101, 14, "Ben", "graded", 0, time=TIME),
    Vote("a6", 101, 15, "Ada", "graded", 0, time=TIME),
    Vote("b6", 101, 15, "Ben", "graded", 1, time=TIME),
    Vote("c6", 101, 15, "Ben", "graded", 1, time=TIME, method="adjudication"),
    Vote("b7", 102, 20, "Ben", "graded", 0, time=TIME),
]


@pytest.fixture
def voted(store: Store) -> Store:
    """Two relevant, two not relevant; one skipped, one unassessable, one disputed; one vote undone."""
    cast_votes(store, VOTES)
    cast_votes(store, [Vote("b8", 102, 21, "Ben", "graded", 0, time=TIME)])
    undo_last(store, "Ben", "u8")
    return store


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Store]:
    with create_store(tmp_path / "empty.sqlite") as opened:
        yield opened


def test_qrels_by_hand(voted: Store, tmp_path: Path) -> None:
    EXPORTS["qrels"](voted, tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "101 0 10 1\n101 0 11 0\n101 0 15 1\n102 0 20 0\n"
    assert count_left_out(voted) == {"skipped": 1, "unassessable": 1, "disputed": 1}


def test_topics_by_hand(voted: Store, tmp_path: Path) -> None:
    EXPORTS["topics"](voted, tmp_path / "topics")
    assert [json.loads(line) for line in (tmp_path / "topics").read_text().splitlines()] == [
        {"id": 101, "title": "Mountains", "rel_docs": [10, 15], "assessed_docs": [10, 11, 15], "max_tier": 0},
        {"id": 102, "title": "Rivers", "rel_docs": [], "assessed_docs": [20], "max_tier": 0},
    ]


def test_skipped_and_unassessable_pages_are_0_in_no_format(voted: Store, tmp_path: Path) -> None:
    for name, export in EXPORTS.items():
        export(voted, tmp_path / name)
    undecided = {12, 13, 14}
    assert not undecided & {int(line.split()[2]) for line in (tmp_path / "qrels").open()}
    assert not undecided & {page for line in (tmp_path / "topics").open() for page in json.loads(line)["assessed_docs"]}
    votes = [json.loads(line) for line in (tmp_path / "votes").open()]
    assert {v["outcome"]: v["grade"] for v in votes if v["page_id"] in (12, 13)} == {
        "skipped": None,
        "unassessable": None,
    }


@pytest.mark.parametrize("name", JUDGED)
def test_export_import_export_is_byte_identical(voted: Store, empty: Store, tmp_path: Path, name: str) -> None:
    EXPORTS[name](voted, tmp_path / "first")
    n_new = IMPORTS[name](empty, tmp_path / "first", "somebody")
    assert n_new == {"qrels": 4, "topics": 4, "votes": 12}[name]
    EXPORTS[name](empty, tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()
    assert IMPORTS[name](empty, tmp_path / "first", "somebody") == 0, "importing again adds nothing"


def test_all_fields_of_all_votes_come_back(voted: Store, empty: Store, tmp_path: Path) -> None:
    EXPORTS["votes"](voted, tmp_path / "votes.jsonl.gz")
    import_votes(empty, tmp_path / "votes.jsonl.gz")
    assert list(all_votes(empty)) == list(all_votes(voted))
    assert list(current_votes(empty)) == list(current_votes(voted))


def test_an_import_that_changes_its_mind(empty: Store, tmp_path: Path) -> None:
    for grade in (1, 0, 1):
        (tmp_path / "qrels").write_text(f"101 0 10 {grade}\n")
        assert IMPORTS["qrels"](empty, tmp_path / "qrels", "NIST") == 1
        [vote] = current_votes(empty)
        assert (vote.assessor, vote.grade, vote.method) == ("NIST", grade, "import")
    assert len(list(all_votes(empty))) == 3


def test_grades_of_any_scale_from_0_are_taken_and_negative_ones_refused(empty: Store, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("101 0 10 7\n101 0 11 0\n")
    assert IMPORTS["qrels"](empty, tmp_path / "qrels", " NIST ") == 2
    assert [(vote.assessor, vote.grade) for vote in current_votes(empty)] == [("NIST", 7), ("NIST", 0)]
    (tmp_path / "qrels").write_text("101 0 12 1\n101 0 13 -3\n")
    with pytest.raises(InputError, match="qrels:2: grade -3 is below 0"):
        IMPORTS["qrels"](empty, tmp_path / "qrels", "NIST")
    assert len(list(all_votes(empty))) == 2


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "two\nlines"])
def test_imported_votes_need_the_name_of_somebody(empty: Store, tmp_path: Path, name: str) -> None:
    (tmp_path / "qrels").write_text("101 0 10 1\n")
    with pytest.raises(EvenrankError, match="not a name"):
        IMPORTS["qrels"](empty, tmp_path / "qrels", name)
    assert list(all_votes(empty)) == []


def test_official_topics_round_trip(empty: Store, tmp_path: Path) -> None:
    record = {"id": 150, "title": "Skiing", "rel_docs": [7], "assessed_docs": [5, 7, 9], "max_tier": 2}
    (tmp_path / "in").write_text(json.dumps(record) + "\n")
    import_topics(empty, tmp_path / "in", "NIST")
    [topic] = judged_topics(empty)
    assert (topic.title, topic.max_tier, topic.rel_docs.tolist(), topic.split) == ("Skiing", 2, [7], "eval")


def test_a_list_of_relevant_pages_is_no_record_of_judging(empty: Store, tmp_path: Path) -> None:
    (tmp_path / "train").write_text('{"id": 1, "title": "x", "rel_docs": [1]}\n{"id": 2, "title": "y"}\n')
    with pytest.raises(InputError) as caught:
        import_topics(empty, tmp_path / "train", "x")
    assert [fault.found for fault in caught.value.faults] == [
        "topic 1 has no assessed_docs",
        "topic 2 has no assessed_docs",
    ]


def test_faulty_votes_are_all_named_and_none_is_stored(voted: Store, empty: Store, tmp_path: Path) -> None:
    EXPORTS["votes"](voted, tmp_path / "votes")
    lines = [json.loads(line) for line in (tmp_path / "votes").open()]
    changes: list[dict[str, object]] = [
        {"grade": None},
        {"outcome": "maybe"},
        {"page_id": "x"},
        {"page_id": 2**70},
        {"seconds": -1.0},
        {"token": ""},
        {"grade": -3},
        {"assessor": " "},
    ]
    bad = [{**lines[0], "token": f"x{n}", **change} for n, change in enumerate(changes)]
    (tmp_path / "votes").write_text("\n".join(map(json.dumps, [*lines, *bad, {"topic": 1}])))
    with pytest.raises(InputError) as caught:
        import_votes(empty, tmp_path / "votes")
    assert [fault.line for fault in caught.value.faults] == list(range(len(lines) + 1, len(lines) + 10))
    assert list(all_votes(empty)) == []


def test_a_token_with_another_content_stops_the_import(voted: Store, tmp_path: Path) -> None:
    EXPORTS["votes"](voted, tmp_path / "votes")
    text = (tmp_path / "votes").read_text()
    (tmp_path / "votes").write_text(text.replace('"grade":1', '"grade":0', 1))
    with pytest.raises(EvenrankError, match="another content"):
        import_votes(voted, tmp_path / "votes")


FULL = """
import resource, sys
from evenrank.trec.assessment.files import EXPORTS
from evenrank.trec.assessment.votes import open_store
from evenrank.errors import EvenrankError
store = open_store(sys.argv[1])
store.connection.execute("SELECT count(*) FROM vote").fetchone()
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
for name, export in EXPORTS.items():
    try:
        export(store, f"{sys.argv[2]}/{name}")
    except EvenrankError as error:
        print(error)
"""


def test_no_room_for_an_export_leaves_the_old_file(voted: Store, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for name in EXPORTS:
        (folder / name).write_text("old")
    ran = subprocess.run([sys.executable, "-c", FULL, voted.path, folder], capture_output=True, text=True, check=True)
    assert ran.stdout.count("could not be written") == len(EXPORTS) - 2, "there are no machine judgments and no remarks"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        **dict.fromkeys(EXPORTS, "old"),
        "machine": "",
        "remarks": "",
    }
