"""`evenrank judgments`: a judgments file from the pool to trusted qrels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evenrank.cli.listing import FORMAT, echo_json, echo_table, shown_number
from evenrank.cli.options import NEW_STORE, SEED, STORE, FiniteRange, InputFile
from evenrank.cli.talk import say
from evenrank.core.text_ids import TextIds
from evenrank.trec.assessment.agreement import Agreement, Bootstrap, Disagreement, Estimate
from evenrank.trec.assessment.agreement import measure_agreement as measure
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assessors, load_pool
from evenrank.trec.assessment.assessors import assign_pages as give
from evenrank.trec.assessment.coverage import coverage, max_tiers, pace
from evenrank.trec.assessment.files import EXPORTS, IMPORTS, count_left_out, shown_page
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.votes import filled_store, open_store, text_ids_of
from evenrank.trec.collection import Collection

FILE = InputFile(exists=True)
NEW_FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
FORMS = ["qrels", "topics", "votes"]


@click.group(name="judgments")
def command() -> None:
    """Create, fill, import, export and check the judgments of assessors.

    STORE is a file, or the address of a PostgreSQL database: postgresql://USER@HOST/NAME.
    """


@command.command()
@click.argument("store", type=NEW_STORE)
@click.option("--pool", type=FILE, required=True, help="Pages to judge, from evenrank pool build.")
@click.option("--collection", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="For topic titles.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same order and sample.")
def create(store: Path | str, pool: Path, collection: str | None, seed: int) -> None:
    """Create a judgments file, or add the new pages of a larger pool to it."""
    read = read_pool(pool)
    titles = {t.id: t.title for t in Collection.open(collection).topics} if collection else {}
    with filled_store(store, seed) as opened:
        say(f"{load_pool(opened, read, titles):,} new pages of {len(read.pages):,}")


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
@click.option("--overlap", type=FiniteRange(0, 1), default=0.1, show_default=True, help="Share judged by several.")
@click.option("--judges", type=click.IntRange(min=2), default=2, show_default=True, help="Assessors of such a page.")
def assign(store: Path | str, overlap: float, judges: int) -> None:
    """Assign every unassigned page to an assessor, and a sample of them to several."""
    with open_store(store) as opened:
        names = [entry.name for entry in assessors(opened) if entry.role == "assessor" and entry.has_link]
        n_given = give(opened, names, Overlap(overlap, judges))
        say(f"{n_given:,} page{'s' * (n_given != 1)} given to {len(names)} assessor{'s' * (len(names) != 1)}")


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
@click.option("--format", "form", type=click.Choice(FORMS), default="qrels", show_default=True)
@click.option("--assessor", "name", default="imported", show_default=True, help="Whose votes they are (not for votes).")
def import_(store: Path | str, file: Path, form: str, name: str) -> None:
    """Import judgments; those already in STORE are skipped. STORE is created if it does not exist."""
    with filled_store(store) as opened:
        n_votes = IMPORTS[form](opened, file, name)
        say("1 new vote" if n_votes == 1 else f"{n_votes:,} new votes")


@command.command()
@click.argument("store", type=STORE)
@click.option("--format", "form", type=click.Choice(FORMS), default="qrels", show_default=True)
@click.option("-o", "--output", type=NEW_FILE, required=True)
def export(store: Path | str, form: str, output: Path) -> None:
    """Write settled grades (qrels, topics) or every vote (votes); what is undecided is never a 0."""
    with open_store(store) as opened:
        EXPORTS[form](opened, output)
        undecided = count_left_out(opened) if form != "votes" else {}
    if undecided:
        counts = ", ".join(f"{n:,} {status}" for status, n in sorted(undecided.items()))
        say(f"left out, because they have no settled grade: {counts}")


@command.command()
@click.argument("store", type=STORE)
@click.option("--resamples", type=click.IntRange(min=100), default=9999, show_default=True, help="Of the intervals.")
@FORMAT
def agreement(store: Path | str, resamples: int, form: str) -> None:
    """Cohen's κ of each pair, Krippendorff's α of all, with 95 % intervals, and the disagreements."""
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
    pairs = [
        (f"Cohen's κ, {p.first} and {p.second}", p.n_pages, shown_number(p.observed), p.kappa) for p in found.pairs
    ]
    estimates = [("Krippendorff's α", found.n_pages, "–", found.alpha), *pairs]
    names = ["agreement", "pages", "observed", "value", "low", "high"]
    echo_table(names, [[*cells, *_estimate(estimate)] for *cells, estimate in estimates])
    echo_table(["topic", "page", "state", "votes"], [_disagreement(entry, ids) for entry in found.disagreements])


def _disagreement(entry: Disagreement, ids: TextIds | None) -> list[object]:
    votes = [f"{vote.assessor}: {vote.outcome if vote.grade is None else vote.grade}" for vote in entry.votes]
    return [entry.topic, shown_page(entry.page, ids), "settled" if entry.is_settled else "open", ", ".join(votes)]


def _estimate(estimate: Estimate) -> list[str]:
    return [shown_number(value) for value in (estimate.value, estimate.low, estimate.high)]
