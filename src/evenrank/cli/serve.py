"""`evenrank serve`: the web app on a collection."""

from __future__ import annotations

import time
from pathlib import Path

import click

from evenrank.cli.options import NEW_STORE, STORE, FiniteRange, chosen_model, model_options
from evenrank.cli.talk import is_quiet, say

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command("serve")
@click.argument("collection", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all.")
@click.option("--public-url", metavar="URL", default="", help="Address under which others reach the app, for links.")
@click.option(
    "--store",
    type=NEW_STORE,
    metavar="FILE|URL",
    help="Lists and draws. [DIR/desk.sqlite]",
)
@click.option("--wiki", metavar="URL", default="https://en.wikipedia.org/", show_default=True, help="Titles link here.")
@click.option(
    "--contact", metavar="TEXT", default="", help="Your e-mail or web address; lets people read from the wiki."
)
@click.option("--wiki-api", metavar="URL", default="", help="The wiki's api.php.  [default: w/api.php below --wiki]")
@click.option("--sign-in", "sign_in", metavar="FILE", type=FILE, help="Settings of sign-in with a wiki account.")
@click.option("--subjects", metavar="FILE", type=FILE, help="Subjects without an article (item, label), for red links.")
@click.option("--admin", "admins", metavar="NAME", multiple=True, help="An account that may administer the server.")
@click.option("--admin-link", is_flag=True, help="Print a secret link to the administration page.")
@click.option("--data-of", metavar="TEXT", default="", help="Age of the data.  [default: the dump's date]")
@click.option("--allow-host", "names", metavar="NAME", multiple=True, help="Another name of this server.")
@click.option("--proxy", metavar="ADDRESSES", default="", help="Proxies whose X-Forwarded-For is believed.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes that answer.")
@click.option(
    "--rate", type=FiniteRange(min=0.1), default=10.0, show_default=True, help="Changes per second from one address."
)
@model_options
@click.option("--judgments", type=STORE, metavar="FILE|URL", help="Judgments: adds pages of assessors and organisers.")
@click.option("--pool", type=FILE, help="Its pool, for the leave-one-run-out test.")
@click.option("--run", "runs", metavar="RUN", type=FILE, multiple=True, help="A run that organisers see scored.")
@click.option("--guidelines", type=FILE, help="Text on what counts as relevant, for assessors.")
def command(
    collection: Path,
    port: int,
    host: str,
    public_url: str,
    store: Path | str | None,
    wiki: str,
    contact: str,
    wiki_api: str,
    sign_in: Path | None,
    subjects: Path | None,
    admins: tuple[str, ...],
    admin_link: bool,
    data_of: str,
    names: tuple[str, ...],
    proxy: str,
    workers: int,
    rate: float,
    model: str,
    encoder: Path | None,
    pooling: str | None,
    device: str | None,
    judgments: Path | str | None,
    pool: Path | None,
    runs: tuple[Path, ...],
    guidelines: Path | None,
) -> None:
    """Serve work lists and saved searches of a collection; it needs an index (`evenrank index DIR`).

    Everything saved is in one SQLite file, or in a PostgreSQL database that several servers may share
    (--store postgresql://USER@HOST/NAME). With --judgments, assessors judge and organisers look on under
    /judge/SECRET, with the secrets that `evenrank judgments assessor` prints. Stop with Ctrl-C.
    """
    try:
        from evenrank.app.app import create_app, shared_by_workers
        from evenrank.app.articles.article_facts import save_facts
        from evenrank.app.articles.subjects import read_subjects
        from evenrank.app.listen import listen, server_of, show_log
        from evenrank.app.pages.admin import admin_key
        from evenrank.app.settings import WebSettings
        from evenrank.app.signin.settings import read_sign_in
        from evenrank.app.workers import run_workers
        from evenrank.wikipedia.mediawiki.settings import api_of
    except ImportError as error:
        from evenrank.errors import MissingExtraError

        raise MissingExtraError("evenrank serve", "web") from error
    from evenrank.trec.collection import Collection

    start = time.monotonic()
    show_log(is_quiet=is_quiet())
    opened, site = Collection.open(collection), wiki.rstrip("/") + "/"
    say(f"{collection}: {len(opened):,} articles")
    settings = WebSettings(
        store=store,
        facts_folder=store.parent if isinstance(store, Path) else None,
        public_url=public_url.rstrip("/"),
        data_of=data_of,
        wiki_site=site,
        wiki_url=f"{site}wiki/",
        wiki_api=(wiki_api or api_of(site)) if contact else "",
        wiki_contact=contact,
        sign_in=read_sign_in(sign_in) if sign_in else None,
        subjects=subjects,
        admins=admins,
        has_admin_link=admin_link,
        allowed_hosts=(*WebSettings().allowed_hosts, *names, host),
        allows_addresses=host not in LOOPBACK,
        writes_per_second=rate,
        reads_per_second=10 * rate,
        model=chosen_model(opened, model, encoder, pooling, device),
        judgments=judgments,
        pool=pool,
        runs=runs,
        guidelines=guidelines,
    )
    if subjects:
        say(f"{subjects}: {len(read_subjects(subjects).subjects):,} subjects without an article")
    save_facts(opened, settings.max_counted, folder=settings.facts_folder)
    del opened  # workers open the collection for themselves
    shared = shared_by_workers(settings)
    proxies = proxy or ("127.0.0.1" if public_url else "")

    def work() -> None:
        app = create_app(collection, settings, shared)
        say(f"ready after {time.monotonic() - start:.1f} s")
        if admin_link:
            link = f"{public_url.rstrip('/') or address.rstrip('/')}/admin/{admin_key(app.state.desk)}"
            click.echo(f"administration: {link}", err=True)
        server_of(app, proxies).run([socket])

    with listen(host, port) as socket:
        address = f"http://{f'[{host}]' if ':' in host else host}:{socket.getsockname()[1]}/"
        click.echo(f"{collection}: {address} (Ctrl-C stops)")
        if workers == 1:
            work()
        else:
            run_workers(workers, work)
