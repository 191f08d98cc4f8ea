"""Requests and rankings of a stream as records: checked at the door, logged before they are answered, read again."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import IO, Any, TypeAlias, overload

import orjson

from evenrank.errors import EvenrankError, input_error, listed, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.io.compressed import open_compressed
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import load_record, read_lines
from evenrank.io.locking import only_writer

LOG_SCHEMA = "evenrank.stream-log/1"
LOG_START = orjson.dumps({"schema": LOG_SCHEMA})[:-1]
"""First bytes of every log; a file that begins otherwise is never touched."""
Item: TypeAlias = str | int
ItemGroups: TypeAlias = str | Sequence[str] | Mapping[str, float] | None
"""Groups of an item: one, several (one that comes twice counts twice), weights by name, or none."""
GroupSource: TypeAlias = Mapping[Any, ItemGroups] | Callable[[Any], ItemGroups] | str | os.PathLike[str] | None
Items: TypeAlias = Mapping[Item, float] | Iterable[tuple[Any, ...]]
LARGEST = 1e6
"""Largest relevance of an item, and largest weight of a group."""
LARGEST_TIME = 1e12
"""Times lie within so many units of 0: thirty thousand years in seconds."""
MAX_ITEMS = 100_000
"""Most candidates of a request."""
MAX_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item of a request, checked."""

    item: Item
    relevance: float
    groups: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StreamRanking(Sequence[Item]):
    """The ranking of one request: a sequence of items, rank 1 first, with everything that it was made from."""

    number: int
    """Number of the request on its server, from 1."""
    time: float
    query: str
    candidates: tuple[Candidate, ...]
    """In the order in which they were given."""
    order: tuple[int, ...]
    """Positions of the candidates, rank 1 first."""

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self.candidates[at].item for at in self.order[index]]
        return self.candidates[self.order[index]].item

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        return f"<StreamRanking {self.number} of {self.query!r}: {listed(self[:])}>"

    def ranked(self) -> list[Candidate]:
        """The candidates, rank 1 first."""
        return [self.candidates[at] for at in self.order]

    def to_json(self) -> dict[str, Any]:
        """The record of the log."""
        return {
            "number": self.number,
            "time": self.time,
            "query": self.query,
            "items": [one.item for one in self.candidates],
            "relevance": [one.relevance for one in self.candidates],
            "groups": [one.groups for one in self.candidates],
            "order": self.order,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> StreamRanking:
        """The ranking of a record; ValueError, KeyError or EvenrankError for a wrong one."""
        rows = zip(record["items"], record["relevance"], record["groups"], strict=True)
        candidates = check_items(rows)
        order = tuple(record["order"])
        if sorted(order) != list(range(len(candidates))):
            raise ValueError("the order is not one of its items")
        number, time = record["number"], record["time"]
        return cls(int(number), float(time), check_text(record["query"], "query"), candidates, order)


def check_text(value: object, what: str) -> str:
    """A text that can be written; EvenrankError for anything else. Whole numbers are taken as their digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise EvenrankError(f"{what} is a {type(value).__name__}, where text was expected")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EvenrankError(
            f"{what} {ascii(value)[:60]} has half of a surrogate pair, which no file can hold"
        ) from None
    return str(value)


def check_groups(groups: ItemGroups) -> dict[str, float]:
    """Weights of an item's groups; EvenrankError says what is wrong."""
    if groups is None:
        return {}
    if isinstance(groups, str):
        return {check_text(groups, "group"): 1.0}
    if isinstance(groups, Mapping):
        weights = {check_text(name, "group"): weight for name, weight in groups.items()}
        wrong = [f"{name!r}: {weight!r}" for name, weight in weights.items() if not is_amount(weight)]
        if wrong:
            raise EvenrankError(f"group weights {listed(wrong, 3)} are not numbers from 0 to {LARGEST:,.0f}")
        return {name: float(weight) for name, weight in weights.items() if weight}
    if isinstance(groups, bytes) or not isinstance(groups, Iterable):
        raise EvenrankError(f"groups are a {type(groups).__name__}, where a name, a list or weights were expected")
    counts: dict[str, float] = {}
    for name in [check_text(name, "group") for name in groups]:
        counts[name] = counts.get(name, 0.0) + 1.0
    return {name: counts[name] for name in sorted(counts)} if isinstance(groups, Set) else counts


def is_amount(value: object) -> bool:
    """Whether a value is a number that can be summed: finite, not negative, not too large."""
    if type(value) is float or type(value) is int:
        return 0.0 <= value <= LARGEST
    try:
        return not isinstance(value, (str, bytes, bool)) and 0.0 <= float(value) <= LARGEST  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def check_items(items: Items, groups_of: Callable[[Item], ItemGroups] | None = None) -> tuple[Candidate, ...]:
    """Candidates from relevance by item, (item, relevance) or (item, relevance, groups); all faults in one error.

    Groups that come with an item count before those that `groups_of` knows.
    """
    rows: Any = items.items() if hasattr(items, "items") else items
    if isinstance(items, str | bytes) or not isinstance(rows, Iterable):
        raise EvenrankError(f"items are a {type(items).__name__} (give relevance by item, or (item, relevance) pairs)")
    found: dict[Item, Candidate] = {}
    faults: list[str] = []
    n_rows = 0
    for n_rows, row in enumerate(rows, 1):
        if n_rows > MAX_ITEMS:
            raise EvenrankError(f"more than {MAX_ITEMS:,} items (rank those that have a chance)")
        try:
            one = _candidate(row, groups_of)
            if one.item in found:
                raise EvenrankError(f"item {str(one.item)[:60]!r} comes twice")
            found[one.item] = one
        except (ValueError, EvenrankError) as error:
            faults.append(f"item {n_rows}: {error}")
    if faults:
        more = f"\n… and {len(faults) - MAX_FAULTS:,} more faults" if len(faults) > MAX_FAULTS else ""
        raise EvenrankError("\n".join(faults[:MAX_FAULTS]) + more)
    return tuple(found.values())


def _candidate(row: object, groups_of: Callable[[Item], ItemGroups] | None) -> Candidate:
    if isinstance(row, str | bytes) or not isinstance(row, Sequence) or not 2 <= len(row) <= 3:
        raise EvenrankError(f"{str(row)[:60]!r} is not a pair of item and relevance")
    item, relevance = row[0], row[1]
    if type(item) is not str or not item.isascii():
        item = _check_id(item)
    if not is_amount(relevance):
        raise EvenrankError(f"{str(item)[:60]!r} has relevance {relevance!r:.40} (a number from 0 to {LARGEST:,.0f})")
    given = row[2] if len(row) == 3 else None
    groups = given if given is not None or groups_of is None else groups_of(item)
    return Candidate(item, float(relevance), check_groups(groups))


def _check_id(item: object) -> Item:
    """An item's id as text or as a whole number, both of which a log can hold."""
    if not isinstance(item, Integral) or isinstance(item, bool):
        return check_text(item, "item")
    if not -(2**63) <= int(item) < 2**63:
        raise EvenrankError(f"item {str(item)[:60]} is too large a number (give it as text)")
    return int(item)


class LogWriter:
    """A log that one process appends to; each record is written, and with `fsync` on the disk, before the answer.

    A last line that a killed process did not finish is cut off when the log is opened: nobody was answered.
    """

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self.path = path
        self._fsync = fsync
        self._lock = ExitStack()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.enter_context(only_writer(path.with_name(f".{path.name}.lock"), path))
            self._file = self._open()
        except OSError as error:
            self._lock.close()
            raise EvenrankError(f"{path}: could not be opened: {reason_of(error)}") from error
        except EvenrankError:
            self._lock.close()
            raise

    def _open(self) -> IO[bytes]:
        file = open(self.path, "r+b" if self.path.exists() else "x+b", buffering=0)  # noqa: SIM115
        if (start := file.read(len(LOG_START))) and start != LOG_START:
            file.close()
            raise input_error(self.path, 1, "not the log of a stream", "name another file")
        size = file.seek(0, os.SEEK_END)
        whole = _end_of_last_line(file, size)
        if whole < size:
            file.truncate(whole)
        file.seek(whole)
        return file

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written yet."""
        return self._file.tell() == 0

    def replace(self, records: Iterable[object]) -> None:
        """Begin anew with these records; a killed process leaves the old log or the new one."""
        with atomic_file(self.path) as file:
            file.writelines(orjson.dumps(record) + b"\n" for record in records)
        self._file.close()
        self._file = self._open()

    def write(self, record: object) -> None:
        """Append one record; on an error nothing of it stays, and the error says so."""
        line = orjson.dumps(record) + b"\n"
        start = self._file.tell()
        try:
            view = memoryview(line)
            while view:
                view = view[self._file.write(view) or 0 :]
            if self._fsync:
                os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(start)
            self._file.seek(start)
            fix = "nothing was counted: make room, then try again"
            raise EvenrankError(f"{self.path}: could not be written: {reason_of(error)} ({fix})") from error

    def close(self) -> None:
        """Let other processes write it."""
        self._file.close()
        self._lock.close()


def _end_of_last_line(file: IO[bytes], size: int) -> int:
    """Bytes up to the last line end."""
    end = size
    while end:
        start = max(0, end - (1 << 16))
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def read_log(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, record) of a log, the header first; a last line that was not finished is left out."""
    with open_compressed(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = orjson.loads(line)
            except ValueError as error:
                raise input_error(path, number, f"not JSON: {error}", "restore the log from a copy") from None
            if not isinstance(record, dict) or (number == 1 and record.get("schema") != LOG_SCHEMA):
                raise input_error(path, number, "not a record of a stream's log", "give what `log=` wrote")
            yield number, record


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """One line of a file of requests."""

    request: str
    """What the caller calls it; its line number where nothing is said."""
    query: str
    time: float | None
    candidates: tuple[Candidate, ...]
    grades: tuple[float, ...] | None
    """True relevance of the candidates, for measures; no policy sees it."""


def read_requests(
    path: str | os.PathLike[str], groups_of: Callable[[Item], ItemGroups] | None = None
) -> list[StreamQuery]:
    """The requests of a JSON-lines file; all faults in one InputError.

    A line has `query` and `items`, each with `item`, `relevance` and, where they are known, `groups` and `grade`;
    `request` and `time` may be given.
    """
    found: list[StreamQuery] = []
    faults = FaultLog(50)
    for number, line in read_lines(path):
        try:
            found.append(_query(load_record(line), number, groups_of))
        except orjson.JSONDecodeError as error:
            faults.add(path, number, f"not JSON: {error}", "give one JSON record a line")
        except KeyError as error:
            faults.add(
                path, number, f"no {error.args[0]!r}", 'write {"query": …, "items": [{"item": …, "relevance": …}]}'
            )
        except (ValueError, EvenrankError) as error:
            faults.add(path, number, str(error), "fix the record or leave it out")
    faults.raise_if_any()
    if not found:
        raise input_error(path, 0, "no requests", 'write lines {"query": …, "items": [{"item": …, "relevance": …}]}')
    return found


def _query(record: dict[str, Any], number: int, groups_of: Callable[[Item], ItemGroups] | None) -> StreamQuery:
    entries = record["items"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise EvenrankError("items are not a list of objects")
    rows = [(entry["item"], entry["relevance"], entry.get("groups")) for entry in entries]
    time = record.get("time")
    if time is not None and not is_time(time):
        raise EvenrankError(f"time is {str(time)[:40]!r}, not a number")
    graded = [entry["grade"] for entry in entries if "grade" in entry]
    if graded and len(graded) < len(entries):
        raise EvenrankError(f"{len(graded)} of {len(entries)} items have a grade (give all of them one, or none)")
    if wrong := [grade for grade in graded if not is_amount(grade)]:
        raise EvenrankError(f"grade {str(wrong[0])[:40]!r} is not a number from 0 to {LARGEST:,.0f}")
    return StreamQuery(
        request=check_text(record.get("request", number), "request"),
        query=check_text(record["query"], "query"),
        time=time,
        candidates=check_items(rows, groups_of),
        grades=tuple(map(float, graded)) if graded else None,
    )


def is_time(value: Any) -> bool:
    """Whether a value is a time: a number of at most `LARGEST_TIME` either way."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(abs(value) <= LARGEST_TIME)


def group_lookup(groups: GroupSource) -> Callable[[Item], ItemGroups] | None:
    """What finds the groups of an item: of a mapping, a function, or the file of `read_item_groups`."""
    if groups is None:
        return None
    if isinstance(groups, Mapping):
        return groups.get
    if isinstance(groups, str | os.PathLike):
        known = read_item_groups(groups)
        return lambda item: known.get(str(item))
    if callable(groups):
        return groups
    raise EvenrankError(f"groups: {type(groups).__name__} is not accepted (give a dict, a function or a CSV file)")


def read_item_groups(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Weights of each item's groups from CSV with a header: `item` and `group`, and `share` where they have weights.

    Several rows of one item add up. All faults come in one InputError.
    """
    found: dict[str, dict[str, float]] = {}
    faults = FaultLog(50)
    for line, (item, group, *share) in _csv_rows(path, (["item", "group"], ["item", "group", "share"])):
        weight = _number(share[0]) if share else 1.0
        if not item:
            faults.add(path, line, "no item", "name it")
        elif not is_amount(weight):
            faults.add(path, line, f"share {share[0][:40]!r}", f"give a number from 0 to {LARGEST:,.0f}")
        else:
            weights = found.setdefault(item, {})
            weights[group] = weights.get(group, 0.0) + weight
    faults.raise_if_any()
    return found


def read_stream_target(path: str | os.PathLike[str]) -> dict[str, float]:
    """Shares by group from CSV with the columns `group` and `share`; all faults in one InputError."""
    shares: dict[str, float] = {}
    faults = FaultLog(50)
    for line, row in _csv_rows(path, (["group", "share"],)):
        group, share = row[0], _number(row[1])
        if group in shares:
            faults.add(path, line, f"group {group[:60]!r} comes twice", "give each group one share")
        elif not is_amount(share):
            faults.add(path, line, f"share {row[1][:40]!r}", f"give a number from 0 to {LARGEST:,.0f}")
        shares[group] = share
    faults.raise_if_any()
    return shares


def _csv_rows(path: str | os.PathLike[str], headers: Sequence[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of a CSV file with one of these headers; InputError for lines of another length."""
    faults = FaultLog(50)
    with open_compressed(path) as source, io.TextIOWrapper(source, "utf-8-sig", newline="") as text:
        try:
            rows = csv.reader(text, strict=True)
            header = next(rows, [])
            if header not in headers:
                wanted = " or ".join(",".join(names) for names in headers)
                raise input_error(path, 1, f"columns {listed(header) or '(none)'}", f"name them {wanted}")
            for row in rows:
                if len(row) == len(header):
                    yield rows.line_num, row
                elif row:
                    faults.add(path, rows.line_num, f"{len(row)} cells, where {len(header)} were expected")
        except (csv.Error, UnicodeDecodeError) as error:
            raise input_error(path, 0, f"not CSV in UTF-8: {error}", "save it as CSV in UTF-8") from None
    faults.raise_if_any()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
