"""The organiser's page of people: links made and withdrawn, pages pooled, assigned and handed over."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.trec.assessment.assessors import assessor_of
from evenrank.trec.assessment.pool_file import read_pool, write_pool
from evenrank.trec.assessment.queues import assessor_progress
from evenrank.trec.assessment.votes import Store
from tests.judging_files import JudgingFiles


@pytest.fixture
def people(judging: JudgingFiles) -> str:
    return f"/organise/{judging.secrets['Olga']}/people"


def test_a_new_link_works_and_is_shown_once(judge: TestClient, people: str) -> None:
    answer = judge.post(f"{people}/add", data={"name": "Cleo", "role": "assessor"})
    [link] = re.findall(r"http://localhost(/judge/[\w-]{32})", answer.text)
    assert "Hello Cleo" in judge.get(link).text
    assert link not in judge.get(people).text


def test_a_withdrawn_link_stops_working(judge: TestClient, people: str, judging: JudgingFiles, store: Store) -> None:
    ada = f"/judge/{judging.secrets['Ada']}"
    assert judge.get(ada).status_code == 200
    assert judge.post(f"{people}/revoke", data={"name": "Ada"}).status_code == 303
    assert judge.get(ada).status_code == 404
    assert assessor_of(store, judging.secrets["Ada"]) is None
    assert judge.post(f"{people}/revoke", data={"name": "Olga"}).status_code == 400
    assert judge.post(f"{people}/revoke", data={"name": "Nobody"}).status_code == 400


def test_open_pages_are_handed_over(judge: TestClient, people: str, judging: JudgingFiles, store: Store) -> None:
    judge.post(f"{people}/add", data={"name": "Cleo"})
    topic = judging.topics[0]
    [before] = [entry.n_pages for entry in assessor_progress(store, "Ada") if entry.topic == topic]
    answer = judge.post(f"{people}/hand-over", data={"topic": str(topic), "from": "Ada", "to": "Cleo"})
    assert f"{before} pages handed over" in judge.get(answer.headers["location"]).text
    assert topic not in [entry.topic for entry in assessor_progress(store, "Ada")]
    assert [entry.n_pages for entry in assessor_progress(store, "Cleo")] == [before]
    same = {"topic": str(topic), "from": "Ada", "to": "Ada"}
    assert judge.post(f"{people}/hand-over", data=same).status_code == 400


def test_a_pool_is_added_and_assigned(
    judge: TestClient, people: str, judging: JudgingFiles, store: Store, tmp_path: Path
) -> None:
    pool = read_pool(judging.pool)
    [first, *_] = pool.pages
    write_pool(tmp_path / "more.jsonl", replace(pool, pages=(replace(first, page=999_999),)))
    files = {"pool": ("more.jsonl", (tmp_path / "more.jsonl").read_bytes())}
    answer = judge.post(f"{people}/pool", files=files)
    assert answer.status_code == 303, answer.text[-900:]
    assert answer.headers["location"].endswith("done=pooled&n=1")
    assert "1 page is assigned to nobody" in judge.get(people).text
    answer = judge.post(f"{people}/assign", data={"overlap": "100", "judges": "2"})
    assert answer.headers["location"].endswith("done=assigned&n=2")
    broken = judge.post(f"{people}/pool", files={"pool": ("bad.jsonl", b"{}\n")})
    assert broken.status_code == 400
    assert "bad.jsonl" in broken.text
    assert "/tmp" not in broken.text


def test_a_refusal_is_said_above_the_forms(judge: TestClient, people: str, judging: JudgingFiles) -> None:
    broken = judge.post(f"{people}/pool", files={"pool": ("mine.jsonl", b'{"no": 1}\nnot JSON\n')})
    assert broken.status_code == 400
    assert "<p>mine.jsonl:1: " in broken.text
    assert "<p>mine.jsonl:2: " in broken.text
    same = judge.post(f"{people}/hand-over", data={"topic": judging.topics[0], "from": "Ada", "to": "Ada"})
    assert same.status_code == 400
    for answer in (broken, same):
        assert 'role="alert"' in answer.text
        assert "Everybody who judges or organises" in answer.text


def test_the_page_is_for_organisers(judge: TestClient, judging: JudgingFiles) -> None:
    path = f"/organise/{judging.secrets['Ada']}/people"
    assert judge.get(path).status_code == 404
    assert judge.post(f"{path}/revoke", data={"name": "Ben"}).status_code == 404
