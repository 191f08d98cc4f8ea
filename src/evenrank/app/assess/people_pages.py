"""The organiser's page of people: new links, links withdrawn, pages pooled, assigned and handed over."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from evenrank.app.assess.ballot import SCALES
from evenrank.app.assess.judging import judging_of, organise_path, organiser
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.state import state_of
from evenrank.errors import InputError
from evenrank.trec.assessment.assessors import (
    Assessor,
    Overlap,
    add_assessor,
    assessors,
    assign_pages,
    hand_over,
    load_pool,
    withdraw_link,
)
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.queues import assessor_progress
from evenrank.trec.assessment.votes import Store, max_grade_of, reopen_answers, set_max_grade

MAX_JUDGES = 10


def show_people(request: Request) -> Response:
    return people_page(request)


def people_page(request: Request, status: int = 200, **said: object) -> Response:
    """Everybody with their work, and the forms that change it."""
    who, store = organiser(request), judging_of(request).store
    people = [(entry, assessor_progress(store, entry.name)) for entry in assessors(store)]
    return page(
        request,
        "assess/people.html",
        status,
        who=who,
        people=people,
        topics={topic.topic: topic.title or f"Topic {topic.topic}" for _, topics in people for topic in topics},
        n_free=n_unassigned(store),
        max_grade=max_grade_of(store),
        scales=SCALES,
        done=request.query_params.get("done", ""),
        n_done=_count(request.query_params.get("n", "")),
        said=said,
        link=organise_path(request),
    )


def _count(text: str) -> int:
    """A number that this page's own address carries; 0 when somebody wrote something else there."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def n_unassigned(store: Store) -> int:
    """Pooled pages that nobody judges yet."""
    query = "SELECT count(*) FROM item WHERE (topic, page) NOT IN (SELECT topic, page FROM assignment)"
    return int(store.connection.execute(query).fetchone()[0])


def add_person(request: Request, fields: Fields) -> Response:
    """A new link for a name. The link is shown on this answer only: of the secret, a digest is kept."""
    who, store = organiser(request), judging_of(request).store
    role = "organiser" if fields.get("role") == "organiser" else "assessor"
    name = fields.get("name", "").strip()
    if name == who.name:
        raise BadRequestError("That is your own name: a new link would end the one you are using.")
    secret = add_assessor(store, name, "organiser" if role == "organiser" else "assessor")
    start = "organise" if role == "organiser" else "judge"
    address = f"{state_of(request).base_url(request)}/{start}/{secret}"
    return people_page(request, new_link=address, new_name=name)


def revoke(request: Request, fields: Fields) -> Response:
    """Ends somebody's link; all answers stay."""
    who, store = organiser(request), judging_of(request).store
    person = assessor_named(store, fields.get("name", ""))
    if person.name == who.name:
        raise BadRequestError("This is your own link. Another organiser can withdraw it.")
    withdraw_link(store, person.name)
    return redirect_done(request, "revoked")


def give_work(request: Request, fields: Fields) -> Response:
    """Assigns the pages that nobody has yet."""
    organiser(request)
    store = judging_of(request).store
    names = [entry.name for entry in assessors(store) if entry.role == "assessor" and entry.has_link]
    share, n_judges = (
        parse_number(fields, "overlap", 0.0, 100.0) / 100,
        int(parse_number(fields, "judges", 2, MAX_JUDGES)),
    )
    return redirect_done(request, "assigned", assign_pages(store, names, Overlap(share, n_judges)))


def pass_on(request: Request, fields: Fields) -> Response:
    """Hands the open pages of a topic from one assessor to another."""
    organiser(request)
    store = judging_of(request).store
    giver, taker = assessor_named(store, fields.get("from", "")), assessor_named(store, fields.get("to", ""))
    if giver.name == taker.name:
        raise BadRequestError("Choose two different people.")
    if not taker.has_link:
        raise BadRequestError(Message("%(name)s has no link, and could not judge the pages.", name=taker.name))
    topic = int(parse_number(fields, "topic", 0, 2**31))
    return redirect_done(request, "handed-over", hand_over(store, topic, giver.name, taker.name))


def ask_again(request: Request, fields: Fields) -> Response:
    """Takes back an assessor's answers on a topic, so that they are asked for again."""
    who, store = organiser(request), judging_of(request).store
    person = assessor_named(store, fields.get("name", ""))
    if fields.get("sure") != "yes":
        raise BadRequestError("Tick the box to confirm that everything is to be judged again.")
    topic = int(parse_number(fields, "topic", 0, 2**31))
    return redirect_done(request, "reopened", reopen_answers(store, topic, person.name, who.name))


def choose_scale(request: Request, fields: Fields) -> Response:
    """Says how finely relevance is graded from now on."""
    organiser(request)
    set_max_grade(judging_of(request).store, int(parse_number(fields, "grades", 1, max(SCALES))))
    return redirect_done(request, "scale")


def add_pool(request: Request, fields: Fields) -> Response:
    """Adds the pages of a pool file; pages that are in it already keep their tier."""
    organiser(request)
    judging = judging_of(request)
    text = fields.get("pool", "")
    if not text.strip():
        raise BadRequestError("Choose a pool file (evenrank pool build writes one).")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool.jsonl"
        path.write_text(text, "utf-8")
        try:
            pool = read_pool(path)
        except InputError as error:
            raise BadRequestError(str(error).replace(str(path), fields.get("pool-file", "pool.jsonl"))) from error
    titles = {topic.id: topic.title for topic in judging.state.collection.topics}
    return redirect_done(request, "pooled", load_pool(judging.store, pool, titles))


def assessor_named(store: Store, name: str) -> Assessor:
    """The person of that name; an error when there is none."""
    found = [entry for entry in assessors(store) if entry.name == name]
    if not found:
        raise BadRequestError("There is nobody of that name.")
    return found[0]


def parse_number(fields: Fields, name: str, least: float, most: float) -> float:
    """A number from a form, in its range."""
    text = fields.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise BadRequestError(Message("Give a number from %(least)s to %(most)s.", least=int(least), most=int(most)))
    return value


def on_this_page(action: Callable[[Request, Fields], Response]) -> Callable[[Request, Fields], Response]:
    """An action whose refusals are said above the forms, so that nobody loses the way back."""

    def act(request: Request, fields: Fields) -> Response:
        try:
            return action(request, fields)
        except BadRequestError as error:
            return people_page(request, 400, fault=error.args[0])

    return act


def redirect_done(request: Request, what: str, n: int | None = None) -> Response:
    """Back to the page, which says what was done."""
    query = f"?done={what}" + ("" if n is None else f"&n={n}")
    return RedirectResponse(organise_path(request, "people") + query, 303)


def routes() -> list[BaseRoute]:
    start = "/organise/{secret:secret}/people"
    actions = {
        "add": add_person,
        "revoke": revoke,
        "assign": give_work,
        "hand-over": pass_on,
        "pool": add_pool,
        "reopen": ask_again,
        "scale": choose_scale,
    }
    posts = [
        Route(f"{start}/{name}", with_form(on_this_page(action)), methods=["POST"]) for name, action in actions.items()
    ]
    return [Route(start, show_people), *posts]
