"""`evenrank serve`: the web app on a collection."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import click

from evenrank.app.settings import Option, WebSettings
from evenrank.cli.options import FiniteRange, ModelOptions, StoreLocation, model_options
from evenrank.cli.talk import is_quiet, say
from evenrank.core.settings import Setting, describe_settings

if TYPE_CHECKING:
    from evenrank.retrieval.model_choice import ModelChoice

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
Command = TypeVar("Command", bound=Callable[..., Any])


def web_options() -> dict[str, tuple[Setting, Option, Any]]:
    """The settings of the web app that are options, by name, each with its type."""
    hints = get_type_hints(WebSettings, include_extras=True)
    described = {setting.name: setting for setting in describe_settings(WebSettings)}
    annotated = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Annotated}
    return {name: (described[name], option, hint) for name, (hint, option) in annotated.items()}


def add_web_options(command: Command) -> Command:
    """Add an option for every setting of the web app that has one."""
    for name, (setting, option, hint) in reversed(web_options().items()):
        is_list = get_origin(hint) is tuple
        default = () if is_list else setting.default
        command = click.option(
            option.flag,
            name,
            type=_click_type(option, get_args(hint) or (hint,)),
            is_flag=hint is bool,
            multiple=is_list,
            metavar=option.metavar,
            default=default,
            show_default=bool(default),
            help=setting.explanation,
        )(command)
    return command


def _click_type(option: Option, types: tuple[Any, ...]) -> click.ParamType[Any]:
    """The type of an option whose setting may have any of some types."""
    if float in types:
        return FiniteRange(min=option.least)
    if Path in types and str in types:
        return StoreLocation(exists=option.exists)
    return FILE if Path in types or option.read else click.BOOL if bool in types else click.STRING


def web_settings(model: ModelChoice, host: str, chosen: dict[str, Any]) -> WebSettings:
    """The settings that the options describe, for a server that listens on a host."""
    from evenrank.wikipedia.mediawiki.settings import api_of

    for name, (_, option, _) in web_options().items():
        if option.read and chosen[name]:
            chosen[name] = option.read(chosen[name])
    site, store = chosen["wiki_site"].rstrip("/") + "/", chosen["store"]
    chosen |= {
        "public_url": chosen["public_url"].rstrip("/"),
        "wiki_site": site,
        "wiki_api": (chosen["wiki_api"] or api_of(site)) if chosen["wiki_contact"] else "",
        "has_admin_link": chosen["has_admin_link"] or chosen["renews_admin_link"],
        "allowed_hosts": (*WebSettings().allowed_hosts, *chosen["allowed_hosts"], host),
    }
    return WebSettings(
        **chosen,
        model=model,
        wiki_url=f"{site}wiki/",
        facts_folder=store.parent if isinstance(store, Path) else None,
        allows_addresses=host not in LOOPBACK,
        reads_per_second=10 * chosen["writes_per_second"],
    )


@click.command("serve")
@click.argument("collection", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="0 takes any free port.")
@click.option("--host", default="127.0.0.1", help="Address to listen on; 0.0.0.0 for all.")
@click.option(
    "--proxy", metavar="ADDRESSES", default="", show_default=False, help="Proxies whose X-Forwarded-For is believed."
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, help="Processes that answer.")
@click.option("--log-json", is_flag=True, help="Write the log as JSON, an object on each line.")
@add_web_options
@model_options
def command(
    collection: Path, port: int, host: str, proxy: str, workers: int, log_json: bool, model: ModelOptions, **chosen: Any
) -> None:
    """Serve work lists and saved searches of a collection; it needs an index (`evenrank index DIR`).

    Everything saved is in one SQLite file, or in a PostgreSQL database that several servers may share
    (--store postgresql://USER@HOST/NAME). With --judgments, assessors judge and organisers follow the work under
    /judge/SECRET, with the secrets that `evenrank judgments assessor` prints. Stop with Ctrl-C.
    """
    try:
        from evenrank.app.app import create_app, share_between_workers
        from evenrank.app.articles.article import save_facts
        from evenrank.app.articles.titles import read_subjects
        from evenrank.app.server import Supervisor, listen, make_server, show_log
        from evenrank.app.state import STORE_NAME
        from evenrank.app.storage.administration import admin_key, renew_admin_link
        from evenrank.app.storage.store import open_app_store
    except ImportError as error:
        from evenrank.errors import MissingExtraError

        raise MissingExtraError("evenrank serve", "web") from error
    from evenrank.trec.collection import Collection

    start = time.monotonic()
    show_log(is_quiet=is_quiet(), as_json=log_json)
    opened = Collection.open(collection)
    say(f"{collection}: {len(opened):,} articles")
    settings = web_settings(model.choose(opened), host, chosen)
    if settings.subjects:
        say(f"{settings.subjects}: {len(read_subjects(settings.subjects).subjects):,} subjects without an article")
    save_facts(opened, settings.max_counted, folder=settings.facts_folder)
    del opened  # workers open the collection for themselves
    if settings.renews_admin_link:
        with open_app_store(settings.store or collection / STORE_NAME) as store:
            renew_admin_link(store)
    shared = share_between_workers(settings)

    def work(tell_ready: Callable[[], None] = lambda: None) -> None:
        app = create_app(collection, settings, shared)
        tell_ready()
        say(f"ready after {time.monotonic() - start:.1f} s")
        if settings.has_admin_link:
            link = f"{settings.public_url or address.rstrip('/')}/admin/{admin_key(app.state.current.store)}"
            click.echo(f"administration: {link}", err=True)
        make_server(app, proxy or ("127.0.0.1" if settings.public_url else "")).run([socket])

    with listen(host, port) as socket:
        address = f"http://{f'[{host}]' if ':' in host else host}:{socket.getsockname()[1]}/"
        click.echo(f"{collection}: {address} (Ctrl-C stops)")
        if workers == 1:
            work()
        else:
            Supervisor(workers, work).run()
