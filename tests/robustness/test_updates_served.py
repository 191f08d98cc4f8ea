"""A served collection that is updated again and again: no request fails, and every version is whole."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson
import pytest

from evenrank.retrieval.update import update_collection
from tests.robustness.commands import run
from tests.robustness.refresh_kills import N_EDITIONS, Refreshes, edition_words, opened_edition
from tests.robustness.server import serving
from tests.robustness.small_files import article

N_VISITORS = 4


def changes_to(path: Path, number: int) -> Path:
    """What leads from the edition before to this one: another title, a text, and as many pages as it has."""
    lines: list[dict[str, Any]] = []
    before, after = (30 + edition % N_EDITIONS for edition in (number - 1, number))
    titled = {**article(1), "title": f"Edition {number}"}
    for page in (titled, article(2 + number % 20), *map(article, range(before + 1, after + 1))):
        fields = {name: value for name, value in page.items() if name != "id"}
        fields["text"] += f" It was changed for edition {number}."
        lines.append({"op": "put", "id": page["id"], "article": fields})
    lines += [{"op": "delete", "id": page} for page in range(after + 1, before + 1)]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def update_under_load(place: Path, n_updates: int) -> Refreshes:
    """Visitors, and processes that open the collection, beside so many updates."""
    folder, state = place / "c", Refreshes()
    for words in (edition_words(folder, place / "sources", 0), ["index", folder]):
        ended = run(words)
        assert ended.returncode == 0, ended.stderr
    with serving(folder, "--store", place / "desk.sqlite", log=place / "log") as (_, port):
        work = [threading.Thread(target=state.open_again_and_again, args=(folder,))]
        work += [threading.Thread(target=state.visit, args=(port, number)) for number in range(N_VISITORS)]
        for thread in work:
            thread.start()
        try:
            for number in range(1, n_updates + 1):
                update_collection(folder, changes_to(place / "changes.jsonl", number))
                state.edition, state.n_finished = number, state.n_finished + 1
                _wait_for(port, 30 + number % N_EDITIONS)
        finally:
            state.is_over.set()
            for thread in work:
                thread.join()
    assert opened_edition(folder) == n_updates
    return state


def _wait_for(port: int, n_articles: int) -> None:
    """Until the server has followed the update; it looks for a new version every five seconds."""
    deadline = time.monotonic() + 60
    while f'"articles":{n_articles},' not in raw_answer(port, "/readyz"):
        assert time.monotonic() < deadline, "the server does not follow"
        time.sleep(0.2)


def raw_answer(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return str(answer.read().decode())


def test_a_server_follows_updates_without_a_failed_request(tmp_path: Path) -> None:
    state = update_under_load(tmp_path, 2)
    assert state.failures == []
    assert state.n_finished == 2
    assert state.n_requests > 20


@pytest.mark.long
@pytest.mark.timeout(0)
def test_twenty_updates_under_load(tmp_path: Path) -> None:
    state = update_under_load(tmp_path, 20)
    print(f"{state.n_requests:,} requests, {state.n_opened:,} openings, {len(state.failures)} failures")
    assert state.failures == []
    assert state.n_requests > 100
