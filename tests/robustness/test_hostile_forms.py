"""Hostile forms to assessors, organisers and administrators, on both kinds of store, over real HTTP.

Whatever is sent, the answer is one of ours: no 500, no path of a file, nothing stored that others cannot read.
"""

from __future__ import annotations

import http.client
import re
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import orjson
import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from evenrank.database.database import Location
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.queues import remarks_on
from evenrank.trec.assessment.votes import all_votes, create_store, open_store
from evenrank.trec.import_files import import_collection
from tests.postgres_server import running_postgres
from tests.robustness.commands import PROGRAM
from tests.robustness.server import QUESTION, wait_until_ready
from tests.robustness.small_files import small_files

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
NAMES = {"Ada": "assessor", "Ben": "assessor", "Cem": "assessor", "Olga": "organiser"}
HOSTILE = (
    *("", "\0", "a\0b", "\x1b[31m", "\u202e", "\ud7ff", "\U0010ffff", "x" * 5000, "x" * 200_000),
    *(
        "-1",
        "0",
        "007",
        "1e999",
        "nan",
        "inf",
        "1_0",
        "2147483647",
        "2147483648",
        "9223372036854775808",
        "9" * 400,
        "٣",
    ),
    *(
        "<script>alert(1)</script>",
        "{{7*7}}",
        "'; DROP TABLE vote; --",
        "%s%s%n",
        "../../etc/passwd",
        "yes",
        "work_list",
    ),
)
"""Values of fields that trouble those who take them for something else."""


@dataclass(frozen=True)
class Place:
    """A running server with its links."""

    port: int
    judgments: Location
    secrets: dict[str, str]
    admin: str
    """The link of the administration page."""
    topic: int
    pages: list[int]

    def judge(self, name: str, *parts: object) -> str:
        return "/".join(["", "organise" if name == "Olga" else "judge", self.secrets[name], *map(str, parts)])

    def send(
        self, path: str, fields: Mapping[str, str] | bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Status and text of the answer to a form."""
        body = fields if isinstance(fields, bytes) else urlencode(fields).encode()
        return self.ask("POST", path, body, {**FORM, **(headers or {})})[:2]

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace"), answer.headers
        finally:
            connection.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("hostile")
    if request.param == "sqlite":
        yield from started(folder, folder / "desk.sqlite", folder / "judgments.sqlite")
    else:
        with running_postgres() as server:
            yield from started(folder, server.url, server.url)


def started(folder: Path, store: Location, judgments: Location) -> Iterator[Place]:
    collection = import_collection(folder / "c", small_files(folder / "files", 200))
    build_index(collection).close()
    topic = next(topic for topic in collection.topics if topic.split == "eval")
    pages = [int(page) for page in collection.page_ids[:30]]
    with create_store(judgments) as opened:
        load_pool(
            opened,
            Pool(pages=tuple(PooledPage(topic.id, 1, page, ()) for page in pages)),
            {topic.id: topic.title},
        )
        secrets = {name: add_assessor(opened, name, role) for name, role in NAMES.items()}  # type: ignore[arg-type]
        assign_pages(opened, ["Ada", "Ben"], Overlap(1.0, 2))
    words = ["serve", folder / "c", "--port", 0, "--rate", 100000, "--store", store, "--judgments", judgments]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*PROGRAM, *map(str, words), "--admin-link"], stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert server.stdout is not None
    try:
        found = re.search(r":(\d+)/", server.stdout.readline())
        assert found, (folder / "log").read_text()
        wait_until_ready(int(found[1]))
        admin = re.search(r"/admin/[\w-]+", (folder / "log").read_text())
        assert admin
        yield Place(int(found[1]), judgments, secrets, admin[0], topic.id, pages)
    finally:
        server.terminate()
        server.wait(60)
        server.stdout.close()
    assert "Traceback" not in (folder / "log").read_text()


def judged(place: Place, name: str, page: int, answer: str = "1") -> int:
    fields = {"answer": answer, "nonce": f"nonce-{name}-{page}"}
    return place.send(place.judge(name, place.topic, page), fields)[0]


def addresses(place: Place) -> dict[str, dict[str, str]]:
    """Every form of the assessment, with fields that it takes."""
    topic, page = place.topic, place.pages[0]
    nonce = {"nonce": "nonce-of-a-stranger"}
    return {
        place.judge("Ada", topic, page): {**nonce, "answer": "1", "comment": "", "seconds": "3", "seen": "x"},
        place.judge("Ada", topic, page, "remarks"): {**nonce, "remark": "Why?"},
        place.judge("Ada", "undo"): nonce,
        place.judge("Olga", "settle", topic, page): {**nonce, "answer": "1", "comment": ""},
        place.judge("Olga", "settle", topic, page, "remarks"): {**nonce, "remark": "Why?"},
        place.judge("Olga", "settle", topic, page, "reopen"): {"what": "ruling", "sure": "yes"},
        place.judge("Olga", "undo"): nonce,
        place.judge("Olga", "people", "add"): {"name": "Dora", "role": "assessor"},
        place.judge("Olga", "people", "revoke"): {"name": "Dora"},
        place.judge("Olga", "people", "assign"): {"overlap": "10", "judges": "2"},
        place.judge("Olga", "people", "hand-over"): {"from": "Ada", "to": "Cem", "topic": str(topic)},
        place.judge("Olga", "people", "pool"): {"pool": "{}"},
        place.judge("Olga", "people", "reopen"): {"name": "Dora", "topic": str(topic), "sure": "yes"},
        place.judge("Olga", "people", "scale"): {"grades": "2"},
    }


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
def test_no_value_of_a_field_ends_in_an_error_of_the_server(place: Place, step: int) -> None:
    judged(place, "Ada", place.pages[0])
    judged(place, "Ben", place.pages[0], "0")
    attacks = [
        (path, {**fields, name: value})
        for path, fields in addresses(place).items()
        for name in fields
        for value in HOSTILE
    ]
    attacks = attacks[::step]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda attack: place.send(*attack), attacks))
    wrong = [
        (path.rpartition("/")[2], {name: value[:30] for name, value in fields.items()}, status, text[:300])
        for (path, fields), (status, text) in zip(attacks, answers, strict=True)
        if status not in (200, 303, 400, 404, 409, 413) or "Traceback" in text or "/tmp/" in text
    ]
    assert wrong == []
    for name in ("Ada", "Ben"):
        assert place.ask("GET", place.judge(name))[0] == 200
    for path in (
        (),
        ("agreement",),
        ("people",),
        ("scores",),
        ("export", "votes"),
        ("settle", place.topic, place.pages[0]),
    ):
        assert place.ask("GET", place.judge("Olga", *path))[0] in (200, 404), path


def remarks(place: Place, page: int) -> list[str]:
    with open_store(place.judgments) as store:
        return [remark.text for remark in remarks_on(store, place.topic, page)]


def test_a_discussion_is_for_those_who_judged_the_page(place: Place) -> None:
    page, other = place.pages[1], place.pages[2]
    for name, answer in (("Ada", "1"), ("Ben", "0")):
        judged(place, name, page, answer)
    said = {"nonce": "nonce-of-discussion", "remark": "Is a river a topic?"}
    assert place.send(place.judge("Olga", "settle", place.topic, page, "remarks"), said)[0] == 303
    for name, at in (("Cem", page), ("Ada", other), ("Ada", 4_000_000_000), ("Ada", 999_999_999_9)):
        assert place.send(place.judge(name, place.topic, at, "remarks"), said)[0] == 404, (name, at)
    assert place.send(place.judge("Ada", 4_000_000_000, page, "remarks"), said)[0] == 404
    assert place.send(f"/judge/{'x' * 32}/{place.topic}/{page}/remarks", said)[0] == 404
    assert (
        place.send(place.judge("Olga", "settle", place.topic, page, "remarks").replace("organise", "judge"), said)[0]
        == 404
    )
    assert (
        place.send(place.judge("Ada", "settle", place.topic, page, "remarks").replace("judge", "organise"), said)[0]
        == 404
    )
    assert "Is a river" not in place.ask("GET", place.judge("Cem", place.topic, page))[1]
    assert remarks(place, page) == ["Is a river a topic?"]


def test_a_remark_sent_twice_is_there_once_and_a_changed_one_is_another(place: Place) -> None:
    page = place.pages[3]
    judged(place, "Ada", page)
    address = place.judge("Olga", "settle", place.topic, page, "remarks")
    with ThreadPoolExecutor(8) as pool:
        fields = {"nonce": "nonce-sent-twice", "remark": "Once"}
        statuses = list(pool.map(lambda _: place.send(address, fields)[0], range(8)))
    assert set(statuses) <= {303, 503}
    assert 303 in statuses
    assert place.send(address, {"nonce": "nonce-sent-twice", "remark": "Once, or twice?"})[0] == 303
    assert remarks(place, page) == ["Once", "Once, or twice?"]


def test_an_answer_sent_many_times_at_once_is_one_vote(place: Place) -> None:
    page = place.pages[4]
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: judged(place, "Ben", page), range(16)))
    assert set(statuses) <= {303, 503}
    with open_store(place.judgments) as store:
        found = [vote for vote in all_votes(store) if vote.assessor == "Ben" and vote.page == page]
    assert len(found) == 1


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
def test_forms_of_other_sites_change_nothing(place: Place, headers: dict[str, str]) -> None:
    page = place.pages[5]
    fields = {"answer": "1", "nonce": "nonce-from-elsewhere", "remark": "x", "action": "expire", "sure": "yes"}
    for path in (place.judge("Ben", place.topic, page), place.judge("Olga", "people", "scale"), "/admin"):
        assert place.send(path, fields, headers)[0] == 403
    with open_store(place.judgments) as store:
        assert not [vote for vote in all_votes(store) if vote.page == page]


def test_bodies_that_are_no_forms(place: Place) -> None:
    address = place.judge("Ben", place.topic, place.pages[6])
    boundary = {"Content-Type": "multipart/form-data; boundary=b"}
    bodies = [
        (b"answer=%ff%fe&nonce=12345678", FORM),
        (b"&".join(b"a%d=1" % number for number in range(5000)), FORM),
        (b"x" * 30_000_000, FORM),
        (b'--b\r\nContent-Disposition: form-data; name="answer"\r\n\r\n1', boundary),
        (b"--b\r\n" * 10_000, boundary),
        (b"", {"Content-Type": "multipart/form-data"}),
        (b"{}", {"Content-Type": "application/json"}),
    ]
    for body, headers in bodies:
        try:
            assert place.send(address, body, headers)[0] in (400, 403, 413), body[:60]
        except (BrokenPipeError, ConnectionResetError):
            assert len(body) > 1_000_000  # refused before it was sent
    assert place.ask("GET", place.judge("Ben"))[0] == 200


def test_the_administration_page_takes_nothing_that_it_does_not_know(place: Place) -> None:
    status, _, headers = place.ask("GET", place.admin)
    assert status == 303
    cookie = {"Cookie": headers["set-cookie"].partition(";")[0]}
    created = place.ask("POST", "/api/searches", orjson.dumps(QUESTION), {"Content-Type": "application/json"})
    assert created[0] in (200, 201)
    known = {"action": "remove", "thing": "saved_search", "number": "1", "person": "Somebody", "sure": "yes"}
    limits = {"action": "limits"}
    attacks = [{**known, name: value} for name in known for value in HOSTILE if (name, value) != ("sure", "yes")]
    attacks = [fields for fields in attacks if fields["number"] != "1" or fields["thing"] not in ("saved_search",)]
    attacks += [{**limits, name: value} for name in ("browser_days", "lists", "archive_days") for value in HOSTILE]
    attacks += [{"action": "remove-person", "person": value, "sure": "yes"} for value in HOSTILE]
    attacks += [{"action": "sign-out", "person": value} for value in HOSTILE]
    for fields in attacks[::9]:
        status, text = place.send("/admin", fields, cookie)
        assert status in (303, 400, 413), (fields, status, text[:300])
        assert place.send("/admin", fields, {"Cookie": "admin=" + "x" * 32})[0] in (404, 413)
    for query in HOSTILE:
        assert place.ask("GET", f"/admin?q={quote(query[:2000])}&done={quote(query[:2000])}", None, cookie)[0] == 200
    token = orjson.loads(created[1])["token"]
    assert place.ask("GET", f"/api/searches/{token}")[0] == 200
