"""A running server notices when its collection was imported or indexed anew, and goes on with the new data."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool

from evenrank.app.articles.article_facts import open_facts, save_facts
from evenrank.app.desk import Desk, open_collection
from evenrank.app.lists.example import example_of
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.engines import FILE_NAME as BUILD
from evenrank.retrieval.engine.engines import open_index
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import FILE_NAME as MANIFEST

LOG = logging.getLogger("evenrank.app")
Mark = tuple[tuple[int, int, int] | None, ...]


def collection_mark(folder: Path) -> Mark:
    """What tells one state of a collection and its index from another; both files are replaced, never changed."""
    return tuple(_file_mark(path) for path in (folder / MANIFEST, folder / "index" / BUILD))


def _file_mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


async def follow_collection(app: Starlette) -> None:
    """Open the collection anew whenever it has changed and stayed as it is from one look to the next."""
    desk: Desk = app.state.desk
    seconds = desk.settings.reload_seconds
    if not seconds:
        return
    folder = desk.collection.path
    served = seen = collection_mark(folder)
    while True:
        await asyncio.sleep(seconds)
        found = collection_mark(folder)
        is_settled, seen = found == seen, found
        if found == served or not is_settled:
            continue
        served = found
        try:
            await run_in_threadpool(reload, app)
        except EvenrankError as error:
            LOG.warning("the collection has changed but cannot be used yet: %s", error)
        except Exception:
            LOG.exception("the collection has changed but could not be opened")


def reload(app: Starlette) -> None:
    """Put the collection as it is now in the place of the one that was served; requests under way keep theirs."""
    old: Desk = app.state.desk
    open_index(Collection.open(old.collection.path)).close()  # raises before anything is given up
    fresh = open_collection(old.collection.path, old.settings, old.store)
    judging = app.state.judging
    save_facts(fresh.collection, fresh.settings.max_counted, 1, fresh.settings.facts_folder)
    fresh = replace(fresh, facts=open_facts(fresh.collection, fresh.settings.facts_folder))
    example_of(fresh)
    app.state.desk = fresh
    if judging is not None:
        app.state.judging = replace(judging, desk=fresh)
    LOG.info("now serving %s articles; data: %s", f"{len(fresh.collection):,}", fresh.age.text)
