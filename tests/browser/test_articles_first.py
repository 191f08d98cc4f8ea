"""Articles come first: where they begin, how much room each takes, and how the keyboard reaches them."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import Page, expect

HIGHEST = {(1280, 800): 420, (390, 844): 620}
"""Where the first article begins at the latest, by the size of the screen."""
MOST_FOCUSABLE = 120
MOST_HIGH = 90
"""Pixels of an article on a phone."""
FOCUSABLE = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
    .filter(item => item.tabIndex >= 0 && item.checkVisibility())"""
LENGTHEN = """row => {
    row.querySelector(".title").textContent = "Saint Bartholomew of the Northern Lighthouses and Their Keepers";
    for (const missing of row.querySelectorAll(".needs")) missing.textContent = "sources (0), images (0), links (1)";
}"""
"""Gives an article a long title, and much that is missing."""
HIDDEN_FACTS = """row => [...row.querySelectorAll(".chip, .groups")].flatMap(fact => {
    const words = document.createRange();
    words.selectNodeContents(fact);
    row.scrollIntoView({block: "center"});
    const ends = [...words.getClientRects()].filter(box => box.width).flatMap(
        box => [box.left + 1, box.right - 1].map(x => [x, (box.top + box.bottom) / 2, box.bottom])
    );
    return ends.filter(([x, y, bottom]) => {
        const seen = document.elementFromPoint(x, y);
        return bottom > row.getBoundingClientRect().bottom || !(fact.contains(seen) || seen.contains(fact));
    }).map(([x, y]) => `${fact.textContent} at ${x}, ${y}`);
})"""
"""Places of class and region that cannot be seen."""
QUESTIONS = ("title=Chess&keywords=chess%2C+pawns", "title=Chess&keywords=chess%2C+pawns&goal=world&fairness=10")


def make(page: Page, area: str, question: str) -> None:
    page.goto(f"/{area}/new?{question}")
    page.get_by_role("button", name="Make the list" if area == "lists" else "Save the search").click()
    page.wait_for_url(re.compile(rf"/{area}/[\w-]{{22}}$"), wait_until="load")


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize("screen", HIGHEST, ids=["desktop", "phone"])
@pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
def test_the_first_article_is_on_the_first_screen(
    open_page: Callable[..., Page], address: str, screen: tuple[int, int], language: str, has_script: bool
) -> None:
    page = open_page(has_script=has_script)
    page.set_viewport_size({"width": screen[0], "height": screen[1]})
    for question in QUESTIONS:
        make(page, "lists", question)
        page.context.add_cookies([{"name": "language", "value": language, "url": address}])
        page.reload()
        expect(page.locator("html")).to_have_attribute("lang", language)
        row = page.locator("table.articles tbody tr").first.bounding_box()
        assert row is not None
        assert row["y"] < HIGHEST[screen]
        page.context.add_cookies([{"name": "language", "value": "en", "url": address}])


@pytest.mark.parametrize("screen", HIGHEST, ids=["desktop", "phone"])
def test_warnings_and_accounts_leave_articles_on_the_first_screen(
    open_page: Callable[..., Page], address: str, screen: tuple[int, int]
) -> None:
    """A list of articles that people brought, all of one region, with the goal of the whole world."""
    page = open_page()
    page.set_viewport_size({"width": screen[0], "height": screen[1]})
    make(page, "lists", f"{QUESTIONS[0]}&best=FA")
    titles = page.request.get(f"{page.url}.txt?region=Europe").text()
    asked = urlencode({"title": "Our worklist", "text-1": titles, "goal": "world", "best": "Start"})
    make(page, "lists", asked)
    page.context.add_cookies([{"name": "language", "value": "fr", "url": address}])
    page.reload()
    expect(page.locator(".misfit")).to_be_visible()
    expect(page.locator(".accounts")).to_be_visible()
    row = page.locator("table.articles tbody tr").first.bounding_box()
    assert row is not None
    assert row["y"] < HIGHEST[screen]


@pytest.mark.parametrize("width", [320, 390])
def test_an_article_takes_little_room_on_a_phone(open_page: Callable[..., Page], width: int) -> None:
    page = open_page("phone")
    page.set_viewport_size({"width": width, "height": 844})
    make(page, "lists", QUESTIONS[0])
    page.locator("tbody tr").first.get_by_role("button", name="Claim").click()
    page.locator("tbody tr").first.get_by_role("button", name="Undo").wait_for()
    heights = page.locator("table.articles tbody tr").evaluate_all(
        "rows => rows.map(row => row.getBoundingClientRect().height)"
    )
    assert len(heights) == 100
    assert max(heights) <= MOST_HIGH
    page.locator("tbody tr").nth(3).locator(".row-menu > summary").click()
    panel = page.locator("tbody tr").nth(3).locator(".row-menu > div")
    expect(panel.get_by_role("button", name="Not our topic")).to_be_in_viewport()
    expect(panel).to_contain_text("Why it is here")


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize("width", [320, 390])
def test_class_and_region_can_be_read_under_a_long_title(
    open_page: Callable[..., Page], address: str, width: int, language: str
) -> None:
    """Nothing cuts them off or lies over them, whether or not the article is claimed and much is missing."""
    page = open_page("phone")
    page.set_viewport_size({"width": width, "height": 844})
    make(page, "lists", QUESTIONS[0])
    page.locator("tbody tr").first.get_by_role("button", name="Claim").click()
    page.locator("tbody tr").first.get_by_role("button", name="Undo").wait_for()
    page.context.add_cookies([{"name": "language", "value": language, "url": address}])
    page.reload()
    rows = page.locator("table.articles tbody tr")
    rows.evaluate_all(f"rows => rows.map({LENGTHEN})")
    assert page.locator(".title").nth(1).evaluate("title => title.getBoundingClientRect().height") > 36  # two lines
    hidden = rows.evaluate_all(f"rows => rows.flatMap({HIDDEN_FACTS})")
    assert hidden == []
    assert max(rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")) <= MOST_HIGH


def test_few_things_take_the_focus(open_page: Callable[..., Page]) -> None:
    """With script, the keyboard reaches one row of the table, and arrow keys the others."""
    page = open_page()
    make(page, "lists", QUESTIONS[0])
    assert page.evaluate(f"({FOCUSABLE})().length") <= MOST_FOCUSABLE


@pytest.mark.parametrize("screen", HIGHEST, ids=["desktop", "phone"])
def test_missing_articles_are_rows_like_the_others(open_page: Callable[..., Page], screen: tuple[int, int]) -> None:
    page = open_page()
    page.set_viewport_size({"width": screen[0], "height": screen[1]})
    make(page, "lists", QUESTIONS[0])
    page.goto(f"{page.url}/missing")
    rows = page.locator("table.articles tbody tr")
    assert rows.first.evaluate("row => row.getBoundingClientRect().y") < HIGHEST[screen]
    assert max(rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")) <= MOST_HIGH
    rows.nth(0).locator(".title").focus()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1).locator(".title")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(rows.nth(1).locator("td a").first).to_be_focused()


def test_arrow_keys_move_between_articles(open_page: Callable[..., Page]) -> None:
    page = open_page()
    make(page, "lists", QUESTIONS[0])
    rows = page.locator("table.articles tbody tr")
    rows.nth(0).get_by_role("button", name="Claim").focus()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1).get_by_role("button", name="Claim")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(rows.nth(1).locator(".row-menu > summary")).to_be_focused()
    page.keyboard.press("End")
    expect(rows.nth(99).locator(".row-menu > summary")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(rows.nth(0).get_by_role("button", name="Claim")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert not rows.nth(0).evaluate("row => row.parentNode.contains(document.activeElement)")
    page.keyboard.press("Shift+Tab")
    expect(rows.nth(0).locator(".row-menu > summary")).to_be_focused()
    page.keyboard.press("Enter")
    for name in ("Wrong region?", "Done", "Not our topic"):
        page.keyboard.press("ArrowRight")
        expect(rows.nth(0).locator(".row-menu").get_by_text(name, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows.nth(0).get_by_role("button", name="Undo")).to_be_focused()
    title = rows.nth(0).locator(".title").inner_text()
    expect(page.locator("#said")).to_have_text(f"Not our topic: {title}")


def test_marks_are_announced(open_page: Callable[..., Page]) -> None:
    page = open_page()
    make(page, "lists", QUESTIONS[0])
    row = page.locator("table.articles tbody tr").nth(4)
    title = row.locator(".title").inner_text()
    row.get_by_role("button", name="Claim").click()
    expect(page.get_by_role("status").filter(has_text="Claimed")).to_have_text(f"Claimed: {title}")
    row.get_by_role("button", name="Undo").click()
    expect(page.locator("#said")).to_have_text(f"Undone: {title}")


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
def test_a_claim_of_somebody_else_can_be_released(open_page: Callable[..., Page], has_script: bool) -> None:
    owner, first, second = open_page(), open_page(), open_page(has_script=has_script)
    make(owner, "lists", QUESTIONS[0])
    for page in (first, second):
        page.goto(owner.url)
    row = "table.articles tbody tr >> nth=2"
    first.locator(row).get_by_role("button", name="Claim").click()
    first.locator(row).get_by_role("button", name="Undo").wait_for()
    second.reload()
    second.locator(row).get_by_role("button", name="Release").click()
    expect(second.locator(row).get_by_role("button", name="Claim")).to_be_visible()


def test_groups_have_the_same_colours_everywhere(open_page: Callable[..., Page]) -> None:
    """The colour of a group is that of its place in the dimension, on every page."""
    page = open_page()
    make(page, "lists", QUESTIONS[0])
    address, colours = page.url, []
    for part in ("", "/fairness", "/campaign"):
        page.goto(address + part)
        found = page.locator("svg rect[class^=group-] >> visible=true").evaluate_all(
            "all => all.map(one => [one.textContent.trim().split(': ')[0], getComputedStyle(one).fill])"
        )
        colours += [(name, fill) for name, fill in found if name]
    assert len({name for name, _ in colours}) > 3
    assert len(set(colours)) == len({name for name, _ in colours})
