"""The collection as pages show it: groups of articles without those of people, counts, and the age of the data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import UNKNOWN_MASK, Dimension
from evenrank.core.records import WORK_ORDER
from evenrank.trec.collection import Collection
from evenrank.trec.describe import pages_by_quality

ADDRESS_NAMES = {"geography": "region"}
"""Names of filters in addresses where they differ from the dimension's name."""
UNASSESSED = "Unassessed"
CLASSES = (*WORK_ORDER, UNASSESSED)
"""Names of quality classes by code."""
USUAL = ("geography", "gender")
"""Dimensions that a goal is about when nobody chose any."""
UNKNOWN = "date not recorded"
SYNTHETIC = "synthetic data"


def dimensions_of(collection: Collection, chosen: tuple[str, ...], as_subject: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The dimensions of a goal, as far as the collection has them.

    One that describes people does not count where its goal is as the subject is, unless nothing else does: the goals of
    the others would depend on how many people there are of each group.
    """
    known = collection.masks
    kept = tuple(name for name in chosen if name in known)
    kept = kept or collection.default_groups(name for name in USUAL if name in known) or tuple(known)[:1]
    is_personal = {dimension.name: dimension.is_personal for dimension in collection.dimensions}
    counted = tuple(name for name in kept if not (is_personal.get(name) and name in as_subject))
    return counted or kept


def shown_dimensions(collection: Collection) -> tuple[Dimension, ...]:
    """The dimensions whose groups may be shown beside an article."""
    return tuple(dimension for dimension in collection.dimensions if not dimension.is_personal)


def restricts_people(restriction: str, known: Mapping[str, Dimension]) -> bool:
    """Whether `dimension=group` names a group of people, such as a gender: a list of them would tell it of each one."""
    name, _, group = (part.strip() for part in restriction.partition("="))
    return name in known and known[name].is_personal and group.casefold() != "known"


@cache
def _words_of_one_gender() -> Mapping[str, frozenset[str]]:
    """Words of titles that are about women or men alone, by language."""
    table = tomllib.loads(files("evenrank.app.articles").joinpath("one_gender.toml").read_text("utf-8"))
    return {language: frozenset(words) for language, words in table.items()}


def is_about_one_gender(title: str, language: str) -> bool:
    """Whether the title of a subject says that it is about women or men alone."""
    words = _words_of_one_gender().get(language, frozenset())
    return any(word in words for word in re.findall(r"\w+", title.casefold()))


def valid_restrictions(within: Iterable[str], known: Mapping[str, Dimension]) -> list[str]:
    """The restrictions `dimension=group` whose group there is: newer data may lack one that a stored question names."""
    return [text for text in within if _is_valid(text, known)]


def _is_valid(restriction: str, known: Mapping[str, Dimension]) -> bool:
    name, _, group = (part.strip() for part in restriction.partition("="))
    return name in known and group.casefold() in ("known", *map(str.casefold, known[name].groups))


Corrections = tuple[tuple[int, str], ...]
"""Page ids with the regions that count for one list in place of those of the data; an empty text is unknown."""
REGIONS = ("geography", "sub-region")
"""Dimensions that say which region an article is about; the first one that a collection has can be corrected."""


def region_dimension(collection: Collection) -> Dimension | None:
    """The dimension in which people may correct articles; None where the collection has no regions."""
    return next((collection.known_dimensions[name] for name in REGIONS if name in collection.masks), None)


def correct_regions(collection: Collection, corrections: Corrections) -> Collection:
    """The same pages with other regions; in further dimensions of regions, which nobody corrected, they are unknown."""
    dimension = region_dimension(collection)
    rows = collection.rows_of(np.array([page for page, _ in corrections] or [-1], np.int64))
    if dimension is None or not corrections:
        return collection
    masks = dict(collection.masks)
    for name in REGIONS:
        if name in masks:
            masks[name] = np.array(masks[name])
            masks[name][rows[rows >= 0]] = UNKNOWN_MASK
    for row, (_, region) in zip(rows.tolist(), corrections, strict=True):
        if row >= 0 and region in dimension.groups:
            masks[dimension.name][row] = 1 << dimension.groups.index(region)
    return replace(collection, masks=masks)


def address_name(dimension: Dimension) -> str:
    """What a dimension is called in the address of a filtered list."""
    return ADDRESS_NAMES.get(dimension.name, dimension.name)


def masks_of_rows(collection: Collection, rows: NDArray[np.intp], dimension: Dimension) -> NDArray[np.integer]:
    """The mask of each row in a dimension; a page without metadata is unknown."""
    return np.where(rows >= 0, collection.masks[dimension.name][rows], UNKNOWN_MASK)


def group_labels(mask: int, dimension: Dimension) -> tuple[str, ...]:
    """The groups in a mask, in words."""
    names = dimension.readable_groups
    return tuple(name for place, name in enumerate(names) if mask >> place & 1) or (names[0],)


Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Numbers:
    """How much there is, and how much of it is unknown."""

    n_articles: int
    needs_work: float
    """Share of articles that are stubs or starts."""
    groups: Mapping[str, Counts]
    """Dimension → articles of each group; the first one is for articles of which nothing is known."""
    classes: Counts

    @property
    def unknown_region(self) -> float:
        """Share of articles without a region; 1 in a collection without regions."""
        regions = self.groups.get("geography")
        return regions[0][1] / max(1, self.n_articles) if regions else 1.0


def count_collection(collection: Collection) -> Numbers:
    """The numbers of a collection; an article of two groups counts in both."""
    groups = {}
    for dimension in shown_dimensions(collection):
        masks = np.asarray(collection.masks[dimension.name])
        names = enumerate(dimension.readable_groups)
        groups[dimension.name] = tuple((name, int(np.count_nonzero(masks >> place & 1))) for place, name in names)
    classes = pages_by_quality(collection)
    return Numbers(
        n_articles=len(collection),
        needs_work=(classes["Stub"] + classes["Start"]) / max(1, len(collection)),
        groups=groups,
        classes=tuple((UNASSESSED if name == "none" else name, count) for name, count in classes.items()),
    )


@dataclass(frozen=True)
class DataAge:
    """The age of the data in words."""

    text: str
    """E.g. `1 October 2021`; `date not recorded` when neither the sources nor the operator say it."""
    is_synthetic: bool
    """Whether the collection is a generated one."""
    date: str | None = None
    """The date of the sources, `2021-10-01` or `2021-10`; None when it is unknown, or the operator says the age."""

    @property
    def is_known(self) -> bool:
        """Whether the sources or the operator say it."""
        return self.text not in (UNKNOWN, SYNTHETIC)


def data_age(collection: Collection, said: str = "") -> DataAge:
    """The age of a collection's data. Articles and metadata are a snapshot: nothing newer is known."""
    manifest = collection.manifest
    is_synthetic = "generated" in manifest.settings
    text = said or date_in_words(manifest.data_date) or (SYNTHETIC if is_synthetic else UNKNOWN)
    return DataAge(text, is_synthetic, None if said else manifest.data_date)


def date_in_words(text: str | None) -> str:
    """`2021-10-01` as `1 October 2021`, `2021-10` as `October 2021`; empty for None."""
    if text is None:
        return ""
    has_day = len(text) > len("2021-10")
    day = date.fromisoformat(text if has_day else f"{text}-01")
    return f"{day.day} {day:%B %Y}" if has_day else f"{day:%B %Y}"


def data_mark(collection: Collection) -> str:
    """Identifies the data of a collection: another import has another value."""
    sources = collection.manifest.sources.values()
    return " ".join([collection.manifest.data_folder, *(source.md5 or str(source.size_bytes) for source in sources)])
