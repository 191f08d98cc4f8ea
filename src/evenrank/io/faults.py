"""Faults of a large file: counted, the first few kept with their place, none of them fatal."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from evenrank.errors import Fault, InputError

MAX_COUNTED = 100_000
"""After so many faults a file is not read further: it is not what it should be, and counting on takes long."""


@dataclass(slots=True)
class FaultLog:
    """What was wrong with the records of a file that is read nevertheless."""

    limit: int = 20
    """Faults kept with their place; the others are only counted."""
    n_faults: int = 0
    """Records and parts of files that were skipped."""
    n_repaired: int = 0
    """Records read after bytes that are no UTF-8, or null bytes, were replaced."""
    faults: list[Fault] = field(default_factory=list)
    is_cut_off: bool = False
    """Whether the file ended in the middle, so that an unknown number of records is missing."""

    def add(self, path: str | os.PathLike[str], line: int, found: str, fix: str = "") -> None:
        """Count one fault."""
        self.n_faults += 1
        if len(self.faults) < self.limit:
            self.faults.append(Fault(str(path), line, found, fix))

    def merge(self, other: FaultLog | InputError) -> None:
        """Count what another log, or an error, says as well."""
        if isinstance(other, InputError):
            self.n_faults += len(other.faults) + other.n_more
        else:
            self.n_faults += other.n_faults
            self.n_repaired += other.n_repaired
            self.is_cut_off |= other.is_cut_off
        self.faults += other.faults[: self.limit - len(self.faults)]

    def report(self) -> str:
        """The faults for a reader, one a line; empty when there are none."""
        lines = [str(fault) for fault in self.faults]
        if more := self.n_faults - len(lines):
            lines.append(f"… and {more:,} more")
        if self.n_repaired:
            lines.append(f"{self.n_repaired:,} records held bytes that are no text; they were replaced")
        return "\n".join(lines)

    def raise_if_any(self) -> None:
        """All faults as one InputError, for readers that accept none."""
        if self.n_faults:
            raise InputError(self.faults, self.n_faults - len(self.faults))
