"""A page and its item → one record of the metadata file.

The first fields are those of the track's 2021 file, name for name and type for type; then follow those of its 2022
file as far as the dumps hold them, and where the geography comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from evenrank.wikipedia.annotate import geography
from evenrank.wikipedia.annotate.attributes import (
    GENDER,
    INSTANCE_OF,
    OCCUPATION,
    ClassTitle,
    age_categories,
    class_names,
    creation_band,
    first_letter,
    gender_labels,
    languages_band,
    letter_band,
)
from evenrank.wikipedia.annotate.entities import ItemFacts
from evenrank.wikipedia.annotate.settings import AnnotateSettings


class Page(NamedTuple):
    """A page with its quality and its item."""

    page_id: int
    title: str
    quality_score: float
    quality_class: str
    item: int | None
    """Number of its Wikidata item."""
    facts: ItemFacts | None
    """What the item says."""
    creation_date: str | None


class Lookups(NamedTuple):
    """What is known about other items."""

    place_countries: geography.PlaceCountries
    """Item → countries that it states."""
    occupation_names: Callable[[int], Iterable[str]]
    """Value of P106 → the track's occupations."""
    class_title: ClassTitle
    """Value of P31 → title of the page about it."""


class Scope(NamedTuple):
    """Which fields a file has: the same for all its pages."""

    settings: AnnotateSettings
    has_items: bool
    """Whether a dump of Wikidata was read."""
    has_dates: bool
    """Whether a history dump was read."""
    namespaces: frozenset[str] = frozenset()
    """Names of the wiki's namespaces: what begins with one is no article."""


NO_FACTS = ItemFacts({}, [], [], 0)


def metadata_record(page: Page, lookups: Lookups, scope: Scope) -> dict[str, Any]:
    """The record of a page."""
    facts = page.facts or NO_FACTS
    located = _located(facts, lookups, scope.settings)
    country_ids = {country for found in located.values() for country in found}
    record: dict[str, Any] = {
        "page_id": page.page_id,
        "quality_score": page.quality_score,
        "quality_score_disc": page.quality_class,
        "geographic_locations": geography.continents_of(country_ids),
    }
    if scope.has_items and scope.settings.with_gender:
        record["gender"] = gender_labels(facts.claims.get(GENDER, ())) or None
    if scope.has_items:
        record |= _item_fields(page, facts, country_ids, located, lookups)
        classes = facts.claims.get(INSTANCE_OF, ())
        record["instance_of"] = class_names(classes, lookups.class_title, scope.namespaces)
    record |= {"first_letter": first_letter(page.title), "first_letter_category": letter_band(page.title)}
    if scope.has_dates:
        date = page.creation_date
        record |= {"creation_date": date, "creation_date_category": creation_band(date) if date else None}
    return record


def _located(facts: ItemFacts, lookups: Lookups, settings: AnnotateSettings) -> dict[str, list[int]]:
    points = facts.points if settings.with_coordinates else ()
    places = lookups.place_countries if settings.with_places else geography.no_places
    return geography.locate(facts.claims, points, places)


def _item_fields(
    page: Page, facts: ItemFacts, country_ids: set[int], located: dict[str, list[int]], lookups: Lookups
) -> dict[str, Any]:
    """Fields that need Wikidata, beside those of 2021."""
    values = facts.claims.get(OCCUPATION, ())
    return {
        "page_countries": geography.names_of(country_ids),
        "page_subcont_regions": geography.sub_regions_of(country_ids),
        "geography_provenance": {source: [f"Q{number}" for number in found] for source, found in located.items()},
        "occupations": sorted({name for value in values for name in lookups.occupation_names(value)}),
        "years": facts.years,
        "years_category": age_categories(facts.years),
        "num_sitelinks": facts.n_languages,
        "num_sitelinks_category": languages_band(facts.n_languages),
        "wikidata_id": None if page.item is None else f"Q{page.item}",
    }
