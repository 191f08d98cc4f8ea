"""The screenshots of the guides: starts the web app on a collection, visits its pages in Chromium, saves pictures.

    python docs/screenshots.py COLLECTION [-o docs/images] [--all] [--chromium /usr/bin/chromium]

Takes the pictures that the guides show, or with --all every page at both sizes and in both colour schemes. The
collection must have an index; use a generated one, because real people have no place in pictures. Lists are kept in a
temporary file, so pictures show nobody's work.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from screenshots_server import SIZES, serve

from evenrank.app.settings import WebSettings

FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
)
SHOWN = {
    ("desktop", "light"): ("home", "new-list", "list", "fairness", "search"),
    ("desktop", "dark"): ("draw",),
    ("phone", "light"): ("draw",),
    ("phone", "dark"): ("list",),
}
"""Pages that the guides show, by size and colour scheme."""
N_DRAWS = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "images")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--title", default="Chemistry")
    parser.add_argument("--keywords", default="electrochemistry, oxides, chemist")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(options.collection, WebSettings(store=Path(folder) / "desk.sqlite")) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=options.chromium, args=list(FLAGS))
        addresses = make_pages(browser, address, options.title, options.keywords)
        for look, kinds in SHOWN.items():
            take(browser, addresses, options.output, look, addresses if options.all else kinds)
        browser.close()


def make_pages(browser: Browser, address: str, title: str, keywords: str) -> dict[str, str]:
    """Addresses of one page of each kind, made as a visitor makes them."""
    page = browser.new_page()
    question = f"title={title}&keywords={keywords}".replace(" ", "+").replace(",", "%2C")
    found = {"home": f"{address}/", "about": f"{address}/about", "api": f"{address}/api"}
    found["new-list"] = f"{address}/lists/new?{question}"
    found["new-search"] = f"{address}/searches/new?{question}"
    page.goto(found["new-list"])
    page.get_by_role("button", name="Make the list").click()
    found["list"] = page.url
    found["fairness"] = f"{page.url}/fairness"
    page.goto(found["new-search"])
    page.get_by_role("button", name="Save the search").click()
    found["search"] = page.url
    for _ in range(N_DRAWS):
        page.get_by_role("button", name="Give me").click()
    mark_some(page)
    found["draw"] = page.url
    page.close()
    return found


def mark_some(page: Page) -> None:
    """Marks in the first rows, as an editor would leave them."""
    for place, label in ((0, "Done"), (2, "Not for me")):
        row = page.locator("tbody tr").nth(place)
        if label != "Done":
            row.locator(".row-menu > summary").click()
        row.get_by_role("button", name=label).first.click()
        row.get_by_text("Undo").wait_for()


def take(
    browser: Browser, addresses: dict[str, str], output: Path, look: tuple[str, str], kinds: Iterable[str]
) -> None:
    """Pictures of some pages at one size and colour scheme."""
    size, scheme = look
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    for kind in kinds:
        page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
        page.goto(addresses[kind])
        if kind == "fairness":
            page.locator(".plot").wait_for()
        is_whole = kind not in ("list", "draw")
        height = page.evaluate("document.documentElement.scrollHeight") if is_whole else SIZES[size]["height"]
        page.set_viewport_size({"width": SIZES[size]["width"], "height": height})  # what sticks to the edge stays there
        page.screenshot(path=output / f"{kind}-{size}-{scheme}.png")
    context.close()


if __name__ == "__main__":
    main()
