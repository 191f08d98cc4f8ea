"""Topics: training topics, evaluation topics, and evaluation topics with their judgments."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Split, Topic, no_pages
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import Fault, InputError
from evenrank.io.json_lines import MAX_FAULTS, read_records, write_records

MAX_ID = 2**31 - 1
MAX_TOPICS = 100_000
"""Most topics of a file; the track has about a hundred."""


def read_topics(path: str | os.PathLike[str], split: Split, ids: TextIds | None = None) -> list[Topic]:
    """The topics of a JSON-lines file: `trec_topics`, `eval-topics`, `eval-topics-with-qrels`; of 2022 also `reldocs`.

    Unknown extra fields are ignored; repeated page ids are dropped, the first one stays. With `ids` page ids are text.
    """
    topics = read_records(path, lambda record: parse_topic(record, split, ids), MAX_TOPICS)
    if not topics:
        raise InputError([Fault(str(path), 0, "no topic in it", "give JSON lines with an id and a title each")])
    seen: set[int] = set()
    repeated = [t.id for t in topics if t.id in seen or seen.add(t.id)]  # type: ignore[func-returns-value]
    if repeated:
        faults = [Fault(str(path), 0, f"topic {topic} appears twice", "keep one") for topic in repeated[:MAX_FAULTS]]
        raise InputError(faults, len(repeated) - len(faults))
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
        raise ValueError(f"{key} is {_shown(value)}, not a whole number from 0 to {MAX_ID}")
    return value


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is {_shown(value)}, not text")
    return value


def _keywords(record: dict[str, Any]) -> tuple[str, ...]:
    value = record.get("keywords") or []
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"keywords is {_shown(value)}, not a list of words")
    return tuple(value)


def _pages(value: object, key: str, ids: TextIds | None) -> NDArray[np.int32]:
    """Page ids without repetition, in the file's order."""
    if value is None or value == []:
        return no_pages()
    if ids is not None:
        if not isinstance(value, list):
            raise ValueError(f"{key} is {_shown(value)}, not a list of page ids")
        return ids.numbers(dict.fromkeys(check_text_id(page, f"a page of {key}") for page in value))
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        raise ValueError(f"{key} is {_shown(value)}, not a list of page ids")
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


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
