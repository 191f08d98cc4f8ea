"""A public name means one thing: no two modules define the same function or class."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import evenrank

ROOT = Path(evenrank.__file__).parent
SHARED = {"command", "routes"}
"""Names that a registry asks every module of its list for."""


def is_command(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a function is a command of the command line, which is named as people type it."""
    return any("command" in ast.unparse(decorator) for decorator in node.decorator_list)


def public_names(path: Path) -> set[str]:
    """The functions and classes that a module defines for others, without its commands."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, kinds)]
    return {node.name for node in defined if not node.name.startswith("_") and not is_command(node)}


def test_no_public_name_is_defined_twice() -> None:
    homes = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for name in public_names(path) - SHARED:
            homes[name].append(str(path.relative_to(ROOT)))
    assert len(homes) > 1000
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
