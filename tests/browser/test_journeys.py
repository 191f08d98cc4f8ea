"""Both journeys from the landing page to the end, with and without script, on a phone and on a desktop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import Browser, Locator, Page, expect

VISITORS = [
    pytest.param("desktop", "light", True, id="desktop-light-script"),
    pytest.param("phone", "dark", True, id="phone-dark-script"),
    pytest.param("phone", "light", False, id="phone-light-plain"),
    pytest.param("desktop", "dark", False, id="desktop-dark-plain"),
]


def fits(page: Page) -> bool:
    """Whether the page is no wider than the screen (asked in a way that works without script)."""
    box = page.locator("main").bounding_box()
    assert box is not None
    assert page.viewport_size is not None
    return box["x"] + box["width"] <= page.viewport_size["width"]


def choose(row: Locator, action: str) -> None:
    """Chooses from the menu of a row."""
    row.locator(".row-menu > summary").click()
    row.locator(".row-menu").get_by_role("button", name=action).click()


@pytest.mark.parametrize("size, scheme, has_script", VISITORS)
def test_a_coordinator_makes_a_list(open_page: Callable[..., Page], size: str, scheme: str, has_script: bool) -> None:
    page = open_page(size, scheme, has_script)
    page.goto("/")
    page.get_by_role("link", name="New work list").last.click()
    page.get_by_label("Title of the project").fill("Chess")
    page.get_by_label("Keywords").press_sequentially("chess, pawns")
    if not has_script:
        page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="Preview")).to_contain_text("some of these words")
    page.locator("summary", has_text="Groups, strength and other ways").click()
    page.get_by_label("Strong –").check()
    page.get_by_role("button", name="Make the list").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Chess")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(101)
    assert fits(page)
    page.locator("summary", has_text="Filter and sort").click()
    page.get_by_role("combobox", name="Class").select_option("Stub")
    page.get_by_role("combobox", name="Region").select_option("Europe")
    page.get_by_role("button", name="Filter", exact=True).click()
    assert "class=Stub" in page.url
    assert "region=Europe" in page.url
    for row in rows.all()[1:4]:
        expect(row).to_contain_text("Stub")
        expect(row).to_contain_text("Europe")
    page.get_by_role("link", name="Show all").click()
    page.get_by_role("link", name="Page 2", exact=True).click()
    expect(page.get_by_role("table")).to_contain_text("101")

    page.get_by_text("Download").click()
    target = page.get_by_role("link", name="Wikitext, sortable table").get_attribute("href")
    assert target is not None
    assert '{| class="wikitable sortable"' in page.request.get(target).text()
    page.get_by_text("Download").click()

    page.get_by_role("link", name="Fairness", exact=True).click()
    expect(page.get_by_role("table", name="Share of the attention: Region")).to_contain_text("Africa")
    if not has_script:
        page.get_by_role("link", name="Show the trade-off").click()
    expect(page.get_by_role("img", name="Relevance kept against fairness")).to_be_visible()
    assert fits(page)


@pytest.mark.parametrize("size, scheme, has_script", VISITORS)
def test_an_editor_draws_and_marks(open_page: Callable[..., Page], size: str, scheme: str, has_script: bool) -> None:
    page = open_page(size, scheme, has_script)
    page.goto("/")
    page.get_by_role("link", name="New saved search").last.click()
    page.get_by_label("Title of the project").fill("Chess")
    page.get_by_label("Keywords").fill("chess")
    page.get_by_role("button", name="Save the search").click()
    search = page.url
    page.get_by_role("button", name="Give me 50 articles").click()
    assert page.url == f"{search}/draws/1"
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(51)
    assert fits(page)

    done, unwanted = (rows.nth(place).locator(".title").inner_text() for place in (1, 2))
    rows.nth(1).get_by_role("button", name="Done").click()
    expect(rows.nth(1).get_by_role("button", name="Undo")).to_be_visible()
    if has_script:
        expect(rows.nth(1).get_by_role("button", name="Undo")).to_be_focused()
    choose(rows.nth(2), "Not for me")
    expect(rows.nth(2).get_by_role("button", name="Undo")).to_be_visible()
    page.goto(f"{search}/draws/1")
    expect(rows.nth(1)).to_contain_text("Done")
    rows.nth(2).get_by_role("button", name="Undo").click()
    expect(rows.nth(2).locator(".mark").get_by_role("button", name="Done")).to_be_visible()
    choose(rows.nth(2), "Not for me")
    expect(rows.nth(2).get_by_role("button", name="Undo")).to_be_visible()

    for number in (2, 3, 4):
        page.get_by_role("button", name="Give me 50 more").click()
        expect(page).to_have_url(f"{search}/draws/{number}")
        expect(rows).to_have_count(51)
        shown = page.get_by_role("table").locator(".title").all_inner_texts()
        assert len(shown) == 50
        assert not {done, unwanted}.intersection(shown)
    first = page.get_by_role("table").inner_text()
    page.reload()
    assert page.get_by_role("table").inner_text() == first

    page.goto(search)
    expect(page.get_by_role("region", name="Fairness in short")).to_contain_text("of the attention")
    page.get_by_role("link", name="Fairness", exact=True).click()
    expect(page.get_by_role("img", name="Distance from the goal after each draw")).to_be_visible()
    assert fits(page)


def test_the_goal_follows_the_words_and_the_choice(open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto("/lists/new")
    goal = page.get_by_role("region", name="What the goal means")
    expect(goal).to_contain_text("Once articles are found")
    page.get_by_label("Title of the project").press_sequentially("Chess")
    expect(goal).to_contain_text("The list would have")
    expect(goal.get_by_role("row", name="Asia")).to_be_visible()
    before = goal.inner_text()
    page.get_by_label("The same for every group").check()
    expect(goal).not_to_have_text(before, use_inner_text=True)
    page.locator("summary", has_text="Length, size and other limits").click()
    page.get_by_label("Maximum number of articles").fill("7")
    page.get_by_label("Maximum number of articles").press("Tab")
    expect(goal).to_contain_text("The list would have 7 articles")
    titles = page.request.post("/lists", form={"title": "Chess", "length": "3"}, headers={"Origin": page.url[:-10]})
    page.locator("summary", has_text="Your own articles").click()
    page.get_by_label("Titles or page ids, one per line").first.fill(page.request.get(f"{titles.url}.txt").text())
    expect(goal).to_contain_text("The list would have 3 articles")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("3 of the articles that you brought would be ranked.")
    page.get_by_label("From class").select_option("GA")
    page.get_by_label("up to class").select_option("FA")
    expect(preview).not_to_contain_text("3 of the articles that you brought")


def test_the_preview_follows_the_words(open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto("/lists/new")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("Type a title")
    page.get_by_label("Title of the project").press_sequentially("zzzz")
    expect(preview).to_contain_text("No article has any of these words")
    page.get_by_label("Keywords").press_sequentially("chess")
    expect(preview).to_contain_text("some of these words")


def test_two_editors_draw_at_the_same_time(open_page: Callable[..., Page]) -> None:
    one, two = open_page(), open_page("phone")
    one.goto("/searches/new?title=Chess&keywords=chess")
    one.get_by_role("button", name="Save the search").click()
    two.goto(one.url)
    one.get_by_role("button", name="Give me").click(no_wait_after=True)
    two.get_by_role("button", name="Give me").click(no_wait_after=True)
    one.wait_for_url("**/draws/*")
    two.wait_for_url("**/draws/*")
    assert {one.url.rsplit("/", 1)[1], two.url.rsplit("/", 1)[1]} == {"1", "2"}


def test_the_keyboard_reaches_the_content(open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


@pytest.mark.parametrize("size, scheme, has_script", VISITORS)
def test_a_coordinator_brings_articles_and_works_on_the_list(
    open_page: Callable[..., Page], size: str, scheme: str, has_script: bool
) -> None:
    """Own articles in, checked, ranked; claimed, done, undone; renamed, found again, kept private."""
    page, other = open_page(size, scheme, has_script), open_page()
    page.goto("/lists/new?title=Chess&keywords=chess")
    page.get_by_role("button", name="Make the list").click()
    page.locator(".articles .title").nth(40).wait_for()
    titles = page.locator(".articles .title").all_inner_texts()[:40]

    page.goto("/lists/new?title=Our+own&keywords=chess&best=FA")
    page.locator("summary", has_text="Your own articles").click()
    page.get_by_label("Titles or page ids, one per line").first.fill("\n".join([*titles, "No such article"]))
    page.get_by_role("button", name="Check the articles").click()
    expect(page.locator("main")).to_contain_text("40 of 41 found")
    page.get_by_role("radio", name="Like your subject Each").check()
    if has_script:
        page.wait_for_load_state("networkidle")
    page.get_by_role("button", name="Make the list").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Our own")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(41)
    assert fits(page)
    address = page.url

    rows.nth(1).get_by_role("button", name="Claim").click()
    state = rows.nth(1).locator(".marked")
    expect(state).to_have_text("Claimed")
    if size == "desktop":
        rows.nth(1).get_by_role("button", name="Start").click()
        expect(state).to_have_text("In work")
    rows.nth(1).locator(".mark").get_by_role("button", name="Done").click()
    expect(state).to_have_text("Done")
    rows.nth(1).get_by_role("button", name="Undo").click()
    expect(rows.nth(1).get_by_role("button", name="Claim")).to_be_visible()
    choose(rows.nth(2), "Not our topic")
    expect(rows.nth(2)).to_contain_text("Not our topic")

    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Title", exact=True).fill("Our articles")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("button", name="Make it private").click()
    expect(page.get_by_text("Only you, and people you name")).to_be_visible()
    page.get_by_role("link", name="My lists").click()
    expect(page.get_by_role("link", name="Our articles", exact=True)).to_be_visible()
    answer = other.request.get(address)
    assert answer.status == 404


def test_marks_say_when_the_server_cannot_be_reached(browser: Browser, address: str) -> None:
    page = browser.new_page(base_url=address)
    page.goto("/searches/new?title=Chess&keywords=chess")
    page.get_by_role("button", name="Save the search").click()
    page.get_by_role("button", name="Give me").click()
    page.wait_for_url("**/draws/*", wait_until="load")  # a click before the scripts are there sends the form
    page.route("**/marks", lambda route: route.fulfill(status=503, body="no"))
    page.get_by_role("button", name="Done").first.click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved")
    page.unroute("**/marks")
    page.get_by_role("button", name="Done").first.click()
    expect(page.get_by_role("button", name="Undo").first).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()
    page.close()


def test_back_keeps_the_form(open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto("/lists/new")
    page.get_by_label("Title of the project").fill("Chess")
    page.get_by_label("Keywords").fill("chess, pawns")
    page.get_by_role("button", name="Make the list").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chess")
    page.go_back()
    expect(page.get_by_label("Title of the project")).to_have_value("Chess")
    expect(page.get_by_label("Keywords")).to_have_value("chess, pawns")
    expect(page.get_by_role("button", name="Make the list")).to_be_enabled()
    expect(page.locator("#preview")).to_contain_text("The best matches, before fairness:")
    expect(page.locator("#goal")).to_contain_text("The list would have")


def test_arabic_is_written_from_right_to_left(open_page: Callable[..., Page]) -> None:
    page = open_page("phone")
    page.goto("/")
    page.get_by_label("Language").select_option("ar")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.get_by_role("heading", level=1)).to_have_text("قوائم عمل عادلة لويكيبيديا")
    page.goto("/lists/new?title=Chess&keywords=chess")
    page.get_by_role("button", name="أعدّ القائمة").click()
    expect(page.get_by_role("table")).to_be_visible()
    assert fits(page)


def test_a_preview_says_when_it_is_out_of_date(browser: Browser, address: str) -> None:
    context = browser.new_context(base_url=address)
    page = context.new_page()
    page.goto("/lists/new")
    context.set_offline(True)
    page.locator("#title").press_sequentially("Chess")
    expect(page.locator("#trouble")).to_contain_text("The preview is out of date", timeout=30_000)
    context.set_offline(False)
    page.locator("#keywords").press_sequentially("chess")
    expect(page.locator("#trouble")).to_be_hidden(timeout=30_000)
    context.close()


@pytest.mark.parametrize("kind", ["list", "search"])
@pytest.mark.parametrize("width", [320, 390, 700])
def test_menus_stay_on_a_narrow_screen(open_page: Callable[..., Page], kind: str, width: int) -> None:
    page = open_page("phone")
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(f"/{'lists' if kind == 'list' else 'searches'}/new?title=Chess&keywords=chess")
    page.get_by_role("button", name="Make the list" if kind == "list" else "Save the search").click()
    if kind == "search":
        page.get_by_role("button", name="Give me 50 articles").click()
        page.locator(".back a").click()
    for summary in page.locator(".exports > summary").all():
        summary.click()
        panel = summary.locator("xpath=following-sibling::*").bounding_box()
        assert panel is not None
        assert panel["x"] >= 0
        assert panel["x"] + panel["width"] <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
