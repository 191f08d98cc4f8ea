"""`evenrank.rank`: fair rankings for the topics of a collection, from its index or from a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.core.exposure import GivenAttention
from evenrank.core.frames import pandas_frame
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Task, Topic
from evenrank.core.settings import Settings
from evenrank.core.types import FilePath
from evenrank.errors import Collected, EvenrankError
from evenrank.io.assumptions import Assumptions, read_assumptions
from evenrank.io.runs import write_record, write_run
from evenrank.policies.optimal.sequence import loss_in_words
from evenrank.policies.policy import Policy
from evenrank.policies.registry import DEFAULT_POLICY
from evenrank.progress import track
from evenrank.ranking.job import Length, TopicRankings, rank_topics
from evenrank.ranking.make_job import RankOptions, make_job
from evenrank.ranking.record import legible, mean_certificate, ranking_notes, run_from_topics, run_record, setting_notes
from evenrank.ranking.undisclosed import assumed_texts
from evenrank.retrieval.model_choice import ModelChoice
from evenrank.trec.collection import Collection, TopicChoice, as_collection, choose_topics
from evenrank.trec.target_choice import Target

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

PRINTED_FIGURES = (
    "score",
    "upper_bound",
    "EE-L",
    "EE-L_lower_bound",
    "EE-L_restricted_lower_bound",
    "gap",
    "relevance_share",
    "AWRF",
)
"""Numbers of a certificate that the short form names."""


@dataclass(frozen=True)
class RankedTopics:
    """What `rank` made: a run, and the record of all that decided it."""

    run: Run
    record: dict[str, Any]
    """Settings, versions and the certificate of each topic, as the file beside a run holds them."""
    topics: tuple[TopicRankings, ...]
    notes: tuple[str, ...] = ()
    """What is unusual about the settings or the rankings, such as topics with few candidates."""

    @property
    def certificate(self) -> dict[str, float]:
        """The mean over topics of what the policy can prove; empty for a policy that proves nothing."""
        return mean_certificate(self.topics)

    def in_words(self) -> str:
        """What the policy proves of the sequences of Task 2, as a sentence; empty where there is nothing to say."""
        if len(self.topics) == 1:
            return loss_in_words(self.certificate, f"these {self.topics[0].n_candidates:,} pages")
        said = loss_in_words(self.certificate, "the candidates")
        return f"mean over topics: {said}" if said else ""

    def write(self, path: FilePath, *, with_record: bool = True) -> Path:
        """Write the run to a file (gzip by its ending), and its record beside it as `PATH.json`."""
        if with_record:
            write_record(self.record, path)
        write_run(self.run, path)
        return Path(path)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame: a row per ranked page."""
        rows = [
            (topic, repeat, rank, page)
            for topic, repeat, pages in self.run.rankings()
            for rank, page in enumerate(self.run.shown_ids(pages), 1)
        ]
        return pandas_frame(rows, columns=["topic", "ranking", "rank", "page_id"])

    def __repr__(self) -> str:
        proven = self.certificate
        proof = ", ".join(f"{name} {proven[name]:.4g}" for name in PRINTED_FIGURES if name in proven)
        return f"<RankedTopics {self.run!r}" + (f", certificate: {proof}>" if proof else ">")


def rank(
    collection: Collection | FilePath,
    task: Task = 1,
    policy: str | Policy = DEFAULT_POLICY,
    *,
    candidates: Run | FilePath | None = None,
    topics: TopicChoice = "eval",
    query: str = "",
    title: str = "",
    model: str | ModelChoice = "untrained",
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    target: Target = "track",
    length: Length = "full",
    attention: GivenAttention | None = None,
    n_relevant: float | None = None,
    judged: FilePath | None = None,
    settings: Settings | None = None,
    assume: Assumptions = None,
    seed: int = 0,
    workers: int | None = None,
    name: str | None = None,
    command: Sequence[str] | None = None,
    spark: SparkSession | None = None,
) -> RankedTopics:
    """Fair rankings of a collection's topics: one list a topic for Task 1, a sequence of lists for Task 2.

    `policy` is a name of `POLICIES` or a policy object. Candidates come from the index, or from the run `candidates`,
    filled up from the index if there is one. `protocol` names the scorer to serve. `target` is where the target comes
    from: track (half relevant pages, half world), field, equal, world, the path of a table of shares, or a dict: group
    → share as in a table (`{"Africa|female": 0.3, …}`), or dimension → group → share, which are multiplied. `length`
    is the protocol's (full), or as many pages as are expected to be relevant (relevant). `attention` is how people
    read, by default as the protocol says: log, dcg, reciprocal, uniform, rbp:PERSISTENCE, table:FILE or weights.
    `n_relevant` is about how many pages of a topic are relevant, for those who know the size of their subject: the
    order follows it, and the target stays as estimated; a guess within a factor of three helps where few are relevant.
    `judged` is a qrels file of ten to twenty pages that people judged (`count_relevant` says which): probabilities,
    target and length then follow the number that it shows. `settings` sets the policy and the candidates by name, as
    `--set` does. `assume` is a model of how groups came to be missing (a file, a dict, an `Uncertainty`;
    `missing=random` for the default), by which unknown pages are a mixture of groups in the target, and in Task 2 in
    the exposure too, and not a group of their own. `query` ranks a subject in
    no file: its words, and `title` if it has one; `topics` is then not looked at. Only pages about it are ranked
    fairly, and the others follow below them as far as the length asks for them (the setting `keep_to_subject`). The
    same seed gives the same rankings on any number of `workers`: processes, by default this one alone. `name` is the
    name of the run, by default that of the policy; `command` is kept in the record. `spark` is a session
    (`evenrank.spark.start_spark`) whose executors rank the topics, with the same result; they see the collection under
    the same path.
    """
    opened = as_collection(collection)
    faults = Collected()
    if assume is not None:
        settings = {**(settings or {}), "assume": faults.check(lambda: _assumed(opened, assume, settings or {})) or ()}
    asked = faults.check(lambda: query_topics(opened, query, title, candidates)) or ()
    of_query = [topic.id for topic in asked]
    topic_ids = of_query if query else faults.check(lambda: choose_topics(opened, topics)) or []
    options = RankOptions(
        task=task,
        policy=policy,
        settings=settings or {},
        candidates=candidates,
        model=model,
        protocol=protocol,
        target=target,
        length=length,
        attention=attention,
        n_relevant=n_relevant,
        judged=judged,
        seed=seed,
    )
    job = make_job(opened, options, faults)
    job = replace(job, extra_topics=asked)
    ranked = rank_topics(job, topic_ids, workers or 1, spark)
    results = tuple(legible(one, job.policy) for one in track(ranked, "topics", len(topic_ids), "topic"))
    if asked and not any(one.page_ids.size for one in results):
        raise EvenrankError(f"nothing found for {query!r} (try other or more general words)")
    record = run_record(job, results, command or sys.argv)
    notes = (*setting_notes(job, settings or {}), *ranking_notes(results, job))
    return RankedTopics(run_from_topics(job, name or job.policy.name, results), record, results, notes)


def _assumed(collection: Collection, assume: Assumptions, settings: Settings) -> tuple[str, ...]:
    """The model of missing groups in the dimensions that the system knows, as settings keep it."""
    given = settings.get("information", collection.default_groups(("geography", "gender")))
    names = given.split(",") if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    known = [collection.known_dimensions[name] for name in names if name in collection.known_dimensions]
    model = read_assumptions(assume)
    model.check({dimension.name: dimension.groups[1:] for dimension in collection.dimensions})
    return assumed_texts(model, known)


def query_topics(
    collection: Collection, query: str, title: str = "", candidates: Run | FilePath | None = None
) -> tuple[Topic, ...]:
    """The subject of a query as a topic with the next free id; none without a query."""
    if not query.strip():
        if title:
            raise EvenrankError("a title without a query (give the words to search for: --query)")
        return ()
    if candidates is not None:
        raise EvenrankError("a query is searched for in the index, not in a run (leave out --from or --query)")
    words = tuple(filter(None, map(str.strip, query.split(",")))) if "," in query else tuple(query.split())
    if not words:
        raise EvenrankError(f"no words in the query {query!r} (give the words to search for: --query)")
    return (Topic(collection.free_topic_id, title or query, words, split="eval"),)
