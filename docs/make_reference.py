"""Writes docs/reference from the registries and the command line; a test fails when the pages are stale.

python docs/make_reference.py
"""

from __future__ import annotations

import contextlib
import inspect
import io
import tomllib
from collections.abc import Iterable, Iterator
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
WIDTH = 88
COMMAND_EXAMPLES: dict[str, list[str]] = tomllib.loads(
    (Path(__file__).parent / "command_examples.toml").read_text("utf-8")
)
NOTES = tomllib.loads((Path(__file__).parent / "reference_notes.toml").read_text("utf-8"))
"""What the pages of policies, measures and commands say beyond the facts of the code."""


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
    return {name: NOTE + text.rstrip() + "\n" for name, text in (made | entry_pages()).items()}


def commands_page() -> str:
    parts = [
        "# Commands\n",
        "Results go to standard output, messages to standard error. Exit code 0: success; 1: a check failed;",
        "2: usage or bad input; 130: interrupted. `-` as a file is standard input or output.\n",
    ]
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        parts += _command(command, name, 2)
    return "\n".join(parts)


def _command(command: click.Command, path: str, level: int) -> Iterator[str]:
    """A command with its examples and options, or a group with its commands."""
    context = click.Context(
        command, info_name=f"evenrank {path}", max_content_width=WIDTH, terminal_width=WIDTH, show_default=True
    )
    yield f"{'#' * level} evenrank {path}\n"
    yield f"{_prose(command.help or '')}\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from _command(found, f"{path} {child}", level + 1)
        return
    examples = "\n".join(COMMAND_EXAMPLES.get(path, ()))
    usage = " ".join([f"evenrank {path}", *command.collect_usage_pieces(context)])
    yield f"```sh\n{usage}\n```\n"
    if examples:
        yield f"Examples:\n\n```sh\n{examples}\n```\n"
    yield from _option_tables(command, context)
    if path in NOTES["commands"]:
        yield f"{NOTES['commands'][path].strip()}\n"


def _prose(text: str) -> str:
    """The help of a command as paragraphs; indented lines stay as they are."""
    blocks = inspect.cleandoc(text.replace("\b\n", "")).partition("\f")[0].strip().split("\n\n")
    return "\n\n".join(f"```text\n{one}\n```" if one.startswith("  ") else one for one in blocks)


OPTION_GROUPS = {
    "Relevance": ("--model", "--encoder", "--pooling", "--device", "--read", "--cross", "--dense", "--no-dense"),
    "Scoring": (
        *("--protocol", "--groups", "--depth", "--rankings", "--set", "--attention", "--judged-only", "--measures"),
        *("--measure", "--target", "--judgments", "--qrels", "--missing", "--assume", "--uncertainty", "--draws"),
    ),
    "Output": (
        *("--output", "--format", "--figure", "--plot", "--report", "--force", "--title", "--topic-stats", "--print"),
        *("--quiet", "--verbose", "-q"),
    ),
    "Work": ("--workers", "--threads", "--seed", "--cache", "--spark-master", "--spark-remote", "--spark-set"),
}
"""Heading of a table → options that belong to it; the others are the command's own and come first."""


def _option_tables(command: click.Command, context: click.Context) -> Iterator[str]:
    home = {option: heading for heading, options in OPTION_GROUPS.items() for option in options}
    tables: dict[str, list[str]] = {heading: [] for heading in ("Options", *OPTION_GROUPS)}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            declared, meaning = record
            heading = next((home[option] for option in parameter.opts if option in home), "Options")
            tables[heading].append(f"| `{_one_line(declared)}` | {_one_line(meaning)} |")
    for heading, rows in tables.items():
        if rows:
            yield "\n".join([f"| {heading} | |", "|---|---|", *rows, ""])


EXAMPLE = """import evenrank

relevance = dict(E1=0.95, E2=0.9, E3=0.85, E4=0.8, A1=0.75, E5=0.6, F1=0.55, A2=0.45)
relevance |= dict(E6=0.4, F2=0.3, A3=0.2, E7=0.1)
names = {"E": "Europe", "A": "Asia", "F": "Africa"}
regions = {article: names[article[0]] for article in relevance}
target = {"Europe": 0.43, "Asia": 0.34, "Africa": 0.23}
"""
"""The example of `docs/figures.py`: twelve articles of three regions."""


def entry_pages() -> dict[str, str]:
    """A page for each policy and each measure, by file name."""
    made = {f"policies/{slug(name)}.md": policy_page(name, policy) for name, policy in POLICIES.items()}
    made |= {f"measures/{slug(measure.name)}.md": measure_page(measure) for measure in MEASURES.builtin.values()}
    return made


def slug(name: str) -> str:
    """The name of a policy or measure as part of a file name."""
    return name.lower().replace("/", "-per-")


def metrics_page() -> str:
    lines = [
        "# Measures\n",
        "As `evenrank metrics` lists them. Each has a page with its formula, a picture and an example.\n",
        "| measure | task | what it says | better |",
        "|---|---|---|---|",
    ]
    for measure in MEASURES.builtin.values():
        better = "higher" if measure.higher_is_better else "lower"
        tasks = ", ".join(map(str, measure.tasks))
        link = f"[{measure.name}](measures/{slug(measure.name)}.md)"
        lines.append(f"| {link} | {tasks} | {_one_line(NOTES['measures'][measure.name]['idea'])} | {better} |")
    return "\n".join([*lines, "", *_toctree("measures", MEASURES.builtin)])


def _toctree(folder: str, names: Iterable[str]) -> list[str]:
    return ["```{toctree}", ":hidden:", "", *(f"{folder}/{slug(name)}" for name in names), "```"]


def measure_page(measure: Measure) -> str:
    empty = "depends on topic and protocol" if callable(measure.if_empty) else f"{measure.if_empty:g}"
    better = "higher is better" if measure.higher_is_better else "lower is better"
    note = NOTES["measures"][measure.name]
    lines = [
        f"# {measure.name}\n",
        f"{note['idea']} {better[0].upper()}{better[1:]}.\n",
        f"$$\n{note['formula']}\n$$\n",
        f"![{measure.name} of four rankings of one example](../../images/figures/measure-{slug(measure.name)}.svg)\n",
        "*Four rankings of [the example](../../explanation/exposure.md) and the value of each; articles that are",
        "relevant with a probability of ½ or more count as relevant.*\n",
        f"**When to use it.** {note['use']}\n",
        "| | |",
        "|---|---|",
        f"| definition | {measure.label[0].upper()}{measure.label[1:]} |",
        f"| formula in words | {_one_line(measure.formula)} |",
        f"| tasks | {', '.join(map(str, measure.tasks))} |",
        f"| range | {measure.low:g} to {measure.high:g} |".replace("inf", "∞"),
        f"| empty ranking | {empty} |",
        f"| source | {_one_line(measure.citation)} |",
        f"| shown | {_shown_in(measure)} |\n",
        *_run_example(_measure_example(measure)),
    ]
    return "\n".join(lines)


ORDINAL = ("AWRF-OD", "GF-NMD", "GF-RNOD")
"""Measures of groups in an order; the example takes the regions in the order of their names."""
BOUNDED = ("nEE-L", "nEE-D", "nEE-R")
"""Measures that need geometric attention."""


def _measure_example(measure: Measure) -> str:
    ranked = "list(relevance)[:8]"
    rankings = f"[{ranked}, {ranked}[::-1]]" if 1 not in measure.tasks else ranked
    groups = '{"region:ordinal": regions}' if measure.name in ORDINAL else "regions"
    reading = ', attention="rbp:0.8"' if measure.name in BOUNDED else ""
    return (
        f'{EXAMPLE}\nrankings = {{"q": {rankings}}}\n'
        f'judged = {{"q": {{article: p >= 0.5 for article, p in relevance.items()}}}}\n'
        f'result = evenrank.score(rankings, {groups}, judged, target, measures=["{measure.name}"]{reading})\n'
        f"print(f\"{{result.systems[0].scores['{measure.name}']:.4f}}\")\n"
    )


def _run_example(code: str) -> list[str]:
    """The code of an example and what it prints, which running it here finds out."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(code, "example", "exec"), {})
    return ["## Example\n", f"```python\n{code.rstrip()}\n```\n", f"```text\n{printed.getvalue().rstrip()}\n```"]


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
    return "\n".join([*lines, "", NOTES["protocols"]["differences"].strip(), *_campaigns()])


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
    lines = [
        "# Policies\n",
        "As `evenrank policies` lists them. Settings follow `--set NAME=VALUE`, or the name: `swap:n_swaps=2000`.",
        "[Evidence](../explanation/evidence.md) compares them on many collections.\n",
        "| policy | tasks | idea |",
        "|---|---|---|",
    ]
    for name, policy in POLICIES.items():
        tasks = ", ".join(map(str, policy.tasks))
        lines.append(f"| [{name}](policies/{slug(name)}.md) | {tasks} | {_one_line(NOTES['policies'][name]['idea'])} |")
    lines += [
        "\n## Settings of all policies\n",
        "| setting | meaning |",
        "|---|---|",
        "| `information` | dimensions that the system knows, such as `geography,gender`; the target is over these |",
        "| `scored` | dimensions that the scorer looks at |",
        "| `n_candidates` | how many pages are ranked |",
        "| `within` | only pages of a group: `within=geography=Africa` |",
        "\n## Policies for streams\n",
        "For `evenrank stream` and `evenrank.Stream`; settings follow the name: `fairco:gain=0.1`.\n",
    ]
    for name, stream_policy in STREAM_POLICIES.items():
        lines += [f"### {name} (stream)\n", f"{inspect.getdoc(stream_policy) or ''}\n"]
        lines += [f"- Source: {stream_policy.citation}", "", *_settings_table(stream_policy)]
    return "\n".join([*lines, *_toctree("policies", POLICIES)])


def policy_page(name: str, policy: PolicyEntry) -> str:
    note = NOTES["policies"][name]
    tasks = " and ".join(f"Task {task}" for task in policy.tasks)
    lines = [f"# {name}\n", f"{note['idea']}\n", *_formulas(note["formula"])]
    if (FOLDER.parent / "images" / "figures" / f"policy-{name}.svg").exists():
        lines.append(f"![What {name} makes of one example](../../images/figures/policy-{name}.svg)\n")
        lines.append("*What it makes of [the example](../../explanation/exposure.md).*\n")
    lines += [f"**Good at.** {note['good']}\n", f"**Not so good at.** {note['bad']}\n", f"- Serves {tasks}"]
    if policy.paper_runs:
        settings = getattr(policy, "run_settings", {})
        runs = [f"{run} (`{settings[run]}`)" if run in settings else run for run in policy.paper_runs]
        lines.append(f"- Reconstructs, from their descriptions, the paper's runs {', '.join(runs)}")
    if near := getattr(policy, "near_runs", ()):
        lines.append(f"- Near the paper's runs {', '.join(near)}, which it does not reproduce: {policy.near_because}")
    lines += [f"- Source: {policy.citation}", ""]
    if details := (inspect.getdoc(policy) or "").partition("\n\n")[2]:
        lines += [f"{details}\n"]
    lines += [*_policy_settings(policy), *_run_example(_policy_example(name))]
    return "\n".join(lines)


def _policy_example(name: str) -> str:
    if name == "mmr":
        return MMR_EXAMPLE
    many = 1 not in POLICIES[name].tasks
    call = f'evenrank.rerank({{"q": relevance}}, regions, target, policy="{name}", k=8{", n_rankings=100" * many})'
    show = (
        'result = evenrank.score(made.to_dict(), regions, {"q": relevance}, target, measures=["EE-L"])\n'
        "print(f\"EE-L {result.systems[0].scores['EE-L']:.3f}\")\n"
        if many
        else 'print(*made.to_dict()["q"])\n'
    )
    return f"{EXAMPLE}\nmade = {call}\n{show}"


MMR_EXAMPLE = """import tempfile

import evenrank

folder = tempfile.mkdtemp()
wiki = evenrank.generate_collection(f"{folder}/wiki", n_pages=1500, n_topics=4, seed=1)
evenrank.build_index(wiki)
ranked = evenrank.rank(f"{folder}/wiki", 1, policy="mmr")
print(ranked.run.n_rankings, "rankings of", ranked.run.ranking(0).size, "pages")
"""
"""This policy compares texts, so its example needs a collection."""


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


def _formulas(formula: str | dict[str, str]) -> list[str]:
    """A formula, or one for each task under its name."""
    if isinstance(formula, str):
        return [f"$$\n{formula}\n$$\n"]
    return [f"{task}:\n\n$$\n{text}\n$$\n" for task, text in formula.items()]


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for folder in (FOLDER, FOLDER / "policies", FOLDER / "measures"):
        folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
