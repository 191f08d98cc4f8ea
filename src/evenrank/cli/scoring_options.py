"""Options that every scoring command has: the protocol, its settings, and which pages count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import click

from evenrank.cli.options import NameIn
from evenrank.core.protocol import DEFAULT_PROTOCOL, PROTOCOLS

if TYPE_CHECKING:
    from evenrank.scoring.protocol_settings import ProtocolSettings

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class ScoringOptions:
    """How runs are to be scored, as said on the command line."""

    protocol: str
    groups: str
    settings: ProtocolSettings
    judged_only: bool = False


PROTOCOL_NAME = NameIn("protocol", PROTOCOLS)


def protocol_options(command: F) -> F:
    """`--protocol`, `--groups` and `--set`."""
    decorators = (
        click.option(
            "--protocol",
            type=PROTOCOL_NAME,
            default=DEFAULT_PROTOCOL,
            show_default=True,
            help="Set of scoring choices.",
        ),
        click.option(
            "--groups",
            default="intersection",
            show_default=True,
            metavar="intersection|geography|…",
            help="Dimensions of the groups: a name, or several joined by commas.",
        ),
        click.option(
            "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change one choice of the protocol."
        ),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def depth_options(command: F) -> F:
    """`--depth`, `--rankings` and `--judged-only`."""
    at_least_one = click.IntRange(min=1)
    decorators = (
        click.option("--depth", type=at_least_one, help="Pages of each ranking that are scored."),
        click.option("--rankings", type=at_least_one, help="Rankings of a Task 2 sequence that are scored."),
        click.option("--judged-only", is_flag=True, help="Take pages that nobody judged out of the rankings first."),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def scoring_options(
    protocol: str,
    groups: str,
    settings: tuple[str, ...],
    depth: int | None = None,
    rankings: int | None = None,
    judged_only: bool = False,
    attention: str | None = None,
) -> ScoringOptions:
    """The options as one value; faults of `--set` and `--attention` are reported all at once."""
    from evenrank.scoring.protocol_settings import parse_protocol_settings

    changes = parse_protocol_settings([*settings, *([] if attention is None else [f"attention={attention}"])])
    changes |= {name: value for name, value in (("depth", depth), ("rankings", rankings)) if value is not None}
    return ScoringOptions(protocol, groups, changes, judged_only)
