"""Is a run valid? Every fault with its file and line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.protocol import DEFAULT_PROTOCOL, PROTOCOLS, Protocol
from evenrank.core.safe_text import path_text
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, Fault, InputError
from evenrank.io.faults import MAX_COUNTED
from evenrank.io.judgment_record import sha256_of
from evenrank.io.run_rows import RunRows, read_rows
from evenrank.io.runs import split_name
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.trec.assessment.pool import Receipt
from evenrank.trec.collection import Collection, as_collection

INTERLEAVED_LINES = 50
"""Resumed rankings up to which each is a fault of its own."""

ALMOST_ALL = 0.9
"""Share of the lines that must have a fault in common for a diagnosis."""
FEW_ROWS = 10
"""Lines below which nothing is diagnosed."""
MAX_OF_A_KIND = 10_000
"""Faults of one kind that are shown; the others are counted."""


@dataclass(frozen=True)
class CheckedRun:
    """What a check found."""

    faults: list[Fault]
    """Everything that is wrong; empty for a valid run."""
    notes: list[str]
    """What is unusual and nevertheless valid."""
    diagnoses: list[str] = field(default_factory=list)
    """What most of the faults have in common, such as columns in another order."""
    checksum: str = field(default="", compare=False)
    """SHA-256 of the file; empty for standard input."""
    n_more: int = 0
    """Faults that the list only counts, in its last entry."""
    is_read_whole: bool = True
    """Whether the file was read to its end, so that all its faults are counted."""

    @property
    def n_faults(self) -> int:
        """How many faults there are, or how many at least where the file was not read to its end."""
        return len(self.faults) - bool(self.n_more) + self.n_more

    def record(self, path: FilePath, limit: int) -> dict[str, Any]:
        """The check as JSON has it, with the first `limit` faults."""
        return {
            "file": path_text(path),
            "sha256": self.checksum or None,
            "is_valid": not self.faults,
            "n_faults": self.n_faults,
            "diagnoses": list(map(path_text, self.diagnoses)),
            "faults": [
                {"line": fault.line or None, "found": path_text(fault.found), "fix": path_text(fault.fix)}
                for fault in self.faults[:limit]
            ],
            "notes": list(map(path_text, self.notes)),
        }


MAX_SHOWN = 5
"""Faults shown of a run that may not enter a pool."""


def admit_runs(
    collection: Collection | FilePath,
    runs: Iterable[FilePath],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    despite: str = "",
) -> dict[str, Receipt]:
    """A receipt for each run file, by the name of the run; InputError for runs that fail the check.

    `despite` says why runs with faults may enter nevertheless; their receipts have the reason.
    """
    opened = as_collection(collection)
    receipts: dict[str, Receipt] = {}
    refused: list[Fault] = []
    for given in runs:
        name, path = split_name(given)
        if str(path) == "-":
            raise EvenrankError("standard input has no checksum: save the run to a file, and pool that")
        checked = check_run(opened, path, protocol)
        n_faults = checked.n_faults
        if n_faults and not despite:
            first = "".join(f": {diagnosis}" for diagnosis in checked.diagnoses)
            fix = "correct the run, or say with --despite why it may enter the pool"
            refused.append(Fault(str(path), 0, f"{n_faults:,} fault{'s' * (n_faults != 1)}{first}", fix))
            refused += checked.faults[:MAX_SHOWN]
        receipts[name] = Receipt(
            file=path.name,
            sha256=checked.checksum,
            size_bytes=path.stat().st_size,
            protocol=settle_protocol(protocol).name,
            n_faults=n_faults,
            despite=despite if n_faults else "",
        )
    if refused:
        raise InputError(refused, 0)
    return receipts


def check_run(
    collection: Collection, path: str | os.PathLike[str], protocol: str | Protocol = DEFAULT_PROTOCOL
) -> CheckedRun:
    """All faults of a run file: of its form, of its ids, and of its rankings, by the lengths of the protocol."""
    rows = read_rows(path, collection.text_ids)
    checksum = "" if os.fspath(path) == "-" or not os.path.isfile(path) else sha256_of(path)
    whole = [rows.diagnosis] if rows.diagnosis else []
    is_whole = rows.n_more_faults < MAX_COUNTED
    if len(rows.pages) == 0:
        listed = [*sorted(rows.faults), *_rest(str(path), rows.n_more_faults)]
        return CheckedRun(listed, [], whole, checksum, rows.n_more_faults, is_whole)
    check = _Check(collection, str(path), rows, settle_protocol(protocol))
    interleaved = list(check.interleaved())
    notes = []
    if check.is_wholly_interleaved(len(interleaved)):
        notes.append(
            f"{path}: rankings are interleaved throughout; their lines are gathered by topic and ranking number"
        )
        interleaved = []
    of_file = [fault for fault in rows.faults if not fault.line]
    found = [fault for fault in rows.faults if fault.line]
    n_more = rows.n_more_faults
    sizes: Iterator[Fault] = iter(()) if rows.is_cut else check.sizes()
    diagnoses = [*whole, *check.diagnoses()]
    for faults in (
        check.ids(),
        check.repeated(),
        iter(interleaved),
        check.swapped_ranks(),
        sizes,
        check.contradictions(),
    ):
        found += islice(faults, MAX_OF_A_KIND)
        n_more += sum(1 for _ in faults)
    ordered = sorted(found, key=lambda fault: (fault.line or 2**60, fault.found))
    listed = [*of_file, *ordered, *_rest(str(path), n_more)]
    return CheckedRun(listed, notes, diagnoses, checksum, n_more, is_whole)


def _rest(path: str, n_more: int) -> list[Fault]:
    """The entry that counts faults beyond those that are listed, if there are any."""
    return [Fault(path, 0, f"… and {n_more:,} more faults of these kinds")] if n_more else []


@dataclass
class _Check:
    """The checks of one file; rankings are numbered in the order in which they first appear."""

    collection: Collection
    path: str
    rows: RunRows
    protocol: Protocol

    def __post_init__(self) -> None:
        self._key = self.rows.topic_ids.astype(np.int64) << 32 | self.rows.repeats

    def _fault(self, row: int, found: str, fix: str) -> Fault:
        return Fault(self.path, int(self.rows.lines[row]), found, fix)

    def diagnoses(self) -> Iterator[str]:
        """What is wrong with the file as a whole: columns in another order, ranks against scores."""
        yield from self._swapped_columns()
        yield from self._strange_numbers()
        yield from self._equal_lengths()
        inverted, n_pairs = self._inversions()
        if len(inverted) < FEW_ROWS:
            return
        is_throughout = len(inverted) > ALMOST_ALL * n_pairs
        where = f"in {len(inverted):,} lines, first in line {self.rows.lines[inverted].min()}"
        found = "scores rise with the rank throughout: they look like distances, or ranks are counted from the end"
        yield f"{found if is_throughout else 'rank and score contradict each other'} ({where}; scores decide the order)"

    def _swapped_columns(self) -> Iterator[str]:
        """A diagnosis when another column than the first one has the topics."""
        rows = self.rows
        if rows.ids is not None or len(rows.pages) < FEW_ROWS:
            return
        places = {1: rows.topic_ids, 3: rows.pages} if rows.trec_ranks is not None else {1: rows.topic_ids}
        if rows.trec_ranks is None:
            places |= {2: rows.pages} if rows.task == 1 else {2: rows.repeats, 3: rows.pages}
        topics = np.fromiter(self.collection.topic_by_id, np.int64)
        shares = {place: float(np.isin(values, topics).mean()) for place, values in places.items()}
        best = max(shares, key=lambda place: shares[place])
        if best != 1 and shares[best] > ALMOST_ALL and shares[1] < 1 - ALMOST_ALL:
            yield f"columns 1 and {best} look swapped: topics are in column {best} (put the topic first)"

    def _strange_numbers(self) -> Iterator[str]:
        """A diagnosis when the column of ranking numbers has something else, although topics are in their place."""
        rows = self.rows
        if rows.task == 1 or rows.ids is not None or len(rows.pages) < FEW_ROWS:
            return
        wanted = range(1, self.protocol.n_rankings(2) + 1)
        if np.isin(rows.topic_ids, list(self.collection.topic_by_id)).mean() <= ALMOST_ALL:
            return
        if np.isin(rows.repeats, wanted).mean() >= 1 - ALMOST_ALL:
            return
        if np.isin(rows.pages, wanted).mean() > ALMOST_ALL:
            yield "columns 2 and 3 look swapped: ranking numbers are in column 3 (put them second)"
        elif rows.trec_ranks is not None and not rows.pages.any():
            yield "columns 2 and 3 look swapped: column 3 is 0 throughout (put it second, and the page third)"
        elif (self.collection.rows_of(rows.repeats) >= 0).mean() > ALMOST_ALL:
            yield "column 2 has pages, not ranking numbers (a run for Task 1 has two columns: topic and page)"

    def _equal_lengths(self) -> Iterator[str]:
        """A diagnosis when all rankings have the same length, and it is that of no protocol."""
        _, counts = np.unique(self._key, return_counts=True)
        known = {protocol.length(self.rows.task) for protocol in (self.protocol, *PROTOCOLS.values())}
        is_equal = len(counts) > 1 and counts[0] > 1 and bool((counts == counts[0]).all())
        if is_equal and int(counts[0]) not in known and not self.rows.is_cut:
            wanted = self.protocol.length(self.rows.task)
            yield f"all {len(counts):,} rankings have {counts[0]} pages, not {wanted}"

    def _inversions(self) -> tuple[NDArray[np.intp], int]:
        """Rows of a six-column run that have a higher score than the row of the rank before, and pairs looked at."""
        rows = self.rows
        if rows.trec_ranks is None or rows.scores is None:
            return np.empty(0, np.intp), 0
        order = np.lexsort((-rows.scores, rows.trec_ranks, self._key))
        is_same = self._key[order][1:] == self._key[order][:-1]
        is_higher = rows.scores[order][1:] > rows.scores[order][:-1]
        is_behind = rows.trec_ranks[order][1:] > rows.trec_ranks[order][:-1]
        pairs = is_same & is_behind
        return order[1:][pairs & is_higher], int(pairs.sum())

    def contradictions(self) -> Iterator[Fault]:
        """Lines of a six-column run whose score is higher than that of a better rank."""
        ranks = self.rows.trec_ranks
        for row in sorted(self._inversions()[0].tolist()):
            found = f"rank {ranks[row] if ranks is not None else 0} has a higher score than the rank before it"
            yield self._fault(row, f"{found} in {self._named(row)}", "scores decide; make ranks follow them")

    def swapped_ranks(self) -> Iterator[Fault]:
        """A fault where the column of scores counts the lines of each ranking, and that of ranks falls.

        Rank and score agree in such a file, and would order every ranking from its last line to its first.
        """
        rows = self.rows
        if rows.trec_ranks is None or rows.scores is None or len(rows.pages) < FEW_ROWS:
            return
        order = np.argsort(self._key, kind="stable")
        key, ranks, scores = self._key[order], rows.trec_ranks[order], rows.scores[order]
        is_same = key[1:] == key[:-1]
        counts_up = is_same & (scores[1:] == scores[:-1] + 1.0) & (ranks[1:] <= ranks[:-1])
        n_pairs, starts = int(is_same.sum()), scores[np.concatenate([[True], ~is_same])]
        if n_pairs >= FEW_ROWS and counts_up.sum() > ALMOST_ALL * n_pairs and np.isin(starts, (0.0, 1.0)).all():
            found = (
                f"columns 4 and 5 look swapped: scores count up from {starts[0]:g} and ranks fall, line by line, in "
            )
            fix = "put the rank fourth and the score fifth; or sort the lines by rank, as scores decide the order"
            yield self._fault(0, f"{found}{int(counts_up.sum()) + len(starts):,} lines", fix)

    def ids(self) -> Iterator[Fault]:
        """Topics and pages that the collection does not have, once each, where they first appear."""
        topics, first = np.unique(self.rows.topic_ids, return_index=True)
        for topic, row in zip(topics.tolist(), first, strict=True):
            if topic not in self.collection.topic_by_id:
                yield self._fault(row, f"topic {topic} is not in the collection", "leave it out")
        pages, first = np.unique(self.rows.pages, return_index=True)
        for index in np.flatnonzero(self.collection.rows_of(pages) < 0):
            fix = "it can give no exposure; leave it out"
            yield self._fault(first[index], f"page {self.rows.shown_page(first[index])} has no metadata", fix)

    def repeated(self) -> Iterator[Fault]:
        """Pages that are in a ranking twice, at their second place."""
        ranking = np.unique(self._key, return_inverse=True)[1].astype(np.int64)
        key = ranking << 32 | self.rows.pages
        order = np.argsort(key, kind="stable")
        for place in np.flatnonzero(key[order][1:] == key[order][:-1]) + 1:
            row = order[place]
            yield self._fault(
                row, f"page {self.rows.shown_page(row)} appears twice in {self._named(row)}", "keep the first"
            )

    def interleaved(self) -> Iterator[Fault]:
        """Lines where a topic or a ranking continues after another one had begun."""
        for ids, what in ((self.rows.topic_ids, "topic"), (self._key, "ranking")):
            for row in _resumed(ids):
                if what == "topic" or self.rows.topic_ids[row] == self.rows.topic_ids[row - 1]:
                    name = self._named(row) if what == "ranking" else f"topic {ids[row]}"
                    yield self._fault(row, f"{name} continues here", f"keep the lines of a {what} together")

    def is_wholly_interleaved(self, n_resumed: int) -> bool:
        """Whether rankings are resumed so often that the file is meant to be read across them."""
        return n_resumed > INTERLEAVED_LINES and n_resumed >= len(np.unique(self._key)) / 2

    def sizes(self) -> Iterator[Fault]:
        """Rankings that are too long or too short, and sequences with missing or extra rankings."""
        yield from self._lengths()
        if self.rows.task == 2:
            yield from self._repeat_numbers()
        yield from self._missing_topics()

    def _lengths(self) -> Iterator[Fault]:
        wanted = self.protocol.length(self.rows.task)
        _, first, counts = np.unique(self._key, return_index=True, return_counts=True)
        others = [p.name for p in PROTOCOLS.values() if p.length(self.rows.task) == counts[0]]
        if others and len(counts) > 1 and (counts == counts[0]).all() and counts[0] != wanted:
            found = f"all {len(counts):,} rankings have {counts[0]} pages, as runs for {' and '.join(others)} have"
            yield Fault(self.path, 0, f"{found}; {self.protocol.name} asks for {wanted}", "check it with --protocol")
            return
        for row, count in sorted(zip(first.tolist(), counts.tolist(), strict=True)):
            if count != wanted:
                fix = "shorten it" if count > wanted else f"add {wanted - count}"
                yield self._fault(
                    row, f"{self._named(row)} has {count} {'page' if count == 1 else 'pages'}, not {wanted}", fix
                )

    def _repeat_numbers(self) -> Iterator[Fault]:
        wanted = self.protocol.n_rankings(2)
        expected = np.arange(1, wanted + 1)
        for topic in np.unique(self.rows.topic_ids).tolist():
            mine = self.rows.topic_ids == topic
            numbers = np.unique(self.rows.repeats[mine])
            missing = np.setdiff1d(expected, numbers)
            if len(missing):
                found = f"topic {topic} has no ranking {_ranges(missing)}"
                yield Fault(self.path, 0, found, f"give rankings 1 to {wanted}")
            for number in np.setdiff1d(numbers, expected).tolist():
                row = int(np.flatnonzero(mine & (self.rows.repeats == number))[0])
                yield self._fault(row, f"topic {topic} has a ranking {number}", f"number rankings 1 to {wanted}")

    def _missing_topics(self) -> Iterator[Fault]:
        known = {topic.id: topic.split for topic in self.collection.topics}
        answered = {topic for topic in np.unique(self.rows.topic_ids).tolist() if topic in known}
        splits = {known[topic] for topic in answered}
        missing = [topic for topic, split in known.items() if split in splits and topic not in answered]
        if missing:
            topics = "topic" if len(missing) == 1 else "topics"
            found = f"no ranking for {topics} {_ranges(np.array(sorted(missing)))}"
            yield Fault(self.path, 0, found, "answer every topic of the split")

    def _named(self, row: int) -> str:
        name = f"topic {self.rows.topic_ids[row]}"
        return name if self.rows.task == 1 else f"{name}, ranking {self.rows.repeats[row]}"


def _resumed(ids: NDArray[np.integer]) -> list[int]:
    """Rows where an id begins again that had ended before."""
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    _, first = np.unique(ids[starts], return_index=True)
    again = np.ones(len(starts), bool)
    again[first] = False
    rows: list[int] = starts[again].tolist()
    return rows


def _ranges(numbers: NDArray[np.integer]) -> str:
    """Ascending numbers as text: 3, 5–9."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    parts = np.split(numbers, breaks)
    shown = [str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts[:12]]
    return ", ".join(shown) + (" …" if len(parts) > 12 else "")
