"""A project's way in Chromium, on a real MediaWiki: category, list, published, edited by people, refreshed."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import mwclient
import pytest
import uvicorn
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from evenrank.app.app import create_app
from evenrank.app.settings import WebSettings
from evenrank.cli.main import cli
from tests import mediawiki
from tests.app.oauth_provider import AccountProvider, account_provider
from tests.mediawiki import EDITOR, MediaWiki
from tests.wikipedia.mediawiki.conftest import real_articles

pytestmark = pytest.mark.xdist_group("mediawiki")
PAGE = "Project:Work list"
N_IN_CATEGORY = 12


@dataclass
class Place:
    """Everything that a project needs: a wiki, a server on its articles, accounts."""

    wiki: MediaWiki
    accounts: AccountProvider
    folder: Path
    address: str = ""

    def import_wiki(self) -> None:
        """The collection of the wiki as it is now."""
        dump, metadata = self.folder / "testwiki-20261115-pages-articles.xml", self.folder / "metadata.jsonl"
        dump.write_text(self.wiki.maintain("dumpBackup", "--current"))
        for words in (
            ["annotate", metadata, "--dump", dump, "--fresh"],
            ["collection", "import", self.folder / "collection", "--metadata", metadata, "--corpus", dump],
            ["index", self.folder / "collection"],
        ):
            result = CliRunner().invoke(cli, [str(word) for word in words])
            assert result.exit_code == 0, (words, result.output, result.exception)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    reason = mediawiki.missing()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("journey")
    wiki = MediaWiki()
    try:
        with account_provider("") as accounts:
            accounts.user = EDITOR[0]
            wiki.accept_tokens_of(accounts.settings().profile_url)
            articles = real_articles(24)
            ours = [(title, f"{text}\n[[Category:Our project]]") for title, text in articles[:N_IN_CATEGORY]]
            wiki.import_pages([*ours, *articles[N_IN_CATEGORY:], ("Template:Stub-Class", "'''Stub'''")])
            made = Place(wiki, accounts, folder)
            made.import_wiki()
            with serving(made) as address:
                made.address = address
                accounts.redirect_uri = f"{address}/sign-in/return"
                yield made
    finally:
        wiki.stop()


@contextmanager
def serving(place: Place) -> Iterator[str]:
    settings = WebSettings(
        store=place.folder / "desk.sqlite",
        reload_seconds=0.3,
        relevance_floor=0.0,
        wiki_api=place.wiki.api_url,
        wiki_contact="tests@example.org",
        wiki_site=place.wiki.site,
        wiki_url=f"{place.wiki.site}wiki/",
        sign_in=place.accounts.settings(),
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(place.folder / "collection", settings), log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def titles_on(page: Page) -> list[str]:
    """The articles of the published table, as a reader sees them."""
    return [
        text.removesuffix(" (talk)") for text in page.locator("table.wikitable tbody td:first-child").all_inner_texts()
    ]


def publish(page: Page, **choices: bool) -> None:
    """Show what would change, then save."""
    page.get_by_label("Page of the wiki").fill(PAGE)
    if choices.get("create"):
        page.get_by_label("Create the page").check()
    page.get_by_role("button", name="Show what would change").click()


def test_from_a_category_to_the_wiki_and_back(browser: Browser, place: Place) -> None:
    context = browser.new_context(base_url=place.address, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("link", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.locator("header")).to_contain_text(EDITOR[0])

    page.goto("/lists/new")
    page.locator("#title").fill("Our project")
    page.locator("#kind-1").evaluate("element => element.closest('details')?.setAttribute('open', '')")
    page.locator("#kind-1").select_option("category")
    page.locator("#text-1").fill("Our project")
    for name in ("least", "best"):
        page.locator(f"#{name}").evaluate("element => element.closest('details')?.setAttribute('open', '')")
    page.locator("#best").select_option("FA")
    page.get_by_role("button", name=re.compile("Make the list|Make")).first.click()
    page.wait_for_url(re.compile(r"/lists/[\w-]{22}"))
    list_address = page.url.partition("?")[0]

    page.goto(f"{list_address}/publish")
    publish(page, create=True)
    expect(page.locator("pre")).to_contain_text('+{| class="wikitable sortable"')
    page.get_by_role("button", name="Save on the wiki").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")

    page.get_by_role("status").get_by_role("link").click()
    titles = titles_on(page)
    assert 0 < len(titles) <= N_IN_CATEGORY
    assert page.locator("table.wikitable a[href*='Talk:']").count() == len(titles)
    page.locator("table.wikitable th.headerSort", has_text="Size").click()
    page.wait_for_selector("table.wikitable th.headerSortUp")
    sizes = [
        int(cell.get_attribute("data-sort-value") or 0)
        for cell in page.locator("table.wikitable td:nth-child(3)").all()
    ]
    assert sizes == sorted(sizes)
    page.screenshot(path=place.folder / "published.png", full_page=True)

    human = mwclient.Site(f"127.0.0.1:{place.wiki.port}", scheme="http", path="/w/")
    human.clientlogin(username=EDITOR[0], password=EDITOR[1])
    wiki_page = human.pages[PAGE]
    before = wiki_page.text(cache=False)
    wiki_page.save(
        f"Welcome to our project.\n{before.replace('|}', '|-' + chr(10) + '| mine' + chr(10) + '|}', 1)}", "edit"
    )
    page.goto(f"{list_address}/publish")
    publish(page)
    expect(page.get_by_role("alert").first).to_contain_text("was edited on the wiki")
    page.get_by_label("Discard what people wrote").check()
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator("pre")).to_contain_text("-| mine")
    assert "| mine" in wiki_page.text(cache=False)
    wiki_page.save(f"Welcome to our project.\n{before}", "back")

    gone = titles[0]
    place.wiki.put(gone, "#REDIRECT [[Main Page]]")
    place.import_wiki()
    page.goto(f"{list_address}/refresh")
    deadline = time.monotonic() + 30
    while page.get_by_text("The data have changed since.").count() == 0 and time.monotonic() < deadline:
        page.reload()
    page.get_by_role("button", name="Make the next version").click()
    expect(page.locator(".lead")).to_have_text(re.compile(r"1 deleted\.$"))
    expect(page.locator(".lead")).not_to_contain_text("0 ")
    expect(page.locator(".card", has_text="Deleted")).to_contain_text(gone)
    newest = page.url.partition("?")[0].removesuffix("/changes")
    page.goto(f"{newest}/publish")
    expect(page.locator("#page")).to_have_value(PAGE)  # the next version goes where the last one is
    publish(page)
    page.get_by_role("button", name="Save on the wiki").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    text = wiki_page.text(cache=False)
    assert text.startswith("Welcome to our project.\n<!-- Evenrank list")
    assert f"[[:{gone}]]" not in text
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    context.close()


def test_what_articles_lack_is_counted_on_the_wiki(browser: Browser, place: Place) -> None:
    """The dump is older than the article in which somebody has just asked for citations."""
    title, text = real_articles(24)[1]
    place.wiki.put(title, f"{text}\n{'New.{{Citation needed}} ' * 23}[[Category:Our project]]")
    context = browser.new_context(base_url=place.address, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto("/lists/new")
    page.locator("#title").fill("Our project")
    page.locator("#kind-1").evaluate("element => element.closest('details')?.setAttribute('open', '')")
    page.locator("#text-1").fill(title)
    page.locator("#best").evaluate("element => element.closest('details')?.setAttribute('open', '')")
    page.locator("#best").select_option("FA")
    page.get_by_role("button", name=re.compile("Make the list|Make")).first.click()
    page.wait_for_url(re.compile(r"/lists/[\w-]{22}"))
    expect(page.locator("table.articles")).not_to_contain_text(re.compile(r"2[3-9] citations needed"))
    page.get_by_role("button", name="Ask the wiki what these articles lack").click()
    expect(page.locator("table.articles")).to_contain_text(re.compile(r"2[3-9] citations needed"))
    page.screenshot(path=place.folder / "counted.png", full_page=True)
    page.goto(f"{page.url}?needs=citations")
    expect(page.locator("table.articles")).to_contain_text(title)
    context.close()
