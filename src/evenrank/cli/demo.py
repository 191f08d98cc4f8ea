"""`evenrank demo`: the whole chain on a generated collection, each step as the command a user would type."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from evenrank.cli.options import SEED

RUNS = (
    (1, "relevance"),
    (1, "proportional"),
    (1, "exposure-disparity"),
    (1, "optimal"),
    (2, "relevance"),
    (2, "deficit"),
    (2, "controller"),
    (2, "optimal"),
)
"""Task and policy of the runs that the demo makes."""


@click.command("demo")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"))
@click.option("--pages", type=click.IntRange(min=2000), default=20_000, help="Synthetic articles to make.")
@click.option("--seed", type=SEED, default=0, help="Same seed, same bytes.")
@click.option("--serve", is_flag=True, help="Start the web app at the end.")
def command(folder: Path, pages: int, seed: int, serve: bool) -> None:
    """Run the complete chain in FOLDER: synthetic articles, index, fair rankings for both tasks, scores, report.

    Every step is printed as the command that does it. Nothing is downloaded.
    """
    collection = folder / "collection"
    runs = {(task, policy): folder / "runs" / f"task{task}-{policy}.gz" for task, policy in RUNS}
    again = ["--force"] if collection.exists() else []
    _run("collection", "generate", collection, "--pages", pages, "--seed", seed, *again)
    _run("index", collection)
    for (task, policy), path in runs.items():
        _run("rank", collection, "--task", task, "--policy", policy, "--seed", seed, "-o", path, "--force")
    _run("run", "check", collection, *runs.values())
    for task in (1, 2):
        chosen = [path for (of_task, _), path in runs.items() if of_task == task]
        _run("evaluate", collection, *chosen, "--protocol", "paper-2021")
        _run("compare", collection, *chosen, "--baseline", runs[task, "relevance"], "--protocol", "paper-2021")
    report = folder / "report"
    _run("report", collection, *runs.values(), "--protocol", "paper-2021", "-o", report)
    _say_where(folder, collection, report)
    if serve:
        _run("serve", collection)


def _run(*words: object) -> None:
    """Print a command and run it in this process."""
    from evenrank.cli.main import cli

    texts = [str(word) for word in words]
    click.secho(f"\n$ evenrank {shlex.join(texts)}", bold=True)
    code = cli(texts, prog_name="evenrank", standalone_mode=False)
    if isinstance(code, int) and code:
        raise click.exceptions.Exit(code)


def _say_where(folder: Path, collection: Path, report: Path) -> None:
    program = "evenrank" if shutil.which("evenrank") else sys.argv[0]
    click.secho("\nDone. Where to look:", bold=True)
    click.echo(f"  {report / 'index.html'}   tables, figures and every number, offline")
    click.echo(f"  {folder / 'runs'}   the rankings, each with its settings and certificate (.json)")
    click.echo(f"  {program} search {collection} WORDS   to search the articles")
    click.echo(f"  {program} serve {collection}   work lists for coordinators and editors, at http://127.0.0.1:8000")
