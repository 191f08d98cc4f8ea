"""`evenrank rerank`: fair rankings of anything, from files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.options import SEED, settings_option
from evenrank.cli.outputs import ENTRIES_AT_ONCE, json_parts, write_text
from evenrank.cli.score import ATTENTION, TABLE, refuse_second_stdin
from evenrank.cli.talk import say
from evenrank.errors import EvenrankError
from evenrank.io.atomic import refuse_input
from evenrank.parallel import n_cores

FORMATS = ("trec", "csv", "tsv", "json")


@click.command("rerank")
@click.option("--run", "run_path", metavar="RUN", type=TABLE, required=True, help="TREC run, or CSV: query,item,score.")
@click.option("--groups", metavar="FILE", type=TABLE, required=True, help="CSV: item, and groups as for `score`.")
@click.option("--target", metavar="WORD|FILE", help="relevant (as the expected relevance), population, equal, or CSV.")
@click.option("--policy", metavar="NAME", default="optimal", help="How to rank; `evenrank policies` lists them.")
@click.option("-k", "k", type=click.IntRange(min=1), help="Items of a ranking.  [default: all]")
@click.option(
    "--rankings",
    "n_rankings",
    type=click.IntRange(1, 100_000),
    default=1,
    help="Rankings of each query, fair together.",
)
@click.option(
    "--relevance",
    type=click.Choice(["score", "rank"]),
    default="score",
    help="Whether the score is the expected relevance, or it is inferred from the rank.",
)
@click.option("--attention", default="log", help=f"Attention by rank: {ATTENTION}")
@settings_option("A setting of the policy.")
@click.option("--seed", type=SEED, default=0, help="Same seed, same bytes.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="[default: by the ending of the output, else trec]")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=TABLE,
    default=Path("-"),
    show_default=False,
    help="File; - is standard output.",
)
def command(
    run_path: Path,
    groups: Path,
    target: str | None,
    form: str | None,
    force: bool,
    output: Path,
    **options: Any,
) -> None:
    """Rerank the items of each query so that the ranking is relevant and groups get the attention the target asks for.

    With the policy `optimal`, a certificate on standard error says how far the rankings are from the best possible, at
    most; `--format json` has it for each query.
    """
    refuse_second_stdin(run_path, groups, target)
    refuse_input(output, [run_path, groups, *([Path(target)] if target else [])])
    found = evenrank.rerank(run_path, groups, target, workers=n_cores(), **options)
    ending = output.suffix[1:].casefold()
    write_text(render_rankings(found, form or (ending if ending in FORMATS else "trec")), output, force=force)
    for note in found.notes:
        say(f"note: {note}")
    say(repr(found).strip("<>"))
    if words := found.in_words():
        say(words)


def render_rankings(found: evenrank.Reranked, form: str) -> Iterator[str]:
    """The rankings in one of `FORMATS`, part by part; in six columns the second is Q0, or the number of the ranking."""
    if form == "json":
        pairs = zip(found.rankings.pairs(), found.certificates.pairs(), strict=True)
        queries = (
            {"query": query, "rankings": lists, "certificate": certificate}
            for (query, lists), (_, certificate) in pairs
        )
        yield from json_parts(
            {"schema": "evenrank.rerank/1", "policy": found.policy, "queries": []}, "queries", queries
        )
        return
    if form == "trec":
        refuse_blanks(found)
        lines = _trec_lines(found)
        while some := "".join(islice(lines, ENTRIES_AT_ONCE)):
            yield some
        return
    rows = chain([("query", "ranking", "rank", "item")], (row.values() for row in found.each_row()))
    while entries := list(islice(rows, ENTRIES_AT_ONCE)):
        text = io.StringIO()
        csv.writer(text, delimiter="," if form == "csv" else "\t", lineterminator="\n").writerows(entries)
        yield text.getvalue()


def refuse_blanks(found: evenrank.Reranked) -> None:
    """EvenrankError for an id that would be two columns of a TREC run."""
    for query, lists in found.rankings.pairs():
        for kind, name in (("query", query), *(("item", item) for items in lists for item in items)):
            if len(str(name).split()) != 1:
                fix = "write CSV (--format csv), or give ids without blanks"
                raise EvenrankError(f"{kind} id {str(name)[:60]!r} has a blank, which a TREC run cannot hold ({fix})")


def _trec_lines(found: evenrank.Reranked) -> Iterator[str]:
    for query, lists in found.rankings.pairs():
        for number, items in enumerate(lists, 1):
            second = "Q0" if len(lists) == 1 else number
            for rank, item in enumerate(items, 1):
                yield f"{query} {second} {item} {rank} {len(items) - rank + 1} {found.policy}\n"
