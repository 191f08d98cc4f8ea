"""`evenrank.count_relevant`: how many pages of a topic are relevant, and which page to judge next to know it better."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.ranking.make_job import read_judged
from evenrank.ranking.rank import query_topics
from evenrank.ranking.sources import judged_ranking, search_source
from evenrank.retrieval.learn.relevant_count import RelevantCount
from evenrank.retrieval.model_choice import ModelChoice, choose_model
from evenrank.trec.collection import Collection, TopicChoice, as_collection, choose_topics

N_PAGES = 2000
"""Pages that are found for a topic, any of which may have to be judged."""


@dataclass(frozen=True)
class TopicCount:
    """The number of relevant pages of a topic, with an interval that contains it for about four topics in five."""

    topic_id: int
    title: str
    n_relevant: RelevantCount
    n_judged: int
    """Judged pages that were found for the topic."""
    next_page: int | None
    """Page whose judgment would say most; None when all that were found are judged."""
    next_rank: int | None


def count_relevant(
    collection: Collection | FilePath,
    topics: TopicChoice = "eval",
    *,
    query: str = "",
    title: str = "",
    judged: FilePath | None = None,
    project_size: int | None = None,
    model: str | ModelChoice = "untrained",
) -> tuple[TopicCount, ...]:
    """The number of relevant pages of each topic, found or not, from a few judged pages of its ranking.

    Judge `next_page`, add the answer to the qrels file `judged`, and ask again; 10 to 20 answers a topic are enough.
    Without any, the number is a guess from how many pages match well. `project_size` is the number of pages that the
    topic's project or category has, if that is known. `query` counts for a subject in no file, as `rank` does.
    """
    if project_size is not None and project_size < 1:
        raise EvenrankError(f"project_size is {project_size} (a number of pages, at least 1)")
    opened = as_collection(collection)
    asked = query_topics(opened, query, title) or [opened.topic_by_id[one] for one in choose_topics(opened, topics)]
    choice = choose_model(opened, model) if isinstance(model, str) else model
    source = search_source(opened, N_PAGES, (), choice)
    known = {} if judged is None else read_judged(judged)
    if judged is not None and not any(topic.id in known for topic in asked):
        raise EvenrankError(f"{judged}: no judgments of these topics ({', '.join(str(topic.id) for topic in asked)})")
    counts = []
    for topic in asked:
        pages = source.pages(topic)
        ranking = judged_ranking(source.session.engine, pages, known.get(topic.id, {}), project_size)
        at = ranking.next_rank(len(pages))
        page = None if at is None else int(pages.page_ids[at - 1])
        counts.append(TopicCount(topic.id, topic.title, ranking.estimate(), len(ranking.judged), page, at))
    return tuple(counts)
