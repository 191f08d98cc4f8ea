"""`evenrank policies`: the ranking policies with their settings, made from the registry."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any

import click

from evenrank.cli.listing import FORMAT, echo_json
from evenrank.policies.registry import POLICIES, describe_policy, find_policy


@click.command("policies")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@FORMAT
def command(names: tuple[str, ...], form: str) -> None:
    """List the ranking policies: tasks, settings with defaults, the paper's runs they reconstruct, sources.

    Set a policy's settings with `rank --set NAME=VALUE`.
    """
    facts = [describe_policy(find_policy(name)) for name in names or POLICIES]
    if form == "json":
        echo_json(facts)
    else:
        click.echo("\n\n".join("\n".join(_lines(policy)) for policy in facts))


def _lines(policy: dict[str, Any]) -> Iterator[str]:
    """One policy as indented text."""
    tasks = " and ".join(f"Task {task}" for task in policy["tasks"])
    yield f"{policy['name']}  ({tasks})"
    yield _wrapped("  ", policy["summary"])
    if policy["paper_runs"]:
        settings = policy["run_settings"]
        runs = [f"{run} ({settings[run]})" if run in settings else run for run in policy["paper_runs"]]
        yield _wrapped("  reconstructs: ", f"{', '.join(runs)} (from their descriptions)")
    if policy["near_runs"]:
        yield _wrapped("  near: ", f"{', '.join(policy['near_runs'])} ({policy['near_because']})")
    yield _wrapped("  source: ", policy["citation"])
    for setting in policy["settings"]:
        task = f" (Task {setting['tasks'][0]})" if setting["tasks"] != policy["tasks"] else ""
        yield _wrapped(f"  {setting['name']} = {_shown(setting['default'])}{task}: ", _explained(setting))


def _explained(setting: dict[str, Any]) -> str:
    allowed = " or ".join(setting["choices"]) or setting["allowed"]
    return " ".join(setting["explanation"].split()) + (f" ({allowed})" if allowed else "")


def _shown(value: object) -> str:
    """A default as it would be written after --set."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _wrapped(start: str, text: str) -> str:
    if not text:  # of which `fill` would make an empty line
        return start.rstrip(": ")
    return fill(text, width=100, initial_indent=start, subsequent_indent="      ", break_long_words=False)
