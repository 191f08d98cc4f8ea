"""An address with a slash at the end leads to the page without it, and never to another site."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.desk_collections import QUESTION

PAGES = ("/lists", "/searches", "/mine", "/about", "/api", "/lists/new", "/api/collection", "/api/openapi.json")


@pytest.mark.parametrize("path", PAGES)
def test_both_addresses_have_one_answer(client: TestClient, path: str) -> None:
    answer = client.get(f"{path}/", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, path)
    with_slash, without = (client.get(each, follow_redirects=True) for each in (f"{path}/", path))
    assert with_slash.status_code == without.status_code == 200
    assert with_slash.url == without.url


def test_lists_draws_and_exports_are_found_too(client: TestClient, list_path: str, search_path: str) -> None:
    for path in (list_path, f"{list_path}.csv", search_path, f"/api{list_path}/fairness"):
        assert client.get(f"{path}/", follow_redirects=False).headers["location"] == path
        assert client.get(f"{path}//", follow_redirects=False).headers["location"] == path


def test_the_query_and_the_method_stay(client: TestClient) -> None:
    answer = client.get("/lists/new/?title=Caf%C3%A9&keywords=a%26b", follow_redirects=False)
    assert answer.headers["location"] == "/lists/new?title=Caf%C3%A9&keywords=a%26b"
    made = client.post("/api/lists/", json={"title": QUESTION["title"]}, follow_redirects=True)
    assert made.status_code == 201


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example/",
        "//evil.example/lists/",
        "///evil.example//",
        "/%2Fevil.example/",
        "/%2F%2Fevil.example/lists/",
        "/\\evil.example/",
        "/%5Cevil.example/",
        "/lists/%2F/evil.example/",
        "//lists/",
        "//",
        "/nothing/",
        "/lists/short/",
        "/static/",
    ],
)
def test_what_is_no_page_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(f"http://localhost{path}", follow_redirects=False)
    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_the_end_of_an_address_stays_text(client: TestClient, list_path: str) -> None:
    """What a format may be called is any text; in the new address it is written as in the old one."""
    for suffix in ("a%3Fb", "a%0D%0AX: y", "a%25b", "%C3%A9"):
        location = client.get(f"{list_path}.{suffix}/", follow_redirects=False).headers["location"]
        assert location == f"{list_path}.{suffix.replace(': ', '%3A%20')}"
