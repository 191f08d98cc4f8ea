"""An adaptive reader with a thousand requests, in two worlds that differ only in who is a woman.

What is asked next follows from a seed and from all answers so far, as an attacker's requests would. If every answer is
the same in both worlds, no reader who follows this or any other plan through these requests learns a gender from them.
Left out is what is protected otherwise or inherent: the coarse bands, whose noise bounds what they reveal
(`test_bands.py`), and the order of lists with the members of draws, which `benchmarks/order_leak.py` measures.
"""

from __future__ import annotations

import hashlib
import random
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.exports.formats import FORMATS
from evenrank.app.fairness.balance import Balance, list_balance
from evenrank.app.lists.wiki_counts import save_wiki_counts
from evenrank.app.lists.work_list import load_list, make_list
from evenrank.app.request.question import Question
from evenrank.app.state import AppState
from evenrank.trec.collection import Collection
from evenrank.wikipedia.annotate.work_counts import WorkCounts
from evenrank.wikipedia.mediawiki.article_work import WikiFacts
from tests.app.conftest import client_of
from tests.privacy.conftest import N_PEOPLE, REGIONS, SEED, are_women, make_people, opened, title_of
from tests.privacy.test_attacks import QUESTION, canonical, rows_said

BANDS = re.compile(r'"bands":\[.*?\]|Roughly, with noise:[^.]*\.|There are too few biographies[^.]*\.')
GOALS = ("fit", "track", "field", "equal", "world")
N_REQUESTS = 160


class Reader:
    """Somebody who asks, remembers all answers as a digest, and chooses the next request by it."""

    def __init__(self, client: TestClient, state: AppState, seed: int) -> None:
        self.client, self.state = client, state
        self.answers: list[str] = []
        self._rng = random.Random(seed)
        self._digest = b""
        self.lists: list[str] = []
        self.own: list[str] = []
        """Lists that were made in the browser, whose owner may make them again."""
        self.searches: list[str] = []

    def ask(self, method: str, path: str, rows_only: bool = False, **fields: object) -> str:
        """One request; gives where it leads, or its text."""
        answer = self.client.request(method, path, follow_redirects=False, **fields)  # type: ignore[arg-type]
        text = "" if answer.status_code in (303, 201) else BANDS.sub("", answer.text)
        said = rows_said(text) if rows_only else canonical(text)
        assert answer.status_code < 500, answer.text
        self._remember(f"{answer.status_code} {said}")
        if answer.status_code == 201:
            return f"/{path.rpartition('/')[2]}/{answer.json()['token']}"
        return answer.headers.get("location", "")

    def _remember(self, said: str) -> None:
        self.answers.append(said)
        self._digest = hashlib.sha256(self._digest + said.encode()).digest()
        self._rng.seed(self._digest)

    def question(self) -> dict[str, Any]:
        rng = self._rng
        dimensions = rng.choice((["geography", "gender"], ["gender"], ["geography"]))
        asked: dict[str, Any] = {
            **QUESTION,
            "keywords": ["sculptor"],
            "goal": rng.choice(GOALS),
            "dimensions": dimensions,
        }
        asked["fairness"] = rng.choice((0, 0.3, 1, 10))
        if rng.random() < 0.6:
            text = "\n".join(map(title_of, rng.sample(range(N_PEOPLE), rng.randint(1, 60))))
            asked["sources"] = [{"kind": "titles", "role": rng.choice(("in", "in", "not")), "text": text}]
        return asked

    def step(self) -> None:
        """One request, or one with what belongs to it."""
        rng, kinds = self._rng, ["list", "search", "goal"]
        kinds += ["page", "file", "correct", "mark", "facts", "again", "filter", "missing"] if self.lists else []
        kinds += ["refresh"] * 2 if self.own else []
        kinds += ["search page", "correct search"] if self.searches else []
        kind = rng.choice(kinds)
        made = rng.choice(self.searches if "search " in kind or kind.endswith(" search") else self.lists or [""])
        person = rng.randrange(1, N_PEOPLE + 1)
        if kind in ("list", "search"):
            area, is_form = ("lists" if kind == "list" else "searches"), rng.random() < 0.5
            asked = self.question()
            made = self.ask("POST", f"/{area}", data=_form(asked)) if is_form else ""
            made = made or self.ask("POST", f"/api/{area}", json=asked)
            (self.lists if kind == "list" else self.searches).extend([made] if made else [])
            self.own += [made] if made and is_form and kind == "list" else []
        elif kind == "goal":
            self.ask("POST", "/lists/goal", data=_form(self.question()))
        elif kind == "missing":
            self.ask("GET", f"{made}/missing")
            self.ask("GET", f"{made}/missing.{rng.choice(('csv', 'json', 'wiki'))}", rows_only=True)
        elif kind == "page":
            self.ask("GET", rng.choice(("", "/api")) + made + rng.choice(("", "/fairness", "/trade-off", "/campaign")))
        elif kind == "search page":
            self.ask("GET", rng.choice(("", "/api")) + made + rng.choice(("", "/fairness", "/corrections")))
        elif kind == "file":
            self.ask("GET", f"{made}.{rng.choice(sorted(FORMATS))}", rows_only=True)
        elif kind == "filter":
            query = rng.choice(
                (f"q={person:04d}", "sort=views", "sort=importance", "views=few", f"region={REGIONS[0]}")
            )
            self.ask("GET", f"{made}.csv?{query}", rows_only=True)
        elif kind in ("correct", "correct search"):
            data = {"page_id": str(person), "region": rng.choice(("", *REGIONS, "Asia"))}
            self.ask("POST", f"{made}/corrections", data=data)
            self.ask("GET", f"{made}/corrections")
        elif kind == "mark":
            self.ask(
                "POST", f"{made}/marks", data={"page_id": str(person), "mark": rng.choice(("off-topic", "claimed"))}
            )
        elif kind == "refresh":
            made = rng.choice(self.own)
            pages = load_list(self.state.store, made.rpartition("/")[2]).page_ids  # type: ignore[union-attr]
            self.ask("POST", f"{made}/marks", data={"page_id": str(pages.min()), "mark": "off-topic"})
            newer = self.ask("POST", f"{made}/refresh").removesuffix("/changes")
            assert newer or len(pages) == 1, "who made a list may make it again, unless nothing is left of it"
            if not newer:
                return
            self.lists.append(newer)
            self.own.append(newer)
            self.ask("GET", f"{newer}{rng.choice(('/changes', '/fairness', '/campaign'))}")
        elif kind == "again":
            newer = self.ask(
                "POST", f"{made}/again", data={"fairness": rng.choice(("0", "3")), "goal": rng.choice(GOALS)}
            )
            self.lists.extend([newer] if newer.startswith("/lists/") else [])
        else:
            self._say_views(made)
            self.ask("GET", f"{made}.json", rows_only=True)

    def _say_views(self, path: str) -> None:
        """What the wiki says of the members of a list, which is the same in both worlds."""
        work_list = load_list(self.state.store, path.rpartition("/")[2])
        assert work_list is not None
        pages = sorted(work_list.page_ids.tolist())
        said = {page: WikiFacts(WorkCounts(900, 2, 4, 1, 9, 0, 0), page * 10, "High") for page in pages[::3]}
        save_wiki_counts(self.state.store, work_list, said)


def _form(asked: dict[str, Any]) -> dict[str, str]:
    """A question as the form sends it."""
    form = {name: str(asked[name]) for name in ("title", "attention", "best", "goal", "fairness")}
    form |= {f"dimension-{name}": "1" for name in asked["dimensions"]}
    for source in asked.get("sources", []):
        form |= {"kind-1": "titles", "role-1": source["role"], "text-1": source["text"]}
    return {**form, "dimensions-offered": "1", "keywords": "sculptor"}


@pytest.fixture(scope="session")
def other_people(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """The other world: as many women, but other ones."""
    return make_people(tmp_path_factory.mktemp("others"), are_women(SEED + 1))


def answers_in(
    collection: Collection, store: Path, seed: int, n_requests: int, *, shows_totals: bool = False
) -> list[str]:
    """What a reader is answered on a server of its own."""
    with contextmanager(opened)(collection, store, shows_totals=shows_totals) as state, client_of(state) as client:
        reader = Reader(client, state, seed)
        while len(reader.answers) < n_requests:
            reader.step()
    return reader.answers


@pytest.mark.parametrize("n_requests", [N_REQUESTS, pytest.param(1000, marks=pytest.mark.long)])
def test_an_adaptive_reader_is_answered_the_same_in_both_worlds(
    people: Collection, other_people: Collection, tmp_path: Path, n_requests: int
) -> None:
    assert (are_women() != are_women(SEED + 1)).mean() > 0.4
    worlds = people, other_people
    here, there = (
        answers_in(world, tmp_path / f"{at}.sqlite", n_requests, n_requests) for at, world in enumerate(worlds)
    )
    for at, (one, other) in enumerate(zip(here, there, strict=False)):
        assert one == other, f"answer {at}"
    n_different = len({one for one in here if one.startswith("200")})
    assert n_different > min(n_requests / 5, 100)  # the answers differ, but not by world


def test_totals_tell_the_worlds_apart(people: Collection, other_people: Collection, tmp_path: Path) -> None:
    """The same reader where totals are shown: a comparison that finds nothing there would prove nothing here."""
    here, there = (
        answers_in(world, tmp_path / f"{at}.sqlite", 1, N_REQUESTS, shows_totals=True)
        for at, world in enumerate((people, other_people))
    )
    assert here != there


@pytest.mark.parametrize("shows_totals", [False, True])
def test_whom_a_large_subject_finds_does_not_depend_on_gender(
    people: Collection, other_people: Collection, tmp_path: Path, shows_totals: bool
) -> None:
    """More people match than a search looks at. If there were a search for women as well, whom only that one finds, in
    a list of any goal, would be a woman; servers that show totals have it."""
    asked = {**QUESTION, "keywords": ["sculptor"], "dimensions": ["geography"], "fairness": 0}
    found = []
    for at, world in enumerate((people, other_people)):
        settings = {"n_candidates": 40, "shows_totals": shows_totals}
        with contextmanager(opened)(world, tmp_path / f"{at}.sqlite", **settings) as state:
            found.append(set(make_list(state, state.parse_question(asked)).page_ids.tolist()))
    assert 40 < len(found[0]) < N_PEOPLE
    assert (found[0] == found[1]) is not shows_totals


def test_shares_of_a_list_are_the_same_to_the_last_bit(people: Collection, other_people: Collection) -> None:
    """Whatever is in the middle between two decimals, the last bit decides which of them pages show: readers who choose
    members and attention can bring any share there."""
    rng = np.random.default_rng(3)
    for trial in range(200):
        weights = np.sort(rng.random(31))[::-1] if trial % 2 else np.ones(16)
        pages = rng.permutation(N_PEOPLE)[: len(weights)].astype(np.int32) + 1
        question = Question("Sculptors", attention="table:" + ",".join(map(repr, (weights / weights[0]).tolist())))
        here, there = (_public_shares(world, pages, question) for world in (people, other_people))
        assert here.exposure.tobytes() == there.exposure.tobytes()
        assert here.n_articles.tobytes() == there.n_articles.tobytes()
        assert here.goal.tobytes() == there.goal.tobytes()


def _public_shares(world: Collection, pages: np.ndarray, question: Question) -> Balance:
    """The shares of a list by region, with the groups of its own pages as the goal."""
    space = world.space()
    goal = list_balance(world, pages, np.zeros(space.n_groups), space, question).exposure
    return list_balance(world, pages, goal, space, question).public()
