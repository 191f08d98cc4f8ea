"""Every page, at both sizes and in both colour schemes: axe-core finds nothing, and nothing sticks out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import Page

QUESTION = "title=Chess&keywords=chess%2C+pawns"


@pytest.fixture(scope="module")
def addresses(browser, address: str) -> dict[str, str]:
    """One page of each kind."""
    page = browser.new_page(base_url=address)
    found = {name: f"/{name}" for name in ("", "about", "api")}
    found["ask for a list"] = f"/lists/new?{QUESTION}"
    page.goto(found["ask for a list"])
    page.get_by_role("button", name="Make the list").click()
    found.update({"list": page.url, "fairness": f"{page.url}/fairness", "nothing passes": f"{page.url}?q=zzzzz"})
    found["ask for a search"] = f"/searches/new?{QUESTION}"
    page.goto(found["ask for a search"])
    page.get_by_role("button", name="Save the search").click()
    found["search"] = page.url
    for _ in range(2):
        page.get_by_role("button", name="Give me").click()
    page.get_by_role("button", name="Done").first.click()
    page.get_by_role("button", name="Undo").wait_for()
    found["draw"] = page.url
    page.close()
    return found


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    open_page: Callable[..., Page], addresses: dict[str, str], axe: str, size: str, scheme: str
) -> None:
    page = open_page(size, scheme)
    found = {}
    for name, address in addresses.items():
        page.goto(address)
        if name == "fairness":
            page.locator(".plot").wait_for()
            page.locator("details > summary").last.click()
        page.evaluate(axe)
        result = page.evaluate("axe.run({resultTypes: ['violations']})")
        found[name] = [(v["id"], [node["target"] for node in v["nodes"]][:3]) for v in result["violations"]]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    assert not any(found.values()), found
