"""Tables: the paper's own lines from the published numbers, directions, escapes, notebooks."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenrank
from evenrank.core.protocol import OFFICIAL_2021
from evenrank.core.safe_text import cell_text
from evenrank.errors import EvenrankError
from evenrank.io.runs import read_run
from evenrank.scoring.compare import compare
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.exposure_by_group import exposure_by_group
from evenrank.scoring.intervals import Interval
from evenrank.scoring.report.report import paper_table
from evenrank.scoring.result_tables import runs_table
from evenrank.scoring.results import Results, RunResult
from evenrank.scoring.tables import Column, Table, TableResult, csv_of, html_of, latex_of, text_of, tsv_of
from evenrank.scoring.topic_targets import topic_targets
from evenrank.scoring.topic_truth import CollectionProblem

from .csv_rows import read_csv


def published(folder, task: int) -> Results:
    """Results with the published numbers."""
    runs = []
    for row in read_csv(folder / f"t{task}_2021_run_scores.csv"):
        main = "Score" if task == 1 else "EE-L"
        names = ("nDCG", "AWRF", "Score") if task == 1 else ("EE-L", "EE-D", "EE-R")
        ends = Interval(float(row[f"{main}.Lo"]), float(row[f"{main}.Hi"]), float(row[f"{main}.SE"]))
        runs.append(RunResult(row["run_name"], task, {name: float(row[name]) for name in names}, ends, {}))
    return Results(OFFICIAL_2021, "intersection", tuple(runs))


def test_task_1_table_of_the_paper(published_folder) -> None:
    text = latex_of(paper_table(published(published_folder, 1), 1))
    lines = [line for line in text.splitlines() if "&" in line]
    assert lines[0] == r"run & nDCG & AWRF & Score & 95\% CI \\"
    assert [line.split(" & ")[0] for line in lines[1:4]] == ["UoGTrDExpDisT1", "UoGTrDRelDiT1", "UoGTrDivPropT1"]
    assert lines[2] == r"UoGTrDRelDiT1 & 0.2001 & 0.8072 & 0.1639 & (0.138, 0.193) \\"
    assert lines[7] == r"RMITRet & 0.2075 & 0.6413 & 0.1317 & (0.110, 0.159) \\"
    assert r"2step\_pair & 0.0824 & 0.6943 & 0.0638 & (0.045, 0.089) \\" in lines
    assert r"RUN1 & \textbf{0.2169}" in text


def test_task_2_table_of_the_paper(published_folder) -> None:
    text = latex_of(paper_table(published(published_folder, 2), 2))
    lines = [line for line in text.splitlines() if "&" in line]
    assert lines[0] == r"run & EE-R & EE-D & EE-L & EE-L 95\% CI \\"
    assert lines[1] == r"RUN\_task2 & 9.5508 & 4.1557 & \textbf{14.9007} & (12.303, 19.946) \\"
    assert lines[3] == r"UoGTrRelT2 & \textbf{11.8281} & 9.4609 & 15.6514 & (13.057, 20.148) \\"
    assert r"PL\_IRLab\_05 & 4.9331 & \textbf{1.4029} & 21.3832 & (16.579, 28.293) \\" in lines
    assert lines[-1].startswith("UoGTrLambT2")


def test_ties_to_the_shown_digits_share_the_best() -> None:
    table = Table((Column("run"), Column("x", higher_is_better=True)), (("a", 0.50001), ("b", 0.50002), ("c", 0.4)))
    assert table.best() == {(0, 1), (1, 1)}
    assert Table(table.columns, table.rows[:1]).best() == set(), "one run has nothing to be better than"


def test_small_values_are_not_shown_as_zero() -> None:
    table = Table((Column("run"), Column("x")), (("a", 1.4589e-06), ("b", 0.0)))
    assert "1.459e-06" in text_of(table)
    assert "0.0000" in text_of(table)


def test_text_is_bold_only_when_asked() -> None:
    table = Table((Column("run"), Column("x", higher_is_better=False)), (("a", 1.0), ("b", 2.0)))
    assert "\x1b" not in text_of(table)
    assert "\x1b[1m1.0000\x1b[0m" in text_of(table, bold=True)


def test_odd_names_are_escaped() -> None:
    table = Table((Column("run"), Column("x")), (("<b>_50%&", 1.0), ("=cmd()", 2.0)))
    assert "&lt;b&gt;_50%&amp;" in html_of(table)
    assert r"<b>\_50\%\&" in latex_of(table)
    assert [row[0] for row in csv.reader(io.StringIO(csv_of(table)))] == ["run", "<b>_50%&", "'=cmd()"]
    assert tsv_of(table).splitlines()[1] == "<b>_50%&\t1.0"


def test_results_in_a_notebook(golden_collection, golden_runs) -> None:
    results = evaluate(golden_collection, golden_runs)
    assert results._repr_html_().count("<table") == 2
    assert str(results).splitlines()[0] == "Task 1"
    frame = results.to_pandas()
    assert list(frame["run"]) == [run.run for run in results.runs]
    per_topic = results.to_pandas(per_topic=True)
    assert len(per_topic) == sum(run.n_topics for run in results.runs)
    means = per_topic.groupby("run")["Score"].mean()
    assert means["T1syn00"] == pytest.approx(results["T1syn00"].scores["Score"])


def test_objects_say_in_short_what_they_are(golden_collection, golden_runs) -> None:
    run = read_run(golden_runs[0])
    results = evaluate(golden_collection, [run, *golden_runs[1:2]], "official-2021", n_resamples=9)
    assert repr(run) == "<Run 'T1syn00': task 1, 5 rankings, 500 pages>"
    assert repr(results) == str(results)
    assert repr(results.runs[0]).startswith("<RunResult 'T1syn00': task 1, 5 topics, nDCG 0.0867, AWRF 0.8012")
    assert repr(compare(results, "T1syn00")).startswith("Against T1syn00: paired")
    assert repr(topic_targets(golden_collection)) == "<TopicTargets: task 1, paper-2021, 11 topics by 31 groups>"


def test_runs_need_names_of_their_own(golden_collection, golden_runs) -> None:
    with pytest.raises(EvenrankError, match="same name: T1syn00"):
        evaluate(golden_collection, [golden_runs[0], golden_runs[0]])
    with pytest.raises(EvenrankError, match="no run"):
        evaluate(golden_collection, [])


@pytest.mark.parametrize("runs", [None, 5, [None], b"x"])
def test_what_is_no_run_is_explained(golden_collection, runs) -> None:
    with pytest.raises(EvenrankError, match=r"run: (None|a value of type .*) is not accepted .*give a Run"):
        evaluate(golden_collection, runs)


def test_what_is_no_collection_is_explained(golden_runs) -> None:
    for ask in (lambda: evaluate(None, golden_runs[0]), lambda: topic_targets(None)):
        with pytest.raises(EvenrankError, match="collection: None is not accepted"):
            ask()


def test_groups_may_be_a_list_of_names(golden_collection, golden_runs) -> None:
    listed = evaluate(golden_collection, golden_runs[0], groups=["geography", "gender"])
    joined = evaluate(golden_collection, golden_runs[0], groups="geography,gender")
    assert listed.to_json() == joined.to_json()
    assert listed.groups == "geography,gender"
    assert topic_targets(golden_collection, groups=("gender",)).groups[-1] == "third"


@pytest.mark.parametrize("groups", [None, 5, [], ["gender", 5], [None]])
def test_groups_without_names_are_explained(golden_collection, golden_runs, groups) -> None:
    with pytest.raises(EvenrankError, match=r"groups is .*list of names"):
        evaluate(golden_collection, golden_runs[0], groups=groups)


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("depth", "5", "not a whole number"),
        ("depth", 5.5, "not a whole number"),
        ("task1_depth", None, "not a whole number"),
        ("depth", True, "not a whole number"),
        ("log_base", "2", "not a finite number"),
        ("confidence", None, "not a finite number"),
        ("relevant_exposure", "no", "not true or false"),
        ("normalised", ["mars"], "unknown dimension 'mars'"),
        ("normalised", 5, "not a list"),
    ],
)
def test_settings_of_a_wrong_type_are_explained(golden_collection, golden_runs, setting: str, value, said: str) -> None:
    with pytest.raises(EvenrankError, match=said):
        evaluate(golden_collection, golden_runs[0], **{setting: value})


def test_settings_from_numpy_and_lists_are_taken(golden_collection, golden_runs) -> None:
    results = evaluate(golden_collection, golden_runs[0], depth=np.int64(5), log_base=2, normalised=["geography"])
    assert results.protocol.task1_depth == 5
    assert results.protocol.normalised == ("geography",)
    assert results.to_json()["protocol"]["log_base"] == 2.0


@pytest.mark.parametrize("number", [0, 3])
def test_exposure_of_groups_are_shares(golden_collection, golden_runs, number: int) -> None:
    run = read_run(golden_runs[number])
    results = evaluate(golden_collection, run)
    problem = CollectionProblem(golden_collection, OFFICIAL_2021, golden_collection.space("intersection"))
    one = exposure_by_group(problem, run, results.runs[0].topics)
    assert one.exposure.sum() == pytest.approx(1.0)
    assert one.target.sum() == pytest.approx(1.0)
    groups, given, wanted = one.margin("gender")
    assert groups == ("unknown", "female", "male", "third")
    assert given.sum() == pytest.approx(1.0)
    assert wanted[2] == pytest.approx(one.target.reshape(8, 4)[:, 2].sum())


def test_measures_by_name_are_computed_in_place_of_the_usual_ones(golden_collection, golden_runs) -> None:
    results = evaluate(golden_collection, golden_runs, measures=["P@5", "EE-D"], n_resamples=9)
    assert [set(run.scores) for run in results.runs] == [{"P@5", "Score"}] * 3 + [{"P@5", "EE-D", "EE-L"}] * 3
    assert [column.name for column in runs_table(results, 1).columns] == ["run", "n_topics", "P@5", "Score", "ci"]


@given(st.text(max_size=20))
def test_a_safe_cell_is_no_formula_once_blanks_are_stripped(text: str) -> None:
    assert not cell_text(text).strip().startswith(("=", "+", "-", "@"))
    assert cell_text(text).removeprefix("'") == text.strip().removeprefix("'")


def test_blanks_do_not_hide_a_formula() -> None:
    assert cell_text(" \t=cmd()") == "'=cmd()"


def test_results_are_text_html_and_latex() -> None:
    class Two(TableResult):
        def _shown(self) -> tuple[list[Table], list[str]]:
            table = Table((Column("a & b"),), ((0.5,),), "One")
            return [table, table], ["note: <few>"]

    assert str(Two()) == repr(Two()) == f"{text_of(Two()._shown()[0][0])}\n" * 2 + "note: <few>\n"
    assert Two()._repr_html_().count("<table") == 2
    assert Two()._repr_html_().endswith("<p>note: &lt;few&gt;</p>\n")
    assert Two().to_latex().count(r"\begin{tabular}{r}") == 2


@pytest.mark.parametrize("name", ["Comparisons", "DepthCurves", "Experiment", "OrderEffects", "Results", "Sensitivity"])
def test_results_are_shown_as_their_tables(name: str) -> None:
    assert issubclass(getattr(evenrank, name), TableResult)
    assert getattr(evenrank, name).__repr__ is TableResult.__repr__, "a dataclass would write one of its own"
