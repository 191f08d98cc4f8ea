"""The report on scores of plain tables, and its figure of attention by group."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, UnknownNameError

pytest.importorskip("matplotlib")

GROUPS = {"a": "large", "b": "large", "c": "small", "d": "small"}
RELEVANT = {f"q{n}": ["a", "c"] for n in range(6)}
SYSTEMS = {
    "plain": {query: ["a", "b", "c", "d"] for query in RELEVANT},
    "turned <1>": {query: ["c", "a", "d", "b"] for query in RELEVANT},
}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_report_has_tables_figures_and_a_page_that_needs_nothing_else(tmp_path: Path) -> None:
    scores = evenrank.score(SYSTEMS, GROUPS, RELEVANT)
    page = evenrank.score_report(scores, tmp_path / "out", title="Mine & yours")
    found = files(tmp_path / "out")
    assert {"index.html", "results.json", "tables/systems.tex", "tables/comparison.txt", "tables/queries.csv"} <= {
        *found
    }
    assert {"figures/attention.pdf", "figures/relevance-fairness.svg"} <= {*found}
    text = page.read_text("utf-8")
    assert "Mine &amp; yours" in text
    assert "turned &lt;1&gt;" in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert orjson.loads(found["results.json"]) == scores.to_json()
    assert "Against plain" in found["tables/comparison.txt"].decode()
    assert "How far can this order be trusted?" in text
    first = evenrank.trust(scores).summary()[0]
    assert first.replace("<", "&lt;").replace(">", "&gt;") in text
    assert found["tables/pairs.csv"].decode().splitlines()[1].startswith("turned <1>,plain,")


def test_same_scores_give_the_same_bytes(tmp_path: Path) -> None:
    scores = evenrank.score(SYSTEMS, GROUPS, RELEVANT)
    for name in ("one", "two"):
        evenrank.score_report(scores, tmp_path / name, baseline="turned <1>")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_one_system_without_groups_or_relevance(tmp_path: Path) -> None:
    evenrank.score_report(evenrank.score(SYSTEMS["plain"], relevance=RELEVANT), tmp_path / "relevance")
    evenrank.score_report(evenrank.score(SYSTEMS["plain"], GROUPS), tmp_path / "groups")
    assert "tables/groups.csv" not in files(tmp_path / "relevance")
    assert "tables/comparison.csv" not in files(tmp_path / "relevance")
    assert "tables/ranks.csv" not in files(tmp_path / "relevance")
    assert "figures/attention.svg" in files(tmp_path / "groups")


def test_other_folders_and_unknown_baselines_are_refused(tmp_path: Path) -> None:
    scores = evenrank.score(SYSTEMS, GROUPS, RELEVANT)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(EvenrankError, match="not a report"):
        evenrank.score_report(scores, tmp_path)
    with pytest.raises(UnknownNameError):
        evenrank.score_report(scores, tmp_path / "out", baseline="none")
    assert not (tmp_path / "out").exists()


def test_only_what_a_report_of_the_kind_wrote_is_replaced(tmp_path: Path) -> None:
    """Notes that somebody put beside it are not lost, nor is the report of a campaign."""
    scores, place = evenrank.score(SYSTEMS, GROUPS, RELEVANT), tmp_path / "out"
    evenrank.score_report(scores, place)
    evenrank.score_report(scores, place)
    (place / "tables" / "notes.txt").write_text("mine")
    with pytest.raises(EvenrankError, match=r"files that are not of the report: tables/notes\.txt \(move them"):
        evenrank.score_report(scores, place)
    assert (place / "tables" / "notes.txt").read_text() == "mine"
    (place / "tables" / "notes.txt").unlink()
    marker = place / "report.json"
    marker.write_text(marker.read_text().replace("own rankings", "a campaign"))
    with pytest.raises(EvenrankError, match="holds a report of another kind, of a campaign"):
        evenrank.score_report(scores, place)
    marker.write_text('{"report_of": []}')  # as earlier versions wrote it
    evenrank.score_report(scores, place)


def test_command_writes_the_report(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,item,rank\nq,a,1\nq,b,2\nq,c,3\n")
    (tmp_path / "b.csv").write_text("query,item,rank\nq,c,1\nq,a,2\nq,b,3\n")
    (tmp_path / "groups.csv").write_text("item,group\na,large\nb,large\nc,small\n")
    line = ["score", "--run", str(tmp_path / "a.csv"), "--run", str(tmp_path / "b.csv")]
    line += ["--groups", str(tmp_path / "groups.csv")]
    done = CliRunner().invoke(cli, [*line, "--report", str(tmp_path / "out"), "--baseline", "b"])
    assert done.exit_code == 0, done.output
    assert "Against b" in (tmp_path / "out" / "tables" / "comparison.txt").read_text("utf-8")
    for wrong in (["--baseline", "b"], ["--baseline", "c", "--report", str(tmp_path / "other")]):
        refused = CliRunner().invoke(cli, [*line, *wrong])
        assert refused.exit_code in (1, 2)
        assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(("n_systems", "is_beside"), [(2, False), (6, False), (7, True), (22, True)])
def test_figure_grows_with_the_systems_and_the_legend_moves_out(n_systems: int, is_beside: bool) -> None:
    systems = {f"system {n}": SYSTEMS["plain"] for n in range(n_systems)}
    figure = evenrank.score(systems, GROUPS, RELEVANT).plot()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert (legend.get_window_extent().x0 > axes.get_window_extent().x1) == is_beside
    bars = axes.patches
    assert len(bars) == 2 * n_systems
    assert bars[0].get_window_extent().height >= 5
    assert legend.get_window_extent().y0 >= 0
