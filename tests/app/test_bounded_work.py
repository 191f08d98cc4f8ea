"""Work and storage that visitors can ask for has a limit."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.app.lists import analysis as module
from evenrank.app.lists.work_list import load_list
from evenrank.app.state import AppState
from evenrank.app.storage import saved_request as kept
from evenrank.scoring import feedback
from tests.desk_collections import QUESTION


def test_a_trade_off_is_worked_out_once_for_twenty_who_ask_at_once(
    state: AppState, list_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_list = load_list(state.store, list_path.rpartition("/")[2])
    assert work_list is not None
    real, n_calls = module._worked_out, []

    def counted(*arguments: object) -> object:
        n_calls.append(1)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_worked_out", counted)
    curves: list[object] = []
    threads = [threading.Thread(target=lambda: curves.append(module.trade_off(state, work_list))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(n_calls) == 1
    assert len(curves) == 20


def test_a_visitor_keeps_a_limited_number_of_lists(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "limit_of", lambda store, name: 2)
    statuses = [client.post("/lists", data=QUESTION).status_code for _ in range(3)]
    assert statuses == [303, 303, 400]


def test_runs_whose_names_differ_in_odd_characters_have_files_of_their_own() -> None:
    written: list[Path] = []
    for run in ("a b", "a_b", "A_B", "a/b", "a_b-2"):
        written.append(Path(f"{feedback._free_name(run, written)}.csv"))
    assert len({path.name.casefold() for path in written}) == 5
    assert [path.name for path in written][:2] == ["a_b.csv", "a_b-2.csv"]
