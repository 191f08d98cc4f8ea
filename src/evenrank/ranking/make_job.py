"""From what is asked for to a ranking job: settings that serve a protocol, a policy, a source of candidates."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import get_args

from evenrank.core.exposure import parse_attention
from evenrank.core.protocol import DEFAULT_PROTOCOL, PROTOCOLS, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.settings import Settings
from evenrank.core.types import FilePath
from evenrank.errors import Collected, EvenrankError, NoIndexError, UnknownNameError, WrongTypeError
from evenrank.policies.policy import Policy, Request
from evenrank.policies.registry import make_policy
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import Length, RankingJob, forget_collection
from evenrank.ranking.job_settings import candidate_setting_names, candidate_settings, divide_settings
from evenrank.ranking.run_source import calibrate_run
from evenrank.ranking.sources import CandidateSource, Supplemented, forget_index, search_source
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice, choose_model
from evenrank.trec.collection import Collection, as_run
from evenrank.trec.target_choice import Target


def make_job(
    collection: Collection,
    task: Task,
    policy: str | Policy,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    candidates: Run | FilePath | None = None,
    model: str | ModelChoice = "untrained",
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    target: Target = "track",
    length: Length = "full",
    attention: object = None,
    found: Collected | None = None,
) -> RankingJob:
    """The job that ranks topics this way, with what it learns from the training topics filled in.

    Everything wrong with the request is reported at once, together with what the caller `found` before.
    """
    faults = found or Collected()
    if task not in (1, 2):
        raise EvenrankError(f"task is {task!r} (give 1 or 2)")
    if candidates is not None and not isinstance(candidates, (Run, str, os.PathLike)):
        raise WrongTypeError(candidates, "run", "a Run or the path of its file")
    if length not in get_args(Length):
        faults.add([f"length is {length!r} (choose from {', '.join(get_args(Length))})"])
    known = collection.known_dimensions
    usual = serve_protocol(DEFAULT_PROTOCOL, task, known)
    served = faults.check(lambda: serve_protocol(protocol, task, known)) or usual
    of_build, of_policy = divide_settings(settings or {}, policy)
    if attention is not None and (model_text := faults.check(lambda: str(parse_attention(attention)))):
        of_build["attention"] = model_text
    n_ranks = served.request.length
    build = faults.check(lambda: candidate_settings(collection, of_build, target, served.candidates, n_ranks))
    configured = faults.check(
        lambda: make_policy(policy, task, of_policy, served=served.policy, other_settings=candidate_setting_names())
    )
    faults.raise_any()
    assert build is not None
    assert configured is not None
    forget_collection()  # the folder may hold another collection than for an earlier job of this process
    forget_index()
    choice = choose_model(collection, model) if isinstance(model, str) else model
    request = replace(served.request, attention=build.attention_model)
    source = open_source(collection, candidates, build, request.length, choice)
    job = RankingJob(collection.path, source, configured, request, build, seed, served.name, length)
    return job.learned()


@dataclass(frozen=True)
class Served:
    """What serving a protocol means for a job: what its scorer looks at becomes settings."""

    name: str
    """Of the protocol."""
    request: Request
    """The size of a valid run."""
    candidates: dict[str, object]
    """Settings of the candidates (`BuildSettings`) that count pages as the protocol does."""
    policy: dict[str, object]
    """Settings that serve the scorer, for policies that have them."""


def serve_protocol(protocol: str | Protocol, task: Task, dimensions: Iterable[str]) -> Served:
    """The settings that serve a protocol, which is given by name or as an object.

    A scorer that looks at the whole ranking leaves the policy its mixture over depths; one with a cut of its own is
    served at that cut, and the rest of the ranking is made to follow from there.
    """
    if isinstance(protocol, str):
        if protocol not in PROTOCOLS:
            raise UnknownNameError("protocol", protocol, PROTOCOLS)
        protocol = PROTOCOLS[protocol]
    depth, length = protocol.depth(task), protocol.length(task)
    policy: dict[str, object] = {"log_base": protocol.log_base}
    if task == 1 and depth < length:
        policy |= {"depths": (depth,), "depth_weights": (1.0,)}
    if task == 2:
        policy["relevant_only"] = protocol.relevant_exposure
        if depth < length:
            policy["head_depth"] = depth
    divided = tuple(name for name in dimensions if protocol.normalises(name))
    candidates: dict[str, object] = {
        "divided": divided,
        "keep_unknown": protocol.keeps_unknown_task1,
        "attention": protocol.attention,
    }
    return Served(protocol.name, Request(task, protocol.n_rankings(task), length), candidates, policy)


def open_source(
    collection: Collection,
    run: Run | str | os.PathLike[str] | None,
    settings: BuildSettings,
    n_wanted: int,
    model: ModelChoice = UNTRAINED,
) -> CandidateSource:
    """The pages of a run, filled up from the index to `n_wanted` if there is one; without a run, the index.

    `model` scores the pages that come from the index.
    """
    n_pages = max(settings.n_candidates, n_wanted)
    if run is None:
        return search_source(collection, n_pages, settings.information, model)
    has_index = index_folder(collection).exists()
    if model != UNTRAINED and not has_index:
        raise NoIndexError(f"{collection.path}: no index for a relevance model to search (run: evenrank index)")
    from_run = calibrate_run(replace(as_run(collection, run), ids=None), collection.topics)
    if not has_index:
        return from_run
    return Supplemented(from_run, search_source(collection, n_pages, settings.information, model), n_wanted)
