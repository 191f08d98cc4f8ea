"""Four-column qrels: topic, iteration, page, grade."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice

from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.io.atomic import atomic_file
from evenrank.io.faults import MAX_COUNTED, FaultLog
from evenrank.io.json_lines import MAX_FAULTS, read_lines

MAX_ID = 2**31 - 1
MAX_JUDGMENTS = 2_000_000
"""Most lines of a qrels file; TREC's largest have a few hundred thousand."""


def read_qrels(
    path: str | os.PathLike[str],
    min_grade: int | None = None,
    max_judgments: int = MAX_JUDGMENTS,
    ids: TextIds | None = None,
) -> dict[int, dict[int, int]]:
    """Grades by topic and page; a pair that appears twice must have one grade, and none is below `min_grade`.

    With `ids` page ids are text.
    """
    grades: dict[int, dict[int, int]] = {}
    faults = FaultLog(MAX_FAULTS)
    for n_read, (number, line) in enumerate(read_lines(path), 1):
        try:
            topic, page, grade = parse_judgment(line, ids)
            if min_grade is not None and grade < min_grade:
                raise ValueError(f"grade {grade} is below {min_grade}")
            if grades.setdefault(topic, {}).setdefault(page, grade) != grade:
                shown = page if ids is None else ids.text(page)
                raise ValueError(f"topic {topic}, page {shown} has another grade further up")
        except ValueError as error:
            faults.add(
                path,
                number,
                str(error),
                "give topic 0 page grade, all whole numbers" if ids is None else "give topic 0 page grade",
            )
        if n_read > max_judgments:
            faults.add(path, number, f"more than {max_judgments:,} judgments", "is this file of the right kind?")
            break
        if faults.n_faults >= MAX_COUNTED:
            break
    if not grades and not faults.n_faults:
        faults.add(path, 0, "empty file", "give one judgment a line")
    faults.raise_if_any()
    return grades


def qrels_have_text_ids(path: str | os.PathLike[str]) -> bool:
    """Whether no page of the file is a whole number; False where it has none. A mixture is not text: it is refused."""
    rows = (line.split(None, 5) for _, line in islice(read_lines(path), MAX_JUDGMENTS))
    pages = (cells[2] for cells in rows if len(cells) == 4)
    first = next(pages, b"0")
    return not first.isdigit() and not any(page.isdigit() for page in pages)


def parse_judgment(line: bytes, ids: TextIds | None = None) -> tuple[int, int, int]:
    """(topic, page, grade) of one line; ValueError says what is wrong with it."""
    cells = line.split(None, 5)
    if len(cells) != 4:
        raise ValueError(f"{len(cells)} columns, not 4" if len(cells) < 5 else "more than 4 columns")
    try:
        topic, _, page, grade = (cell.decode() for cell in cells)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    if ids is not None:
        page = str(ids.number(check_text_id(page, "page")))
    if not (topic.isascii() and topic.isdigit() and page.isascii() and page.isdigit()):
        raise ValueError(f"topic {topic[:20]!r} or page {page[:20]!r} is not a whole number")
    if max(len(topic), len(page)) > 10 or max(int(topic), int(page)) > MAX_ID:
        raise ValueError(f"topic or page is over {MAX_ID}")
    if not grade.removeprefix("-").isdigit() or not grade.isascii() or len(grade) > 9:
        raise ValueError(f"grade {grade[:20]!r} is not a whole number")
    return int(topic), int(page), int(grade)


def write_qrels(path: str | os.PathLike[str], judgments: Iterable[tuple[int, int | str, int]]) -> None:
    """(topic, page, grade) triples as a qrels file, in the order given."""
    with atomic_file(path) as file:
        file.writelines(f"{topic} 0 {page} {grade}\n".encode() for topic, page, grade in judgments)
