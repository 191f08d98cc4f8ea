"""`evenrank trust`: how far the order of runs can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evenrank.cli.evaluate import say_notes, scored_runs
from evenrank.cli.listing import FORMAT, echo_json
from evenrank.cli.options import SEED, FiniteRange, InputFile
from evenrank.cli.scoring_options import DEPTHS, JUDGMENTS, ScoringOptions, open_judged, scoring_options
from evenrank.cli.talk import say
from evenrank.core.records import Task
from evenrank.core.safe_text import terminal_text
from evenrank.scoring.order_effects import N_DRAWS, OrderEffects, order_effects
from evenrank.scoring.tables import text_of
from evenrank.scoring.trust import N_RESAMPLES, trust

SHARE = FiniteRange(0.0, 1.0, min_open=True, max_open=True)


@click.command("trust")
@click.argument("collection", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-m", "--measure", help="Measure that orders the runs.  [default: Score, or EE-L in Task 2]")
@click.option("--resamples", "n_resamples", type=click.IntRange(10, 1_000_000), default=N_RESAMPLES)
@click.option("--power", type=SHARE, default=0.8, help="Power of a detectable difference.")
@click.option("--level", type=SHARE, default=0.05, help="Significance level of the tests.")
@JUDGMENTS
@click.option("--pool", type=InputFile(exists=True), help="Pool of the topics.  [default: that of the runs]")
@click.option("--draws", "n_draws", type=click.IntRange(1, 1000), default=N_DRAWS, help="With wrong groups.")
@click.option("--topics-only", is_flag=True, help="Resample topics, and change nothing else.")
@click.option("--seed", type=SEED, default=0)
@scoring_options(*DEPTHS)
@FORMAT
def command(
    collection: Path,
    runs: tuple[Path, ...],
    measure: str | None,
    judgments: Path | str | None,
    pool: Path | None,
    n_draws: int,
    topics_only: bool,
    seed: int,
    options: ScoringOptions,
    form: str,
    **tests: Any,
) -> None:
    """Say how far the order of runs can be trusted.

    With --judgments, runs are scored with that file, and the effect of each assessor is shown.

    Topics are resampled, the same ones for all runs: how often the best run stays first, between which ranks each run
    moves, and how well the orders agree. All pairs of runs are tested, with the difference that so many topics could
    detect and the number of topics that the observed difference would need. Then the order is computed again with other
    targets, without each run in the pool, without each assessor, and with more and more groups wrong until another run
    is first.
    """
    opened = open_judged(collection, judgments)
    results = options.score(opened, runs, measures=() if measure is None else (measure,))
    single = [task for task in results.tasks if len(results.of_task(task)) == 1]
    found = [
        trust(results, task, measure, seed=seed, **tests)
        for task in results.tasks
        if task not in single or len(single) == len(results.tasks)
    ]
    effects: dict[Task, OrderEffects] = {}
    if not topics_only:
        opened, loaded = scored_runs(opened, runs, options, is_quiet=True)
        made = order_effects(
            opened,
            loaded,
            options.protocol,
            options.groups,
            judgments=judgments,
            pool=pool,
            n_draws=n_draws,
            seed=seed,
            **options.settings,
        )
        effects = {one.task: one for one in made}
    if form == "json":
        tasks = [
            one.to_json() | ({"effects": effects[one.task].to_json()} if one.task in effects else {}) for one in found
        ]
        echo_json({"protocol": results.protocol.settings(), "tasks": tasks})
        return
    for one in found:
        click.echo(text_of(one.rank_table()))
        click.echo(text_of(one.pair_table()))
        effect = effects.get(one.task)
        if effect is not None:
            click.echo(text_of(effect.table()))
        for line in (*one.summary(), *(effect.summary() if effect else ())):
            click.echo(terminal_text(line))
        for note in (*one.notes, *(effect.notes if effect else ())):
            say(f"note: {note}")
    for task in single:
        say(f"note: Task {task} has one run, and no order")
    say_notes(results, with_settings=True)
