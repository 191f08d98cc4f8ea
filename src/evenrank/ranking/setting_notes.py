"""Settings that do not do what one may expect of them, in words: without effect, or at odds with the target."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterator

from evenrank.core.groups import GroupSpace
from evenrank.errors import listed
from evenrank.policies.mixtures import inner_policies
from evenrank.policies.registry import idle_settings
from evenrank.ranking.groups import cells_within
from evenrank.ranking.job import RankingJob
from evenrank.retrieval.engine.engines import index_folder


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
    names = {job.policy.name, *(text.partition(":")[0].strip() for text in texts)}
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
            f"{job.policy.name} compares titles alone, because {job.collection_path} has no index with the texts of "
            "articles (run: evenrank index)"
        )
