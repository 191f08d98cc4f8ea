"""Subjects that could have a page: items with an article in another Wikipedia and none in this one."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import orjson

from evenrank.io.atomic import atomic_file
from evenrank.io.subjects import MAX_SUBJECTS, MissingSubject
from evenrank.wikipedia.annotate.entities import ItemFacts
from evenrank.wikipedia.annotate.record import Lookups, Page, Scope, metadata_record
from evenrank.wikipedia.annotate.stage import WorkStore

MISSING = """
SELECT item, label, description, n_wikis, articles, facts FROM subjects
WHERE label NOT IN (SELECT title FROM pages) AND label NOT IN (SELECT title FROM redirects)
    AND item NOT IN (SELECT item FROM items) AND item NOT IN (SELECT item FROM page_props)
ORDER BY n_wikis DESC, item LIMIT ?
"""
GROUP_FIELDS = ("geographic_locations", "gender", "page_subcont_regions", "occupations", "years_category")
"""Fields of page metadata that a subject has, too: they say which groups it is in."""


def write_subjects(path: Path, store: WorkStore, lookups: Lookups, scope: Scope) -> int:
    """Write the subjects without a page as JSON lines (gzip where the name ends so), those of most wikis first; gives
    their number. A label that is a title or a redirect of the wiki has a page."""
    n_subjects = 0
    with atomic_file(path) as file:
        out = gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) if path.suffix == ".gz" else file
        for subject in _subjects(store, lookups, scope):
            out.write(subject.to_json())
            n_subjects += 1
        if out is not file:
            out.close()
    return n_subjects


def _subjects(store: WorkStore, lookups: Lookups, scope: Scope) -> Iterator[MissingSubject]:
    for item, label, text, n_wikis, articles, facts in store.query(MISSING, [MAX_SUBJECTS]):
        page = Page(0, label, 0.0, "", item, ItemFacts.from_json(facts), None)
        record = metadata_record(page, lookups, scope)
        groups = {name: record[name] for name in GROUP_FIELDS if record.get(name)}
        more = orjson.dumps({"articles": orjson.loads(articles), **groups})
        yield MissingSubject(f"Q{item}", label, text, n_wikis, more)
