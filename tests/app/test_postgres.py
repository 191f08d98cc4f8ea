"""The web app on PostgreSQL: the races of the SQLite store, several servers, killed workers, a lost database."""

from __future__ import annotations

import http.client
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient
from tools.fleet.postgres import PostgresServer

from evenrank.app.lists.work_list import count_states, load_list
from evenrank.app.state import AppState, open_state
from evenrank.app.storage.administration import entries, remove_expired, set_limits, totals
from evenrank.app.storage.marked_topics import marked_topics
from evenrank.app.storage.saved_request import int32
from evenrank.app.storage.store import app_schema
from evenrank.cli.main import cli
from evenrank.database.database import open_database, shown_location
from evenrank.database.postgres_sql import refuse_unescaped
from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.database.sqlite_connection import TABLE as CHECKSUMS
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.votes import judgments_schema
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.app.test_draws import (  # the same tests on the other store
    test_done_is_for_all_and_not_for_me_is_mine as test_done_is_for_all_and_not_for_me_is_mine,
)
from tests.app.test_draws import (
    test_editors_who_draw_at_once_never_collide as test_editors_who_draw_at_once_never_collide,
)
from tests.app.test_draws import (
    test_processes_that_draw_at_once_never_collide as test_processes_that_draw_at_once_never_collide,
)
from tests.app.test_serve import ask, serving
from tests.desk_collections import QUESTION
from tests.postgres_server import remove_tables


@pytest.fixture(scope="module")
def opened(generated: Collection, postgres: PostgresServer) -> Iterator[AppState]:
    remove_tables(postgres)
    state = open_state(generated.path, replace(UNLIMITED, store=postgres.url))
    yield state
    state.close()


@pytest.mark.parametrize("schema", [app_schema(), judgments_schema()], ids=lambda schema: schema.table)
def test_both_databases_have_the_same_tables_and_columns(schema: Schema, empty_postgres: str, tmp_path: Path) -> None:
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = ?"
    with open_database(empty_postgres, schema, may_create=True) as database:
        rows = database.connection.execute(columns, (schema.namespace,))
        found = {(table, column) for table, column in rows if table != "version"}
    with open_file(SqliteFile(tmp_path / "store.sqlite"), schema, may_create=True) as file:
        known = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        names = {name for (name,) in file.connection.execute(known)} - {CHECKSUMS}
        wanted = {(name, row[1]) for name in names for row in file.connection.execute(f"PRAGMA table_info({name})")}
    assert found == wanted


def test_a_snapshot_is_repeatable_and_a_write_that_fails_leaves_nothing(state: AppState) -> None:
    with open_state(state.collection.path, state.settings).store as other:
        count = "SELECT count(*) FROM setting"
        with state.store.snapshot():
            before = state.store.connection.execute(count).fetchone()[0]
            with other.transaction() as connection:
                connection.execute("INSERT INTO setting VALUES ('one', '1')")
            assert state.store.connection.execute(count).fetchone()[0] == before
        assert state.store.connection.execute(count).fetchone()[0] == before + 1
        with pytest.raises(EvenrankError, match="stop"), other.transaction() as connection:
            connection.execute("DELETE FROM setting WHERE name = 'one'")
            raise EvenrankError("stop")
        assert other.connection.execute("SELECT value FROM setting WHERE name = 'one'").fetchone()["value"] == "1"
        with other.transaction(("setting", "one")) as connection:
            connection.execute("DELETE FROM setting WHERE name = 'one'")


def test_lists_are_kept_shared_found_and_deleted(state: AppState) -> None:
    client = client_of(state)
    path = posted(client, "/lists", QUESTION)
    listing = client.get(f"{path}.json").json()
    page_id = listing["articles"][0]["page_id"]
    for kind in ("claimed", "done"):
        assert client.post(f"{path}/marks", data={"page_id": str(page_id), "mark": kind}).status_code == 303
    assert count_states(state.store, load_list(state.store, path.rsplit("/", 1)[1]))["done"] == 1  # type: ignore[arg-type]
    assert QUESTION["title"] in client.get("/mine").text
    assert client_of(state).get(path).status_code == 200
    client.post(f"{path}/manage", data={"action": "rename", "name": "Openings"})
    assert "Openings" in client.get("/mine?q=openings").text
    assert client.post(f"{path}/manage", data={"action": "delete", "sure": "yes"}).status_code == 303
    assert client.get(path).status_code == 404


def test_whoever_runs_the_server_sees_and_limits_the_store(state: AppState) -> None:
    posted(client_of(state), "/lists", QUESTION)
    before = totals(state.store)
    assert before.n_lists > 0
    assert before.size_bytes > 0
    assert entries(state.store)[1] == before.n_lists + before.n_searches
    set_limits(state.store, {"browser_days": 1})
    assert remove_expired(state.store, datetime.now(UTC) + timedelta(days=2)) == before.n_lists + before.n_searches
    set_limits(state.store, {"browser_days": 0})
    assert totals(state.store).n_draws == 0


def test_a_backup_of_one_database_is_restored_to_the_other(
    generated: Collection, postgres: PostgresServer, tmp_path: Path
) -> None:
    remove_tables(postgres)
    state = open_state(generated.path, replace(UNLIMITED, store=postgres.url))
    path = posted(client_of(state), "/searches", QUESTION)
    draw = posted(client_of(state), f"{path}/draws")
    before = client_of(state).get(f"{draw}.txt").text
    state.close()

    def run(*words: str) -> str:
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output + str(done.exception)
        return done.output

    file, backup, again = (str(tmp_path / name) for name in ("d.sqlite", "one.backup", "two.backup"))
    run("backup", backup, "--store", postgres.url)
    run("restore", backup, "--store", file)
    run("backup", again, "--store", file)
    refused = CliRunner().invoke(cli, ["restore", again, "--store", postgres.url])
    assert "--force" in str(refused.exception)
    run("restore", again, "--store", postgres.url, "--force")
    for store in (file, postgres.url):
        state = open_state(generated.path, replace(UNLIMITED, store=store))
        assert client_of(state).get(f"{draw}.txt").text == before
        assert posted(client_of(state), f"{path}/draws") == f"{path}/draws/2"
        assert posted(client_of(state), "/searches", QUESTION) != path
        state.close()


def status_of(connection: http.client.HTTPConnection, method: str, path: str) -> tuple[int, str | None, str]:
    """Status, Retry-After and Location of an answer; 0 when the worker that had the connection is gone."""
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0, None, ""
    return answer.status, answer.getheader("Retry-After"), answer.getheader("Location") or ""


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"--workers" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_servers_share_a_database_and_lose_no_draw(generated: Collection, postgres: PostgresServer) -> None:
    """Two servers of two workers draw at once; a worker is killed while they do, and the database after that."""
    remove_tables(postgres)
    options = ("--workers", "2", "--rate", "1000")
    with (
        serving(generated.path, postgres.url, *options) as (one, process),
        serving(generated.path, postgres.url, *options) as (two, _),
    ):
        search = ask(one, "POST", "/searches", QUESTION)
        ask(one, "POST", f"{search}/draws")  # undisturbed: as long as all others have to be

        def draw_some(which: http.client.HTTPConnection) -> list[str]:
            connection = http.client.HTTPConnection(which.host, which.port, timeout=60)
            answers = [status_of(connection, "POST", f"{search}/draws") for _ in range(12)]
            connection.close()
            return [location for status, _, location in answers if status == 303]

        with ThreadPoolExecutor(4) as pool:
            drawing = [pool.submit(draw_some, server) for server in (one, two, one, two)]
            os.kill(workers_of(process.pid)[0], signal.SIGKILL)
            answered = [int(place.rsplit("/", 1)[1]) for future in drawing for place in future.result()]
        assert len(set(answered)) == len(answered) >= 24
        with open_database(postgres.url, app_schema()) as store:
            rows = store.connection.execute("SELECT number, pages FROM draw ORDER BY number").fetchall()
            ((n_draws,),) = store.connection.execute("SELECT n_draws FROM saved_search").fetchall()
        assert [row["number"] for row in rows] == list(range(1, n_draws + 1))
        assert set(answered) <= {row["number"] for row in rows}
        first, *others = (len(int32(row["pages"])) for row in rows)
        assert set(others) == {first}
        assert first > 1

        postgres.stop(signal.SIGKILL)
        assert status_of(two, "POST", f"{search}/draws")[:2] == (503, "5")
        assert status_of(two, "GET", search)[:2] == (503, "5")
        assert status_of(two, "GET", "/about")[0] == 200
        postgres.start()
        deadline = time.monotonic() + 60
        while (answer := status_of(two, "POST", f"{search}/draws"))[0] != 303 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert answer[2] == f"{search}/draws/{n_draws + 1}"


def test_what_is_wrong_with_an_address_is_said_without_its_password(empty_postgres: str) -> None:
    user, _, rest = empty_postgres.removeprefix("postgresql://").partition("@")
    assert shown_location(f"postgresql://{user}:secret@{rest}?sslmode=disable") == empty_postgres
    with pytest.raises(EvenrankError, match="refused") as found:
        open_database("postgresql://me:secret@127.0.0.1:9/none", app_schema())
    assert "secret" not in str(found.value)
    done = CliRunner().invoke(cli, ["judgments", "progress", empty_postgres])
    assert "has no tables of a judgments file" in str(done.exception)


@pytest.mark.parametrize("password", ["hidden%zz", "x@hidden", "x hidden", "x/hidden", "x?hidden", "x#hidden"])
def test_a_password_that_is_not_escaped_is_refused_and_not_shown(password: str) -> None:
    """The messages of the database's own library quote what they take for the host, or cannot decode."""
    with pytest.raises(EvenrankError, match=r"^postgresql://me@127.0.0.1:9/none: in a password, write") as found:
        open_database(f"postgresql://me:{password}@127.0.0.1:9/none", app_schema())
    assert "hidden" not in f"{found.value} {found.value!r}"


def test_an_at_sign_in_the_options_of_an_address_is_no_password() -> None:
    for address in ("postgresql://127.0.0.1:9/none?application_name=a@b", "postgresql:///none?user=a@b"):
        refuse_unescaped(address)


def test_learning_reads_marks_from_the_database(generated: Collection, empty_postgres: str) -> None:
    with closing(open_state(generated.path, replace(UNLIMITED, store=empty_postgres))) as state:
        _check_marks(client_of(state), empty_postgres)


def _check_marks(client: TestClient, store: str) -> None:
    path = posted(client, "/lists", {**QUESTION, "title": "Marked chess"})
    articles = client.get(f"{path}.json").json()["articles"]
    for article, kind in zip(articles, ("off-topic", "done", "claimed"), strict=False):
        answer = client.post(f"{path}/marks", data={"page_id": str(article["page_id"]), "mark": kind})
        assert answer.status_code == 303
    (topic,) = (topic for topic in marked_topics(store) if topic.title == "Marked chess")
    assert topic.rel_docs.tolist() == sorted(article["page_id"] for article in articles[1:3])
    assert topic.assessed_docs is not None
    assert len(topic.assessed_docs) == 3


def test_doctor_reads_every_table_of_a_database(empty_postgres: str) -> None:
    def run() -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["doctor", empty_postgres])
        return done.exit_code, done.output

    code, output = run()
    assert (code, "has no tables of evenrank" in output) == (1, True)
    for schema in (app_schema(), judgments_schema()):
        with open_database(empty_postgres, schema, may_create=True) as database:
            assert database.check() == []
    code, output = run()
    assert code == 0, output
    assert output.count("every table can be read") == 2
    away = CliRunner().invoke(cli, ["doctor", "postgresql://nobody@127.0.0.1:1/none"])
    assert (away.exit_code, "check the address" in away.output) == (1, True)


def test_doctor_finds_a_damaged_table(empty_postgres: str, postgres: PostgresServer) -> None:
    with open_database(empty_postgres, app_schema(), may_create=True) as database:
        with database.transaction() as connection:
            connection.executemany("INSERT INTO setting VALUES (?, ?)", [(f"name {n}", "v" * 200) for n in range(200)])
        connection = database.connection
        (name,) = connection.execute("SELECT pg_relation_filepath('evenrank_desk.setting')").fetchone()
    postgres.stop()
    with (postgres.data / name).open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 8192)
    postgres.start()
    done = CliRunner().invoke(cli, ["doctor", empty_postgres])
    remove_tables(postgres)
    assert done.exit_code == 1, done.output
    assert "table setting: invalid page" in done.output
