"""The live preview: what a question would find and what its goal would mean, before anything is saved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.article import ArticleList, ListedArticle
from evenrank.app.articles.candidates import bring_articles, build_settings, find_for
from evenrank.app.desk import Desk
from evenrank.app.request.budget import question_faults
from evenrank.app.request.forms import clean_text, split_keywords
from evenrank.app.request.question import Question, QuestionError
from evenrank.app.sources.brought import Brought, SourceReport
from evenrank.core.concentration import Concentration
from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task, Topic
from evenrank.core.withheld import hide_people
from evenrank.ranking.build import field_concentrations, target_of
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.query.evidence import Reasons, find_reasons, keyword_parts
from evenrank.retrieval.query.topic_query import QueryWords, build_terms, topic_words

N_SHOWN = 10
MOST_COUNTED = 2000
MAX_WORDS = 12
SECONDS_RECENT = 60
"""How long articles that a form brings are remembered, so that each change of it does not ask the wiki again."""
NOTICEABLE = 0.02
"""Smallest difference of shares that is put into words."""


@dataclass(frozen=True)
class Preview:
    """The best matches of a question, and how common its words are."""

    articles: list[ListedArticle]
    n_found: int
    """Matching articles; `MOST_COUNTED` stands for that many or more."""
    words: list[tuple[str, int]]
    """Words of the question that weigh most, with the number of articles that have each."""

    @property
    def has_more(self) -> bool:
        return self.n_found >= MOST_COUNTED


@dataclass(frozen=True)
class GoalRow:
    """One group: its share of the relevant articles, and of the attention it should get."""

    label: str
    field: float
    goal: float

    @property
    def lead(self) -> float:
        """How much more attention the group should get than it has relevant articles."""
        return self.goal - self.field

    @property
    def wants_more(self) -> bool:
        """Whether that is worth a sentence."""
        return self.lead >= NOTICEABLE


@dataclass(frozen=True)
class GoalPreview:
    """What a goal means for a project."""

    tables: list[tuple[str, list[GoalRow] | None]]
    """Heading of each dimension, and its groups; None where they would tell too much about single people."""
    warning: tuple[str, str, float] | None
    """Dimension, group and its share when nearly everything is in one group."""
    goal: str
    n_articles: int
    """Articles that a list of it would have, or that draws would be made from."""


@dataclass(frozen=True)
class BroughtPreview:
    """What became of the articles that somebody brought."""

    n_articles: int
    reports: tuple[SourceReport, ...]
    is_restricting: bool


def make_preview(desk: Desk, fields: Mapping[str, str]) -> Preview | None:
    """The preview of a form as far as it is filled in; None while it is empty, QuestionError when it has too much."""
    topic = Topic(
        0,
        clean_text(fields.get("title", "")),
        split_keywords(fields.get("keywords", "")),
        clean_text(fields.get("scope", "")),
    )
    engine = desk.source.model().engine
    if faults := question_faults(topic.title, topic.keywords, topic.scope, engine.layout.language):
        raise QuestionError(faults)
    words = topic_words(topic, language=engine.layout.language)
    if not words.weights:
        return None
    hits = engine.search(build_terms(words, engine), MOST_COUNTED)
    best = hits.page_ids[:N_SHOWN]
    reasons = find_reasons(engine, topic, best) if len(best) else Reasons((), hits.page_ids[:0].astype("u2"))
    shown = ArticleList(desk.collection, best, hits.scores[:N_SHOWN], reasons, desk.facts)
    return Preview(shown.articles(), len(hits.page_ids), keyword_counts(engine, topic, hits.page_ids))


def keyword_counts(engine: Engine, topic: Topic, page_ids: NDArray[np.int32]) -> list[tuple[str, int]]:
    """How many articles have each keyword in their text; of a phrase, those of the pages found that have all of it."""
    parts = dict(list(keyword_parts(topic, engine.layout.language).items())[:MAX_WORDS])
    phrases = [text for text, words in parts.items() if len(words) > 1]
    only = replace(topic, title=topic.title if topic.title in phrases else "", keywords=tuple(phrases))
    reasons = find_reasons(engine, only, page_ids) if len(page_ids) and phrases else None
    counted = []
    for text, words in parts.items():
        if reasons is not None and len(words) > 1:
            counted.append((text, int((reasons.bits >> reasons.words.index(text) & 1).sum())))
        else:
            counted.append((text, min((_frequency(engine, word) for word in words), default=0)))
    return counted


def _frequency(engine: Engine, word: str) -> int:
    terms = [term for term in build_terms(QueryWords({word: 1.0}), engine) if term.field == "text"]
    forms = sorted({form for term in terms for form in term.words})
    return max(engine.document_frequencies("text", forms), default=0)


def preview_goal(desk: Desk, fields: Mapping[str, str], task: Task = 1) -> GoalPreview | None:
    """What the goal of a form would mean; None while the form cannot be used."""
    try:
        question = desk.asked(fields)
        brought = recent_articles(desk, question)
        candidates, target = find_for(desk, question, task, brought)
    except QuestionError:
        return None
    is_own = brought is not None and brought.is_restricting
    settings = build_settings(desk, replace(question, goal="field"), task, is_own)
    field = target_of(candidates, task, target.space, settings).values
    counts = candidates.alignment.total()
    tables: list[tuple[str, list[GoalRow] | None]] = []
    withheld = set()
    for dimension in target.space.dimensions:
        if dimension.is_personal and hide_people(target.space.margin(counts, dimension.name)).any():
            withheld.add(dimension.name)
            tables.append((dimension.heading, None))
            continue
        shares, goals = (target.space.margin(values, dimension.name) for values in (field, target.values))
        labels = dimension.readable_scored_groups
        rows = [GoalRow(labels[at], float(shares[at]), float(goals[at])) for at in range(len(labels))]
        kept = [row for row in rows if max(row.field, row.goal) >= 0.005 and row.label != dimension.readable_groups[0]]
        tables.append((dimension.heading, sorted(kept, key=lambda row: -row.goal)))
    found = [
        (one.dimension, readable(one, target.space), one.share)
        for one in field_concentrations(desk.collection, candidates, target.space, settings)
        if one.dimension not in withheld
    ]
    most = (question.length or desk.settings.list_length) if task == 1 else len(candidates)
    return GoalPreview(tables, found[0] if found else None, question.goal, min(len(candidates), most))


def readable(one: Concentration, space: GroupSpace) -> str:
    """The group of a concentration, in words."""
    dimension = space.dimension(one.dimension)
    return dimension.readable_groups[dimension.groups.index(one.group)]


def recent_articles(desk: Desk, question: Question) -> Brought | None:
    """The articles that a question brings, as they were within the last minute."""
    if not question.sources:
        return None
    moment = int(time.monotonic() // SECONDS_RECENT)
    return desk.recent.get(("brought", question.sources, desk.data, moment), lambda: bring_articles(desk, question))


def preview_brought(desk: Desk, fields: Mapping[str, str]) -> BroughtPreview | None:
    """What the sources of a form match; None when it has none."""
    titled = {**fields, "title": fields.get("title") or "untitled"}
    question = desk.asked(titled)
    brought = recent_articles(desk, question)
    if brought is None:
        return None
    return BroughtPreview(len(brought.page_ids), brought.reports, brought.is_restricting)
