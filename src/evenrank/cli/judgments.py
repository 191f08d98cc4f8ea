"""`evenrank judgments`: a judgments file from the pool to trusted qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evenrank.cli.listing import FORMAT, echo_json, echo_table, shown_number
from evenrank.cli.options import NEW_STORE, SEED, STORE, FiniteRange, InputFile
from evenrank.cli.scoring_options import protocol_option
from evenrank.cli.talk import say
from evenrank.core.text_ids import TextIds
from evenrank.errors import listed
from evenrank.trec.assessment.agreement import Agreement, Bootstrap, Disagreement, Estimate
from evenrank.trec.assessment.agreement import measure_agreement as measure
from evenrank.trec.assessment.assessors import (
    Overlap,
    add_assessor,
    assessors,
    choose_assessors,
    chosen_assessors,
    erase_name,
    hand_over,
    load_pool,
)
from evenrank.trec.assessment.assessors import assign_pages as give
from evenrank.trec.assessment.campaign import (
    campaign_runs,
    keep_work_order,
    known_runs,
    restore_run,
    revise_topics,
    withdraw_run,
)
from evenrank.trec.assessment.coverage import coverage, max_tiers, pace
from evenrank.trec.assessment.files import (
    EXPORTS,
    IMPORTS,
    count_left_out,
    export_judgments,
    import_gold_file,
    import_machine_judgments,
    read_exported_log,
    shown_page,
)
from evenrank.trec.assessment.gold import gold_scores
from evenrank.trec.assessment.log import check_log, find_departures, find_gaps, log_entries
from evenrank.trec.assessment.machine import compare_with_people
from evenrank.trec.assessment.pool import counted_runs
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.queues import topics_of
from evenrank.trec.assessment.votes import (
    Store,
    count_tokens_with,
    filled_store,
    open_store,
    set_max_grade,
    text_ids_of,
)
from evenrank.trec.collection import Collection

FILE = InputFile(exists=True)
NEW_FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
FORMS = ["qrels", "topics", "votes"]
RUN_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(name="judgments")
def command() -> None:
    """Create, fill, import, export and check the judgments of assessors.

    STORE is a file, or the address of a PostgreSQL database: postgresql://USER@HOST/NAME.
    """


@command.command()
@click.argument("store", type=NEW_STORE)
@click.option("--pool", type=FILE, required=True, help="Pages to judge, from evenrank pool build.")
@click.option("--collection", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="For topic titles.")
@click.option("--seed", type=SEED, default=0, help="Same seed, same order and sample.")
def create(store: Path | str, pool: Path, collection: str | None, seed: int) -> None:
    """Create a judgments file, or add the new pages of a larger pool to it."""
    read = read_pool(pool)
    topics = Collection.open(collection).topics if collection else ()
    with filled_store(store, seed) as opened:
        say(
            f"{load_pool(opened, read, {topic.id: topic.title for topic in topics}):,} new pages of {len(read.pages):,}"
        )
        if revised := revise_topics(opened, topics):
            say(f"new text for topics {listed(revised)}: votes from now on carry its version")


@command.command()
@click.argument("store", type=STORE)
@click.argument("name")
@click.option("--organiser", is_flag=True, help="May also see the state of the work and settle disagreements.")
@click.option("--url", metavar="URL", help="Address of the server: print the complete link, not only its secret.")
def assessor(store: Path | str, name: str, organiser: bool, url: str | None) -> None:
    """Print the secret of a new link for NAME; an earlier link stops working."""
    with open_store(store) as opened:
        secret = add_assessor(opened, name, "organiser" if organiser else "assessor")
    click.echo(f"{url.rstrip('/')}/judge/{secret}" if url else secret)


@command.command()
@click.argument("store", type=STORE)
@FORMAT
def progress(store: Path | str, form: str) -> None:
    """Show the progress of each tier of each topic, and of each assessor."""
    with open_store(store) as opened:
        tiers, deepest, paces = coverage(opened), max_tiers(opened), pace(opened)
    if form == "json":
        rows = [asdict(row) | {"max_tier": deepest[row.topic]} for row in tiers]
        return echo_json({"tiers": rows, "assessors": [asdict(row) | {"hours_left": row.hours_left} for row in paces]})
    states = ["relevant", "not relevant", "unassessable", "disputed", "skipped", "untouched"]
    echo_table(["topic", "tier", *states], [list(asdict(row).values()) for row in tiers])
    cells = [[p.assessor, p.n_votes, p.n_open, _seconds(p.median_seconds), _seconds(p.hours_left)] for p in paces]
    echo_table(["assessor", "votes", "open", "seconds a page", "hours left"], cells)
    return None


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


@command.command(name="import")
@click.argument("store", type=NEW_STORE)
@click.argument("file", type=FILE)
@click.option("--format", "form", type=click.Choice(FORMS), default="qrels")
@click.option("--assessor", "name", default="imported", help="Whose votes they are (not for votes).")
@click.option(
    "--machine", metavar="SOURCE", help="Judgments of a program (qrels only): kept apart, they settle nothing."
)
def import_(store: Path | str, file: Path, form: str, name: str, machine: str | None) -> None:
    """Import judgments; those already in STORE are skipped. STORE is created if it does not exist.

    Tiers and scale come from the record that export writes beside a file.
    """
    if machine is not None and form != "qrels":
        raise click.UsageError("--machine reads qrels: topic, 0, page, grade")
    with filled_store(store) as opened:
        if machine is not None:
            n_new = import_machine_judgments(opened, file, machine)
            say(f"{n_new:,} new judgments of {machine}, kept apart from votes")
            return
        n_votes = IMPORTS[form](opened, file, name)
        say("1 new vote" if n_votes == 1 else f"{n_votes:,} new votes")


@command.command()
@click.argument("store", type=STORE)
@click.option("--format", "form", type=click.Choice(list(EXPORTS)), default="qrels")
@click.option("-o", "--output", type=NEW_FILE, required=True)
def export(store: Path | str, form: str, output: Path) -> None:
    """Write settled grades (qrels, topics), every vote (votes), the log, judgments of programs (machine), or remarks.

    What is undecided is never a 0. A record beside the file (FILE.json) has tiers, scale and coverage, which imports
    and scorers read; the export is an entry of the log.
    """
    with open_store(store) as opened:
        if not export_judgments(opened, form, output):
            say("the judgments file can only be read: the export is not in its log")
        undecided = count_left_out(opened) if form in ("qrels", "topics") else {}
    if undecided:
        counts = ", ".join(f"{n:,} {status}" for status, n in sorted(undecided.items()))
        say(f"left out, because they have no settled grade: {counts}")


@command.command()
@click.argument("store", type=STORE)
@click.option("--resamples", type=click.IntRange(min=100), default=9999, help="For intervals.")
@FORMAT
def agreement(store: Path | str, resamples: int, form: str) -> None:
    """Krippendorff's α of all and by topic, Cohen's κ of each pair and by topic, with 95 % intervals; disagreements.

    Each is measured on first votes, which people gave on their own, and on the votes that count now, which may have
    changed after a discussion.
    """
    with open_store(store) as opened:
        ids, found = text_ids_of(opened), measure(opened, Bootstrap(n_resamples=resamples))
    if form == "json":
        return echo_json(_with_shown_pages(asdict(found), ids))
    _echo_agreement(found, ids)
    return None


def _with_shown_pages(found: Any, ids: TextIds | None) -> Any:
    """The data of an agreement, each page under the id that files have."""
    if isinstance(found, dict):
        shown = {name: _with_shown_pages(value, ids) for name, value in found.items()}
        return {**shown, "page": shown_page(found["page"], ids)} if "page" in found else shown
    return [_with_shown_pages(one, ids) for one in found] if isinstance(found, (list, tuple)) else found


def _echo_agreement(found: Agreement, ids: TextIds | None) -> None:
    first = (found.first_n_pages, found.first_alpha, found.first_pairs, found.first_topics)
    final = (found.n_pages, found.alpha, found.pairs, found.topics)
    rows: list[list[object]] = []
    for votes, (n_pages, alpha, pairs, topics) in (("first", first), ("final", final)):
        rows.append(["Krippendorff's α", votes, n_pages, "–", *_estimate(alpha)])
        rows += [
            [f"Cohen's κ, {p.first} and {p.second}", votes, p.n_pages, shown_number(p.observed), *_estimate(p.kappa)]
            for p in pairs
        ]
        for topic in topics:
            rows.append([f"α, topic {topic.topic}", votes, topic.n_pages, "–", *_estimate(topic.alpha)])
            rows.append([f"κ, topic {topic.topic}", votes, topic.n_pages, "–", *_estimate(topic.kappa)])
    echo_table(["agreement", "votes", "pages", "observed", "value", "low", "high"], rows)
    echo_table(["topic", "page", "state", "votes"], [_disagreement(entry, ids) for entry in found.disagreements])


def _disagreement(entry: Disagreement, ids: TextIds | None) -> list[object]:
    votes = [f"{vote.assessor}: {vote.outcome if vote.grade is None else vote.grade}" for vote in entry.votes]
    state = "settled" if entry.is_settled else "open" if entry.is_open else "run withdrawn"
    return [entry.topic, shown_page(entry.page, ids), state, ", ".join(votes)]


def _estimate(estimate: Estimate) -> list[str]:
    return [shown_number(value) for value in (estimate.value, estimate.low, estimate.high)]


@command.command(name="report")
@click.argument("store", type=STORE)
@click.argument("collection", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("runs", metavar="RUN...", type=FILE, nargs=-1, required=True)
@click.option("-o", "--output", metavar="OUTDIR", type=click.Path(file_okay=False, path_type=Path), required=True)
@protocol_option("Scoring choices.")
@click.option("--title", default="Results of the campaign", help="Heading of the page.")
@click.option("--citation", default="", show_default=False, help="How to cite the results.")
def report_command(store: Path | str, collection: Path, runs: Sequence[Path], output: Path, **options: Any) -> None:
    """Write a results page to publish, with the judgments behind it, in one folder; no assessor is named.

    An older results page in OUTDIR is replaced once the new one is complete; a folder with anything else is refused.
    """
    from evenrank.scoring.report.campaign_report import campaign_report

    campaign_report(collection, store, runs, output, **options)
    say(f"{output / 'index.html'}")


@command.command()
@click.argument("store", type=STORE)
@click.option(
    "--check", is_flag=True, help="Check that no entry and no vote was changed or removed; exit 1 if one was."
)
@click.option(
    "--against", metavar="LOG", type=FILE, help="With --check: a log that was exported earlier must be its beginning."
)
@FORMAT
def log(store: Path | str, check: bool, against: Path | None, form: str) -> None:
    """Show who did what, in order: people by pseudonym, each entry chained to the one before by its digest.

    STORE may also be a log that was exported or published (.jsonl): its chain can be checked without the votes.
    """
    if against is not None and not check:
        raise click.UsageError("--against belongs to --check")
    kept = read_exported_log(against) if against else []
    if isinstance(store, Path) and store.name.endswith((".jsonl", ".jsonl.gz")):
        entries = read_exported_log(store)
        faults = find_gaps(entries)
    else:
        with open_store(store) as opened:
            entries = list(log_entries(opened))
            faults = check_log(opened) if check else []
    faults = [*faults, *find_departures(entries, kept)] if check else []
    if form == "json":
        echo_json([entry.record() for entry in entries])
    else:
        rows = [[e.number, e.time, e.actor, e.action, _details(e.details), e.digest[:12]] for e in entries]
        echo_table(["entry", "time", "who", "action", "details", "digest"], rows)
    for fault in faults:
        say(fault)
    if check:
        say("the log is broken" if faults else f"{len(entries):,} entries, an unbroken chain")
    if faults:
        raise click.exceptions.Exit(1)


def _details(details: dict[str, Any]) -> str:
    """What an entry is about on one line; long lists are counted."""
    return ", ".join(
        f"{name}: {len(value) if isinstance(value, (list, dict)) and len(value) > 2 else value}"
        for name, value in sorted(details.items())
    )


@command.command()
@click.argument("store", type=STORE)
@click.argument("grade", type=click.IntRange(1, 3))
def scale(store: Path | str, grade: int) -> None:
    """Ask for grades from 0 to GRADE; refused once grades exist, because their meaning would change."""
    with open_store(store) as opened:
        set_max_grade(opened, grade)


@command.command()
@click.argument("store", type=STORE)
@click.argument("name")
def erase(store: Path | str, name: str) -> None:
    """Replace NAME by a pseudonym everywhere. Votes are kept, and the log can still be verified."""
    with open_store(store) as opened:
        say(f"{name} is {erase_name(opened, name)} from now on")
        if n_tokens := count_tokens_with(opened, name):
            say(f"{n_tokens:,} votes that an older version imported keep the name in their token")


@command.command()
@click.argument("store", type=STORE)
@click.argument("run_files", metavar="RUN...", type=RUN_FILE, nargs=-1)
@click.option(
    "--collection", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="To score the runs on."
)
@protocol_option()
@click.option("--resamples", type=click.IntRange(min=100), default=9999, help="For intervals.")
@FORMAT
def machine(
    store: Path | str, run_files: tuple[Path, ...], collection: str | None, protocol: str, resamples: int, form: str
) -> None:
    """Show judgments of programs beside people's: agreement, and with runs Kendall's τ between the two leaderboards."""
    if bool(run_files) != bool(collection):
        raise click.UsageError("to compare leaderboards, give both runs and --collection")
    from evenrank.io.runs import read_runs
    from evenrank.scoring.rejudged import machine_leaderboards

    with open_store(store) as opened:
        found = compare_with_people(opened, Bootstrap(n_resamples=resamples))
        boards = []
        if collection:
            on = Collection.open(collection)
            loaded, about = counted_runs(campaign_runs(opened), read_runs(run_files, on.text_ids))
            for note in about:
                say(note)
            boards = machine_leaderboards(on, loaded, opened, protocol)
    if form == "json":
        return echo_json({"sources": [asdict(one) for one in found], "leaderboards": [asdict(one) for one in boards]})
    cells = [
        [
            *(one.source, one.n_judgments, one.agreement.n_pages, shown_number(one.agreement.observed)),
            *(*_estimate(one.agreement.kappa), one.n_too_high, one.n_too_low),
        ]
        for one in found
    ]
    echo_table(["source", "judged", "with people", "observed", "κ", "low", "high", "too high", "too low"], cells)
    for board in boards:
        rows = [[run, *map(shown_number, pair)] for run, pair in board.scores.items()]
        echo_table([f"task {board.task}, {board.measure}", "people", board.source], rows)
        click.echo(f"Kendall's τ over {board.n_topics} topics: {shown_number(board.tau)}")
    return None


@command.command()
@click.argument("store", type=STORE)
@click.option("--overlap", type=FiniteRange(0, 1), default=0.1, help="Share judged by several.")
@click.option("--judges", type=click.IntRange(min=2), default=2, help="Assessors of such a page.")
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


@command.command()
@click.argument("store", type=STORE)
@click.option("--by", "kind", type=click.Choice(["tier", "model"]), default="tier")
@click.option(
    "--collection", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="With an index, for the model."
)
@click.option("--sample", type=FiniteRange(0, 1), default=0.1, help="Share judged first, drawn at random.")
@click.option("--batch", type=click.IntRange(min=1), default=20, help="Pages between two fits.")
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


@command.command()
@click.argument("store", type=STORE)
@click.argument("file", type=InputFile(exists=True), required=False)
@click.option("--by", "organiser", metavar="NAME", help="The organiser whose rulings they are.")
@FORMAT
def gold(store: Path | str, file: Path | None, organiser: str | None, form: str) -> None:
    """Show how often assessors were right on gold pages; with FILE, make its pages gold pages first.

    FILE has four columns: topic, 0, page, grade. Its grades become rulings of --by, and everybody who judges the topic
    is asked about the page. Anyone who answers differently sees the ruling at once.
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


@command.command()
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


@command.command(name="withdraw-run")
@click.argument("store", type=STORE)
@click.argument("run")
@REASON
def withdraw_run_command(store: Path | str, run: str, reason: str) -> None:
    """Take a run out: pages that only it brought leave the queues. Votes stay; restore-run undoes it."""
    with open_store(store) as opened:
        say(f"{withdraw_run(opened, run, reason):,} pages left the queues")


@command.command(name="restore-run")
@click.argument("store", type=STORE)
@click.argument("run")
@REASON
def restore_run_command(store: Path | str, run: str, reason: str) -> None:
    """Bring a withdrawn run back, with its pages."""
    with open_store(store) as opened:
        say(f"{restore_run(opened, run, reason):,} pages are in the queues again")


@command.command(name="hand-over")
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
