"""Which relevance model brought a list: kept with it and shown, and files from before are brought up to date."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")

from starlette.testclient import TestClient

from evenrank.app.lists.work_list import WorkList, load_list, save_list
from evenrank.app.request.visitor import list_path as path_of
from evenrank.app.state import AppState, open_state
from evenrank.app.storage.saved_request import ModelUsed, columns_of, describe_model
from evenrank.app.storage.store import VERSION, app_schema, open_app_store, server_secret
from evenrank.errors import InputError
from evenrank.retrieval.encode.encoder import EncoderSettings
from evenrank.retrieval.learn.learned_model import UsedEncoder
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.desk_collections import QUESTION

LEARNED = ModelChoice("learned", Path("/private/model.bin"), "f00d", UsedEncoder(EncoderSettings("/private"), "e11"))
VERSION_1 = Path(__file__).with_name("desk_version_1.sql")


@pytest.mark.parametrize(
    "choice, label",
    [
        (UNTRAINED, "words (untrained)"),
        (ModelChoice("hybrid", encoder=LEARNED.encoder), "words and text vectors (hybrid, encoder e11)"),
        (LEARNED, "a learned model (learned, model f00d, encoder e11)"),
        (replace(LEARNED, encoder=None, cross_encoder="c2"), "a learned model (learned, model f00d, cross-encoder c2)"),
    ],
)
def test_a_model_is_kept_without_paths(choice: ModelChoice, label: str) -> None:
    used = describe_model(choice)
    assert used.label == label
    column = columns_of(WorkList)["model"]
    assert "private" not in str(column.write(used))
    assert column.read(column.write(used)) == used
    assert used.kind == choice.describe()["kind"]
    assert (used.fingerprint or "") == choice.describe().get("fingerprint", "")


def test_lists_and_searches_say_which_model_was_used(client: TestClient, list_path: str, search_path: str) -> None:
    for path in (list_path, search_path):
        html = client.get(path).text
        assert "Relevance by words<" in html
        assert 'title="words (untrained)"' in html
        assert client.get(f"/api{path}").json()["model"]["kind"] == "untrained"


def test_a_list_keeps_its_model_when_the_server_takes_another(
    client: TestClient, state: AppState, list_path: str
) -> None:
    made = load_list(state.store, list_path.rsplit("/", 1)[1])
    assert made is not None
    token = save_list(state.store, replace(made, model=describe_model(LEARNED)), "owner")
    html = client.get(path_of(token)).text
    assert "Relevance by a learned model<" in html
    assert "a learned model (learned, model f00d, encoder e11)" in html
    found = client.get(f"/api{path_of(token)}").json()["model"]
    assert ModelUsed(**found) == describe_model(LEARNED)


def as_version_1(path: Path, newer: Path) -> None:
    """A file with the tables of version 1 and the rows of a newer one."""
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.executescript(VERSION_1.read_text("utf-8"))
        connection.execute("ATTACH ? AS newer", (str(newer),))
        for (table,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info ({table})"))
            connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}")
        connection.execute("PRAGMA main.user_version = 1")
    connection.close()


def test_a_file_of_version_1_is_brought_up_to_date(generated: Collection, tmp_path: Path) -> None:
    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "new.sqlite"))
    client = client_of(state)
    paths = [posted(client, kind, QUESTION) for kind in ("/lists", "/searches")]
    draw = posted(client, f"{paths[1]}/draws")
    before, secret = client.get(f"{draw}.json").json(), state.secret
    state.close()
    as_version_1(tmp_path / "old.sqlite", tmp_path / "new.sqlite")
    for _ in range(2):  # when it is opened for the second time, nothing is left to do
        state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "old.sqlite"))
        client = client_of(state)
        assert state.secret == secret
        assert client.get(f"{draw}.json").json()["articles"] == before["articles"]
        for path in paths:
            assert "relevance by" not in client.get(path).text
            assert client.get(f"/api{path}").json()["model"] is None
        assert "Relevance by words" in client.get(posted(client, "/lists", QUESTION)).text
        posted(client, f"{paths[1]}/draws")
        state.close()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_files_of_every_version_get_the_same_columns(tmp_path: Path, version: int) -> None:
    open_app_store(tmp_path / "new.sqlite").close()
    as_version_1(tmp_path / "old.sqlite", tmp_path / "new.sqlite")
    with sqlite3.connect(tmp_path / "old.sqlite", isolation_level=None) as connection:
        for step in range(2, version + 1):
            connection.executescript(app_schema().upgrades[step])
            connection.execute(f"PRAGMA user_version = {step}")
    connection.close()
    with open_app_store(tmp_path / "old.sqlite") as old, open_app_store(tmp_path / "new.sqlite") as new:
        tables = [name for (name,) in new.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{table}')"
            assert [tuple(row) for row in old.connection.execute(columns)] == [
                tuple(row) for row in new.connection.execute(columns)
            ]
        assert server_secret(old) == server_secret(new)


@pytest.mark.parametrize("version", [VERSION + 1, 0, -1])
def test_a_file_of_an_unknown_version_is_refused_and_stays_as_it_is(tmp_path: Path, version: int) -> None:
    with open_app_store(tmp_path / "desk.sqlite") as store:
        store.connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(InputError, match=rf"of version {version}, not {VERSION}"):
        open_app_store(tmp_path / "desk.sqlite")
    with sqlite3.connect(tmp_path / "desk.sqlite") as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    connection.close()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(InputError, match="not a store of work lists"):
        open_app_store(tmp_path / "other.sqlite")
