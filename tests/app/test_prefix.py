"""The app under a path of a server: every link of a page, every redirect and every form stays below it."""

from __future__ import annotations

import re

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from evenrank.app.app import make_app
from evenrank.app.state import AppState
from tests.desk_collections import QUESTION

LINK = re.compile(r'(?:href|action|formaction|src|hx-get|hx-post)="(/[^"]*)"')


def test_everything_stays_below_the_prefix(state: AppState) -> None:
    outer = Starlette(routes=[Mount("/evenrank", make_app(state))])
    client = TestClient(outer, base_url="http://localhost", follow_redirects=False)
    made = client.post("/evenrank/lists", data=QUESTION).headers["location"]
    search = client.post("/evenrank/searches", data=QUESTION).headers["location"]
    draw = client.post(f"{search}/draws").headers["location"]
    for path in ("/evenrank/", "/evenrank/lists/new", "/evenrank/about", "/evenrank/api", made, search, draw):
        answer = client.get(path)
        assert answer.status_code == 200, path
        links = LINK.findall(answer.text)
        assert links
        assert [link for link in links if not link.startswith("/evenrank/")] == [], path
        if path != "/evenrank/":
            assert client.get(f"{path}/").headers["location"] == path
