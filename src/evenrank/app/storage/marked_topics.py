"""What visitors of a server marked, as topics that a relevance model can learn from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from evenrank.app.request.question import question_from_json
from evenrank.app.storage.store import app_schema
from evenrank.core.records import Topic
from evenrank.database.database import Connection, Location, is_database_address, open_database
from evenrank.database.sqlite_connection import read_only

_MARKS = {
    "work_list": "SELECT w.question, m.page_id, m.kind, w.series FROM list_mark m JOIN work_list w "
    "ON w.number = (SELECT max(number) FROM work_list o WHERE o.series = m.series) ORDER BY w.series, m.page_id",
    "saved_search": "SELECT s.question, m.page_id, m.kind, s.number FROM mark m JOIN saved_search s "
    "ON s.number = m.search WHERE m.kind <> 'not-for-me' ORDER BY s.number, m.page_id",
}
"""Question, page, kind of mark and number of what is marked, for both tables."""


def marked_topics(store: Location) -> list[Topic]:
    """The questions of lists and searches with articles that were marked as off topic and others that were worked on.

    They have negative ids, apart from the topics of any collection. Private ones are left out: what is learned is used
    for everybody. A question without marks of both kinds cannot teach what distinguishes them.
    """
    with _reading(store) as connection:
        found = [_read(connection, table) for table in _MARKS]
    topics = []
    for number, (question, kinds) in enumerate((entry for part in found for entry in part), start=1):
        off_topic = {page for page, kind in kinds if kind == "off-topic"}
        relevant = {page for page, _ in kinds} - off_topic
        if off_topic and relevant:
            asked = question_from_json(question)
            pages = np.array(sorted(relevant), np.int32), np.array(sorted(relevant | off_topic), np.int32)
            topics.append(
                Topic(-number, asked.title, asked.keywords, asked.scope, rel_docs=pages[0], assessed_docs=pages[1])
            )
    return topics


@contextmanager
def _reading(store: Location) -> Iterator[Connection]:
    """A connection that sees one state of the store and changes nothing."""
    if is_database_address(store):
        with open_database(store, app_schema()) as database, database.snapshot():
            yield database.connection
        return
    file = read_only(Path(store))
    file.row_factory = sqlite3.Row
    try:
        yield file
    finally:
        file.close()


def _read(connection: Connection, table: str) -> list[tuple[str, list[tuple[int, str]]]]:
    """Questions of a table with (page, kind) of their marks."""
    private = {row[0] for row in connection.execute(f"SELECT question FROM {table} WHERE is_private = 1")}
    by_number: dict[int, tuple[str, list[tuple[int, str]]]] = {}
    for question, page, kind, number in connection.execute(_MARKS[table]):
        if question not in private:
            by_number.setdefault(number, (question, []))[1].append((page, kind))
    return list(by_number.values())
