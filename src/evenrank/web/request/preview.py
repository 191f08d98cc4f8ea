"""The live preview: what a question would find, before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenrank.records import Topic
from evenrank.search.engine.protocol import Engine
from evenrank.search.query.topic_query import QueryWords, build_terms, topic_words
from evenrank.web.articles.article import Article, ArticleList
from evenrank.web.articles.reasons import Reasons, find_reasons
from evenrank.web.desk import Desk
from evenrank.web.request.question import MAX_SCOPE, MAX_TITLE, clean, split_keywords

N_SHOWN = 10
MOST_COUNTED = 2000
MAX_WORDS = 12


@dataclass(frozen=True)
class Preview:
    """The best matches of a question, and how common its words are."""

    articles: list[Article]
    n_found: int
    """Matching articles; `MOST_COUNTED` stands for that many or more."""
    words: list[tuple[str, int]]
    """Words of the question that weigh most, with the number of articles that have each."""

    @property
    def has_more(self) -> bool:
        return self.n_found >= MOST_COUNTED


def make_preview(desk: Desk, fields: Mapping[str, str]) -> Preview | None:
    """The preview of a form as far as it is filled in; None while it is empty."""
    topic = Topic(
        0,
        clean(fields.get("title", ""))[:MAX_TITLE],
        split_keywords(fields.get("keywords", ""))[:100],
        clean(fields.get("scope", ""))[:MAX_SCOPE],
    )
    words = topic_words(topic)
    if not words.weights:
        return None
    engine = desk.source.model().engine
    hits = engine.search(build_terms(words, engine), MOST_COUNTED)
    best = hits.page_ids[:N_SHOWN]
    reasons = find_reasons(engine, topic, best) if len(best) else Reasons((), hits.page_ids[:0].astype("u2"))
    shown = ArticleList(desk.collection, best, hits.scores[:N_SHOWN], reasons, desk.facts)
    return Preview(shown.articles(), len(hits.page_ids), word_counts(engine, words))


def word_counts(engine: Engine, words: QueryWords) -> list[tuple[str, int]]:
    """How many articles have each word in their text."""
    heaviest = sorted(words.weights, key=lambda word: -words.weights[word])[:MAX_WORDS]
    counted = []
    for word in heaviest:
        terms = [term for term in build_terms(QueryWords({word: 1.0}), engine) if term.field == "text"]
        forms = sorted({form for term in terms for form in term.words})
        counted.append((word, max(engine.document_frequencies("text", forms), default=0)))
    return counted
