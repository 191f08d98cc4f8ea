"""The report's offline page: one HTML file with tables, pictures that answer to clicks, and the commands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import orjson

from evenrank.core.records import Task
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.scoring.attributes import AttributeResults
from evenrank.scoring.evaluate import COMPANY
from evenrank.scoring.exposure_by_group import GroupExposure
from evenrank.scoring.figures import AXES, TITLES
from evenrank.scoring.result_tables import runs_table
from evenrank.scoring.results import Results, RunResult, measure_interval
from evenrank.scoring.tables import Table, html_of
from evenrank.scoring.trust import trust
from evenrank.trec.dimensions import DIMENSIONS

ABOUT: dict[Task, str] = {
    1: "One ranking per topic, for coordinators of WikiProjects. Score is nDCG times AWRF; higher is better for all.",
    2: "A sequence of rankings per topic, for editors. EE-L is the squared distance of the groups’ exposure from the "
    "target; lower is better, as for EE-D. Higher EE-R is better.",
}
SYNTHETIC = (
    '<p class="note"><strong>Synthetic data.</strong> The articles, topics and judgments behind these numbers were '
    "generated to try Evenrank out. They show how the measures behave, not how good a system is on Wikipedia.</p>"
)
GENDER_CARE = (
    "Gender is collapsed into four categories, which loses most of what identities mean, and assigning it to people "
    "has errors, biases and ethical concerns."
)
LOSS_CARE = (
    "Expected-exposure loss in the 2021 protocol does not look at relevance, so a relevance companion appears beside "
    "it."
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
    n_runs, n_topics = len(results.runs), len({topic for run in results.runs for topic in run.topics})
    values = {
        "title": escape(title),
        "lead": f"{n_runs} run{'s' * (n_runs != 1)}, {n_topics} topics",
        "protocol": escape(results.protocol.name),
        "groups": escape(results.groups),
        "summary": f"{escape(results.protocol.name)}: {escape(results.protocol.summary)}.",
        "care": _care_section(_care(results, exposures, is_synthetic)),
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
    said = "".join(f"<li>{escape(line)}</li>" for line in results.notes_of(task) if line != COMPANY)
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
        "table": html_of(table),
        "notes": f"<ul>{said}</ul>" if said else "",
        "attributes": "" if attributes is None else _by_attribute(attributes.table(task), task),
        "scatter_heading": f"{TITLES[task].partition(': ')[2].capitalize()}: {' and '.join(AXES[task])}",
        "main": MAIN[task].name,
        "confidence": f"{100 * results.protocol.confidence:g} %",
        "commands": note + "".join(rows),
        "trust": _trust(results, task),
    }
    return _filled(_part("section.html"), values)


def _trust(results: Results, task: Task) -> str:
    """How far the order can be trusted; nothing where there is no order to speak of."""
    try:
        found = trust(results, task)
    except EvenrankError:
        return ""
    said = "".join(f"<li>{escape(line)}</li>" for line in (*found.summary(), *found.notes))
    tables = (
        found.rank_table(),
        replace(found.pair_table(len(found.runs) - 1), caption="Neighbours on the leaderboard"),
    )
    label = f"How far the order of task {task} can be trusted"
    shown = "".join(html_of(table) for table in tables)
    return (
        f"<h3>How far can this order be trusted?</h3><ul>{said}</ul>"
        f'<details><summary>Ranks and pairs</summary><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{label}">{shown}</div></details><p>Topics alone are resampled here. <code>evenrank trust</code> '
        "also changes the target, the pool, the assessors and the attributes.</p>"
    )


def _care(results: Results, exposures: Sequence[GroupExposure], is_synthetic: bool) -> list[str]:
    """What a reader should keep in mind, for the groups that were scored."""
    dimensions = exposures[0].space.dimensions if exposures else ()
    names = [dimension.name for dimension in dimensions if dimension.name in ("geography", "gender")]
    said = []
    if names and not is_synthetic:
        said.append(f"{' and '.join(names).capitalize()} come{'s' * (len(names) == 1)} from Wikidata.")
    if "gender" in names:
        said.append(GENDER_CARE)
    if any(dimension.is_personal for dimension in dimensions):
        said.append("The numbers here are totals over groups of articles, never statements about a person.")
    unknown = [dimension.name for dimension in dimensions if dimension.has_unknown]
    if any(one.margins[name][0][0] > 0.0 for one in exposures for name in unknown):
        said.append("Of some pages no group is known, and seldom by chance.")
    if 2 in results.tasks:
        said.append(LOSS_CARE)
    return said


def _care_section(said: Sequence[str]) -> str:
    if not said:
        return ""
    heading = '<h2 id="care-heading">Read with care</h2>'
    return f'<section aria-labelledby="care-heading">\n{heading}\n<p>{" ".join(said)}</p>\n</section>'


def _by_attribute(table: Table, task: Task) -> str:
    label = f"Scores of the runs of task {task} by attribute"
    return f'<div class="scroll by-attribute" tabindex="0" role="region" aria-label="{label}">{html_of(table)}</div>'


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
    return files("evenrank.scoring.report.page").joinpath(name).read_text("utf-8")


def page_data(results: Results, exposures: Sequence[GroupExposure], topic_titles: Mapping[int, str]) -> str:
    """JSON with a record per task."""
    by_run = {(one.task, one.run): one for one in exposures}
    tasks = [_task(results, task, by_run, topic_titles) for task in results.tasks]
    return orjson.dumps({"tasks": tasks}, option=orjson.OPT_NON_STR_KEYS).decode()


def _task(
    results: Results, task: Task, exposures: Mapping[tuple[Task, str], GroupExposure], topic_titles: Mapping[int, str]
) -> dict[str, Any]:
    runs = results.of_task(task)
    topics = sorted({topic for run in runs for topic in run.topics})
    return {
        "task": task,
        "main": MAIN[task].name,
        "axes": AXES[task],
        "measures": [
            {"name": m.key, "label": m.heading(task, results.protocol), "higher_is_better": m.higher_is_better}
            for m in results.measures_of(task)
        ],
        "topics": {topic: topic_titles.get(topic, "") for topic in topics},
        "runs": [_run(run, results, exposures[task, run.run]) for run in runs],
    }


def _run(run: RunResult, results: Results, exposure: GroupExposure) -> dict[str, Any]:
    names = (*AXES[run.task], run.main_measure)
    ends = {name: measure_interval(run, name, results.protocol) for name in names}
    return {
        "name": run.run,
        "scores": _rounded(run.scores),
        "ci": {name: [_round(end.low), _round(end.high)] for name, end in ends.items()},
        "topics": {topic: _rounded(scores) for topic, scores in run.topics.items()},
        "exposure": [_margin(exposure, dimension.name) for dimension in exposure.space.dimensions],
    }


def _margin(exposure: GroupExposure, dimension: str) -> dict[str, Any]:
    groups, given, wanted = exposure.margin(dimension)
    rows = zip(groups, given, wanted, strict=True)
    return {
        "dimension": dimension.capitalize() if dimension in DIMENSIONS else exposure.space.dimension(dimension).heading,
        "groups": [{"name": name, "exposure": _round(share), "target": _round(goal)} for name, share, goal in rows],
    }


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: _round(value) for name, value in scores.items()}


def _round(value: float) -> float:
    """Seven significant digits: what a page can show, in half the bytes."""
    return float(f"{value:.7g}")
