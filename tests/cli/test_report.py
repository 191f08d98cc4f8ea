"""`evenrank report`: everything is there, offline, the same bytes twice, and an old report survives a failure."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenrank.cli.report import command
from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.figures import equal_levels, scatter_figure, topic_figure
from evenrank.scoring.report import report as report_module
from evenrank.scoring.topic_stats import file_name

pytest.importorskip("matplotlib")
FIGURES = ("distributions", "exposure", "topics")


def call(collection, runs, out: Path, *options: str):
    arguments = [str(collection.path), *map(str, runs), "-o", str(out), *options]
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def report(golden_collection, golden_runs, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("report") / "out"
    result = call(golden_collection, golden_runs, out)
    assert result.exit_code == 0
    assert result.stdout.strip() == str(out / "index.html")
    return out


def digests(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_all_parts_are_there(report: Path) -> None:
    names = {str(path.relative_to(report)) for path in report.rglob("*") if path.is_file()}
    scatter = {f"figures/{name}" for name in ("task1-ndcg-awrf", "task1-depths", "task2-eer-eed")}
    figures = scatter | {f"figures/task{task}-{name}" for task in (1, 2) for name in FIGURES}
    expected = {f"{figure}.{ending}" for figure in figures for ending in ("pdf", "svg", "png")}
    tables = [f"tables/task{task}-{name}" for task in (1, 2) for name in ("runs", "attributes")]
    expected |= {f"{table}.{ending}" for table in tables for ending in ("txt", "tex", "html", "csv")}
    expected |= {f"feedback/T{task}syn0{n}.csv" for task in (1, 2) for n in (0, 1, 2)}
    expected |= {f"topics/task{task}-topic-{kind}.csv" for task in (1, 2) for kind in ("scores", "stats")}
    expected |= {f"exposure/task{task}-exposure.csv" for task in (1, 2)}
    assert names == expected | {"tables/task1-depths.csv", "index.html", "results.json", "report.json"}


def test_a_second_report_has_the_same_bytes(report: Path, golden_collection, golden_runs) -> None:
    before = digests(report)
    call(golden_collection, golden_runs, report)
    assert digests(report) == before


def test_the_page_asks_nobody_for_anything(report: Path) -> None:
    page = (report / "index.html").read_text("utf-8")
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page) == []
    assert "@import" not in page
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}, "the name of the SVG language, not an address to load"


def test_the_page_has_every_number_and_command(report: Path, golden_collection, golden_runs) -> None:
    page = (report / "index.html").read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    results = evaluate(golden_collection, golden_runs)
    for task in data["tasks"]:
        for run in task["runs"]:
            known = results[run["name"]]
            assert run["scores"] == pytest.approx(known.scores, rel=1e-6)
            assert len(run["topics"]) == known.n_topics
    for path in golden_runs:
        assert f"evenrank evaluate {golden_collection.path} {path} --protocol paper-2021" in page


def test_names_of_runs_are_text_on_the_page(golden_collection, golden_runs, tmp_path: Path) -> None:
    """In the script's data a comment that opens a script would swallow the end of the element."""
    names = ["<!--<script>alert(1)", "<img src=x onerror=alert(1)>", "'\"onload=alert(1) &lt;b&gt;"]
    ending = golden_runs[0].name.partition(".")[2]
    paths = [tmp_path / f"{name}.{ending}" for name in names]
    for path in paths:
        path.write_bytes(golden_runs[0].read_bytes())
    assert call(golden_collection, paths, tmp_path / "out").exit_code == 0
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert {run["name"] for task in data["tasks"] for run in task["runs"]} == set(names)
    assert not [text for text in ("<!--<script", "<img src=x", "'\"onload") if text in page]


def test_the_page_says_when_data_are_synthetic(report: Path, golden_collection, golden_runs, tmp_path: Path) -> None:
    from dataclasses import replace

    from evenrank.io.runs import read_run
    from evenrank.scoring.report.report import is_synthetic, write_report

    assert "Synthetic data." not in (report / "index.html").read_text("utf-8")
    manifest = replace(golden_collection.manifest, settings={"generated": {"seed": 1}})
    made_up = replace(golden_collection, manifest=manifest)
    assert is_synthetic(made_up)
    results = evaluate(golden_collection, golden_runs[:1])
    page = write_report(tmp_path / "out", made_up, [read_run(golden_runs[0])], results)
    assert "Synthetic data." in page.read_text("utf-8")


def test_the_page_says_how_far_the_order_can_be_trusted(report: Path) -> None:
    page = (report / "index.html").read_text("utf-8")
    assert page.count("How far can this order be trusted?") == 2
    assert "of resamples of the 5 topics" in page
    assert "too few to tell small differences from chance" in page


def test_both_tables_stand_apart_and_only_the_first_can_be_sorted(report: Path) -> None:
    page = (report / "index.html").read_text("utf-8")
    for section in re.findall(r'<section class="task".*?</section>', page, re.S):
        first, hint, second = (section.index(part) for part in ("<table", "Choose a column heading", "by-attribute"))
        assert first < hint < second
    assert ".by-attribute{margin:" in page


def test_arrows_of_upright_axes_point_up_and_down(golden_collection, golden_runs) -> None:
    """Labels of upright axes are turned to the left, arrows included."""
    results = evaluate(golden_collection, golden_runs)
    assert scatter_figure(results, 1).axes[0].get_ylabel() == "AWRF (higher is better →)"
    assert scatter_figure(results, 2).axes[0].get_ylabel() == "EE-D (lower is better ←)"


def test_no_line_of_equal_loss_is_below_zero() -> None:
    assert equal_levels(-60.0, 45.0) == [0.0, 15.0, 30.0]
    assert equal_levels(0.61, 0.79)[0] > 0.61
    assert equal_levels(0.5, 0.5) == []


def test_topics_have_their_titles_and_losses_a_scale_to_read_them(golden_collection, golden_runs) -> None:
    results = evaluate(golden_collection, golden_runs)
    topics = sorted(results.of_task(2)[0].topics)
    titles = {topic: f"Subject {topic}" for topic in topics[1:]} | {topics[1]: "x" * 99}
    axes = topic_figure(results, 2, titles).axes[0]
    names = {label.get_text() for label in axes.get_yticklabels()}
    expected = {f"topic {topics[0]}", f"{'x' * 39}… ({topics[1]})", *(f"Subject {n} ({n})" for n in topics[2:])}
    assert names == expected
    losses = [scores["EE-L"] for run in results.of_task(2) for scores in run.topics.values()]
    assert axes.get_xscale() == ("log" if max(losses) > 10 * min(losses) else "linear")
    assert topic_figure(results, 1).axes[0].get_xscale() == "linear"


def test_the_page_warns_of_the_groups_that_were_scored(report: Path) -> None:
    page = (report / "index.html").read_text("utf-8")
    assert "Geography and gender come from Wikidata. Gender is collapsed into four categories" in page


def test_feedback_sets_a_run_beside_the_field(report: Path, golden_collection, golden_runs) -> None:
    results = evaluate(golden_collection, golden_runs)
    with (report / "feedback" / "T2syn01.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["topic"]) for row in rows] == list(results["T2syn01"].topics)
    for row in rows:
        field = sorted(run.topics[int(row["topic"])]["EE-L"] for run in results.of_task(2))
        assert float(row["EE-L"]) == results["T2syn01"].topics[int(row["topic"])]["EE-L"]
        assert [float(row[f"EE-L.{name}"]) for name in ("min", "median", "max")] == field


def test_an_old_report_survives_a_failure(report, golden_collection, golden_runs, monkeypatch) -> None:
    before = digests(report)

    def fail(results: object, exposures: object, folder: Path, titles: object) -> None:
        folder.mkdir()
        (folder / "half.png").write_bytes(b"half a figure")
        raise EvenrankError("the disk is full")

    monkeypatch.setattr(report_module, "write_figures", fail)
    with pytest.raises(EvenrankError, match="the disk is full"):
        call(golden_collection, golden_runs, report)
    assert digests(report) == before
    assert [path.name for path in report.parent.iterdir()] == [report.name], "nothing half-written stays behind"


def test_a_folder_with_other_things_is_not_touched(golden_collection, golden_runs, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(EvenrankError, match="not a report"):
        call(golden_collection, golden_runs, tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_without_matplotlib_the_extra_is_named(golden_collection, golden_runs, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"evenrank\[report\]"):
        call(golden_collection, golden_runs[:1], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_run_of_one_topic_and_odd_names(golden_collection, golden_runs, tmp_path: Path) -> None:
    import gzip

    lines = gzip.decompress(golden_runs[0].read_bytes()).splitlines(keepends=True)
    odd = tmp_path / "a <run> & more.tsv"
    odd.write_bytes(b"".join(line for line in lines if line.startswith(b"103\t")))
    call(golden_collection, [odd], tmp_path / "out", "--groups", "geography", "--depth", "50")
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "a &lt;run&gt; &amp; more" in page
    assert "<run>" not in page
    assert "--groups geography --depth 50" in page
    assert (tmp_path / "out" / "feedback" / f"{file_name('a <run> & more')}.csv").exists()
