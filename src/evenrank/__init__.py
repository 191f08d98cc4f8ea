"""Rankings that are relevant and fair: make them, score them, and prove how near to the best they are.

    import evenrank

    collection = evenrank.generate_collection("demo", n_pages=5000)
    evenrank.build_index(collection)
    fair = evenrank.rank(collection, task=1, policy="optimal")
    plain = evenrank.rank(collection, task=1, policy="relevance")
    evenrank.evaluate(collection, [fair.run, plain.run]).plot()

Names are imported from their modules when they are first used, so that starting is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenrank import errors
    from evenrank.alignment.dimensions import DIMENSIONS
    from evenrank.alignment.own_dimension import read_dimension
    from evenrank.annotate.labeller import annotate
    from evenrank.annotate.many_wikis import annotate_wikis
    from evenrank.annotate.settings import AnnotateSettings
    from evenrank.annotate.settings import Inputs as AnnotateInputs
    from evenrank.assessment.pool import Pool
    from evenrank.assessment.pool_file import read_pool, write_pool
    from evenrank.assessment.pool_runs import pool
    from evenrank.collection.collection import Collection
    from evenrank.collection.generate.generate import generate_collection
    from evenrank.collection.generate.settings import GenerateSettings
    from evenrank.collection.import_files import ImportFiles, import_collection
    from evenrank.errors import EvenrankError, InputError
    from evenrank.evaluation.attributes import AttributeResults, evaluate_attributes
    from evenrank.evaluation.compare import Comparisons, compare
    from evenrank.evaluation.depth_curves import DepthCurves, depth_curves
    from evenrank.evaluation.evaluate import evaluate
    from evenrank.evaluation.information import InformationCosts, information
    from evenrank.evaluation.oracle import oracle_run
    from evenrank.evaluation.report.make import report
    from evenrank.evaluation.report.report import write_report
    from evenrank.evaluation.results import Results, RunResult
    from evenrank.evaluation.sensitivity import Sensitivity, sensitivity
    from evenrank.evaluation.show_run import ShownTopic, show_run
    from evenrank.evaluation.topic_stats import topic_stats
    from evenrank.evaluation.topic_targets import TopicTargets, topic_targets
    from evenrank.evaluation.topic_targets import topic_targets as targets
    from evenrank.formats.runs import read_run, write_run
    from evenrank.interop.frames import qrels_frame, run_from_frame, run_to_frame, topics_frame
    from evenrank.interop.measure_strings import calc_aggregate, iter_calc, parse_measure
    from evenrank.items.rerank import rerank
    from evenrank.items.reranked import Reranked
    from evenrank.items.score import score
    from evenrank.items.scores import ItemScores
    from evenrank.metrics.registry import MEASURES
    from evenrank.policies.registry import POLICIES
    from evenrank.protocol import PROTOCOLS, Protocol
    from evenrank.ranking.pareto import Frontiers, pareto
    from evenrank.ranking.rank import RankedTopics, rank
    from evenrank.records import Article, Run, Topic
    from evenrank.search.encode.encode_index import encode_index
    from evenrank.search.engine.indexing import build_index
    from evenrank.search.find import SearchResults, search
    from evenrank.search.learn.learn import Learned, learn
    from evenrank.targets.choice import TargetChoice
    from evenrank.web.exports.publish_list import Publication, publish

    __version__: str

_HOME_OF = {
    "AnnotateInputs": "annotate.settings:Inputs",
    "AnnotateSettings": "annotate.settings",
    "annotate_wikis": "annotate.many_wikis",
    "Article": "records",
    "AttributeResults": "evaluation.attributes",
    "DepthCurves": "evaluation.depth_curves",
    "Sensitivity": "evaluation.sensitivity",
    "sensitivity": "evaluation.sensitivity",
    "Collection": "collection.collection",
    "Comparisons": "evaluation.compare",
    "DIMENSIONS": "alignment.dimensions",
    "EvenrankError": "errors",
    "Frontiers": "ranking.pareto",
    "InformationCosts": "evaluation.information",
    "information": "evaluation.information",
    "GenerateSettings": "collection.generate.settings",
    "ImportFiles": "collection.import_files",
    "InputError": "errors",
    "ItemScores": "items.scores",
    "Reranked": "items.reranked",
    "rerank": "items.rerank",
    "score": "items.score",
    "Learned": "search.learn.learn",
    "MEASURES": "metrics.registry",
    "POLICIES": "policies.registry",
    "PROTOCOLS": "protocol",
    "Pool": "assessment.pool",
    "Protocol": "protocol",
    "RankedTopics": "ranking.rank",
    "Results": "evaluation.results",
    "Run": "records",
    "RunResult": "evaluation.results",
    "SearchResults": "search.find",
    "TargetChoice": "targets.choice",
    "Topic": "records",
    "TopicTargets": "evaluation.topic_targets",
    "build_index": "search.engine.indexing",
    "calc_aggregate": "interop.measure_strings",
    "compare": "evaluation.compare",
    "depth_curves": "evaluation.depth_curves",
    "encode_index": "search.encode.encode_index",
    "evaluate": "evaluation.evaluate",
    "evaluate_attributes": "evaluation.attributes",
    "generate_collection": "collection.generate.generate",
    "import_collection": "collection.import_files",
    "iter_calc": "interop.measure_strings",
    "learn": "search.learn.learn",
    "oracle_run": "evaluation.oracle",
    "pareto": "ranking.pareto",
    "parse_measure": "interop.measure_strings",
    "pool": "assessment.pool_runs",
    "Publication": "web.exports.publish_list",
    "publish": "web.exports.publish_list",
    "qrels_frame": "interop.frames",
    "rank": "ranking.rank",
    "read_dimension": "alignment.own_dimension",
    "read_pool": "assessment.pool_file",
    "read_run": "formats.runs",
    "report": "evaluation.report.make",
    "run_from_frame": "interop.frames",
    "run_to_frame": "interop.frames",
    "ShownTopic": "evaluation.show_run",
    "show_run": "evaluation.show_run",
    "topic_stats": "evaluation.topic_stats",
    "topic_targets": "evaluation.topic_targets",
    "topics_frame": "interop.frames",
    "write_pool": "assessment.pool_file",
    "write_report": "evaluation.report.report",
    "write_run": "formats.runs",
}
"""Public name → the module that holds it, and `:name` where it has another name there."""
_PACKAGES = ("annotate", "errors", "search", "targets")
"""Public names that are packages or modules; all but `errors` can be called (see `callable_package.py`)."""

__all__ = [
    "DIMENSIONS",
    "MEASURES",
    "POLICIES",
    "PROTOCOLS",
    "AnnotateInputs",
    "AnnotateSettings",
    "Article",
    "AttributeResults",
    "Collection",
    "Comparisons",
    "DepthCurves",
    "EvenrankError",
    "Frontiers",
    "GenerateSettings",
    "ImportFiles",
    "InformationCosts",
    "InputError",
    "ItemScores",
    "Learned",
    "Pool",
    "Protocol",
    "Publication",
    "RankedTopics",
    "Reranked",
    "Results",
    "Run",
    "RunResult",
    "SearchResults",
    "Sensitivity",
    "ShownTopic",
    "TargetChoice",
    "Topic",
    "TopicTargets",
    "__version__",
    "annotate",
    "annotate_wikis",
    "build_index",
    "calc_aggregate",
    "compare",
    "depth_curves",
    "encode_index",
    "errors",
    "evaluate",
    "evaluate_attributes",
    "generate_collection",
    "import_collection",
    "information",
    "iter_calc",
    "learn",
    "oracle_run",
    "pareto",
    "parse_measure",
    "pool",
    "publish",
    "qrels_frame",
    "rank",
    "read_dimension",
    "read_pool",
    "read_run",
    "report",
    "rerank",
    "run_from_frame",
    "run_to_frame",
    "score",
    "search",
    "sensitivity",
    "show_run",
    "targets",
    "topic_stats",
    "topic_targets",
    "topics_frame",
    "write_pool",
    "write_report",
    "write_run",
]


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"evenrank.{name}")
    value: object
    if name == "__version__":
        from importlib.metadata import version

        value = version("evenrank")
    elif name in _HOME_OF:
        module, _, inner = _HOME_OF[name].partition(":")
        value = getattr(import_module(f"evenrank.{module}"), inner or name)
    else:
        raise AttributeError(f"module 'evenrank' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
