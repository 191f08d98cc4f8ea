"""`evenrank experiment`: a study from a TOML file, or a published table made again, in one folder with its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import evenrank
from evenrank.cli.listing import FORMAT
from evenrank.cli.options import SEED, InputFile, encoder_options
from evenrank.cli.rank import WORKERS
from evenrank.cli.talk import say, warn
from evenrank.measures.registry import MAIN

if TYPE_CHECKING:
    from evenrank.retrieval.encode.encoder import EncoderSettings

YEARS = (2021, 2022)


class StudyGroup(click.Group):
    """A group whose usual command is `run`: `experiment FILE.toml` is `experiment run FILE.toml`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group("experiment", cls=StudyGroup)
def command() -> None:
    """Studies: `experiment FILE.toml` runs one of your own (short for `experiment run FILE.toml`), and
    `experiment reproduce-2021 DIR` makes all runs of the track's published tables again."""


@command.command("run")
@click.argument("study", metavar="FILE.toml", type=InputFile())
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the report and of finished trials.  [default: FILE without its ending]",
)
@WORKERS
@click.option("--check", is_flag=True, help="Only check the file, and say what would be run.")
def run_command(study: Path, output: Path | None, workers: int, check: bool) -> None:
    """Run the study that FILE.toml describes: data, policies (tuned or fixed), measures, tests of all pairs, Pareto
    frontiers, LaTeX tables and figures, in one folder with the page `report.html`.

    Finished trials are kept in the folder. An interrupted study resumes, and a changed one computes what is new.
    """
    from evenrank.experiments.report import regret_table
    from evenrank.experiments.study import read_study
    from evenrank.scoring.tables import text_of
    from evenrank.trec.describe import counted

    asked = read_study(study)
    if check:
        counts = f"{counted(len(asked.data), 'data set')}, {len(asked.policies)} policies"
        click.echo(f"{asked.title}: {counts} ({sum(p.is_tuned for p in asked.policies)} tuned)")
        return
    folder = output or study.with_suffix("")
    found = evenrank.experiment(asked, folder, workers=workers)
    click.echo(str(found))
    for cell in found.cells:
        failed = [one.error for one in cell.tuned.tried if one.error] if cell.tuned is not None else []
        if cell.error or failed:
            what = "failed" if cell.error else f"{len(failed)} of its trials failed"
            warn(f"{cell.policy} on {cell.data}, Task {cell.task}: {what}: {cell.error or failed[0]}")
    for task, measure in dict.fromkeys((task, MAIN[task].name) for _, task in found.groups):
        if len(found.groups) > 1 and any((one.task, one.measure) == (task, measure) for one in found.regrets):
            click.echo(text_of(regret_table(found.regrets, task, measure)))
    say(f"report: {folder / 'report.html'}")


def _reproduce_command(year: int) -> click.Command:
    @click.command(f"reproduce-{year}")
    @click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
    @click.option(
        "--collection",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Collection of the official data.  [default: one of the track's shape is generated in DIR]",
    )
    @click.option("--pages", type=click.IntRange(min=100), default=20_000, help="Pages to generate.")
    @click.option("--topics", type=click.IntRange(min=4), default=106, help="Topics to generate.")
    @FORMAT
    @encoder_options
    @click.option("--seed", type=SEED, default=0, help="Seed of everything that is drawn.")
    @WORKERS
    def reproduce_command(
        folder: Path, pages: int, topics: int, form: str, encoder: EncoderSettings | None, **others: Any
    ) -> None:
        import orjson

        found = evenrank.reproduce(year, folder, n_pages=pages, n_topics=topics, encoder=encoder, say=say, **others)
        if form == "json":
            click.echo(orjson.dumps(found.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())
        else:
            click.echo(str(found))
        say(f"report: {folder / 'report.html'}")

    reproduce_command.help = (
        f"Make all runs of the tables of the TREC {year} Fair Ranking Track, score them, and show them beside the "
        "published figures, with differences, Kendall's τ of the orders, and effects against the run by relevance.\n\n"
        "Every run is marked close, reconstructed or approximate, with what is missing. Runs that used RoBERTa or BERT "
        "take the network of --encoder, and words without it. Finished runs are kept in DIR, so that an interrupted "
        "command resumes."
    )
    return reproduce_command


for _year in YEARS:
    command.add_command(_reproduce_command(_year))
