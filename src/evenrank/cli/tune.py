"""`evenrank tune`: the settings of a policy that do best on training queries, within a stated budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.options import SEED, measures_option, settings_option
from evenrank.cli.outputs import FORCE, refuse_existing
from evenrank.cli.rank import FOLDER, PROTOCOL, TARGET, WORKERS
from evenrank.cli.score import TABLE
from evenrank.cli.talk import say, warn


@click.command("tune")
@click.argument("folder", metavar="[DIR]", type=FOLDER, required=False)
@click.option("--policy", metavar="NAME", default="optimal", help="The policy to tune.")
@click.option("--task", type=click.Choice([1, 2]), default=1)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=24,
    help="Combinations of settings that may be tried on all training queries.",
)
@click.option(
    "--method",
    type=click.Choice(["random", "halving"]),
    default="random",
    help="random: each combination on all queries; halving: three times as many on few queries, of which the best "
    "third continues, at the same cost.",
)
@measures_option("Measures to tune by, which are averaged", "Score, EE-L")
@settings_option("A setting that stays as it is.")
@click.option(
    "--try",
    "tried",
    metavar="NAME=V,V,…|LOW..HIGH",
    multiple=True,
    help="A setting to tune, with the values or the range to draw from.  [default: the weights of aims]",
)
@PROTOCOL
@TARGET
@click.option("--model", default="untrained", help="Relevance model, as for `rank`.")
@click.option("--run", "run_path", metavar="RUN", type=TABLE, help="Own data instead of DIR: items as for `rerank`.")
@click.option("--groups", metavar="FILE", type=TABLE, help="Own data: groups of the items.")
@click.option("--qrels", metavar="FILE", type=TABLE, help="Own data: relevance to score by.")
@click.option("-k", "length", type=click.IntRange(min=1), help="Own data: items of a ranking.  [default: all]")
@click.option("--rankings", type=click.IntRange(1, 100_000), default=1, help="Own data: rankings of each query.")
@click.option("--seed", type=SEED, default=0, help="Same seed, same trials.")
@WORKERS
@click.option(
    "--cache",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where finished trials are kept, so that an interrupted search resumes.  [default: OUT.trials]",
)
@click.option("-o", "--output", metavar="OUT", type=TABLE, help="JSON file with the settings and all that was tried.")
@FORCE
def command(
    folder: Path | None,
    tried: tuple[str, ...],
    target: str,
    run_path: Path | None,
    groups: Path | None,
    qrels: Path | None,
    length: int | None,
    rankings: int,
    cache: Path | None,
    output: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Try settings of a policy on the training topics of the collection DIR, or on queries of your own, and print the
    best ones.

    Evaluation topics are never looked at, so what is scored on them later is not what was tuned on. Own data (--run,
    --groups and --qrels together) are all taken as training queries.
    """
    from evenrank.experiments.search_space import read_space

    own = (run_path, groups, qrels)
    if (folder is None) == all(one is None for one in own) or (folder is None and None in own):
        raise click.UsageError("give a collection DIR, or own data: --run, --groups and --qrels")
    if output is not None:
        refuse_existing(output, force=force)
    data = folder or evenrank.OwnData(
        run_path,
        groups,
        qrels,
        None if target == "track" else target,
        k=length,
        n_rankings=rankings,
        train_share=1.0,
        name=str(run_path),
    )
    found = evenrank.tune(
        data,
        space=read_space(tried) or None,
        target=target,
        folder=cache or (output and output.with_name(f"{output.name}.trials")),
        **options,
    )
    click.echo(str(found), nl=False)
    if failed := [one for one in found.tried if one.error]:
        warn(f"{len(failed)} of {len(found.tried)} trials failed, the first because of: {failed[0].error}")
    if output is not None:
        found.write(output)
    best = " ".join(f"--set {name}={text}" for name, text in found.settings.items())
    say(f"best: {best or 'the defaults'} ({found.value:.4f}; defaults {found.default_value:.4f})")
