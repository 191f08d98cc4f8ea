"""`evenrank pareto`: the frontier between relevance and fairness of a topic or a topic set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.options import ModelOptions, model_options, settings_option
from evenrank.cli.outputs import FORCE, STDOUT, check_output, refuse_existing
from evenrank.cli.rank import ATTENTION, CANDIDATES, FOLDER, PROTOCOL, TARGET, TOPICS, WORKERS

TABLES = ("tsv", "json")


@click.command("pareto")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--task", type=click.Choice([1, 2]), default=1)
@CANDIDATES
@model_options
@TOPICS
@PROTOCOL
@TARGET
@ATTENTION
@click.option("--weights", metavar="W,W,…", help="Weights of fairness.  [default: ten from 0 to 30]")
@settings_option("A setting of `optimal` or the candidates.")
@WORKERS
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="OUT",
    multiple=True,
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="A figure (.pdf, .png, .svg) or the numbers (.tsv, .json, - for TSV on standard output); may be repeated.",
)
@FORCE
def command(
    folder: Path, model: ModelOptions, weights: str | None, outputs: tuple[Path, ...], force: bool, **options: Any
) -> None:
    """Sweep the weight of fairness of the policy `optimal`; print one row per topic and weight, the mean last.

    Relevance and fairness are the policy's own estimates: no judgment is looked at.
    """
    check_outputs(outputs)
    collection = evenrank.Collection.open(folder)
    check_output(collection, *outputs)
    for path in outputs:
        refuse_existing(path, force=force)
    options |= {"weights": weights} if weights else {}
    write_outputs(evenrank.pareto(collection, model=model.choose(collection), **options), outputs)


def check_outputs(outputs: Sequence[Path]) -> None:
    """Refuse names whose ending is no known format, and figures that cannot be drawn."""
    from evenrank.io.figures import FORMATS, require_matplotlib

    wrong = [str(path) for path in outputs if path != STDOUT and path.suffix[1:] not in (*TABLES, *FORMATS)]
    if wrong:
        endings = ", ".join(f".{ending}" for ending in (*TABLES, *FORMATS))
        raise click.BadParameter(f"{', '.join(wrong)}: give a name that ends in {endings}", param_hint="-o")
    if any(path.suffix[1:] in FORMATS for path in outputs):
        require_matplotlib()


def write_outputs(found: evenrank.Frontiers, outputs: Sequence[Path]) -> None:
    """The frontier in every form asked for; on standard output when none is."""
    from evenrank.io.atomic import atomic_file

    if not outputs:
        click.echo(as_tsv(found), nl=False)
    for path in outputs:
        if path != STDOUT and path.suffix[1:] not in TABLES:
            found.plot(path)
            continue
        text = as_json(found) if path.suffix == ".json" else as_tsv(found)
        with atomic_file(path) as file:
            file.write(text.encode())


def as_tsv(found: evenrank.Frontiers) -> str:
    """One line per topic and weight."""
    rows = found.rows()
    lines = ["\t".join(rows[0])]
    for row in rows:
        topic, *values = row.values()
        lines.append("\t".join([topic, *(f"{value:.6g}" for value in values)]))
    return "\n".join(lines) + "\n"


def as_json(found: evenrank.Frontiers) -> str:
    """The same as plain data, with the relevance model behind it."""
    import orjson

    return orjson.dumps(found.to_json(), option=orjson.OPT_INDENT_2).decode() + "\n"
