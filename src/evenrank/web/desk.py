"""The desk: what every page of the app works with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import numpy as np
from starlette.requests import Request

from evenrank.alignment.groups import GroupSpace
from evenrank.collection.collection import Collection
from evenrank.collection.given import refuse_text_ids
from evenrank.database import Database
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import forget_collection
from evenrank.ranking.search_source import forget_index
from evenrank.records import Task
from evenrank.targets.estimated import known_dimensions
from evenrank.web.articles.article_facts import ArticleFacts, open_facts
from evenrank.web.articles.data_age import DataAge, data_age
from evenrank.web.articles.finding import DeskSource, desk_source, learned_goals
from evenrank.web.articles.groups import dimensions_of
from evenrank.web.pages.numbers import Numbers, count_collection
from evenrank.web.settings import WebSettings
from evenrank.web.sources.brought import Wiki
from evenrank.web.sources.titles_index import TitleIndex, index_titles
from evenrank.web.storage.kept import Kept
from evenrank.web.storage.store import open_desk_store, server_secret

STORE_NAME = "desk.sqlite"


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

    @cached_property
    def secret(self) -> str:
        return server_secret(self.store)

    @cached_property
    def age(self) -> DataAge:
        return data_age(self.collection, self.settings.data_of)

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

    @cached_property
    def wiki(self) -> Wiki | None:
        """The wiki whose categories, banners and links can be read; None without one."""
        if not self.settings.wiki_api:
            return None
        from evenrank.web.sources.wiki_sources import WikiSources
        from evenrank.wiki.client import WikiClient
        from evenrank.wiki.settings import WikiSettings

        return WikiSources(WikiClient(WikiSettings(self.settings.wiki_api, self.settings.wiki_contact)))

    def titles_of(self, page_ids: Iterable[int]) -> list[str]:
        """Titles of pages; the number of a page that has none."""
        pages = list(page_ids)
        rows = self.collection.rows_of(np.array(pages or [0], np.int64))[: len(pages)].tolist()
        titles = self.collection.titles
        pairs = zip(pages, rows, strict=True)
        return [(titles[row] if titles and row >= 0 else "") or f"Page {page}" for page, row in pairs]

    def space(self, kept: Kept) -> GroupSpace:
        """The groups that the goal of a list or search is about."""
        names = dimensions_of(self.collection, kept.question.dimensions)
        return known_dimensions(names, self.collection.known_dimensions)

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
    forget_collection()
    forget_index()
    collection = Collection.open(collection_path)
    refuse_text_ids(collection, "the web app")
    source = desk_source(collection, settings.n_candidates, settings.model)
    goals = learned_goals(collection, source, settings.n_candidates)
    facts = open_facts(collection, settings.facts_folder)
    return Desk(collection, source, store, settings, facts, goals)


def desk_of(request: Request) -> Desk:
    """The desk that answers a request."""
    return cast(Desk, request.app.state.desk)
