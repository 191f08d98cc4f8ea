"""`evenrank annotate`: page metadata from Wikipedia and Wikidata dumps."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenrank.cli.options import SparkOptions, spark_options
from evenrank.cli.talk import say
from evenrank.errors import input_error
from evenrank.parallel import n_cores

if TYPE_CHECKING:
    from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings
    from evenrank.wikipedia.annotate.write import Report

FILE = click.Path(path_type=Path)


@click.command("annotate")
@click.argument("out", type=FILE)
@click.option("--dump", "dumps", type=FILE, multiple=True, required=True, help="Dump: pages-articles XML (.gz, .bz2).")
@click.option("--wikidata", type=FILE, help="Wikidata JSON dump, one entity a line (plain, .gz, .bz2).")
@click.option("--wikidata-ids", type=FILE, multiple=True, help="SQL dump of page_props: the item of each page.")
@click.option("--history", "histories", type=FILE, multiple=True, help="stub-meta-history XML: the dates of creation.")
@click.option("--wiki", default="enwiki", help="Name of the wiki in Wikidata's sitelinks, or names with commas.")
@click.option("--gender/--no-gender", default=True, help="Read and write the gender of people.")
@click.option(
    "--places/--no-places",
    default=True,
    help="Follow places to the country that their own item states; the track took countries only.",
)
@click.option("--coordinates/--no-coordinates", default=True, help="Look coordinates up in borders.")
@click.option("--quality-model", type=click.Choice(["v1", "v2"]), default="v1")
@click.option(
    "--percentiles",
    type=click.Choice(["wiki", "enwiki"]),
    default="wiki",
    help="95th percentiles that cap the quality features: of the dump at hand, or published for English Wikipedia.",
)
@click.option(
    "--cap",
    "caps",
    multiple=True,
    metavar="FEATURE=VALUE",
    help="Another cap of a quality feature, e.g. headings=5, references=p95; may be repeated.",
)
@click.option(
    "--subjects",
    type=FILE,
    help="Items that have an article elsewhere and none here.  [default: OUT.subjects.jsonl.gz]",
)
@click.option("--no-subjects", is_flag=True, help="Do not write them.")
@click.option("--figure", type=FILE, help="Also draw the coverage report: .pdf, .png or .svg.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local")
@spark_options
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=n_cores,
    show_default=False,
    help="Processes; default: one for each core.",
)
@click.option("--fresh", is_flag=True, help="Throw unfinished work away and start over.")
def command(
    out: Path,
    dumps: tuple[Path, ...],
    wikidata: Path | None,
    wikidata_ids: tuple[Path, ...],
    histories: tuple[Path, ...],
    subjects: Path | None,
    no_subjects: bool,
    figure: Path | None,
    engine: str,
    spark: SparkOptions,
    workers: int,
    fresh: bool,
    wiki: str,
    **choices: Any,
) -> None:
    """Write page metadata to OUT (JSON lines, gzip) from dumps, in the format of trec_metadata.json.gz.

    Beside OUT a file .about.json says how it was made, what it covers and what to be careful about. A run that was
    stopped resumes when the same command is given again. With --wikidata, a file of subjects that could have a page is
    written beside OUT as well, which `collection import` takes with OUT.

    Several wikis (--wiki enwiki,dewiki) need one --dump each, in the same order, and one Wikidata dump, which is read
    once; --wikidata-ids and --history are given for all of them or for none. OUT is then a folder, with a file for each
    wiki.
    """
    from evenrank.io.figures import check_figure
    from evenrank.io.subjects import subjects_beside
    from evenrank.wikipedia.annotate.coverage import draw_coverage
    from evenrank.wikipedia.annotate.labeller import annotate, annotate_wikis

    if figure is not None:
        check_figure(figure)
    inputs, settings = _inputs(wiki, dumps, wikidata, wikidata_ids, histories), _settings(**choices)
    if len(inputs) > 1:
        if figure is not None or subjects is not None:
            raise click.UsageError("several wikis are annotated without --figure and --subjects")
        if out.exists() and not out.is_dir():
            raise input_error(out, 0, "a file, where a folder for the files of several wikis is to be", "name a folder")
        session = spark.start() if engine == "spark" else None
        reports = annotate_wikis(out, inputs, settings, n_workers=workers, is_fresh=fresh, session=session)
        _print_reports(out, reports)
        return
    ((name, files),) = inputs.items()
    settings = replace(settings, wiki=name)
    if no_subjects and subjects is not None:
        raise click.UsageError("give --subjects or --no-subjects, not both")
    beside = subjects is None and wikidata is not None and not no_subjects
    subjects = subjects_beside(out) if beside else subjects
    session = spark.start() if engine == "spark" else None
    report = annotate(out, files, settings, n_workers=workers, is_fresh=fresh, subjects=subjects, session=session)
    _print_report(out, report)
    if beside and not report.n_subjects:
        subjects_beside(out).unlink(missing_ok=True)
    elif report.n_subjects is not None:
        what = "subject" if report.n_subjects == 1 else "subjects"
        click.echo(f"{report.n_subjects:,} {what} without an article in {subjects}")
    if figure is not None:
        draw_coverage(report.coverage, figure)


def _inputs(
    wiki: str,
    dumps: tuple[Path, ...],
    wikidata: Path | None,
    wikidata_ids: tuple[Path, ...],
    histories: tuple[Path, ...],
) -> dict[str, AnnotateInputs]:
    """The files of each wiki."""
    from evenrank.wikipedia.annotate.settings import AnnotateInputs

    names = [name.strip() for name in wiki.split(",")]
    if not all(names) or len(set(names)) != len(names):
        raise click.BadParameter(f"{wiki!r}: give different names with commas between them", param_hint="--wiki")
    given = {"--dump": dumps, "--wikidata-ids": wikidata_ids, "--history": histories}
    for option, files in given.items():
        if len(files) != len(names) and (files or option == "--dump"):
            found = f"{len(files)} for {len(names)} wiki{'s' if len(names) > 1 else ''}"
            raise click.BadParameter(f"{found}: give one for each, in the order of --wiki", param_hint=option)
    ids, dates = (files or (None,) * len(names) for files in (wikidata_ids, histories))
    rows = zip(names, dumps, ids, dates, strict=True)
    return {name: AnnotateInputs(dump, wikidata, page_props, history) for name, dump, page_props, history in rows}


def _print_reports(folder: Path, reports: dict[str, Report]) -> None:
    from evenrank.wikipedia.annotate.labeller import output_of

    for name, report in reports.items():
        click.echo(name)
        _print_report(output_of(folder, name), report)


def _settings(caps: tuple[str, ...], gender: bool, places: bool, coordinates: bool, **choices: Any) -> AnnotateSettings:
    from evenrank.wikipedia.annotate.settings import AnnotateSettings

    return AnnotateSettings(
        with_gender=gender,
        with_places=places,
        with_coordinates=coordinates,
        quality_caps=dict(map(_cap, caps)),
        **choices,
    )


def _cap(text: str) -> tuple[str, float | None]:
    """`headings=5` → its name and value; None for `p95`."""
    name, _, value = text.partition("=")
    try:
        number = None if value == "p95" else float(value)
        if number is not None and not math.isfinite(number):
            raise ValueError(value)
        return name, number
    except ValueError:
        raise click.BadParameter(f"{text!r}: give a number or p95 after the equals sign", param_hint="--cap") from None


def _print_report(out: Path, report: Report) -> None:
    """The coverage on standard output; what was left out, and the warnings, on standard error."""
    from evenrank.wikipedia.annotate.coverage import coverage_table
    from evenrank.wikipedia.annotate.write import about_path

    for name, tally in report.tallies.items():
        n_faults = tally["counts"].get("faults", 0)
        for path, line, found, _ in tally["faults"]:
            say(f"left out: {path}:{line}: {found}")
        if n_faults:
            say(f"{name}: {n_faults:,} records were left out")
    click.echo(coverage_table(report.coverage))
    say(f"{report.n_pages:,} pages in {out}; read {about_path(out)} before you use them")
