"""The desk: what every page of the app works with."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from starlette.requests import Request

from evenrank.app.articles.article_facts import ArticleFacts, open_facts
from evenrank.app.articles.groups import dimensions_of
from evenrank.app.articles.subjects import Subjects, read_subjects
from evenrank.app.pages.numbers import Numbers, count_collection
from evenrank.app.request.question import Question, parse_question
from evenrank.app.settings import WebSettings
from evenrank.app.sources.brought import Wiki
from evenrank.app.sources.titles_index import TitleIndex, index_titles
from evenrank.app.storage.id_numbers import keep_id_numbers
from evenrank.app.storage.kept import Kept
from evenrank.app.storage.store import open_desk_store, server_secret
from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task
from evenrank.database.database import Database
from evenrank.policies.relevance import Relevance
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import RankingJob, full_request
from evenrank.ranking.sources import SearchSource, Session, calibrate_source, own_group_counts
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.trec.collection import Collection

UNKNOWN = "date not recorded"
SYNTHETIC = "synthetic data"


@dataclass(frozen=True)
class DataAge:
    """The age of the data in words."""

    text: str
    """E.g. `1 October 2021`; `date not recorded` when neither the sources nor the operator say it."""
    is_synthetic: bool
    """Whether the collection is a generated one."""
    date: str | None = None
    """The date of the sources, `2021-10-01` or `2021-10`; None when it is unknown, or the operator says the age."""

    @property
    def is_known(self) -> bool:
        """Whether the sources or the operator say it."""
        return self.text not in (UNKNOWN, SYNTHETIC)


def data_age(collection: Collection, said: str = "") -> DataAge:
    """The age of a collection's data. Articles and metadata are a snapshot: nothing newer is known."""
    manifest = collection.manifest
    is_synthetic = "generated" in manifest.settings
    text = said or date_in_words(manifest.data_date) or (SYNTHETIC if is_synthetic else UNKNOWN)
    return DataAge(text, is_synthetic, None if said else manifest.data_date)


def date_in_words(text: str | None) -> str:
    """`2021-10-01` as `1 October 2021`, `2021-10` as `October 2021`; empty for None."""
    if text is None:
        return ""
    has_day = len(text) > len("2021-10")
    day = date.fromisoformat(text if has_day else f"{text}-01")
    return f"{day.day} {day:%B %Y}" if has_day else f"{day:%B %Y}"


@dataclass(frozen=True)
class DeskSource(SearchSource):
    """The search behind the desk. Lists score as with a search for each pair, and take a third less time."""

    n_per_group: int = 200
    """Pages wanted of each region and each gender."""

    def candidates(self) -> CandidateSettings:
        """How many pages are looked at."""
        return CandidateSettings(
            self.n_pages, self.n_per_group, self.dimensions, self.group_counts, has_intersections=False
        )


def desk_source(collection: Collection, n_pages: int, choice: ModelChoice = UNTRAINED) -> DeskSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    session, counts = Session(collection.path), own_group_counts(collection)
    source = DeskSource(session, n_pages, tuple(collection.masks), counts, choice=choice)
    return calibrate_source(source, collection.topics)


def learn_goals(collection: Collection, source: DeskSource, n_pages: int) -> dict[Task, BuildSettings]:
    """How to estimate the goal of each task, from the training topics.

    Odds of groups are not among it: people are told that a goal follows the relevant articles, and see their shares.
    """
    information = collection.default_groups(BuildSettings().information)
    settings = BuildSettings(information, n_candidates=n_pages, group_odds="none", scored=information)
    tasks: tuple[Task, ...] = (1, 2)
    jobs = {task: RankingJob(source.session, source, Relevance(), full_request(task), settings) for task in tasks}
    return {task: job.learned().settings for task, job in jobs.items()}


STORE_NAME = "desk.sqlite"
N_RECENT = 64
"""Results that are remembered: each takes about 100 kB."""
N_CELLS = 8192
"""Articles whose rendered cells are remembered: each takes about 1 kB."""
R = TypeVar("R")


class Recent:
    """The last results, by what they are results of; many threads share them."""

    def __init__(self, most: int = N_RECENT) -> None:
        self.most = most
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """The result for a key, made if it is not remembered; two threads may make the same one at once."""
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


@dataclass(frozen=True)
class Desk:
    """One open collection with its search, and the store of lists and draws."""

    collection: Collection
    source: DeskSource
    store: Database
    settings: WebSettings
    facts: ArticleFacts | None = None
    """What articles lack; None when it was not counted."""

    goals: Mapping[Task, BuildSettings] = field(default_factory=dict)
    """How the goal of each task is estimated, learned on the collection's training topics."""
    recent: Recent = field(default_factory=Recent, compare=False, repr=False)
    """What was worked out lately; it goes with the data."""
    kept_example: Recent = field(default_factory=Recent, compare=False, repr=False)
    """The example of the start page, once it is worked out."""
    cells: Recent = field(default_factory=lambda: Recent(N_CELLS), compare=False, repr=False)
    """Cells of articles as pages show them."""

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
        """What tells the data of this desk from those of another import."""
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

    @cached_property
    def wiki(self) -> Wiki | None:
        """The wiki whose categories, banners and links can be read; None without one."""
        if not self.settings.wiki_api:
            return None
        from evenrank.app.sources.wiki_sources import WikiSources
        from evenrank.wikipedia.mediawiki.client import WikiClient
        from evenrank.wikipedia.mediawiki.settings import WikiSettings

        return WikiSources(WikiClient(WikiSettings(self.settings.wiki_api, self.settings.wiki_contact)))

    def asked(self, fields: Mapping[str, Any]) -> Question:
        """The question of a form or of JSON; see `parse_question`."""
        return parse_question(fields, self.collection.known_dimensions, self.collection.manifest.language)

    def space(self, kept: Kept) -> GroupSpace:
        """The groups that the goal of a list or search is about."""
        names = dimensions_of(self.collection, kept.question.dimensions)
        return GroupSpace.of(names, self.collection.known_dimensions)

    @property
    def public_host(self) -> str:
        return urlsplit(self.settings.public_url).netloc

    def base_url(self, request: Request) -> str:
        """Address of the app without a slash at the end, for links that leave it in an export."""
        return (self.settings.public_url or str(request.base_url)).rstrip("/")

    def close(self) -> None:
        self.store.close()


def data_mark(collection: Collection) -> str:
    """What tells the data of a collection from those of another import of it."""
    sources = collection.manifest.sources.values()
    return " ".join([collection.manifest.data_folder, *(source.md5 or str(source.size_bytes) for source in sources)])


def open_desk(collection_path: Path, settings: WebSettings) -> Desk:
    """The desk of a collection; errors say what to run when it has no index."""
    store = open_desk_store(settings.store or collection_path / STORE_NAME)
    try:
        return open_collection(collection_path, settings, store)
    except BaseException:
        store.close()
        raise


def open_collection(collection_path: Path, settings: WebSettings, store: Database) -> Desk:
    """The desk of a collection, as it is on disk now, with a store that is open already."""
    collection = Collection.open(collection_path)
    keep_id_numbers(store, collection)
    source = desk_source(collection, settings.n_candidates, settings.model)
    goals = learn_goals(collection, source, settings.n_candidates)
    facts = open_facts(collection, settings.facts_folder)
    without_training = replace(source, remembered={})
    return Desk(collection, without_training, store, settings, facts, goals)


def desk_of(request: Request) -> Desk:
    """The desk that answers a request."""
    return cast(Desk, request.app.state.desk)
