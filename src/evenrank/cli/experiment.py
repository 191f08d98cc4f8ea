"""`evenrank experiment`: a study from a TOML file to one folder with its report."""

from __future__ import annotations

from pathlib import Path

import click

import evenrank
from evenrank.cli.option_types import InputFile
from evenrank.cli.rank import WORKERS
from evenrank.cli.talk import say


@click.command("experiment")
@click.argument("study", metavar="FILE.toml", type=InputFile())
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the report and of all that is kept.  [default: FILE without its ending]",
)
@WORKERS
def command(study: Path, output: Path | None, workers: int | None) -> None:
    """Run the study that FILE.toml describes: data, policies (tuned or fixed), measures, tests of all pairs, Pareto
    frontiers, LaTeX tables and figures, in one folder with the page `report.html`.

    Finished trials are kept in the folder. An interrupted study resumes, and a changed one computes what is new.
    """
    folder = output or study.with_suffix("")
    found = evenrank.experiment(study, folder, workers=workers)
    click.echo(str(found), nl=False)
    say(f"report: {folder / 'report.html'}")
