"""`evenrank.publish`: a ranking on a page of a wiki, or what would change there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run

if TYPE_CHECKING:
    from evenrank.app.exports.listing import ExportFormat, Listing
    from evenrank.app.exports.publishing import Place

SUMMARY = "Refresh the work list"


@dataclass(frozen=True)
class WikiAccess:
    """The wiki to publish on, and who does it."""

    api: str
    """Address of the wiki's api.php."""
    contact: str
    """E-mail or web address of the operator, which wikis ask for."""
    user: str = ""
    """Name of a bot password: Account@purpose. Only a dry run needs none."""
    password: str = ""
    """The bot password itself; it appears in no log and no error."""

    def __repr__(self) -> str:
        return f"WikiAccess({self.api!r}, {self.contact!r}, {self.user!r}, password hidden)"


@dataclass(frozen=True)
class Publication:
    """What became of a page of the wiki."""

    title: str
    revision: int | None
    """Number of the new revision; None when nothing had to change, and after a dry run."""
    difference: str = ""
    """What a dry run would change, as a unified diff; empty when nothing would."""


def publish(
    collection: Collection | FilePath,
    run: GivenRun,
    page: str,
    *,
    api: str,
    contact: str,
    user: str = "",
    password: str = "",
    topic: int | None = None,
    rows: int | None = None,
    name: str = "list",
    form: str | ExportFormat = "table",
    summary: str = SUMMARY,
    create: bool = False,
    discard_edits: bool = False,
    bot: bool = False,
    dry_run: bool = False,
) -> Publication:
    """Put the first ranking of a topic of a run on a page of a wiki, between two markers.

    `api` is the address of the wiki's api.php, `contact` an e-mail or web address of yours, `user` and `password` a
    bot password (Special:BotPasswords). `topic` may be left out when the run has only one; `rows` is how many
    articles are published. `form` is `table`, `list` or an `ExportFormat` that writes wikitext; `name` tells
    several lists on one page apart. Text around the list is left alone, and if people edited the list itself,
    nothing is changed unless `discard_edits` says so. With `dry_run` nothing is saved, and the result has the
    difference.
    """
    try:
        from evenrank.app.exports.listing import ExportFormat
        from evenrank.app.exports.publishing import Place, run_listing
    except ImportError as error:
        raise MissingExtraError("evenrank.publish", "wiki") from error

    opened = as_collection(collection)
    if form not in ("table", "list") and not isinstance(form, ExportFormat):
        raise EvenrankError(f"form is {form!r} (give 'table', 'list' or an ExportFormat)")
    listing = run_listing(opened, as_run(opened, run), topic, rows)
    place = Place(page, name, form, create, discard_edits)
    access = WikiAccess(api, contact, user, password)
    return put_listing(listing, place, access, summary, is_bot=bot, dry_run=dry_run)


def put_listing(
    listing: Listing, place: Place, access: WikiAccess, summary: str, *, is_bot: bool, dry_run: bool
) -> Publication:
    """Save a list on its page of the wiki, or say what a dry run would change."""
    from evenrank.app.exports.publishing import draft_listing, publish_listing
    from evenrank.wikipedia.mediawiki.client import WikiClient
    from evenrank.wikipedia.mediawiki.settings import WikiSettings

    with WikiClient(WikiSettings(access.api, access.contact)) as client:
        if dry_run:
            made = draft_listing(client, listing, place)
            return Publication(made.title, None, made.difference() if made.is_changed else "")
        if not access.user or not access.password:
            raise EvenrankError("publishing needs the name and the text of a bot password (user and password)")
        client.log_in(access.user, access.password)
        account = access.user.partition("@")[0]
        published = publish_listing(client, listing, place, summary, account, is_bot=is_bot)
    return Publication(published.title, published.revision)
