"""Four-column qrels: topic, iteration, page, grade."""

from __future__ import annotations

import os
from collections.abc import Iterable

from evenrank.errors import Fault, InputError
from evenrank.formats.atomic import atomic_file
from evenrank.formats.json_lines import MAX_FAULTS, read_lines

MAX_ID = 2**31 - 1


def read_qrels(path: str | os.PathLike[str], min_grade: int | None = None) -> dict[int, dict[int, int]]:
    """Grades by topic and page; a pair that appears twice must have one grade, and none is below `min_grade`."""
    grades: dict[int, dict[int, int]] = {}
    faults: list[Fault] = []
    for number, line in read_lines(path):
        try:
            topic, page, grade = parse_judgment(line)
            if min_grade is not None and grade < min_grade:
                raise ValueError(f"grade {grade} is below {min_grade}")
            if grades.setdefault(topic, {}).setdefault(page, grade) != grade:
                raise ValueError(f"topic {topic}, page {page} has another grade further up")
        except ValueError as error:
            faults.append(Fault(str(path), number, str(error), "give topic 0 page grade, all whole numbers"))
    if not grades and not faults:
        faults.append(Fault(str(path), 0, "empty file", "give one judgment a line"))
    if faults:
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    return grades


def parse_judgment(line: bytes) -> tuple[int, int, int]:
    """(topic, page, grade) of one line; ValueError says what is wrong with it."""
    try:
        cells = line.decode().split()
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    if len(cells) != 4:
        raise ValueError(f"{len(cells)} columns, not 4")
    topic, _, page, grade = cells
    if not (topic.isascii() and topic.isdigit() and page.isascii() and page.isdigit()):
        raise ValueError(f"topic {topic[:20]!r} or page {page[:20]!r} is not a whole number")
    if max(len(topic), len(page)) > 10 or max(int(topic), int(page)) > MAX_ID:
        raise ValueError(f"topic or page is over {MAX_ID}")
    if not grade.removeprefix("-").isdigit() or not grade.isascii() or len(grade) > 9:
        raise ValueError(f"grade {grade[:20]!r} is not a whole number")
    return int(topic), int(page), int(grade)


def write_qrels(path: str | os.PathLike[str], judgments: Iterable[tuple[int, int, int]]) -> None:
    """(topic, page, grade) triples as a qrels file, in the order given."""
    with atomic_file(path) as file:
        file.writelines(f"{topic} 0 {page} {grade}\n".encode() for topic, page, grade in judgments)
