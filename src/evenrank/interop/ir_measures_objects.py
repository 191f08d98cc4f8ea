"""Measure objects of the package ir_measures, so that its tools and PyTerrier experiments can compute ours."""

from __future__ import annotations

from typing import Any

from evenrank.core.frames import DataFrame
from evenrank.errors import load_extra
from evenrank.interop.frames import run_from_frame
from evenrank.interop.measure_strings import iter_calc, parse_measure
from evenrank.trec.collection import Collection


def ir_measure(text: str, collection: Collection) -> Any:
    """An ir_measures measure that computes `text` (such as `AWRF@20`) on a collection; Task 1 measures only.

    Judgments come from the collection; those that ir_measures is given only tell it which topics to score. A topic
    without judgments in the collection, or without a ranking, has the value 0, as ir_measures has it.
    """
    ir_measures = load_extra("ir_measures", "measure objects of ir_measures", "interop")
    parse_measure(text)

    judged = {topic.id for topic in collection.topics if len(topic.rel_docs)}

    def by_topic(qrels: DataFrame, run: DataFrame) -> float:
        scored = run_from_frame(run, ids=collection.text_ids)
        if not judged.issuperset(scored.topic_ids.tolist()) or scored.n_rankings == 0:
            return 0.0
        [topic] = set(scored.topic_ids.tolist())
        return {int(value.query_id): value.value for value in iter_calc([text], collection, scored)}[topic]

    return ir_measures.define_byquery(by_topic, name=text, support_cutoff=False)
