"""Topics prepared once and ranked many times: the candidates and targets that any policy of a job is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evenrank.core.protocol import Protocol
from evenrank.core.records import Run, Task
from evenrank.core.settings import Settings
from evenrank.policies.policy import wants_learning
from evenrank.policies.registry import PolicyEntry, make_policy
from evenrank.ranking.job import Prepared, RankingJob
from evenrank.ranking.make_job import RankOptions, make_job, serve_protocol
from evenrank.ranking.record import run_from_topics
from evenrank.retrieval.model_choice import ModelChoice
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import Target


class PreparedTopics:
    """The topics of a collection with their candidates; `rank` gives the run that `evenrank.rank` would give.

    Searching and learning targets takes most of the time of a ranking, and does not depend on the policy.
    """

    def __init__(
        self,
        collection: Collection,
        task: Task,
        *,
        protocol: str | Protocol,
        target: Target = "track",
        model: str | ModelChoice = "untrained",
        settings: Settings | None = None,
    ) -> None:
        """`settings` are those of the candidates by name, such as `information` and `n_candidates`."""
        options = RankOptions(
            task=task, policy="relevance", settings=settings or {}, protocol=protocol, target=target, model=model
        )
        self._job = make_job(collection, options)
        self._served = serve_protocol(protocol, task, collection.known_dimensions).policy
        self._prepared: dict[tuple[int, bool, bool], Prepared | None] = {}

    def rank(self, policy: str | PolicyEntry, settings: Settings, topic_ids: Iterable[int], seed: int = 0) -> Run:
        """The run of a policy on some of the topics."""
        made = make_policy(policy, self._job.request.task, settings, served=self._served)
        job = replace(self._job, policy=made, seed=seed)
        if wants_learning(made):
            job = job.learned()
        prepared = (self._prepare(job, topic_id) for topic_id in topic_ids)
        return run_from_topics(job, made.name, [job.rank_prepared(one) for one in prepared if one is not None])

    def _prepare(self, job: RankingJob, topic_id: int) -> Prepared | None:
        needs_text, needs_beliefs = (bool(getattr(job.policy, name, False)) for name in ("needs_text", "needs_beliefs"))
        key = (topic_id, needs_text, needs_beliefs)
        if key not in self._prepared:
            self._prepared[key] = job.prepare(topic_id)
        return self._prepared[key]
