"""From what is asked for to a ranking job: settings that serve a protocol, a policy, a source of candidates.

Settings are read from text and checked against each other and the collection, all faults at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import get_args

import numpy as np

from evenrank.core.allowed import MOST_PAGES, setting_faults
from evenrank.core.exposure import check_attention, parse_attention
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.protocol import DEFAULT_PROTOCOL, PROTOCOLS, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.settings import Settings, parse_each, setting_texts
from evenrank.core.types import FilePath
from evenrank.errors import Collected, EvenrankError, NoIndexError, UnknownNameError, WrongTypeError
from evenrank.io.topics import read_qrels
from evenrank.policies.policy import Policy, Request
from evenrank.policies.registry import DEFAULT_POLICY, make_policy, setting_names
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.groups import is_within
from evenrank.ranking.job import Length, RankingJob
from evenrank.ranking.sources import CandidateSource, SearchSource, Session, Supplemented, calibrate_run, search_source
from evenrank.ranking.undisclosed import parse_assumed, parse_undisclosed
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice, choose_model
from evenrank.trec.collection import Collection, as_run
from evenrank.trec.target_choice import Target, TargetChoice, choose_target, table_faults


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """What is to be ranked, and how: what the keywords of `rank` say."""

    task: Task = 1
    policy: str | Policy = DEFAULT_POLICY
    settings: Settings = field(default_factory=dict)
    """Of the policy and of the candidates, by name."""
    candidates: Run | FilePath | None = None
    """A run whose pages are ranked; None takes those of the index."""
    model: str | ModelChoice = "untrained"
    protocol: str | Protocol = DEFAULT_PROTOCOL
    target: Target = "track"
    length: Length = "full"
    attention: object = None
    """None is as the protocol says."""
    n_relevant: float | None = None
    """About how many pages of a topic are relevant; None leaves it to the estimate."""
    judged: FilePath | None = None
    """Qrels file of pages that people judged for these rankings."""
    seed: int = 0

    def faults(self) -> Iterator[str]:
        """What is wrong with a value whatever the collection."""
        if self.length not in get_args(Length):
            yield f"length is {self.length!r} (choose from {', '.join(get_args(Length))})"
        told = self.n_relevant
        if told is not None and not (isinstance(told, (int, float)) and 0.0 < told <= MOST_PAGES):
            yield f"n_relevant is {told!r}, but must be a number above 0: about how many pages of a topic are relevant"
        if self.judged is not None and (told is not None or self.candidates is not None):
            other = "the pages of a run (candidates, --from)" if told is None else "a number of relevant pages"
            yield f"judged pages and {other}: the number is estimated from one or the other (leave one out)"


def make_job(collection: Collection, options: RankOptions, found: Collected | None = None) -> RankingJob:
    """The job that ranks topics this way, with what it learns from the training topics filled in.

    Everything wrong with the options is reported at once, together with what the caller `found` before.
    """
    faults = found or Collected()
    task, policy = options.task, options.policy
    if task not in (1, 2):
        raise EvenrankError(f"task is {task!r} (give 1 or 2)")
    if options.candidates is not None and not isinstance(options.candidates, (Run, str, os.PathLike)):
        raise WrongTypeError(options.candidates, "run", "a Run or the path of its file")
    faults.add(options.faults())
    known = collection.known_dimensions
    usual = serve_protocol(DEFAULT_PROTOCOL, task, known)
    served = faults.check(lambda: serve_protocol(options.protocol, task, known)) or usual
    of_build, of_policy = divide_settings(options.settings, policy)
    if options.attention is not None and (text := faults.check(lambda: str(parse_attention(options.attention)))):
        of_build["attention"] = text
    if options.n_relevant is not None:
        of_build["n_relevant"] = str(options.n_relevant)
    build = faults.check(
        lambda: candidate_settings(collection, of_build, options.target, served.candidates, served.request.length)
    )
    others = candidate_setting_names()
    made = faults.check(lambda: make_policy(policy, task, of_policy, served=served.policy, other_settings=others))
    faults.raise_any()
    assert build is not None
    assert made is not None
    choice = choose_model(collection, options.model) if isinstance(options.model, str) else options.model
    request = replace(served.request, attention=build.attention_model)
    source = open_source(collection, options.candidates, build, request.length, choice)
    if options.judged is not None and isinstance(source, SearchSource):
        source = replace(source, judged=read_judged(options.judged))
    session = source.session if isinstance(source, SearchSource) else Session.of(collection)
    job = RankingJob(session, source, made, request, build, options.seed, served.name, options.length)
    return job.learned()


def read_judged(path: FilePath) -> dict[int, dict[int, bool]]:
    """Whether each page of a qrels file is relevant, by topic and page id."""
    grades = read_qrels(path)
    return {topic: {page: grade > 0 for page, grade in pages.items()} for topic, pages in grades.items()}


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


NO_ROWS = np.empty(0, np.intp)


def divide_settings(settings: Settings, policy: str | Policy) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of the candidates and of the policy, as text; one that both have is the policy's, if that is a name."""
    of_candidates = candidate_setting_names() - setting_names(policy)
    texts = setting_texts(settings)
    of_build = {name: text for name, text in texts.items() if name in of_candidates}
    return of_build, {name: text for name, text in texts.items() if name not in of_candidates}


def candidate_setting_names() -> frozenset[str]:
    """Names of the settings of candidates."""
    return frozenset(field.name for field in fields(BuildSettings))


def candidate_settings(
    collection: Collection,
    texts: Mapping[str, str],
    target: Target,
    wanted: Mapping[str, object],
    n_ranks: int,
) -> BuildSettings:
    """Settings of the candidates: what is set, else what the protocol (`wanted`) and the target's table ask for."""
    faults = Collected()
    given, known = dict(texts), collection.known_dimensions
    asked = given.pop("target", target)
    choice = faults.check(lambda: choose_target(asked, known)) or TargetChoice()
    values, wrong = parse_each(BuildSettings, given)
    faults.add(wrong)
    usual = choice.dimensions or collection.default_groups(BuildSettings().information)
    settings = BuildSettings(**{**wanted, "information": usual, "scored": usual, "target": choice, **values})
    attention = faults.check(lambda: check_attention(settings.attention, n_ranks))
    faults.add(setting_faults(settings))
    faults.add(_dimension_faults(settings, collection))
    faults.check(lambda: is_within(collection, NO_ROWS, settings.within))
    _check_groups(settings, known, faults)
    faults.raise_any()
    return replace(settings, attention=str(attention))


def _dimension_faults(settings: BuildSettings, collection: Collection) -> Iterator[str]:
    """Names of dimensions that mean nothing here."""
    known = collection.known_dimensions
    if not settings.information:
        yield "information is empty, but must name at least one dimension"
    for name in ("information", "scored", "divided"):
        named = getattr(settings, name)
        if unknown := [dimension for dimension in named if dimension not in known]:
            yield f"{name}: {UnknownNameError('dimension', ', '.join(unknown), known)}"
    lacking = [name for name in settings.information if name in known and name not in collection.masks]
    if lacking:
        has = ", ".join(collection.masks)
        yield f"information: pages of {collection.path} have no {', '.join(lacking)} (choose from {has})"


def _check_groups(settings: BuildSettings, known: Mapping[str, Dimension], faults: Collected) -> None:
    """Settings that depend on the groups known to the system; where these are wrong, as far as they do not."""
    is_valid = bool(settings.information) and all(name in known for name in settings.information)
    if is_valid:
        space = GroupSpace.of(settings.information, known)
        faults.add(_odds_faults(settings, space))
        faults.check(lambda: parse_assumed(settings.assume, space))
        faults.add(table_faults(settings.target, tuple(dict.fromkeys(settings.information))))
    information = settings.information if is_valid else tuple(known)
    faults.check(lambda: parse_undisclosed(settings.undisclosed, information, settings.scored if is_valid else ()))


def _odds_faults(settings: BuildSettings, space: GroupSpace) -> Iterator[str]:
    odds = settings.odds
    if odds and (len(odds) != space.n_groups or min(odds) < 0.0 or not any(odds)):
        of = " and ".join(settings.information)
        wanted = f"one for each of the {space.n_groups} groups of {of}, none below 0 and not all 0"
        yield f"odds: {len(odds)} given, but give {wanted} (the record beside a run lists them)"
