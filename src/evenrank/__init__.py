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
    from evenrank.app.exports.listing import ExportFormat
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
    from evenrank.scoring.report.report import report, write_report
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
    from evenrank.scoring.topic_targets import TopicTargets, targets, topic_targets
    from evenrank.scoring.trust import Trust, trust
    from evenrank.scoring.uncertain import UncertainResults
    from evenrank.trec.assessment.files import with_judgments
    from evenrank.trec.assessment.pool import Pool, pool
    from evenrank.trec.assessment.pool_file import read_pool, write_pool
    from evenrank.trec.collection import Collection
    from evenrank.trec.compare_sources import Edition, compare_editions
    from evenrank.trec.dimensions import DIMENSIONS, read_dimension
    from evenrank.trec.fetch_release import fetch_release, follow_releases
    from evenrank.trec.generate.generate import generate_collection
    from evenrank.trec.generate.settings import GenerateSettings
    from evenrank.trec.import_files import ImportFiles, import_collection
    from evenrank.trec.ir_dataset import ir_dataset_files
    from evenrank.trec.releases import Release, pack_collection, roll_back
    from evenrank.trec.target_choice import TargetChoice
    from evenrank.wikipedia.annotate.labeller import annotate, annotate_wikis
    from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings
    from evenrank.wikipedia.topics.make import MadeTopics, TopicSettings, make_topics

    __version__: str

_NAMES_IN = {
    "app.exports.listing": ("ExportFormat",),
    "app.exports.publish_list": ("Publication", "publish"),
    "core.groups": ("Dimension", "named_dimension"),
    "core.protocol": ("PROTOCOLS", "Protocol"),
    "core.records": ("Article", "Run", "Topic"),
    "core.uncertainty": ("Uncertainty",),
    "errors": ("EvenrankError", "InputError"),
    "experiments.data": ("OwnData",),
    "experiments.experiment": ("Experiment", "experiment"),
    "experiments.reproduce": ("Reproduction", "reproduce"),
    "experiments.tradeoff": ("Tradeoff", "tradeoff"),
    "experiments.tune": ("Tuned", "tune"),
    "interop.frames": ("qrels_frame", "run_from_frame", "run_to_frame", "topics_frame"),
    "interop.measure_strings": ("calc_aggregate", "iter_calc", "parse_measure"),
    "io.assumptions": ("read_assumptions",),
    "io.runs": ("read_run", "write_run"),
    "measures.measure": ("Measure", "measure"),
    "measures.registry": ("MEASURES",),
    "policies.function_policy": ("policy",),
    "policies.registry": ("POLICIES",),
    "policies.stream_policies": ("STREAM_POLICIES",),
    "ranking.count": ("TopicCount", "count_relevant"),
    "ranking.pareto": ("Frontiers", "pareto"),
    "ranking.rank": ("RankedTopics", "rank"),
    "ranking.rerank": ("rerank",),
    "ranking.reranked": ("Reranked",),
    "ranking.stream": ("Stream",),
    "ranking.stream_log": ("StreamRanking", "read_requests"),
    "ranking.stream_state": ("StreamState",),
    "retrieval.encode.dense": ("encode_index",),
    "retrieval.encode.models": ("fetch_model",),
    "retrieval.engine.engines": ("EngineKind",),
    "retrieval.engine.indexing": ("build_index",),
    "retrieval.find": ("SearchResults", "search"),
    "retrieval.learn.learn": ("Learned", "learn"),
    "retrieval.learn.tagging_rate": ("TaggingRate", "estimate_tagging_rate"),
    "retrieval.sync": ("sync",),
    "retrieval.update": ("Update", "update_collection"),
    "scoring.attribute_audit": ("AttributeAudit", "audit_sample", "read_audit"),
    "scoring.attributes": ("AttributeResults", "evaluate_attributes"),
    "scoring.compare": ("Comparisons", "compare"),
    "scoring.depth_curves": ("DepthCurves", "depth_curves"),
    "scoring.evaluate": ("evaluate",),
    "scoring.information": ("InformationCosts", "information"),
    "scoring.oracle": ("oracle_run",),
    "scoring.order_effects": ("OrderEffects", "order_effects"),
    "scoring.report.campaign_report": ("campaign_report",),
    "scoring.report.report": ("report", "write_report"),
    "scoring.report.score_report": ("score_report",),
    "scoring.results": ("ItemScores", "Results", "RunResult"),
    "scoring.run_check": ("admit_runs",),
    "scoring.sampled_pool": ("SampledScores", "sample_pool", "sampled_scores"),
    "scoring.score": ("score",),
    "scoring.sensitivity": ("Sensitivity", "sensitivity"),
    "scoring.show_run": ("ShownTopic", "show_run"),
    "scoring.stream_measures": (
        "StreamMeasures",
        "StreamRun",
        "hindsight_gap",
        "measure_stream",
        "plot_streams",
        "run_stream",
    ),
    "scoring.topic_stats": ("topic_stats",),
    "scoring.topic_targets": ("TopicTargets", "targets", "topic_targets"),
    "scoring.trust": ("Trust", "trust"),
    "scoring.uncertain": ("UncertainResults",),
    "trec.assessment.files": ("with_judgments",),
    "trec.assessment.pool": ("Pool", "pool"),
    "trec.assessment.pool_file": ("read_pool", "write_pool"),
    "trec.collection": ("Collection",),
    "trec.compare_sources": ("Edition", "compare_editions"),
    "trec.dimensions": ("DIMENSIONS", "read_dimension"),
    "trec.fetch_release": ("fetch_release", "follow_releases"),
    "trec.generate.generate": ("generate_collection",),
    "trec.generate.settings": ("GenerateSettings",),
    "trec.import_files": ("ImportFiles", "import_collection"),
    "trec.ir_dataset": ("ir_dataset_files",),
    "trec.releases": ("Release", "pack_collection", "roll_back"),
    "trec.target_choice": ("TargetChoice",),
    "wikipedia.annotate.labeller": ("annotate", "annotate_wikis"),
    "wikipedia.annotate.settings": ("AnnotateInputs", "AnnotateSettings"),
    "wikipedia.topics.make": ("MadeTopics", "TopicSettings", "make_topics"),
}
"""Module → the public names that it holds."""
_HOME_OF = {name: module for module, names in _NAMES_IN.items() for name in names}
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
        value = getattr(import_module(f"evenrank.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'evenrank' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
