"""The state of the app: an open collection with its search, the store, the settings, and caches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from starlette.requests import Request

from evenrank.app.articles.article import ArticleFacts, open_facts
from evenrank.app.articles.candidates import AppSource, LearnedForLists, open_app_source
from evenrank.app.articles.collection_view import (
    Corrections,
    DataAge,
    Numbers,
    correct_regions,
    count_collection,
    data_age,
    data_mark,
    dimensions_of,
    region_dimension,
)
from evenrank.app.articles.kept import Once
from evenrank.app.articles.read_ahead import ReadAhead
from evenrank.app.articles.titles import Subjects, TitleIndex, index_titles, read_subjects
from evenrank.app.articles.user_articles import WikiSources
from evenrank.app.pages.i18n import Message
from evenrank.app.request.question import Question, RevealingLimitError, parse_question
from evenrank.app.settings import WebSettings
from evenrank.app.storage.saved_request import SavedRequest
from evenrank.app.storage.store import keep_collection, keep_id_numbers, open_app_store, server_secret
from evenrank.core.groups import GroupSpace
from evenrank.database.database import Database
from evenrank.ranking.groups import restricted_dimensions
from evenrank.retrieval.query.topic_query import ENGLISH
from evenrank.trec.collection import Collection
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.settings import WikiSettings

STORE_NAME = "desk.sqlite"
N_RECENT = 64
"""Results that are remembered: each takes about 100 kB."""
N_CELLS = 16384
"""Parts of rows that are remembered once they are rendered: each takes about 1 kB."""
R = TypeVar("R")


class LRUCache:
    """The most recently used results by key; threads may share it."""

    def __init__(self, most: int = N_RECENT) -> None:
        self.most = most
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._making: set[Hashable] = set()

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """The result for a key, computed if it is not cached; two threads may compute the same one at once."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                known: R = self._results[key]
                return known
        made = make()
        with self._lock:
            self._results[key] = made
            while len(self._results) > self.most:
                self._results.popitem(last=False)
        return made

    def get_unless_busy(self, key: Hashable, make: Callable[[], R]) -> R | None:
        """The same, and None while another thread computes it: what many ask for at once is computed once."""
        with self._lock:
            if key not in self._results and key in self._making:
                return None
            self._making.add(key)
        try:
            return self.get(key, make)
        finally:
            with self._lock:
                self._making.discard(key)


@dataclass(frozen=True)
class AppState:
    """One open collection with its search, and the store of lists and draws."""

    collection: Collection
    source: AppSource
    """The search; how likely each page is relevant, and what the goals are, `learned` says."""
    learned: Once[LearnedForLists]
    """What the training topics teach. On a new version of the collection it takes a while, so that only lists wait."""
    store: Database
    settings: WebSettings
    facts: ArticleFacts | None = None
    """What articles lack; None when it was not counted."""

    read_ahead: ReadAhead | None = field(default=None, compare=False, repr=False)
    """What lets a cross-encoder read the first pages of questions; None without one."""
    results: LRUCache = field(default_factory=LRUCache, compare=False, repr=False)
    """Recent results; they are valid for these data only."""
    example_cache: LRUCache = field(default_factory=LRUCache, compare=False, repr=False)
    """The example of the landing page, once it is computed."""
    cell_cache: LRUCache = field(default_factory=lambda: LRUCache(N_CELLS), compare=False, repr=False)
    """Rendered cells of articles."""

    @property
    def decides_by_evidence(self) -> bool:
        """Whether articles are left out by what each says of itself: in English, unless nothing is left out."""
        return self.settings.relevance_floor > 0 and self.collection.manifest.language == ENGLISH

    @cached_property
    def secret(self) -> str:
        return server_secret(self.store)

    @cached_property
    def age(self) -> DataAge:
        return data_age(self.collection, self.settings.data_of)

    @property
    def wiki_url(self) -> str:
        """What addresses of articles begin with; empty for a synthetic collection, which Wikipedia does not have."""
        if self.age.is_synthetic and self.settings.wiki_url == WebSettings().wiki_url:
            return ""
        return self.settings.wiki_url

    @cached_property
    def wiki_name(self) -> str:
        """The site that titles lead to; empty when they lead nowhere."""
        return urlsplit(self.wiki_url).netloc or self.wiki_url

    @cached_property
    def numbers(self) -> Numbers:
        return count_collection(self.collection)

    @cached_property
    def data(self) -> str:
        """Identifies the data: another import of the collection has another value."""
        return data_mark(self.collection)

    @cached_property
    def title_index(self) -> TitleIndex:
        """Rows by title, for articles that people bring; made when the first ones come."""
        return index_titles(self.collection)

    @property
    def subjects_file(self) -> Path | None:
        """The file of subjects without an article here: the operator's, else the collection's own."""
        return self.settings.subjects or self.collection.subjects_file

    @property
    def has_subjects(self) -> bool:
        """Whether it is known which subjects have no article here."""
        return self.subjects_file is not None

    @cached_property
    def subjects(self) -> Subjects | None:
        """Subjects without an article here; None when they are not known."""
        file = self.subjects_file
        return None if file is None else read_subjects(file, self.source.model().engine.layout.language)

    @property
    def shows_work(self) -> bool:
        """Whether lists have a column for what is missing: it was counted, or can be counted on the wiki."""
        return self.facts is not None or bool(self.settings.wiki_api)

    @property
    def has_regions(self) -> bool:
        """Whether people can say that the region of an article is wrong."""
        return region_dimension(self.collection) is not None

    @cached_property
    def wiki(self) -> WikiSources | None:
        """The wiki whose categories, banners and links can be read; None without one."""
        if not self.settings.wiki_api:
            return None
        return WikiSources(WikiClient(WikiSettings(self.settings.wiki_api, self.settings.wiki_contact)))

    def collection_of(self, saved: SavedRequest) -> Collection:
        """The collection as it counts for a list or search: with the regions that people corrected for it."""
        return self.collection_with(saved.regions_corrected)

    def collection_with(self, corrections: Corrections) -> Collection:
        """The collection with corrected regions."""
        if not corrections:
            return self.collection
        return self.results.get(
            ("corrected", self.data, corrections), lambda: correct_regions(self.collection, corrections)
        )

    def with_corrections(self, corrections: Corrections) -> AppState:
        """The state in which a list with corrected regions is made."""
        if not corrections:
            return self
        return replace(self, collection=self.collection_with(corrections), results=LRUCache())

    def parse_question(self, fields: Mapping[str, Any]) -> Question:
        """The question of a form or of JSON; see `parse_question`.

        Only biographies where gender counts: the order would say more about the gender of each of them.
        """
        question = parse_question(fields, self.collection.known_dimensions, self.collection.manifest.language)
        personal = {dimension.name for dimension in self.space_of(question).dimensions if dimension.is_personal}
        if personal & restricted_dimensions(question.within) and not self.settings.shows_totals:
            text = "A list can be limited to biographies only where groups of people, such as genders, do not count."
            raise RevealingLimitError({"within": Message(text)})
        return question

    def space(self, saved: SavedRequest) -> GroupSpace:
        """The groups that the goal of a list or search is about."""
        return self.space_of(saved.question)

    def space_of(self, question: Question) -> GroupSpace:
        """The groups that the goal of a question is about."""
        names = dimensions_of(self.collection, question.dimensions, question.as_subject)
        return GroupSpace.of(names, self.collection.known_dimensions)

    @property
    def public_host(self) -> str:
        return urlsplit(self.settings.public_url).netloc

    def base_url(self, request: Request) -> str:
        """Address of the app without a slash at the end, for links that leave it in an export."""
        return (self.settings.public_url or str(request.base_url)).rstrip("/")

    def close(self) -> None:
        self.store.close()


def open_state(collection_path: Path, settings: WebSettings) -> AppState:
    """The state for a collection; errors say what to run when it has no index."""
    store = open_app_store(settings.store or collection_path / STORE_NAME)
    try:
        return open_collection(Collection.open(collection_path), settings, store)
    except BaseException:
        store.close()
        raise


def open_collection(collection: Collection, settings: WebSettings, store: Database) -> AppState:
    """The state for a collection, with a store that is already open."""
    keep_id_numbers(store, collection)
    keep_collection(store, collection)
    choice = settings.model
    source, learned = open_app_source(collection, settings, choice.without_reading())
    facts = open_facts(collection, settings.facts_folder)
    reading = ReadAhead(replace(source, choice=choice)) if choice.n_read else None
    return AppState(collection, source, learned, store, settings, facts, reading)


def state_of(request: Request) -> AppState:
    """The state that answers a request."""
    return cast(AppState, request.app.state.current)
