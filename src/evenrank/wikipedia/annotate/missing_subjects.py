"""Items of Wikidata that have an article in another Wikipedia and none in this one: what could be written."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson

from evenrank.io.atomic import atomic_file
from evenrank.io.content import RawBatch
from evenrank.io.subjects import MAX_SUBJECTS, MissingSubject
from evenrank.io.wikidata import entity_number, entity_places
from evenrank.wikipedia.annotate import instance_of
from evenrank.wikipedia.annotate.bands import count_languages
from evenrank.wikipedia.annotate.statements import item_values
from evenrank.wikipedia.annotate.store import WorkStore

NOT_SUBJECTS = frozenset({4167410, 4167836, 11266439, 11753321, 14204246, 15184295, 17442446, 4663903, 15647814})
"""Classes of items about a wiki's own pages: disambiguations, categories, templates, modules, portals and others."""
NO_LINKS = (b'"sitelinks":{}', b'"sitelinks":[]')
MAX_LABEL, MAX_DESCRIPTION = 255, 300
MISSING = """
SELECT item, label, description, n_wikis FROM subjects
WHERE label NOT IN (SELECT title FROM pages) AND label NOT IN (SELECT title FROM redirects)
    AND item NOT IN (SELECT item FROM items) AND item NOT IN (SELECT item FROM page_props)
ORDER BY n_wikis DESC, item LIMIT ?
"""


def subject_rows(batch: RawBatch, wiki: str, language: str) -> list[tuple[int, str, str, int]]:
    """Rows of `subjects` for a batch of lines: items with a label in the language, an article in another Wikipedia and
    none in the wiki. Lines that are no entity are left to whoever counts faults."""
    found = []
    for _, start, end in entity_places(batch.data):
        links = batch.data.rfind(b'"sitelinks":', start, end)
        if (
            links < 0
            or batch.data.startswith(NO_LINKS, links)
            or batch.data.find(f'"{wiki}":{{'.encode(), links, end) >= 0
        ):
            continue
        try:
            row = _row(orjson.loads(batch.data[start:end]), wiki, language)
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
        if row is not None:
            found.append(row)
    return found


def _row(entity: dict[str, Any], wiki: str, language: str) -> tuple[int, str, str, int] | None:
    links = entity.get("sitelinks") or {}
    n_wikis = 0 if entity.get("type") != "item" or wiki in links else count_languages(links)
    label = _text(entity, "labels", language)
    if not n_wikis or not label or len(label) > MAX_LABEL:
        return None
    claims = entity.get("claims") or {}
    if not NOT_SUBJECTS.isdisjoint(item_values(claims.get(instance_of.PROPERTY, []))):
        return None
    description = _text(entity, "descriptions", language)[:MAX_DESCRIPTION]
    return entity_number(entity["id"][1:]), label, description, n_wikis


def _text(entity: dict[str, Any], kind: str, language: str) -> str:
    """A label or description in a language; empty when there is none."""
    found = (entity.get(kind) or {}).get(language)
    return " ".join(str(found["value"]).split()) if found else ""


def write_subjects(path: Path, store: WorkStore) -> int:
    """Write the subjects without a page as JSON lines (gzip where the name ends so), those of most wikis first; gives
    their number. A label that is a title or a redirect of the wiki has a page."""
    rows = store.query(MISSING, [MAX_SUBJECTS]).fetchall()
    lines = b"".join(MissingSubject(f"Q{item}", label, text, n).to_json() for item, label, text, n in rows)
    with atomic_file(path) as file:
        file.write(gzip.compress(lines, mtime=0) if path.suffix == ".gz" else lines)
    return len(rows)
