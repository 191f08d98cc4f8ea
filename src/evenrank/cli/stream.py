"""`evenrank stream`: rank a file of requests one by one, and measure fairness over all of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import orjson

import evenrank
from evenrank.cli.options import SEED, FiniteRange, InputFile, settings_option
from evenrank.cli.outputs import STDOUT, refuse_existing, write_text
from evenrank.cli.talk import say
from evenrank.io.atomic import refuse_input

FORMATS = ("table", "tsv", "csv", "json")
ATTENTION = "log, dcg, reciprocal, uniform, rbp:PERSISTENCE, gerr:PERSISTENCE,SATISFACTION or table:1,0.5,…"
OUTPUT = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command("stream")
@click.argument("requests", type=InputFile(exists=True), required=False)
@click.option(
    "--policy",
    "policies",
    metavar="NAME[:SET=VALUE,…]",
    multiple=True,
    default=("optimal",),
    help="relevance, random, fairco, amortised or optimal. May be repeated, to compare.",
)
@click.option("--groups", metavar="FILE", type=InputFile(exists=True), help="CSV: item,group or item,group,share.")
@click.option(
    "--target",
    metavar="WORD|FILE",
    default="relevant",
    help="Shares that groups should have: relevant, population, equal, or CSV: group,share.",
)
@click.option(
    "--window", type=FiniteRange(min=0, min_open=True), help="Requests (or time) after which a request is forgotten."
)
@click.option("--half-life", type=FiniteRange(min=0, min_open=True), help="Requests (or time) in which weights halve.")
@click.option("--attention", default="log", help=f"Attention by rank: {ATTENTION}.")
@click.option(
    "--exposure",
    type=click.Choice(["position", "impact"]),
    default="position",
    help="Attention of the rank, or attention × relevance.",
)
@settings_option("A setting of the policy.")
@click.option("--seed", type=SEED, default=0, help="Same seed, same bytes.")
@click.option("--blocks", type=click.IntRange(1, 1000), default=20, help="Blocks for intervals.")
@click.option("--server", default="main", help="Name under which sums are kept.")
@click.option(
    "--state",
    "states",
    metavar="FILE",
    multiple=True,
    type=InputFile(exists=True),
    help="Begin here; several are merged.",
)
@click.option("--save", metavar="FILE", type=OUTPUT, help="Write the state at the end.")
@click.option(
    "--log", metavar="FILE", type=OUTPUT, help="Log every ranking before it is given; an existing log is continued."
)
@click.option("--fsync", is_flag=True, help="Flush each record of the log to the disk.")
@click.option(
    "--replay", is_flag=True, help="REQUESTS is a log: rank everything again and compare; exit 1 if it differs."
)
@click.option("-o", "--output", metavar="FILE", type=OUTPUT, help="Rankings: JSON lines, or TSV by the ending.")
@click.option("--plot", metavar="FILE", type=OUTPUT, help="Figure over time: .svg, .pdf or .png.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", help="Format of the measures.")
@click.option("--force", is_flag=True, help="Overwrite output files.")
def command(
    requests: Path | None,
    policies: tuple[str, ...],
    groups: Path | None,
    target: str,
    blocks: int,
    states: tuple[Path, ...],
    save: Path | None,
    log: Path | None,
    replay: bool,
    output: Path | None,
    plot: Path | None,
    form: str,
    force: bool,
    **options: Any,
) -> None:
    """Rank REQUESTS (JSON lines) one by one, each knowing only those before, and measure fairness over all of them.

    A request has a query and its items with relevance and groups; with grades, the measures are by these, which no
    policy sees. States of several servers are merged with: evenrank stream --state A --state B --save MERGED.
    """
    if requests is None:
        _refuse_ignored("a merge of states", {"states", "save", "force"})
        _merge(states, save, force)
        return
    if replay:
        _refuse_ignored("--replay", {"requests", "replay", "save", "force"})
        _replay(requests, save, force)
        return
    outputs = [path for path in (save, log, output, plot) if path is not None]
    _check_outputs(outputs, [requests, *([groups] if groups else []), *states], log, force)
    if len(policies) > 1 and (save or log or output):
        raise click.UsageError("--save, --log and -o are for one policy (give --policy once)")
    if plot is not None:
        from evenrank.io.figures import check_figure

        check_figure(plot)
    runs = list(_ranked(policies, requests, groups, target, states, blocks, log=log, **options))
    measured = [run.measures for run in runs]
    if output is not None:
        write_text(_rankings(runs[0], output), output, force=True)
    if save is not None:
        runs[0].stream.save(save)
    if plot is not None:
        evenrank.plot_streams(measured, plot)
    if STDOUT not in (output, save):
        write_text([_render(measured, form)], STDOUT, force=True)


def _ranked(
    policies: tuple[str, ...],
    path: Path,
    groups: Path | None,
    target: str,
    states: tuple[Path, ...],
    blocks: int,
    **options: Any,
) -> Iterator[evenrank.StreamRun]:
    """The requests ranked by each policy; everything is read and checked before the first."""
    from evenrank.policies.stream_policies import make_stream_policy
    from evenrank.progress import track
    from evenrank.ranking.stream import TARGETS
    from evenrank.ranking.stream_log import group_lookup, read_stream_target

    for policy in policies:
        make_stream_policy(policy)
    wanted = target if target in TARGETS or not Path(target).exists() else read_stream_target(target)
    found = evenrank.read_requests(path, group_lookup(groups))
    if not any(one.groups for request in found for one in request.candidates):
        say("note: no item has a group, so there is nothing to be fair to (give --groups, or groups in the requests)")
    loaded = [evenrank.StreamState.load(one) for one in states]
    for policy in policies:
        state = loaded[0].merge(*loaded[1:]) if loaded else None
        with evenrank.Stream(policy, None, wanted, state=state, **options) as stream:
            label = policy if len(policies) > 1 else stream.policy.name
            yield evenrank.run_stream(found, stream, blocks=blocks, name=label, progress=partial(track, label=label))


def _check_outputs(outputs: list[Path], inputs: list[Path], log: Path | None, force: bool) -> None:
    for path in outputs:
        refuse_input(path, inputs)
        if path != log:
            refuse_existing(path, force=force)
    if log == STDOUT:
        raise click.UsageError("--log: a log is a file, because it is continued and replayed (name one)")
    named = [path.resolve() for path in outputs]
    if len(set(named)) < len(named):
        raise click.UsageError("two outputs have the same name")


def _refuse_ignored(task: str, used: set[str]) -> None:
    """UsageError for options that were given and that a task would not use."""
    context = click.get_current_context()
    given = [
        one.opts[-1]
        for one in context.command.params
        if one.name is not None
        and one.name not in used
        and context.get_parameter_source(one.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: not used by {task} (leave it out)")


def _merge(states: tuple[Path, ...], save: Path | None, force: bool) -> None:
    """Merge states without ranking anything."""
    if not states or save is None:
        raise click.UsageError("name a file of REQUESTS, or --state and --save to merge states")
    _check_outputs([save], list(states), None, force)
    loaded = [evenrank.StreamState.load(one) for one in states]
    merged = loaded[0].merge(*loaded[1:])
    merged.save(save)
    say(f"{save}: {repr(merged).strip('<>')}")


def _replay(log: Path, save: Path | None, force: bool) -> None:
    """Rank everything in a log again; exit code 1 where a ranking comes out otherwise."""
    if save is not None:
        _check_outputs([save], [log], None, force)
    try:
        stream = evenrank.Stream.replay(log)
    except evenrank.errors.ReplayError as error:
        click.echo(f"error: {error}", err=True)
        raise click.exceptions.Exit(1) from None
    if save is not None:
        stream.save(save)
    click.echo(f"{log}: {repr(stream).strip('<>')}, every ranking as it was")


def _rankings(run: evenrank.StreamRun, path: Path) -> Iterable[str]:
    """The rankings as JSON lines, or as TSV with a row for each item."""
    pairs = zip(run.requests, run.rankings, strict=True)
    if path.suffix.casefold() != ".tsv":
        for request, ranking in pairs:
            record = {"request": request.request, "query": request.query, "ranking": ranking[:]}
            yield orjson.dumps(record).decode() + "\n"
        return
    yield "request\tquery\trank\titem\n"
    for request, ranking in pairs:
        text = io.StringIO()
        rows = ((request.request, request.query, rank, item) for rank, item in enumerate(ranking, 1))
        csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
        yield text.getvalue()


def _render(measured: list[evenrank.StreamMeasures], form: str) -> str:
    """The measures in one of `FORMATS`."""
    from evenrank.scoring.result_tables import RENDERERS
    from evenrank.scoring.stream_measures import streams_table

    if form == "json":
        document = {"schema": "evenrank.stream/1", "streams": [one.to_json() for one in measured]}
        return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"
    return RENDERERS[form](streams_table(measured))
