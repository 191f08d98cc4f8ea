"""The metadata file of an import, with the dimensions that are in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from evenrank.core.groups import Dimension
from evenrank.core.text_ids import TextIds
from evenrank.io.metadata import ForeignFieldError, Metadata, leading_fields, read_metadata
from evenrank.io.name_lists import NameLists
from evenrank.progress import progress_bar
from evenrank.trec.dimensions.dimensions import DIMENSIONS
from evenrank.trec.page_classes import FIELD

ALWAYS = ("geography", "gender")
"""Dimensions that every collection has; the others are kept when their field is in the metadata."""
OPTIONAL = (*(name for name in DIMENSIONS if name not in ALWAYS), FIELD)


def read_pages(
    path: Path, warn: Callable[[str], object], own: Sequence[Dimension] = (), ids: TextIds | None = None
) -> Metadata:
    """The metadata with the dimensions whose fields are in it, and the classes of pages where they are; read again if
    some field only comes up late.

    A field that only has the name of an optional dimension's, or of the classes, is a field of the user's own: `warn`
    receives a note, and the file is read again without it. `own` are dimensions of the user's own, which are always
    read; with `ids` page ids are text.
    """
    fields = leading_fields(path)
    foreign = set[str]()
    while True:
        try:
            has_classes = FIELD in fields and FIELD not in foreign
            metadata = _read_once(path, [*_annotated(fields, foreign), *own], ids, has_classes)
        except ForeignFieldError as error:
            foreign.add(error.dimension)
            left_out = FIELD if error.dimension == FIELD else f"the dimension {error.dimension}"
            warn(f"{error}; so {left_out} is left out of the collection")
            continue
        has_late_classes = FIELD in metadata.fields and FIELD not in foreign and not has_classes
        if len(_annotated(metadata.fields, foreign)) + len(own) == len(metadata.masks) and not has_late_classes:
            return metadata
        fields = metadata.fields


def _read_once(path: Path, dimensions: list[Dimension], ids: TextIds | None, has_classes: bool) -> Metadata:
    bar = progress_bar(path.stat().st_size if path.is_file() else 0, "metadata", "B", scale=True)
    try:
        return read_metadata(path, dimensions, bar.update, OPTIONAL, ids, NameLists(FIELD) if has_classes else None)
    finally:
        bar.close()


def _annotated(fields: frozenset[str], foreign: Collection[str]) -> list[Dimension]:
    """The dimensions that every collection has, and those whose field is there and is theirs."""
    return [d for d in DIMENSIONS.values() if d.name in ALWAYS or (d.field in fields and d.name not in foreign)]
