"""The report's offline page: one HTML file with tables, pictures that answer to clicks, and the commands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.metadata import version
from importlib.resources import files

from evenrank.evaluation.attributes import AttributeResults
from evenrank.evaluation.exposure_by_group import GroupExposure
from evenrank.evaluation.figures.scatter import AXES, TITLES
from evenrank.evaluation.report.page_data import page_data
from evenrank.evaluation.results import Results
from evenrank.evaluation.tables.html import html_of
from evenrank.evaluation.tables.results import runs_table
from evenrank.metrics.registry import MAIN
from evenrank.records import Task

ABOUT: dict[Task, str] = {
    1: "One ranking per topic, for coordinators of WikiProjects. Score is nDCG times AWRF; higher is better for all.",
    2: "A sequence of rankings per topic, for editors. EE-L is the squared distance of the groups’ exposure from the "
    "target; lower is better, as for EE-D. Higher EE-R is better.",
}
SYNTHETIC = (
    '<p class="note"><strong>Synthetic data.</strong> The articles, topics and judgments behind these numbers were '
    "generated to try Evenrank out. They show how the measures behave, not how good a system is on Wikipedia.</p>"
)
HEADINGS: dict[Task, str] = {1: "Task 1: coordinators", 2: "Task 2: editors"}


def page_html(
    results: Results,
    exposures: Sequence[GroupExposure],
    commands: Mapping[str, str],
    topic_titles: Mapping[int, str],
    title: str = "Report",
    report_command: str = "",
    attributes: AttributeResults | None = None,
    is_synthetic: bool = False,
) -> str:
    """The whole page as text; it loads nothing from anywhere. `commands` are by run name."""
    sections = [_section(results, task, commands, attributes) for task in results.tasks]
    n_runs = len(results.runs)
    values = {
        "title": escape(title),
        "lead": f"{n_runs} run{'s' * (n_runs != 1)}, {_n_topics(results)} topics",
        "protocol": escape(results.protocol.name),
        "groups": escape(results.groups),
        "summary": f"{escape(results.protocol.name)}: {escape(results.protocol.summary)}.",
        "synthetic": SYNTHETIC if is_synthetic else "",
        "report_command": f"<p>This report:</p>{_command(report_command)}" if report_command else "",
        "settings": _settings(results),
        "version": version("evenrank"),
        "sections": "\n".join(sections),
        "style": _part("page.css"),
        "script": _part("page.js"),
        "data": page_data(results, exposures, topic_titles).replace("<", "\\u003c"),
    }
    return _filled(_part("page.html"), values)


def _section(
    results: Results, task: Task, commands: Mapping[str, str], attributes: AttributeResults | None = None
) -> str:
    table = replace(runs_table(results, task), caption="Best first; the best value of each column is bold")
    rows = [
        f"<h3>{escape(run.run)}</h3>{_command(commands[run.run])}"
        for run in results.of_task(task)
        if run.run in commands
    ]
    note = ""
    if results.protocol.interval_stream == "sequential":
        note = (
            "<p>Intervals of this protocol draw on from run to run, as in the published tables: a run scored alone has "
            "the same scores and an interval that differs in late digits.</p>"
        )
    values = {
        "task": str(task),
        "heading": HEADINGS[task],
        "about": ABOUT[task],
        "table": html_of(table) + (html_of(attributes.table(task)) if attributes is not None else ""),
        "scatter_heading": f"{TITLES[task].partition(': ')[2].capitalize()}: {' and '.join(AXES[task])}",
        "main": MAIN[task].name,
        "confidence": f"{100 * results.protocol.confidence:g} %",
        "commands": note + "".join(rows),
    }
    return _filled(_part("section.html"), values)


def _n_topics(results: Results) -> int:
    return len({topic for run in results.runs for topic in run.topics})


def _command(text: str) -> str:
    return f'<pre data-command="{escape(text)}"><code>{escape(text)}</code></pre>'


def _settings(results: Results) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
        for name, value in results.protocol.settings().items()
        if name not in ("name", "summary")
    )
    return f'<div class="scroll"><table><caption>Settings; each can be changed with --set</caption>{rows}</table></div>'


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The template with each `$name` replaced once; what is put in is not looked at again."""
    return re.sub(r"\$([a-z_]+)", lambda match: values[match[1]], template)


@cache
def _part(name: str) -> str:
    return files("evenrank.evaluation.report.page").joinpath(name).read_text("utf-8")
