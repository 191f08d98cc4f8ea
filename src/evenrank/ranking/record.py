"""What is kept and said of rankings: the record beside a run, and what is unusual about them and their settings."""

from __future__ import annotations

import platform
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from evenrank.core.groups import GroupSpace
from evenrank.core.records import Run, Topic
from evenrank.errors import listed
from evenrank.policies.mixtures import inner_policies
from evenrank.policies.optimal import precision_floor as floor
from evenrank.policies.optimal.precision_floor import LEAST_FAIRNESS
from evenrank.policies.optimal.sequence import WITHOUT_FLOOR
from evenrank.policies.policy import Policy, parse_policy, settings_of
from evenrank.policies.registry import idle_settings
from evenrank.ranking.groups import cells_within
from evenrank.ranking.job import RankingJob, TopicRankings
from evenrank.retrieval.engine.engines import index_folder

PARTS = ("evenrank", "numpy", "scipy", "tantivy")
"""Packages whose version can change a ranking."""


def run_from_topics(job: RankingJob, name: str, results: Iterable[TopicRankings]) -> Run:
    """The rankings of all topics as a run; repeats count from 1, empty rankings are left out."""
    run = Run.from_rankings(
        name,
        job.request.task,
        (
            (topic.topic_id, repeat, pages)
            for topic in results
            for repeat, pages in enumerate(topic.page_ids, 1)
            if len(pages)
        ),
    )
    return replace(run, ids=job.collection.text_ids, titles={topic.id: topic.title for topic in job.extra_topics})


def run_record(job: RankingJob, results: Sequence[TopicRankings], command: Sequence[str]) -> dict[str, Any]:
    """The record of a finished job as plain data."""
    return {
        "policy": job.policy.name,
        "task": job.request.task,
        "protocol": job.protocol,
        "settings": settings_of(job.policy),
        "candidates": {**asdict(job.settings), **job.source.describe()},
        "seed": job.seed,
        "n_rankings": job.request.n_rankings,
        "length": job.request.length,
        "ends": job.length,
        **({"subjects": [_subject(topic) for topic in job.extra_topics]} if job.extra_topics else {}),
        "topics": [
            {
                "topic": topic.topic_id,
                "n_candidates": topic.n_candidates,
                **({} if topic.n_on_subject is None else {"n_on_subject": topic.n_on_subject}),
                **({"doubtful_keywords": list(topic.doubtful_keywords)} if topic.doubtful_keywords else {}),
                "length": int(topic.page_ids.shape[1]),
                "certificate": topic.certificate,
            }
            for topic in results
        ],
        "mean_certificate": mean_certificate(results),
        "versions": {"python": platform.python_version(), **{part: version(part) for part in PARTS}},
        "command": list(command),
    }


def legible(result: TopicRankings, policy: Policy) -> TopicRankings:
    """Rankings whose certificate means something: no −0, and no objective where fairness weighs nothing.

    The objective of a sequence is a loss less a reward for relevance, which is divided by the weight of fairness.
    """
    weight = result.certificate.get("fairness_used", getattr(policy, "fairness", 1.0))
    left_out = ("objective", "lower_bound", "restricted_lower_bound") if weight < LEAST_FAIRNESS else ()
    kept = {name: value + 0.0 for name, value in result.certificate.items() if name not in left_out}
    return replace(result, certificate=kept)


def _subject(topic: Topic) -> dict[str, Any]:
    """A topic that is in no file, as the record names it."""
    between = ", " if any(" " in keyword for keyword in topic.keywords) else " "
    return {"topic": topic.id, "title": topic.title, "query": between.join(topic.keywords)}


def mean_certificate(results: Iterable[TopicRankings]) -> dict[str, float]:
    """The mean over topics of each number that every certificate has."""
    certificates = [topic.certificate for topic in results if topic.certificate]
    if not certificates:
        return {}
    shared = [name for name in certificates[0] if all(name in other for other in certificates)]
    return {name: float(np.mean([certificate[name] for certificate in certificates])) for name in shared}


def ranking_notes(results: Sequence[TopicRankings], job: RankingJob) -> tuple[str, ...]:
    """Notes on rankings shorter than the task asks for, and on targets that do not fit a topic."""
    titles = {topic.id: topic.title for topic in job.extra_topics}
    kinds = (_short, _off_subject, _doubtful, _out_of_reach, _weakened, _off_topic, _concentrated)
    return tuple(note for notes in kinds for note in notes(results, job, titles))


def _named(details: Mapping[int, str], titles: Mapping[int, str] | None = None) -> str:
    """`in topic 101 (DETAIL)`, `in topics 101 (DETAIL), 102 (DETAIL)`, or `for "TITLE" (DETAIL)` for a query."""
    titles = titles or {}
    named = [
        f'"{titles[topic]}" ({detail})' if topic in titles else f"{topic} ({detail})"
        for topic, detail in details.items()
    ]
    counted = "in topic" if len(details) == 1 else "in topics"
    where = "for" if all(topic in titles for topic in details) else counted
    return f"{where} {listed(named)}"


def _short(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    wanted = job.request.length
    lengths = {one.topic_id: str(one.page_ids.shape[1]) for one in results if one.page_ids.shape[1] < wanted}
    if not lengths:
        return
    if job.length == "relevant":
        where = _named(lengths, titles)
        yield f"rankings have as many pages as are expected to be relevant, fewer than {wanted}, {where}"
    else:
        yield f"fewer candidates than the {wanted} pages of a ranking {_named(lengths, titles)}"


def _off_subject(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Queries with fewer pages about their subject than a ranking has."""
    for one in results:
        n, length, title = one.n_on_subject, one.page_ids.shape[1], titles.get(one.topic_id, "")
        if n == 0 and length:
            yield f'no article has "{title}" in its lead or matches it well: everything found was ranked'
        elif n is not None and one.n_candidates < length:
            yield (
                f'{n} of the {length} pages are on the subject "{title}"; the others follow below them, in the order '
                "by relevance (--length relevant leaves them out)"
            )


def _doubtful(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Queries with keywords that count less."""
    for one in results:
        if one.doubtful_keywords:
            words = ", ".join(f'"{word}"' for word in one.doubtful_keywords)
            yield f"fits neither the title nor the other keywords, and counts half: {words}"


def _off_topic(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Task 2: what it costs to leave out pages that the target asks for and that are hardly relevant."""
    costs = {
        one.topic_id: f"{one.certificate['EE-L']:.2f} instead of {one.certificate[WITHOUT_FLOOR]:.2f}"
        for one in results
        if job.request.task == 2 and WITHOUT_FLOOR in one.certificate
    }
    if costs:
        yield (
            f"the target asks for groups that hardly any relevant page is in, {_named(costs, titles)}: to stay on "
            "topic, candidates unlikely to be relevant were left out, which raises EE-L as shown (choose another "
            "--target, or --set keep_relevance=0 to use them)"
        )


def _out_of_reach(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Topics in which no ranking has the precision that `min_precision` asks for."""
    missed = [one for one in results if one.certificate.get(floor.MET) == 0.0]
    if missed:
        most = {one.topic_id: f"at most {one.certificate[floor.WITHOUT_FAIRNESS]:.2f}" for one in missed}
        yield (
            f"min_precision={missed[0].certificate[floor.ASKED]:g} cannot be reached even without fairness "
            f"{_named(most, titles)}: rankings keep at least {floor.NEARLY_BEST:.0%} of what can be reached"
        )


def _weakened(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """What `min_precision` costs in fairness."""
    costs, suffix = {}, floor.WITHOUT_MIN_PRECISION
    for one in results:
        for name, free in one.certificate.items():
            measure = name.removesuffix(suffix)
            if name.endswith(suffix) and one.certificate[measure] != free:
                costs[one.topic_id] = f"{measure} {one.certificate[measure]:.2f} instead of {free:.2f}"
    if costs:
        yield f"min_precision made fairness weaker {_named(costs, titles)}"


def _concentrated(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Dimensions in which most of a topic's candidates are in one group."""
    unfit: dict[tuple[str, str], dict[int, str]] = {}
    for one in results:
        for found in one.concentrations:
            key = (found.dimension, found.finer)
            unfit.setdefault(key, {})[one.topic_id] = f"{found.group} {found.share:.0%}"
    for (dimension, finer), topics in unfit.items():
        them = "" if len(results) == 1 else " for it" if len(topics) == 1 else " for them"
        yield (
            f"most articles whose {dimension} is known are in one group {_named(topics, titles)}: "
            f"{_way_out(dimension, finer, job.settings.information, them)}"
        )


def _way_out(dimension: str, finer: str, information: Sequence[str], them: str) -> str:
    """What can be done about a dimension that does not fit: leave it out, refine it, or count candidates alone."""
    others = ",".join(name for name in information if name != dimension)
    if not others and not finer:
        return f"use the candidates' own shares as the target{them} (--target field)"
    leave = f"leave {dimension} out of the target{them} (--set information={others} --set scored={others})"
    refined = ",".join(dict.fromkeys(finer if name == dimension else name for name in information))
    refine = f"refine it{'' if others else them} to {finer} (--set information={refined} --set scored={refined})"
    return ", or ".join([*([leave] if others else []), *([refine] if finer else [])])


def setting_notes(job: RankingJob, given: Names[str]) -> tuple[str, ...]:
    """Notes on the settings of a job; `given` are the names of those that were set."""
    return (*_idle(job, given), *_scored(job, given), *_outside(job), *_titles_alone(job))


def _idle(job: RankingJob, given: Names[str]) -> Iterator[str]:
    """Settings of the policy that are accepted and do nothing."""
    for name, reason in idle_settings(job.policy.name, job.request.task, given).items():
        yield f"the setting {name} of {job.policy.name} has no effect: {reason}"


def _scored(job: RankingJob, given: Names[str]) -> Iterator[str]:
    """A list of scored dimensions that takes nothing away from the target, or adds nothing that the policy uses."""
    if "scored" not in given:
        return
    information, scored = job.settings.information, job.settings.scored
    extra = [name for name in information if name not in scored]
    kept = [name for name in information if name in scored]
    if extra:
        instead = f" (to leave it out: --set information={','.join(kept or scored)})" if scored else ""
        yield (
            f"scored={','.join(scored) or 'none'} does not leave {' and '.join(extra)} out of the target, which is "
            f"over what the system knows: {' and '.join(information)}{instead}"
        )
    hidden = [name for name in scored if name not in information]
    if hidden and not _uses_beliefs(job):
        yield (
            f"scored={','.join(scored)} has no effect: what is inferred of {' and '.join(hidden)} is used by the "
            f"policy optimal in Task 2 and by inferred, not by {job.policy.name} in Task {job.request.task}"
        )


def _uses_beliefs(job: RankingJob) -> bool:
    """Whether the policy, or one that it runs, looks at what is inferred of groups that the system does not know."""
    texts = (text for inner in inner_policies(job.policy).values() for text in inner)
    names = {job.policy.name, *(parse_policy(text)[0] for text in texts)}
    return job.policy.name == "inferred" or (job.request.task == 2 and not names.isdisjoint(("optimal", "inferred")))


def _outside(job: RankingJob) -> Iterator[str]:
    """Groups that a table wants and a restriction leaves out."""
    choice, within = job.settings.target, job.settings.within
    if not (choice.is_table and within):
        return
    space = GroupSpace.of(choice.dimensions, job.collection.known_dimensions)
    cells = cells_within(space, within)
    if cells is None:
        return
    is_left = dict(zip(space.names, cells.tolist(), strict=True))
    missed = {group: share for group, share in choice.shares if share > 0.0 and not is_left[group]}
    if missed:
        groups = listed([f"{group} {share:.0%}" for group, share in missed.items()])
        yield (
            f"{choice.word} gives {sum(missed.values()):.0%} to groups that within={','.join(within)} leaves out "
            f"({groups}), which no page can serve (change the table or within)"
        )


def _titles_alone(job: RankingJob) -> Iterator[str]:
    """A policy that compares texts where nothing but titles is stored."""
    if getattr(job.policy, "needs_text", False) and not index_folder(job.collection).exists():
        yield (
            f"{job.policy.name} compares titles alone, because {job.session.path} has no index with the texts of "
            "articles (run: evenrank index)"
        )
