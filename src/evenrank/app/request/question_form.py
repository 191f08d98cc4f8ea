"""The form of a work list or saved search, its live preview (what the words find, what the goal means), its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.article import ArticleList, ListedArticle
from evenrank.app.articles.candidates import build_settings, find_matches, read_user_articles
from evenrank.app.articles.collection_view import dimensions_of
from evenrank.app.articles.source import KINDS, N_ROWS, ROLES, WIKI_KINDS
from evenrank.app.articles.user_articles import SourceReport, UserArticles
from evenrank.app.fairness.balance import page_alignment, public_part, readable, shares_of_known
from evenrank.app.fairness.disclosure import Disclosure, disclosure_for
from evenrank.app.pages.templating import page
from evenrank.app.request.access import role_of
from evenrank.app.request.budget import question_faults
from evenrank.app.request.capacity import expensive
from evenrank.app.request.choices import choices_of
from evenrank.app.request.forms import Fields, FormHandler, clean_text, query_fields, split_keywords, with_form
from evenrank.app.request.question import QUESTION_FIELDS, NothingFoundError, Question, QuestionError
from evenrank.app.request.question_fields import OFFERED
from evenrank.app.request.visitor import remember, see_other
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.saved_request import SavedRequest
from evenrank.core.records import WORK_ORDER, Task, Topic
from evenrank.core.withheld import hide_people, without_people
from evenrank.database.database import Database
from evenrank.ranking.build import field_concentrations, target_of
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.find import lexical_part
from evenrank.retrieval.query.evidence import Reasons, find_reasons, keyword_parts
from evenrank.retrieval.query.topic_query import QueryWords, build_terms, topic_words
from evenrank.wikipedia.mediawiki.titles import IMPORTANCES

N_SHOWN = 10
MOST_COUNTED = 2000
MAX_WORDS = 12
SECONDS_RECENT = 60
"""How long articles that a form brings are remembered, so that each change of it does not ask the wiki again."""
NOTICEABLE = 0.02
"""Smallest difference of shares that is put into words."""
TASKS: dict[str, Task] = {"list": 1, "search": 2}
UNTITLED = "untitled"
"""Stands for the title of a form that has none yet."""
WIDER = "wider"
"""What an address has that asks for a wider question than the one it names."""
KEPT_BY_BROWSER = {"Cache-Control": "private, no-cache"}
"""Lets a browser show the form as it was when its visitor goes back to it."""


@dataclass(frozen=True)
class Preview:
    """The best matches of a question, and how common its words are."""

    articles: list[ListedArticle]
    n_found: int
    """Matching articles; `MOST_COUNTED` stands for that many or more."""
    words: list[tuple[str, int]]
    """Words of the question that weigh most, with the number of articles that have each."""

    is_brought: bool = False
    """Whether the articles are those that the form brings."""
    doubtful: tuple[str, ...] = ()
    """Keywords that count half, because they fit neither the title nor the other keywords."""
    trouble: str = ""
    """Why no article can answer the form, such as a category that the wiki does not have."""

    @property
    def has_more(self) -> bool:
        return self.n_found >= MOST_COUNTED and not self.is_brought


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
    concentrated: list[tuple[str, str, float]]
    """Dimension, group and its share, where nearly everything is in one group."""
    question: Question
    """The question, with the goal that fits its subject if it asks for that."""
    disclosure: Disclosure
    n_brought: int
    """Articles that people brought; 0 where words find them."""
    left_out: Mapping[str, int]
    """How many of those are not listed, by reason."""
    n_articles: int
    """Articles that a list of it would have, or that draws would be made from."""
    reports: tuple[SourceReport, ...] = ()
    """What became of each source that people brought."""
    known: Mapping[str, float] = field(default_factory=dict)
    """For which share of the articles each dimension with a table is known, by heading."""


def make_preview(state: AppState, fields: Mapping[str, str]) -> Preview | None:
    """The preview of a form as far as it is filled in; None while it is empty, QuestionError when it has too much.

    Where a form brings articles, they are what it shows; what it never shows is left out.
    """
    try:
        asked = _with_sources(state, fields)
    except NothingFoundError as error:
        return Preview([], 0, [], trouble=next(iter(error.by_field.values())))
    if asked and asked[1].is_restricting and (brought := _preview_brought(state, *asked)):
        return brought
    topic = Topic(
        0,
        clean_text(fields.get("title", "")),
        split_keywords(fields.get("keywords", "")),
        clean_text(fields.get("scope", "")),
    )
    model = lexical_part(state.source.model())
    engine = model.engine
    if faults := question_faults(topic.title, topic.keywords, topic.scope, engine.layout.language):
        raise QuestionError(faults)
    doubtful = model.doubtful_keywords(topic)
    words = topic_words(topic, language=engine.layout.language, doubtful=doubtful)
    if not words.weights:
        return None
    hits = engine.search(build_terms(words, engine), MOST_COUNTED)
    kept = np.flatnonzero(~np.isin(hits.page_ids, asked[1].never if asked else ()))[:N_SHOWN]
    best = hits.page_ids[kept]
    reasons = find_reasons(engine, topic, best) if len(best) else Reasons((), hits.page_ids[:0].astype("u2"))
    shown = ArticleList(state.collection, best, hits.scores[kept], reasons, state.facts)
    counts = keyword_counts(engine, topic, hits.page_ids)
    return Preview(shown.articles(), len(hits.page_ids), counts, doubtful=doubtful)


def _with_sources(state: AppState, fields: Mapping[str, str]) -> tuple[Question, UserArticles] | None:
    """The question of a form and the articles of its sources; None when it has none, or cannot be used yet, and
    NothingFoundError when no article can answer it."""
    try:
        question = state.parse_question({**fields, "title": fields.get("title") or UNTITLED})
    except NothingFoundError:
        raise
    except QuestionError:
        return None
    user_articles = recent_user_articles(state, question)
    return None if user_articles is None else (question, user_articles)


def _preview_brought(state: AppState, question: Question, user_articles: UserArticles) -> Preview | None:
    """The best of the articles that a form brings, before fairness; None when none of them is listed."""
    try:
        (candidates, _), reasons, *_ = find_matches(state, question, 1, user_articles)
    except QuestionError:
        return None
    best = np.argsort(-candidates.relevance, kind="stable")[:N_SHOWN]
    shown = ArticleList(
        state.collection, candidates.page_ids[best], candidates.relevance[best], reasons.at(best), state.facts
    )
    return Preview(shown.articles(), len(candidates), [], is_brought=True)


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


def preview_goal(state: AppState, fields: Mapping[str, str], task: Task = 1) -> GoalPreview | None:
    """What the goal of a form would mean; None while the form cannot be used."""
    try:
        # The goal follows the estimate, whatever number of articles on the subject the form names.
        question = replace(state.parse_question(fields), n_relevant=0)
        user_articles = recent_user_articles(state, question)
        (candidates, target), _, question, left_out, *_ = find_matches(state, question, task, user_articles)
    except QuestionError:
        return None
    is_own = user_articles is not None and user_articles.is_restricting
    settings = build_settings(state, replace(question, goal="field"), task, is_own)
    rule = disclosure_for(state, question)
    space, field, goal = target.space, target_of(candidates, task, target.space, settings).values, target.values
    hidden = [dimension for dimension in space.dimensions if dimension.is_personal and rule.hides_people]
    if hidden:
        field, goal, space = without_people(field, space), without_people(goal, space), public_part(space)
    if hidden and space.dimensions:
        alignment = page_alignment(state.collection, candidates.page_ids, space, question.within)
        candidates = replace(candidates, alignment=alignment)
    counts = candidates.alignment.total()
    tables: list[tuple[str, list[GoalRow] | None]] = []
    known: dict[str, float] = {}
    withheld = {dimension.name for dimension in hidden}
    for dimension in target.space.dimensions:
        if dimension.is_personal and (dimension in hidden or hide_people(space.margin(counts, dimension.name)).any()):
            withheld.add(dimension.name)
            tables.append((dimension.heading, None))
            continue
        shares, goals = (shares_of_known(values, space, dimension).tolist() for values in (field, goal))
        rows = [GoalRow(*row) for row in zip(dimension.readable_groups[1:], shares, goals, strict=True)]
        saved = [row for row in rows if max(row.field, row.goal) >= 0.005]
        tables.append((dimension.heading, sorted(saved, key=lambda row: -row.goal)))
        n_of_group = space.margin(counts, dimension.name)
        known[dimension.heading] = float(n_of_group[int(dimension.has_unknown) :].sum() / n_of_group.sum())
    found = [
        (one.dimension, readable(one, space), one.share)
        for one in field_concentrations(state.collection, candidates, space, settings)
        if one.dimension not in withheld
    ]
    most = (question.length or state.settings.list_length) if task == 1 else len(candidates)
    n_listed = min(len(candidates), most)
    n_brought = len(user_articles.page_ids) if user_articles and is_own else 0
    left_out = {**left_out, **({"length": len(candidates) - n_listed} if len(candidates) > n_listed else {})}
    reports = user_articles.reports if user_articles else ()
    return GoalPreview(tables, found, question, rule, n_brought, left_out, n_listed, reports, known)


def recent_user_articles(state: AppState, question: Question) -> UserArticles | None:
    """The articles that a question brings, as they were within the last minute."""
    if not question.sources:
        return None
    moment = int(time.monotonic() // SECONDS_RECENT)
    return state.results.get(
        ("brought", question.sources, state.data, moment), lambda: read_user_articles(state, question)
    )


def ask(
    request: Request,
    kind: str,
    fields: Mapping[str, str],
    faults: Mapping[str, str] | None = None,
    user_articles: UserArticles | None = None,
) -> Response:
    """The form, filled with what is known; with a preview of what the words find."""
    state = state_of(request)
    preview, too_much = _preview(state, fields)
    faults = {**too_much, **(faults or {})}
    response = page(
        request,
        "ask.html",
        400 if faults else 200,
        kind=kind,
        fields=fields,
        faults=faults,
        policies=choices_of("policy").values(),
        strengths=choices_of("strength").values(),
        goals=choices_of("goal").values(),
        matches=choices_of("match").values(),
        attentions=choices_of("attention"),
        dimensions=state.collection.dimensions,
        chosen_dimensions=_chosen_dimensions(state, fields),
        classes=WORK_ORDER,
        importances=IMPORTANCES,
        kinds={name: label for name, label in KINDS.items() if name != "file" and can_read(state, name)},
        roles=ROLES,
        n_rows=N_ROWS,
        question_fields=QUESTION_FIELDS,
        preview=preview,
        goal=preview_goal(state, fields, TASKS[kind]) if fields.get("title") else None,
        user_articles=user_articles,
    )
    response.headers.update(KEPT_BY_BROWSER)
    return response


def _preview(state: AppState, fields: Mapping[str, str]) -> tuple[Preview | None, Mapping[str, str]]:
    """The preview of a form that has a title, and what of its words is too much to look up."""
    try:
        return (make_preview(state, fields) if fields.get("title") else None), {}
    except QuestionError as error:
        return None, error.by_field


def can_read(state: AppState, kind: str) -> bool:
    """Whether this server can read a kind of source."""
    return kind not in WIKI_KINDS or bool(state.settings.wiki_api)


def _chosen_dimensions(state: AppState, fields: Mapping[str, str]) -> tuple[str, ...]:
    """The boxes that are ticked: those of the form, or the usual ones in a form that was not filled in."""
    names = tuple(name for name in state.collection.masks if fields.get(f"dimension-{name}"))
    return names if fields.get(OFFERED) else dimensions_of(state.collection, names)


def initial_fields(request: Request, load: Callable[[str], SavedRequest | None]) -> dict[str, str]:
    """What the form starts with: the fields in the address, over the question of the list that `from` names; with
    `wider`, over one that finds other articles, too."""
    query = query_fields(request)
    token = query.pop("from", "")
    if not token:
        return query
    saved = load(token)
    if saved is None or not role_of(request, saved):
        raise HTTPException(404)
    asked = wider_fields(state_of(request), saved) if WIDER in query else saved.question.to_fields()
    return {**asked, **query}


def wider_fields(state: AppState, saved: SavedRequest) -> dict[str, str]:
    """A form for the articles beyond those of a list or search, which it never shows."""
    fields = saved.question.widened().to_fields()
    seen = state.collection.titles_of(saved.page_ids.tolist())
    return {**fields, "never": "\n".join(filter(None, [fields.get("never"), *seen]))}


def question_routes(
    kind: str, load: Callable[[Database, str], SavedRequest | None], create: FormHandler
) -> list[BaseRoute]:
    """The routes of the form of a list or search: empty or filled from another one, checked, previewed, and sent."""
    path = "/lists" if kind == "list" else "/searches"

    def show_form(request: Request) -> Response:
        return ask(request, kind, initial_fields(request, partial(load, state_of(request).store)))

    def check_form(request: Request, fields: Fields) -> Response:
        return check(request, kind, fields)

    show_form.__name__, check_form.__name__ = f"ask_for_{kind}", f"check_{kind}"  # under which requests are counted
    return [
        Route(f"{path}/new", expensive(show_form)),
        Route(f"{path}/check", with_form(check_form, is_expensive=True), methods=["POST"]),
        Route(f"{path}/preview", expensive(show_preview)),
        Route(f"{path}/preview", with_form(show_form_preview, is_expensive=True), methods=["POST"]),
        Route(f"{path}/goal", with_form(show_goal, is_expensive=True), methods=["POST"]),
        Route(path, with_form(create, is_expensive=True), methods=["POST"]),
    ]


def check(request: Request, kind: str, fields: Fields) -> Response:
    """The form again, with what the articles that were brought match; what a file had is now in the form."""
    state, shown = state_of(request), dict(fields)
    for name, text in fields.items():
        if name.startswith("file-") and not name.endswith("-file"):
            shown[name.replace("file-", "text-")] = text
    try:
        question = state.parse_question({**fields, "title": fields.get("title") or UNTITLED})
        user_articles = recent_user_articles(state, question)
    except QuestionError as error:
        return ask(request, kind, shown, error.by_field)
    return ask(request, kind, shown, None, user_articles)


def answer(request: Request, kind: str, fields: Mapping[str, str], make: Callable[[AppState], str]) -> Response:
    """The way to what `make` keeps and gives the address of; the form again, with what is wrong in it."""
    try:
        address = make(state_of(request))
    except QuestionError as error:
        return ask(request, kind, fields, error.by_field)
    return remember(request, see_other(request, address))


def show_preview(request: Request) -> Response:
    """The preview alone, for the page that is open."""
    return page(request, "preview.html", preview=make_preview(state_of(request), query_fields(request)))


def show_form_preview(request: Request, fields: Fields) -> Response:
    """The preview of a complete form, which may bring articles."""
    return page(request, "preview.html", preview=make_preview(state_of(request), fields))


def show_goal(request: Request, fields: Fields) -> Response:
    """What the goal would mean for the form as it is, for the page that is open."""
    state = state_of(request)
    area = "lists" if request.url.path.endswith("/lists/goal") else "searches"
    goal = preview_goal(state, fields, 1 if area == "lists" else 2)
    has_groups = bool(_chosen_dimensions(state, fields))
    return page(request, "goal.html", goal=goal, is_list=area == "lists", area=area, has_groups=has_groups)
