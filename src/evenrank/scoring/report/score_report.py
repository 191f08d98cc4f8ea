"""`evenrank.score_report`: the report on scores of plain tables, without a collection."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from html import escape
from pathlib import Path

from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.io.atomic import atomic_folder, write_json
from evenrank.io.figures import figure_style, require_matplotlib, save_figure
from evenrank.scoring.compare import compare
from evenrank.scoring.figures import AXES, scatter_figure, share_figure
from evenrank.scoring.report.report import CSV, ENDINGS, mark_report, refuse_other_folder
from evenrank.scoring.result_tables import save_table
from evenrank.scoring.results import ItemScores
from evenrank.scoring.tables import Table, html_of, page_of
from evenrank.scoring.trust import trust

ORDER = "How far can this order be trusted?"


def score_report(
    scores: ItemScores, folder: FilePath, baseline: str | None = None, *, title: str = "Fair ranking report"
) -> Path:
    """Tables, figures and one offline page (`index.html`) on the scores of systems, in a folder; gives the page's path.

    Several systems are compared with `baseline`, by default the first one, and their order is computed again on
    resampled queries (`trust`). An older report in the folder is replaced once the new one is complete; a folder with
    anything else is refused. Needs the extra `report`.
    """
    place = Path(folder)
    refuse_other_folder(place, "own rankings")
    require_matplotlib()
    tables = report_tables(scores, baseline)
    with atomic_folder(place) as fresh:
        body = _write_tables(tables, fresh / "tables") + _write_order(scores, fresh / "tables")
        body += _write_figures(scores, fresh / "figures")
        body += [f"<p>{escape(note)}</p>\n" for note in scores.notes]
        (fresh / "index.html").write_text(page_of(title, body), "utf-8")
        write_json(fresh / "results.json", scores.to_json())
        mark_report(fresh, (one.system for one in scores.systems), "own rankings")
    return place / "index.html"


def report_tables(scores: ItemScores, baseline: str | None = None) -> dict[str, tuple[str, Table]]:
    """The tables of the report: file name → heading and table."""
    tables = {"systems": ("Systems", scores.table())}
    if len(scores.systems) > 1 or baseline is not None:
        compared = compare(scores, baseline or scores.systems[0].system).table()
        tables["comparison"] = ("Comparison", compared)
    if scores.shares:
        tables["groups"] = ("Attention by group", scores.group_table())
    tables["queries"] = ("", scores.table(per_query=True))
    return tables


def _write_tables(tables: dict[str, tuple[str, Table]], folder: Path) -> list[str]:
    """Each table as text, LaTeX, HTML and CSV; those with a heading as parts of the page."""
    folder.mkdir(exist_ok=True)
    body = []
    for name, (heading, table) in tables.items():
        save_table(table, folder, name, ENDINGS | CSV if heading else CSV)
        if heading:
            body.append(f"<h2>{heading}</h2>\n{html_of(table)}")
    return body


def _write_order(scores: ItemScores, folder: Path) -> list[str]:
    """How far the order of the systems can be trusted, and tests of all pairs; nothing where there is no order."""
    try:
        found = trust(scores)
    except EvenrankError:
        return []
    ranks = replace(found.rank_table(), caption=f"Ranks by {found.measure} when queries are resampled")
    pairs = replace(found.pair_table(), caption=f"All pairs on {found.measure}, power {found.power:g}")
    said = [f"<p>{escape(line)}</p>\n" for line in (*found.summary(), *found.notes)]
    return [*_write_tables({"ranks": (ORDER, ranks), "pairs": ("", pairs)}, folder), *said]


def _write_figures(scores: ItemScores, folder: Path) -> list[str]:
    """Relevance against fairness, and attention by group, as far as they were measured; parts of the page as SVG."""
    measured = {one.key for one in scores.columns}
    body = []
    with figure_style():
        if {*AXES[1], "Score"} <= measured:
            figure = scatter_figure(scores, 1)
            figure.axes[0].set_title("Relevance against fairness", pad=18)
            save_figure(figure, folder, "relevance-fairness")
            body.append(_embedded(folder / "relevance-fairness.svg", "Relevance and fairness of the systems"))
        if scores.shares:
            save_figure(share_figure(scores.shares), folder, "attention")
            body.append(_embedded(folder / "attention.svg", "Attention and target of each group"))
    return body


def _embedded(path: Path, text: str) -> str:
    return f'<p><img alt="{text}" src="data:image/svg+xml;base64,{b64encode(path.read_bytes()).decode()}"></p>\n'
