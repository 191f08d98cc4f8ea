"""What has changed on a wiki, by its API since a moment or by its event streams → changes of a collection.

The API and the streams say which pages changed; their texts are those that the wiki has now. Pages that were deleted,
have become redirects or have left the main namespace are deleted. Metadata stay: they come from `evenrank annotate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from evenrank.core.records import Article
from evenrank.errors import EvenrankError
from evenrank.io.faults import MAX_COUNTED, FaultLog
from evenrank.io.json_lines import MAX_FAULTS, load_record, read_lines
from evenrank.trec.changes import delete_line, put_line
from evenrank.trec.collection import Collection
from evenrank.wikipedia.mediawiki.client import Record, WikiClient, object_at, record_number, records, text

ARTICLES = "0"
"""Number of the namespace of articles."""
LOGS = ("delete", "move")
"""Logs of what happens to a page without an edit: deletion and restoration, and another title."""
OVERLAP = timedelta(seconds=30)
"""Changes may come to be listed a little later than their time says; those of the last seconds are asked for again."""
MOST_PAGES = 50_000
"""Pages of one update; the others are left to the next."""
LONGEST_AGO = timedelta(days=29)
"""Wikis list changes of the last 30 days."""
PER_CALL = 20
"""Pages whose texts are asked for together; the longest have 2 MB each."""


@dataclass
class ChangedOnWiki:
    """Pages to look at, by what is known of each."""

    page_ids: set[int] = field(default_factory=set)
    titles: set[str] = field(default_factory=set)
    until: str = ""
    """Time up to which all changes are among these, as the API writes it."""
    is_all: bool = True
    """Whether that is now; else there are more."""

    def __len__(self) -> int:
        return len(self.page_ids) + len(self.titles)


def api_time(moment: datetime) -> str:
    """A time as the API writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(written: str) -> datetime:
    """A date or a time, in UTC where it does not say; EvenrankError for anything else."""
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        fix = "give a date or a time such as 2026-11-18 or 2026-11-18T12:00:00Z"
        raise EvenrankError(f"{written!r} is not a time ({fix})") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def changed_since(client: WikiClient, since: str, most: int = MOST_PAGES) -> ChangedOnWiki:
    """The pages that changed since a time; after about `most` of them, up to an earlier time than now."""
    now = client.call(action="query", meta="siteinfo", curtimestamp="1")
    until = read_time(text(now, "curtimestamp"))
    begin = read_time(since)
    if until - begin > LONGEST_AGO:
        fix = "compare two dumps instead: evenrank collection changes OLD NEW"
        raise EvenrankError(f"wikis list changes of the last 30 days, not since {api_time(begin)} ({fix})")
    found = ChangedOnWiki(until=api_time(until - OVERLAP))
    window = {"rcstart": api_time(begin), "rcend": api_time(until), "rcdir": "newer", "rclimit": "max"}
    wanted = {"rcnamespace": ARTICLES, "rctype": "edit|new", "rcprop": "ids|timestamp"}
    for part in client.query(list="recentchanges", **window, **wanted):
        for change in records(part, "recentchanges"):
            found.page_ids.add(record_number(change, "pageid"))
            found.until = text(change, "timestamp") if len(found) >= most else found.until
        if len(found) >= most:
            found.is_all = False
            break
    for log in LOGS:
        window = {"lestart": api_time(begin), "leend": found.until, "ledir": "newer", "lelimit": "max"}
        if found.is_all:
            window["leend"] = api_time(until)
        for part in client.query(list="logevents", letype=log, leprop="ids|title|timestamp|details", **window):
            for event in records(part, "logevents"):
                _add_event(found, event)
    return found


def _add_event(found: ChangedOnWiki, event: Record) -> None:
    """The pages of an entry of a log; entries that were made invisible name none."""
    params = event.get("params") if isinstance(event.get("params"), dict) else {}
    if page := event.get("logpage") or event.get("pageid"):
        found.page_ids.add(int(page))
    named = [(event.get("ns"), event.get("title"))]
    named.append((params.get("target_ns"), params.get("target_title")) if params else (None, None))
    found.titles |= {title for namespace, title in named if namespace == 0 and isinstance(title, str)}


def read_events(path: Path, wiki: str | None = None) -> ChangedOnWiki:
    """The pages named by events of MediaWiki: a record a line, or a stream of server-sent events; all faults at once.

    Events are those of `recentchange`, which name titles, and of `page_change`, which name ids. `wiki` is the name of
    the wiki whose events are wanted, such as `enwiki`; without it, all of them are.
    """
    found, faults = ChangedOnWiki(), FaultLog(MAX_FAULTS)
    for number, line in read_lines(path):
        if not line.startswith((b"{", b"data:")):
            if not line.startswith((b":", b"event:", b"id:", b"retry:")):
                faults.add(path, number, "neither a record nor part of a stream of events", "give one event a line")
            continue
        try:
            _read_event(found, load_record(line.removeprefix(b"data:")), wiki)
        except ValueError as error:
            faults.add(path, number, str(error), "give events of recentchange or page_change")
        if faults.n_faults >= MAX_COUNTED:
            break
    faults.raise_if_any()
    return found


def _read_event(found: ChangedOnWiki, event: dict[str, Any], wiki: str | None) -> None:
    name = event.get("wiki", event.get("wiki_id"))
    if wiki is not None and name is not None and name != wiki:
        return
    page = event.get("page")
    if isinstance(page, dict):
        namespace, page_id = page.get("namespace_id"), page.get("page_id")
        if type(namespace) is not int or type(page_id) is not int or page_id <= 0:
            raise ValueError("page has no namespace_id or no page_id")
        earlier = event.get("prior_state", {})
        moved = isinstance(earlier, dict) and isinstance(earlier.get("page"), dict)
        if namespace == 0 or (moved and earlier["page"].get("namespace_id") == 0):
            found.page_ids.add(page_id)
        return
    kind, title, namespace = event.get("type"), event.get("title"), event.get("namespace")
    if not isinstance(kind, str) or not isinstance(title, str) or type(namespace) is not int:
        if isinstance(event.get("meta"), dict) and event["meta"].get("domain") == "canary":
            return  # sent by the stream itself, to show that it is alive
        raise ValueError("an event without type, title and namespace")
    params = event.get("log_params")
    target = params.get("target") if isinstance(params, dict) else None
    if kind in ("edit", "new", "log"):
        found.titles |= {title} if namespace == 0 else set()
        if event.get("log_type") == "move" and isinstance(target, str):
            found.titles.add(target)


def write_wiki_changes(
    client: WikiClient, changed: ChangedOnWiki, collection: Collection | None, write: Callable[[bytes], object]
) -> int:
    """Write the changes of pages with the texts that they have now; how many there are.

    Of a `collection`, only pages that it has are deleted, also those whose title is all that is known of them.
    """
    if collection is not None and collection.manifest.has_text_ids:
        raise EvenrankError(f"{collection.path}: its page ids are text, and those of a wiki are numbers")
    n_lines, seen = 0, set[int]()
    gone = _Gone(collection)
    for pages in (
        _pages(client, "pageids", sorted(changed.page_ids)),
        _pages(client, "titles", sorted(changed.titles)),
    ):
        for page in pages:
            line = _line(page, gone)
            page_id = int(page.get("pageid", 0))
            if line is None or (page_id and page_id in seen):
                continue
            seen.add(page_id)
            write(line)
            n_lines += 1
    for page_id in gone.by_title() - seen:
        write(delete_line(page_id))
        n_lines += 1
    return n_lines


class _Gone:
    """Pages that the wiki no longer has."""

    def __init__(self, collection: Collection | None) -> None:
        self._collection = collection
        self._titles: set[str] = set()

    def has(self, page_id: int) -> bool:
        """Whether the collection has a page, or may have it."""
        return self._collection is None or bool(self._collection.has_pages(np.array([page_id]))[0])

    def add(self, title: str) -> None:
        self._titles.add(title)

    def by_title(self) -> set[int]:
        """The pages of the collection that have one of the titles."""
        titles = self._collection.titles if self._collection is not None and self._titles else None
        if titles is None or self._collection is None:
            return set()
        rows = [row for row, title in enumerate(titles) if title in self._titles]
        return set(self._collection.page_ids[rows].tolist())


def _line(page: Record, gone: _Gone) -> bytes | None:
    """The change of a page as the wiki has it now; None where there is none."""
    page_id = page.get("pageid")
    if page.get("missing") or page.get("invalid") or not page_id:
        if page_id:
            return delete_line(page_id) if gone.has(page_id) else None
        gone.add(str(page.get("title", "")))
        return None
    if page.get("ns") != 0 or page.get("redirect"):
        return delete_line(page_id) if gone.has(page_id) else None
    revisions = page.get("revisions") or [{}]
    content = object_at(revisions[0], "slots", "main", optional=True).get("content")
    if not isinstance(content, str):  # hidden, or no wikitext
        return None
    return put_line(page_id, article=Article(page_id, text(page, "title"), text(page, "fullurl"), content))


def _pages(client: WikiClient, key: str, values: list[Any]) -> Iterator[Record]:
    """What the wiki has of pages, by their ids or titles."""
    for start in range(0, len(values), PER_CALL):
        named = "\x1f" + "\x1f".join(map(str, values[start : start + PER_CALL]))
        asked = {"prop": "info|revisions", "inprop": "url", "rvprop": "content", "rvslots": "main", key: named}
        whole: dict[str, Record] = {}
        for part in client.query(**asked):
            for page in records(part, "pages"):
                whole.setdefault(str(page.get("pageid") or page.get("title")), {}).update(page)
        yield from whole.values()
