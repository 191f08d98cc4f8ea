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
    from evenrank import errors as errors
    from evenrank.app.exports.listing import ExportFormat as ExportFormat
    from evenrank.app.exports.publish_list import Publication as Publication, publish as publish
    from evenrank.core.groups import Dimension as Dimension, named_dimension as named_dimension
    from evenrank.core.protocol import PROTOCOLS as PROTOCOLS, Protocol as Protocol
    from evenrank.core.records import Article as Article, Run as Run, Topic as Topic
    from evenrank.core.uncertainty import Uncertainty as Uncertainty
    from evenrank.errors import EvenrankError as EvenrankError, InputError as InputError
    from evenrank.experiments.data import OwnData as OwnData
    from evenrank.experiments.experiment import Experiment as Experiment, experiment as experiment
    from evenrank.experiments.reproduce import Reproduction as Reproduction, reproduce as reproduce
    from evenrank.experiments.tradeoff import Tradeoff as Tradeoff, tradeoff as tradeoff
    from evenrank.experiments.tune import Tuned as Tuned, tune as tune
    from evenrank.interop.frames import (
        qrels_frame as qrels_frame,
        run_from_frame as run_from_frame,
        run_to_frame as run_to_frame,
        topics_frame as topics_frame,
    )
    from evenrank.interop.measure_strings import (
        calc_aggregate as calc_aggregate,
        iter_calc as iter_calc,
        parse_measure as parse_measure,
    )
    from evenrank.io.assumptions import read_assumptions as read_assumptions
    from evenrank.io.runs import read_run as read_run, write_run as write_run
    from evenrank.measures.measure import Measure as Measure, measure as measure
    from evenrank.measures.registry import MEASURES as MEASURES
    from evenrank.policies.function_policy import policy as policy
    from evenrank.policies.registry import POLICIES as POLICIES
    from evenrank.policies.stream_policies import STREAM_POLICIES as STREAM_POLICIES
    from evenrank.ranking.count import TopicCount as TopicCount, count_relevant as count_relevant
    from evenrank.ranking.pareto import Frontiers as Frontiers, pareto as pareto
    from evenrank.ranking.rank import RankedTopics as RankedTopics, rank as rank
    from evenrank.ranking.rerank import rerank as rerank
    from evenrank.ranking.reranked import Reranked as Reranked
    from evenrank.ranking.stream import Stream as Stream
    from evenrank.ranking.stream_log import StreamRanking as StreamRanking, read_requests as read_requests
    from evenrank.ranking.stream_state import StreamState as StreamState
    from evenrank.retrieval.encode.dense import encode_index as encode_index
    from evenrank.retrieval.encode.models import fetch_model as fetch_model
    from evenrank.retrieval.engine.engines import EngineKind as EngineKind
    from evenrank.retrieval.engine.indexing import build_index as build_index
    from evenrank.retrieval.find import SearchResults as SearchResults, search as search
    from evenrank.retrieval.learn.learn import Learned as Learned, learn as learn
    from evenrank.retrieval.learn.tagging_rate import (
        TaggingRate as TaggingRate,
        estimate_tagging_rate as estimate_tagging_rate,
    )
    from evenrank.retrieval.sync import sync as sync
    from evenrank.retrieval.update import Update as Update, update_collection as update_collection
    from evenrank.scoring.attribute_audit import (
        AttributeAudit as AttributeAudit,
        audit_sample as audit_sample,
        read_audit as read_audit,
    )
    from evenrank.scoring.attributes import (
        AttributeResults as AttributeResults,
        evaluate_attributes as evaluate_attributes,
    )
    from evenrank.scoring.compare import Comparisons as Comparisons, compare as compare
    from evenrank.scoring.depth_curves import DepthCurves as DepthCurves, depth_curves as depth_curves
    from evenrank.scoring.evaluate import evaluate as evaluate
    from evenrank.scoring.information import InformationCosts as InformationCosts, information as information
    from evenrank.scoring.oracle import oracle_run as oracle_run
    from evenrank.scoring.order_effects import OrderEffects as OrderEffects, order_effects as order_effects
    from evenrank.scoring.report.campaign_report import campaign_report as campaign_report
    from evenrank.scoring.report.report import report as report, write_report as write_report
    from evenrank.scoring.report.score_report import score_report as score_report
    from evenrank.scoring.results import ItemScores as ItemScores, Results as Results, RunResult as RunResult
    from evenrank.scoring.run_check import admit_runs as admit_runs
    from evenrank.scoring.sampled_pool import (
        SampledScores as SampledScores,
        sample_pool as sample_pool,
        sampled_scores as sampled_scores,
    )
    from evenrank.scoring.score import score as score
    from evenrank.scoring.sensitivity import Sensitivity as Sensitivity, sensitivity as sensitivity
    from evenrank.scoring.show_run import ShownTopic as ShownTopic, show_run as show_run
    from evenrank.scoring.stream_measures import (
        StreamMeasures as StreamMeasures,
        StreamRun as StreamRun,
        hindsight_gap as hindsight_gap,
        measure_stream as measure_stream,
        plot_streams as plot_streams,
        run_stream as run_stream,
    )
    from evenrank.scoring.topic_stats import topic_stats as topic_stats
    from evenrank.scoring.topic_targets import (
        TopicTargets as TopicTargets,
        targets as targets,
        topic_targets as topic_targets,
    )
    from evenrank.scoring.trust import Trust as Trust, trust as trust
    from evenrank.scoring.uncertain import UncertainResults as UncertainResults
    from evenrank.trec.assessment.files import with_judgments as with_judgments
    from evenrank.trec.assessment.pool import Pool as Pool, pool as pool
    from evenrank.trec.assessment.pool_file import read_pool as read_pool, write_pool as write_pool
    from evenrank.trec.collection import Collection as Collection
    from evenrank.trec.compare_sources import Edition as Edition, compare_editions as compare_editions
    from evenrank.trec.dimensions import DIMENSIONS as DIMENSIONS, read_dimension as read_dimension
    from evenrank.trec.fetch_release import fetch_release as fetch_release, follow_releases as follow_releases
    from evenrank.trec.generate.generate import generate_collection as generate_collection
    from evenrank.trec.generate.settings import GenerateSettings as GenerateSettings
    from evenrank.trec.import_files import ImportFiles as ImportFiles, import_collection as import_collection
    from evenrank.trec.ir_dataset import ir_dataset_files as ir_dataset_files
    from evenrank.trec.releases import Release as Release, pack_collection as pack_collection, roll_back as roll_back
    from evenrank.trec.replaced_judgments import replace_judgments as replace_judgments
    from evenrank.trec.target_choice import TargetChoice as TargetChoice
    from evenrank.wikipedia.annotate.labeller import annotate as annotate, annotate_wikis as annotate_wikis
    from evenrank.wikipedia.annotate.settings import (
        AnnotateInputs as AnnotateInputs,
        AnnotateSettings as AnnotateSettings,
    )
    from evenrank.wikipedia.topics.make import (
        MadeTopics as MadeTopics,
        TopicSettings as TopicSettings,
        make_topics as make_topics,
    )

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
    "trec.replaced_judgments": ("replace_judgments",),
    "trec.target_choice": ("TargetChoice",),
    "wikipedia.annotate.labeller": ("annotate", "annotate_wikis"),
    "wikipedia.annotate.settings": ("AnnotateInputs", "AnnotateSettings"),
    "wikipedia.topics.make": ("MadeTopics", "TopicSettings", "make_topics"),
}
"""Module → the public names that it holds."""
_HOME_OF = {name: module for module, names in _NAMES_IN.items() for name in names}
_PUBLIC = sorted([*_HOME_OF, "__version__", "errors"])
if not TYPE_CHECKING:  # type checkers read the imports above
    __all__ = _PUBLIC


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
    return _PUBLIC
