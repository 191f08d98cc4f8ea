"""The articles of a question, ready for a policy: found by words or brought by people, narrowed to the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.asked_subject import with_keywords
from evenrank.app.articles.collection_view import USUAL, dimensions_of, is_about_one_gender, masks_of_rows
from evenrank.app.articles.kept import Once, kept_record
from evenrank.app.articles.on_subject import PERHAPS, are_on_subject, least_chance
from evenrank.app.articles.user_articles import SourceError, UserArticles, combine_sources
from evenrank.app.pages.i18n import Message
from evenrank.app.request.budget import kinds_fault
from evenrank.app.request.question import BROAD, FIT, NothingFoundError, Question, QuestionError
from evenrank.app.settings import WebSettings
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.records import NO_CLASS, WORK_ORDER, Task, Topic
from evenrank.core.types import Floats
from evenrank.policies.relevance import Relevance
from evenrank.ranking.build import (
    BuildSettings,
    build_candidates,
    field_concentrations,
    make_candidates,
    within_groups,
)
from evenrank.ranking.job import Prepared, RankingJob, full_request
from evenrank.ranking.sources import Found, SearchSource, Session, calibrate_source
from evenrank.ranking.subject import are_articles, keep_to_subject, word_matches
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.nearness import Nearness, open_scorers
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.engine.protocol import Engine, Restriction
from evenrank.retrieval.learn.calibration import Calibration
from evenrank.retrieval.learn.learned_model import UsedEncoder
from evenrank.retrieval.learn.relevant_count import CountModel
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.query.evidence import Reasons, find_reasons
from evenrank.retrieval.query.marks import Marks, search_with_marks
from evenrank.retrieval.query.topic_query import ENGLISH, build_terms, topic_words
from evenrank.retrieval.relevance import LexicalModel, RelevanceModel, probabilities
from evenrank.retrieval.training_pages import list_settings, own_group_counts, read_training_pages
from evenrank.trec.arrays import names_at
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import TargetChoice

if TYPE_CHECKING:
    from evenrank.app.state import AppState

IMPORTANT = {"Top": 0.8, "High": 0.6, "Mid": 0.3, "Low": 0.0}
"""How far the importance that a project gives to an article raises the probability that it belongs to the work, between
that of a brought article and certainty; a convention."""
BROUGHT = 0.5
"""Probability that an article belongs to the project which somebody brought, before its words are looked at."""

SMALLEST = 1e-9
"""What the best match is at least, so that all can be shares of it."""
FEW_BIOGRAPHIES = 0.05
"""Share of the relevance below which the biographies of a subject are no reason to count gender: of forty real
subjects, places and things have up to 0.04, and others from 0.05 on."""


@dataclass(frozen=True)
class AppSource(SearchSource):
    """The search of the app. It does not search for each pair of groups: lists score alike and take less time."""

    def candidates(self) -> CandidateSettings:
        """How many pages are looked at."""
        return list_settings(self.n_pages, self.dimensions, self.group_counts)


@dataclass(frozen=True)
class TaughtByTopics:
    """What the training topics of a collection teach the search of the app."""

    calibration: Calibration | None
    count: CountModel | None
    sharpness: tuple[float, ...]
    """Of the goals of Task 1 and of Task 2."""


TASKS: tuple[Task, ...] = (1, 2)


class LearnedForLists(NamedTuple):
    """What lists need of the training topics."""

    source: AppSource
    """The search, whose scores are probabilities as far as training topics support that."""
    goals: Mapping[Task, BuildSettings]
    """How the goal of each task is estimated."""
    scorers: tuple[DenseScorer, ...] = ()
    """The text encoders of an English index, which say how near articles are to a subject."""


def open_app_source(
    collection: Collection, settings: WebSettings, choice: ModelChoice = UNTRAINED
) -> tuple[AppSource, Once[LearnedForLists]]:
    """The index of a collection as a source, and what its training topics teach, which is learned when it is needed.

    Groups of people, such as genders, are not searched for where no totals of them are shown: whom only the search for
    women finds, in a list of any goal, is a woman.

    Calibration and goals are learned on the training topics, if there are any, once for each version of the collection
    (`kept_record`). Odds of groups are not among it: people are told that a goal follows the relevant articles, and see
    their shares.
    """
    n_pages = settings.n_candidates
    searched = tuple(one.name for one in collection.dimensions if settings.shows_totals or not one.is_personal)
    source = AppSource(Session.of(collection), n_pages, searched, own_group_counts(collection), choice=choice)
    source.model()  # an index or a model that cannot be opened is an error now, and not of the first visitor
    information = collection.default_groups(BuildSettings().information)
    usual = BuildSettings(information, n_candidates=n_pages, group_odds="none", scored=information)

    def teach() -> TaughtByTopics:
        is_lexical = isinstance(source.model(), LexicalModel)
        known = (
            read_training_pages(index_folder(collection), source.candidates(), collection.topics) if is_lexical else {}
        )
        calibrated = calibrate_source(replace(source, remembered=known), collection.topics)
        jobs = [RankingJob(source.session, calibrated, Relevance(), full_request(task), usual) for task in TASKS]
        sharpness = tuple(job.learned().settings.sharpness for job in jobs)
        return TaughtByTopics(calibrated.calibration, calibrated.count, sharpness)

    def learn() -> LearnedForLists:
        made_of = (n_pages, searched, choice.describe())
        taught = kept_record(collection, settings.facts_folder, "learned", made_of, TaughtByTopics, teach)
        goals = {task: replace(usual, sharpness=power) for task, power in zip(TASKS, taught.sharpness, strict=True)}
        engine = source.session.engine
        scorers = open_scorers(engine, index_folder(collection)) if engine.layout.language == ENGLISH else ()
        return LearnedForLists(replace(source, calibration=taught.calibration, count=taught.count), goals, scorers)

    return source, Once(learn)


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
NONE = np.empty(0, np.intp)
"""Positions of no page."""


class Matches(NamedTuple):
    """The candidates of a question with its goal, and why each of them is one."""

    prepared: Prepared
    reasons: Reasons
    """Beside the candidates."""
    question: Question
    """The question with the goal that fits the subject, if it asked for that."""
    left_out: Mapping[str, int] = {}
    """How many of the articles that people brought are no candidates, by the limit that excludes them."""
    choice: ModelChoice = UNTRAINED
    """The model behind them."""
    n_perhaps: int = 0
    """Articles that are left out because they are only perhaps about the subject."""


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
    reading = state.read_ahead.model(topic_of(state, question)) if state.read_ahead else None
    if user_articles is not None:
        return _find_matches(state, question, task, user_articles, marks, reading)
    settings = state.settings
    kept = () if question.goal == FIT else question.as_subject
    asked = replace(question, policy="", fairness=1.0, length=0, as_subject=kept)
    key = (asked, task, marks, state.data, settings.relevance_floor, settings.n_candidates, reading is not None)
    found = state.results.get(key, lambda: _find_matches(state, question, task, None, marks, reading))
    return found._replace(question=replace(question, as_subject=found.question.as_subject))


def _find_matches(
    state: AppState,
    question: Question,
    task: Task,
    user_articles: UserArticles | None,
    marks: Marks,
    reading: RelevanceModel | None,
) -> Matches:
    unknown = {text.partition("=")[0] for text in question.within} - set(state.collection.masks)
    if unknown:
        names = ", ".join(sorted(unknown))
        raise NothingFoundError(
            {"within": Message("This collection does not have these groups: %(names)s.", names=names)}
        )
    is_own = user_articles is not None and user_articles.is_restricting
    choice = state.source.choice
    if user_articles and is_own:
        found = score_user_articles(state, question, user_articles)
    else:
        found, choice = find_by_words(state, question, marks, reading)
    if not len(found):
        raise NothingFoundError({"keywords": "No article has any of these words. Try other or more general keywords."})
    limits = {
        **question_limits(state, question, found.page_ids, user_articles),
        "marked": ~np.isin(found.page_ids, marks.not_relevant),
    }
    left_out = count_excluded(limits) if is_own else {}
    n_estimated = float(found.relevance[limits["marked"]].sum())
    everything, is_within = found, np.flatnonzero(np.logical_and.reduce(list(limits.values())))
    found = limited = found.take(is_within)
    if not len(found):
        text = Message("No article that matches is of these classes, this size and this importance. Widen the range.")
        raise NothingFoundError({"best": text})
    if is_own:
        reasons, n_perhaps = Reasons((), np.zeros(len(found), np.uint16)), 0
        if question.keywords:
            reasons = find_reasons(state.source.model().engine, question.topic(), found.page_ids)
    else:
        model, topic, floor = state.source.model(), topic_of(state, question), state.settings.relevance_floor
        matches = word_matches(model, topic, everything)
        matches = matches[is_within] / max(float(matches.max(initial=0.0)), SMALLEST)
        scorers = state.learned().scorers if state.decides_by_evidence else ()
        nearness = Nearness.of(scorers, question.topic(), everything.page_ids)
        asked = (state.collection, model.engine, topic, found, matches, floor, marks.relevant)
        found, reasons, perhaps = on_subject(*asked, nearness, question.match == BROAD)
        n_perhaps = count_within_public(state.collection, perhaps, question)
        if nearness and choice.encoder is None:
            first = nearness.scorers[0].encoder
            choice = replace(choice, encoder=UsedEncoder(first.settings, first.fingerprint))
    question = fit_to_subject(state, question, task, found, is_own)
    settings = build_settings(state, question, task, is_own)
    if question.n_relevant and n_estimated:
        # Of the articles on the subject, only those within the limits and groups of the question are candidates.
        part = float(within_groups(state.collection, limited, settings).relevance.sum()) / n_estimated
        settings = replace(settings, n_relevant=question.n_relevant * part)
    prepared = Prepared(*build_candidates(state.collection, 0, task, found, settings))
    if not len(prepared.candidates):
        raise NothingFoundError({"within": "No article that matches is in these groups. Widen them."})
    if fault := kinds_fault(prepared.candidates.alignment, prepared.target.space):
        raise QuestionError({"dimensions": fault})
    order = np.argsort(found.page_ids)
    places = order[np.searchsorted(found.page_ids[order], prepared.candidates.page_ids)]
    if is_own and len(found) > len(prepared.candidates):
        left_out = {**left_out, "groups": len(found) - len(prepared.candidates)}
    return Matches(prepared, reasons.at(places), question, left_out, choice, n_perhaps)


def topic_of(state: AppState, question: Question) -> Topic:
    """What is searched for: the question's words, and others for the place and the field that its title names."""
    return with_keywords(question.topic(), state.source.model().engine)


def on_subject(
    collection: Collection,
    engine: Engine,
    topic: Topic,
    found: Found,
    matches: Floats,
    floor: float,
    always: Sequence[int],
    nearness: Nearness | None = None,
    is_broad: bool = False,
) -> tuple[Found, Reasons, Found]:
    """The pages that are about a subject, with reasons, and those that are only perhaps about it; a floor of 0 leaves
    out nothing but pages that are no articles.

    `matches` are shares of the best match of all (`word_matches`). Pages of `always` are about it whatever they say.
    English tells by the evidence of each page; in other languages words tell.
    """
    if floor <= 0 or engine.layout.language != ENGLISH:
        return *keep_to_subject(collection, engine, topic, found, matches, floor, always=always)[:2], found.take(NONE)
    near = np.flatnonzero(matches >= floor * matches.max(initial=0.0))
    classes = names_at(collection.classes, collection.rows_of(found.page_ids[near]))
    chances = np.zeros(len(found))
    chances[near] = are_on_subject(engine, topic, found.page_ids[near], matches[near], classes, nearness)
    chances[np.isin(found.page_ids, always)] = 1.0
    chances[~are_articles(collection.titles_of(found.page_ids.tolist()))] = 0.0
    if not chances.any():  # no article names the place
        return *keep_to_subject(collection, engine, topic, found, matches, floor, always=always)[:2], found.take(NONE)
    kept = chances >= least_chance(chances, is_broad)
    perhaps = found.take(np.flatnonzero(~kept & (chances >= PERHAPS)))
    found = replace(found, relevance=found.relevance * chances).take(np.flatnonzero(kept))
    return found, find_reasons(engine, topic, found.page_ids), perhaps


def count_within_public(collection: Collection, found: Found, question: Question) -> int:
    """How many pages are in the groups that a question is restricted to; groups of people are not looked at."""
    people = {dimension.name for dimension in collection.dimensions if dimension.is_personal}
    public = tuple(text for text in question.within if text.partition("=")[0] not in people)
    is_limited = bool(public) and len(found) > 0
    return len(within_groups(collection, found, BuildSettings(within=public))) if is_limited else len(found)


def find_by_words(
    state: AppState, question: Question, marks: Marks, reading: RelevanceModel | None
) -> tuple[Found, ModelChoice]:
    """The pages that the words find, in the order that marks suggest, and a model that has read the first of them; and
    what this is by.

    A page has the score and the probability of the rank it comes to, so a list ends where it would end without.
    """
    topic, ahead = topic_of(state, question), state.read_ahead
    found = state.learned().source.find(topic)
    choice = ahead.source.choice if ahead and reading else state.source.choice
    if not marks.relevant and not marks.not_relevant and reading is None:
        return found, choice
    ranked = search_with_marks(reading or state.source.model(), topic, marks, state.source.n_pages)
    n = len(ranked)
    by_rank = [np.sort(values)[::-1] for values in (found.scores, found.relevance)]
    scores, relevance = (np.append(part, np.full(max(0, n - len(part)), part.min(initial=0.0)))[:n] for part in by_rank)
    is_marked = np.isin(ranked.page_ids, marks.relevant)
    return Found(ranked.page_ids, scores, np.where(is_marked, 1.0, relevance)), choice


def build_settings(state: AppState, question: Question, task: Task, is_own: bool) -> BuildSettings:
    """How the goal is estimated: what was learned on training topics holds for articles that search found, by the
    usual dimensions."""
    dimensions = dimensions_of(state.collection, question.dimensions, question.as_subject)
    word = "track" if question.goal == FIT else question.goal
    settings = replace(
        state.learned().goals[task],
        information=dimensions,
        divided=dimensions,
        scored=dimensions,
        within=question.within,
        target=TargetChoice(word, as_field=question.as_subject),
        attention=question.attention,
    )
    if is_own or dimensions != USUAL:
        settings = replace(settings, sharpness=1.0)
    return settings


def fit_to_subject(state: AppState, question: Question, task: Task, found: Found, is_own: bool) -> Question:
    """The question with the dimensions in which its goal is as its subject is, where it asks for the goal that fits.

    Regions and the like are counted. Whether a subject is about women or men alone is told by its title, never by
    counting: the choice would reveal something about people whom the reader chose. Gender does not count either where
    hardly any article is a biography, such as among lakes.
    """
    if question.goal != FIT:
        return question
    collection = state.collection
    known = {dimension.name: dimension for dimension in collection.dimensions}
    counted = dimensions_of(collection, question.dimensions)
    public = tuple(name for name in counted if not known[name].is_personal)
    kept: list[str] = []
    if public:
        settings = build_settings(state, replace(question, dimensions=public, as_subject=()), task, is_own)
        space = GroupSpace.of(public, collection.known_dimensions)
        near = within_groups(collection, found, settings)
        candidates = make_candidates(collection, 0, near, space, settings.divided, settings.within)
        kept = [one.dimension for one in field_concentrations(collection, candidates, space, settings)]
    if "gender" in counted and (
        is_about_one_gender(question.title, collection.manifest.language)
        or (len(counted) > 1 and has_few_biographies(collection, found, known["gender"]))
    ):
        kept.append("gender")
    return replace(question, as_subject=tuple(kept))


def has_few_biographies(collection: Collection, found: Found, gender: Dimension) -> bool:
    """Whether hardly any of the articles, by relevance, are about a person whose gender is recorded, whatever it is."""
    are_people = masks_of_rows(collection, collection.rows_of(found.page_ids), gender) >> 1 > 0
    return bool(found.relevance[are_people].sum() < FEW_BIOGRAPHIES * found.relevance.sum())


def score_user_articles(state: AppState, question: Question, user_articles: UserArticles) -> Found:
    """Articles that people brought: those first that their project holds important, and those with the question's words
    if it has keywords. The title alone is a name that says nothing about their order.

    That somebody brought an article already makes it likely to belong to the project, so the rest only raises that.
    """
    pages = user_articles.page_ids
    importance = np.array([IMPORTANT.get(user_articles.importance.get(int(page), ""), 0.0) for page in pages])
    scores, relevance = importance.copy(), BROUGHT + (1.0 - BROUGHT) * importance
    if question.keywords:
        scores, relevance = _raise_by_words(state, question, pages, scores, relevance)
    order = np.lexsort((pages, -relevance, -scores))
    return Found(pages[order], scores[order], relevance[order])


def _raise_by_words(
    state: AppState, question: Question, pages: NDArray[np.int32], scores: Floats, relevance: Floats
) -> tuple[Floats, Floats]:
    """Scores and relevance of pages, raised where they have the words of a question."""
    model = state.source.model()
    topic = question.topic()
    is_lexical = isinstance(model, LexicalModel)
    terms = (
        model.terms(topic)
        if isinstance(model, LexicalModel)
        else build_terms(topic_words(topic, language=model.engine.layout.language), model.engine)
    )
    hits = model.engine.search(terms, len(pages), Restriction(page_ids=pages.tolist())) if terms else None
    if hits is not None and len(hits.page_ids):
        places = np.searchsorted(pages, hits.page_ids)
        scores[places] += hits.scores
        calibration = state.learned().source.calibration if is_lexical else None
        relevance[places] += (1.0 - relevance[places]) * probabilities(calibration, hits.scores)
    return scores, relevance


def count_excluded(limits: Mapping[str, NDArray[np.bool_]]) -> dict[str, int]:
    """How many pages each limit leaves out that those before it leave."""
    counts: dict[str, int] = {}
    is_left = np.ones_like(next(iter(limits.values())))
    for reason, passes in limits.items():
        counts[reason] = int((is_left & ~passes).sum())
        is_left &= passes
    return {reason: n for reason, n in counts.items() if n}


def question_limits(
    state: AppState, question: Question, page_ids: NDArray[np.int32], user_articles: UserArticles | None
) -> dict[str, NDArray[np.bool_]]:
    """Whether each page is of the classes, the size, the page views and the importance that the question asks for."""
    collection = state.collection
    rows = collection.rows_of(page_ids)
    codes = np.where(rows >= 0, collection.quality_class[rows], NO_CLASS)
    lowest, highest = WORK_ORDER.index(question.min_class), WORK_ORDER.index(question.max_class)
    passes = {"class": ((codes >= lowest) & (codes <= highest)) | (codes == NO_CLASS)}
    if collection.size_bytes is not None and (question.min_size or question.max_size):
        sizes = np.where(rows >= 0, collection.size_bytes[rows], -1)
        passes["size"] = (sizes >= question.min_size) & ((sizes <= question.max_size) | (not question.max_size))
    if collection.page_views is not None and (question.min_views or question.max_views):
        views = np.where(rows >= 0, collection.page_views[rows], -1)
        passes["views"] = (views >= question.min_views) & ((views <= question.max_views) | (not question.max_views))
    if user_articles is not None:
        passes["never"] = ~np.isin(page_ids, user_articles.never)
        if question.importance and user_articles.importance:
            known = [user_articles.importance.get(int(page), "Unknown") for page in page_ids]
            passes["importance"] = np.array([value in question.importance for value in known], bool)
    return passes
