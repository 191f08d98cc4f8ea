"""Options that every scoring command has: the protocol, its settings, and which pages count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenrank.cli.options import STORE, Decorator, NameIn, joint_options
from evenrank.cli.talk import say
from evenrank.core.protocol import DEFAULT_PROTOCOL, PROTOCOLS

if TYPE_CHECKING:
    from evenrank.scoring.protocol_settings import ProtocolSettings
    from evenrank.scoring.results import Results
    from evenrank.trec.collection import Collection


JUDGMENTS = click.option(
    "--judgments", metavar="STORE", type=STORE, help="Judgments file to score with, in place of the collection's own."
)


def protocol_option(what: str = "Set of scoring choices.") -> Decorator[Any]:
    """Add `--protocol`, the name of a protocol."""
    return click.option("--protocol", type=NameIn("protocol", PROTOCOLS), default=DEFAULT_PROTOCOL, help=what)


def attention_option(default: str) -> Decorator[Any]:
    """Add `--attention`, a model of how people read."""
    models = "log, dcg, reciprocal, uniform, rbp:PERSISTENCE, gerr:PERSISTENCE,SATISFACTION (a cascade) or table:FILE"
    help_text = f"How people read: {models}, a weight per line.  [default: {default}]"
    return click.option("--attention", metavar="MODEL", help=help_text)


def open_judged(folder: Path, judgments: Path | str | None) -> Collection:
    """The collection in a folder; with a judgments file, with the judgments of that file, whose state is noted."""
    from evenrank.trec.collection import Collection

    opened = Collection.open(folder)
    if judgments is None:
        return opened
    from evenrank.trec.assessment.files import judgment_notes, with_judgments
    from evenrank.trec.assessment.votes import open_store

    with open_store(judgments) as store:
        for note in judgment_notes(store):
            say(note)
        return with_judgments(opened, store)


@dataclass(frozen=True)
class ScoringOptions:
    """How runs are to be scored, as said on the command line."""

    protocol: str
    groups: str
    settings: ProtocolSettings
    judged_only: bool
    as_typed: tuple[str, ...]
    """The options that differ from the defaults, as they would be typed."""

    def score(self, collection: Path | Collection, runs: Sequence[Path], **options: Any) -> Results:
        """The results of run files; `options` are further ones of `score_files`."""
        from evenrank.scoring.evaluate import score_files

        return score_files(
            collection, runs, self.protocol, self.groups, self.settings, judged_only=self.judged_only, **options
        )


def read_scoring_options(
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
    limits = {name: value for name, value in (("depth", depth), ("rankings", rankings)) if value is not None}
    typed = ["--protocol", protocol, *(["--groups", groups] if groups != "intersection" else [])]
    for option, values in (("--set", settings), *((f"--{name}", [value]) for name, value in limits.items())):
        for value in values:
            typed += [option, str(value)]
    typed += ["--judged-only"] if judged_only else []
    return ScoringOptions(protocol, groups, changes | limits, judged_only, tuple(typed))


def scoring_options(*others: Decorator[Any]) -> Decorator[Any]:
    """Add `--protocol`, `--groups`, `--set` and others that `read_scoring_options` knows to a command, which gets them
    as the argument `options`."""
    return joint_options("options", read_scoring_options, *_PROTOCOL_OPTIONS, *others)


_PROTOCOL_OPTIONS = (
    protocol_option(),
    click.option(
        "--groups",
        default="intersection",
        metavar="intersection|geography|…",
        help="Dimensions of the groups: a name, or several joined by commas.",
    ),
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change one choice of the protocol."),
)
DEPTH = click.option("--depth", type=click.IntRange(min=1), help="Pages of each ranking that are scored.")
DEPTHS = (
    DEPTH,
    click.option("--rankings", type=click.IntRange(min=1), help="Rankings of a Task 2 sequence that are scored."),
    click.option("--judged-only", is_flag=True, help="Take pages that nobody judged out of the rankings first."),
)
"""`--depth`, `--rankings` and `--judged-only`."""


def _read_uncertainty(uncertainty: str, assume: tuple[str, ...], draws: int) -> dict[str, Any]:
    """Which intervals are wanted, as keywords of `score` and `score_files`."""
    if assume and not uncertainty:
        raise click.UsageError("--assume is the model of --uncertainty; name its sources too")
    return {"uncertainty": uncertainty, "assume": list(assume) or None, "draws": draws}


uncertainty_options = joint_options(
    "intervals",
    _read_uncertainty,
    click.option(
        "--uncertainty",
        default="",
        show_default=False,
        metavar="SOURCES",
        help="Intervals that carry these: topics,missing,errors,judgments,target, or all.",
    ),
    click.option(
        "--assume",
        multiple=True,
        metavar="FILE|NAME=VALUE",
        help="Model of what is unknown: a TOML or JSON file, or geography.odds.Africa=2..4; may be repeated.",
    ),
    click.option("--draws", type=click.IntRange(min=2), default=100, help="Draws of --uncertainty."),
)
"""`--uncertainty`, `--assume` and `--draws`, as `intervals`."""
