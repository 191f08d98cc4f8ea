"""Every page, at both sizes and in both colour schemes: axe-core finds nothing, and nothing sticks out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import Page

QUESTION = "title=Chess&keywords=chess%2C+pawns"


@pytest.fixture(scope="module")
def addresses(browser, address: str, admin_link: str) -> dict[str, str]:
    """One page of each kind."""
    page = browser.new_page(base_url=address)
    found = {name: f"/{name}" for name in ("", "about", "api", "mine")}
    found["admin"] = admin_link
    found["ask for a list"] = f"/lists/new?{QUESTION}"
    page.goto(found["ask for a list"])
    page.get_by_role("button", name="Make the list").click()
    found.update({"list": page.url, "fairness": f"{page.url}/fairness", "nothing passes": f"{page.url}?q=zzzzz"})
    found |= {
        part: f"{page.url}/{part}" for part in ("campaign", "manage", "refresh", "publish", "missing", "trade-off")
    }
    found["corrections"] = f"{page.url}/corrections"
    page.locator(".row-menu > summary").first.click()
    page.get_by_role("link", name="Wrong region?").click()
    found["correct a region"] = page.url
    page.get_by_label("Note").fill("The data name the wrong country.")
    page.get_by_role("button", name="Correct the region").click()
    page.goto(found["list"])
    page.get_by_role("button", name="Claim").first.click()
    page.get_by_role("button", name="Start").first.wait_for()
    page.goto(found["refresh"])
    page.get_by_role("button", name="Make the next version").click()
    found["changes"] = page.url
    found["ask for a search"] = f"/searches/new?{QUESTION}"
    page.goto(found["ask for a search"])
    page.get_by_role("button", name="Save the search").click()
    found |= {"search": page.url, "fairness of a search": f"{page.url}/fairness"}
    for _ in range(2):
        page.get_by_role("button", name="Give me").click()
    page.get_by_role("button", name="Done").first.click()
    page.get_by_role("button", name="Undo").wait_for()
    found |= {"draw": page.url, "changed campaign": found["changes"].replace("/changes", "/campaign")}
    [found["cookie"]] = [cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "desk"]
    page.close()
    return found


LOOKS = [("desktop", "dark", "ar"), ("phone", "light", "de")]
OTHERS = (("desktop", "light", "en"), ("phone", "dark", "en"), ("phone", "light", "ar"), ("desktop", "dark", "fr"))
LONGER = [pytest.param(*look, marks=pytest.mark.long) for look in OTHERS]


@pytest.mark.parametrize("size, scheme, language", [*LOOKS, *LONGER])
def test_axe_finds_nothing(
    open_page: Callable[..., Page],
    addresses: dict[str, str],
    address: str,
    axe: str,
    size: str,
    scheme: str,
    language: str,
) -> None:
    page = open_page(size, scheme)
    cookies = {"desk": addresses["cookie"], "language": language}
    page.context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies.items()])
    found = {}
    for name, path in addresses.items():
        if name == "cookie":
            continue
        page.goto(path)
        assert page.locator("html").get_attribute("lang") == language
        if name == "fairness":
            page.locator(".plot").wait_for()
        for folded in page.locator("details.more > summary, details.more-about > summary").all():
            folded.click()
        page.evaluate(axe)
        result = page.evaluate("axe.run({resultTypes: ['violations'], rules: {'target-size': {enabled: true}}})")
        found[name] = [(v["id"], [node["target"] for node in v["nodes"]][:3]) for v in result["violations"]]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    assert not any(found.values()), found


BROKEN_WORDS = """cell => {
    const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode(), broken = [];
    for (const word of text.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        if (range.getClientRects().length > 1) broken.push(word[0]);
    }
    return broken;
}"""
"""Words of a cell that go over more than one line."""


@pytest.mark.parametrize("language", ["fr", "de", "es"])
def test_heads_of_columns_are_not_broken_inside_words(
    open_page: Callable[..., Page], addresses: dict[str, str], address: str, language: str
) -> None:
    page = open_page("phone")
    cookies = {"desk": addresses["cookie"], "language": language}
    page.context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies.items()])
    for kind in ("fairness", "fairness of a search"):
        page.goto(addresses[kind])
        heads = page.locator(".shares-details thead th.number")
        assert heads.count() >= 2
        assert heads.evaluate_all(f"cells => cells.flatMap({BROKEN_WORDS})") == []
