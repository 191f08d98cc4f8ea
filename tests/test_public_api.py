"""What is public and stable is written down in `public_api.txt`; a change of it shows in that file.

    python -m tests.test_public_api    # renews the file after an intended change

A line that disappears is a breaking change: it needs a deprecation first (CONTRIBUTING.md) and a line in the changelog.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

import evenrank
from evenrank.cli.main import COMMANDS, cli

LISTED = Path(__file__).parent / "public_api.txt"


def surface() -> list[str]:
    """One line for each public name, parameter, attribute, command, option, measure, policy and protocol."""
    return sorted({*_python(), *_commands(), *_registries()})


def _python() -> Iterator[str]:
    for name in evenrank.__all__:
        value = getattr(evenrank, name)
        yield f"python {name}"
        if inspect.isfunction(value):
            parameters = inspect.signature(value).parameters.values()
            yield from (f"python {name}({one.name})" for one in parameters if one.kind is not one.VAR_KEYWORD)
        elif isinstance(value, type):
            yield from (f"python {name}.{attribute}" for attribute in _attributes(value))


def _attributes(owner: type) -> list[str]:
    fields = {field for one in owner.__mro__ for field in vars(one).get("__annotations__", {})}
    methods = {name for one in owner.__mro__ if one.__module__.startswith("evenrank") for name in vars(one)}
    return sorted(name for name in fields | methods if not name.startswith("_"))


def _commands() -> Iterator[str]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield from _options(f"evenrank {name}", command)


def _options(path: str, command: click.Command) -> Iterator[str]:
    yield f"command {path}"
    for parameter in command.params:
        yield from (f"command {path} {option}" for option in (*parameter.opts, *parameter.secondary_opts))
    if isinstance(command, click.Group):
        for child, found in command.commands.items():
            yield from _options(f"{path} {child}", found)


def _registries() -> Iterator[str]:
    for kind, names in {
        "measure": evenrank.MEASURES,
        "policy": evenrank.POLICIES,
        "stream policy": evenrank.STREAM_POLICIES,
        "protocol": evenrank.PROTOCOLS,
        "dimension": evenrank.DIMENSIONS,
    }.items():
        yield from (f"{kind} {name}" for name in names)


def test_the_public_surface_is_what_is_listed() -> None:
    listed, found = set(LISTED.read_text("utf-8").splitlines()), set(surface())
    assert sorted(listed - found) == [], "gone: deprecate it first, then run: python -m tests.test_public_api"
    assert sorted(found - listed) == [], "new: run: python -m tests.test_public_api"


if __name__ == "__main__":
    LISTED.write_text("\n".join(surface()) + "\n", "utf-8")
