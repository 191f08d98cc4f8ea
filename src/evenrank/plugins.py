"""Plug-ins: policies, measures, dimensions, engines, export formats and protocols of other packages.

A package offers an object under an entry point of one of the groups `evenrank.policies`, `evenrank.measures`,
`evenrank.dimensions`, `evenrank.engines`, `evenrank.exports` and `evenrank.protocols`. Once the package is installed,
the object is found by its name wherever a built-in one is. A plug-in that cannot be loaded is named in a warning and
does not affect the others.
"""

from __future__ import annotations

import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evenrank.errors import MAX_FOUND, EvenrankError, first_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
GROUPS = ("policies", "measures", "dimensions", "engines", "exports", "protocols")
"""What can be plugged in; the entry-point group of each is `evenrank.` and its name."""


class PluginWarning(UserWarning):
    """A plug-in is installed and cannot be used."""


class Registry(Mapping[str, T], Generic[T]):
    """Built-in objects by name, followed by those of installed plug-ins.

    Finding a built-in object never looks for plug-ins: reading the metadata of all installed packages takes longer than
    most commands need to start. Iterating over the registry, or asking for another name, does.
    """

    def __init__(self, group: str, builtin: Mapping[str, T], adopt: Callable[[object], tuple[str, T]]) -> None:
        """`adopt` gives the name and the object of whatever a plug-in offers; TypeError says what is wrong with it."""
        self.group, self.builtin, self._adopt = group, dict(builtin), adopt

    def __getitem__(self, name: str) -> T:
        return self.builtin[name] if name in self.builtin else self.plugins[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self.plugins

    def __len__(self) -> int:
        return len(self.builtin) + len(self.plugins)

    def with_more(self, more: Mapping[str, T]) -> Mapping[str, T]:
        """This registry with further objects, which are found first; it looks for plug-ins no sooner than this one."""
        return ChainMap(dict(more), self)  # type: ignore[arg-type]  # nothing writes to it

    @cached_property
    def plugins(self) -> dict[str, T]:
        """Objects of installed plug-ins by name, in the order of their entry points' names."""
        found: dict[str, T] = {}
        origin: dict[str, str] = {}
        for entry in _entry_points(self.group):
            try:
                name, loaded = self._adopt(entry.load())
            except (Exception, SystemExit) as error:  # whatever the code of others raises must not stop ours
                _warn(self.group, entry, f"{type(error).__name__}: {first_line(error)}")
                continue
            if name in self.builtin or name in found:
                _warn(self.group, entry, f"the name {name!r} is taken by {origin.get(name, 'Evenrank itself')}")
                continue
            found[name], origin[name] = loaded, f"the plug-in {entry.name!r}{_package_of(entry)}"
        return found


def _entry_points(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=f"evenrank.{group}"), key=lambda entry: (entry.name, entry.value))


def _warn(group: str, entry: EntryPoint, reason: str) -> None:
    text = f"plug-in {entry.name!r}{_package_of(entry)} (evenrank.{group}: {entry.value}) is ignored: {reason}"
    warnings.warn(text, PluginWarning, stacklevel=4)


def _package_of(entry: EntryPoint) -> str:
    return f" of {entry.dist.name}" if entry.dist is not None else ""


def call_plug_in(what: str, function: Callable[..., T], *given: Any, **settings: Any) -> T:
    """What a function of others returns; an error in it is reported as `what`, with the line of the function's file.

    The error itself stays the cause, so that whoever calls from Python sees all of it.
    """
    try:
        return function(*given, **settings)
    except (EvenrankError, MemoryError):
        raise
    except Exception as error:
        raise plug_in_error(what, function, error) from error


def plug_in_error(what: str, function: Callable[..., object], error: Exception) -> EvenrankError:
    """How an error in a function of others is reported: with the last line of the function's file that it passed, or
    the function's first line where it passed none, as with arguments that the function does not take."""
    import traceback

    code = getattr(function, "__code__", None)
    lines = traceback.extract_tb(error.__traceback__)
    place = f"{lines[-1].filename}:{lines[-1].lineno}"
    if code is not None:
        own = [line.lineno for line in lines if line.filename == code.co_filename]
        place = f"{code.co_filename}:{own[-1] if own else code.co_firstlineno}"
    text = first_line(error)
    text = text if len(text) <= MAX_FOUND else f"{text[:MAX_FOUND]}…"
    return EvenrankError(f"{what}: {type(error).__name__}: {text} ({place})")


class LackingError(EvenrankError, AttributeError):
    """An object of others lacks what is asked of it."""


class _Guarded:
    """What `guarded` gives."""

    def __init__(self, what: str, inner: object) -> None:
        self._what, self._inner = what, inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Guarded._get(self, name)

    def _get(self, name: str) -> Any:
        """An attribute of the object; a method as one whose errors are reported."""
        if not hasattr(self._inner, name):
            raise LackingError(f"{self._what}: {type(self._inner).__name__} has no {name!r}")
        value = call_plug_in(self._what, getattr, self._inner, name)
        return partial(call_plug_in, self._what, value) if callable(value) else value


def guarded(what: str, inner: object) -> Any:
    """An object of others, whose errors are reported as those of functions are (`call_plug_in`).

    Its class has the public names of the object, so that `isinstance` finds the same protocols.
    """
    names = [name for name in dir(inner) if not name.startswith("_")]
    members = {name: property(partial(_Guarded._get, name=name)) for name in names}
    return type(type(inner).__name__, (_Guarded,), members)(what, inner)


def check_takes(function: Callable[..., object], *names: str) -> None:
    """TypeError for a function that cannot be called with these positional arguments."""
    from inspect import signature

    try:
        signature(function).bind(*names)
    except ValueError:  # a function that is not written in Python may not tell
        return
    except TypeError as error:
        wanted = f"def {getattr(function, '__name__', 'function')}({', '.join(names)})"
        raise TypeError(f"{first_line(error)} (write {wanted})") from None


def instances(owner: type[T], name_of: Callable[[T], str]) -> Callable[[object], tuple[str, T]]:
    """What adopts the objects of one class by a name that they carry."""

    def adopt(offered: object) -> tuple[str, T]:
        if not isinstance(offered, owner):
            raise TypeError(f"not a {owner.__name__}, but {type(offered).__name__}")
        return name_of(offered), offered

    return adopt
