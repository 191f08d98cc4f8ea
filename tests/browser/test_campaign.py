"""A whole campaign, small: runs are pooled by commands, judged and organised in browsers, and published.

Two rounds: in the second a run comes late, a run is withdrawn, an assessor leaves, a topic is corrected, somebody wants
another scale, and two organisers rule at once. Every export gives the same leaderboard, and the log has it all.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from evenrank.app.settings import WebSettings
from evenrank.cli.main import cli
from evenrank.core.records import Run
from evenrank.core.rng import derive
from evenrank.errors import InputError
from evenrank.io.runs import write_run
from evenrank.trec.assessment.campaign import revise_topics
from evenrank.trec.assessment.log import check_log, log_entries, names_by_pseudonym
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import all_votes, current_votes, open_store
from evenrank.trec.collection import Collection
from tests.browser.test_assess import press, serving
from tests.desk_collections import shared_generated

TIERS = ("--tier", "1:2", "--tier", "1:4")


def evenrank(*words: object) -> str:
    """What a command prints."""
    result = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@dataclass
class Campaign:
    """The files of a campaign, and the links of its people."""

    collection: Collection
    folder: Path
    store: Path | str
    links: dict[str, str]
    n_answers: Counter[str]
    """Answers by keyboard, by name."""

    def run(self, name: str, n_pages: int = 1000) -> Path:
        """A run that starts with relevant pages and others, in an order of its own."""
        path = self.folder / f"{name}.tsv.gz"
        if not path.exists():
            rng = derive(3, name)
            rankings = []
            for topic in (topic for topic in self.collection.topics if topic.split == "eval"):
                pages = [*rng.permutation(topic.rel_docs)[:6], *rng.permutation(self.collection.page_ids)[:6]]
                pages = [*rng.permutation(np.array(pages)), *rng.permutation(self.collection.page_ids)]
                pages = list(dict.fromkeys(map(int, pages)))[:n_pages]
                rankings.append((topic.id, 1, np.array(pages, np.int32)))
            write_run(Run.from_rankings(name, 1, iter(rankings)), path)
        return path

    def add_people(self, *names: str, organiser: bool = False) -> None:
        for name in names:
            flag = ["--organiser"] if organiser else []
            secret = evenrank("judgments", "assessor", self.store, name, *flag).strip()
            self.links[name] = f"/{'organise' if organiser else 'judge'}/{secret}"


@pytest.fixture(params=["sqlite", "postgresql"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Three runs pooled, three assessors, two organisers, all pages assigned twice."""
    is_file = request.param == "sqlite"
    store = tmp_path / "judgments.sqlite" if is_file else str(request.getfixturevalue("empty_postgres"))
    made = Campaign(shared_generated(tmp_path_factory), tmp_path, store, {}, Counter())
    runs = [made.run(name) for name in ("alpha", "beta", "gamma")]
    evenrank("pool", "build", made.collection.path, *runs, "-o", tmp_path / "pool.jsonl", *TIERS)
    too_short = ["pool", "build", made.collection.path, made.run("short", 12), "-o", tmp_path / "pool.jsonl"]
    refused = CliRunner().invoke(cli, list(map(str, too_short)))
    assert isinstance(refused.exception, InputError), "a faulty submission does not enter the pool"
    pool = ("--pool", tmp_path / "pool.jsonl", "--collection", made.collection.path)
    evenrank("judgments", "create", store, *pool)
    made.add_people("Ada", "Ben", "Cleo")
    made.add_people("Olga", "Otto", organiser=True)
    evenrank("judgments", "assign", store, "--overlap", 1)
    return made


@pytest.fixture
def address(campaign: Campaign) -> Iterator[str]:
    names = ("alpha", "beta", "gamma", "late")
    settings = WebSettings(
        store=campaign.folder / "desk.sqlite",
        facts_folder=campaign.folder,
        judgments=campaign.store,
        runs=tuple(campaign.run(name) for name in names),
        reads_per_second=1e6,
        writes_per_second=1e6,
    )
    with serving(campaign.collection.path, settings) as found:
        yield found


def judge(page: Page, campaign: Campaign, name: str, n_answers: int | None = None) -> None:
    """Answers with keys from the assessor's first page on: what the collection says, Ben the opposite now and then;
    one page in seven is skipped."""
    relevant = {topic.id: set(topic.rel_docs.tolist()) for topic in campaign.collection.topics}
    page.goto(campaign.links[name])
    while n_answers is None or n_answers > 0:
        found = re.search(r"/judge/[\w-]+/(\d+)/(\d+)$", page.url)
        if found is None:
            if not page.locator("main [data-key=Enter]").count():
                return
            press(page, "Enter")
            continue
        topic, number = map(int, found.groups())
        is_relevant = (number in relevant[topic]) != (name == "Ben" and number % 3 == 0)
        press(page, "s" if number % 7 == 0 and name != "Ben" else str(int(is_relevant)))
        campaign.n_answers[name] += 1
        n_answers = None if n_answers is None else n_answers - 1


def settle_all(page: Page, campaign: Campaign, name: str) -> None:
    page.goto(f"{campaign.links[name]}/settle")
    while "/settle/" in page.url:
        press(page, "1")
        campaign.n_answers[name] += 1


def leaderboard(campaign: Campaign, judgments: Path | str) -> list[tuple[str, int, dict[str, float]]]:
    runs = [campaign.run(name) for name in ("alpha", "beta", "gamma", "late")]  # beta is withdrawn
    words = ("--judgments", judgments, "--set", "n_resamples=9", "--format", "json")
    found = json.loads(evenrank("evaluate", campaign.collection.path, *runs, *words))
    return rows_of(found)


def rows_of(results: dict[str, Any]) -> list[tuple[str, int, dict[str, float]]]:
    return sorted((row["run"], row["n_topics"], row["scores"]) for row in results["runs"])


def download(page: Page, path: str) -> bytes:
    answer = page.request.get(path)
    assert answer.ok, answer.text()
    return answer.body()


def unpack(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        packed.extractall(folder)
    return folder


def test_a_campaign_of_two_rounds(
    campaign: Campaign, address: str, browser: Browser, open_page: Callable[..., Page], axe: str, tmp_path: Path
) -> None:
    olga, otto = campaign.links["Olga"], campaign.links["Otto"]
    assessor, page = open_page(), open_page()
    # First round: tier 1 of all topics comes first.
    judge(assessor, campaign, "Ada", 4)
    judge(assessor, campaign, "Cleo", 3)
    with open_store(campaign.store) as store:
        tier = {(topic, page): n for topic, page, n in store.connection.execute("SELECT topic, page, tier FROM item")}
        for name in ("Ada", "Cleo"):
            tiers = [tier[vote.topic, vote.page] for vote in all_votes(store) if vote.assessor == name]
            assert tiers == sorted(tiers)

    # Somebody wants another scale: refused, because it would change what grades mean.
    page.goto(f"{olga}/people")
    expect(page.get_by_role("button", name="Use this scale")).to_be_disabled()

    # A run comes late: its pages are added on the page of people.
    evenrank("pool", "build", campaign.collection.path, campaign.run("late"), "-o", tmp_path / "pool.jsonl")
    page.get_by_label("Pool file").set_input_files(tmp_path / "pool.jsonl")
    page.get_by_role("button", name="Add its pages").click()
    expect(page.get_by_role("status")).to_contain_text("in the pool")

    # Cleo leaves: her link ends, and her open pages go to others; nothing new goes to her.
    page.get_by_role("button", name="Withdraw link Cleo").click()
    expect(page.get_by_role("status")).to_contain_text("no longer works")
    with open_store(campaign.store) as store:
        left = sorted({item.topic for item in queue(store, "Cleo") if item.outcome in (None, "skipped")})
    for topic in left:
        page.get_by_label("Topic").first.select_option(str(topic))
        page.get_by_label("From", exact=True).select_option("Cleo")
        page.get_by_label("To", exact=True).select_option("Ben")
        page.get_by_role("button", name="Hand over").click()
        expect(page.get_by_role("status")).to_contain_text("handed over")
    page.get_by_role("button", name="Assign the rest").click()
    expect(page.get_by_role("status")).to_contain_text("assigned")
    assert assessor.request.get(campaign.links["Cleo"]).status == 404

    # A run is withdrawn, and a topic corrected.
    page.get_by_label("Run", exact=True).select_option("beta")
    page.get_by_label("Reason").fill("sent by mistake")
    page.get_by_label("Withdraw this run").check()
    page.get_by_role("button", name="Withdraw the run").click()
    expect(page.get_by_role("status")).to_contain_text("The run was withdrawn")
    with open_store(campaign.store) as store:
        topics = [topic for topic in campaign.collection.topics if topic.split == "eval"]
        assert revise_topics(store, [replace(topics[0], scope="A scope that says more."), *topics[1:]]) == [
            topics[0].id
        ]

    # Everything else is judged; what is skipped is looked at again, or ruled on.
    for name in ("Ada", "Ben"):
        judge(assessor, campaign, name)
    page.goto(olga)
    expect(page.get_by_text("answers still to give").locator("..")).to_contain_text("0")

    # Two organisers open the same disagreement: the second one sees the ruling of the first, and confirms.
    other = browser.new_page(base_url=address)  # it will meet a refusal, which the other pages may not
    page.goto(f"{olga}/settle")
    other.goto(page.url.replace(olga, otto))
    press(page, "1")
    campaign.n_answers["Olga"] += 1
    with other.expect_response(lambda answer: answer.status == 409):
        other.keyboard.press("0")
    expect(other.locator(".error")).to_contain_text("Olga has ruled on this article")
    expect(other.locator("#mine")).to_contain_text("Ruled by Olga: Relevant")
    other.keyboard.press("y")
    press(other, "0")
    other.close()
    campaign.n_answers["Otto"] += 1
    settle_all(page, campaign, "Olga")

    # A ruling becomes a gold page, on a phone: Cleo's successor Dan answers otherwise by keyboard, and is told why.
    phone = open_page(size="phone")
    phone.goto(f"{olga}/pages?state=relevant")
    phone.locator("tbody tr a").first.click()
    topic, number = map(int, re.findall(r"/settle/(\d+)/(\d+)$", phone.url)[0])
    expect(phone.locator("#article")).to_be_visible()
    here = phone.url
    if phone.locator("#replace").count():
        phone.get_by_label("Replace the ruling").check()
    phone.get_by_role("textbox", name="Comment").fill("The scope names it.")
    with phone.expect_response(lambda answer: answer.request.method == "POST" and answer.status == 303):
        phone.locator("button[value='1']").click()
    expect(phone.locator("[aria-busy]")).to_have_count(0)
    campaign.n_answers["Olga"] += 1
    phone.goto(here)
    phone.get_by_role("button", name="Make it a gold page").click()
    expect(phone.get_by_text("This is a gold page")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 320
    phone.evaluate(axe)
    assert phone.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)") == []
    assessor.goto(f"{campaign.links['Ben']}/{topic}/{number}")
    press(assessor, "0")
    campaign.n_answers["Ben"] += 1
    expect(assessor.get_by_text("The organisers’ answer to")).to_contain_text("The scope names it.")
    page.goto(f"{olga}/pages?state=skipped")
    while page.locator("tbody tr").count():
        page.locator("tbody tr a").first.click()
        expect(page.locator("#article")).to_be_visible()
        press(page, "x")
        campaign.n_answers["Olga"] += 1
        page.goto(f"{olga}/pages?state=skipped")

    # Published: one leaderboard, whichever way it is made.
    expected = leaderboard(campaign, campaign.store)
    assert [name for name, *_ in expected] == ["alpha", "gamma", "late"]
    exports = unpack(download(page, f"{olga}/export/all"), tmp_path / "exports") / "judgments"
    for form, file in (
        ("qrels", "qrels.txt"),
        ("topics", "eval-topics-with-qrels.json.gz"),
        ("votes", "votes.jsonl.gz"),
    ):
        other_store = tmp_path / f"{form}.sqlite"
        evenrank("judgments", "import", other_store, exports / file, "--format", form)
        assert leaderboard(campaign, other_store) == expected, form
    results = unpack(download(page, f"{olga}/results.zip"), tmp_path / "published") / "results"
    assert rows_of(json.loads((results / "results.json").read_bytes())) == expected
    for width in (1280, 320):
        published = browser.new_page(viewport={"width": width, "height": 900})
        published.goto((results / "index.html").as_uri())
        published.evaluate(axe)
        assert published.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)") == []
        assert published.evaluate("document.documentElement.scrollWidth") <= width
        published.close()
    page.goto(f"{olga}/scores")
    for name, _, scores in expected:
        row = page.locator("table").first.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))
        expect(row).to_contain_text(f"{scores['Score']:.4f}")
    expect(page.get_by_text("Withdrawn, and not scored: beta")).to_be_visible()

    # Nothing is lost, and the log has it all.
    with open_store(campaign.store) as store:
        votes = Counter(vote.assessor for vote in all_votes(store))
        assert votes == campaign.n_answers
        assert {vote.topic_version for vote in current_votes(store)} == {1, 2}
        assert check_log(store) == []
        names = names_by_pseudonym(store)
        logged = Counter((names.get(entry.actor, entry.actor), entry.action) for entry in log_entries(store))
    assert logged["Otto", "rule"] == 1
    assert logged["Olga", "rule"] == campaign.n_answers["Olga"]
    assert logged["Olga", "hand-over"] == len(left)
    done = {"load-pool", "withdraw-link", "assign", "withdraw-run", "export", "hand-over", "rule", "mark-gold"}
    assert {action for name, action in logged if name == "Olga"} == done
    assert {"add-person", "load-pool", "assign", "revise-topics"} <= {
        action for who, action in logged if who == "operator"
    }
    page.goto(f"{olga}/log")
    expect(page.get_by_text("The chain of entries is unbroken.")).to_be_visible()
    expect(page.locator("table")).to_contain_text("sent by mistake")
