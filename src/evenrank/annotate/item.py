"""An entity of Wikidata → the facts that pages need of it, small enough to keep for millions of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from evenrank.annotate import gender, geography, occupation, topic_age
from evenrank.annotate.languages import count_languages
from evenrank.annotate.statements import Point, item_values, point_values, year_values
from evenrank.formats.wikidata import Entity, Statements, Wanted


class ItemFacts(NamedTuple):
    """What an item with a page in the wiki says."""

    claims: Mapping[str, list[int]]
    """Items named by the properties of geography, gender and occupation."""
    points: list[Point]
    """Coordinates on Earth."""
    years: list[int]
    """Years stated, sorted."""
    n_languages: int
    """Wikipedias with a page about it."""

    @property
    def is_human(self) -> bool:
        return gender.HUMAN in self.claims.get(gender.INSTANCE_OF, ())

    def to_json(self) -> bytes:
        points = [tuple(point) for point in self.points]
        return orjson.dumps((self.claims, points, self.years, self.n_languages))

    @classmethod
    def from_json(cls, text: bytes) -> ItemFacts:
        claims, points, years, n_languages = orjson.loads(text)
        return cls(claims, [Point(*point) for point in points], years, n_languages)


def wanted_of(site: str, with_gender: bool) -> Wanted:
    """What to read of the dump for the pages of a wiki; without gender, P21 is not even read."""
    of_all = {geography.COUNTRY, occupation.SUBCLASS_OF}
    of_pages = of_all | {*_item_properties(with_gender), geography.COORDINATES, *topic_age.PROPERTIES}
    return Wanted(site, *(frozenset(name.encode() for name in names) for names in (of_pages, of_all)))


def _item_properties(with_gender: bool) -> tuple[str, ...]:
    """Properties whose values are kept as items."""
    genders = (gender.PROPERTY,) if with_gender else ()
    return (*geography.PROPERTIES, gender.INSTANCE_OF, *genders, occupation.PROPERTY)


def item_facts(entity: Entity, with_gender: bool) -> ItemFacts:
    """The facts of an item with a page in the wiki. Of P31 only "human" is kept."""
    claims = {
        name: values for name in _item_properties(with_gender) if (values := items_named(entity.statements, name))
    }
    if gender.HUMAN in claims.pop(gender.INSTANCE_OF, ()):
        claims[gender.INSTANCE_OF] = [gender.HUMAN]
    else:
        claims.pop(gender.PROPERTY, None)
    years = (year_values(entity.statements[name]) for name in topic_age.PROPERTIES if name in entity.statements)
    return ItemFacts(
        claims=claims,
        points=point_values(entity.statements.get(geography.COORDINATES, [])),
        years=sorted({year for found in years for year in found}),
        n_languages=count_languages(entity.sitelinks),
    )


def items_named(statements: Statements, name: str) -> list[int]:
    """Items that a property of an entity names."""
    return item_values(statements[name]) if name in statements else []
