"""The visible list of areas: each gives its routes. A new one is a folder and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.routing import BaseRoute

from evenrank.web.api.endpoints import routes as api
from evenrank.web.assess.judge_pages import routes as judge
from evenrank.web.assess.organise_pages import routes as organise
from evenrank.web.assess.people_pages import routes as people
from evenrank.web.lists.pages import routes as lists
from evenrank.web.lists.publish_pages import routes as publish
from evenrank.web.lists.work_pages import routes as work
from evenrank.web.pages.admin import routes as admin
from evenrank.web.pages.home import routes as home
from evenrank.web.pages.manage import routes as manage
from evenrank.web.pages.monitoring import routes as monitoring
from evenrank.web.searches.pages import routes as searches
from evenrank.web.signin.pages import routes as signin

AREAS: tuple[Callable[[], Sequence[BaseRoute]], ...] = (
    home,
    manage,
    lists,
    work,
    publish,
    searches,
    api,
    judge,
    organise,
    people,
    signin,
    admin,
    monitoring,
)
