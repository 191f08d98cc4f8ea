"""Attacks on the genders of 200 people, by readers who choose the members of lists; each must do no better than a coin.

An attacker makes a list about each person and reads everything that the app says of it: pages, previews, JSON, exports.
The genders of half of the people are known; from them it is learned what each answer means. The other half is guessed.
The order of a list is left out: what it reveals is inherent and measured by `benchmarks/order_leak.py`. So attention is
the same at all ranks, because figures of regions would follow the order. Each attack is also run against a server that
shows totals, where it must succeed: an attack that finds nothing there would prove nothing here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.exports.formats import FORMATS
from evenrank.app.lists import analysis
from evenrank.app.request import budget
from evenrank.app.searches.saved_search import make_search
from evenrank.app.state import AppState
from tests.app.conftest import client_of
from tests.privacy.conftest import N_PEOPLE, are_women, title_of

N_ATTACKED = 200
N_CONTROLLED = 40
"""People on whom attacks are tried where they must succeed."""
CHANCE, MARGIN = 0.5, 0.07
Attack = Callable[[TestClient, int], str]
WOMEN = are_women()
TARGETS = list(range(0, 2 * N_ATTACKED, 2))
"""All of one region, so that regions tell nothing; the others, whose genders the attacker knows, pad the lists."""
PADDING = range(1, N_PEOPLE, 2)
HALFWAY = [*range(406, 426, 2), *range(401, 411, 2)]
"""Ten people of the attacked region and five others, whose genders the attacker knows."""
SECRET = re.compile(r"(?:[A-Za-z0-9_-]|%5F|%2D){22}")  # escaped where it is in wikitext
N_GROUPS = 32
"""Regions times genders, the unknown ones among them."""
QUESTION = {"title": "Our sculptors", "attention": "uniform", "best": "FA"}


def padding(n_women: int, n_men: int, skip: int = 0) -> list[int]:
    """People whose gender the attacker knows."""
    known = np.array(PADDING)
    women, men = known[WOMEN[known]], known[~WOMEN[known]]
    return [*women[skip : skip + n_women].tolist(), *men[skip : skip + n_men].tolist()]


def everything_said(client: TestClient, members: Sequence[int], **fields: object) -> str:
    """All that is said of a list of these members, without names, addresses and the order of the rows."""
    titles = "\n".join(title_of(person) for person in members)
    asked = {**QUESTION, "sources": [{"kind": "titles", "role": "in", "text": titles}], **fields}
    answer = client.post("/api/lists", json=asked)
    assert answer.status_code == 201, answer.text
    return said_of(client, answer.json()["token"]) + previewed(client, titles, fields)


def said_of(client: TestClient, token: str, query: str = "") -> str:
    parts = [client.get(f"/api/lists/{token}{part}{query}").text for part in ("", "/fairness")]
    return "\n".join(map(canonical, [*parts, client.get(f"/lists/{token}/fairness").text]))


def previewed(client: TestClient, titles: str, fields: Mapping[str, object]) -> str:
    """What the form says before anything is saved."""
    names = fields.get("dimensions", ["geography", "gender"])
    assert isinstance(names, list)
    form = {
        **QUESTION,
        "keywords": str(fields.get("keywords", "")),
        "goal": str(fields.get("goal", "fit")),
        "kind-1": "titles",
        "role-1": "in",
        "text-1": titles,
    }
    form |= {"dimensions-offered": "1", **{f"dimension-{name}": "1" for name in names}}
    answer = client.post("/lists/goal", data=form)
    assert answer.status_code == 200, answer.text
    return canonical(answer.text)


def canonical(text: str) -> str:
    """A text without what only names lists and people, or says their order."""
    text = re.sub(r'(?s)<table class="articles".*?</table>|<p>[^<]*came in.*?</p>|"articles":\[\{.*?\}\]', "", text)
    text = re.sub(r"(?m)^.*Sculptor \d{4}.*$", "", text)
    return re.sub(r"(page_id|number|topic)\W*\d+|\d+(?=\t)|\d\d:\d\d(:\d\d)?", "", SECRET.sub("", text))


def rows_said(text: str) -> str:
    """The rows of a file as a set, without ranks, ids and names; all other numbers stay."""
    text = re.sub(r"Sculptor([ _]|%20)\d{4}|\bQ\d+|\d\d:\d\d(:\d\d)?", "", SECRET.sub("", text))
    text = re.sub(r'(?m)^(\W*)\d+([,\t]\d+)?|("(?:rank|page_id)": )\d+', r"\1\3", text)
    return "\n".join(sorted({line.rstrip(",") for line in text.splitlines()}))


def accuracy(client: TestClient, attack: Attack, n_attacked: int = N_ATTACKED) -> float:
    """How often genders are guessed right after learning from others: from each half of the people those of the other
    half, so that all are guessed."""
    said = {person: attack(client, person) for person in TARGETS[:n_attacked]}
    halves = list(said)[::2], list(said)[1::2]
    return float(np.mean([_share_right(said, *order) for order in (halves, halves[::-1])]))


def _share_right(said: Mapping[int, str], known: Sequence[int], guessed: Sequence[int]) -> float:
    learned: dict[str, Counter[bool]] = defaultdict(Counter)
    for person in known:
        learned[said[person]][bool(WOMEN[person])] += 1
    usual = Counter(bool(WOMEN[person]) for person in known)
    right = [(learned.get(said[person]) or usual).most_common(1)[0][0] == bool(WOMEN[person]) for person in guessed]
    return float(np.mean(right))


def add_one(client: TestClient, person: int) -> str:
    return everything_said(client, [*padding(10, 10), person])


def remove_one(client: TestClient, person: int) -> str:
    crowd = [other for other in TARGETS if other != person][:60]
    return everything_said(client, [*padding(10, 10), *(other for other in crowd if other != person)])


def one_gender_list(client: TestClient, person: int) -> str:
    """Twenty women whom the attacker knows, and one person: is the whole list of one gender?"""
    return everything_said(client, [*padding(20, 0), person], dimensions=["gender"], goal="equal")


def changed_cell(client: TestClient, person: int) -> str:
    """The only person of a region, among ten women and ten men of another."""
    return everything_said(client, [*padding(10, 10), person], goal="equal")


def never_shown(client: TestClient, person: int) -> str:
    """A list by words, of which one person must not be shown."""
    asked = {
        **QUESTION,
        "keywords": ["sculptor"],
        "sources": [{"kind": "titles", "role": "not", "text": title_of(person)}],
    }
    return said_of(client, client.post("/api/lists", json=asked).json()["token"])


def filtered(client: TestClient, person: int) -> str:
    """A list by words, filtered until one person is left."""
    token = client.post("/api/lists", json={**QUESTION, "keywords": ["sculptor"]}).json()["token"]
    return said_of(client, token, f"?q={person:04d}")


def halfway_between_decimals(client: TestClient, person: int) -> str:
    """Shares of sixteenths, which have two decimals as percentages: pages round them up or down by their last bit."""
    titles = "\n".join(map(title_of, [*HALFWAY, person]))
    return previewed(client, titles, {"goal": "field", "keywords": "sculptor"})


ATTACKS: tuple[Attack, ...] = (add_one, changed_cell, one_gender_list)


@pytest.fixture
def client(usual: AppState) -> Iterator[TestClient]:
    with client_of(usual) as made:
        yield made


@pytest.mark.parametrize("attack", [*ATTACKS, remove_one, halfway_between_decimals])
def test_choosing_the_members_does_no_better_than_a_coin(client: TestClient, attack: Attack) -> None:
    assert abs(accuracy(client, attack) - CHANCE) <= MARGIN


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_same_attacks_succeed_where_totals_are_shown(with_totals: AppState, attack: Attack) -> None:
    with client_of(with_totals) as client:
        assert accuracy(client, attack, N_CONTROLLED) > 0.9


OTHER_CHANNELS = ("", "/campaign", "/trade-off")


@pytest.mark.parametrize("fields", [{}, {"goal": "equal"}, {"dimensions": ["gender"], "goal": "track"}])
def test_no_page_and_no_file_depends_on_the_gender_of_the_one_that_is_added(
    client: TestClient, fields: dict[str, object]
) -> None:
    """Women and men whose lists are otherwise the same: every text is the same for all of them."""
    said = defaultdict(set)
    for person in TARGETS[:12]:
        titles = "\n".join(title_of(other) for other in [*padding(10, 10), person])
        asked = {**QUESTION, "sources": [{"kind": "titles", "role": "in", "text": titles}], **fields}
        path = f"/lists/{client.post('/api/lists', json=asked).json()['token']}"
        for part in OTHER_CHANNELS:
            said[part].add(canonical(client.get(f"{path}{part}").text))
        for suffix in FORMATS:
            said[suffix].add(rows_said(client.get(f"{path}.{suffix}").text))
        said["API trade-off"].add(canonical(client.get(f"/api{path}/trade-off").text))
        said["preview"].add(previewed(client, titles, fields))
    assert {WOMEN[person] for person in TARGETS[:12]} == {True, False}
    assert {part: len(texts) for part, texts in said.items() if len(texts) > 1} == {}


@pytest.mark.parametrize("n_kinds", range(2, 9))
def test_no_limit_on_kinds_of_articles_tells_whether_one_more_person_is_of_a_new_kind(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, n_kinds: int
) -> None:
    """Women of one region, women and men of another, and one person of the first: only a man would be of a new kind.
    Whatever the limits are, lists with him are made, and their trade-off is computed in one go, as those with her."""
    monkeypatch.setattr(budget, "MAX_CELLS", n_kinds * N_GROUPS)
    monkeypatch.setattr(analysis, "EASY_CELLS", (n_kinds - 1) * N_GROUPS)
    known = [*[person for person in TARGETS[20:] if WOMEN[person]][:10], *padding(10, 10)]
    said = set()
    for person in TARGETS[:12]:
        asked = {**QUESTION, "sources": [{"kind": "titles", "text": "\n".join(map(title_of, [*known, person]))}]}
        made = client.post("/api/lists", json=asked)
        path = f"/lists/{made.json().get('token')}/trade-off"
        said.add((made.status_code, client.get(path, follow_redirects=False).status_code))
    assert len(said) == 1


@pytest.mark.parametrize("attack", [never_shown, filtered])
def test_neither_titles_never_to_be_shown_nor_filters_single_anybody_out(client: TestClient, attack: Attack) -> None:
    assert len({attack(client, person) for person in TARGETS[:12]}) == 1


def test_padding_and_averaging_do_no_better_than_a_coin(client: TestClient) -> None:
    """300 lists of random members; what is said of each is explained by who is on it, by least squares."""
    rng = np.random.default_rng(1)
    members = rng.random((300, N_ATTACKED)) < 0.3
    numbers = []
    for row in members:
        titles = "\n".join(title_of(TARGETS[at]) for at in np.flatnonzero(row))
        asked = {**QUESTION, "sources": [{"kind": "titles", "role": "in", "text": titles}]}
        token = client.post("/api/lists", json=asked).json()["token"]
        said = canonical(client.get(f"/api/lists/{token}/fairness").text)
        numbers.append([float(number) for number in re.findall(r"-?\d+\.\d+", said)])
    assert len({len(row) for row in numbers}) == 1
    table = np.array(numbers)
    effects = np.linalg.lstsq(np.column_stack([members, np.ones(len(members))]), table, rcond=None)[0][:-1]
    women = WOMEN[TARGETS]
    guesses = effects > np.median(effects, axis=0)
    for known, unknown in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        agrees = (guesses[known] == women[known, None]).mean(axis=0)
        best = int(np.argmax(np.abs(agrees - CHANCE)))
        guessed = guesses[unknown, best] if agrees[best] > CHANCE else ~guesses[unknown, best]
        assert abs(float((guessed == women[unknown]).mean()) - CHANCE) <= 2 * MARGIN  # a hundred people


def test_versions_that_marks_made_say_nothing(client: TestClient, usual: AppState) -> None:
    """Marks choose members: a version without the marked person has no band, though the first one may have."""
    made = client.post("/lists", data={"title": "Sculptor", "keywords": "sculptor"}, follow_redirects=False)
    path = made.headers["location"]
    assert client.get(f"/api{path}/fairness").json()["bands"]
    client.post(f"{path}/marks", data={"page_id": "1", "mark": "off-topic"})
    newer = client.post(f"{path}/refresh", follow_redirects=False).headers["location"].removesuffix("/changes")
    assert newer != path
    fairness = client.get(f"/api{newer}/fairness").json()
    assert fairness["bands"] == []
    assert "gender" not in fairness["dimensions"]


def test_searches_of_one_question_cannot_be_linked_rank_by_rank(usual: AppState, with_totals: AppState) -> None:
    """If all searches of a question had the same plan, the articles that they show at one rank of one draw would be of
    the same gender, and a few known ones would tell all others."""
    agreements = []
    for state in (usual, with_totals):
        asked = {"title": "Sculptors", "keywords": ["sculptor"], "best": "FA", "dimensions": ["gender"]}
        question = state.parse_question({**asked, "goal": "equal"})
        one, other = (make_search(state, question) for _ in range(2))
        agreements.append(float((one.plan == other.plan).mean()))
    assert agreements[0] < 0.75  # two kinds, so half of the ranks agree by chance
    assert agreements[1] == 1.0
