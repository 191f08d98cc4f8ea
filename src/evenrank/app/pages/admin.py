"""The page of whoever runs the server: who uses it, what is kept and may be removed, limits, and work on the data."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import subprocess
import sys

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.templating import page
from evenrank.app.request.forms import Fields, clean_text, whole_number, with_form
from evenrank.app.request.visitor import person_of, root_of, see_other, set_cookie
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.administration import (
    accounts,
    admin_key,
    entries,
    find_expired,
    remove_expired,
    remove_person,
    set_limits,
    totals,
)
from evenrank.app.storage.saved_request import TABLES, delete_request
from evenrank.app.storage.sessions import end_sessions_of
from evenrank.app.storage.shares import PREFIX
from evenrank.app.storage.store import LIMITS, limit_of
from evenrank.errors import EvenrankError
from evenrank.io.work_report import read_work
from evenrank.trec.manifest import has_releases

LOG = logging.getLogger("evenrank.app")
COOKIE = "admin"
COOKIE_SECONDS = 12 * 3600
FIRST_LOOK_SECONDS, LOOK_SECONDS = 60.0, 3600.0
"""When a server first looks for things that have expired, and how often afterwards."""


def is_admin(request: Request) -> bool:
    """Whether the request comes from whoever runs the server: a named account, or a browser with the secret link."""
    state, person = state_of(request), person_of(request)
    if person is not None and person.name in state.settings.admins:
        return True
    sent = request.cookies.get(COOKIE, "")
    return state.settings.has_admin_link and hmac.compare_digest(sent.encode(), admin_key(state.store).encode())


def refuse_strangers(request: Request) -> None:
    """404 for everybody else, so that they do not learn that there is such a page."""
    if not is_admin(request):
        raise HTTPException(404)


def enter(request: Request) -> Response:
    """The secret link: this browser is recognised for half a day."""
    state = state_of(request)
    sent = request.path_params["secret"]
    if not state.settings.has_admin_link or not hmac.compare_digest(sent.encode(), admin_key(state.store).encode()):
        raise HTTPException(404)
    response = see_other(request, "/admin")
    set_cookie(request, response, COOKIE, sent, COOKIE_SECONDS, path=f"{root_of(request)}/admin", samesite="strict")
    return response


def show_admin(request: Request) -> Response:
    """Who, what, how much, and the limits."""
    refuse_strangers(request)
    state = state_of(request)
    words = clean_text(request.query_params.get("q", ""))[:100]
    shown, n_entries = entries(state.store, words)
    done = request.query_params.get("done", "")
    work = read_work(state.collection.path)
    answer = page(
        request,
        "admin.html",
        totals=totals(state.store),
        people=accounts(state.store, words),
        entries=shown,
        n_entries=n_entries,
        n_expired=len(find_expired(state.store)),
        limits={name: (limit_of(state.store, name), limit) for name, limit in LIMITS.items()},
        max_bytes=state.store.max_bytes,
        words=words,
        done=done,
        work=work,
        jobs=jobs_of(state),
    )
    if work is not None and work.is_running:
        answer.headers["Refresh"] = str(REFRESH_SECONDS)
    elif done == "job":  # it has not reported yet, or has ended already
        answer.headers["Refresh"] = f"{REFRESH_SECONDS}; url={root_of(request)}/admin"
    return answer


REFRESH_SECONDS = 5
"""How often the page is loaded again while a command is at work."""
STARTED: list[subprocess.Popen[bytes]] = []
"""Commands that this worker started and that may still run."""


def jobs_of(state: AppState) -> dict[str, list[str]]:
    """Commands on the collection that an administrator may start, by name; none where it cannot be written."""
    folder, settings = state.collection.path, state.settings
    if not os.access(folder, os.W_OK) or has_releases(folder):
        return {}
    jobs = {"index": ["index", str(folder)], "vectors": ["index", str(folder), "--dense"]}
    if settings.wiki_api:
        followed = ["--wiki", settings.wiki_site, "--api", settings.wiki_api, "--contact", settings.wiki_contact]
        jobs["sync"] = ["sync", str(folder), *followed, "--rounds", "1"]
    return jobs


def start_job(state: AppState, name: str) -> None:
    """Start a command on the collection in a process of its own, which a restart of this server does not end."""
    words = jobs_of(state).get(name)
    if words is None:
        raise BadRequestError("The form could not be read.")
    work = read_work(state.collection.path)
    if work is not None and work.is_running:
        raise BadRequestError("A command is at work on the collection. Wait until it has ended.")
    STARTED[:] = [each for each in STARTED if each.poll() is None]
    nowhere = subprocess.DEVNULL  # what it says is in its report
    program = [sys.executable, "-m", "evenrank", *words]
    process = subprocess.Popen(  # settings of the server alone # nosec B603
        program, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    STARTED.append(process)


def change(request: Request, fields: Fields) -> Response:
    """Does what was asked for, and says so on the page; strangers have been refused."""
    store, action = state_of(request).store, fields.get("action", "")
    if action in ("remove", "remove-person", "expire") and fields.get("sure") != "yes":
        raise BadRequestError("Tick the box to confirm that it may be deleted for ever.")
    if action == "remove":
        thing = next((table for table in TABLES if table == fields.get("thing")), None)
        if thing is None:
            raise BadRequestError("The form could not be read.")
        delete_request(store, thing, whole_number(fields.get("number", "")))
    elif action in ("remove-person", "sign-out"):
        key = f"{PREFIX}{fields.get('person', '')}"
        (remove_person if action == "remove-person" else end_sessions_of)(store, key)
    elif action == "expire":
        remove_expired(store)
    elif action == "limits":
        _keep_limits(request, fields)
    elif action == "job":
        start_job(state_of(request), fields.get("job", ""))
    else:
        raise BadRequestError("The form could not be read.")
    LOG.info("admin: %s", action)
    return see_other(request, f"/admin?done={action}")


def _keep_limits(request: Request, fields: Fields) -> None:
    values = {name: whole_number(fields.get(name, "")) for name in LIMITS}
    if any(not LIMITS[name].least <= value <= LIMITS[name].most for name, value in values.items()):
        raise BadRequestError("One of the limits is out of its range.")
    set_limits(state_of(request).store, values)


async def remove_expired_regularly(app: Starlette) -> None:
    """Remove what has expired, from time to time."""
    seconds = FIRST_LOOK_SECONDS
    while True:
        await asyncio.sleep(seconds)
        seconds = LOOK_SECONDS
        try:
            n_removed = await run_in_threadpool(remove_expired, app.state.current.store)
        except EvenrankError as error:
            LOG.warning("what has expired could not be removed: %s", error)
            continue
        if n_removed:
            LOG.info("removed %d lists and searches that had expired", n_removed)


def routes() -> list[BaseRoute]:
    return [
        Route("/admin", show_admin),
        Route("/admin", with_form(change, admit=refuse_strangers), methods=["POST"]),
        Route("/admin/{secret:secret}", enter),
    ]
