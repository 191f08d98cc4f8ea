"""Judgments of programs, such as language models: kept apart from votes, they settle nothing. They are shown beside
people's, with how well the two agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evenrank.core.text_ids import TextIds
from evenrank.trec.assessment.agreement import Bootstrap, PairAgreement, pair_agreement
from evenrank.trec.assessment.coverage import settle_all
from evenrank.trec.assessment.log import append_entry, utc_now
from evenrank.trec.assessment.votes import Store, current_votes

PEOPLE = "people"
"""Name of the settled grades beside the sources."""


@dataclass(frozen=True, slots=True, order=True)
class MachineJudgment:
    """The grade that a program gave to a page."""

    source: str
    """Name of the program, with its version."""
    topic: int
    page: int
    grade: int
    time: str
    """When it was imported."""


def machine_judgments(store: Store, source: str | None = None) -> list[MachineJudgment]:
    """The last grade of each source for each page, by source, topic and page; earlier ones stay in the file."""
    rows = store.connection.execute("SELECT source, topic, page, grade, time FROM machine_judgment ORDER BY id")
    last = {(row[0], row[1], row[2]): MachineJudgment(*row) for row in rows if source is None or row[0] == source}
    return [last[key] for key in sorted(last)]


def machine_record(judgment: MachineJudgment, ids: TextIds | None = None) -> dict[str, object]:
    """The fields of a judgment under the names of the file; with `ids` page ids are text."""
    page = judgment.page if ids is None else ids.text(judgment.page)
    fields = {"source": judgment.source, "topic": judgment.topic, "page_id": page}
    return {**fields, "grade": judgment.grade, "time": judgment.time}


def keep_machine_judgments(
    store: Store, source: str, judgments: Iterable[tuple[int, int, int]], file: Mapping[str, object], by: str | None
) -> int:
    """Number of (topic, page, grade) that are new for a source; all are kept together or none, with an entry of the
    log that says which `file` they come from.
    """
    with store.transaction() as connection:
        known = {(entry.topic, entry.page): entry.grade for entry in machine_judgments(store, source)}
        new = [(topic, page, grade) for topic, page, grade in judgments if known.get((topic, page)) != grade]
        topics = sorted({topic for topic, _, _ in new})
        connection.executemany("INSERT INTO topic (id) VALUES (?) ON CONFLICT DO NOTHING", [(one,) for one in topics])
        time = utc_now()
        connection.executemany(
            "INSERT INTO machine_judgment (source, topic, page, grade, time) VALUES (?, ?, ?, ?, ?)",
            [(source, *judgment, time) for judgment in new],
        )
        append_entry(connection, by, "import-machine", source=source, n_judgments=len(new), **file)
        return len(new)


@dataclass(frozen=True, slots=True)
class MachineAgreement:
    """A source beside people, on the pages that both have graded."""

    source: str
    n_judgments: int
    agreement: PairAgreement
    """Cohen's κ with the settled grades of people, with its interval."""
    n_too_high: int
    """Pages that people find not relevant, and the source relevant."""
    n_too_low: int
    """Pages that people find relevant, and the source not."""


def compare_with_people(store: Store, bootstrap: Bootstrap | None = None) -> list[MachineAgreement]:
    """How well each source agrees with the settled grades of people, by source."""
    setting = bootstrap or Bootstrap()
    with store.snapshot():
        judgments = machine_judgments(store)
        settled = settle_all(current_votes(store))
    people = {key: value.grade for key, value in settled.items() if value.grade is not None}
    pairs: dict[str, Counter[tuple[int, int]]] = {entry.source: Counter() for entry in judgments}
    for entry in judgments:
        grade = people.get((entry.topic, entry.page))
        if grade is not None:
            pairs[entry.source][grade, entry.grade] += 1
    sizes = Counter(entry.source for entry in judgments)
    return [
        MachineAgreement(
            source,
            sizes[source],
            pair_agreement(PEOPLE, source, tuple(sorted(both.items())), setting),
            sum(n for (person, machine), n in both.items() if person <= 0 < machine),
            sum(n for (person, machine), n in both.items() if machine <= 0 < person),
        )
        for source, both in pairs.items()
    ]
