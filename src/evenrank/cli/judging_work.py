"""`evenrank judgments`: who judges what, in which order: pages assigned and handed over, gold pages, runs withdrawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from evenrank.cli.listing import FORMAT, echo_json, echo_table, shown_number
from evenrank.cli.options import STORE, FiniteRange, InputFile
from evenrank.cli.talk import say
from evenrank.trec.assessment.assessors import Overlap, assessors, choose_assessors, chosen_assessors, hand_over
from evenrank.trec.assessment.assessors import assign_pages as give
from evenrank.trec.assessment.campaign import keep_work_order, known_runs, restore_run, withdraw_run
from evenrank.trec.assessment.files import import_gold_file
from evenrank.trec.assessment.gold import gold_scores
from evenrank.trec.assessment.queues import topics_of
from evenrank.trec.assessment.votes import Store, open_store


@click.command()
@click.argument("store", type=STORE)
@click.option("--overlap", type=FiniteRange(0, 1), default=0.1, show_default=True, help="Share judged by several.")
@click.option("--judges", type=click.IntRange(min=2), default=2, show_default=True, help="Assessors of such a page.")
@click.option(
    "--topic",
    "chosen",
    metavar="TOPIC=NAME[,NAME]",
    multiple=True,
    help="Who may judge a topic, from now on; may be repeated.  [default: everybody]",
)
def assign(store: Path | str, overlap: float, judges: int, chosen: Sequence[str]) -> None:
    """Assign every unassigned page to an assessor, and a sample of them to several.

    Topics go to whoever has least work; those of --topic, now or earlier, only to the people that it names. An empty
    list of names (TOPIC=) lets everybody judge the topic again.
    """
    wanted = [_parse_choice(text) for text in chosen]
    with open_store(store) as opened:
        for topic, people in wanted:
            choose_assessors(opened, topic, people)
        names = [entry.name for entry in assessors(opened) if entry.role == "assessor" and entry.has_link]
        n_given = give(opened, names, Overlap(overlap, judges))
        say(f"{n_given:,} page{'s' * (n_given != 1)} given to {len(names)} assessor{'s' * (len(names) != 1)}")
        for topic, allowed in chosen_assessors(opened).items():
            say(f"topic {topic} is judged by {', '.join(allowed)} alone")


def _parse_choice(text: str) -> tuple[int, list[str]]:
    topic, equals, names = text.partition("=")
    if not equals or not topic.strip().isascii() or not topic.strip().isdecimal():
        raise click.UsageError(f"--topic {text!r}: write TOPIC=NAME, such as 101=Ada or 101=Ada,Ben")
    return int(topic), [name.strip() for name in names.split(",") if name.strip()]


@click.command()
@click.argument("store", type=STORE)
@click.option("--by", "kind", type=click.Choice(["tier", "model"]), default="tier", show_default=True)
@click.option(
    "--collection", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="With an index, for the model."
)
@click.option(
    "--sample", type=FiniteRange(0, 1), default=0.1, show_default=True, help="Share judged first, drawn at random."
)
@click.option("--batch", type=click.IntRange(min=1), default=20, show_default=True, help="Pages between two fits.")
@click.option("--recall", type=FiniteRange(0, 1), help="Stop topics at this estimated recall.  [default: never]")
@FORMAT
def order(
    store: Path | str, kind: str, collection: str | None, sample: float, batch: int, recall: float | None, form: str
) -> None:
    """Order the work tier by tier, or by a model that learns which pages are relevant.

    The model puts likely relevant pages first and is fitted again as judgments come in, by the server or by this
    command. It is a bias: records, scores and the results page say that it was used. A random sample, judged first,
    estimates recall; with --recall, a topic whose recall is that high, 95 % sure, asks for no more pages.
    """
    if kind == "tier":
        with open_store(store) as opened:
            keep_work_order(opened, None, {}, (), None)
        return say("the work goes tier by tier")
    if collection is None:
        raise click.UsageError("--by model needs --collection, the folder of the collection with its index")
    from evenrank.retrieval.engine.engines import open_index
    from evenrank.retrieval.judging_order import OrderSettings, order_work
    from evenrank.trec.collection import Collection

    on = Collection.open(collection)
    engine = open_index(on)
    with open_store(store) as opened:
        found = order_work(opened, on, engine, OrderSettings(sample, batch, recall))
    engine.close()
    if form == "json":
        return echo_json(asdict(found) | {"note": found.note})
    rows = [[t.topic, t.n_open, *(map(_share, (t.recall, t.low))), t.n_set_aside] for t in found.topics]
    echo_table(["topic", "open", "recall", "at least", "set aside"], rows)
    return say(found.note)


def _share(value: float | None) -> str:
    return "–" if value is None else shown_number(value)


@click.command()
@click.argument("store", type=STORE)
@click.argument("file", type=InputFile(exists=True), required=False)
@click.option("--by", "organiser", metavar="NAME", help="The organiser whose rulings they are.")
@FORMAT
def gold(store: Path | str, file: Path | None, organiser: str | None, form: str) -> None:
    """Show how often assessors were right on gold pages; with FILE, make its pages gold pages first.

    FILE has four columns: topic, 0, page, grade. Its grades become rulings of --by, and everybody who judges the topic
    is asked about the page. Who answers otherwise sees the ruling at once.
    """
    with open_store(store) as opened:
        if file is not None:
            if organiser not in (known := [one.name for one in assessors(opened) if one.role == "organiser"]):
                raise click.UsageError(f"--by must name an organiser (choose from {', '.join(known) or 'none yet'})")
            n_asked = import_gold_file(opened, file, organiser)
            say(f"{n_asked:,} more page{'s' * (n_asked != 1)} given to assessors")
        scores = gold_scores(opened)
    if form == "json":
        return echo_json([asdict(score) for score in scores])
    echo_table(["assessor", "gold pages", "right"], [[s.assessor, s.n_pages, s.n_right] for s in scores])
    return None


@click.command()
@click.argument("store", type=STORE)
@FORMAT
def runs(store: Path | str, form: str) -> None:
    """List the runs whose pages are being judged, and which of them are withdrawn."""
    with open_store(store) as opened:
        known = known_runs(opened)
    if form == "json":
        return echo_json([asdict(run) for run in known])
    states = [[r.name, r.task, r.n_pages, r.n_unique, "withdrawn" if r.is_withdrawn else "pooled"] for r in known]
    echo_table(["run", "task", "pages", "unique", "state"], states)
    return None


REASON = click.option("--reason", required=True, help="Why, for the log.")


@click.command(name="withdraw-run")
@click.argument("store", type=STORE)
@click.argument("run")
@REASON
def withdraw_run_command(store: Path | str, run: str, reason: str) -> None:
    """Take a run out: pages that only it brought leave the queues. Votes stay; restore-run is the way back."""
    with open_store(store) as opened:
        say(f"{withdraw_run(opened, run, reason):,} pages left the queues")


@click.command(name="restore-run")
@click.argument("store", type=STORE)
@click.argument("run")
@REASON
def restore_run_command(store: Path | str, run: str, reason: str) -> None:
    """Bring a withdrawn run back, with its pages."""
    with open_store(store) as opened:
        say(f"{restore_run(opened, run, reason):,} pages are in the queues again")


@click.command(name="hand-over")
@click.argument("store", type=STORE)
@click.argument("topic")
@click.argument("giver", metavar="FROM")
@click.argument("taker", metavar="TO")
def hand_over_command(store: Path | str, topic: str, giver: str, taker: str) -> None:
    """Give the pages of TOPIC, or of `all` topics, that FROM has not decided, skipped ones too, to TO.

    Second judgments stay second ones.
    """
    with open_store(store) as opened:
        known = [person.name for person in assessors(opened)]
        if unknown := [name for name in (giver, taker) if name not in known]:
            raise click.UsageError(f"nobody is named {', '.join(unknown)} (choose from {', '.join(known)})")
        done = [hand_over(opened, one, giver, taker) for one in _topics(opened, topic, giver)]
    n_to_others, n_kept = sum(one.n_to_others for one in done), sum(one.n_kept for one in done)
    say(f"{sum(one.n_pages for one in done):,} pages went to {taker}")
    if n_to_others:
        say(f"{n_to_others:,} pages that {taker} judges already went to somebody else")
    if n_kept:
        say(f"{n_kept:,} pages stayed with {giver}: nobody else is left for a second judgment")


def _topics(store: Store, topic: str, giver: str) -> list[int]:
    if topic == "all":
        return topics_of(store, giver)
    if not (topic.isascii() and topic.isdecimal()):
        raise click.UsageError(f"{topic!r} is no topic (write its number, or all)")
    return [int(topic)]


COMMANDS = (assign, order, gold, runs, withdraw_run_command, restore_run_command, hand_over_command)
