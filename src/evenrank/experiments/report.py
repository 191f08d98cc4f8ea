"""The report of an experiment: one page, tables as LaTeX and TSV, figures, and everything as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.core.records import Task
from evenrank.core.safe_text import figure_text
from evenrank.errors import MissingExtraError
from evenrank.experiments.experiment import Experiment, Regret
from evenrank.experiments.tradeoff import AXES
from evenrank.experiments.tune import shown_settings
from evenrank.io.atomic import atomic_file, write_json
from evenrank.io.figures import clean_axes, direction_label, figure_style, look_of, new_figure, save_figure_as
from evenrank.measures.registry import Named, as_measure
from evenrank.scoring.tables import Cell, Column, Table, html_of, latex_of, page_of, tsv_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["scores_table", "write_study"]


def scores_table(result: Experiment, data: str, task: Task) -> Table:
    """A row per policy with the means of all measures."""
    measures, n_queries = result.measures(data, task), result.n_queries[data]["eval"]
    known = [result.study.measure(name, task) for name in measures]
    of_measures = (Column(one.key, higher_is_better=one.higher_is_better) for one in known)
    columns = (Column("policy"), *of_measures, Column("settings"))
    rows: list[tuple[Cell, ...]] = [
        (cell.policy, *(cell.mean(name) for name in measures), shown_settings(tuple(sorted(cell.settings.items()))))
        for cell in result.of(data, task)
    ]
    return Table(columns, tuple(rows), f"{data}, Task {task}: {n_queries} {'query' if n_queries == 1 else 'queries'}")


def regret_table(regrets: Sequence[Regret], task: Task, measure: Named) -> Table:
    """Policy by data set: what it loses against the best one, the mean and the largest last."""
    rows = [one for one in regrets if (one.task, one.measure) == (task, str(measure))]
    sets = list(dict.fromkeys(one.data for one in rows))
    policies = list(dict.fromkeys(one.policy for one in rows))
    by_place = {(one.policy, one.data): one.regret for one in rows}
    table: list[tuple[Cell, ...]] = []
    for policy in policies:
        values = [by_place.get((policy, data)) for data in sets]
        known = [value for value in values if value is not None]
        table.append((policy, *values, sum(known) / len(known), max(known)))
    columns = (
        Column("policy"),
        *(Column(data, higher_is_better=False, digits=3) for data in sets),
        Column("mean", higher_is_better=False, digits=3),
        Column("largest", higher_is_better=False, digits=3),
    )
    what = "share of the best" if as_measure(measure, task).higher_is_better else "above the best"
    return Table(columns, tuple(table), f"Task {task}: regret in {measure} ({what})")


def tests_table(result: Experiment, data: str, task: Task) -> Table:
    """The pairs of policies that differ clearly, after correction, most certain first."""
    pairs = [one for one in result.tests if (one.data, one.task) == (data, task) and one.p_holm < result.study.level]
    headings: dict[str, str | Column] = {
        "measure": "",
        "first": "",
        "second": "",
        "difference": "",
        "p": "",
        "p_holm": Column("p corrected"),
        "n_queries": Column("queries"),
    }
    n_pairs = sum((one.data, one.task) == (data, task) for one in result.tests)
    caption = f"Clear differences ({result.study.test} test, Holm): {len(pairs)} of {n_pairs} pairs"
    pairs.sort(key=lambda one: (one.measure, one.p_holm))
    return Table.of(pairs, headings, caption)


def tuning_table(result: Experiment) -> Table:
    """What tuning chose, and what it gained on the training queries."""
    columns = tuple(Column(name) for name in ("data", "task", "policy", "tried", "defaults", "tuned", "settings"))
    rows: list[tuple[Cell, ...]] = [
        (
            cell.data,
            cell.task,
            cell.policy,
            len(cell.tuned.tried),
            cell.tuned.default_value,
            cell.tuned.value,
            shown_settings(tuple(sorted(cell.settings.items()))),
        )
        for cell in result.cells
        if cell.tuned is not None
    ]
    caption = f"Tuning on training queries: {result.study.method}, budget {result.study.budget} for every policy"
    return Table(columns, tuple(rows), caption)


def pareto_figure(result: Experiment, data: str, task: Task) -> Figure:
    """Policies by relevance and fairness; those on the frontier are filled and joined."""
    relevance, fairness = AXES[task]
    figure, axes = new_figure(5.5, 4.0)
    on_frontier = set(result.pareto(data, task))
    points = []
    for number, cell in enumerate(result.of(data, task)):
        colour, marker = look_of(number)
        x, y = cell.mean(relevance), cell.mean(fairness)
        is_best = cell.policy in on_frontier
        axes.scatter(
            x, y, color=colour if is_best else "none", edgecolors=colour, marker=marker, label=figure_text(cell.policy)
        )
        points += [(x, y)] if is_best else []
    axes.plot(*zip(*sorted(points), strict=True), color="#6b6b6b", lw=0.8, zorder=0)
    axes.set_title(f"{figure_text(data)}, Task {task}")
    axes.set_xlabel(f"{relevance} {direction_label(as_measure(relevance, task).higher_is_better)}")
    axes.set_ylabel(f"{fairness} {direction_label(as_measure(fairness, task).higher_is_better)}")
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    clean_axes(axes)
    return figure


def write_study(result: Experiment, folder: Path) -> Path:
    """All parts of the report in a folder; the path of its page."""
    tables, body = folder / "tables", [_introduction(result)]
    for task in dict.fromkeys(task for _, task in result.groups):
        for measure in dict.fromkeys(one.measure for one in result.regrets if one.task == task):
            table = regret_table(result.regrets, task, result.study.measure(measure, task))
            body += _write(table, tables, f"regret-task{task}-{measure}")
    if any(cell.tuned for cell in result.cells):
        body += _write(tuning_table(result), tables, "tuning")
    for data, task in result.groups:
        name = f"{_file_name(data)}-task{task}"
        body.append(f"<h2>{escape(data)}, Task {task}</h2>\n")
        body += _write(scores_table(result, data, task), tables, name)
        body.append(f"<p>On the frontier: {escape(', '.join(result.pareto(data, task)))}</p>\n")
        body += _figure(result, data, task, folder, name)
        body += _write(tests_table(result, data, task), tables, f"{name}-tests")
        body += [
            f"<p>{escape(cell.policy)} failed: {escape(cell.error)}</p>\n"
            for cell in result.cells
            if (cell.data, cell.task) == (data, task) and cell.error
        ]
    return _finish(folder, result.study.title, body, result.to_json())


def write_comparison(folder: Path, title: str, tables: Mapping[str, Table], notes: Sequence[str], record: Any) -> Path:
    """Named tables as LaTeX and TSV, all of them on the page `report.html`, and the record as `results.json`."""
    body = [part for name, table in tables.items() for part in _write(table, folder / "tables", name)]
    body.append("<ul>\n" + "".join(f"<li>{escape(note)}</li>\n" for note in notes) + "</ul>\n")
    return _finish(folder, title, body, record)


def _finish(folder: Path, title: str, body: Sequence[str], record: Any) -> Path:
    """The page and the record of a report; gives the path of the page."""
    write_json(folder / "results.json", _plain(record))
    page = folder / "report.html"
    _write_bytes(page, page_of(title, body).encode())
    return page


def _introduction(result: Experiment) -> str:
    counts = "; ".join(f"{name}: {n['train']} to tune on, {n['eval']} scored" for name, n in result.n_queries.items())
    tuned = any(policy.is_tuned for policy in result.study.policies)
    budget = f" Tuned policies had a budget of {result.study.budget} each ({result.study.method})." if tuned else ""
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in result.notes)
    return f"<p>Queries: {escape(counts)}. No query was both tuned on and scored.{budget}</p>\n{notes}"


def _write(table: Table, folder: Path, name: str) -> list[str]:
    """The table as files; its HTML."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending, render in (("tex", latex_of), ("tsv", tsv_of)):
        _write_bytes(folder / f"{_file_name(name)}.{ending}", render(table).encode())
    return [html_of(table)] if table.rows else [f"<p>{escape(table.caption)}</p>\n"]


def _figure(result: Experiment, data: str, task: Task, folder: Path, name: str) -> list[str]:
    """The figure as SVG and PDF, and the element that shows it; nothing without matplotlib or without both measures."""
    if not result.pareto(data, task):
        return []
    try:
        with figure_style():
            figure = pareto_figure(result, data, task)
            (folder / "figures").mkdir(exist_ok=True)
            for ending in ("svg", "pdf"):
                save_figure_as(figure, folder / "figures" / f"{name}.{ending}")
    except MissingExtraError:
        return []
    return [f'<img src="figures/{name}.svg" alt="{escape(f"{data}: relevance and fairness of the policies")}">\n']


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text.replace("@", "-at-")).strip("-") or "data"


def _write_bytes(path: Path, content: bytes) -> None:
    with atomic_file(path) as file:
        file.write(content)


def _plain(value: Any) -> Any:
    """The same data with text in place of what is no plain data; numbers that are none are written as null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (str, int, float)) else str(getattr(value, "name", value))
