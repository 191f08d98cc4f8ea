"""`evenrank experiment`: a study from a TOML file to one folder with its report."""

from __future__ import annotations

from pathlib import Path

import click

import evenrank
from evenrank.cli.options import InputFile
from evenrank.cli.rank import WORKERS
from evenrank.cli.talk import say
from evenrank.measures.registry import MAIN


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
@click.option("--check", is_flag=True, help="Only check the file, and say what would be run.")
def command(study: Path, output: Path | None, workers: int, check: bool) -> None:
    """Run the study that FILE.toml describes: data, policies (tuned or fixed), measures, tests of all pairs, Pareto
    frontiers, LaTeX tables and figures, in one folder with the page `report.html`.

    Finished trials are kept in the folder. An interrupted study resumes, and a changed one computes what is new.
    """
    from evenrank.experiments.report import regret_table, text_of
    from evenrank.experiments.study import read_study

    asked = read_study(study)
    if check:
        counts = f"{len(asked.data)} data sets, {len(asked.policies)} policies"
        click.echo(f"{asked.title}: {counts} ({sum(p.is_tuned for p in asked.policies)} tuned)")
        return
    folder = output or study.with_suffix("")
    found = evenrank.experiment(asked, folder, workers=workers)
    click.echo(str(found))
    for task, measure in dict.fromkeys((task, MAIN[task].name) for _, task in found.groups):
        if len(found.groups) > 1 and any((one.task, one.measure) == (task, measure) for one in found.regrets):
            click.echo(text_of(regret_table(found.regrets, task, measure)))
    say(f"report: {folder / 'report.html'}")
