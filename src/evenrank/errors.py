"""What a user did wrong, reported so that it can be fixed: file, line, what was found, what to do.

EvenrankError
├── InputError               bad files: every fault with its line
├── UnknownNameError         a name that is in no list, with the names that are
├── WrongTypeError           a value of a type that a function does not take
├── NoCollectionError        the folder holds no collection
├── DamagedCollectionError   files of a collection are missing or damaged
├── NoIndexError             the collection has no finished index
├── NoModelError             the collection has no learned model
├── ExistingFileError        a file that would be overwritten
├── MissingExtraError        an optional package that is not installed
└── StoreError               a store: StoreUnavailableError (UncertainStoreError), DamagedStoreError
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

MAX_FOUND = 1000
"""Characters that are quoted of what was found; a file may consist of one value."""
MAX_SHOWN = 60
"""Characters of a value that a message repeats."""
MAX_CHOICES = 60
"""Names listed after "choose from"; longer lists are cut."""
MAX_LINE = 2000
"""Characters of one fault that are reported beside others."""
MAX_REPORTED = 60
"""Faults of one request that are reported; the others are counted."""

T = TypeVar("T")


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
        found = self.found if len(self.found) <= MAX_FOUND else f"{self.found[:MAX_FOUND]}…"
        return f"{place}: {found}" + (f" ({self.fix})" if self.fix else "")


class EvenrankError(Exception):
    """A user's mistake or an impossible request; the command line prints it and exits with 2.

    Its text never has the password of an address.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(hide_passwords(part) if type(part) is str else part for part in args))

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


class ReplayError(InputError):
    """A ranking in the log of a stream came out differently when it was made again."""


class Collected:
    """The errors of several checks of one request, raised as one, so that every fault is reported at once."""

    def __init__(self) -> None:
        self._errors: list[EvenrankError] = []

    def add(self, faults: Iterable[str]) -> None:
        """Note faults that were found."""
        self._errors += map(EvenrankError, faults)

    def check(self, function: Callable[[], T]) -> T | None:
        """What the function returns; its error is noted instead, and None returned."""
        try:
            return function()
        except EvenrankError as error:
            self._errors.append(error)
            return None

    def raise_any(self) -> None:
        """Raise what was noted, a lone error as it is; nothing when there is none."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            lines = list(dict.fromkeys(line for error in self._errors for line in str(error).splitlines()))
            more = [f"… and {len(lines) - MAX_REPORTED:,} more faults"] if len(lines) > MAX_REPORTED else []
            shown = (line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…" for line in lines[:MAX_REPORTED])
            raise EvenrankError("\n".join([*shown, *more]))


class UnknownNameError(EvenrankError):
    """A name that is in no list: `unknown policy 'optimol'; choose from …; did you mean 'optimal'?`"""

    def __init__(self, kind: str, name: object, known: Iterable[object], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(map(str, known))
        self.hint = hint
        near = closest(str(name), self.known)
        shown = ", ".join(self.known[:MAX_CHOICES]) + (", …" if len(self.known) > MAX_CHOICES else "")
        text = f"unknown {kind} {str(name)[:200]!r}; choose from {shown or '(none)'}"
        text += f"; did you mean {near!r}?" if near else ""
        super().__init__(text + (f" ({hint})" if hint else ""))


class WrongTypeError(EvenrankError, TypeError):
    """A value of a type that a function does not take."""

    def __init__(self, value: object, what: str, wanted: str) -> None:
        shown = "None" if value is None else f"a value of type {type(value).__name__}"
        super().__init__(f"{what}: {shown} is not accepted (give {wanted})")


class NoCollectionError(EvenrankError):
    """The folder holds no collection."""


class DamagedCollectionError(EvenrankError):
    """Files of a collection are missing or damaged."""


class NoIndexError(EvenrankError):
    """The collection has no finished index of its present files."""


class NoModelError(EvenrankError):
    """The collection has no learned relevance model."""


class ExistingFileError(EvenrankError):
    """A file that is there already, and would be overwritten."""


class MissingExtraError(EvenrankError):
    """An optional package is needed that is not installed."""

    def __init__(self, need: str, extra: str) -> None:
        self.need = need
        self.extra = extra
        commands = f"pip install 'evenrank[{extra}]' (in the sources: pip install '.[{extra}]')"
        super().__init__(f"{need} needs the extra '{extra}': {commands}")


class StoreError(EvenrankError):
    """Something about a store of ours, a file or a database; `reason` says what without naming the file."""

    def __init__(self, path: object, reason: str, fix: str) -> None:
        super().__init__(f"{path}: {reason} ({fix})")
        self.reason = reason


class StoreUnavailableError(StoreError):
    """A file is locked, full or cannot be written now: nothing was stored, and a later try may succeed."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(path, f"not stored: {reason}", "nothing was changed: make room or wait, then try again")


class UncertainStoreError(StoreUnavailableError):
    """The connection to a database was lost while it was storing: it stored everything, or nothing."""

    def __init__(self, path: object, reason: str) -> None:
        fix = "look whether it is there before trying again"
        StoreError.__init__(self, path, f"stored completely or not at all: {reason}", fix)


class DamagedStoreError(StoreError):
    """A corrupted file."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(path, f"damaged: {reason}", "restore a backup; `evenrank doctor` says what is damaged")


def reason_of(error: BaseException) -> str:
    """What went wrong, in words: of an error of the system without its number, which says nothing to a reader."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]!r} is missing"
    return _ERRNO.sub("", str(error)) or type(error).__name__


_ERRNO = re.compile(r"\[Errno -?\d+\] ")
"""The number of an error of the system, which libraries quote within their own texts."""


def first_line(error: BaseException) -> str:
    """What a server or a library says went wrong, without its details or stack trace."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


_PASSWORD = re.compile(r"(?<=://)([^\s/?#@:]{0,200}):\S{0,1000}@")
"""The password in an address, with the user before it; one that should have been escaped may have any character."""
_PASSWORD_OF_OURS = re.compile(
    r"\b((?:opensearch|postgres)[\w+]*:(?://)?[^\s/?#@:]{0,200}):(?:(?!['\"] is )[^\n]){0,1000}@"
)
"""The same with blanks in it, or without the slashes, in an address of a database or an engine; what a message says
after the address is none."""
_PASSWORD_OPTION = re.compile(r"\b((?:ssl)?password=)[^\s&]+", re.IGNORECASE)
"""A password among the options of an address."""


def hide_passwords(text: str) -> str:
    """A text in which no address of a database or an engine has its password: `postgresql://me@host/lists`."""
    return _PASSWORD_OPTION.sub(r"\1…", _PASSWORD.sub(r"\1@", _PASSWORD_OF_OURS.sub(r"\1@", text)))


def input_error(path: object, line: int, found: str, fix: str = "") -> InputError:
    """An InputError of one fault."""
    return InputError([Fault(str(path), line, found, fix)])


def listed(values: Sequence[object], n_shown: int = 8) -> str:
    """`1, 2, 3 and 40 more`: the first of many, as errors and notes name them."""
    more = f" and {len(values) - n_shown:,} more" if len(values) > n_shown else ""
    return ", ".join(map(str, values[:n_shown])) + more


def shown_value(value: object) -> str:
    """A value as messages repeat it."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "…"


def load_extra(module: str, need: str, extra: str) -> Any:
    """A module of an optional package; MissingExtraError, which says what to install, without it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(need, extra) from error


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that a mistyped one most likely means; empty when none is near."""
    import difflib

    by_folded = {one.casefold().replace("_", "-"): one for one in known}
    near = difflib.get_close_matches(name.casefold().replace("_", "-"), by_folded, n=1, cutoff=0.7)
    return by_folded[near[0]] if near else ""
