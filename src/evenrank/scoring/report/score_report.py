"""`evenrank.score_report`: the report on scores of plain tables, without a collection."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.metadata import version
from pathlib import Path

import orjson

from evenrank.core.safe_text import terminal_text
from evenrank.core.types import FilePath
from evenrank.io.atomic import atomic_folder
from evenrank.io.figures import figure_style, require_matplotlib, save_figure
from evenrank.scoring.compare import compare
from evenrank.scoring.figures.scatter import AXES, scatter_figure
from evenrank.scoring.figures.shares import share_figure
from evenrank.scoring.report.report import ENDINGS, MARKER, refuse_other_folder
from evenrank.scoring.results import ItemScores
from evenrank.scoring.tables.results import RENDERERS
from evenrank.scoring.tables.table import Table

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #d9d9d9; text-align: left }}
caption {{ text-align: left; color: #555; padding: .25rem 0 }}
img {{ max-width: 100%; height: auto }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""
ALL_ENDINGS = {**ENDINGS, "csv": "csv"}
"""File ending → format of the tables."""


def score_report(
    scores: ItemScores, folder: FilePath, baseline: str | None = None, *, title: str = "Fair ranking report"
) -> Path:
    """Tables, figures and one offline page (`index.html`) on the scores of systems, in a folder; gives the page's path.

    Several systems are compared with `baseline`, by default the first one. An older report in the folder is replaced
    once the new one is complete; a folder with anything else is refused. Needs the extra `report`.
    """
    place = Path(folder)
    refuse_other_folder(place)
    require_matplotlib()
    tables = report_tables(scores, baseline)
    with atomic_folder(place) as fresh:
        body = _write_tables(tables, fresh / "tables") + _write_figures(scores, fresh / "figures")
        body += [f"<p>{escape(note)}</p>\n" for note in scores.notes]
        page = PAGE.format(title=escape(title), body="".join(body))
        (fresh / "index.html").write_text(terminal_text(page), "utf-8")
        (fresh / "results.json").write_bytes(orjson.dumps(scores.to_json(), option=orjson.OPT_INDENT_2) + b"\n")
        marker = {"report_of": sorted(one.system for one in scores.systems), "evenrank_version": version("evenrank")}
        (fresh / MARKER).write_bytes(orjson.dumps(marker, option=orjson.OPT_INDENT_2) + b"\n")
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
    folder.mkdir()
    body = []
    for name, (heading, table) in tables.items():
        for ending, form in ALL_ENDINGS.items() if heading else [("csv", "csv")]:
            (folder / f"{name}.{ending}").write_text(RENDERERS[form](table), "utf-8")
        if heading:
            body.append(f"<h2>{heading}</h2>\n{RENDERERS['html'](table)}")
    return body


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
