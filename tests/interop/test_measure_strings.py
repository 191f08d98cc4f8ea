"""Measure strings give what `evaluate` gives at the same depth."""

from __future__ import annotations

import pytest

from evenrank.errors import EvenrankError
from evenrank.interop.frames import qrels_frame, run_to_frame
from evenrank.interop.ir_measures_objects import ir_measure
from evenrank.interop.measure_strings import calc_aggregate, iter_calc, parse_measure
from evenrank.io.runs import read_run
from evenrank.scoring.evaluate import evaluate


@pytest.mark.parametrize(
    "text,name,depth",
    [("AWRF@20", "AWRF", 20), ("EE-L@50", "EE-L", 50), ("EE_L", "EE-L", None), ("ndcg@5", "nDCG", 5), ("P@6", "P", 6)],
)
def test_parse(text: str, name: str, depth: int | None) -> None:
    measure = parse_measure(text)
    assert (measure.name, measure.depth, str(measure)) == (name, depth, text)


def test_parameters() -> None:
    measure = parse_measure("AWRF(protocol='paper-2021', groups=geography, log_base=e)@100")
    assert (measure.protocol, measure.groups, measure.depth) == ("paper-2021", "geography", 100)
    assert measure.settings["log_base"] == pytest.approx(2.718281828)


@pytest.mark.parametrize("text", ["", "NOPE@20", "AWRF@0", "AWRF@x", "AWRF(groups)@20", "AWRF(what=1)@20", "@20"])
def test_what_is_no_measure_is_explained(text: str) -> None:
    with pytest.raises(EvenrankError):
        parse_measure(text)


def test_values_are_those_of_evaluate(golden_collection, golden_runs) -> None:
    run1, run2 = read_run(golden_runs[0]), read_run(golden_runs[3])
    found = calc_aggregate(["AWRF@20", "nDCG@1000", "AWRF(groups=geography)@20"], golden_collection, run1)
    assert found["AWRF@20"] == evaluate(golden_collection, run1, depth=20)["T1syn00"].scores["AWRF"]
    assert found["nDCG@1000"] == evaluate(golden_collection, run1, depth=1000)["T1syn00"].scores["nDCG"]
    assert (
        found["AWRF(groups=geography)@20"]
        == evaluate(golden_collection, run1, groups="geography", depth=20)["T1syn00"].scores["AWRF"]
    )
    per_topic = list(iter_calc(["EE-L@50"], golden_collection, run2))
    known = evaluate(golden_collection, run2, depth=50)["T2syn00"].topics
    assert {int(m.query_id): m.value for m in per_topic} == {topic: scores["EE-L"] for topic, scores in known.items()}


def test_measure_of_the_other_task_is_refused(golden_collection, golden_runs) -> None:
    with pytest.raises(EvenrankError, match="not a measure of task 1"):
        calc_aggregate(["EE-L@50"], golden_collection, read_run(golden_runs[0]))


def test_ir_measures_computes_ours_beside_its_own(golden_collection, golden_runs) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    run = read_run(golden_runs[0])
    names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    qrels = qrels_frame(golden_collection, "eval").rename(columns=names)
    frame = run_to_frame(run).rename(columns=names)
    ours, theirs = ir_measure("AWRF@20", golden_collection), ir_measures.P @ 20
    found = ir_measures.calc_aggregate([ours, theirs], qrels, frame)
    known = evaluate(golden_collection, run, depth=20)["T1syn00"].scores
    assert found[ours] == pytest.approx(known["AWRF"])
    assert found[theirs] == pytest.approx(known["P"]), "another implementation of precision agrees with ours"
