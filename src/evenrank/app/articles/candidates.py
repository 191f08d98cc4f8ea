"""The articles of a question, ready for a policy: found by words or brought by people, narrowed to the work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.collection_view import USUAL, dimensions_of
from evenrank.app.articles.user_articles import SourceError, UserArticles, combine_sources
from evenrank.app.pages.i18n import Message
from evenrank.app.request.question import NothingFoundError, Question
from evenrank.core.records import NO_CLASS, WORK_ORDER, Task
from evenrank.policies.relevance import Relevance
from evenrank.ranking.build import BuildSettings, build_candidates
from evenrank.ranking.job import Prepared, RankingJob, full_request
from evenrank.ranking.sources import Found, SearchSource, Session, calibrate_source, own_group_counts
from evenrank.ranking.subject import keep_to_subject, word_matches
from evenrank.retrieval.engine.protocol import Restriction
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.query.evidence import Reasons, find_reasons
from evenrank.retrieval.query.marks import Marks, search_with_marks
from evenrank.retrieval.query.topic_query import build_terms, topic_words
from evenrank.retrieval.relevance import LexicalModel, probabilities
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import TargetChoice

if TYPE_CHECKING:
    from evenrank.app.state import AppState

BROUGHT = 0.5
"""Probability that an article belongs to the project which somebody brought, before its words are looked at."""


@dataclass(frozen=True)
class AppSource(SearchSource):
    """The search of the app. It does not search for each pair of groups: lists score alike and take less time."""

    n_per_group: int = 200
    """Pages wanted of each region and each gender."""

    def candidates(self) -> CandidateSettings:
        """How many pages are looked at."""
        return CandidateSettings(
            self.n_pages, self.n_per_group, self.dimensions, self.group_counts, has_intersections=False
        )


def app_source(collection: Collection, n_pages: int, choice: ModelChoice = UNTRAINED) -> AppSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    source = AppSource(
        Session(collection.path), n_pages, tuple(collection.masks), own_group_counts(collection), choice=choice
    )
    return calibrate_source(source, collection.topics)


def learn_goals(collection: Collection, source: AppSource, n_pages: int) -> dict[Task, BuildSettings]:
    """How to estimate the goal of each task, from the training topics.

    Odds of groups are not among it: people are told that a goal follows the relevant articles, and see their shares.
    """
    information = collection.default_groups(BuildSettings().information)
    settings = BuildSettings(information, n_candidates=n_pages, group_odds="none", scored=information)
    tasks: tuple[Task, ...] = (1, 2)
    jobs = {task: RankingJob(source.session, source, Relevance(), full_request(task), settings) for task in tasks}
    return {task: job.learned().settings for task, job in jobs.items()}


def read_user_articles(state: AppState, question: Question) -> UserArticles | None:
    """The articles that the question's sources bring; None without sources."""
    if not question.sources:
        return None
    try:
        user_articles = combine_sources(state.collection, state.title_index, question.sources, state.wiki)
    except SourceError as error:
        raise NothingFoundError({"sources": error.args[0]}) from error
    if user_articles.is_restricting and not len(user_articles.page_ids):
        raise NothingFoundError({"sources": "None of the articles that you brought is in this collection."})
    return user_articles


NO_MARKS = Marks()


class Matches(NamedTuple):
    """The candidates of a question with its goal, and why each of them is one."""

    prepared: Prepared
    reasons: Reasons
    """Beside the candidates."""


def find_for(
    state: AppState, question: Question, task: Task, user_articles: UserArticles | None = None, marks: Marks = NO_MARKS
) -> Prepared:
    """Candidates and estimated goal of a question; NothingFoundError when no article is left."""
    return find_matches(state, question, task, user_articles, marks).prepared


def find_matches(
    state: AppState, question: Question, task: Task, user_articles: UserArticles | None = None, marks: Marks = NO_MARKS
) -> Matches:
    """The same with reasons. Articles that people marked as off topic are left out, and what resembles them falls.

    What the words find is remembered: previews, the list itself and its trade-off ask for the same.
    """
    if user_articles is not None:
        return _find_matches(state, question, task, user_articles, marks)
    settings = state.settings
    asked = replace(question, policy="", fairness=1.0, length=0)
    key = (asked, task, marks, state.data, settings.relevance_floor, settings.n_candidates)
    return state.results.get(key, lambda: _find_matches(state, question, task, None, marks))


def _find_matches(
    state: AppState, question: Question, task: Task, user_articles: UserArticles | None, marks: Marks
) -> Matches:
    unknown = {text.partition("=")[0] for text in question.within} - set(state.collection.masks)
    if unknown:
        names = ", ".join(sorted(unknown))
        raise NothingFoundError(
            {"within": Message("This collection does not have these groups: %(names)s.", names=names)}
        )
    is_own = user_articles is not None and user_articles.is_restricting
    found = (
        score_user_articles(state, question, user_articles)
        if user_articles and is_own
        else find_by_words(state, question, marks)
    )
    if not len(found):
        raise NothingFoundError({"keywords": "No article has any of these words. Try other or more general keywords."})
    is_kept = passes_limits(state, question, found.page_ids, user_articles) & ~np.isin(
        found.page_ids, marks.not_relevant
    )
    found = found.take(np.flatnonzero(is_kept))
    if not len(found):
        text = Message("No article that matches is of these classes, this size and this importance. Widen the range.")
        raise NothingFoundError({"best": text})
    if is_own:
        reasons = find_reasons(state.source.model().engine, question.topic(), found.page_ids)
    else:
        model, topic, floor = state.source.model(), question.topic(), state.settings.relevance_floor
        matches = word_matches(model, topic, found)
        found, reasons, _ = keep_to_subject(
            state.collection, model.engine, topic, found, matches, floor, always=marks.relevant
        )
    settings = build_settings(state, question, task, is_own)
    prepared = Prepared(*build_candidates(state.collection, 0, task, found, settings))
    if not len(prepared.candidates):
        raise NothingFoundError({"within": "No article that matches is in these groups. Widen them."})
    order = np.argsort(found.page_ids)
    places = order[np.searchsorted(found.page_ids[order], prepared.candidates.page_ids)]
    return Matches(prepared, reasons.at(places))


def find_by_words(state: AppState, question: Question, marks: Marks) -> Found:
    """The pages that the words find, in the order that the marks suggest.

    A page has the score and the probability of the rank it comes to, so a list ends where it would end without marks.
    """
    found = state.source.find(question.topic())
    if not marks.relevant and not marks.not_relevant:
        return found
    ranked = search_with_marks(state.source.model(), question.topic(), marks, state.source.n_pages)
    n = len(ranked)
    by_rank = [np.sort(values)[::-1] for values in (found.scores, found.relevance)]
    scores, relevance = (np.append(part, np.full(max(0, n - len(part)), part.min(initial=0.0)))[:n] for part in by_rank)
    is_marked = np.isin(ranked.page_ids, marks.relevant)
    return Found(ranked.page_ids, scores, np.where(is_marked, 1.0, relevance))


def build_settings(state: AppState, question: Question, task: Task, is_own: bool) -> BuildSettings:
    """How the goal is estimated: what was learned on training topics holds for articles that search found, by the
    usual dimensions."""
    dimensions = dimensions_of(state.collection, question.dimensions)
    settings = replace(
        state.goals[task],
        information=dimensions,
        divided=dimensions,
        scored=dimensions,
        within=question.within,
        target=TargetChoice(question.goal),
        attention=question.attention,
    )
    if is_own or dimensions != USUAL:
        settings = replace(settings, sharpness=1.0)
    return settings


def score_user_articles(state: AppState, question: Question, user_articles: UserArticles) -> Found:
    """Articles that people brought, those with the question's words first.

    That somebody brought an article already makes it likely to belong to the project, so words only raise that.
    """
    model = state.source.model()
    topic = question.topic()
    is_lexical = isinstance(model, LexicalModel)
    terms = (
        model.terms(topic)
        if isinstance(model, LexicalModel)
        else build_terms(topic_words(topic, language=model.engine.layout.language), model.engine)
    )
    pages = user_articles.page_ids
    hits = model.engine.search(terms, len(pages), Restriction(page_ids=pages.tolist())) if terms else None
    scores = np.zeros(len(pages))
    relevance = np.full(len(pages), BROUGHT)
    if hits is not None and len(hits.page_ids):
        places = np.searchsorted(pages, hits.page_ids)
        scores[places] = hits.scores
        calibration = state.source.calibration if is_lexical else None
        relevance[places] = BROUGHT + (1.0 - BROUGHT) * probabilities(calibration, hits.scores)
    order = np.lexsort((pages, -scores))
    return Found(pages[order], scores[order], relevance[order])


def passes_limits(
    state: AppState, question: Question, page_ids: NDArray[np.int32], user_articles: UserArticles | None
) -> NDArray[np.bool_]:
    """Whether each page is of the classes, the size, the page views and the importance that the question asks for."""
    collection = state.collection
    rows = collection.rows_of(page_ids)
    codes = np.where(rows >= 0, collection.quality_class[rows], NO_CLASS)
    lowest, highest = WORK_ORDER.index(question.min_class), WORK_ORDER.index(question.max_class)
    wanted = ((codes >= lowest) & (codes <= highest)) | (codes == NO_CLASS)
    if collection.size_bytes is not None and (question.min_size or question.max_size):
        sizes = np.where(rows >= 0, collection.size_bytes[rows], -1)
        wanted &= (sizes >= question.min_size) & ((sizes <= question.max_size) | (not question.max_size))
    if collection.page_views is not None and (question.min_views or question.max_views):
        views = np.where(rows >= 0, collection.page_views[rows], -1)
        wanted &= (views >= question.min_views) & ((views <= question.max_views) | (not question.max_views))
    if user_articles is not None:
        wanted &= ~np.isin(page_ids, user_articles.never)
        if question.importance and user_articles.importance:
            known = [user_articles.importance.get(int(page), "Unknown") for page in page_ids]
            wanted &= np.array([value in question.importance for value in known], bool)
    return np.asarray(wanted, bool)
