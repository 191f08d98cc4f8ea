"""`evenrank.campaign_report`: the results page of a campaign, with the judgments it rests on.

One folder that can be published as it is: `index.html` loads nothing from anywhere, tables and judgments lie beside
it with their checksums, and no assessor is named: the log has people by pseudonym, and votes are left out.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from statistics import fmean, pstdev

from evenrank.core.protocol import DEFAULT_PROTOCOL
from evenrank.core.records import Task, Topic
from evenrank.core.safe_text import terminal_text
from evenrank.core.types import FilePath
from evenrank.database.database import Location
from evenrank.errors import EvenrankError
from evenrank.io.atomic import atomic_folder, write_json
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.report.report import is_synthetic, mark_report, refuse_other_folder
from evenrank.scoring.report.report_page import ABOUT, HEADINGS, SYNTHETIC
from evenrank.scoring.result_tables import runs_table, save_table, settings_lines
from evenrank.scoring.results import Results
from evenrank.scoring.tables import Column, Table, html_of
from evenrank.scoring.trust import trust
from evenrank.trec.assessment.agreement import Bootstrap, Estimate, graded_pages, overall_agreement
from evenrank.trec.assessment.campaign import known_runs, withdrawn_runs
from evenrank.trec.assessment.coverage import coverage
from evenrank.trec.assessment.files import judgment_notes, note_exports, with_judgments, write_exports
from evenrank.trec.assessment.log import check_log, log_entries
from evenrank.trec.assessment.pool import parse_tier
from evenrank.trec.assessment.votes import Store, current_votes, first_votes, open_store
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header><div class="wrap"><p class="brand">Evenrank</p><h1>{title}</h1><p class="lead">{lead}</p></div></header>
<main id="main" class="wrap">
{body}
</main>
<footer class="wrap"><p>Made by Evenrank {version}. This page needs no network.</p></footer>
</body>
</html>
"""
WHAT = {
    "qrels.txt": "settled grades, four columns",
    "eval-topics-with-qrels.json.gz": "topics with judged and relevant pages, and the tier that each is judged to",
    "log.jsonl": "everything that was done, chained by digests; people by pseudonym",
    "qrels.txt.json": "tiers, scale and coverage of the grades, which a scorer reads beside them",
    "eval-topics-with-qrels.json.gz.json": "the same of the topics",
    "results.json": "all scores, by topic too",
}
"""Files of the folder that are no tables."""
PUBLISHED = {"qrels": "qrels.txt", "topics": "eval-topics-with-qrels.json.gz", "log": "log.jsonl"}
"""Exports in the folder; votes name people, and are left out."""


def campaign_report(
    collection: Collection | FilePath,
    judgments: Store | Location,
    runs: GivenRun | Iterable[GivenRun],
    folder: FilePath,
    protocol: str = DEFAULT_PROTOCOL,
    *,
    title: str = "Results of the campaign",
    citation: str = "",
    by: str | None = None,
) -> Results:
    """Score runs with the judgments of a judgments file, and write a page that can be published; gives the scores.

    Runs that were withdrawn are left out. An older report in the folder is replaced once the new one is complete; a
    folder with anything else is refused. The log says who made it: `by`, or the command line.
    """
    if isinstance(judgments, (str, os.PathLike)):
        with open_store(judgments) as opened_store:
            return campaign_report(
                collection, opened_store, runs, folder, protocol, title=title, citation=citation, by=by
            )
    place, store = Path(folder), judgments
    refuse_other_folder(place, "a campaign")
    opened = as_collection(collection)
    given = [as_run(opened, run) for run in given_runs(runs)]
    with atomic_folder(place) as fresh:
        with store.snapshot():  # scores, tables and downloads are of one state, whatever people judge meanwhile
            gone = withdrawn_runs(store)
            judged, about = with_judgments(opened, store), judgment_notes(store)
            pool, agreement = _pool(store, gone, fresh), _agreement(store)
            write_exports(store, {form: fresh / name for form, name in PUBLISHED.items()})
        results = evaluate(judged, given, protocol)
        sections = [*_scores(results, about, fresh), *pool, agreement, _topics(results, judged.topics, fresh)]
        write_json(fresh / "results.json", results.to_json())
        sums = _checksums(fresh)
        (fresh / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), "utf-8")
        sections += [_downloads(sums, check_log(store)), _how(results, title, citation)]
        if is_synthetic(opened):
            sections.insert(0, SYNTHETIC)
        (fresh / "index.html").write_text(terminal_text(_page(results, title, sections)), "utf-8")
        scored = sorted(run.run for run in results.runs)
        mark_report(fresh, scored, "a campaign")
    note_exports(store, [{"format": "results", "runs": scored, "sha256": sums}], by)
    return results


def _page(results: Results, title: str, sections: Sequence[str]) -> str:
    n_runs, n_topics = len(results.runs), len({topic for run in results.runs for topic in run.topics})
    style = files("evenrank.scoring.report.page").joinpath("page.css").read_text("utf-8")
    return PAGE.format(
        title=escape(title),
        style=style,
        lead=f"{n_runs} run{'s' * (n_runs != 1)}, {n_topics} topic{'s' * (n_topics != 1)}, protocol "
        f"{escape(results.protocol.name)}",
        body="\n".join(sections),
        version=version("evenrank"),
    )


def _section(heading: str, *parts: str) -> str:
    name = heading.lower().replace(" ", "-").replace(":", "")
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>\n' + "\n".join(parts) + "\n</section>"


def _table(table: Table, label: str) -> str:
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {escape(label)}">{html_of(table)}</div>'


def _said(lines: Iterable[str]) -> str:
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{listed}</ul>" if listed else ""


def _write(table: Table, folder: Path, name: str) -> None:
    (folder / "tables").mkdir(exist_ok=True)
    save_table(table, folder / "tables", name, {"tsv": "tsv"})


def _scores(results: Results, about: Sequence[str], folder: Path) -> list[str]:
    """The leaderboard of each task, its notes, and how sure its order is."""
    sections = []
    for task in results.tasks:
        table = runs_table(results, task)
        _write(table, folder, f"task-{task}")
        notes = _said([*about, *results.notes_of(task)])
        parts = [f"<p>{ABOUT[task]}</p>", _table(table, f"Scores of task {task}"), notes]
        sections.append(_section(HEADINGS[task], *parts, *_trust(results, task, folder)))
    return sections


def _trust(results: Results, task: Task, folder: Path) -> list[str]:
    """How sure the order of a task is; a sentence where it cannot be said."""
    heading = "<h3>How sure is this order?</h3>"
    try:
        found = trust(results, task)
    except EvenrankError as error:
        return [heading, f"<p>{escape(str(error))}</p>"]
    _write(found.rank_table(), folder, f"task-{task}-ranks")
    _write(found.pair_table(), folder, f"task-{task}-pairs")
    pairs = _table(found.pair_table(), f"Pairs of runs of task {task}")
    return [
        heading,
        _said([*found.summary(), *found.notes]),
        _table(found.rank_table(), f"Ranks of task {task}"),
        f"<details><summary>All pairs of runs</summary>{pairs}</details>",
    ]


def _pool(store: Store, gone: Sequence[str], folder: Path) -> list[str]:
    """Where the judged pages came from, and how complete the judgments are."""
    columns = (Column("run"), Column("task"), Column("pages"), Column("unique"))
    rows = tuple((run.name, run.task, run.n_pages, run.n_unique) for run in known_runs(store) if not run.is_withdrawn)
    pool = Table(columns, rows, "Pages that each run brought to the pool, and those that no other run brought")
    tiers = coverage(store)
    counts: dict[int, Counter[str]] = {}
    names = ("relevant", "not_relevant", "unassessable", "disputed", "skipped", "untouched")
    for tier in tiers:
        counts.setdefault(tier.tier, Counter()).update({name: getattr(tier, f"n_{name}") for name in names})
    shown = tuple((tier, *(n[name] for name in names), n.total()) for tier, n in sorted(counts.items()))
    headings = (Column("tier"), *(Column(name, name.replace("_", " ")) for name in names), Column("pages"))
    covered = Table(headings, shown, "Pages of all topics by tier; only relevant and not relevant ones are judged")
    _write(covered, folder, "coverage")
    parts = [_table(covered, "Coverage"), _said(_depths(store))]
    if rows:
        _write(pool, folder, "pool")
        parts.append(_table(pool, "Pool"))
    if gone:
        parts.append(f"<p>Withdrawn runs: {escape(', '.join(gone))}.</p>")
    return [_section("Pool and coverage", *parts)]


def _depths(store: Store) -> list[str]:
    """How deep the runs were pooled, as the log has it."""
    loaded = [entry.details for entry in log_entries(store) if entry.action == "load-pool" and "tiers" in entry.details]
    if not loaded:
        return []
    last = loaded[-1]
    tiers = [parse_tier(tier) for tier in last["tiers"]]
    said = [
        f"tier {number}: the first {tier.depth} pages of Task {tier.task} rankings"
        + (f", of the first {tier.n_rankings} rankings of each run" if tier.n_rankings else "")
        for number, tier in enumerate(tiers, 1)
    ]
    limits = {"a topic": last["budget"], "all topics together": last["total"]}
    return said + [
        f"at most {most:,} pages of {what}, for which tiers were made smaller where needed; pages beyond them are tier "
        f"{len(tiers) + 1}"
        for what, most in limits.items()
        if most is not None
    ]


def _agreement(store: Store) -> str:
    """Agreement of assessors, of first votes and of those that count; nobody is named."""
    grades = graded_pages(current_votes(store))
    first = overall_agreement(graded_pages(first_votes(store)), Bootstrap())
    final = overall_agreement(grades, Bootstrap())
    n_people = len({name for page in grades.values() if len(page) > 1 for name in page})
    columns = (Column("votes"), Column("pages"), Column("alpha", "Krippendorff’s α"), Column("low"), Column("high"))
    rows = tuple((name, n, *_ends(alpha)) for name, (n, alpha) in (("first votes", first), ("final votes", final)))
    caption = f"Agreement of {n_people} people on pages that several graded, with 95 % bootstrap intervals"
    return _section(
        "Agreement",
        _table(Table(columns, rows, caption), "Agreement"),
        "<p>First votes were given before anybody discussed a page; final ones are those that count.</p>",
    )


def _ends(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    low, value, high = (
        None if number != number else number for number in (estimate.low, estimate.value, estimate.high)
    )
    return value, low, high


def _topics(results: Results, topics: Sequence[Topic], folder: Path) -> str:
    """The topics with what is judged of them, and how hard they were for the runs."""
    parts = []
    known = {topic.id: topic for topic in topics}
    for task in results.tasks:
        main = results.main_of(task)
        by_topic: dict[int, list[float]] = {}
        for run in results.of_task(task):
            for topic, scores in run.topics.items():
                if scores[main.key] == scores[main.key]:
                    by_topic.setdefault(int(topic), []).append(scores[main.key])
        rows = [
            (*_facts(known[topic]), fmean(values), pstdev(values), (max if main.higher_is_better else min)(values))
            for topic, values in by_topic.items()
        ]
        rows.sort(key=lambda row: (row[5] if main.higher_is_better else -row[5], row[0]))
        columns = (
            *map(Column, ("topic", "title", "tier", "judged", "relevant")),
            Column("mean", f"mean {main.name}"),
            Column("sd", "spread"),
            Column("best"),
        )
        table = Table(columns, tuple(rows), f"Task {task}: topics, the hardest first, over all runs")
        _write(table, folder, f"task-{task}-topics")
        parts.append(_table(table, f"Topics of task {task}"))
    return _section("Topics", *parts)


def _facts(topic: Topic) -> tuple[int, str, int | None, int, int]:
    """Number, title, tier, judged and relevant pages of a topic."""
    n_judged = 0 if topic.assessed_docs is None else len(topic.assessed_docs)
    return topic.id, topic.title, topic.max_tier, n_judged, len(topic.rel_docs)


def _checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below the folder, by name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def _downloads(sums: dict[str, str], faults: Sequence[str]) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="{escape(name)}">{escape(name)}</a></th>'
        f"<td>{escape(WHAT.get(name, 'table'))}</td><td><code>{digest}</code></td></tr>"
        for name, digest in sums.items()
    )
    head = '<tr><th scope="col">File</th><th scope="col">What it is</th><th scope="col">SHA-256</th></tr>'
    chain = f"The log is broken: {'; '.join(faults[:3])}." if faults else "The chain of the log is unbroken."
    return _section(
        "Downloads",
        '<div class="scroll" tabindex="0" role="region" aria-label="Table: downloads"><table><caption>Check them with '
        f"<code>sha256sum --check SHA256SUMS</code></caption><thead>{head}</thead><tbody>{rows}</tbody></table></div>",
        f"<p>{escape(chain)}</p>",
    )


def _how(results: Results, title: str, citation: str) -> str:
    cited = citation or f"{title}. Made with Evenrank {version('evenrank')}."
    return _section(
        "How the numbers were made",
        f"<p>{escape(results.protocol.name)}: {escape(results.protocol.summary)}.</p>",
        "<pre><code>evenrank evaluate DIR RUN… --judgments FILE --protocol "
        f"{escape(results.protocol.name)}</code></pre>",
        _said(settings_lines(results)),
        f"<h3>Cite as</h3><p>{escape(cited)}</p><p>The measures and protocol are those of M. D. Ekstrand, G. McDonald, "
        "A. Raj, I. Johnson, Overview of the TREC 2021 Fair Ranking Track, 2022.</p>",
    )


def zip_folder(folder: Path) -> bytes:
    """The files of a folder as a zip file; the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            packed.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
