"""Lines of the Wikidata dump → rows about items with a page, and about the countries and classes of all items."""

from __future__ import annotations

from evenrank.annotate import geography, occupation
from evenrank.annotate.item import item_facts, items_named, wanted_of
from evenrank.annotate.stage import StageBatch
from evenrank.errors import Fault
from evenrank.formats.batches import RawBatch
from evenrank.formats.wikidata import BrokenEntityError, Entity, entity_places, read_entity

REDIRECT_BADGES = frozenset({"Q70893996", "Q70894304"})
"""Badges of a sitelink that leads to a redirect on purpose, so that the redirect's target is another topic."""

EDGE = 16
"""Bytes at either end of a batch in which the bracket of the dump is looked for."""

Rows = dict[str, list[tuple[object, ...]]]


def annotate_entities(batch: RawBatch, wiki: str, with_gender: bool) -> StageBatch:
    """Rows of `items`, `place_countries` and `superclasses` for a batch of lines.

    A pure function, for any engine to map.
    """
    wanted = wanted_of(wiki, with_gender)
    rows: Rows = {"items": [], "place_countries": [], "superclasses": []}
    faults: list[Fault] = []
    n_entities = 0
    for number, start, end in entity_places(batch.data):
        try:
            entity = read_entity(batch.data, wanted, start, end)
            n_entities += 1
            if entity is not None:
                _add_rows(entity, wiki, with_gender, rows)
        except (BrokenEntityError, KeyError, TypeError, ValueError) as error:
            faults.append(Fault(batch.path, batch.start.line + number - 1, f"no entity of Wikidata: {error}"))
    tally = {"entities": n_entities, "opened": _lines_equal(batch, b"["), "closed": _lines_equal(batch, b"]")}
    return StageBatch(rows, tally, faults)


def _lines_equal(batch: RawBatch, mark: bytes) -> int:
    """1 if the first or last line of the batch is the bracket that opens or closes the dump."""
    head, tail = batch.data[:EDGE].lstrip(), batch.data[-EDGE:].rstrip()
    return int(head == mark or head.startswith((mark + b"\n", mark + b"\r")) or tail.endswith(b"\n" + mark))


def _add_rows(entity: Entity, wiki: str, with_gender: bool, rows: Rows) -> None:
    if link := entity.sitelinks.get(wiki):
        is_redirect = not REDIRECT_BADGES.isdisjoint(link.get("badges", ()))
        facts = item_facts(entity, with_gender).to_json()
        rows["items"].append((entity.id, link["title"], is_redirect, facts))
    countries = items_named(entity.statements, geography.COUNTRY)
    rows["place_countries"].extend((entity.id, country) for country in countries)
    classes = items_named(entity.statements, occupation.SUBCLASS_OF)
    rows["superclasses"].extend((entity.id, superclass) for superclass in classes)
