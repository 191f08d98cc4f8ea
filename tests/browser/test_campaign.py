"""A whole campaign: runs are checked and pooled by commands, judged and organised in browsers by keyboard, published.

Two rounds on a server of its own that is killed between them: in the second a run comes late, a run is withdrawn, an
assessor leaves, a topic is corrected, somebody wants another scale, and two organisers rule at once. Every export gives
the same leaderboard at any time, and the log has it all. The small form has one screen for each kind of store; the
long one has twelve topics and eleven runs.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import subprocess
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Locator, Page, expect

from evenrank.cli.main import cli
from evenrank.core.records import Task
from evenrank.io.runs import write_run
from evenrank.retrieval.engine.indexing import build_index
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.assessment.assessors import assessors
from evenrank.trec.assessment.coverage import max_tiers
from evenrank.trec.assessment.files import read_exported_log
from evenrank.trec.assessment.log import check_log, find_gaps, log_entries, names_by_pseudonym
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import all_votes, current_votes, open_store
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from tests.browser.conftest import WAIT
from tests.browser.test_assess import press
from tests.desk_collections import shared_generated
from tests.robustness.campaign_load import free_port
from tests.robustness.commands import PROGRAM
from tests.robustness.server import wait_until_ready


@dataclass(frozen=True)
class Size:
    """How large a campaign is."""

    runs: dict[str, Task]
    """Name of each run → its task; `late` comes in the second round, and `beta` is withdrawn."""
    tiers: tuple[str, ...]
    budgets: tuple[str, ...]
    """Pages of a topic in each round; empty without a limit."""
    overlap: float


SMALL = Size({"alpha": 1, "beta": 1, "gamma": 1, "delta": 2, "late": 1}, ("--tier=1:2", "--tier=2:2x2"), (), 1.0)
LARGE_RUNS: dict[str, Task] = dict.fromkeys(("alpha", "beta", "gamma", "epsilon", "zeta", "late"), 1)
LARGE_RUNS |= dict.fromkeys(("delta", "eta", "theta", "iota", "kappa"), 2)
LARGE = Size(LARGE_RUNS, ("--tier=1:10", "--tier=2:5x5"), ("--budget=40", "--budget=50"), 0.2)
PROTOCOLS = ("paper-2021", "official-2021")
"""One that counts every topic, and one that counts a topic in Task 2 only when it is judged to tier 2."""
FAULTY = {
    "swapped": "columns 1 and 2 look swapped",
    "comma": "commas separate the columns",
    "contradictory": "scores rise with the rank throughout",
    "short": "rankings have 700 pages, not 1000",
    "twice": "appears twice in topic",
    "unknown": "page 99000001 has no metadata",
    "empty": "empty file",
    "broken": "the gzip data end in the middle",
}
"""Submission → what the check says of it first."""


def evenrank(*words: object, code: int = 0) -> str:
    """What a command prints; with another code than 0, what it says on standard error."""
    result = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=code != 0)
    assert (result.exit_code == 0) == (code == 0), result.output
    return result.stdout if code == 0 else f"{result.stderr}{result.exception}"


@dataclass
class Campaign:
    """The files of a campaign, the links of its people, and its server."""

    collection: Collection
    folder: Path
    store: Path | str
    size: Size
    screen: tuple[str, str]
    """Size of the screens of assessors and organisers, and their colours."""
    port: int = field(default_factory=free_port)
    links: dict[str, str] = field(default_factory=dict)
    n_answers: Counter[str] = field(default_factory=Counter)
    """Answers by keyboard, by name."""
    process: subprocess.Popen[bytes] | None = None

    def run(self, name: str) -> Path:
        path = self.folder / f"{name}.tsv.gz"
        if not path.exists():
            seed = sorted(self.size.runs).index(name)
            write_run(oracle_run(self.collection, self.size.runs[name], 0.3 + 0.05 * seed, seed, name=name).run, path)
        return path

    def runs(self, *but: str) -> list[Path]:
        return [self.run(name) for name in self.size.runs if name not in but]

    def pooling(self, runs: list[Path], number: int = 0) -> tuple[object, ...]:
        """The command that pools runs for a round."""
        limits = (*self.size.tiers, *self.size.budgets[number : number + 1])
        return ("pool", "build", self.collection.path, *runs, "-o", self.folder / "pool.jsonl", *limits)

    def add_people(self, *names: str, organiser: bool = False) -> None:
        for name in names:
            flag = ["--organiser"] if organiser else []
            secret = evenrank("judgments", "assessor", self.store, name, *flag).strip()
            self.links[name] = f"/{'organise' if organiser else 'judge'}/{secret}"

    def serve(self, *runs: Path) -> None:
        """Start `evenrank serve`, a process of its own, with runs to score."""
        words = ["serve", self.collection.path, "--port", self.port, "--rate", 100_000, "--judgments", self.store]
        words += ["--store", self.folder / "desk.sqlite", *(word for run in runs for word in ("--run", run))]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen([*PROGRAM, *map(str, words)], stdout=subprocess.DEVNULL, stderr=log)
        wait_until_ready(self.port, self.process)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def correct_topic(self, scope: str) -> int:
        """Give the first evaluation topic another scope, and import the collection again, as an organiser would."""
        source = self.collection.path / "source"
        path = source / "eval-topics.json.gz"
        topics = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        topics[0]["scope"] = scope
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, topics)).encode()))
        judged = ("--eval-topics", source / "eval-topics-with-qrels.json.gz")
        self.collect(self.collection.path, "--corpus", source / "trec_corpus.json.gz", *judged, "--eval-topics", path)
        return int(topics[0]["id"])

    def collect(self, folder: Path, *words: object) -> Path:
        """The pages of the campaign imported into a folder, with judgments and more that `words` name."""
        source = self.collection.path / "source"
        files = ("--metadata", source / "trec_metadata.json.gz", "--topics", source / "trec_topics.json.gz")
        evenrank("collection", "import", folder, *files, *words, "--quiet")
        return folder


def make_collection(folder: Path, size: Size, factory: pytest.TempPathFactory) -> Collection:
    """A collection that the campaign may change."""
    if size is SMALL:
        shutil.copytree(shared_generated(factory).path, folder)
        return Collection.open(folder)
    made = generate_collection(folder, GenerateSettings(n_pages=4000, n_train_topics=4, n_eval_topics=12, seed=11))
    build_index(made).close()
    return made


@pytest.fixture(
    params=[
        ("sqlite", "desktop", "light", SMALL),
        ("postgresql", "phone", "dark", SMALL),
        pytest.param(("sqlite", "phone", "light", LARGE), marks=pytest.mark.long),
        pytest.param(("postgresql", "desktop", "dark", LARGE), marks=pytest.mark.long),
    ],
    ids=lambda found: f"{found[0]}-{len(found[3].runs)}-runs",
)
def campaign(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Campaign]:
    """All runs but the late one pooled, three assessors, two organisers, pages assigned."""
    kind, *screen, size = request.param
    store = tmp_path / "judgments.sqlite" if kind == "sqlite" else str(request.getfixturevalue("empty_postgres"))
    made = Campaign(make_collection(tmp_path / "c", size, tmp_path_factory), tmp_path, store, size, tuple(screen))
    submit_faulty(made)
    evenrank(*made.pooling(made.runs("late")))
    evenrank("judgments", "create", store, "--pool", tmp_path / "pool.jsonl", "--collection", made.collection.path)
    made.add_people("Ada", "Ben", "Cleo")
    made.add_people("Olga", "Otto", organiser=True)
    evenrank("judgments", "assign", store, "--overlap", size.overlap)
    yield made
    made.kill()


def submit_faulty(campaign: Campaign) -> None:
    """Eight faulty submissions: each is told what is wrong, and none enters a pool, not even beside good ones."""
    rows = [line.split("\t") for line in gzip.decompress(campaign.run("alpha").read_bytes()).decode().splitlines()]
    place = Counter[str]()
    six = []
    for topic, page in rows:
        place[topic] += 1
        six.append([topic, "Q0", page, str(place[topic]), str(place[topic]), "run"])
    changed = [[topic, "99000001" if number % 50 == 0 else page] for number, (topic, page) in enumerate(rows)]
    texts = {
        "swapped": "".join(f"{page}\t{topic}\n" for topic, page in rows),
        "comma": "".join(f"{topic},{page}\n" for topic, page in rows),
        "contradictory": "".join(" ".join(line) + "\n" for line in six),
        "short": "".join(
            f"{topic}\t{page}\n" for (topic, page), line in zip(rows, six, strict=True) if int(line[3]) <= 700
        ),
        "twice": "".join(f"{topic}\t{page}\n" for topic, page in [*rows[:-1], rows[-2]]),
        "unknown": "".join(f"{topic}\t{page}\n" for topic, page in changed),
        "empty": "",
        "broken": "",
    }
    folder = campaign.folder / "faulty"
    folder.mkdir()
    paths = {name: folder / f"{name}.{'tsv.gz' if name == 'broken' else 'tsv'}" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name])
    paths["broken"].write_bytes(campaign.run("alpha").read_bytes()[:3000])
    words = ["run", "check", campaign.collection.path, *paths.values(), campaign.run("beta"), "--format", "json"]
    checked = json.loads(CliRunner().invoke(cli, list(map(str, words))).stdout)
    assert [found["is_valid"] for found in checked] == [False] * len(paths) + [True]
    for (name, said), found in zip(FAULTY.items(), checked, strict=False):
        first = [*found["diagnoses"], *(fault["found"] for fault in found["faults"])]
        assert said in first[0], (name, first[:2])
    refused = evenrank(*campaign.pooling([*campaign.runs("late"), *paths.values()]), code=2)
    assert all(f"{path}: " in refused for path in paths.values())
    assert not (campaign.folder / "pool.jsonl").exists()


@pytest.fixture
def address(campaign: Campaign) -> str:
    campaign.serve(*campaign.runs("late"))
    return f"http://127.0.0.1:{campaign.port}"


def reach(page: Page, target: Locator) -> None:
    """Move the focus to an element with the Tab key."""
    found = target.element_handle(timeout=WAIT)
    for _ in range(500):
        if page.evaluate("element => document.activeElement === element", found):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key never comes to {target}")


def activate(page: Page, target: Locator, key: str = "Enter") -> None:
    reach(page, target)
    page.keyboard.press(key)


def choose(page: Page, target: Locator, value: str) -> None:
    """Choose from a list with the arrow keys."""
    reach(page, target)
    page.keyboard.press("Home")
    for _ in range(target.locator("option").count()):
        if target.input_value() == value:
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{target} does not offer {value}")


def judge(page: Page, campaign: Campaign, name: str, n_answers: int | None = None) -> None:
    """Answers with keys from the assessor's first page on: what the collection says, Ben the opposite now and then;
    one page in seven is skipped."""
    page.goto(campaign.links[name])
    while n_answers is None or n_answers > 0:
        found = re.search(r"/judge/[\w-]+/(\d+)/(\d+)$", page.url)
        if found is None:
            if not page.locator("main [data-key=Enter]").count():
                return
            press(page, "Enter")
            continue
        press(page, answer_of(campaign, name, *map(int, found.groups())))
        campaign.n_answers[name] += 1
        n_answers = None if n_answers is None else n_answers - 1


def answer_of(campaign: Campaign, name: str, topic: int, number: int) -> str:
    """The key that an assessor presses for a page."""
    is_relevant = number in campaign.collection.topic_by_id[topic].rel_docs
    return "s" if number % 7 == 0 and name != "Ben" else str(int(is_relevant != (name == "Ben" and number % 3 == 0)))


def settle_all(page: Page, campaign: Campaign, name: str) -> None:
    page.goto(f"{campaign.links[name]}/settle")
    while "/settle/" in page.url:
        press(page, "1")
        campaign.n_answers[name] += 1


Leaderboard = list[tuple[str, int, dict[str, float]]]


def leaderboard(
    campaign: Campaign, judgments: Path | str | None, protocol: str, collection: Path | None = None
) -> Leaderboard | str:
    """Run, number of topics and scores of each run; what the command says where nothing can be scored yet.

    Without a judgments file, with the judgments of the collection.
    """
    words = ["--protocol", protocol, "--set", "n_resamples=9", "--format", "json"]
    words += [] if judgments is None else ["--judgments", str(judgments)]
    folder = campaign.collection.path if collection is None else collection
    ran = CliRunner().invoke(cli, list(map(str, ["evaluate", folder, *campaign.runs(), *words])))
    return rows_of(json.loads(ran.stdout)) if ran.exit_code == 0 else str(ran.exception)


def rows_of(results: dict[str, Any]) -> Leaderboard:
    return sorted((row["run"], row["n_topics"], row["scores"]) for row in results["runs"])


def same_leaderboards(page: Page, campaign: Campaign, folder: Path) -> dict[str, Leaderboard | str]:
    """The leaderboard of each protocol, which is the same from the judgments file and from every export of the web,
    imported into a judgments file or into a collection."""
    exports = unpack(download(page, f"{campaign.links['Olga']}/export/all"), folder) / "judgments"
    stores: dict[str, Path | str] = {"judgments": campaign.store}
    for form, file in (
        ("qrels", "qrels.txt"),
        ("topics", "eval-topics-with-qrels.json.gz"),
        ("votes", "votes.jsonl.gz"),
    ):
        stores[form] = folder / f"{form}.sqlite"
        evenrank("judgments", "import", stores[form], exports / file, "--format", form)
    topics = campaign.collection.path / "source" / "eval-topics.json.gz"
    collections = {
        "imported qrels": campaign.collect(folder / "q", "--eval-topics", topics, "--qrels", exports / "qrels.txt"),
        "imported topics": campaign.collect(
            folder / "t", "--eval-topics", exports / "eval-topics-with-qrels.json.gz", "--eval-topics", topics
        ),
    }
    found = {}
    for protocol in PROTOCOLS:
        boards = {form: leaderboard(campaign, store, protocol) for form, store in stores.items()}
        boards |= {form: leaderboard(campaign, None, protocol, made) for form, made in collections.items()}
        assert all(board == boards["judgments"] for board in boards.values()), (protocol, boards)
        found[protocol] = boards["judgments"]
    assert find_gaps(read_exported_log(exports / "log.jsonl")) == []
    return found


def download(page: Page, path: str) -> bytes:
    answer = page.request.get(path)
    assert answer.ok, answer.text()
    return answer.body()


def unpack(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        packed.extractall(folder)
    return folder


def first_round(assessor: Page, campaign: Campaign) -> None:
    """Tier 1 of all topics comes first. The server is killed under an answer, which is kept and sent again; when the
    server comes back, it knows the late run."""
    judge(assessor, campaign, "Ada", 4)
    assessor.goto(f"{campaign.links['Ada']}/next")
    topic, number = map(int, re.findall(r"/(\d+)/(\d+)$", assessor.url)[0])
    campaign.kill()
    assessor.keyboard.press(answer_of(campaign, "Ada", topic, number))
    expect(assessor.locator(".failed")).to_contain_text("Not saved")
    campaign.serve(*campaign.runs())
    press(assessor, answer_of(campaign, "Ada", topic, number))
    campaign.n_answers["Ada"] += 1
    judge(assessor, campaign, "Cleo", 3)
    with open_store(campaign.store) as store:
        tier = {(topic, page): n for topic, page, n in store.connection.execute("SELECT topic, page, tier FROM item")}
        for name in ("Ada", "Cleo"):
            tiers = [tier[vote.topic, vote.page] for vote in all_votes(store) if vote.assessor == name]
            assert tiers == sorted(tiers)


def import_programs(campaign: Campaign) -> None:
    """A program judges everything: nothing is settled by it, and no leaderboard changes."""
    pages = [json.loads(line) for line in (campaign.folder / "pool.jsonl").read_text().splitlines()]
    lines = [f"{entry['topic']} 0 {entry['page_id']} {entry['page_id'] % 2}" for entry in pages if "page_id" in entry]
    assert lines
    (campaign.folder / "model.txt").write_text("\n".join(lines))
    before = [evenrank("judgments", "progress", campaign.store), leaderboard(campaign, campaign.store, PROTOCOLS[0])]
    evenrank("judgments", "import", campaign.store, campaign.folder / "model.txt", "--machine", "model 1")
    after = [evenrank("judgments", "progress", campaign.store), leaderboard(campaign, campaign.store, PROTOCOLS[0])]
    assert before == after


def change_everything(page: Page, campaign: Campaign) -> int:
    """What organisers do between the rounds, by keyboard alone; gives the number of topics handed over."""
    people = f"{campaign.links['Olga']}/people"
    # A run comes late.
    evenrank(*campaign.pooling(campaign.runs(), 1))
    page.goto(people)
    expect(page.get_by_role("button", name="Use this scale")).to_be_disabled()
    with page.expect_file_chooser() as chooser:
        activate(page, page.get_by_label("Pool file"))
    chooser.value.set_files(campaign.folder / "pool.jsonl")
    activate(page, page.get_by_role("button", name="Add its pages"))
    expect(page.get_by_role("status")).to_contain_text("in the pool")
    # Cleo leaves: her link ends, and her open pages go to Ben, or to Ada where Ben has them; nothing new goes to her.
    activate(page, page.get_by_role("button", name="Withdraw link Cleo"))
    expect(page.get_by_role("status")).to_contain_text("no longer works")
    page.goto(campaign.links["Olga"])
    expect(page.get_by_text("Cleo has no link, but")).to_be_visible()
    page.goto(people)
    with open_store(campaign.store) as store:
        n_left = len({item.topic for item in queue(store, "Cleo")})
    for name, value in (("topic", "all"), ("from", "Cleo"), ("to", "Ben")):
        choose(page, page.locator(f"#hand-over [name={name}]"), value)
    activate(page, page.locator("#hand-over button"))
    expect(page.get_by_role("status")).to_contain_text("handed over")
    activate(page, page.get_by_role("button", name="Assign the rest"))
    expect(page.get_by_role("status")).to_contain_text("assigned")
    assert page.request.get(campaign.links["Cleo"]).status == 404
    # A run is withdrawn.
    choose(page, page.get_by_label("Run", exact=True), "beta")
    reach(page, page.get_by_label("Reason"))
    page.keyboard.type("sent by mistake")
    activate(page, page.get_by_label("Withdraw this run"), "Space")
    activate(page, page.get_by_role("button", name="Withdraw the run"))
    expect(page.get_by_role("status")).to_contain_text("The run was withdrawn")
    return n_left


def correct_a_topic(page: Page, campaign: Campaign) -> None:
    """The server that runs comes to show the corrected text; answers from now on carry its version."""
    topic = campaign.correct_topic("A scope that says more.")
    deadline = time.monotonic() + 2 * WAIT / 1000
    while "A scope that says more." not in page.request.get(f"{campaign.links['Ada']}/{topic}").text():
        assert time.monotonic() < deadline, "the server does not show the corrected topic"
        time.sleep(0.5)
    page.goto(campaign.links["Olga"])
    expect(page.get_by_text("on an earlier text of")).to_be_visible()


def rule_at_once(page: Page, other: Page, campaign: Campaign) -> None:
    """Two organisers open the same disagreement: the second one sees the ruling of the first, and confirms."""
    olga, otto = campaign.links["Olga"], campaign.links["Otto"]
    page.goto(f"{olga}/settle")
    other.goto(page.url.replace(olga, otto))
    press(page, "1")
    with other.expect_response(lambda answer: answer.status == 409):
        other.keyboard.press("0")
    expect(other.locator(".error")).to_contain_text("Olga has ruled on this article")
    expect(other.locator("#mine")).to_contain_text("Ruled by Olga: Relevant")
    other.keyboard.press("y")
    press(other, "0")
    campaign.n_answers += Counter({"Olga": 1, "Otto": 1})
    # Somebody's name is no way to their link.
    other.goto(f"{otto}/people")
    reach(other, other.get_by_label("Name", exact=True))
    other.keyboard.type("Ada")
    other.keyboard.press("Enter")
    expect(other.locator(".error")).to_contain_text("Ada is here already")


def teach_with_a_gold_page(phone: Page, assessor: Page, campaign: Campaign, axe: str) -> None:
    """A ruling becomes a gold page, on a phone: Ben answers otherwise, and is told why."""
    olga = campaign.links["Olga"]
    phone.goto(f"{olga}/pages?state=relevant")
    activate(phone, phone.locator("tbody tr a").first)
    expect(phone.locator("#article")).to_be_visible()
    here = phone.url
    topic, number = map(int, re.findall(r"/settle/(\d+)/(\d+)$", here)[0])
    if phone.locator("#replace").count():
        phone.keyboard.press("y")
    phone.keyboard.press("c")
    phone.keyboard.type("The scope names it.")
    phone.keyboard.press("Escape")
    with phone.expect_response(lambda answer: answer.request.method == "POST" and answer.status == 303):
        phone.keyboard.press("1")
    expect(phone.locator("[aria-busy]")).to_have_count(0)
    campaign.n_answers["Olga"] += 1
    phone.goto(here)
    activate(phone, phone.get_by_role("button", name="Make it a gold page"))
    expect(phone.get_by_text("This is a gold page")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 320
    assert faults_of(phone, axe) == []
    assessor.goto(f"{campaign.links['Ben']}/{topic}/{number}")
    press(assessor, "0")
    campaign.n_answers["Ben"] += 1
    expect(assessor.get_by_text("The organisers’ answer to")).to_contain_text("The scope names it.")


def faults_of(page: Page, axe: str) -> list[Any]:
    """What axe finds on a page."""
    page.evaluate(axe)
    found: list[Any] = page.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)")
    return found


def rule_on_skipped(page: Page, campaign: Campaign) -> None:
    skipped = f"{campaign.links['Olga']}/pages?state=skipped"
    page.goto(skipped)
    while page.locator("tbody tr").count():
        activate(page, page.locator("tbody tr a").first)
        expect(page.locator("#article")).to_be_visible()
        press(page, "x")
        campaign.n_answers["Olga"] += 1
        page.goto(skipped)


def test_a_campaign_of_two_rounds(
    campaign: Campaign, address: str, browser: Browser, open_page: Callable[..., Page], axe: str, tmp_path: Path
) -> None:
    olga = campaign.links["Olga"]
    assessor, page = open_page(*campaign.screen), open_page(*campaign.screen)
    # Other pages meet a dead server and refusals, which these two may not.
    other, early = browser.new_page(base_url=address), browser.new_page(base_url=address)
    first_round(early, campaign)
    import_programs(campaign)
    n_left = change_everything(page, campaign)
    correct_a_topic(page, campaign)
    same_leaderboards(page, campaign, tmp_path / "half")
    # Everything else is judged; what is skipped is looked at again, or ruled on.
    for name in ("Ada", "Ben"):
        judge(assessor, campaign, name)
    page.goto(olga)
    expect(page.get_by_text("answers still to give").locator("..")).to_contain_text("0")
    rule_at_once(page, other, campaign)
    settle_all(page, campaign, "Olga")
    teach_with_a_gold_page(open_page(size="phone"), assessor, campaign, axe)
    settle_all(page, campaign, "Olga")
    rule_on_skipped(page, campaign)

    # Published: one leaderboard, whichever way it is made, and all topics count in both tasks.
    boards = same_leaderboards(page, campaign, tmp_path / "whole")
    n_topics = sum(topic.split == "eval" for topic in campaign.collection.topics)
    for board in boards.values():
        assert not isinstance(board, str)
        assert [(name, n) for name, n, _ in board] == [
            (name, n_topics) for name in sorted(campaign.size.runs) if name != "beta"
        ]
    expected = boards[PROTOCOLS[0]]
    assert not isinstance(expected, str)
    results = unpack(download(page, f"{olga}/results.zip"), tmp_path / "published") / "results"
    assert rows_of(json.loads((results / "results.json").read_bytes())) == expected
    for width in (1280, 320):
        published = browser.new_page(viewport={"width": width, "height": 900})
        published.goto((results / "index.html").as_uri())
        assert faults_of(published, axe) == []
        assert published.evaluate("document.documentElement.scrollWidth") <= width
        published.close()
    page.goto(f"{olga}/scores")
    sequences = {name for name, task in campaign.size.runs.items() if task == 2}
    for name, _, scores in expected:
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True)).first
        expect(row).to_contain_text(f"{scores['EE-L' if name in sequences else 'Score']:.4f}")
    expect(page.get_by_text("Withdrawn, and not scored: beta")).to_be_visible()
    expect(page.get_by_text("Kendall’s τ").first).to_be_visible()

    # Nothing is lost, and the log has it all.
    with open_store(campaign.store) as store:
        assert Counter(vote.assessor for vote in all_votes(store)) == campaign.n_answers
        assert {vote.topic_version for vote in current_votes(store)} == {1, 2}
        assert set(max_tiers(store).values()) == {2}
        assert check_log(store) == []
        names = names_by_pseudonym(store)
        logged = Counter((names.get(entry.actor, entry.actor), entry.action) for entry in log_entries(store))
        assert [person.name for person in assessors(store) if not person.has_link] == ["Cleo"]
    assert logged["Otto", "rule"] == 1
    assert logged["Olga", "rule"] == campaign.n_answers["Olga"]
    assert logged["Olga", "hand-over"] == n_left
    done = {"load-pool", "withdraw-link", "assign", "withdraw-run", "export", "hand-over", "rule", "mark-gold"}
    assert {action for name, action in logged if name == "Olga"} == done
    assert {"add-person", "load-pool", "assign", "revise-topics", "import-machine"} == {
        action for who, action in logged if who == "operator"
    }
    evenrank("judgments", "log", campaign.store, "--check", "--against", tmp_path / "half/judgments/log.jsonl")
    page.goto(f"{olga}/log")
    expect(page.get_by_text("The chain of entries is unbroken.")).to_be_visible()
    expect(page.locator("table")).to_contain_text("sent by mistake")
