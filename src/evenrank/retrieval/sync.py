"""`evenrank sync`: a collection follows a wiki, update by update, for as long as the process runs.

What is done is in one file, written after each update: the wiki, and the time up to which the collection has its
changes. A process that was killed between an update and that file makes the same update again, which changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.io.work_report import reported
from evenrank.retrieval.update import update_collection
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import refuse_releases
from evenrank.trec.wiki_changes import MOST_PAGES, api_time, changed_since, read_time, write_wiki_changes
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.settings import WikiError, WikiSettings

if TYPE_CHECKING:
    from prometheus_client import Metric

STATE = "sync.json"
"""File of a collection that says what its service has done."""
CHANGES = "sync-changes.jsonl"
"""File of a collection with the changes of its last update."""
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 900.0
"""Seconds before a wiki that does not answer is asked again, twice as long each time."""


@dataclass(frozen=True)
class SyncState:
    """What was done, over all runs of the service."""

    wiki: str
    """Address of the API."""
    until: str
    """The collection has the changes up to this time."""
    n_updates: int = 0
    n_put: int = 0
    n_deleted: int = 0
    n_failures: int = 0
    """Rounds that failed, because the wiki did not answer or the collection could not be written."""
    seconds: float = 0.0
    """Duration of the last update."""
    n_pages: int = 0
    n_waiting: int = 0
    """1 while the wiki has more changes than the last update took, else 0."""
    updated: str = ""
    """When the last update ended."""

    def collect(self) -> Iterator[Metric]:
        """The state as Prometheus reads it."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        lag = max(0.0, (datetime.now(UTC) - read_time(self.until)).total_seconds())
        for name, about, value in (
            ("lag_seconds", "Age of the newest change of the wiki that the collection has.", round(lag)),
            ("more_waiting", "1 while the wiki has more changes than one update takes.", self.n_waiting),
            ("pages", "Pages of the collection.", self.n_pages),
            ("update_seconds", "Duration of the last update.", round(self.seconds, 3)),
        ):
            yield GaugeMetricFamily(f"evenrank_sync_{name}", about, value)
        for name, about, value in (
            ("updates", "Updates made.", self.n_updates),
            ("pages_put", "Pages added or changed.", self.n_put),
            ("pages_deleted", "Pages deleted.", self.n_deleted),
            ("failures", "Rounds that failed.", self.n_failures),
        ):
            yield CounterMetricFamily(f"evenrank_sync_{name}", about, value)


def read_sync_state(folder: Path) -> SyncState | None:
    """The state that a service of the collection left; None when there was none."""
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        state = SyncState(**orjson.loads(path.read_bytes()))
        read_time(state.until)
    except (OSError, ValueError, TypeError, EvenrankError) as error:
        raise EvenrankError(f"{path}: damaged: {reason_of(error)} (remove it, and give --since)") from error
    return state


def first_state(folder: Path, wiki: str, since: str | None) -> SyncState:
    """Where a service begins: where the last one ended, or at a time, or at the date of the data."""
    known = read_sync_state(folder)
    if known is not None and known.wiki != wiki:
        raise EvenrankError(f"{folder}: follows {known.wiki}, not {wiki} (remove {folder / STATE} to change the wiki)")
    if since is not None:
        return replace(known or SyncState(wiki, ""), until=api_time(read_time(since)))
    if known is not None:
        return known
    date = Collection.open(folder).manifest.data_date
    if date is None:
        raise EvenrankError(f"{folder}: does not say of when its data are (give --since 2026-11-18)")
    return SyncState(wiki, api_time(read_time(date if len(date) > len("2026-11") else f"{date}-01")))


def sync_once(
    folder: FilePath,
    client: WikiClient,
    state: SyncState,
    most: int = MOST_PAGES,
    warn: Callable[[str], object] = lambda text: None,
) -> SyncState:
    """One update of a collection with what changed on its wiki since the state; the state afterwards, which is kept."""
    path, started = Path(folder), time.monotonic()
    collection = Collection.open(path)
    changed = changed_since(client, state.until, most)
    n_lines = 0
    if len(changed):
        with atomic_file(path / CHANGES) as file:
            n_lines = write_wiki_changes(client, changed, collection, file.write)
    del collection
    put = deleted = 0
    n_pages = state.n_pages
    if n_lines:
        done = update_collection(path, path / CHANGES, date=changed.until[:10], warn=warn)
        put, deleted, n_pages = done.n_put, done.n_deleted, len(done.collection)
    after = replace(
        state,
        until=changed.until,
        n_updates=state.n_updates + bool(n_lines),
        n_put=state.n_put + put,
        n_deleted=state.n_deleted + deleted,
        seconds=time.monotonic() - started,
        n_pages=n_pages or len(Collection.open(path)),
        n_waiting=int(not changed.is_all),
        updated=api_time(datetime.now(UTC)),
    )
    _keep(path, after)
    return after


def sync(
    folder: FilePath,
    wiki: WikiSettings,
    *,
    every_seconds: float = 3600.0,
    since: str | None = None,
    most: int = MOST_PAGES,
    n_rounds: int | None = None,
    metrics: Path | None = None,
    report: Callable[[SyncState], object] = lambda state: None,
    warn: Callable[[str], object] = lambda text: None,
    sleep: Callable[[float], object] = time.sleep,
) -> SyncState:
    """Update a collection from its wiki again and again; ends after `n_rounds`, or never.

    A round takes about `most` pages; where the wiki has more, the next round begins at once. After a failure it is
    repeated with growing pauses. `metrics` is a file for Prometheus (its node exporter reads text files); `report`
    receives the state after each round.
    """
    path = Path(folder)
    refuse_releases(path)
    state, pause, round_number = first_state(path, wiki.api_url, since), FIRST_PAUSE, 0
    with closing(WikiClient(wiki)) as client:
        while True:
            round_number += 1
            try:
                with reported(path, "sync"):
                    state = sync_once(path, client, state, most, warn)
                wait, pause = (0.0 if state.n_waiting else every_seconds), FIRST_PAUSE
            except (WikiError, EvenrankError) as error:
                if n_rounds is not None and round_number >= n_rounds:
                    raise
                warn(str(error))
                state = replace(state, n_failures=state.n_failures + 1)
                try:
                    _keep(path, state)
                except EvenrankError:
                    if round_number == 1:  # a folder that can only be read; later it is a full disk, which may get room
                        raise
                wait, pause = pause, min(2.0 * pause, LONGEST_PAUSE)
            report(state)
            if metrics is not None:
                try:
                    write_metrics(metrics, state)
                except OSError as error:
                    warn(f"{metrics}: could not be written: {reason_of(error)}")
            if n_rounds is not None and round_number >= n_rounds:
                return state
            sleep(wait)


def write_metrics(path: Path, state: SyncState) -> None:
    """A text file of the state, as the node exporter of Prometheus reads it."""
    from prometheus_client import CollectorRegistry, write_to_textfile

    registry = CollectorRegistry()
    registry.register(state)
    write_to_textfile(str(path), registry)


def _keep(folder: Path, state: SyncState) -> None:
    with atomic_file(folder / STATE) as file:
        file.write(orjson.dumps(asdict(state)) + b"\n")
