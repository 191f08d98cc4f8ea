"""A run or a saved list as wikitext on a page of a wiki, for the command line and for cron."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenrank.app.articles.article import ArticleList, open_facts
from evenrank.app.exports.listing import ExportFormat, Listing, numbered_list, sortable_table
from evenrank.app.settings import WebSettings
from evenrank.app.storage.store import now
from evenrank.core.records import Run
from evenrank.database.database import is_database_address
from evenrank.errors import EvenrankError
from evenrank.plugins import call_plug_in
from evenrank.retrieval.query.evidence import Reasons
from evenrank.trec.collection import Collection
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import Draft, Published, RefusedError, draft, find_block, publish_draft
from evenrank.wikipedia.mediawiki.titles import PLAIN, WikiIdiom, idiom_of

UPDATED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? UTC")
"""When a list was made, in any language."""
MAX_ATTEMPTS = 3
"""Drafts made when people save the page in the same moment."""


@dataclass(frozen=True)
class Place:
    """Where on a wiki a list goes, and how."""

    page: str
    """Title of the page."""
    name: str = "list"
    """Name of the list on that page; lists of other names are left alone."""
    form: str | ExportFormat = "table"
    """`table` for sortable tables, `list` for a numbered list, or a format of one's own."""
    create: bool = False
    """Whether a page that does not exist is created."""
    discard_edits: bool = False
    """Whether edits that people made inside the marked part are discarded."""


def run_listing(collection: Collection, run: Run, topic: int | None = None, n_rows: int | None = None) -> Listing:
    """The first ranking of a topic as a list; the topic may be left out when the run has only one."""
    topics = dict.fromkeys(run.topic_ids.tolist())
    if topic is None and len(topics) != 1:
        raise EvenrankError(f"{run.name} has {len(topics):,} topics; choose one with --topic")
    chosen = next(iter(topics)) if topic is None else topic
    if chosen not in topics:
        raise EvenrankError(f"{run.name} has no topic {chosen}; choose from {', '.join(map(str, list(topics)[:20]))}")
    if collection.titles is None:
        raise EvenrankError(f"{collection.path} has no titles; import it with --corpus")
    pages = next(pages for number, _, pages in run.rankings() if number == chosen)[:n_rows]
    known = collection.topic_by_id.get(chosen)
    return Listing(
        title=run.titles.get(chosen) or (known.title if known else run.name),
        task=run.task,
        topic=chosen,
        repeat=1,
        updated=now(),
        address="",
        edit_address="",
        articles=ArticleList(
            collection,
            pages,
            np.zeros(len(pages)),
            Reasons((), np.zeros(len(pages), np.uint16)),
            open_facts(collection),
        ).articles(),
        wiki_url=WebSettings().wiki_url,
    )


def saved_listing(collection: Path, settings: WebSettings, token: str, *, may_save: bool) -> Listing:
    """The newest version of a work list of the web app, made again if the data are newer.

    The new version is kept, so that the web app shows it and what changed, if `may_save` says so.
    """
    from evenrank.app.lists.listing import make_listing
    from evenrank.app.lists.work_list import load_list, make_next_version, newest_version, remake, save_list
    from evenrank.app.state import STORE_NAME, open_state

    store = settings.store or collection / STORE_NAME
    if not is_database_address(store) and not Path(store).is_file():
        raise EvenrankError(f"{store}: no such file; name the store of the web app with --store")
    state = open_state(collection, settings)
    try:
        kept = load_list(state.store, token)
        if kept is None:
            raise EvenrankError("the store has no list with this token; it is the last part of the list's address")
        newest = newest_version(state, kept)
        if newest.data != state.data and may_save:
            made = make_next_version(state, newest)
            newest = load_list(state.store, save_list(state.store, made, newest.owner)) or newest
        elif newest.data != state.data:
            made = remake(state, newest)
            new = ("page_ids", "relevance", "reasons", "target", "comparison", "corrections")
            newest = replace(newest, **{name: getattr(made, name) for name in new})
        return make_listing(state, newest, settings.public_url)
    finally:
        state.close()


def wikitext_of(listing: Listing, form: str | ExportFormat, idiom: WikiIdiom = PLAIN) -> str:
    """The list as wikitext."""
    if isinstance(form, ExportFormat):
        return call_plug_in(f"export format {form.suffix}", form.write, listing)
    return numbered_list(listing) if form == "list" else sortable_table(listing, idiom)


def draft_listing(client: WikiClient, listing: Listing, place: Place) -> Draft:
    """The page as it would become, with the wiki's own templates of class and importance.

    A list in which nothing but the time has changed leaves the page as it is, so that a weekly refresh is no edit.
    """
    content = wikitext_of(listing, place.form, idiom_of(client))
    made = draft(client, place.page, content, place.name, create=place.create, discard_edits=place.discard_edits)
    before = find_block(made.old_text, place.name)
    is_same = before is not None and UPDATED.sub("", before.content) == UPDATED.sub("", made.content)
    return replace(made, new_text=made.old_text) if is_same else made


def publish_listing(
    client: WikiClient, listing: Listing, place: Place, summary: str, account: str, *, is_bot: bool = False
) -> Published:
    """Save the list on its page; when people save the page in the same moment, their text is read and kept."""
    for n_left in reversed(range(MAX_ATTEMPTS)):
        made = draft_listing(client, listing, place)
        try:
            return publish_draft(client, made, summary, account, is_bot=is_bot)
        except RefusedError as error:
            if error.code not in ("editconflict", "articleexists") or not n_left:
                raise
    raise AssertionError("unreachable")
