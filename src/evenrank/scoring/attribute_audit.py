"""Audit of an attribute: a sample of pages to check, the answers, and the table of errors that they estimate.

As many pages are drawn of each recorded group as of the others, and as many without a group, because rare groups would
hardly be seen otherwise; the answers are weighted back by the sizes of the groups. What people are (gender,
occupation) is never judged by looking at them: for such dimensions a second source is compared, whole and in totals.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import UNKNOWN_MASK, Dimension
from evenrank.core.rng import derive
from evenrank.core.types import FilePath, Floats
from evenrank.core.uncertainty import DimensionModel, ErrorTable, MissingGroups
from evenrank.errors import EvenrankError, Fault, InputError, UnknownNameError
from evenrank.io.tables import read_columns
from evenrank.retrieval.learn.tagging_rate import wilson_interval
from evenrank.scoring.tables import Cell, Column, Table
from evenrank.trec.collection import Collection, as_collection

HEADING = ("page_id", "title", "checked")
NO_GROUP = "none"
"""Answer for a page that belongs to no group."""
PERSONAL = "describes people, who are never judged one by one (compare a second source: --source FILE)"


@dataclass(frozen=True)
class AttributeAudit:
    """Recorded groups beside checked ones."""

    dimension: str
    groups: tuple[str, ...]
    """Known groups."""
    counts: Floats
    """Checked pages: recorded by true group, those without a group first."""
    recorded: Floats
    """All pages of the collection by recorded group, those without one first; pages of several groups left out."""
    n_open: int
    """Pages of the file without an answer."""

    @property
    def notes(self) -> list[str]:
        """What the model does not carry."""
        said = [f"{self.n_open:,} pages without an answer, left out"] if self.n_open else []
        if n_none := int(self.counts[1:, 0].sum()):
            said.append(f"{n_none:,} checked pages of a recorded group belong to none: the model has no such error")
        lacking = (self.recorded[1:] > 0) & (self.counts[1:, 1:].sum(axis=1) == 0)
        if lacking.any():
            names = ", ".join(name for name, lacks in zip(self.groups, lacking.tolist(), strict=True) if lacks)
            said.append(f"no checked page recorded as {names} has a group: any group is as likely for such pages")
        return said

    @property
    def model(self) -> DimensionModel:
        """The audit as a part of the model of what is unknown."""
        rows = [dict(zip(self.groups, row.tolist(), strict=True)) for row in self.counts[1:, 1:]]
        sizes = dict(zip(self.groups, self.recorded[1:].tolist(), strict=True))
        errors = ErrorTable(checked=dict(zip(self.groups, rows, strict=True)), recorded=sizes)
        n_checked = int(self.counts[0].sum())
        if not n_checked:
            return DimensionModel(errors=errors)
        return DimensionModel(MissingGroups(share=wilson_interval(int(self.counts[0, 1:].sum()), n_checked)), errors)

    def to_json(self) -> dict[str, Any]:
        """The section of a model's file."""
        model = self.model
        errors = {"checked": model.errors.checked, "recorded": model.errors.recorded} if model.errors else {}
        share = {} if model.missing is None else {"share": list(model.missing.share)}
        return {self.dimension: {**share, "errors": errors}}

    def table(self) -> Table:
        """A row for each recorded group: pages, checked pages, and how many of them are something else."""
        rows: list[tuple[Cell, ...]] = []
        for name, size, row, own in zip(
            (NO_GROUP, *self.groups), self.recorded.tolist(), self.counts, self.counts.diagonal().tolist(), strict=True
        ):
            n, wrong = int(row.sum()), int(row.sum() - own)
            low, high = wilson_interval(wrong, n) if n else (None, None)
            rows.append((name, int(size), n, wrong, wrong / n if n else None, low, high))
        names = ("recorded", "pages", "checked", "other", "share", "low", "high")
        return Table(tuple(Column(name, digits=3) for name in names), tuple(rows), f"Audit of {self.dimension}")

    def save(self, path: FilePath) -> None:
        """The model as a JSON file for `--assume`."""
        from evenrank.io.atomic import atomic_file

        with atomic_file(path) as file:
            file.write((json.dumps(self.to_json(), indent=2) + "\n").encode())


def audit_sample(collection: Collection | FilePath, dimension: str, size: int = 200, seed: int = 0) -> str:
    """Pages to check, as a CSV file with an empty column `checked`: equally many of each recorded group and of none.

    The file does not say what is recorded, so that answers do not follow it. EvenrankError for what describes people.
    """
    opened = as_collection(collection)
    chosen = _dimension(opened, dimension)
    if chosen.is_personal:
        raise EvenrankError(f"{dimension} {PERSONAL}")
    if size < len(chosen.groups):
        raise EvenrankError(f"a sample of {size} (give at least {len(chosen.groups)}, one page for each group)")
    rng = derive(seed, "audit", dimension)
    place = _recorded(opened, chosen)
    rows = []
    for group in range(len(chosen.groups)):
        of_group = np.flatnonzero(place == group)
        n = min(len(of_group), size // len(chosen.groups))
        rows.append(rng.choice(of_group, n, replace=False) if n else of_group[:0])
    drawn = rng.permutation(np.concatenate(rows))
    pages = opened.page_ids[drawn].tolist()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADING)
    writer.writerows(zip(map(opened.shown_id, pages), opened.titles_of(pages), [""] * len(pages), strict=True))
    return text.getvalue()


def read_audit(
    collection: Collection | FilePath, dimension: str, answers: FilePath | None = None, source: FilePath | None = None
) -> AttributeAudit:
    """The table of errors from the answers of people, or from a second source that is compared.

    Both are CSV files with the columns page_id and checked: the name of a group, or `none`. A second source is taken to
    be right, and is the only way for what describes people.
    """
    opened = as_collection(collection)
    chosen = _dimension(opened, dimension)
    if (answers is None) == (source is None):
        raise EvenrankError("give the answers of people or a second source, one of the two")
    if chosen.is_personal and source is None:
        raise EvenrankError(f"{dimension} {PERSONAL}")
    path = Path(answers or source or "")
    pages, true, n_open = _answers(path, opened, chosen)
    place = _recorded(opened, chosen)
    recorded = place[opened.rows_of(pages)]
    n = len(chosen.groups)
    kept = recorded >= 0
    counts = np.bincount(recorded[kept] * n + true[kept], minlength=n * n).reshape(n, n).astype(np.float64)
    if not counts.sum():
        raise EvenrankError(f"{path}: no page with an answer (fill the column checked)")
    sizes = np.bincount(place[place >= 0], minlength=n).astype(np.float64)
    return AttributeAudit(dimension, chosen.groups[1:], counts, sizes, n_open)


def _dimension(collection: Collection, name: str) -> Dimension:
    if name not in collection.masks:
        raise UnknownNameError("dimension", name, collection.masks, f"of {collection.path}")
    return collection.known_dimensions[name]


def _recorded(collection: Collection, dimension: Dimension) -> NDArray[np.intp]:
    """Number of the only recorded group of each page: 0 without one, −1 for pages of several or in no group at all."""
    masks = collection.masks[dimension.name]
    place = np.full(len(masks), -1, np.intp)
    for group in range(len(dimension.groups)):
        place[masks == masks.dtype.type(UNKNOWN_MASK << group)] = group
    return place


def _answers(
    path: Path, collection: Collection, dimension: Dimension
) -> tuple[NDArray[np.int64], NDArray[np.intp], int]:
    """Pages and their true groups by number, and how many pages have no answer; all faults at once."""
    table = read_columns(path)
    lacking = [name for name in (HEADING[0], HEADING[2]) if name not in table.columns]
    if lacking:
        raise InputError(
            [Fault(str(path), 1, f"no column {', '.join(lacking)}", "the columns are page_id and checked")]
        )
    number = {name.casefold(): place for place, name in enumerate((NO_GROUP, *dimension.groups[1:]))}
    faults = [Fault(str(path), line, f"{n} cells", "give one for each column") for line, n in table.malformed]
    found: dict[int, int] = {}
    n_open = 0
    for row, (given, answer) in enumerate(_cells(table.columns)):
        line = table.first_row + row if table.lines is None else int(table.lines[row])
        if not answer:
            n_open += 1
            continue
        page = _page(given, collection)
        if page is None:
            faults.append(Fault(str(path), line, f"page {given!r}", "not a page of the collection"))
        elif answer.casefold() not in number:
            choices = ", ".join((NO_GROUP, *dimension.groups[1:]))
            faults.append(Fault(str(path), line, f"checked is {answer!r}", f"choose from {choices}"))
        elif page in found:
            faults.append(Fault(str(path), line, f"page {given} appears twice", "keep one of them"))
        else:
            found[page] = number[answer.casefold()]
    if faults:
        raise InputError(faults[:20], max(0, len(faults) - 20))
    return np.array(list(found), np.int64), np.array(list(found.values()), np.intp), n_open


def _cells(columns: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for page, answer in zip(columns[HEADING[0]], columns[HEADING[2]], strict=True):
        yield str(page).strip(), "" if answer is None else str(answer).strip()


def _page(given: str, collection: Collection) -> int | None:
    """The number of a page of the collection; None when there is none."""
    if collection.text_ids is not None:
        page = collection.text_ids.find(given)
    elif given.isdecimal() and len(given) < 11:
        page = int(given)
    else:
        return None
    return page if bool(collection.has_pages(np.array([page]))[0]) else None
