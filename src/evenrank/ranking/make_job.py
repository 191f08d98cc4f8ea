"""From what is asked for to a ranking job: settings that serve a protocol, a policy, a source of candidates."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeVar, get_args

from evenrank.alignment.groups import Dimension, GroupSpace
from evenrank.collection.collection import Collection
from evenrank.collection.given import given_run
from evenrank.errors import EvenrankError, NoIndexError, UnknownNameError, WrongTypeError
from evenrank.exposure import check_attention, parse_attention
from evenrank.policies.policy import Policy, Request
from evenrank.policies.registry import POLICIES, policy_class
from evenrank.protocol import DEFAULT_PROTOCOL, PROTOCOLS, Protocol
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.groups import parse_restriction
from evenrank.ranking.job import Length, RankingJob, forget_collection
from evenrank.ranking.run_source import calibrate_run
from evenrank.ranking.sources import CandidateSource, Supplemented, forget_index, search_source
from evenrank.ranking.undisclosed import parse_undisclosed
from evenrank.records import Run, Task
from evenrank.search.engine.engines import index_folder
from evenrank.search.model_choice import UNTRAINED, ModelChoice, choose_model
from evenrank.settings import parse_settings
from evenrank.targets.choice import TargetChoice, choose_target
from evenrank.types import FilePath

Settings = Mapping[str, object]
"""Values of settings by name, as Python values or as the text that follows `--set NAME=`."""
MOST_SHARPNESS = 20.0
"""Power above which nothing but the surest pages would count in a target; what is learned is 5 at most."""

A = TypeVar("A")
B = TypeVar("B")


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
    target: str | FilePath | TargetChoice = "track",
    length: Length = "full",
    attention: object = None,
) -> RankingJob:
    """The job that ranks topics this way, with what it learns from the training topics filled in."""
    if task not in (1, 2):
        raise EvenrankError(f"task is {task!r} (give 1 or 2)")
    if candidates is not None and not isinstance(candidates, (Run, str, os.PathLike)):
        raise WrongTypeError(candidates, "run", "a Run or the path of its file")
    if length not in get_args(Length):
        raise EvenrankError(f"length is {length!r} (choose from {', '.join(get_args(Length))})")
    known = collection.known_dimensions
    served = serve_protocol(protocol, task, known)
    texts = setting_texts(settings or {})
    if attention is not None:
        texts["attention"] = str(parse_attention(attention))
    of_candidates = {field.name for field in fields(BuildSettings)} - _own_settings(policy)
    of_build = {name: text for name, text in texts.items() if name in of_candidates}
    of_policy = {name: text for name, text in texts.items() if name not in of_candidates}
    build, configured = _both(
        lambda: _build_settings(collection, served, of_build, target), lambda: _policy(policy, task, of_policy, served)
    )
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


def _own_settings(policy: str | Policy) -> frozenset[str]:
    """Settings that a policy has, where it is given by name: they mean the policy's, also where candidates have one."""
    owner = POLICIES.get(policy) if isinstance(policy, str) else None
    return frozenset() if owner is None else frozenset(field.name for field in fields(owner))  # type: ignore[arg-type]


def _both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """What both functions return; when both fail, one error with the faults of both."""
    try:
        found = first()
    except EvenrankError as error:
        try:
            second()
        except EvenrankError as other:
            raise EvenrankError(f"{error}\n{other}") from None
        raise
    return found, second()


def _build_settings(
    collection: Collection, served: Served, texts: Mapping[str, str], target: str | FilePath | TargetChoice
) -> BuildSettings:
    """Settings of the candidates: what is set, else what the protocol and the target's table ask for."""
    given, known = dict(texts), collection.known_dimensions
    choice = choose_target(given.pop("target", target), known)
    default = collection.default_groups(BuildSettings().information)
    wanted = {**served.candidates, "information": default, "scored": default}
    if choice.is_table:
        wanted |= {"information": choice.dimensions, "scored": choice.dimensions}
    settings = BuildSettings(**{**wanted, "target": choice, **parse_settings(BuildSettings, given)})
    settings = replace(settings, attention=check_attention(settings.attention, served.request.length))
    _check_numbers(settings, known)
    for named in (settings.scored, settings.divided):
        if named:
            GroupSpace.of(named, known)
    parse_restriction(settings.within, known)
    parse_undisclosed(settings.undisclosed, settings.information, settings.scored)
    return settings


def _check_numbers(settings: BuildSettings, known: Mapping[str, Dimension]) -> None:
    """EvenrankError for numbers that mean nothing."""
    faults = []
    if settings.n_candidates < 1:
        faults.append(f"n_candidates is {settings.n_candidates}, but must be at least 1")
    if not 0.0 <= settings.sharpness <= MOST_SHARPNESS:
        faults.append(f"sharpness is {settings.sharpness:g}, but must be from 0 to {MOST_SHARPNESS:g}")
    n_groups = GroupSpace.of(settings.information, known).n_groups
    if settings.odds and (len(settings.odds) != n_groups or min(settings.odds) < 0.0 or not any(settings.odds)):
        of = " and ".join(settings.information)
        wanted = f"one for each of the {n_groups} groups of {of}, none below 0 and not all 0"
        faults.append(f"odds: {len(settings.odds)} given, but give {wanted} (the record beside a run lists them)")
    if faults:
        raise EvenrankError("\n".join(faults))


def _policy(policy: str | Policy, task: Task, texts: Mapping[str, str], served: Served) -> Policy:
    if not isinstance(policy, str):
        if texts:
            raise EvenrankError(f"settings of a policy object cannot be set again: {', '.join(texts)}")
        policy_class(policy.name, task)
        return policy
    owner = policy_class(policy, task)
    names = {field.name for field in fields(owner)}  # type: ignore[arg-type]
    others = {field.name for field in fields(BuildSettings)}
    choices = [*sorted(names), *sorted(others)]
    unknown = [str(UnknownNameError("setting", name, choices)) for name in texts if name not in names]
    if unknown:
        raise EvenrankError("\n".join(unknown))
    wanted = {name: value for name, value in served.policy.items() if name in names}
    return owner(**{**wanted, **parse_settings(owner, texts)})


def setting_texts(settings: Settings) -> dict[str, str]:
    """Python values as `--set` would write them, so that both are checked alike."""
    if not isinstance(settings, Mapping):
        raise WrongTypeError(settings, "settings", "a dict such as {'fairness': 2.0}")
    return {name: _text(value) for name, value in settings.items()}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


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
    from_run = calibrate_run(replace(given_run(collection, run), ids=None), collection.topics)
    if not has_index:
        return from_run
    return Supplemented(from_run, search_source(collection, n_pages, settings.information, model), n_wanted)
