"""Assessors in a real browser: keys alone judge a pool, nothing is lost, and typing judges nothing."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, Route, expect

from evenrank.app.app import create_app
from evenrank.app.settings import WebSettings
from evenrank.trec.assessment.queues import add_remark, queue
from evenrank.trec.assessment.votes import Vote, all_votes, cast_vote, current_votes, open_store, set_max_grade
from evenrank.trec.collection import Collection
from tests.desk_collections import shared_generated
from tests.judging_files import JudgingFiles, make_judging

GONE = 2_000_000_001
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return shared_generated(tmp_path_factory)


@pytest.fixture
def files(collection: Collection, tmp_path: Path) -> JudgingFiles:
    return make_judging(tmp_path, collection, missing=GONE)


@pytest.fixture
def address(collection: Collection, files: JudgingFiles, tmp_path: Path) -> Iterator[str]:
    """A server with a judgments file of its own for each test."""
    settings = WebSettings(store=tmp_path / "desk.sqlite", reads_per_second=1e6, writes_per_second=1e6)
    with serving(collection.path, files.settings(settings)) as found:
        yield found


@contextmanager
def serving(collection: Path, settings: WebSettings) -> Iterator[str]:
    """The address of a server that runs in a thread."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(collection, settings), log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def votes_of(files: JudgingFiles, name: str = "Ada") -> list[Vote]:
    with open_store(files.judgments) as store:
        return [vote for vote in all_votes(store) if vote.assessor == name]


def pages_of(files: JudgingFiles, name: str = "Ada") -> list[tuple[int, int]]:
    with open_store(files.judgments) as store:
        return [(item.topic, item.page) for item in queue(store, name)]


def first_article(page: Page, files: JudgingFiles, name: str = "Ada") -> None:
    page.goto(f"/judge/{files.secrets[name]}/next")
    expect(page.locator("#article")).to_be_visible()


def press(page: Page, key: str) -> None:
    """Press a key and wait for the page that it brings."""
    before = page.url
    page.keyboard.press(key)
    page.wait_for_url(lambda url: url != before)


def test_two_assessors_judge_the_pool_with_keys_alone(open_page: OpenPage, files: JudgingFiles) -> None:
    for name, keys in (("Ada", "10xs"), ("Ben", "1s0")):
        page = open_page()
        page.goto(f"/judge/{files.secrets[name]}")
        pages = pages_of(files, name)
        for number, (topic, page_id) in enumerate(pages):
            if not page.url.endswith(f"/{topic}/{page_id}"):
                press(page, "Enter")  # from the overview, and from a finished topic to the next
            assert page.url.endswith(f"/{topic}/{page_id}")
            press(page, keys[number % len(keys)] if page_id != GONE else "x")
        expect(page.get_by_role("link", name="Look again at the")).to_be_visible()
        said = {"1": ("graded", 1), "0": ("graded", 0), "x": ("unassessable", None), "s": ("skipped", None)}
        wanted = [said[keys[n % len(keys)] if page_id != GONE else "x"] for n, (_, page_id) in enumerate(pages)]
        votes = votes_of(files, name)
        assert [(vote.topic, vote.page) for vote in votes] == pages
        assert [(vote.outcome, vote.grade) for vote in votes] == wanted
        assert all(vote.seconds is not None for vote in votes)


def test_a_reload_loses_nothing(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page()
    first_article(page, files)
    press(page, "1")
    press(page, "s")
    page.keyboard.press("c")
    page.keyboard.type("half a thought, 100 sure")
    address = page.url
    page.reload()
    assert page.url == address
    expect(page.locator("#comment")).to_have_value("half a thought, 100 sure")
    expect(page.locator(".counts").first).to_have_text(re.compile(r"Judged 1 of \d+ · 1 skipped"))
    press(page, "0")
    assert votes_of(files)[-1].comment == "half a thought, 100 sure"
    expect(page.locator("#comment")).to_have_value("")
    page.goto(f"/judge/{files.secrets['Ada']}")
    press(page, "Enter")  # goes on where it was left
    assert page.url.endswith("/{}/{}".format(*pages_of(files)[3]))


def test_typing_in_the_comment_box_judges_nothing(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page()
    first_article(page, files)
    address = page.url
    page.keyboard.press("c")
    expect(page.locator("#comment")).to_be_focused()
    page.keyboard.type("10xsu?cm 1 0")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert page.url == address
    assert votes_of(files) == []
    page.keyboard.press("Escape")
    press(page, "1")
    [vote] = votes_of(files)
    assert (vote.grade, vote.comment) == (1, "10xsu?cm 1 \n0")


def test_keys_can_be_switched_off_and_stay_off(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page()
    first_article(page, files)
    address = page.url
    page.keyboard.press("?")
    page.get_by_label("Use these keys").uncheck()
    page.reload()
    page.locator("#article").focus()
    for key in ("1", "0", "x", "s", "u", "c", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    assert page.url == address
    assert votes_of(files) == []
    expect(page.locator("#comment")).not_to_be_focused()
    page.locator(".help summary").click()
    page.get_by_label("Use these keys").check()
    press(page, "1")
    assert len(votes_of(files)) == 1


def test_keys_with_modifiers_belong_to_the_browser(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page()
    first_article(page, files)
    for key in ("Control+1", "Alt+0", "Meta+x"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    assert votes_of(files) == []


def test_a_key_held_down_judges_once(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page()
    first_article(page, files)
    before = page.url
    for _ in range(10):
        page.keyboard.down("1")
    page.wait_for_url(lambda url: url != before)
    for _ in range(10):
        page.keyboard.down("1")
    page.wait_for_timeout(200)
    assert len(votes_of(files)) == 1


def test_undo_and_arrows(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page()
    first_article(page, files)
    first = page.url
    press(page, "1")
    second = page.url
    press(page, "0")
    press(page, "u")
    assert page.url == second
    assert page.locator(".mine").count() == 0
    expect(page.locator("#said")).to_contain_text("Undone.")
    press(page, "u")
    assert page.url == first
    assert [vote.outcome for vote in votes_of(files)] == ["graded", "graded", "withdrawn", "withdrawn"]
    press(page, "ArrowRight")
    assert page.url == second
    press(page, "ArrowLeft")
    assert page.url == first
    press(page, "1")
    press(page, "ArrowLeft")
    expect(page.locator(".mine")).to_contain_text("Relevant")
    page.go_back()
    expect(page.locator(".mine")).to_have_count(0)


def test_focus_and_voice_follow_the_article(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page()
    first_article(page, files)
    page.keyboard.press("m")
    expect(page.locator("mark.here")).to_be_in_viewport()
    title = page.locator("#article").inner_text()
    press(page, "1")
    expect(page.locator("#article")).to_be_focused()
    expect(page.locator("#said")).to_contain_text(f"Saved: Relevant, {title}")


def test_an_answer_that_got_no_reply_is_sent_again_and_stored_once(
    browser: Browser, address: str, files: JudgingFiles
) -> None:
    """The server stores the answer, but its reply never arrives: the page says so, and the same key sends it again."""
    page = browser.new_page(base_url=address)
    first_article(page, files)
    before = page.url

    broken: list[str] = []

    def store_and_break(route: Route) -> None:
        if route.request.method != "POST" or broken:  # whatever else still asks for the page
            route.continue_()
            return
        broken.append(route.request.url)
        route.fetch(max_redirects=0)
        route.abort()

    page.route(before, store_and_break)
    page.keyboard.press("1")
    expect(page.locator(".failed")).to_contain_text("Not saved. The server does not answer.")
    assert page.url == before
    press(page, "1")
    assert [vote.grade for vote in votes_of(files)] == [1]
    page.close()


def test_two_tabs_on_the_same_article(open_page: OpenPage, files: JudgingFiles) -> None:
    first, second = open_page(), open_page()
    for page in (first, second):
        first_article(page, files)
    press(first, "1")
    press(second, "0")
    expect(second.get_by_text("in another window")).to_be_visible()
    assert [vote.grade for vote in votes_of(files)] == [1, 0]
    with open_store(files.judgments) as store:
        assert [vote.grade for vote in current_votes(store)] == [0]


def test_without_javascript_everything_works_with_tab_and_enter(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page(has_script=False)
    page.goto(f"/judge/{files.secrets['Ada']}")
    page.get_by_role("link", name="Start judging").press("Enter")
    for name, outcome in (("Relevant", 1), ("Not relevant", 0), ("Cannot judge", None), ("Skip", None)):
        page.locator("#comment").fill(f"1 {name}")
        page.get_by_role("button", name=name, exact=True).press("Enter")
        vote = votes_of(files)[-1]
        assert (vote.grade, vote.comment) == (outcome, f"1 {name}")
        assert vote.seconds is not None
    page.get_by_role("button", name="Undo").press("Enter")
    assert votes_of(files)[-1].outcome == "withdrawn"


def test_an_organiser_settles_with_keys(open_page: OpenPage, files: JudgingFiles) -> None:
    for name, key in (("Ada", "1"), ("Ben", "0")):
        page = open_page()
        first_article(page, files, name)
        press(page, key)
        page.goto(f"/judge/{files.secrets[name]}/{'/'.join(map(str, pages_of(files, 'Ada')[0]))}")
        page.keyboard.press(key)
        expect(page.locator("#saved")).to_contain_text("Saved")
    page = open_page()
    page.goto(f"/organise/{files.secrets['Olga']}/agreement")
    press(page, "Enter")
    expect(page.locator(".votes")).to_contain_text("Ada")
    press(page, "x")
    ruling = votes_of(files, "Olga")[-1]
    assert (ruling.outcome, ruling.method) == ("unassessable", "adjudication")


def disagree(files: JudgingFiles, n_pages: int) -> list[tuple[int, int]]:
    """The first pages of the pool, on which Ada and Ben differ now."""
    with open_store(files.judgments) as store:
        pages = sorted((item.topic, item.page) for item in queue(store, "Ada"))[:n_pages]
        for number, (topic, page) in enumerate(pages):
            for name, grade in (("Ada", 1), ("Ben", 0)):
                cast_vote(store, Vote(f"{name}-differs-{number}", topic, page, name, "graded", grade, seconds=9.0))
    return pages


def test_disagreements_are_discussed_and_settled_in_one_flow_with_keys(
    open_page: OpenPage, files: JudgingFiles
) -> None:
    """From the first page to the last disagreement without a mouse: a remark leads on, arrows move, rulings end it."""
    first, second, third = disagree(files, 3)
    page = open_page()
    page.goto(f"/organise/{files.secrets['Olga']}")
    press(page, "Enter")
    assert page.url.endswith("/{}/{}".format(*first))
    page.keyboard.press("r")
    page.keyboard.type("Why 1 and not 0?")
    before = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != before)
    assert "/{}/{}?".format(*second) in page.url  # the remark is saved, and the next one waits
    expect(page.get_by_role("status").filter(has_text="The remark was saved")).to_be_visible()
    expect(page.locator(".counts-line")).to_contain_text("3 to settle · 1 wait")
    press(page, "1")
    assert page.url.endswith("/{}/{}".format(*third))
    press(page, "ArrowRight")
    assert page.url.endswith("/{}/{}".format(*first))  # what waits for an answer comes last
    press(page, "ArrowLeft")
    press(page, "0")
    assert page.url.endswith("/{}/{}".format(*first))
    press(page, "x")
    assert page.url.endswith("/agreement")
    assert [(vote.topic, vote.page) for vote in votes_of(files, "Olga")] == [second, third, first]


BROKEN_WORDS = r"""() => [...document.querySelectorAll('.answer')].flatMap(button => [...button.childNodes])
    .filter(node => node.nodeType === Node.TEXT_NODE)
    .flatMap(node => [...node.data.matchAll(/\S+/g)].filter(word => {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        return range.getClientRects().length > 1;
    }).map(word => word[0]))"""
"""Words on answers that are broken over two lines."""


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_discussion_grades_and_key_help_leave_the_article_in_view(
    open_page: OpenPage, files: JudgingFiles, size: str
) -> None:
    with open_store(files.judgments) as store:
        set_max_grade(store, 3)
        item = next(queue(store, "Ada"))
        topic, number = item.topic, item.page
        cast_vote(store, Vote("ada-says-no", topic, number, "Ada", "graded", 0, seconds=9.0))
        cast_vote(store, Vote("ben-says-yes", topic, number, "Ben", "graded", 3, seconds=9.0))
        for count in range(8):
            add_remark(store, f"remark-{count}", topic, number, "Olga", "A long remark about the scope. " * 12)
    page = open_page(size)
    for address in (f"/judge/{files.secrets['Ada']}", f"/organise/{files.secrets['Olga']}/settle"):
        page.goto(f"{address}/{topic}/{number}")
        text = page.locator("article .found").bounding_box()
        assert text is not None
        assert text["y"] < 420, f"the article starts at {text['y']}"
        tops = {round(button.bounding_box()["y"]) for button in page.locator(".answer").all()[:4]}  # type: ignore[index]
        assert len(tops) == 1, "the four grades are in one row"
        assert page.evaluate(BROKEN_WORDS) == []
        page.locator(".help summary").click()
        last = page.locator(".help-card dd").last
        expect(last).to_be_in_viewport(ratio=1)
        expect(page.locator(".help-card kbd").last).to_be_visible()


def test_rows_on_a_phone_show_their_numbers_without_scrolling_sideways(
    open_page: OpenPage, files: JudgingFiles
) -> None:
    disagree(files, 3)
    page = open_page("phone")
    page.goto(f"/organise/{files.secrets['Olga']}")
    for number in page.locator(".coverage tbody tr:first-child td:not(.zero)").all():
        box = number.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 320
        assert box["x"] >= 0
    page.locator(".coverage tbody").get_by_role("link", name="3", exact=True).first.click()
    expect(page.locator(".stacked tbody tr")).to_have_count(3)
    expect(page.locator(".stacked tbody tr").first).to_contain_text("Ada: Relevant")


LONGER = pytest.param("desktop", "dark", marks=pytest.mark.long)


def test_on_a_phone_what_counts_is_one_touch_away(open_page: OpenPage, files: JudgingFiles) -> None:
    page = open_page("phone")
    first_article(page, files, "Ada")
    press(page, "1")
    title = page.locator("h1").inner_text()
    page.get_by_role("link", name="What counts").click()
    expect(page.locator("#topic")).to_be_in_viewport()
    page.wait_for_timeout(300)
    expect(page.locator("#topic")).to_be_in_viewport()
    assert page.locator("h1").inner_text() == title
    page.go_back()
    expect(page.locator("h1")).to_have_text(title)


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), LONGER, ("phone", "light")])
def test_axe_finds_nothing_and_nothing_sticks_out(
    open_page: OpenPage, files: JudgingFiles, axe: str, size: str, scheme: str
) -> None:
    page = open_page(size, scheme)
    judge, organise = f"/judge/{files.secrets['Ada']}", f"/organise/{files.secrets['Olga']}"
    (topic, page_id), (_, skipped), *_ = pages_of(files)
    with open_store(files.judgments) as store:
        set_max_grade(store, 3)
    for name, key in (("Ada", "1"), ("Ben", "0")):
        for number, pressed in ((page_id, key), (skipped, "s")):
            page.goto(f"/judge/{files.secrets[name]}/{topic}/{number}")
            page.keyboard.press(pressed)
            expect(page.locator("#saved")).to_contain_text("Saved")
    page.goto(f"{organise}/settle")
    page.get_by_label("Your remark").fill("Why do you think so?")
    page.get_by_role("button", name="Add the remark").click()
    expect(page.locator("main")).to_contain_text("Why do you think so?")
    page.goto(f"{judge}/{topic}/{page_id}")
    expect(page.locator("main")).to_contain_text("Why do you think so?")
    expect(page.get_by_role("button", name="Highly relevant")).to_be_visible()
    found = {}
    paths = [judge, f"{judge}/next", f"{judge}/{topic}", f"{judge}/{topic}/{page_id}", f"{judge}/{topic}/{GONE}"]
    paths += [f"{organise}{part}" for part in ("", "/agreement", "/settle", "/scores", "/people", "/pages", "/log")]
    paths += [f"{organise}/pages?state=skipped", f"{organise}/settle/{topic}/{page_id}"]
    for path in paths:
        page.goto(path)
        if page.locator(".help summary").count():
            page.locator(".help summary").click()
        page.evaluate(axe)
        result = page.evaluate("axe.run({resultTypes: ['violations'], rules: {'target-size': {enabled: true}}})")
        found[path] = [(v["id"], [node["target"] for node in v["nodes"]][:3]) for v in result["violations"]]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
    assert not any(found.values()), found
