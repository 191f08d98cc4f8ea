"""`evenrank compare`: paired tests of runs against a baseline."""

from __future__ import annotations

from pathlib import Path

import click

from evenrank.cli.evaluate import FORMATS, print_tables, say_notes
from evenrank.cli.options import SEED, measures_option
from evenrank.cli.scoring_options import DEPTHS, JUDGMENTS, ScoringOptions, open_judged, scoring_options
from evenrank.cli.talk import say
from evenrank.io.runs import split_name
from evenrank.scoring.compare import compare


@click.command("compare")
@click.argument("collection", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--baseline", required=True, metavar="RUN", help="Run file, or the name of one of the runs.")
@click.option("--test", type=click.Choice(["randomisation", "t-test"]), default="randomisation")
@measures_option("Measures to compare on", "the track's own")
@click.option("--seed", type=SEED, default=0, help="Seed of the randomisation test.")
@scoring_options(*DEPTHS)
@JUDGMENTS
@click.option("--format", "form", type=click.Choice(FORMATS), default="table")
def command(
    collection: Path,
    runs: tuple[Path, ...],
    baseline: str,
    test: str,
    measures: tuple[str, ...],
    seed: int,
    options: ScoringOptions,
    judgments: Path | str | None,
    form: str,
) -> None:
    """Compare runs with a baseline, topic by topic.

    For each measure: the mean difference with its interval, topics won, tied and lost, and the p of a paired test, with
    Holm's correction over the runs. Better and worse follow the direction of the measure: a lower EE-L is better.
    """
    paths, name = with_baseline(runs, baseline)
    results = options.score(open_judged(collection, judgments), paths, measures=measures)
    comparisons = compare(results, name, test, measures or None, seed)
    print_tables([comparisons.table()], comparisons.to_json(), form)
    say_notes(results, with_settings=form != "json")
    for note in comparisons.notes:
        say(note)
    left_out = [run.run for run in results.runs if run.task != results[name].task]
    if left_out:
        say(f"runs of the other task, left out: {', '.join(left_out)}")


def with_baseline(runs: tuple[Path, ...], baseline: str) -> tuple[tuple[Path, ...], str]:
    """The run files with the baseline among them once, and the baseline's name."""
    named = {name: path.resolve() for name, path in map(split_name, runs)}
    if baseline in named and not Path(baseline).exists():
        return runs, baseline
    name, path = split_name(baseline)
    same = [known for known, other in named.items() if other == path.resolve()]
    return (runs, same[0]) if same else ((*runs, Path(baseline)), name)
