"""Projects and the pages they tagged, from the tables of MediaWiki's extension PageAssessments."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import WORK_ORDER
from evenrank.io.faults import FaultLog
from evenrank.io.sql_dump import read_sql_rows
from evenrank.progress import track

LARGEST_PAGE_ID = 2**31 - 1
ASSESSMENTS = ("pa_page_id", "pa_project_id", "pa_class", "pa_importance", "pa_page_revision")
"""Columns of `page_assessments`, in the order of the extension."""
PROJECTS = ("pap_project_id", "pap_project_title", "pap_parent_id")
"""Columns of `page_assessments_projects`."""
MAX_ORPHANS = 0.01
"""Largest share of rows whose project may be missing."""
CLASSES = (*WORK_ORDER, "A", "FL", "List", "Unassessed", "Unknown", "Top", "High", "Mid", "Low")
_CLASS_BY_FOLDED = {name.casefold(): name for name in CLASSES}


@dataclass(slots=True)
class PageList:
    """The pages of a project, as they are read."""

    page_ids: array[int] = field(default_factory=lambda: array("i"))
    times: array[int] = field(default_factory=lambda: array("q"))
    """What orders taggings by time: a number that rises over the whole wiki."""
    classes: list[str] = field(default_factory=list)
    importances: list[str] = field(default_factory=list)

    def add(self, page_id: int, time: int, quality: str = "", importance: str = "") -> None:
        self.page_ids.append(page_id)
        self.times.append(time)
        self.classes.append(quality)
        self.importances.append(importance)


@dataclass(frozen=True)
class Project:
    """A project, or what serves as one, with the pages it tagged, ascending and each once."""

    title: str
    homepage: str
    """Title of the page about it, with its namespace."""
    page_ids: NDArray[np.int32]
    times: NDArray[np.int64]
    """What orders taggings by time, beside the pages."""
    classes: tuple[str, ...]
    """Class that the project gave to each page; empty where none is known."""
    importances: tuple[str, ...]
    scope: str = ""
    """What the page about it says; empty where it was not read."""

    def pages_in(self, article_ids: NDArray[np.int32]) -> Project:
        """The project with those of its pages that are articles; `article_ids` ascend."""
        places = np.minimum(np.searchsorted(article_ids, self.page_ids), max(len(article_ids) - 1, 0))
        keep = np.flatnonzero(article_ids[places] == self.page_ids).tolist() if len(article_ids) else []
        return replace(
            self,
            page_ids=self.page_ids[keep],
            times=self.times[keep],
            classes=tuple(self.classes[at] for at in keep),
            importances=tuple(self.importances[at] for at in keep),
        )


def make_project(title: str, homepage: str, pages: PageList, scope: str = "") -> Project:
    """The project with its pages in order; of a page that is listed twice the last listing counts."""
    last = {page: at for at, page in enumerate(pages.page_ids)}
    order = [last[page] for page in sorted(last)]
    return Project(
        title,
        homepage,
        np.array(sorted(last), np.int32),
        np.array([pages.times[at] for at in order], np.int64),
        tuple(pages.classes[at] for at in order),
        tuple(pages.importances[at] for at in order),
        scope,
    )


def usual_class(text: str) -> str:
    """A class or importance as English Wikipedia writes it; other words stay as they are."""
    return _CLASS_BY_FOLDED.get(text.strip().casefold(), text.strip())


def read_assessments(
    assessments: Path, projects: Path, homepage_of: Callable[[str], str]
) -> tuple[list[Project], FaultLog]:
    """The projects of a wiki by title, from the dumps of the two tables of PageAssessments; all faults at once.

    `homepage_of` gives the title of the page about a project. Some rows name projects that were deleted: they are left
    out and logged, unless there are so many that the two dumps cannot be of the same day.
    """
    faults = FaultLog()
    titles = _read_titles(projects, faults)
    lists: dict[int, PageList] = {number: PageList() for number in titles}
    orphans, n_rows = FaultLog(), 0
    rows = read_sql_rows(assessments, "page_assessments", ASSESSMENTS, ASSESSMENTS, faults)
    names: dict[bytes | None, str] = {}
    for line, row in track(rows, assessments.name, unit="row"):
        try:
            page, project, revision = (_number(row[at], ASSESSMENTS[at]) for at in (0, 1, 4))
        except ValueError as error:
            faults.add(assessments, line, str(error), "download the file again")
            continue
        n_rows += 1
        if project not in lists:
            fix = f"give {projects.name} of the same day"
            orphans.add(assessments, line, f"project {project}, which {projects.name} does not have", fix)
            continue
        for value in row[2:4]:
            if value not in names:
                names[value] = usual_class((value or b"").decode("utf-8", "replace"))
        lists[project].add(page, revision, names[row[2]], names[row[3]])
    if orphans.n_faults > MAX_ORPHANS * n_rows:
        faults.merge(orphans)
    faults.raise_if_any()
    return _named_projects(titles, lists, homepage_of), orphans


def _read_titles(path: Path, faults: FaultLog) -> dict[int, str]:
    """Titles of projects by number."""
    titles: dict[int, str] = {}
    for line, (number, title) in read_sql_rows(path, "page_assessments_projects", PROJECTS[:2], PROJECTS, faults):
        try:
            name = (title or b"").decode("utf-8").replace("_", " ").strip()
            if not name:
                raise ValueError(f"project {number!r} without a title")
            titles[_number(number, PROJECTS[0])] = name
        except ValueError as error:
            faults.add(path, line, str(error), "fix the row or leave it out")
    return titles


def _named_projects(
    titles: dict[int, str], lists: dict[int, PageList], homepage_of: Callable[[str], str]
) -> list[Project]:
    """Projects in the order of their titles; those without pages are left out."""
    by_title = sorted((title, number) for number, title in titles.items())
    return [
        make_project(title, homepage_of(title), lists[number]) for title, number in by_title if lists[number].page_ids
    ]


def _number(value: bytes | None, column: str) -> int:
    if value is None or not value.isdigit() or len(value) > 18:
        raise ValueError(
            f"{column} is {'NULL' if value is None else value[:20].decode('utf-8', 'replace')!r}, not a number"
        )
    if column == ASSESSMENTS[0] and not 0 < int(value) <= LARGEST_PAGE_ID:
        raise ValueError(f"{column} is {int(value)}, not from 1 to {LARGEST_PAGE_ID}")
    return int(value)
