"""Files of campaigns: what each kind looks like, and their lines, with every fault of every file gathered.

A file that is recognised as one of another kind is reported as such, once: two options of a command are easily swapped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson

from evenrank.core.types import FilePath
from evenrank.errors import InputError
from evenrank.io.faults import MAX_COUNTED, FaultLog
from evenrank.io.json_lines import load_record, read_lines

MAX_LINES = 50_000_000
"""Most lines of a file; the largest run of a campaign has a few million."""
MAX_QUOTED = 60
"""Characters of a value that a fault repeats."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"-?\d{1,9}", re.ASCII)
_REQUEST = re.compile(r"\d{1,9}\.\d{1,9}", re.ASCII)


class FileKind(NamedTuple):
    """One kind of file of a campaign."""

    what: str
    option: str
    """Option of `evenrank score` that it belongs to."""
    line: str
    """What a line of it has, as the advice beside a bad one."""
    is_like: Callable[[str], bool]
    """Whether a line can be its first one."""


def _is_json_with(*keys: str) -> Callable[[str], bool]:
    def is_like(line: str) -> bool:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            return False
        return isinstance(record, dict) and all(key in record for key in keys)

    return is_like


def _is_trec_run(line: str) -> bool:
    cells = line.split()
    return len(cells) == 6 and is_whole(cells[3]) and is_number(cells[4])


def _is_grouped_qrels(line: str) -> bool:
    cells = line.split()
    return len(cells) == 4 and is_whole(cells[3])


def _is_levels(line: str) -> bool:
    cells = line.split()
    return len(cells) == 3 and re.fullmatch(r"L\d", cells[2]) is not None


def _is_memberships(line: str) -> bool:
    cells = line.split()
    return is_comment(line) or (len(cells) >= 4 and all(map(is_number, cells[2:])))


def _is_target(line: str) -> bool:
    return is_comment(line) or is_number(line.strip())


def _is_sequence(line: str) -> bool:
    cells = line.split(",")
    return len(cells) == 2 and is_request(cells[0].strip()) and cells[1].strip().isdigit()


def _is_author_groups(line: str) -> bool:
    return not line.startswith("{") and "," in line and not _is_sequence(line)


RUN_2019 = FileKind(
    "a run of TREC 2019",
    "--run",
    'give {"q_num": "0.17", "ranking": ["document", …]}, a JSON record a line',
    _is_json_with("q_num", "ranking"),
)
QRELS_2019 = FileKind(
    "judgments of TREC 2019",
    "--qrels",
    'give {"qid": 5, "documents": [{"doc_id": "…", "relevance": 1}, …]}, a JSON record a line',
    _is_json_with("qid", "documents"),
)
SEQUENCES_2019 = FileKind("sequences of TREC 2019", "--sequences", "give SEQUENCE.NUMBER,qid", _is_sequence)
GROUPS_2019 = FileKind(
    "author groups of TREC 2019", "--groups", "give document,group,group,…: a group per author", _is_author_groups
)
RUN_TREC = FileKind(
    "a six-column TREC run", "--run", "give query sample document rank score tag, in six columns", _is_trec_run
)
QRELS_2020 = FileKind(
    "judgments of TREC 2020", "--qrels", "give query groups document grade, groups joined by |", _is_grouped_qrels
)
QRELS_FAIRWEB = FileKind("judgments of FairWeb-1", "--qrels", "give topic document L0, L1 or L2", _is_levels)
MEMBERSHIPS = FileKind(
    "group memberships of FairWeb-1", "--groups", "give topic document and a share per group", _is_memberships
)
TARGET_FAIRWEB = FileKind("a target of FairWeb-1", "--target", "give one share a line, as numbers", _is_target)
KINDS = (
    RUN_2019,
    QRELS_2019,
    SEQUENCES_2019,
    RUN_TREC,
    QRELS_FAIRWEB,
    QRELS_2020,
    MEMBERSHIPS,
    TARGET_FAIRWEB,
    GROUPS_2019,
)
"""All kinds, those that are easily mistaken for another one last."""


class CampaignFile:
    """One file that is read line by line; its faults are added to a log that the files of a request share."""

    def __init__(self, path: FilePath, kind: FileKind, faults: FaultLog) -> None:
        self.path, self.kind, self.faults = path, kind, faults
        self.is_whole = True
        """Whether every line could be read, so that something can be said of what is missing."""

    def lines(self) -> Iterator[tuple[int, str]]:
        """(line number, text) of each line that is not blank."""
        n_lines = 0
        try:
            for number, line in read_lines(self.path):
                n_lines += 1
                try:
                    text = line.decode()
                except UnicodeDecodeError:
                    self.fault(number, "not UTF-8", "save the file as UTF-8")
                    continue
                if n_lines == 1 and self._is_other_kind(number, text):
                    return
                yield number, text
                if n_lines > MAX_LINES or self.faults.n_faults >= MAX_COUNTED:
                    self.fault(number, "not read any further", "is this file of the right kind?")
                    return
        except InputError as error:
            self.is_whole = False
            self.faults.merge(error)
            return
        if not n_lines:
            self.fault(0, "empty file", self.kind.line)

    def rows(self, *n_cells: int) -> Iterator[tuple[int, list[str]]]:
        """(line number, cells) of each line, which are separated by white space; another number of them is a fault."""
        for number, line in self.lines():
            cells = line.split(None, max(n_cells))
            if len(cells) in n_cells:
                yield number, cells
            else:
                found = f"more than {max(n_cells)}" if len(cells) > max(n_cells) else str(len(cells))
                self.fault(number, f"{found} column{'s' * (found != '1')}")

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line number, record) of each line, which are JSON objects."""
        for number, line in self.lines():
            try:
                yield number, load_record(line.encode())
            except orjson.JSONDecodeError as error:
                self.fault(number, f"not JSON: {error}")
            except ValueError as error:
                self.fault(number, str(error))

    def fault(self, line: int, found: str, fix: str = "") -> None:
        """Add a fault; the advice is what a line has, unless there is a better one."""
        self.is_whole = False
        self.faults.add(self.path, line, found, fix or self.kind.line)

    def _is_other_kind(self, number: int, line: str) -> bool:
        if self.kind.is_like(line):
            return False
        other = next((kind for kind in KINDS if kind.is_like(line)), None)
        if other is None or other.what == self.kind.what:
            return False
        fix = f"give it as {other.option}" if other.option != self.kind.option else "choose the --protocol of the file"
        self.fault(number, f"{other.what}, not {self.kind.what}", f"{fix}; are two files swapped?")
        return True


def is_number(text: str) -> bool:
    """Whether a text is a finite number in ASCII digits."""
    return len(text) <= MAX_QUOTED and _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def is_share(text: str) -> bool:
    """Whether a text is a number from 0 to 1."""
    return is_number(text) and 0.0 <= float(text) <= 1.0


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of up to nine digits."""
    return _WHOLE.fullmatch(text) is not None


def is_request(text: str) -> bool:
    """Whether a text numbers a request of a sequence: `0.17`."""
    return _REQUEST.fullmatch(text) is not None


def is_comment(line: str) -> bool:
    return line.startswith("#")


def shown(value: object) -> str:
    """A value as faults repeat it."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"
