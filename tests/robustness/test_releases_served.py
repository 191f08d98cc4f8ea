"""Servers on a folder of releases and on a fetched copy of it follow new releases, and back, under load."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import evenrank
from evenrank.trec.fetch_release import follow_releases
from evenrank.trec.releases import pack_collection, roll_back
from tests.robustness.commands import run
from tests.robustness.refresh_kills import N_EDITIONS, Refreshes, edition_words
from tests.robustness.server import serving
from tests.robustness.test_updates_served import changes_to, raw_answer


def wait_for(ports: list[int], n_articles: int) -> None:
    deadline = time.monotonic() + 60
    while not all(f'"articles":{n_articles},' in raw_answer(port, "/readyz") for port in ports):
        assert time.monotonic() < deadline, f"the servers do not follow to {n_articles} articles"
        time.sleep(0.2)


def release_under_load(place: Path, n_releases: int) -> Refreshes:
    """So many releases, and a return to the first one, beside visitors of two servers."""
    pytest.importorskip("uvicorn", reason="needs the extra web")
    made, folder, copy, state = place / "c", place / "releases", place / "copy", Refreshes()
    for words in (
        edition_words(made, place / "sources", 0),
        ["index", made],
        ["collection", "pack", made, folder, "--keep", 99],
        ["collection", "fetch", folder, copy, "--keep", 99],
    ):
        ended = run(words)
        assert ended.returncode == 0, ended.stderr
    warnings: list[str] = []
    is_over = threading.Event()

    def follow() -> None:
        while not is_over.is_set():
            follow_releases(folder, copy, every_seconds=0.2, keep=99, n_rounds=5, warn=warnings.append)

    with ExitStack() as stack:
        ports = [
            stack.enter_context(serving(served, "--store", place / f"{served.name}.sqlite"))[1]
            for served in (folder, copy)
        ]
        work = [threading.Thread(target=follow)]
        work += [threading.Thread(target=state.visit, args=(port, seed)) for port in ports for seed in range(2)]
        for thread in work:
            thread.start()
        try:
            for number in range(1, n_releases + 1):
                evenrank.update_collection(made, changes_to(place / "changes.jsonl", number), n_threads=1)
                pack_collection(made, folder, keep=99)
                wait_for(ports, 30 + number % N_EDITIONS)
            roll_back(folder, 1)
            wait_for(ports, 30)
        finally:
            state.is_over.set()
            is_over.set()
            for thread in work:
                thread.join()
    assert warnings == []
    return state


def test_servers_follow_a_release_and_a_rollback_without_a_failed_request(tmp_path: Path) -> None:
    state = release_under_load(tmp_path, 1)
    assert state.failures == []
    assert state.n_requests > 20


@pytest.mark.long
@pytest.mark.timeout(0)
def test_ten_releases_under_load(tmp_path: Path) -> None:
    state = release_under_load(tmp_path, 10)
    print(f"{state.n_requests:,} requests, {len(state.failures)} failures")
    assert state.failures == []
