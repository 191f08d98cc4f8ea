"""Packages that are functions too: `evenrank.search(…)` searches, and `evenrank.search.engine` is its subpackage.

A public function that has the name of its package would otherwise be hidden by the package as soon as anything in it
is imported, because Python then sets the package as an attribute of `evenrank`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that calls its main function, which is imported at the first call."""

    _main: tuple[str, str]

    @property
    def function(self) -> Callable[..., Any]:
        """The function that a call runs."""
        module, name = self._main
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def make_callable(package: str, module: str, name: str) -> None:
    """Let the package run the function `name` of `module` when it is called."""
    loaded = sys.modules[package]
    loaded.__class__ = CallablePackage
    loaded.__dict__["_main"] = (module, name)
