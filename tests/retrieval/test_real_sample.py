"""Real articles and topics, where they are: the untrained search must not get worse unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest

from evenrank.core.records import Topic
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import page_fields
from evenrank.retrieval.engine.protocol import IndexPage
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.query.feedback import FeedbackSettings
from evenrank.retrieval.query.topic_query import QuerySettings
from evenrank.retrieval.relevance import LexicalModel, SearchSettings

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "wikipedia-sample"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SAMPLE / "corpus.jsonl.gz").exists(), reason="the real sample is not beside the project"),
]
Judged = tuple[Topic, int]
"""A topic, and the page id up to which its judgments are complete."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TantivyEngine:
    articles = tuple(read_articles(SAMPLE / "corpus.jsonl.gz", FaultLog()))
    engine = TantivyEngine.create(tmp_path_factory.mktemp("sample") / "index")
    engine.add(IndexPage(*fields) for fields in page_fields(articles))
    engine.commit()
    engine.close()
    engine.refresh()
    return engine


@pytest.fixture(scope="module")
def topics(engine: TantivyEngine) -> list[Judged]:
    found = []
    for line in (SAMPLE / "topics-2021-train.jsonl").read_bytes().splitlines():
        record = orjson.loads(line)
        there = [
            page for page, stored in zip(record["rel_docs"], engine.stored(record["rel_docs"]), strict=True) if stored
        ]
        relevant = np.array(there, np.int32)
        topic = Topic(record["id"], record["title"], tuple(record["keywords"]), record["scope"], rel_docs=relevant)
        found.append((topic, int(record["judged_up_to_page_id"])))
    return found


def measured(rank: Callable[[Topic, int], np.ndarray], topics: list[Judged]) -> tuple[float, float]:
    """Mean P@10 and R-precision inside the judged windows."""
    values = []
    for topic, last in topics:
        hits = np.isin(rank(topic, last), topic.rel_docs)
        values.append((hits[:10].sum() / 10, hits[: len(topic.rel_docs)].mean()))
    precision, r_precision = np.mean(values, axis=0)
    return float(precision), float(r_precision)


def model(engine: TantivyEngine, query: QuerySettings, n_feedback: int) -> Callable[[Topic, int], np.ndarray]:
    settings = SearchSettings(query, FeedbackSettings(n_pages=n_feedback), CandidateSettings(n_per_group=0))
    lexical = LexicalModel(engine, settings)
    return lambda topic, last: lexical.score(topic, 100, last).page_ids


def test_the_untrained_search_finds_the_pages_of_real_topics(engine: TantivyEngine, topics: list[Judged]) -> None:
    assert len(topics) == 57
    assert sum(len(topic.rel_docs) for topic, _ in topics) == 395
    plain = QuerySettings(fields={"text": 1.0}, phrase_fields={}, scope_weight=0.0, people_bonus=0.0)
    before = measured(model(engine, plain, 0), topics)
    after = measured(model(engine, QuerySettings(), FeedbackSettings().n_pages), topics)
    assert before == pytest.approx((0.314, 0.372), abs=0.01)
    assert after[0] >= 0.38
    assert after[1] >= 0.455
