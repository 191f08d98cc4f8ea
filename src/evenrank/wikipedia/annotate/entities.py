"""Lines of the Wikidata dump → the facts that pages need, and subjects that have no page yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from evenrank.errors import Fault
from evenrank.io.content import RawBatch
from evenrank.io.wikidata import (
    BrokenEntityError,
    Entity,
    Point,
    Statements,
    Wanted,
    entity_number,
    entity_places,
    item_values,
    point_values,
    read_entity,
    year_values,
)
from evenrank.wikipedia.annotate import geography
from evenrank.wikipedia.annotate.attributes import (
    DATE_PROPERTIES,
    GENDER,
    HUMAN,
    INSTANCE_OF,
    OCCUPATION,
    SUBCLASS_OF,
    count_languages,
    is_wikipedia,
    kept_classes,
)
from evenrank.wikipedia.annotate.stage import StageBatch

NOT_SUBJECTS = frozenset({4167410, 4167836, 11266439, 11753321, 14204246, 15184295, 17442446, 4663903, 15647814})
"""Classes of items about a wiki's own pages: disambiguations, categories, templates, modules, portals and others."""
NO_LINKS = (b'"sitelinks":{}', b'"sitelinks":[]')
MAX_LABEL, MAX_DESCRIPTION = 255, 300
MAX_ARTICLES = 10
"""Articles in other languages that are kept of a subject, those of the largest Wikipedias first."""
LARGEST = (
    *("enwiki", "dewiki", "frwiki", "eswiki", "itwiki", "ruwiki", "jawiki", "zhwiki", "ptwiki", "arwiki", "plwiki"),
    *("nlwiki", "ukwiki", "svwiki", "fawiki", "hewiki", "idwiki", "kowiki", "viwiki", "cawiki", "cswiki", "trwiki"),
)
"""Wikipedias that most people read."""
SubjectRow = tuple[int, str, str, int, str, bytes]


def subject_rows(batch: RawBatch, wiki: str, language: str, with_gender: bool) -> list[SubjectRow]:
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
            row = _row(orjson.loads(batch.data[start:end]), wiki, language, with_gender)
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
        if row is not None:
            found.append(row)
    return found


def _row(entity: dict[str, Any], wiki: str, language: str, with_gender: bool) -> SubjectRow | None:
    links = entity.get("sitelinks") or {}
    n_wikis = 0 if entity.get("type") != "item" or wiki in links else count_languages(links)
    label = _text(entity, "labels", language) or _text(entity, "labels", "mul")
    if not n_wikis or not label or len(label) > MAX_LABEL:
        return None
    claims = entity.get("claims") or {}
    if not NOT_SUBJECTS.isdisjoint(item_values(claims.get(INSTANCE_OF, []))):
        return None
    description = _text(entity, "descriptions", language)[:MAX_DESCRIPTION]
    number = entity_number(entity["id"][1:])
    facts = item_facts(Entity(number, claims, links), with_gender).to_json()
    return number, label, description, n_wikis, orjson.dumps(_articles(links)).decode(), facts


def _articles(links: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Titles of the articles in other Wikipedias, by wiki."""
    order = {site: place for place, site in enumerate(LARGEST)}
    sites = sorted(filter(is_wikipedia, links), key=lambda site: (order.get(site, len(order)), site))
    return {site: str(links[site]["title"]) for site in sites[:MAX_ARTICLES]}


def _text(entity: dict[str, Any], kind: str, language: str) -> str:
    """A label or description in a language; empty when there is none."""
    found = (entity.get(kind) or {}).get(language)
    return " ".join(str(found["value"]).split()) if found else ""


class ItemFacts(NamedTuple):
    """What an item with a page in the wiki says."""

    claims: Mapping[str, list[int]]
    """Items named by the properties of geography, gender and occupation, and the classes of the item."""
    points: list[Point]
    """Coordinates on Earth."""
    years: list[int]
    """Years stated, sorted."""
    n_languages: int
    """Wikipedias with a page about it."""

    @property
    def is_human(self) -> bool:
        return HUMAN in self.claims.get(INSTANCE_OF, ())

    def to_json(self) -> bytes:
        points = [tuple(point) for point in self.points]
        return orjson.dumps((self.claims, points, self.years, self.n_languages))

    @classmethod
    def from_json(cls, text: bytes) -> ItemFacts:
        claims, points, years, n_languages = orjson.loads(text)
        return cls(claims, [Point(*point) for point in points], years, n_languages)


def wanted_of(sites: tuple[str, ...], with_gender: bool) -> Wanted:
    """What to read of the dump for the pages of some wikis; without gender, P21 is not even read."""
    of_all = {geography.COUNTRY, SUBCLASS_OF}
    of_pages = of_all | {*_item_properties(with_gender), geography.COORDINATES, *DATE_PROPERTIES}
    return Wanted(sites, *(frozenset(name.encode() for name in names) for names in (of_pages, of_all)))


def _item_properties(with_gender: bool) -> tuple[str, ...]:
    """Properties whose values are kept as items."""
    genders = (GENDER,) if with_gender else ()
    return (*geography.PROPERTIES, INSTANCE_OF, *genders, OCCUPATION)


def item_facts(entity: Entity, with_gender: bool) -> ItemFacts:
    """The facts of an item with a page in the wiki; gender only of people."""
    claims = {
        name: values for name in _item_properties(with_gender) if (values := items_named(entity.statements, name))
    }
    if INSTANCE_OF in claims:
        claims[INSTANCE_OF] = kept_classes(claims[INSTANCE_OF])
    if HUMAN not in claims.get(INSTANCE_OF, ()):
        claims.pop(GENDER, None)
    years = (year_values(entity.statements[name]) for name in DATE_PROPERTIES if name in entity.statements)
    return ItemFacts(
        claims=claims,
        points=point_values(entity.statements.get(geography.COORDINATES, [])),
        years=sorted({year for found in years for year in found}),
        n_languages=count_languages(entity.sitelinks),
    )


def items_named(statements: Statements, name: str) -> list[int]:
    """Items that a property of an entity names."""
    return item_values(statements[name]) if name in statements else []


REDIRECT_BADGES = frozenset({"Q70893996", "Q70894304"})
"""Badges of a sitelink that leads to a redirect on purpose, so that the redirect's target is another topic."""

EDGE = 16
"""Bytes at either end of a batch in which the bracket of the dump is looked for."""

Rows = dict[str, list[tuple[object, ...]]]

NOT_AS_EXPECTED = (BrokenEntityError, LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What an entity raises whose JSON has other types or numbers than Wikidata's."""
LONGEST_FAULT = 160


def annotate_entities(batch: RawBatch, wiki: str, with_gender: bool, subjects_in: str | None = None) -> StageBatch:
    """Rows of `items`, `place_countries` and `superclasses` for a batch of lines; with a language, also of `subjects`.

    A pure function, for any engine to map.
    """
    found = annotate_for_wikis(batch, (wiki,), with_gender)
    items = [row[1:] for row in found.rows["wiki_items"]]
    rows = {"items": items, **{name: found.rows[name] for name in ("place_countries", "superclasses")}}
    if subjects_in is not None:
        rows["subjects"] = [*subject_rows(batch, wiki, subjects_in, with_gender)]
    return found._replace(rows=rows)


def annotate_for_wikis(batch: RawBatch, wikis: tuple[str, ...], with_gender: bool) -> StageBatch:
    """The same for the pages of several wikis; rows of `wiki_items` begin with the wiki. An entity that is broken is
    left out for all of them."""
    wanted = wanted_of(wikis, with_gender)
    rows: Rows = {"wiki_items": [], "place_countries": [], "superclasses": []}
    faults: list[Fault] = []
    n_entities = 0
    for number, start, end in entity_places(batch.data):
        try:
            entity = read_entity(batch.data, wanted, start, end)
            n_entities += 1
            if entity is not None:
                _add_rows(entity, wikis, with_gender, rows)
        except NOT_AS_EXPECTED as error:
            found = f"no entity of Wikidata: {type(error).__name__}: {error}"[:LONGEST_FAULT]
            faults.append(Fault(batch.path, batch.start.line + number - 1, found))
    tally = {"entities": n_entities, "opened": _lines_equal(batch, b"["), "closed": _lines_equal(batch, b"]")}
    return StageBatch(rows, tally, faults)


def _lines_equal(batch: RawBatch, mark: bytes) -> int:
    """1 if the first or last line of the batch is the bracket that opens or closes the dump."""
    head = batch.data[:EDGE].lstrip()
    tail = batch.data[-EDGE:].rstrip()
    return int(head == mark or head.startswith((mark + b"\n", mark + b"\r")) or tail.endswith(b"\n" + mark))


def _add_rows(entity: Entity, wikis: tuple[str, ...], with_gender: bool, rows: Rows) -> None:
    """All rows of an entity, or an error and none."""
    countries = items_named(entity.statements, geography.COUNTRY)
    classes = items_named(entity.statements, SUBCLASS_OF)
    links = [(wiki, link) for wiki in wikis if (link := entity.sitelinks.get(wiki))] if entity.sitelinks else []
    if links:
        facts = item_facts(entity, with_gender).to_json()
        rows["wiki_items"] += [(wiki, entity.id, *_title(link), facts) for wiki, link in links]
    rows["place_countries"].extend((entity.id, country) for country in countries)
    rows["superclasses"].extend((entity.id, superclass) for superclass in classes)


def _title(link: Mapping[str, Any]) -> tuple[str, bool]:
    """The title of a sitelink, and whether it leads to a redirect on purpose."""
    if not isinstance(title := link["title"], str):
        raise ValueError("the title of a sitelink is no text")
    return title, not REDIRECT_BADGES.isdisjoint(link.get("badges", ()))
