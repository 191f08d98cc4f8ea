"""What the assessment pages work with: the judgments, texts of pooled pages, runs behind the pool, and who asks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from starlette.convertors import register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request

from evenrank.app.assess.ballot import AnswerButton, answers_for, label_of
from evenrank.app.assess.reading import topic_stems
from evenrank.app.assess.texts import Absence, ArticleContent, ContentPart, LateTexts, open_texts, texts_path
from evenrank.app.pages.i18n import Message
from evenrank.app.request.visitor import TokenConvertor, own
from evenrank.app.state import AppState
from evenrank.app.storage.store import WAIT_SECONDS
from evenrank.core.records import Run, Topic
from evenrank.errors import EvenrankError
from evenrank.io.runs import read_run
from evenrank.io.small_files import read_small_text
from evenrank.retrieval.judging_order import OrderSettings, order_work
from evenrank.trec.assessment.assessors import Assessor, assessor_of
from evenrank.trec.assessment.campaign import WorkOrder, revise_topics, work_order
from evenrank.trec.assessment.pool import Pool
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.votes import (
    ScaleChangedError,
    Store,
    Vote,
    cast_or_change,
    max_grade_of,
    open_store,
    pages_in,
    shown_id,
    text_ids_of,
)

T = TypeVar("T")
UNKNOWN_LINK = Message(
    "This link is not valid. It may have been cut off, or replaced by a newer one: ask your organiser."
)


@dataclass(frozen=True)
class Remembered:
    """The last value of each kind, with the revision of the judgments it was computed from."""

    _values: dict[str, tuple[tuple[int, ...], Any]] = field(default_factory=dict, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def get(self, kind: str, store: Store, make: Callable[[], T]) -> T:
        """The value of a kind; one thread makes it, others wait and take what it made."""
        with self._lock:
            revision = revision_of(store)
            known = self._values.get(kind)
            if known is None or known[0] != revision:
                known = self._values[kind] = (revision, make())
            value: T = known[1]
            return value


def revision_of(store: Store) -> tuple[int, ...]:
    """Numbers that change with every vote and with everything that the log has."""
    counts = "SELECT (SELECT count(*) FROM vote), (SELECT count(*) FROM item), (SELECT count(*) FROM event)"
    return tuple(number or 0 for number in store.connection.execute(counts).fetchone())


LOG = logging.getLogger("evenrank.app")
NOT_STORED = Message("The server could not store it. Please tell your organiser; answers from before are safe.")


@dataclass(frozen=True)
class Judging:
    """An open judgments file beside the collection that its pages come from."""

    state: AppState
    store: Store
    texts: LateTexts
    guidelines: tuple[str, ...] = ()
    """Paragraphs on what counts as relevant; empty for the usual ones."""
    pool: Pool | None = None
    """For the leave-one-run-out test with a judgments file that does not know which runs brought its pages."""
    runs: tuple[Run, ...] = ()
    """For what the judgments do to scores."""
    remembered: Remembered = field(default_factory=Remembered)
    _stems: dict[int, dict[str, str]] = field(default_factory=dict)
    _ordering: threading.Lock = field(default_factory=threading.Lock)

    def renewed(self, state: AppState) -> Judging:
        """The same judging of a collection that has changed; texts of topics that were corrected are new versions."""
        revise_topics(self.store, state.collection.topics)
        texts = replace(self.texts, collection=state.collection, _tried=set())
        return replace(self, state=state, texts=texts, _stems={})

    def order_again(self) -> None:
        """Lets the model order the work again, in a thread of its own, where enough answers have come since."""
        order = work_order(self.store)
        (n_votes,) = self.store.connection.execute("SELECT count(*) FROM vote").fetchone()
        if order is None or not order.is_due(int(n_votes)) or not self._ordering.acquire(blocking=False):
            return
        threading.Thread(target=self._order_again, args=(order,), daemon=True).start()

    def _order_again(self, order: WorkOrder) -> None:
        try:
            settings = OrderSettings(order.sample, order.batch, order.recall)
            order_work(self.store, self.state.collection, self.state.source.model().engine, settings)
        except EvenrankError as error:
            LOG.warning("the work was not ordered again: %s", error)
        finally:
            self._ordering.release()

    def topic(self, topic_id: int) -> Topic:
        """A topic as assessors see it; of one that the collection does not know, only the title."""
        known = self.state.collection.topic_by_id.get(topic_id)
        if known is not None:
            return known
        row = self.store.connection.execute("SELECT title FROM topic WHERE id = ?", (topic_id,)).fetchone()
        return Topic(topic_id, (row["title"] if row else "") or f"Topic {topic_id}")

    def version(self, topic_id: int) -> int:
        """The version of a topic's text that assessors read now."""
        row = self.store.connection.execute("SELECT version FROM topic WHERE id = ?", (topic_id,)).fetchone()
        return 1 if row is None else int(row[0])

    @property
    def language(self) -> str:
        """Code of the language of the articles."""
        return self.state.collection.manifest.language

    def stems(self, topic_id: int) -> dict[str, str]:
        """The words of a topic that are marked in articles."""
        known = self._stems.get(topic_id)
        if known is None:
            known = self._stems[topic_id] = topic_stems(self.topic(topic_id), self.language)
        return known

    def content(self, page: int) -> ArticleContent | None:
        """The text of a page; its beginning from the index when the corpus is away; None for a page that is gone."""
        found = self.texts.find(page, lambda: pooled_pages(self.store))
        if found is Absence.UNREAD:
            [stored] = self.state.source.model().engine.stored([self.number(page)])
            return None if stored is None else ArticleContent(stored.title, (ContentPart(0, "", stored.opening),))
        return found if isinstance(found, ArticleContent) else None

    def number(self, page: int) -> int:
        """The number of a page in the collection, where ids are text: the judgments have numbers of their own."""
        ids = self.state.collection.text_ids
        return page if ids is None else ids.find(str(shown_id(self.store, page)))

    def title(self, page: int) -> str:
        """Title of a page."""
        collection = self.state.collection
        [row] = collection.rows_of(np.array([self.number(page)])).tolist()
        title = collection.titles[row] if collection.titles is not None and row >= 0 else ""
        return title or f"Page {shown_id(self.store, page)}"

    @property
    def answers(self) -> dict[str, AnswerButton]:
        """The buttons of this file's scale."""
        return answers_for(max_grade_of(self.store))

    def labels(self) -> Callable[[str | None, int | None], str]:
        """What says a vote in the words of the buttons."""
        max_grade = max_grade_of(self.store)
        return lambda outcome, grade: label_of(outcome, grade, max_grade)

    def keep(self, vote: Vote, topic_version: int | None = None, max_grade: int | None = None) -> Vote | None:
        """Stores a vote and gives the one before; an error that says so, without paths, when it cannot be stored."""
        try:
            return cast_or_change(self.store, vote, topic_version, max_grade)
        except ScaleChangedError:
            raise
        except EvenrankError as error:
            LOG.error("a vote was not stored: %s", error)
            raise HTTPException(503, NOT_STORED) from error

    def close(self) -> None:
        self.store.close()
        self.texts.close()


def open_judging(state: AppState) -> Judging | None:
    """The judging that the settings name; None when they name no judgments file."""
    settings = state.settings
    if settings.judgments is None:
        return None
    store = open_store(settings.judgments, WAIT_SECONDS)
    path = texts_path(settings.judgments, settings.facts_folder or state.collection.path)
    ids = state.collection.text_ids
    pages_in(store, ids)
    revise_topics(store, state.collection.topics)
    texts = open_texts(path, state.collection, pooled_pages(store), text_ids_of(store))
    return Judging(
        state,
        store,
        LateTexts(texts, state.collection, lambda: text_ids_of(store)),
        read_guidelines(settings.guidelines) if settings.guidelines else (),
        read_pool(settings.pool).with_ids(ids) if settings.pool else None,
        tuple(read_run(path, ids) for path in settings.runs),
    )


def pooled_pages(store: Store) -> frozenset[int]:
    """The pages of all topics that are in the pool now."""
    return frozenset(page for (page,) in store.connection.execute("SELECT DISTINCT page FROM item"))


def read_guidelines(path: Path) -> tuple[str, ...]:
    """The paragraphs of a text file."""
    text = read_small_text(path, "name a text file in UTF-8")
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def judging_of(request: Request) -> Judging:
    """The judging of this server; not found when it has none."""
    judging = cast("Judging | None", getattr(request.app.state, "judging", None))
    if judging is None:
        raise HTTPException(404, "This server has no judgments file (evenrank serve DIR --judgments FILE).")
    return judging


class SecretConvertor(TokenConvertor):
    """The secret of an assessor's link."""

    regex = "[A-Za-z0-9_-]{32}"


register_url_convertor("secret", SecretConvertor())


def person(request: Request) -> Assessor:
    """Whose link it is; not found for an unknown one."""
    found = assessor_of(judging_of(request).store, request.path_params["secret"])
    if found is None:
        raise HTTPException(404, UNKNOWN_LINK)
    return found


def organiser(request: Request) -> Assessor:
    """The organiser whose link it is; not found for anybody else."""
    found = person(request)
    if found.role != "organiser":
        raise HTTPException(404, "This page is for organisers. Your own link starts with /judge/.")
    return found


def judge_path(request: Request, *parts: object) -> str:
    """An address below this assessor's link."""
    return "/".join([own(request, "/judge"), request.path_params["secret"], *map(str, parts)])


def organise_path(request: Request, *parts: object) -> str:
    """An address below this organiser's link."""
    return "/".join([own(request, "/organise"), request.path_params["secret"], *map(str, parts)])
