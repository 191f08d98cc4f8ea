"""`evenrank publish`: a run or a saved list on a page of a wiki."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from evenrank.cli.options import STORE, ModelOptions, model_options
from evenrank.errors import EvenrankError, MissingExtraError

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
RUN = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
PASSWORD = "EVENRANK_WIKI_PASSWORD"  # no password # nosec B105
"""Variable that holds the bot password."""


@click.command("publish")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.argument("run", metavar="[RUN]", type=RUN, required=False)
@click.option("--page", metavar="TITLE", help="Page of the wiki, e.g. 'Wikipedia:WikiProject Chess/Work list'.")
@click.option("--topic", type=int, help="Topic of RUN.  [default: its only one]")
@click.option("--rows", type=click.IntRange(min=1), help="Articles published.  [default: all]")
@click.option("--list", "token", metavar="TOKEN", help="A work list of the web app, computed again, in place of RUN.")
@click.option("--store", type=STORE, metavar="FILE|URL", help="The store with that list.  [default: DIR/desk.sqlite]")
@click.option(
    "--public-url", metavar="URL", default="", show_default=False, help="Address of the web app, for links on the page."
)
@click.option("--api", metavar="URL", help="The wiki's api.php, e.g. https://en.wikipedia.org/w/api.php.")
@click.option("--user", metavar="NAME", help="Bot password name: Account@purpose (see Special:BotPasswords).")
@click.option("--password-file", type=FILE, help=f"File with the bot password.  [default: the variable {PASSWORD}]")
@click.option("--contact", metavar="TEXT", help="E-mail or web address of the operator, which wikis ask for.")
@click.option("--name", default="list", help="Name of the list, when a page has several.")
@click.option("--form", type=click.Choice(["table", "list"]), default="table")
@click.option("--summary", default="Refresh the work list", help="Edit summary.")
@click.option("--create", is_flag=True, help="Create the page if it does not exist.")
@click.option("--discard-edits", is_flag=True, help="Replace the list although people edited it on the wiki.")
@click.option("--bot", is_flag=True, help="Mark the edit as a bot's.")
@click.option("--dry-run", is_flag=True, help="Print the difference; change nothing.")
@click.option("--print", "only_print", is_flag=True, help="Print the wikitext; ask no wiki.")
@model_options
def command(
    folder: Path,
    run: Path | None,
    page: str | None,
    topic: int | None,
    rows: int | None,
    token: str | None,
    store: Path | str | None,
    public_url: str,
    api: str | None,
    user: str | None,
    password_file: Path | None,
    contact: str | None,
    name: str,
    form: str,
    summary: str,
    create: bool,
    discard_edits: bool,
    bot: bool,
    dry_run: bool,
    only_print: bool,
    model: ModelOptions,
) -> None:
    """Publish a ranking of RUN (- for standard input), or a list of the web app, on a page of a wiki.

    The list is written between two markers; text around it is left alone. If people edited the list itself, nothing
    is changed unless --discard-edits says so, and an edit made in the same moment is never overwritten.
    """
    if (run is None) == (token is None):
        raise click.UsageError("name either a RUN or a list of the web app (--list)")
    try:
        from evenrank.app.exports.publish_list import WikiAccess, put_listing
        from evenrank.app.exports.publishing import Place, run_listing, saved_listing, wikitext_of
        from evenrank.app.settings import WebSettings
        from evenrank.trec.collection import Collection, as_run
    except ImportError as error:
        raise MissingExtraError("evenrank publish", "wiki") from error

    if run is not None:
        collection = Collection.open(folder)
        listing = run_listing(collection, as_run(collection, run), topic, rows)
    else:
        assert token is not None
        choice = model.choose(Collection.open(folder))
        settings = WebSettings(
            store=store,
            public_url=public_url.rstrip("/"),
            model=choice,
            wiki_api=(api or "") if contact else "",
            wiki_contact=contact or "",
        )
        listing = saved_listing(folder, settings, token, may_save=not (dry_run or only_print))
        listing = replace(listing, articles=listing.articles[:rows])
    if only_print:
        click.echo(wikitext_of(listing, form), nl=False)
        return
    needed = {"--page": page, "--api": api, "--contact": contact, **({} if dry_run else {"--user": user})}
    missing = [option for option, value in needed.items() if not value]
    if missing:
        raise click.UsageError(f"publishing needs {', '.join(missing)}")
    place = Place(page or "", name, form, create, discard_edits)
    access = WikiAccess(api or "", contact or "", user or "", "" if dry_run else _password(password_file))
    done = put_listing(listing, place, access, summary, is_bot=bot, dry_run=dry_run)
    outcome = "nothing to change" if done.revision is None else f"saved as revision {done.revision}"
    click.echo(done.difference or f"{done.title}: {outcome}")


def _password(path: Path | None) -> str:
    """The bot password, from a file that only its owner can read or from the environment; never an argument."""
    if path is None:
        password = os.environ.get(PASSWORD, "")
        if not password:
            raise EvenrankError(f"no bot password: set {PASSWORD}, or name a file with --password-file")
        return password.strip()
    if path.stat().st_mode & 0o077:
        raise EvenrankError(f"{path}: others can read the password (chmod 600 {path})")
    from evenrank.io.small_files import read_small_text

    return read_small_text(path, "name a file that holds the password alone").strip()
