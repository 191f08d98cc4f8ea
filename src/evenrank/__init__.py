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
    from evenrank.app.exports.listing import Format as ExportFormat
    from evenrank.app.exports.publish_list import Publication, publish
    from evenrank.core.groups import Dimension, named_dimension
    from evenrank.core.protocol import PROTOCOLS, Protocol
    from evenrank.core.records import Article, Run, Topic
    from evenrank.core.uncertainty import Uncertainty
    from evenrank.errors import EvenrankError, InputError
    from evenrank.experiments.data import OwnData
    from evenrank.experiments.experiment import Experiment, experiment
    from evenrank.experiments.reproduce import Reproduction, reproduce
    from evenrank.experiments.tradeoff import Tradeoff, tradeoff
    from evenrank.experiments.tune import Tuned, tune
    from evenrank.interop.frames import qrels_frame, run_from_frame, run_to_frame, topics_frame
    from evenrank.interop.measure_strings import calc_aggregate, iter_calc, parse_measure
    from evenrank.io.assumptions import read_assumptions
    from evenrank.io.runs import read_run, write_run
    from evenrank.measures.measure import Measure, measure
    from evenrank.measures.registry import MEASURES
    from evenrank.policies.function_policy import policy
    from evenrank.policies.registry import POLICIES
    from evenrank.policies.stream_policies import STREAM_POLICIES
    from evenrank.ranking.count import TopicCount, count_relevant
    from evenrank.ranking.pareto import Frontiers, pareto
    from evenrank.ranking.rank import RankedTopics, rank
    from evenrank.ranking.rerank import rerank
    from evenrank.ranking.reranked import Reranked
    from evenrank.ranking.stream import Stream
    from evenrank.ranking.stream_log import StreamRanking, read_requests
    from evenrank.ranking.stream_state import StreamState
    from evenrank.retrieval.encode.dense import encode_index
    from evenrank.retrieval.encode.models import fetch_model
    from evenrank.retrieval.engine.engines import EngineKind
    from evenrank.retrieval.engine.indexing import build_index
    from evenrank.retrieval.find import SearchResults, search
    from evenrank.retrieval.learn.learn import Learned, learn
    from evenrank.retrieval.learn.tagging_rate import TaggingRate, estimate_tagging_rate
    from evenrank.retrieval.sync import sync
    from evenrank.retrieval.update import Update, update_collection
    from evenrank.scoring.attribute_audit import AttributeAudit, audit_sample, read_audit
    from evenrank.scoring.attributes import AttributeResults, evaluate_attributes
    from evenrank.scoring.compare import Comparisons, compare
    from evenrank.scoring.depth_curves import DepthCurves, depth_curves
    from evenrank.scoring.evaluate import evaluate
    from evenrank.scoring.information import InformationCosts, information
    from evenrank.scoring.oracle import oracle_run
    from evenrank.scoring.order_effects import OrderEffects, order_effects
    from evenrank.scoring.report.campaign_report import campaign_report
    from evenrank.scoring.report.make import report
    from evenrank.scoring.report.report import write_report
    from evenrank.scoring.report.score_report import score_report
    from evenrank.scoring.results import ItemScores, Results, RunResult
    from evenrank.scoring.run_check import admit_runs
    from evenrank.scoring.sampled_pool import SampledScores, sample_pool, sampled_scores
    from evenrank.scoring.score import score
    from evenrank.scoring.sensitivity import Sensitivity, sensitivity
    from evenrank.scoring.show_run import ShownTopic, show_run
    from evenrank.scoring.stream_measures import (
        StreamMeasures,
        StreamRun,
        hindsight_gap,
        measure_stream,
        plot_streams,
        run_stream,
    )
    from evenrank.scoring.topic_stats import topic_stats
    from evenrank.scoring.topic_targets import TopicTargets, topic_targets
    from evenrank.scoring.topic_targets import topic_targets as targets
    from evenrank.scoring.trust import Trust, trust
    from evenrank.scoring.uncertain import UncertainResults
    from evenrank.trec.assessment.files import with_judgments
    from evenrank.trec.assessment.pool import Pool, pool
    from evenrank.trec.assessment.pool_file import read_pool, write_pool
    from evenrank.trec.collection import Collection
    from evenrank.trec.compare_sources import Edition, compare_editions
    from evenrank.trec.dimensions import DIMENSIONS
    from evenrank.trec.fetch_release import fetch_release, follow_releases
    from evenrank.trec.generate.generate import generate_collection
    from evenrank.trec.generate.settings import GenerateSettings
    from evenrank.trec.import_files import ImportFiles, import_collection
    from evenrank.trec.ir_dataset import ir_dataset_files
    from evenrank.trec.own_dimension import read_dimension
    from evenrank.trec.releases import Release, pack_collection, roll_back
    from evenrank.trec.target_choice import TargetChoice
    from evenrank.wikipedia.annotate.labeller import annotate, annotate_wikis
    from evenrank.wikipedia.annotate.settings import AnnotateSettings
    from evenrank.wikipedia.annotate.settings import Inputs as AnnotateInputs
    from evenrank.wikipedia.topics.make import MadeTopics, TopicSettings, make_topics

    __version__: str

_HOME_OF = {
    "admit_runs": "scoring.run_check",
    "policy": "policies.function_policy",
    "AttributeAudit": "scoring.attribute_audit",
    "audit_sample": "scoring.attribute_audit",
    "read_audit": "scoring.attribute_audit",
    "Trust": "scoring.trust",
    "UncertainResults": "scoring.uncertain",
    "Uncertainty": "core.uncertainty",
    "read_assumptions": "io.assumptions",
    "trust": "scoring.trust",
    "Dimension": "core.groups",
    "EngineKind": "retrieval.engine.engines",
    "ExportFormat": "app.exports.listing:Format",
    "named_dimension": "core.groups",
    "annotate": "wikipedia.annotate.labeller",
    "search": "retrieval.find",
    "targets": "scoring.topic_targets:topic_targets",
    "AnnotateInputs": "wikipedia.annotate.settings:Inputs",
    "AnnotateSettings": "wikipedia.annotate.settings",
    "annotate_wikis": "wikipedia.annotate.labeller",
    "Article": "core.records",
    "AttributeResults": "scoring.attributes",
    "DepthCurves": "scoring.depth_curves",
    "SampledScores": "scoring.sampled_pool",
    "sample_pool": "scoring.sampled_pool",
    "sampled_scores": "scoring.sampled_pool",
    "OrderEffects": "scoring.order_effects",
    "order_effects": "scoring.order_effects",
    "Sensitivity": "scoring.sensitivity",
    "sensitivity": "scoring.sensitivity",
    "Collection": "trec.collection",
    "Comparisons": "scoring.compare",
    "DIMENSIONS": "trec.dimensions",
    "EvenrankError": "errors",
    "Experiment": "experiments.experiment",
    "OwnData": "experiments.data",
    "Tradeoff": "experiments.tradeoff",
    "tradeoff": "experiments.tradeoff",
    "Tuned": "experiments.tune",
    "experiment": "experiments.experiment",
    "Reproduction": "experiments.reproduce",
    "reproduce": "experiments.reproduce",
    "tune": "experiments.tune",
    "Frontiers": "ranking.pareto",
    "InformationCosts": "scoring.information",
    "information": "scoring.information",
    "GenerateSettings": "trec.generate.settings",
    "ImportFiles": "trec.import_files",
    "InputError": "errors",
    "ItemScores": "scoring.results",
    "Reranked": "ranking.reranked",
    "rerank": "ranking.rerank",
    "score": "scoring.score",
    "campaign_report": "scoring.report.campaign_report",
    "score_report": "scoring.report.score_report",
    "Learned": "retrieval.learn.learn",
    "MEASURES": "measures.registry",
    "Measure": "measures.measure",
    "measure": "measures.measure",
    "POLICIES": "policies.registry",
    "PROTOCOLS": "core.protocol",
    "Pool": "trec.assessment.pool",
    "Protocol": "core.protocol",
    "RankedTopics": "ranking.rank",
    "Results": "scoring.results",
    "Run": "core.records",
    "RunResult": "scoring.results",
    "STREAM_POLICIES": "policies.stream_policies",
    "SearchResults": "retrieval.find",
    "Stream": "ranking.stream",
    "StreamMeasures": "scoring.stream_measures",
    "StreamRanking": "ranking.stream_log",
    "StreamRun": "scoring.stream_measures",
    "StreamState": "ranking.stream_state",
    "hindsight_gap": "scoring.stream_measures",
    "measure_stream": "scoring.stream_measures",
    "plot_streams": "scoring.stream_measures",
    "read_requests": "ranking.stream_log",
    "run_stream": "scoring.stream_measures",
    "TargetChoice": "trec.target_choice",
    "Topic": "core.records",
    "TopicCount": "ranking.count",
    "count_relevant": "ranking.count",
    "TaggingRate": "retrieval.learn.tagging_rate",
    "estimate_tagging_rate": "retrieval.learn.tagging_rate",
    "Release": "trec.releases",
    "fetch_release": "trec.fetch_release",
    "follow_releases": "trec.fetch_release",
    "pack_collection": "trec.releases",
    "roll_back": "trec.releases",
    "Update": "retrieval.update",
    "compare_editions": "trec.compare_sources",
    "Edition": "trec.compare_sources",
    "sync": "retrieval.sync",
    "update_collection": "retrieval.update",
    "MadeTopics": "wikipedia.topics.make",
    "TopicSettings": "wikipedia.topics.make",
    "make_topics": "wikipedia.topics.make",
    "TopicTargets": "scoring.topic_targets",
    "build_index": "retrieval.engine.indexing",
    "calc_aggregate": "interop.measure_strings",
    "compare": "scoring.compare",
    "depth_curves": "scoring.depth_curves",
    "encode_index": "retrieval.encode.dense",
    "fetch_model": "retrieval.encode.models",
    "evaluate": "scoring.evaluate",
    "evaluate_attributes": "scoring.attributes",
    "generate_collection": "trec.generate.generate",
    "import_collection": "trec.import_files",
    "ir_dataset_files": "trec.ir_dataset",
    "iter_calc": "interop.measure_strings",
    "learn": "retrieval.learn.learn",
    "oracle_run": "scoring.oracle",
    "pareto": "ranking.pareto",
    "parse_measure": "interop.measure_strings",
    "pool": "trec.assessment.pool",
    "Publication": "app.exports.publish_list",
    "publish": "app.exports.publish_list",
    "qrels_frame": "interop.frames",
    "rank": "ranking.rank",
    "read_dimension": "trec.own_dimension",
    "read_pool": "trec.assessment.pool_file",
    "read_run": "io.runs",
    "report": "scoring.report.make",
    "run_from_frame": "interop.frames",
    "run_to_frame": "interop.frames",
    "ShownTopic": "scoring.show_run",
    "show_run": "scoring.show_run",
    "topic_stats": "scoring.topic_stats",
    "topic_targets": "scoring.topic_targets",
    "topics_frame": "interop.frames",
    "with_judgments": "trec.assessment.files",
    "write_pool": "trec.assessment.pool_file",
    "write_report": "scoring.report.report",
    "write_run": "io.runs",
}
"""Public name → the module that holds it, and `:name` where it has another name there."""
__all__ = [
    "DIMENSIONS",
    "MEASURES",
    "POLICIES",
    "PROTOCOLS",
    "STREAM_POLICIES",
    "AnnotateInputs",
    "AnnotateSettings",
    "Article",
    "AttributeAudit",
    "AttributeResults",
    "Collection",
    "Comparisons",
    "DepthCurves",
    "Dimension",
    "Edition",
    "EngineKind",
    "EvenrankError",
    "Experiment",
    "ExportFormat",
    "Frontiers",
    "GenerateSettings",
    "ImportFiles",
    "InformationCosts",
    "InputError",
    "ItemScores",
    "Learned",
    "MadeTopics",
    "Measure",
    "OrderEffects",
    "OwnData",
    "Pool",
    "Protocol",
    "Publication",
    "RankedTopics",
    "Release",
    "Reproduction",
    "Reranked",
    "Results",
    "Run",
    "RunResult",
    "SampledScores",
    "SearchResults",
    "Sensitivity",
    "ShownTopic",
    "Stream",
    "StreamMeasures",
    "StreamRanking",
    "StreamRun",
    "StreamState",
    "TaggingRate",
    "TargetChoice",
    "Topic",
    "TopicCount",
    "TopicSettings",
    "TopicTargets",
    "Tradeoff",
    "Trust",
    "Tuned",
    "UncertainResults",
    "Uncertainty",
    "Update",
    "__version__",
    "admit_runs",
    "annotate",
    "annotate_wikis",
    "audit_sample",
    "build_index",
    "calc_aggregate",
    "campaign_report",
    "compare",
    "compare_editions",
    "count_relevant",
    "depth_curves",
    "encode_index",
    "errors",
    "estimate_tagging_rate",
    "evaluate",
    "evaluate_attributes",
    "experiment",
    "fetch_model",
    "fetch_release",
    "follow_releases",
    "generate_collection",
    "hindsight_gap",
    "import_collection",
    "information",
    "ir_dataset_files",
    "iter_calc",
    "learn",
    "make_topics",
    "measure",
    "measure_stream",
    "named_dimension",
    "oracle_run",
    "order_effects",
    "pack_collection",
    "pareto",
    "parse_measure",
    "plot_streams",
    "policy",
    "pool",
    "publish",
    "qrels_frame",
    "rank",
    "read_assumptions",
    "read_audit",
    "read_dimension",
    "read_pool",
    "read_requests",
    "read_run",
    "report",
    "reproduce",
    "rerank",
    "roll_back",
    "run_from_frame",
    "run_stream",
    "run_to_frame",
    "sample_pool",
    "sampled_scores",
    "score",
    "score_report",
    "search",
    "sensitivity",
    "show_run",
    "sync",
    "targets",
    "topic_stats",
    "topic_targets",
    "topics_frame",
    "tradeoff",
    "trust",
    "tune",
    "update_collection",
    "with_judgments",
    "write_pool",
    "write_report",
    "write_run",
]


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("evenrank.errors")
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
