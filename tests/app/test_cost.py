"""What one request may cost is limited, and expensive requests leave room for everything else."""

from __future__ import annotations

import gzip
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import orjson
import pytest
from starlette.responses import Response
from starlette.testclient import TestClient

from evenrank.app.app import make_app
from evenrank.app.articles import user_articles
from evenrank.app.articles.source import MAX_ENTRIES
from evenrank.app.articles.titles import TitleIndex
from evenrank.app.lists import analysis, work_list
from evenrank.app.pages import home
from evenrank.app.request import budget, quota
from evenrank.app.request import question_form as asking
from evenrank.app.request.budget import MAX_KEYWORD, MAX_TEXT, MAX_WORDS, question_faults
from evenrank.app.request.capacity import MAX_ELSEWHERE, BusyError, Capacity
from evenrank.app.settings import SignInSettings
from evenrank.app.state import AppState, open_state
from evenrank.app.storage.sessions import OAuthTokens, start_session
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.query import topic_query
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from evenrank.wikipedia.mediawiki.settings import WikiUnreachableError
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.desk_collections import QUESTION
from tests.robustness.small_files import write_lines
from tests.robustness.worst_requests import KEPT_OUT, all_routes, worst_requests

LONG = " ".join(f"w{n}" for n in range(10_000))
"""59 kB of words, as one keyword."""
GOLDEN_2022 = Path(__file__).parents[1] / "golden_2022/data"
PATIENCE = 60.0
"""Seconds after which a test that hangs fails."""


@pytest.fixture
def n_looked_up(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of words of each search."""
    found: list[int] = []
    real = topic_query.topic_words

    def counted(*arguments: object, **options: object) -> object:
        words = real(*arguments, **options)  # type: ignore[arg-type]
        found.append(len(words.weights))
        return words

    for place in ("evenrank.app.request.question_form", "evenrank.retrieval.query.topic_query"):
        monkeypatch.setattr(f"{place}.topic_words", counted)
    return found


@pytest.mark.parametrize("area", ["lists", "searches"])
@pytest.mark.parametrize("n_words, named", [(10_000, f"{MAX_TEXT:,}"), (2000, str(MAX_KEYWORD))])
def test_words_beyond_the_budget_are_refused_before_they_are_looked_up(
    client: TestClient, n_looked_up: list[int], area: str, n_words: int, named: str
) -> None:
    words = " ".join(LONG.split()[:n_words])
    fields = {"title": "Chess", "keywords": words}
    answers = [
        client.get(f"/{area}/preview", params=fields),
        client.get(f"/{area}/new", params=fields),
        client.post(f"/{area}/check", data=fields),
        client.post(f"/{area}", data=fields),
    ]
    for answer in answers:
        assert answer.status_code == 400
        assert named in answer.text
    bot = client.post(f"/api/{area}", json={"title": "Chess", "keywords": [words]})
    assert (bot.status_code, "keywords" in bot.json()["detail"]) == (400, True)
    goal = client.post(f"/{area}/goal", data=fields)
    assert goal.status_code == (400 if n_words == 10_000 else 200)
    assert not n_looked_up


def test_many_short_keywords_are_refused_by_their_words(client: TestClient, n_looked_up: list[int]) -> None:
    words = LONG.split()[: MAX_WORDS + 100]
    keywords = ", ".join(" ".join(words[at : at + 5]) for at in range(0, len(words), 5))
    answer = client.get("/lists/preview", params={"title": "Chess", "keywords": keywords})
    assert answer.status_code == 400
    assert f"{MAX_WORDS + 101} words together; {MAX_WORDS} are allowed" in answer.text
    assert not n_looked_up


def test_words_are_counted_as_the_index_has_them() -> None:
    assert not question_faults("Chess", ["a" * MAX_KEYWORD] * 100, "", "en")
    assert "keywords" in question_faults("Chess", ["-".join("ab" * 25)] * 10, "", "en")
    assert "keywords" in question_faults("将棋", ["囲碁" * 20] * 10, "", "ja")
    assert not question_faults("将棋", ["囲碁"] * 90, "", "ja")


def test_a_question_within_the_budget_is_answered(client: TestClient, state: AppState) -> None:
    keywords = ", ".join(f"chess w{n}" for n in range(99))
    assert client.get("/lists/preview", params={"title": "Chess", "keywords": keywords}).status_code == 200
    titles = "\n".join(state.collection.titles_of(state.collection.page_ids.tolist()))
    assert len(titles) > MAX_TEXT
    assert client.post("/lists/check", data={**QUESTION, "text-1": titles}).status_code == 200


def test_many_words_are_weighted_as_one_by_one() -> None:
    """Singular and plural are one word, under the form that came first."""
    words = topic_query.free_words("pawns pawn rooks rook pawns bishop")
    assert words.weights == {"pawns": 3.0, "rooks": 2.0, "bishop": 1.0}


def test_expensive_requests_leave_room_for_the_rest(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty previews that take for ever: some wait, the others are told to come back, and everything else works."""
    may_end = threading.Event()
    monkeypatch.setattr(asking, "make_preview", lambda state, fields: may_end.wait(PATIENCE) and None)
    settings = replace(UNLIMITED, store=tmp_path / "desk.sqlite", n_expensive=2, n_waiting=8)
    app = make_app(open_state(generated.path, settings))
    with TestClient(app, base_url="http://localhost") as client, ThreadPoolExecutor(64) as visitors:
        try:
            asked = [visitors.submit(client.get, "/lists/preview?title=Chess") for _ in range(60)]
            for path in ("/healthz", "/static/style.css", "/", "/metrics", "/mine"):
                assert visitors.submit(client.get, path).result(PATIENCE).status_code == 200, path
        finally:
            may_end.set()
        answers = [future.result(PATIENCE) for future in asked]
    counts = Counter(answer.status_code for answer in answers)
    assert set(counts) == {200, 503}
    assert counts[200] >= 2
    assert counts[503] >= 40
    assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 503)


def test_strangers_who_keep_all_threads_busy_leave_room_for_monitors_and_people(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that are not expensive, of which many are asked for at once, shared their threads with everything else."""
    may_end = threading.Event()
    sign_in = SignInSettings(*["https://wiki.example/"] * 3, client_id="id", client_secret="secret", contact="a@b.c")
    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite", sign_in=sign_in))
    person = {"session": start_session(state.store, "Edith", OAuthTokens("token"), "x" * 22)}
    browser = TestClient(make_app(state), base_url="http://localhost", follow_redirects=False)
    with browser as client, ThreadPoolExecutor(64) as visitors:
        draws = f"{posted(client, '/searches', QUESTION)}/draws"
        monkeypatch.setattr(home, "example_of", lambda state: may_end.wait(PATIENCE) and None)
        try:
            strangers = [visitors.submit(client.get, "/") for _ in range(60)]
            wait(strangers, 0.5)
            for path in ("/healthz", "/readyz", "/static/style.css"):
                assert visitors.submit(client.get, path).result(PATIENCE / 2).status_code == 200, path
            drawn = visitors.submit(client.post, f"/api{draws}", json={}, cookies=person)
            assert drawn.result(PATIENCE / 2).status_code == 201
            assert not any(one.done() for one in strangers)
        finally:
            may_end.set()
        assert {one.result(PATIENCE).status_code for one in strangers} == {200}
    state.close()


def test_many_first_visitors_compute_the_example_once(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a start, every visitor of the first page computed it, all at once."""
    begun, may_end = threading.Semaphore(0), threading.Event()

    def make(state: AppState) -> None:
        begun.release()
        may_end.wait(PATIENCE)

    monkeypatch.setattr(home, "make_example", make)
    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    with TestClient(make_app(state), base_url="http://localhost") as client, ThreadPoolExecutor(32) as visitors:
        try:
            first = visitors.submit(client.get, "/")
            assert begun.acquire(timeout=PATIENCE)
            others = [visitors.submit(client.get, "/") for _ in range(20)]
            assert {one.result(PATIENCE / 2).status_code for one in others} == {200}
            assert not begun.acquire(blocking=False)
        finally:
            may_end.set()
        assert first.result(PATIENCE).status_code == 200
    state.close()


def test_a_wiki_that_hangs_holds_up_only_those_who_ask_it(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two lists from categories took all places for as long as the wiki was silent: nobody had a preview."""
    wiki_answers, asked_wiki = threading.Event(), threading.Semaphore(0)

    def silent(*arguments: object) -> NoReturn:
        asked_wiki.release()
        wiki_answers.wait(PATIENCE)
        raise WikiUnreachableError("it was silent")

    monkeypatch.setattr(user_articles, "category_members", silent)
    settings = replace(
        UNLIMITED, store=tmp_path / "desk.sqlite", n_expensive=2, wiki_api="http://127.0.0.1:9/", wiki_contact="a@b.c"
    )
    app = make_app(open_state(generated.path, settings))
    question = {"title": "Chess", "kind-1": "category", "role-1": "in", "text-1": "Chess"}
    with TestClient(app, base_url="http://localhost") as client, ThreadPoolExecutor(16) as visitors:
        try:
            lists = [visitors.submit(client.post, "/lists", data=question) for _ in range(MAX_ELSEWHERE + 2)]
            for _ in range(MAX_ELSEWHERE):
                assert asked_wiki.acquire(timeout=PATIENCE)
            for number in range(3):
                preview = visitors.submit(client.get, f"/lists/preview?title=Chess+{number}")
                assert preview.result(PATIENCE).status_code == 200
        finally:
            wiki_answers.set()
        statuses = Counter(one.result(PATIENCE).status_code for one in lists)
        assert statuses == {400: MAX_ELSEWHERE, 503: 2}
        wiki_answers.set()
        assert client.get("/lists/preview?title=Chess+again").status_code == 200  # every place was given back


def held(capacity: Capacity, address: str) -> threading.Event:
    """An expensive request that is under way until the event is set."""
    begun, may_end = threading.Event(), threading.Event()

    def make() -> Response:
        begun.set()
        may_end.wait(PATIENCE)
        return Response()

    capacity.submit(address, make)
    assert begun.wait(PATIENCE)
    return may_end


def test_addresses_take_turns() -> None:
    capacity, order = Capacity(1, 8), list[str]()
    may_end = held(capacity, "busy")

    def noted(name: str) -> Response:
        order.append(name)
        return Response()

    names = ("busy 1", "busy 2", "busy 3", "quiet 1")
    asked = [capacity.submit(name.split()[0], partial(noted, name)) for name in names]
    may_end.set()
    for future in asked:
        future.result(PATIENCE)
    assert order == ["busy 1", "quiet 1", "busy 2", "busy 3"]


def test_one_address_has_half_of_the_queue() -> None:
    capacity = Capacity(1, 4)
    may_end = held(capacity, "busy")
    for address in ("busy", "busy", "other", "another"):
        capacity.submit(address, Response)
    for address in ("busy", "somebody"):
        with pytest.raises(BusyError):
            capacity.submit(address, Response)
    may_end.set()


def test_who_has_waited_too_long_is_asked_to_come_back() -> None:
    now = [0.0]
    capacity = Capacity(1, 4, clock=lambda: now[0])
    may_end = held(capacity, "busy")
    waiting = capacity.submit("busy", Response)
    now[0] = 11.0
    may_end.set()
    with pytest.raises(BusyError):
        waiting.result(PATIENCE)


def test_an_error_reaches_who_asked() -> None:
    def fail() -> Response:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Capacity(1, 4).submit("a", fail).result(PATIENCE)


@pytest.mark.parametrize(
    "text",
    ["A\n" * (MAX_ENTRIES + 1), "[[A]] " * (MAX_ENTRIES + 1), "[" + ",".join(["1"] * (MAX_ENTRIES + 1)) + "]"],
    ids=["lines", "links", "JSON"],
)
def test_articles_that_people_bring_are_counted_before_they_are_looked_up(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(TitleIndex, "find", lambda *arguments: pytest.fail("looked up"))
    for area in ("lists", "searches"):
        answer = client.post(f"/{area}", data={**QUESTION, "text-1": text})
        assert answer.status_code == 400
        assert f"{MAX_ENTRIES:,} are allowed" in answer.text


def test_articles_of_all_sources_are_counted_together(client: TestClient) -> None:
    half = "\n".join(f"Article {number}" for number in range(MAX_ENTRIES * 2 // 3))
    fields = {**QUESTION, "text-1": half, "text-2": half, "role-2": "not"}
    answer = client.post("/lists", data=fields)
    assert (answer.status_code, f"{MAX_ENTRIES:,} are allowed" in answer.text) == (400, True)


@pytest.fixture(scope="module")
def many_dimensions(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Articles of the track of 2022, which has ten dimensions with 900 million combinations of groups."""
    folder, metadata = tmp_path_factory.mktemp("2022"), GOLDEN_2022 / "trec_2022_articles_discrete_assessed.json.gz"
    with gzip.open(metadata) as file:
        page_ids = [orjson.loads(line)["page_id"] for line in file]
    articles = [{"id": page, "title": f"Chess {page}", "text": f"Chess club of town {page}."} for page in page_ids]
    write_lines(folder / "corpus.jsonl", articles)
    files = ImportFiles(metadata=metadata, corpus=folder / "corpus.jsonl")
    build_index(import_collection(folder / "c", files)).close()
    return Collection.open(folder / "c")


def test_groups_of_a_goal_are_limited(
    many_dimensions: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever ticked four boxes kept the server busy for 14 seconds; five took more than 5 GB of memory."""
    names, few = list(many_dimensions.masks), {"title": "Chess", "dimensions": ["geography", "gender", "popularity"]}
    boxes = {f"dimension-{name}": "1" for name in names}
    state = open_state(many_dimensions.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    client = client_of(state)
    for area in ("lists", "searches"):
        assert client.post(f"/api/{area}", json=few).status_code == 201
        for n_chosen in (4, 5, len(names)):
            answer = client.post(f"/api/{area}", json={"title": "Chess", "dimensions": names[:n_chosen]})
            assert (answer.status_code, "combinations; 1,200 are allowed" in answer.text) == (400, True)
        for path in (f"/{area}", f"/{area}/check", f"/{area}/goal"):
            answer = client.post(path, data={"title": "Chess", **boxes})
            assert (answer.status_code, "combinations" in answer.text) == (
                (200, False) if "goal" in path else (400, True)
            )
    monkeypatch.setattr(budget, "MAX_CELLS", 1000)
    answer = client.post("/api/lists", json={**few, "title": "Chess club"})
    assert (answer.status_code, "too many combinations of these groups" in answer.text) == (400, True)
    state.close()


def test_a_question_chooses_from_a_limited_number_of_articles(
    client: TestClient, state: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_articles, "MAX_ARTICLES", 20)
    titles = state.collection.titles_of(state.collection.page_ids[:21].tolist())
    answer = client.post("/lists", data={**QUESTION, "text-1": "\n".join(titles)})
    assert (answer.status_code, "it has 21 articles; 20 are allowed" in answer.text) == (400, True)
    assert client.post("/lists", data={**QUESTION, "text-1": "\n".join(titles[:20])}).status_code == 303


def test_the_most_expensive_request_of_every_route_is_known(state: AppState) -> None:
    links = {"lists": "x" * 22, "searches": "x" * 22}
    known = {(request.method, request.route) for request in worst_requests(state.collection, links, {}, 1, 1)}
    assert known == {(method, path) for method, path in all_routes() if path not in KEPT_OUT}


NEVER = "\n".join(f"No such article {number} {'x' * 60}" for number in range(15_000))
"""More than a megabyte of titles that are never to be shown."""


def test_a_list_that_would_fill_the_store_is_refused(client: TestClient) -> None:
    answer = client.post("/lists", data={**QUESTION, "never": NEVER})
    assert answer.status_code == 400
    assert "at most 1,024 kB are kept" in answer.text
    sources = [{"role": "not", "kind": "titles", "text": NEVER}]
    answer = client.post("/api/lists", json={"title": "Chess", "keywords": ["chess"], "sources": sources})
    assert answer.status_code == 400
    assert "kB are kept" in answer.json()["detail"]


def test_what_an_owner_keeps_is_bounded(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(state)
    posted(client, "/lists", {**QUESTION, "never": NEVER[:30_000]})
    monkeypatch.setattr(quota, "MAX_OWNED_BYTES", 50_000)
    answer = client.post("/lists", data={**QUESTION, "never": NEVER[:30_000]})
    assert answer.status_code == 400
    assert "takes too much room" in answer.text
    assert client_of(state).post("/lists", data=QUESTION).status_code == 303  # somebody else's


def test_a_new_cookie_gives_no_new_room(state: AppState) -> None:
    app = make_app(replace(state, settings=replace(state.settings, bytes_per_hour=200_000.0)))
    statuses = []
    for _ in range(4):
        visitor = TestClient(app, base_url="http://localhost", follow_redirects=False)
        answer = visitor.post("/lists", data={**QUESTION, "never": NEVER[:50_000]})
        statuses.append(answer.status_code)
    assert statuses[0] == 303
    assert statuses[-1] == 429
    assert int(answer.headers["Retry-After"]) > 60
    assert visitor.get("/").status_code == 200


def test_versions_of_a_list_need_room_too(state: AppState) -> None:
    """Making a list again was not counted: one address could fill the store with versions of a list of 1 MB."""
    client = client_of(replace(state, settings=replace(state.settings, bytes_per_hour=300_000.0)))
    made = posted(client, "/lists", {**QUESTION, "never": NEVER[:50_000]})
    statuses = [client.post(f"{made}/refresh").status_code for _ in range(4)]
    assert statuses[0] == 303
    assert statuses[-1] == 429


def test_of_many_versions_few_are_read(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a list with a thousand versions of 1 MB read all of them: a gigabyte for every visitor."""
    client, n_read = client_of(state), [0]
    made = posted(client, "/lists", QUESTION)
    versions = [posted(client, f"{made}/refresh").removesuffix("/changes") for _ in range(4)]
    real = work_list.request_from_row

    def counted(*arguments: Any) -> Any:
        n_read[0] += 1
        return real(*arguments)

    monkeypatch.setattr(work_list, "request_from_row", counted)
    monkeypatch.setattr(analysis, "MOST_VERSIONS", 2)
    for path, most in ((made, 1), (f"{made}/refresh", 1), (f"{versions[2]}/changes", 1), (f"{made}/campaign", 3)):
        n_read[0] = 0
        answer = client.get(path)
        assert (answer.status_code, n_read[0] <= most) == (200, True), (path, n_read)
    rows = re.findall(r'<th scope="row">(\d) · <a href="([^"]+)"', answer.text)
    assert rows == [("4", versions[2]), ("5", versions[3])]
