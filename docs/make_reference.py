"""Writes docs/reference from the registries and the command line; a test fails when the pages are stale.

python docs/make_reference.py
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.main import COMMANDS, cli
from evenrank.core.protocol import PROTOCOLS, Protocol
from evenrank.core.settings import Setting, describe_settings
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MEASURES
from evenrank.policies.policy import PolicyByTask
from evenrank.policies.registry import POLICIES, PolicyEntry
from evenrank.policies.stream_policies import STREAM_POLICIES
from evenrank.scoring.campaigns.registry import CAMPAIGNS
from evenrank.trec.dimensions import DIMENSIONS

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Made by docs/make_reference.py from the code. Do not edit. -->\n\n"
WIDTH = 100


def pages() -> dict[str, str]:
    """The reference pages by file name."""
    made = {
        "commands.md": commands_page(),
        "metrics.md": metrics_page(),
        "protocols.md": protocols_page(),
        "policies.md": policies_page(),
        "dimensions.md": dimensions_page(),
        "api.md": api_page(),
    }
    return {name: NOTE + text.rstrip() + "\n" for name, text in made.items()}


def commands_page() -> str:
    parts = [
        "# Commands\n",
        "Results go to standard output, messages to standard error. Exit code 0: success; 1: a check failed;",
        "2: usage or bad input; 130: interrupted.\n",
    ]
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        parts += [
            f"## evenrank {name}\n",
            *_help(command, click.Context(cli, info_name="evenrank", help_option_names=["-h", "--help"]), name),
        ]
    return "\n".join(parts)


def _help(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH)
    command._help_option = None  # click keeps the one that an earlier caller in this process had
    yield f"```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield f"### evenrank {name} {child}\n"
            yield from _help(found, context, child)


def metrics_page() -> str:
    lines = ["# Measures\n", "As `evenrank metrics` lists them.\n"]
    for measure in MEASURES.builtin.values():
        empty = "depends on topic and protocol" if callable(measure.if_empty) else f"{measure.if_empty:g}"
        better = "higher is better" if measure.higher_is_better else "lower is better"
        lines += [
            f"## {measure.name} (Task {' and '.join(map(str, measure.tasks))})\n",
            f"{measure.label[0].upper()}{measure.label[1:]}; {better}.\n",
            f"- Formula: {measure.formula}",
            f"- Range: {measure.low:g} to {measure.high:g}".replace("inf", "∞"),
            f"- Of an empty ranking: {empty}",
            f"- Source: {measure.citation}",
            f"- Shown {_shown_in(measure)}.\n",
        ]
    return "\n".join(lines)


def _shown_in(measure: Measure) -> str:
    if measure.on_request:
        return f"on request: `evaluate --measures {measure.name}`"
    companion = [f"Task {task}" for task in measure.tasks if measure.is_companion(task)]
    official = [f"Task {task}" for task in measure.tasks if not measure.is_companion(task)]
    parts = [f"as a measure of the track in {' and '.join(official)}"] if official else []
    parts += [f"as a companion, to show relevance or scale, in {' and '.join(companion)}"] if companion else []
    return "; ".join(parts)


def protocols_page() -> str:
    lines = ["# Protocols\n", "Why they differ: [Paper and published code](../explanation/deviations.md).\n"]
    lines += [f"- `{protocol.name}`: {protocol.summary}" for protocol in PROTOCOLS.values()]
    names = " | ".join(f"`{name}`" for name in PROTOCOLS)
    lines += ["", f"| setting | {names} | meaning |", "|---|" + "---|" * len(PROTOCOLS) + "---|"]
    for setting in describe_settings(Protocol):
        if setting.name not in ("name", "summary"):
            values = " | ".join(_shown(getattr(protocol, setting.name)) for protocol in PROTOCOLS.values())
            lines.append(f"| `{setting.name}` | {values} | {_one_line(setting.explanation)} |")
    return "\n".join([*lines, *_campaigns()])


def _campaigns() -> Iterator[str]:
    yield "\n## Other campaigns\n"
    yield "`evenrank score --protocol NAME` scores the files of a campaign as its organisers do; they are no protocols"
    yield "of `evaluate`. See [Score runs of TREC 2019, TREC 2020 and NTCIR FairWeb-1](../how-to/campaigns.md).\n"
    for campaign in CAMPAIGNS.values():
        yield f"- `{campaign.name}`: {campaign.summary} ({campaign.citation})"
    yield "\n| protocol | setting | default | choose from | meaning |\n|---|---|---|---|---|"
    for campaign in CAMPAIGNS.values():
        for setting in campaign.described_settings():
            choices = ", ".join(map(str, setting.choices)) or setting.allowed
            is_list = isinstance(setting.default, tuple)
            default = ", ".join(map(str, setting.default)) if is_list else _shown(setting.default)
            yield f"| `{campaign.name}` | `{setting.name}` | {default} | {choices} | {_one_line(setting.explanation)} |"


def policies_page() -> str:
    lines = ["# Policies\n", "As `evenrank policies` lists them; settings go in with `--set NAME=VALUE`.\n"]
    for name, policy in POLICIES.items():
        tasks = " and ".join(f"Task {task}" for task in policy.tasks)
        lines += [f"## {name}\n", f"{inspect.getdoc(policy) or ''}\n", f"- Serves {tasks}"]
        if policy.paper_runs:
            settings = getattr(policy, "run_settings", {})
            runs = [f"{run} (`{settings[run]}`)" if run in settings else run for run in policy.paper_runs]
            lines.append(f"- Reconstructs, from their descriptions, the paper's runs {', '.join(runs)}")
        if near := getattr(policy, "near_runs", ()):
            lines.append(
                f"- Near the paper's runs {', '.join(near)}, which it does not reproduce: {policy.near_because}"
            )
        lines += [f"- Source: {policy.citation}", "", *_policy_settings(policy)]
    lines += [
        "## Policies for streams\n",
        "For `evenrank stream` and `evenrank.Stream`; settings follow the name: `fairco:gain=0.1`.\n",
    ]
    for name, stream_policy in STREAM_POLICIES.items():
        lines += [f"### {name} (stream)\n", f"{inspect.getdoc(stream_policy) or ''}\n"]
        lines += [f"- Source: {stream_policy.citation}", "", *_settings_table(stream_policy)]
    return "\n".join(lines)


def _policy_settings(policy: PolicyEntry) -> list[str]:
    """The settings of a policy, or of each task where they differ."""
    if isinstance(policy, type) and issubclass(policy, PolicyByTask):
        parts = ([f"Settings of Task {task}:\n", *_settings_table(owner)] for task, owner in policy.of_task.items())
        return [line for part in parts for line in part]
    return _settings_table(policy if isinstance(policy, type) else type(policy))


def _settings_table(owner: type) -> list[str]:
    """The settings of a policy as lines of a table; none for a policy without settings."""
    if not (settings := describe_settings(owner)):
        return []
    rows = [f"| `{s.name}` | `{s.default}` | {_one_line(s.explanation)}{_allowed(s)} |" for s in settings]
    return ["| setting | default | meaning |", "|---|---|---|", *rows, ""]


def _allowed(setting: Setting) -> str:
    """What values may be, in brackets; nothing where the explanation or the type says it all."""
    allowed = " or ".join(f"`{choice}`" for choice in setting.choices) or setting.allowed
    return f" ({allowed})" if allowed else ""


def dimensions_page() -> str:
    lines = [
        "# Dimensions\n",
        "A collection has geography and gender, and every other dimension whose field is in its metadata.",
        "`--groups` takes `intersection` (all dimensions of the protocol), one name, several joined by commas,",
        "or the name of one of the protocol's sets.\n",
        "Where a dimension has a background, the table shows the share of attention that each group would get if only",
        "the world counted; a protocol blends it with the distribution of the relevant pages, half and half.",
        "In the other dimensions, the target is the distribution of the relevant pages alone.\n",
    ]
    for dimension in DIMENSIONS.values():
        lines.append(f"## {dimension.name}\n")
        if dimension.background:
            lines += [f"Field `{dimension.field}`. Background: {dimension.source}.\n"]
            lines += ["| group | share in the background |", "|---|---:|", f"| {dimension.groups[0]} | – |"]
            shares = zip(dimension.groups[1:], dimension.background, strict=True)
            lines += [*(f"| {group} | {share:.4g} |" for group, share in shares), ""]
        else:
            groups = dimension.groups if dimension.has_unknown else dimension.groups[1:]
            lines += [f"Field `{dimension.field}`. No background{dimension.source.removeprefix('none')}.\n"]
            lines += [f"Groups: {', '.join(groups)}.\n"]
        lines += [] if dimension.has_unknown else ["Pages without a value are in no group.\n"]
    return "\n".join(lines)


def api_page() -> str:
    """Directives that Sphinx fills with the docstrings of every public name."""
    values = {name: getattr(evenrank, name) for name in evenrank.__all__ if name not in ("__version__", "errors")}
    functions = {_function(value): name for name, value in values.items() if _is_function(value)}
    classes = [name for name, value in values.items() if isinstance(value, type) and not issubclass(value, Exception)]
    lists = [name for name, value in values.items() if name.isupper()]
    lines = [
        "# Python API\n",
        "Everything below is a name of the package `evenrank`; nothing needs an import from further down.",
        "Functions take a `Collection` or the path of its folder, and runs as objects or as files.\n",
        "## Functions\n",
        *(_directive("function", _path(value), name) for value, name in functions.items()),
        "## Classes\n",
        *(_directive("class", f"evenrank.{name}", name, ":members:") for name in classes),
        "## Lists\n",
        "Dictionaries and tuples that the commands `policies`, `metrics` and `protocols` print:",
        ", ".join(f"`evenrank.{name}`" for name in lists) + ".\n",
        "## Errors\n",
        "```{eval-rst}\n.. automodule:: evenrank.errors\n   :members:\n   :show-inheritance:\n```\n",
    ]
    return "\n".join(lines)


def _is_function(value: object) -> bool:
    return inspect.isfunction(value) or (inspect.ismodule(value) and callable(value))


def _function(value: Any) -> Any:
    """The function that a callable package calls, or the function itself."""
    return value if inspect.isfunction(value) else value.function


def _path(value: Any) -> str:
    return f"{value.__module__}.{value.__name__}"


def _directive(kind: str, path: str, name: str, *options: str) -> str:
    head = f"### evenrank.{name}\n"
    body = "\n".join([f".. auto{kind}:: {path}", *(f"   {option}" for option in options)])
    return f"{head}\n```{{eval-rst}}\n{body}\n```\n"


def _shown(value: object) -> str:
    if value is None:
        return "as scored"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return ", ".join(name if isinstance(name, str) else name[0] for name in value) or "none"
    return str(value)


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
