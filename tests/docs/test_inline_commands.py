"""Commands that pages mention in passing exist, with the options that they are shown with."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from evenrank.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.parent.name not in ("decisions", "reference", "policies", "measures")
]
MENTIONED = re.compile(r"`(evenrank [a-z][^`]*)`|^\$? ?(evenrank [a-z].*)$", re.M)


def mentioned(text: str) -> list[str]:
    """Commands in the text, in a line of a block or in a sentence."""
    return [(inline or line).replace("\n", " ") for inline, line in MENTIONED.findall(text)]


def fault(words: str) -> str | None:
    """What is wrong with a command as a page writes it; None if all of it exists."""
    try:
        parts = shlex.split(words.replace("…", " "), comments=True)[1:]
    except ValueError:
        return None
    context = click.Context(cli, info_name="evenrank")
    command: click.Command = cli
    while isinstance(command, click.Group) and parts and re.fullmatch(r"[a-z][a-z-]*", parts[0]):
        found = command.get_command(context, parts[0])
        if found is None:
            return f"`{words}`: no command {parts[0]}"
        command, parts = found, parts[1:]
    if command.name == "experiment":
        return None  # its options depend on what is run
    known = {option for one in command.get_params(context) for option in (*one.opts, *one.secondary_opts)}
    end = next((n for n, part in enumerate(parts) if part in ("|", "||", "&&", ">", ";")), len(parts))
    used = {part.partition("=")[0] for part in parts[:end] if re.match(r"--[a-z]", part)}
    unknown = used - known - {"--help"}
    return f"`{words}`: no option {', '.join(sorted(unknown))}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    faults = [found for words in mentioned(page.read_text("utf-8")) if (found := fault(words))]
    assert not faults, "\n".join(faults)


def test_every_command_has_examples_that_exist() -> None:
    examples = tomllib.loads((ROOT / "docs" / "command_examples.toml").read_text("utf-8"))
    assert sorted(examples) == sorted(leaves(cli, ""))
    assert {name: lines for name, lines in examples.items() if not 1 <= len(lines) <= 2} == {}
    faults = [found for lines in examples.values() for words in lines if (found := fault(words))]
    assert not faults, "\n".join(faults)


def leaves(command: click.Command, path: str) -> list[str]:
    """The commands that do something, by the words that call them."""
    if not isinstance(command, click.Group):
        return [path]
    context = click.Context(command)
    children = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return [leaf for name, one in children.items() if one for leaf in leaves(one, f"{path} {name}".strip())]


def test_a_wrong_command_is_found() -> None:
    assert fault("evenrank evaluate DIR RUN --no-such-option") is not None
    assert fault("evenrank evaluated DIR") is not None
    assert fault("evenrank evaluate DIR RUN --depth 10") is None
