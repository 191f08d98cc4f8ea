"""Topics and judgments: the track's topics as JSON lines, and qrels of four columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Split, Topic, no_pages
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import Fault, InputError, input_error, shown_value
from evenrank.io.atomic import atomic_file
from evenrank.io.faults import MAX_COUNTED, FaultLog
from evenrank.io.json_lines import MAX_FAULTS, read_lines, read_records, write_records
from evenrank.io.judgment_record import JudgmentRecord, read_judgment_record

MAX_ID = 2**31 - 1
MAX_TOPICS = 100_000
"""Most topics of a file; the track has about a hundred."""


def read_topics(path: str | os.PathLike[str], split: Split, ids: TextIds | None = None) -> list[Topic]:
    """The topics of a JSON-lines file: `trec_topics`, `eval-topics`, `eval-topics-with-qrels`; of 2022 also `reldocs`.

    Unknown extra fields are ignored; repeated page ids are dropped, the first one stays. With `ids` page ids are text.
    """
    topics = read_records(path, lambda record: parse_topic(record, split, ids), MAX_TOPICS)
    if not topics:
        raise input_error(path, 0, "no topic in it", "give JSON lines with an id and a title each")
    seen: set[int] = set()
    faults = FaultLog(MAX_FAULTS)
    for topic in topics:
        if topic.id in seen:
            faults.add(path, 0, f"topic {topic.id} appears twice", "keep one")
        seen.add(topic.id)
    faults.raise_if_any()
    return topics


def topics_have_text_ids(path: str | os.PathLike[str]) -> bool:
    """Whether the first page id of the first topic that has one is text."""

    def first_page(record: dict[str, Any]) -> object:
        lists = (record.get(name) for name in ("rel_docs", "assessed_docs"))
        return next((pages[0] for pages in lists if isinstance(pages, list) and pages), None)

    found = (page for page in read_records(path, first_page, MAX_TOPICS) if page is not None)
    return isinstance(next(found, None), str)


def parse_topic(record: dict[str, Any], split: Split, ids: TextIds | None = None) -> Topic:
    """A topic from its record; ValueError says what is wrong with it."""
    assessed = record.get("assessed_docs")
    tier = record.get("max_tier")
    window = record.get("judged_up_to_page_id")
    return Topic(
        id=_whole(record, "id"),
        title=_text(record, "title"),
        keywords=_keywords(record),
        scope=_text(record, "scope"),
        homepage=_text(record, "homepage") or _text(record, "url"),
        split=split,
        rel_docs=_pages(record.get("rel_docs"), "rel_docs", ids),
        assessed_docs=None if assessed is None else _pages(assessed, "assessed_docs", ids),
        max_tier=None if tier is None else _whole(record, "max_tier"),
        judged_up_to=None if window is None else _whole(record, "judged_up_to_page_id"),
    )


def topic_record(topic: Topic, ids: TextIds | None = None) -> dict[str, Any]:
    """The record of a topic, with the fields that it has; with `ids` page ids are text."""
    record: dict[str, Any] = {"id": topic.id, "title": topic.title}
    if topic.keywords:
        record["keywords"] = list(topic.keywords)
    record |= {name: value for name in ("scope", "homepage") if (value := getattr(topic, name))}
    record["rel_docs"] = _shown_pages(topic.rel_docs, ids)
    if topic.assessed_docs is not None:
        record["assessed_docs"] = _shown_pages(topic.assessed_docs, ids)
    if topic.max_tier is not None:
        record["max_tier"] = topic.max_tier
    if topic.judged_up_to is not None:
        record["judged_up_to_page_id"] = topic.judged_up_to
    return record


def write_topics(path: str | os.PathLike[str], topics: Iterable[Topic], ids: TextIds | None = None) -> None:
    """Topics as JSON lines, gzip by the name's ending; with `ids` page ids are text."""
    write_records(path, (topic_record(topic, ids) for topic in topics))


def _shown_pages(pages: NDArray[np.int32], ids: TextIds | None) -> list[int] | list[str]:
    numbers: list[int] = pages.tolist()
    return numbers if ids is None else sorted(ids.texts(numbers))


def _whole(record: dict[str, Any], key: str) -> int:
    value = record.get(key)
    if type(value) is not int or not 0 <= value <= MAX_ID:
        raise ValueError(f"{key} is {shown_value(value)}, not a whole number from 0 to {MAX_ID}")
    return value


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is {shown_value(value)}, not text")
    return value


def _keywords(record: dict[str, Any]) -> tuple[str, ...]:
    value = record.get("keywords") or []
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"keywords is {shown_value(value)}, not a list of words")
    return tuple(value)


def _pages(value: object, key: str, ids: TextIds | None) -> NDArray[np.int32]:
    """Page ids without repetition, in the file's order."""
    if value is None or value == []:
        return no_pages()
    if ids is not None:
        if not isinstance(value, list):
            raise ValueError(f"{key} is {shown_value(value)}, not a list of page ids")
        return ids.numbers(dict.fromkeys(check_text_id(page, f"a page of {key}") for page in value))
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        raise ValueError(f"{key} is {shown_value(value)}, not a list of page ids")
    try:
        pages = np.array(value, np.int64)
    except OverflowError:
        raise ValueError(f"{key} has a page id over {MAX_ID}") from None
    if pages.min() < 0 or pages.max() > MAX_ID:
        raise ValueError(f"{key} has a page id outside 0 to {MAX_ID}")
    return _first_of_each(pages.astype(np.int32))


def _first_of_each(pages: NDArray[np.int32]) -> NDArray[np.int32]:
    if np.all(pages[1:] > pages[:-1]):
        return pages
    _, first = np.unique(pages, return_index=True)
    return pages[np.sort(first)]


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


def read_all_topics(
    training: Path | None, evaluation: Sequence[Path], qrels: Sequence[Path], ids: TextIds | None = None
) -> list[Topic]:
    """Training topics, then evaluation topics; judgments in four columns replace those of the topic files."""
    train = read_topics(training, "train", ids) if training else []
    judged: list[Topic] = []
    for path in evaluation:
        judged = merge_topics(judged, read_topics(path, "eval", ids))
    shared = {topic.id for topic in train} & {topic.id for topic in judged}
    if shared:
        found = f"topic ids {sorted(shared)[:5]} are training topics too"
        raise InputError([Fault(str(path), 0, found, "give each topic one id") for path in evaluation])
    topics = [*train, *judged]
    for path in qrels:
        topics = judged_by(topics, read_qrels(path, ids=ids), read_judgment_record(path))
    return topics


def judged_by(
    topics: list[Topic], grades: dict[int, dict[int, int]], record: JudgmentRecord | None = None
) -> list[Topic]:
    """The topics with the judgments of a file of four columns; topics that it alone has are evaluation topics.

    The record beside the file says how deep each topic was judged, and names topics without any settled page.
    """
    by_id = {topic.id: topic for topic in topics}
    tiers = {} if record is None else record.tiers
    for topic in (*grades, *(tiers.keys() - grades.keys())):
        pages = grades.get(topic, {})
        known = by_id.get(topic, Topic(topic, "", split="eval"))
        has_misses = topic in tiers or any(grade <= 0 for grade in pages.values())
        assessed = np.array(sorted(pages), np.int32) if has_misses else None
        relevant = np.array(sorted(page for page, grade in pages.items() if grade > 0), np.int32)
        tier = tiers.get(topic, known.max_tier)
        by_id[topic] = replace(known, rel_docs=relevant, assessed_docs=assessed, max_tier=tier)
    return list(by_id.values())


def list_judged(topic: Topic, page_ids: NDArray[np.int32]) -> Topic:
    """The topic with the pages listed that were judged, where its judgments end at a page id."""
    if topic.judged_up_to is None or topic.assessed_docs is not None:
        return topic
    judged = page_ids[page_ids <= topic.judged_up_to].astype(np.int32)
    return replace(topic, assessed_docs=np.union1d(judged, topic.rel_docs).astype(np.int32), judged_up_to=None)


def merge_topics(topics: Sequence[Topic], others: Sequence[Topic]) -> list[Topic]:
    """Topics of two files, in any order: what one file does not say of a topic comes from the other.

    The official judgments of the evaluation topics come without keywords, which are in a file of their own.
    """
    by_id = {topic.id: topic for topic in topics}
    for other in others:
        known = by_id.get(other.id)
        by_id[other.id] = other if known is None else _filled(known, other)
    return list(by_id.values())


def _filled(topic: Topic, other: Topic) -> Topic:
    texts = {name: getattr(topic, name) or getattr(other, name) for name in ("title", "keywords", "scope", "homepage")}
    judged = topic if topic.assessed_docs is not None or len(topic.rel_docs) else other
    return replace(judged, **texts)
