"""Grades on buttons, discussions of disagreements, and pages that are asked for again."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.agreement import adjudication_queue, disagreements
from evenrank.trec.assessment.files import settled_pages
from evenrank.trec.assessment.log import pseudonym_of
from evenrank.trec.assessment.queues import assessor_progress, remarks_on
from evenrank.trec.assessment.votes import (
    Store,
    Vote,
    all_votes,
    cast_vote,
    create_store,
    judgments_schema,
    max_grade_of,
    reopen_page,
    set_max_grade,
    votes_on,
)
from tests.judging_files import JudgingFiles


@pytest.fixture
def olga(judging: JudgingFiles) -> str:
    return f"/organise/{judging.secrets['Olga']}"


@pytest.fixture
def disputed(store: Store, judging: JudgingFiles) -> tuple[int, int]:
    """A page on which Ada and Ben differ."""
    topic = judging.topics[0]
    (page,) = store.connection.execute("SELECT min(page) FROM item WHERE topic = ?", (topic,)).fetchone()
    for name, grade in (("Ada", 1), ("Ben", 0)):
        cast_vote(store, Vote(f"{name}-first-vote", topic, page, name, "graded", grade))
    return topic, page


def nonce_of(html: str) -> str:
    return re.findall(r'name="nonce" value="([\w-]+)"', html)[0]


def say(client: TestClient, address: str, text: str) -> int:
    nonce = nonce_of(client.get(address).text)
    return client.post(f"{address}/remarks", data={"nonce": nonce, "remark": text}).status_code


def test_a_discussion_is_opened_by_the_organiser_and_hides_names(
    judge: TestClient, judging: JudgingFiles, store: Store, olga: str, disputed: tuple[int, int]
) -> None:
    topic, page = disputed
    ada, ben = (f"/judge/{judging.secrets[name]}/{topic}/{page}" for name in ("Ada", "Ben"))
    assert say(judge, ada, "Nobody asked yet") == 404
    assert "Discussion" not in judge.get(ada).text
    assert say(judge, f"{olga}/settle/{topic}/{page}", "Why <b>not</b>?") == 303
    assert say(judge, ben, "It is only mentioned.") == 303
    seen = judge.get(ada).text
    assert "Why &lt;b&gt;not&lt;/b&gt;?" in seen
    assert "It is only mentioned." in seen
    assert "Another assessor" in seen
    assert "Ben" not in seen
    assert "Ben" in judge.get(f"{olga}/settle/{topic}/{page}").text
    assert "#discussion" in judge.get(f"/judge/{judging.secrets['Ada']}").text
    assert [(remark.author, remark.role) for remark in remarks_on(store, topic, page)] == [
        ("Olga", "organiser"),
        ("Ben", "assessor"),
    ]
    again = {"nonce": "the-same-nonce", "remark": "Once."}
    for _ in range(2):
        judge.post(f"{ben}/remarks", data=again)
    assert len(remarks_on(store, topic, page)) == 3
    assert judge.post(f"{ben}/remarks", data={**again, "remark": " "}).status_code == 400


def test_who_has_not_judged_sees_no_discussion(
    judge: TestClient, judging: JudgingFiles, store: Store, olga: str, disputed: tuple[int, int]
) -> None:
    topic, _ = disputed
    query = "SELECT max(page) FROM item WHERE topic = ?"
    (page,) = store.connection.execute(query, (topic,)).fetchone()
    cast_vote(store, Vote("only-ben-voted", topic, page, "Ben", "graded", 1))
    assert say(judge, f"{olga}/settle/{topic}/{page}", "A hint that would bias you") == 303
    ada = f"/judge/{judging.secrets['Ada']}/{topic}/{page}"
    assert "A hint" not in judge.get(ada).text
    assert say(judge, ada, "Me too") == 404


def test_a_ruling_is_taken_back_and_a_page_asked_for_again(
    judge: TestClient, store: Store, olga: str, disputed: tuple[int, int]
) -> None:
    topic, page = disputed
    address = f"{olga}/settle/{topic}/{page}"
    nonce = nonce_of(judge.get(address).text)
    judge.post(address, data={"answer": "1", "nonce": nonce})
    assert settled_pages(store)[topic, page].is_adjudicated
    assert judge.post(f"{address}/reopen", data={"what": "ruling"}).status_code == 303
    assert [(entry.topic, entry.page) for entry in adjudication_queue(store)] == [disputed]
    assert judge.post(f"{address}/reopen", data={"what": "page"}).status_code == 400
    assert judge.post(f"{address}/reopen", data={"what": "page", "sure": "yes"}).status_code == 303
    assert votes_on(store, topic, page) == []
    assert disagreements(store) == []
    kept = [vote for vote in all_votes(store) if vote.outcome != "withdrawn"]
    assert len(kept) == 3
    assert {vote.comment for vote in all_votes(store) if vote.outcome == "withdrawn"} == {
        f"reopened by {pseudonym_of(store.connection, 'Olga')}"
    }


def test_the_answers_of_somebody_are_asked_for_again(
    judge: TestClient, store: Store, olga: str, disputed: tuple[int, int]
) -> None:
    topic, page = disputed
    fields = {"topic": str(topic), "name": "Ada"}
    assert judge.post(f"{olga}/people/reopen", data=fields).status_code == 400
    answer = judge.post(f"{olga}/people/reopen", data={**fields, "sure": "yes"})
    assert "1 answer is asked for again" in judge.get(answer.headers["location"]).text
    assert [vote.assessor for vote in votes_on(store, topic, page)] == ["Ben"]
    assert [entry.n_judged for entry in assessor_progress(store, "Ada") if entry.topic == topic] == [0]


def test_relevance_is_graded_on_buttons(
    judge: TestClient, judging: JudgingFiles, store: Store, olga: str, disputed: tuple[int, int]
) -> None:
    topic, page = disputed
    ada = f"/judge/{judging.secrets['Ada']}/{topic}/{page}"
    assert judge.post(ada, data={"answer": "3", "nonce": nonce_of(judge.get(ada).text)}).status_code == 400
    assert judge.post(f"{olga}/people/scale", data={"grades": "3"}).status_code == 400, "votes would change meaning"
    reopen_page(store, topic, page, "Olga")
    assert judge.post(f"{olga}/people/scale", data={"grades": "3"}).status_code == 303
    html = judge.get(ada).text
    assert re.findall(r'name="answer" value="(\w)"', html) == ["3", "2", "1", "0", "x", "s"]
    assert "Highly relevant" in html
    judge.post(ada, data={"answer": "3", "nonce": nonce_of(html)})
    [vote] = [vote for vote in votes_on(store, topic, page) if vote.assessor == "Ada"]
    assert vote.grade == 3
    assert judge.post(f"{olga}/people/scale", data={"grades": "1"}).status_code == 400
    with pytest.raises(EvenrankError, match="1 grade was given on the scale from 0 to 3"):
        set_max_grade(store, 2)


def test_a_file_of_version_1_is_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    schema = judgments_schema()
    script = (Path(__file__).parents[1] / "trec/assessment/judgments_version_3.sql").read_text("utf-8")
    script = script.replace(script[script.index("CREATE TABLE remark") :].split(";")[0] + ";", "")
    script = script.replace("CREATE INDEX remark_by_item ON remark (topic, page);", "")
    script = script.replace("CREATE TABLE text_id (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);", "")
    open_file(SqliteFile(path), replace(schema, version=1, script=script, upgrades={}), may_create=True).close()
    with create_store(path) as store:
        assert remarks_on(store, 1, 1) == []
        assert max_grade_of(store) == 1
