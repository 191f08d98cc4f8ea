"""The organiser's page of people and pages: links made, replaced and withdrawn, pages pooled, assigned and handed
over, runs withdrawn. Everything done here is in the log."""

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
from evenrank.app.request.forms import Fields, number_in, with_form
from evenrank.app.state import state_of
from evenrank.errors import DamagedStoreError, EvenrankError, InputError, StoreUnavailableError
from evenrank.retrieval.judging_order import OrderSettings, order_work
from evenrank.trec.assessment.assessors import (
    UNASSIGNED,
    Assessor,
    NameTakenError,
    Overlap,
    Role,
    add_assessor,
    assessors,
    assign_pages,
    choose_assessors,
    chosen_assessors,
    hand_over,
    load_pool,
    withdraw_link,
)
from evenrank.trec.assessment.campaign import keep_work_order, known_runs, restore_run, withdraw_run, work_order
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.queues import assessor_progress, topics_of
from evenrank.trec.assessment.votes import Store, max_grade_of, reopen_answers, set_max_grade

MAX_JUDGES = 10
MAX_REASON = 500


def show_people(request: Request) -> Response:
    return people_page(request)


def people_page(request: Request, status: int = 200, **said: object) -> Response:
    """Everybody with their work, and the forms that change it."""
    who, store, query = organiser(request), judging_of(request).store, request.query_params
    people = [(entry, assessor_progress(store, entry.name)) for entry in assessors(store)]
    return page(
        request,
        "assess/people.html",
        status,
        who=who,
        people=people,
        topics={topic.topic: topic.title or f"Topic {topic.topic}" for _, topics in people for topic in topics},
        n_free=n_unassigned(store),
        all_topics=dict(store.connection.execute("SELECT id, title FROM topic ORDER BY id").fetchall()),
        chosen=chosen_assessors(store),
        order=work_order(store),
        max_grade=max_grade_of(store),
        scales=SCALES,
        done=query.get("done", ""),
        n_done=number_in(query.get("n", "")) or 0,
        n_others=number_in(query.get("others", "")) or 0,
        n_kept=number_in(query.get("kept", "")) or 0,
        runs=known_runs(store),
        max_reason=MAX_REASON,
        is_graded=has_grades(store),
        said=said,
        link=organise_path(request),
    )


def has_grades(store: Store) -> bool:
    """Whether somebody gave a grade, so that the scale cannot change any more."""
    found = "SELECT EXISTS (SELECT 1 FROM current_vote WHERE grade IS NOT NULL)"
    return bool(store.connection.execute(found).fetchone()[0])


def n_unassigned(store: Store) -> int:
    """Pooled pages that nobody judges yet."""
    return int(store.connection.execute(f"SELECT count(*) FROM ({UNASSIGNED}) AS free").fetchone()[0])


def add_person(request: Request, fields: Fields) -> Response:
    """A link for a new name. The link is shown on this answer only: of the secret, a digest is kept."""
    who, store = organiser(request), judging_of(request).store
    role: Role = "organiser" if fields.get("role") == "organiser" else "assessor"
    name = fields.get("name", "").strip()
    try:
        secret = add_assessor(store, name, role, by=who.name, is_new=True)
    except NameTakenError as error:
        text = "%(name)s is here already. Choose another name, or “Replace link” beside the name: it ends the old link."
        raise BadRequestError(Message(text, name=error.name)) from error
    return link_page(request, name, role, secret)


def replace_link(request: Request, fields: Fields) -> Response:
    """A new link for somebody who is here; the old one stops working, and the log says who replaced it."""
    who, store = organiser(request), judging_of(request).store
    person = assessor_named(store, fields.get("name", ""))
    if person.name == who.name:
        raise BadRequestError("That is your own name: a new link would end the one you are using.")
    if fields.get("sure") != "yes":
        raise BadRequestError("Tick the box to confirm that the old link is to stop working.")
    return link_page(request, person.name, person.role, add_assessor(store, person.name, person.role, by=who.name))


def link_page(request: Request, name: str, role: Role, secret: str) -> Response:
    """The page with a link that is shown this once."""
    start = "organise" if role == "organiser" else "judge"
    address = f"{state_of(request).base_url(request)}/{start}/{secret}"
    return people_page(request, new_link=address, new_name=name)


def revoke(request: Request, fields: Fields) -> Response:
    """Ends somebody's link; all answers stay."""
    who, store = organiser(request), judging_of(request).store
    person = assessor_named(store, fields.get("name", ""))
    if person.name == who.name:
        raise BadRequestError("This is your own link. Another organiser can withdraw it.")
    withdraw_link(store, person.name, by=who.name)
    return redirect_done(request, "revoked")


def give_work(request: Request, fields: Fields) -> Response:
    """Assigns the pages that nobody has yet; people without a link get none."""
    who, store = organiser(request), judging_of(request).store
    names = [entry.name for entry in assessors(store) if entry.role == "assessor" and entry.has_link]
    share = parse_number(fields, "overlap", 0.0, 100.0) / 100
    n_judges = int(parse_number(fields, "judges", 2, MAX_JUDGES))
    return redirect_done(request, "assigned", assign_pages(store, names, Overlap(share, n_judges), by=who.name))


def choose_people(request: Request, fields: Fields) -> Response:
    """Says who alone may judge a topic; everybody where nobody is named."""
    who, store = organiser(request), judging_of(request).store
    names = [name.strip() for name in fields.get("names", "").split(",") if name.strip()]
    choose_assessors(store, int(parse_number(fields, "topic", 0, 2**31)), names, by=who.name)
    return redirect_done(request, "chosen")


def choose_order(request: Request, fields: Fields) -> Response:
    """Orders the work tier by tier, or by a model that is fitted now and after every batch of answers."""
    who, judging = organiser(request), judging_of(request)
    if fields.get("order") != "model":
        keep_work_order(judging.store, None, {}, (), who.name)
        return redirect_done(request, "ordered")
    recall = parse_number(fields, "recall", 50, 100) / 100 if fields.get("recall", "").strip() else None
    settings, engine = OrderSettings(recall=recall), judging.state.source.model().engine
    order_work(judging.store, judging.state.collection, engine, settings, by=who.name)
    return redirect_done(request, "ordered")


def pass_on(request: Request, fields: Fields) -> Response:
    """Hands the open and skipped pages of a topic from one assessor to another."""
    who, store = organiser(request), judging_of(request).store
    giver, taker = assessor_named(store, fields.get("from", "")), assessor_named(store, fields.get("to", ""))
    if giver.name == taker.name:
        raise BadRequestError("Choose two different people.")
    if not taker.has_link:
        raise BadRequestError(Message("%(name)s has no link, and could not judge the pages.", name=taker.name))
    is_all = fields.get("topic") == "all"
    topics = topics_of(store, giver.name) if is_all else [int(parse_number(fields, "topic", 0, 2**31))]
    done = [hand_over(store, topic, giver.name, taker.name, by=who.name) for topic in topics]
    n, n_others, n_kept = (sum(getattr(one, name) for one in done) for name in ("n_pages", "n_to_others", "n_kept"))
    counts = f"n={n}&others={n_others}&kept={n_kept}"
    return RedirectResponse(organise_path(request, "people") + f"?done=handed-over&{counts}", 303)


def ask_again(request: Request, fields: Fields) -> Response:
    """Takes back an assessor's answers on a topic, so that they are asked for again."""
    who, store = organiser(request), judging_of(request).store
    person = assessor_named(store, fields.get("name", ""))
    if fields.get("sure") != "yes":
        raise BadRequestError("Tick the box to confirm that everything is to be judged again.")
    topic = int(parse_number(fields, "topic", 0, 2**31))
    return redirect_done(request, "reopened", reopen_answers(store, topic, person.name, who.name))


def choose_scale(request: Request, fields: Fields) -> Response:
    """Says how finely relevance is graded; refused once grades were given, because it would change their meaning."""
    who = organiser(request)
    grade = int(parse_number(fields, "grades", 1, max(SCALES)))
    set_max_grade(judging_of(request).store, grade, by=who.name)
    return redirect_done(request, "scale")


def change_run(request: Request, fields: Fields) -> Response:
    """Withdraws a run, so that pages which only it brought leave the queues, or takes it back in."""
    who, store = organiser(request), judging_of(request).store
    is_withdrawal = fields.get("what") == "withdraw"
    if is_withdrawal and fields.get("sure") != "yes":
        raise BadRequestError("Tick the box to confirm that the run is to be withdrawn.")
    change = withdraw_run if is_withdrawal else restore_run
    try:
        n_pages = change(store, fields.get("run", ""), fields.get("reason", "").strip()[:MAX_REASON], by=who.name)
    except EvenrankError as error:
        raise BadRequestError(str(error).replace(str(store.path), "the judgments")) from error
    return redirect_done(request, "withdrawn-run" if is_withdrawal else "restored-run", n_pages)


def add_pool(request: Request, fields: Fields) -> Response:
    """Adds the pages of a pool file; pages that are in it already keep their tier."""
    who, judging = organiser(request), judging_of(request)
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
    return redirect_done(request, "pooled", load_pool(judging.store, pool, titles, by=who.name))


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
        except (StoreUnavailableError, DamagedStoreError):
            raise
        except (BadRequestError, EvenrankError) as error:
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
        "replace": replace_link,
        "run": change_run,
        "revoke": revoke,
        "assign": give_work,
        "hand-over": pass_on,
        "pool": add_pool,
        "reopen": ask_again,
        "scale": choose_scale,
        "topic": choose_people,
        "order": choose_order,
    }
    posts = [
        Route(f"{start}/{name}", with_form(on_this_page(action)), methods=["POST"]) for name, action in actions.items()
    ]
    return [Route(start, show_people), *posts]
