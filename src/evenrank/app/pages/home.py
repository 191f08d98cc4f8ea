"""The landing page with its example, the page about the server, and the choice of language.

The example shows what a fair list of one of the collection's topics changes against plain search. The topic is chosen
by measuring, so that it shows what lists can do with these data, and no more.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.candidates import find_for
from evenrank.app.fairness.balance import list_exposure
from evenrank.app.fairness.share_bars import GroupShares
from evenrank.app.lists.analysis import list_bars
from evenrank.app.lists.work_list import make_list
from evenrank.app.pages.i18n import COOKIE, LANGUAGES
from evenrank.app.pages.templating import page
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.question import Question, QuestionError
from evenrank.app.request.visitor import YEAR, see_other, set_cookie, visitor_of
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.shares import find_owned
from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.policies.relevance import relevance_order

N_GROUPS = 5
"""Groups that the example shows."""
N_KEYWORDS = 12
"""Keywords of a topic that the example asks for."""
N_CONSIDERED = 24
"""Topics whose plain search is compared with their goal, spread over all topics."""
N_MEASURED = 4
"""Topics of which a list is made: those whose plain search leaves most to be done."""
SECONDS_AFTER_START = 2.0
N_TOP = 100
"""Ranks of plain search that are looked at, and articles of the example: a list that takes in nearly all articles on a
subject can hardly change who is in it, and shows nothing."""
N_RECENT = 5
PATIENCE_S = 1.0
"""How long the landing page waits for what the example needs and the start of the server still learns."""
LOG = logging.getLogger("evenrank.app")


@dataclass(frozen=True)
class Example:
    """A question, and what a list of it changes."""

    title: str
    keywords: str
    rows: tuple[GroupShares, ...]

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the form that make this list."""
        return {"title": self.title, "keywords": self.keywords, "length": str(N_TOP)}


def make_example(state: AppState) -> Example | None:
    """The example that shows most; None when the collection has no topic with keywords that finds anything."""
    found = [(question, measured) for question in promising(state) if (measured := moved_groups(state, question))]
    if not found:
        return None
    question, moved = max(found, key=lambda pair: sum(group.progress for group in pair[1]))
    return Example(question.title, ", ".join(question.keywords), tuple(moved[:N_GROUPS]))


def example_of(state: AppState) -> Example | None:
    """The example for the data that are served, computed once; None while another thread computes it."""
    return state.example_cache.get_unless_busy(state.data, lambda: make_example(state))


async def prepare_lists(app: Starlette) -> None:
    """Learn from the training topics at the start, then compute the example and the index of titles, so that hardly any
    visitor waits for them."""
    state: AppState = app.state.current
    # A daemon: a stop of the server need not wait for it.
    learning = threading.Thread(target=learn_from_training_topics, args=(state,), name="learn", daemon=True)
    learning.start()
    await asyncio.sleep(SECONDS_AFTER_START)
    while learning.is_alive():
        await asyncio.sleep(SECONDS_AFTER_START)
    await run_in_threadpool(example_of, state)
    await run_in_threadpool(lambda: state.title_index)


def learn_from_training_topics(state: AppState) -> None:
    """Learn what lists need; where that fails, the next list tries again."""
    try:
        state.learned()
    except EvenrankError as error:
        LOG.warning("nothing could be learned from the training topics yet: %s", error)
    except Exception:
        LOG.exception("nothing could be learned from the training topics")


def promising(state: AppState) -> list[Question]:
    """Questions whose plain search is far from their goal, and that find enough articles to improve it."""
    topics = [topic for topic in state.collection.topics if topic.keywords]
    asked = [Question(topic.title, topic.keywords[:N_KEYWORDS], length=N_TOP) for topic in spread(topics)]
    distances = [distance_from_goal(state, question) for question in asked]
    order = np.argsort(-np.array(distances), kind="stable")[:N_MEASURED]
    return [asked[at] for at in order if distances[at] > 0]


def spread(topics: Sequence[Topic]) -> list[Topic]:
    """At most `N_CONSIDERED` topics, evenly spread."""
    places = np.unique(np.linspace(0, len(topics) - 1, min(len(topics), N_CONSIDERED)).round().astype(int))
    return [topics[at] for at in places]


def distance_from_goal(state: AppState, question: Question) -> float:
    """How much attention of plain search is with other groups than the goal wants, times the share of a complete list
    that can be filled; 0 when nothing is found."""
    try:
        candidates, target = find_for(state, question, 1)
    except (QuestionError, EvenrankError):
        return 0.0
    plain = candidates.page_ids[relevance_order(candidates)[:N_TOP]]
    exposure = list_exposure(state.collection, plain, target.space, question)[1:]
    missed = np.abs(exposure / max(exposure.sum(), 1e-12) - target.values[1:]).sum() / 2
    return float(missed) * min(1.0, len(candidates) / state.settings.list_length)


def moved_groups(state: AppState, question: Question) -> list[GroupShares]:
    """The groups whose attention a list of a question changes, those first that came nearest to their goal; groups of
    people are not among them."""
    try:
        made = make_list(state, question)
    except (QuestionError, EvenrankError):
        return []
    moved = [group for bars in list_bars(state, made) for group in bars.groups if group.progress]
    return sorted(moved, key=lambda group: group.progress, reverse=True)


def landing(request: Request) -> Response:
    state = state_of(request)
    mine = [entry for entry in find_owned(state.store, visitor_of(request), limit=20) if not entry.archived]
    example = None if state.learned.is_busy(PATIENCE_S) else example_of(state)
    return page(request, "home.html", numbers=state.numbers, mine=mine[:N_RECENT], example=example)


def about(request: Request) -> Response:
    return page(request, "about.html", numbers=state_of(request).numbers)


def choose_language(request: Request, fields: Fields) -> Response:
    """Remembers a language and goes back to where the visitor was."""
    back = fields.get("back", "/")
    is_own = back.startswith("/") and not back.startswith(("//", "/\\")) and "\n" not in back
    response = see_other(request, back if is_own else "/")
    if fields.get("language") in LANGUAGES:
        set_cookie(request, response, COOKIE, fields["language"], YEAR, path="/")
    return response


def routes() -> list[BaseRoute]:
    return [
        Route("/", landing),
        Route("/about", about),
        Route("/language", with_form(choose_language), methods=["POST"]),
    ]
