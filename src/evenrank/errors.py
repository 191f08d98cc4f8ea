"""What a user did wrong, said so that it can be fixed: file, line, what was found, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing wrong with one place of one file."""

    path: str
    """File as the user named it."""
    line: int
    """Line from 1; 0 when the fault concerns the whole file."""
    found: str
    """What was found."""
    fix: str = ""
    """What to do about it."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.found}" + (f" ({self.fix})" if self.fix else "")


class EvenrankError(Exception):
    """A user's mistake or an impossible request; the command line prints it and exits with 2."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as it is, not by calling `__init__` again: a worker's error reaches the caller with its text."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[EvenrankError], args: tuple[object, ...], state: dict[str, object]) -> EvenrankError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(EvenrankError):
    """Bad input: all faults at once."""

    def __init__(self, faults: Iterable[Fault], n_more: int = 0) -> None:
        self.faults = tuple(faults)
        self.n_more = n_more
        lines = [str(fault) for fault in self.faults]
        if n_more:
            lines.append(f"… and {n_more:,} more faults of these kinds")
        super().__init__("\n".join(lines))


class UnknownNameError(EvenrankError):
    """A name that is not in a list: of policies, protocols, dimensions, settings and the like."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown {kind} {name!r}; choose from {', '.join(known) or '(none)'}")
        self.name = name


class MissingExtraError(EvenrankError):
    """An optional part is asked for that is not installed."""

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need} needs the extra '{extra}': pip install 'evenrank[{extra}]'")


class StoreError(EvenrankError):
    """Something about an SQLite file of ours; `reason` says what without naming the file."""

    def __init__(self, path: object, reason: str, fix: str) -> None:
        super().__init__(f"{path}: {reason} ({fix})")
        self.reason = reason


class StoreUnavailableError(StoreError):
    """A file is locked, full or cannot be written now: nothing was stored, and a later try may succeed."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(path, f"not stored: {reason}", "nothing was changed: make room or wait, then try again")


class DamagedStoreError(StoreError):
    """A file that is not as it was written."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(path, f"damaged: {reason}", "restore a backup; `evenrank doctor` says what is damaged")


def input_error(path: object, line: int, found: str, fix: str = "") -> InputError:
    """An InputError of one fault."""
    return InputError([Fault(str(path), line, found, fix)])
