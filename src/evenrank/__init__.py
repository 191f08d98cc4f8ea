"""Fair work lists for Wikipedia, and the bench that proves them fair.

    from evenrank import Collection, evaluate
    evaluate("my-collection", ["run1.gz", "run2.gz"])

Names are imported from their rooms when they are first used, so that starting is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenrank.alignment.dimensions import DIMENSIONS
    from evenrank.collection.collection import Collection
    from evenrank.collection.import_files import ImportFiles, import_collection
    from evenrank.errors import EvenrankError, InputError
    from evenrank.evaluation.compare import Comparisons, compare
    from evenrank.evaluation.evaluate import evaluate
    from evenrank.evaluation.report.report import write_report
    from evenrank.evaluation.results import Results, RunResult
    from evenrank.evaluation.topic_stats import topic_stats
    from evenrank.evaluation.topic_targets import TopicTargets, topic_targets
    from evenrank.formats.runs import read_run, write_run
    from evenrank.interop.frames import qrels_frame, run_from_frame, run_to_frame, topics_frame
    from evenrank.interop.measure_strings import calc_aggregate, iter_calc, parse_measure
    from evenrank.metrics.registry import MEASURES
    from evenrank.protocol import PROTOCOLS, Protocol
    from evenrank.records import Article, Run, Topic

_ROOM_OF = {
    "DIMENSIONS": "alignment.dimensions",
    "Collection": "collection.collection",
    "ImportFiles": "collection.import_files",
    "import_collection": "collection.import_files",
    "EvenrankError": "errors",
    "InputError": "errors",
    "Comparisons": "evaluation.compare",
    "compare": "evaluation.compare",
    "evaluate": "evaluation.evaluate",
    "write_report": "evaluation.report.report",
    "Results": "evaluation.results",
    "RunResult": "evaluation.results",
    "topic_stats": "evaluation.topic_stats",
    "TopicTargets": "evaluation.topic_targets",
    "topic_targets": "evaluation.topic_targets",
    "read_run": "formats.runs",
    "write_run": "formats.runs",
    "qrels_frame": "interop.frames",
    "run_from_frame": "interop.frames",
    "run_to_frame": "interop.frames",
    "topics_frame": "interop.frames",
    "calc_aggregate": "interop.measure_strings",
    "iter_calc": "interop.measure_strings",
    "parse_measure": "interop.measure_strings",
    "PROTOCOLS": "protocol",
    "Protocol": "protocol",
    "MEASURES": "metrics.registry",
    "Article": "records",
    "Run": "records",
    "Topic": "records",
}
"""Public name → module that holds it."""

__all__ = [
    "DIMENSIONS",
    "MEASURES",
    "PROTOCOLS",
    "Article",
    "Collection",
    "Comparisons",
    "EvenrankError",
    "ImportFiles",
    "InputError",
    "Protocol",
    "Results",
    "Run",
    "RunResult",
    "Topic",
    "TopicTargets",
    "calc_aggregate",
    "compare",
    "evaluate",
    "import_collection",
    "iter_calc",
    "parse_measure",
    "qrels_frame",
    "read_run",
    "run_from_frame",
    "run_to_frame",
    "topic_stats",
    "topic_targets",
    "topics_frame",
    "write_report",
    "write_run",
]


def __getattr__(name: str) -> object:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'evenrank' has no attribute {name!r}")
    value: object = getattr(import_module(f"evenrank.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
