"""What organisers may do and see: nothing wrong is published, nobody acts for another, everything is on record."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.app.assess.judging import open_judging
from evenrank.app.assess.score_pages import effects
from evenrank.app.state import open_state
from evenrank.retrieval.judging_order import OrderSettings, order_work
from evenrank.scoring.evaluate import evaluate
from evenrank.trec.assessment.alarms import alarms
from evenrank.trec.assessment.assessors import (
    Overlap,
    add_assessor,
    assessor_of,
    assign_pages,
    load_pool,
    withdraw_link,
)
from evenrank.trec.assessment.campaign import revise_topics
from evenrank.trec.assessment.coverage import coverage, max_tiers
from evenrank.trec.assessment.files import import_machine_judgments, judged_topics
from evenrank.trec.assessment.log import check_log, log_entries
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.queues import next_item, queue
from evenrank.trec.assessment.votes import ADJUDICATION, Store, Vote, all_votes, cast_vote, standing_ruling
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of
from tests.judging_files import JudgingFiles


@pytest.fixture
def olga(judging: JudgingFiles) -> str:
    return f"/organise/{judging.secrets['Olga']}"


def pooled(store: Store) -> list[tuple[int, int]]:
    return [(topic, page) for topic, page in store.connection.execute("SELECT topic, page FROM item ORDER BY 1, 2")]


def judge_everything(store: Store, grade_of: dict[str, int], skipped: tuple[tuple[int, int], ...] = ()) -> None:
    """One vote of each named assessor on every page; nobody decides on the skipped ones."""
    for number, (topic, page) in enumerate(pooled(store)):
        for name, shift in grade_of.items():
            is_skipped = (topic, page) in skipped
            grade = None if is_skipped else (page + shift) % 2
            outcome = "skipped" if is_skipped else "graded"
            vote = Vote(f"{name}-vote-{number}", topic, page, name, outcome, grade, seconds=8.0)  # type: ignore[arg-type]
            cast_vote(store, vote)


def actions(store: Store) -> list[str]:
    return [entry.action for entry in log_entries(store)]


# Links: nobody gets the link of somebody who is there.


def test_adding_a_name_that_is_there_gives_no_link(judge: TestClient, judging: JudgingFiles, olga: str) -> None:
    for name in ("Ada", " Ada ", "Olga"):
        answer = judge.post(f"{olga}/people/add", data={"name": name, "role": "assessor"})
        assert answer.status_code == 400
        assert "/judge/" not in re.sub(r'href="[^"]*"', "", answer.text)
        assert "is here already" in answer.text
    assert judge.get(f"/judge/{judging.secrets['Ada']}").status_code == 200


def test_a_link_is_replaced_only_when_told_so_and_on_record(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    assert judge.post(f"{olga}/people/replace", data={"name": "Ada"}).status_code == 400
    assert judge.get(f"/judge/{judging.secrets['Ada']}").status_code == 200
    answer = judge.post(f"{olga}/people/replace", data={"name": "Ada", "sure": "yes"})
    [link] = re.findall(r"http://localhost(/judge/[\w-]{32})", answer.text)
    assert "Hello Ada" in judge.get(link).text
    assert judge.get(f"/judge/{judging.secrets['Ada']}").status_code == 404
    assert "replace-link" in actions(store)
    shown = judge.get(f"{olga}/log").text
    assert re.search(r"Olga</td><td[^>]*>replaced a link", shown)
    own = judge.post(f"{olga}/people/replace", data={"name": "Olga", "sure": "yes"})
    assert own.status_code == 400
    assert assessor_of(store, judging.secrets["Olga"]) is not None


# Work: who left gets nothing, skips hold nothing up and can be found.


def test_new_pages_never_go_to_somebody_without_a_link(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    [first, *_] = read_pool(judging.pool).pages
    load_pool(store, Pool(pages=(PooledPage(first.topic, 1, 999_999, ()),)), {})
    (owner,) = store.connection.execute(
        "SELECT min(assessor) FROM assignment WHERE topic = ? AND reason = 'primary'", (first.topic,)
    ).fetchone()
    assert judge.post(f"{olga}/people/revoke", data={"name": owner}).status_code == 303
    assert judge.post(f"{olga}/people/assign", data={"overlap": "0", "judges": "2"}).status_code == 303
    given = store.connection.execute("SELECT assessor FROM assignment WHERE page = 999999").fetchall()
    assert [name for (name,) in given] == [name for name in ("Ada", "Ben") if name != owner]


def test_a_skipped_page_does_not_drop_its_topic(store: Store) -> None:
    judge_everything(store, {"Ada": 0, "Ben": 0}, skipped=(pooled(store)[0],))
    assert set(max_tiers(store).values()) == {1}
    [tier, *_] = coverage(store)
    assert (tier.n_skipped, tier.is_complete) == (1, True)


def test_a_topic_that_was_only_skipped_is_not_complete(judge: TestClient, olga: str, store: Store) -> None:
    judge_everything(store, {"Ada": 0}, skipped=tuple(pooled(store)))
    assert set(max_tiers(store).values()) == {0}
    assert "skipped pages do not hold a tier back unless more are skipped than decided" in judge.get(olga).text


def test_skipped_pages_are_found_ruled_on_and_handed_over(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    first, second = pooled(store)[:2]
    judge_everything(store, {"Ada": 0, "Ben": 0}, skipped=(first, second))
    work = judge.get(olga).text
    assert f"{olga}/pages?state=skipped" in work
    assert 'state=skipped">2</a>' in work
    listed = judge.get(f"{olga}/pages?state=skipped").text
    assert [f"/settle/{topic}/{page}" in listed for topic, page in (first, second)] == [True, True]
    assert len(re.findall(r'<th scope="row">', listed)) == 2
    address = f"{olga}/settle/{first[0]}/{first[1]}"
    nonce = re.findall(r'name="nonce" value="([\w-]+)"', judge.get(address).text)[0]
    assert judge.post(address, data={"answer": "1", "nonce": nonce}).status_code == 303
    judge.post(f"{olga}/people/add", data={"name": "Cleo"})
    fields = {"topic": str(second[0]), "from": "Ada", "to": "Cleo"}
    assert "done=handed-over" in judge.post(f"{olga}/people/hand-over", data=fields).headers["location"]
    assert second in [(item.topic, item.page) for item in queue(store, "Cleo")]


def test_comments_on_undisputed_pages_are_visible_to_organisers(judge: TestClient, olga: str, store: Store) -> None:
    topic, page = pooled(store)[0]
    cast_vote(
        store, Vote("a-comment", topic, page, "Ada", "graded", 1, comment="The <b>scope</b> names it.", seconds=9)
    )
    shown = judge.get(f"{olga}/pages?state=commented").text
    assert "The &lt;b&gt;scope&lt;/b&gt; names it." in shown
    assert len(re.findall(r'<th scope="row">', shown)) == 1


def test_numbers_of_the_coverage_lead_to_their_pages(judge: TestClient, olga: str, store: Store) -> None:
    judge_everything(store, {"Ada": 0, "Ben": 1})
    for address, n_pages in re.findall(r'href="([^"]*/pages\?topic=[^"]*state=[^"]*)">(\d+)</a>', judge.get(olga).text):
        shown = judge.get(address.replace("&amp;", "&")).text
        assert len(re.findall(r'<th scope="row">', shown)) == int(n_pages), address


def test_answers_without_reading_raise_an_alarm(judge: TestClient, olga: str, store: Store) -> None:
    for number, (topic, page) in enumerate(pooled(store)[:2]):
        cast_vote(store, Vote(f"fast-{number}", topic, page, "Ada", "graded", 1, seconds=0.0))
    topic, page = pooled(store)[2]
    cast_vote(store, Vote("slow-answer", topic, page, "Ben", "graded", 1, seconds=20.0))
    [alarm] = alarms(store)
    assert (alarm.assessor, alarm.kind, alarm.n) == ("Ada", "speed", 2)
    assert "2 answers in less than a second" in judge.get(olga).text
    assert len(re.findall(r'<th scope="row">', judge.get(f"{olga}/pages?assessor=Ada&state=fast").text)) == 2


def test_drift_and_disagreement_raise_alarms(store: Store) -> None:
    pages = [PooledPage(1, 1, page, ()) for page in range(1, 61)]
    load_pool(store, Pool(pages=tuple(pages)), {})
    for number in range(1, 61):
        seconds = 30.0 if number <= 40 else 3.0
        cast_vote(store, Vote(f"drift-{number}", 1, number, "Ada", "graded", number % 2, seconds=seconds))
        if number <= 12:
            cast_vote(store, Vote(f"other-{number}", 1, number, "Ben", "graded", (number + 1) % 2, seconds=30.0))
    found = {(alarm.assessor, alarm.kind) for alarm in alarms(store)}
    assert found == {("Ada", "drift"), ("Ada", "disagreement"), ("Ben", "disagreement")}


# Rulings: the second organiser sees the first.


def test_a_ruling_is_replaced_only_by_who_has_seen_it(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    otto = f"/organise/{add_assessor(store, 'Otto', 'organiser')}"
    topic, page = pooled(store)[0]
    judge_everything(store, {"Ada": 0, "Ben": 1})
    path = f"/settle/{topic}/{page}"
    seen_by_both = [judge.get(link + path).text for link in (olga, otto)]
    nonces = [re.findall(r'name="nonce" value="([\w-]+)"', html)[0] for html in seen_by_both]
    assert judge.post(olga + path, data={"answer": "1", "nonce": nonces[0]}).status_code == 303
    late = judge.post(otto + path, data={"answer": "0", "nonce": nonces[1]})
    assert late.status_code == 409
    assert "Olga has ruled on this article" in late.text
    assert "Nothing was saved" in late.text
    ruling = standing_ruling(store, topic, page)
    assert ruling is not None
    assert (ruling.assessor, ruling.grade) == ("Olga", 1)
    [token] = re.findall(r'name="replace" value="([^"]+)"', late.text)
    fields = {"answer": "0", "nonce": nonces[1], "replace": token}
    assert judge.post(otto + path, data=fields).status_code == 303
    ruling = standing_ruling(store, topic, page)
    assert ruling is not None
    assert (ruling.assessor, ruling.grade) == ("Otto", 0)
    assert actions(store).count("rule") == 2
    assert len([vote for vote in all_votes(store) if vote.method == "adjudication"]) == 2


# Runs and scale.


def test_a_run_is_withdrawn_with_confirmation_and_its_pages_leave_the_queues(
    judge: TestClient, olga: str, store: Store
) -> None:
    before = {(item.topic, item.page) for item in queue(store, "Ada")}
    assert judge.post(f"{olga}/people/run", data={"what": "withdraw", "run": "second"}).status_code == 400
    fields = {"what": "withdraw", "run": "second", "sure": "yes", "reason": "swapped columns"}
    done = judge.post(f"{olga}/people/run", data=fields)
    assert done.status_code == 303
    after = {(item.topic, item.page) for item in queue(store, "Ada")}
    n_gone = len(before - after)
    assert n_gone
    assert f"{n_gone} pages that only it brought left the queues" in judge.get(done.headers["location"]).text
    log = judge.get(f"{olga}/log").text
    assert "withdrew a run" in log
    assert "swapped columns" in log
    assert judge.post(f"{olga}/people/run", data={"what": "restore", "run": "second"}).status_code == 303
    assert {(item.topic, item.page) for item in queue(store, "Ada")} == before
    assert judge.post(f"{olga}/people/run", data={**fields, "run": "nothing"}).status_code == 400


def test_the_scale_cannot_change_what_a_grade_meant(judge: TestClient, olga: str, store: Store) -> None:
    topic, page = pooled(store)[0]
    cast_vote(store, Vote("a-grade-of-1", topic, page, "Ada", "graded", 1, seconds=9.0))
    refused = judge.post(f"{olga}/people/scale", data={"grades": "3"})
    assert refused.status_code == 400
    assert "would mean something else" in refused.text
    assert 'value="3" disabled' in judge.get(f"{olga}/people").text


def test_an_answer_carries_the_version_of_the_topic_it_was_shown_with(
    judge: TestClient, judging: JudgingFiles, store: Store
) -> None:
    item = next_item(store, "Ada")
    assert item is not None
    address = f"/judge/{judging.secrets['Ada']}/{item.topic}/{item.page}"
    html = judge.get(address).text
    store.connection.execute("UPDATE topic SET version = 2 WHERE id = ?", (item.topic,))
    nonce = re.findall(r'name="nonce" value="([\w-]+)"', html)[0]
    [version] = re.findall(r'name="version" value="(\d+)"', html)
    judge.post(address, data={"answer": "1", "nonce": nonce, "version": version})
    [vote] = all_votes(store)
    assert vote.topic_version == 1
    assert 'name="version" value="2"' in judge.get(address).text


# Scores: the command line's.


def test_scores_on_the_web_are_the_command_lines(
    generated: Collection, judging: JudgingFiles, store: Store, tmp_path: Path
) -> None:
    judge_everything(store, {"Ada": 0, "Ben": 0})
    settings = judging.settings(replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    expected = evaluate(generated.with_topics(judged_topics(store)), judging.runs)
    with client_of(open_state(generated.path, settings)) as client:
        found = effects(client.app.state.judging)  # type: ignore[attr-defined]
        shown = client.get(f"/organise/{judging.secrets['Olga']}/scores").text
    assert found.results.to_json() == expected.to_json()
    for run in expected.runs:
        assert f"{run.scores[run.main_measure]:.4f}" in shown
        assert all(note in shown for note in run.notes)
    assert "official-2021" not in shown


def test_leave_one_out_uses_the_pool_of_now_and_does_not_praise_what_was_not_tested(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    both = {(e.topic, e.page) for e in read_pool(judging.pool).pages if len(e.runs) == 2}
    for number, (topic, page) in enumerate(sorted(both)):
        cast_vote(store, Vote(f"shared-{number}", topic, page, "Ada", "graded", 1, seconds=9.0))
    shown = judge.get(f"{olga}/scores").text
    assert shown.count("untested: no unique page judged") == 2
    judge.post(f"{olga}/people/run", data={"what": "withdraw", "run": "second", "sure": "yes"})
    shown = judge.get(f"{olga}/scores").text
    assert "withdrawn, and not scored: second" in re.sub(r"\s+", " ", shown)
    assert shown.count("untested") == 0  # every page of the first run is its own now


def test_the_results_page_can_be_published(judge: TestClient, olga: str, store: Store) -> None:
    judge_everything(store, {"Ada": 0, "Ben": 0})
    cast_vote(store, Vote("ruling", *pooled(store)[0], "Olga", "graded", 1, method=ADJUDICATION))
    answer = judge.get(f"{olga}/results.zip")
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        files = {name.removeprefix("results/"): packed.read(name) for name in packed.namelist()}
    page = files["index.html"].decode()
    for word in ("How sure is this order?", "Krippendorff", "Coverage", "hardest first", "Cite as", "SHA256SUMS"):
        assert word in page, word
    assert "Agreement of 2 people" in page, "who rules has no part in it"
    assert "tier 1: the first 6 pages of Task 1 rankings" in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert not any(name in content.decode(errors="ignore") for name in ("Ada", "Ben") for content in files.values())
    sums = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert all(hashlib.sha256(files[name]).hexdigest() == digest for name, digest in sums.items())
    assert {"qrels.txt", "eval-topics-with-qrels.json.gz", "log.jsonl", "results.json"} <= sums.keys()
    assert all(digest in page for digest in sums.values())
    scores = json.loads(files["results.json"])
    assert {run["run"] for run in scores["runs"]} == {"first", "second"}
    assert actions(store)[-1] == "export"
    assert check_log(store) == []


def test_results_before_anything_is_judged_are_refused(judge: TestClient, olga: str) -> None:
    answer = judge.get(f"{olga}/results.zip")
    assert answer.status_code == 400
    assert "/tmp" not in answer.text


# The log.


def test_the_log_is_readable_and_says_when_it_is_broken(judge: TestClient, olga: str, store: Store) -> None:
    assert "The chain of entries is unbroken" in judge.get(f"{olga}/log").text
    judge.get(f"{olga}/export/qrels")
    shown = judge.get(f"{olga}/log").text
    assert re.search(r"Olga</td><td[^>]*>exported", shown)
    store.connection.execute("DROP TRIGGER events_do_not_vanish")
    store.connection.execute("DELETE FROM event WHERE number = 2")
    assert "The log is broken" in judge.get(f"{olga}/log").text


def test_the_new_pages_are_for_organisers(judge: TestClient, judging: JudgingFiles) -> None:
    ada = f"/organise/{judging.secrets['Ada']}"
    for path in ("/pages", "/log", "/scores", "/results.zip"):
        assert judge.get(ada + path).status_code == 404
    for path in ("/people/replace", "/people/run"):
        assert judge.post(ada + path, data={"name": "Ben", "sure": "yes"}).status_code == 404


def test_a_topic_goes_to_the_next_tier_of_all_topics(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    """Half of a topic done in its first tier, the assessor is led to the first tier of the other topic."""
    topics = sorted({topic for topic, _ in pooled(store)})
    load_pool(store, Pool(pages=tuple(PooledPage(topics[0], 2, page, ()) for page in (888_001, 888_002))), {})
    assign_pages(store, ["Ada", "Ben"], Overlap(1.0, 2))
    link = f"/judge/{judging.secrets['Ada']}"
    seen = []
    while (address := judge.get(f"{link}/next").headers["location"]) != link:
        nonce = re.findall(r'name="nonce" value="([\w-]+)"', judge.get(address).text)[0]
        judge.post(address, data={"answer": "x", "nonce": nonce})
        topic, page = map(int, address.split("/")[-2:])
        seen.append((topic, page))
    assert {page for _, page in seen[-2:]} == {888_001, 888_002}


def test_withdrawing_a_link_is_on_record(judge: TestClient, olga: str, store: Store) -> None:
    withdraw_link(store, "Ben", by="Olga")
    assert re.search(r"Olga</td><td[^>]*>withdrew a link", judge.get(f"{olga}/log").text)


# Forms from before something changed.


HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


def form_of(html: str) -> dict[str, str]:
    """The hidden fields of the form with the answers."""
    return dict(HIDDEN.findall(html.split('class="answers"')[-1]))


def test_an_answer_on_a_scale_that_has_changed_is_not_stored(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    item = next_item(store, "Ada")
    assert item is not None
    addresses = (f"/judge/{judging.secrets['Ada']}/{item.topic}/{item.page}", f"{olga}/settle/{item.topic}/{item.page}")
    cast_vote(store, Vote("skip", item.topic, item.page, "Ben", "skipped", seconds=3.0))
    forms = [form_of(judge.get(address).text) for address in addresses]
    assert judge.post(f"{olga}/people/scale", data={"grades": "3"}).status_code == 303
    for address, form in zip(addresses, forms, strict=True):
        refused = judge.post(address, data={**form, "answer": "1"})
        assert refused.status_code == 409
        assert "The answers have changed meanwhile" in refused.text
        assert "Marginally relevant" in refused.text
    assert [vote.outcome for vote in all_votes(store)] == ["skipped"]
    again = form_of(judge.get(addresses[0]).text)
    assert judge.post(addresses[0], data={**again, "answer": "1", "version": "99"}).status_code == 303
    [vote] = [vote for vote in all_votes(store) if vote.assessor == "Ada"]
    assert (vote.max_grade, vote.topic_version) == (3, 1), "nobody has read a version that is still to come"


def test_an_answer_on_a_page_that_left_the_queue_is_not_lost(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    ada = f"/judge/{judging.secrets['Ada']}"
    before = {(item.topic, item.page) for item in queue(store, "Ada")}
    shown = {page: form_of(judge.get(f"{ada}/{page[0]}/{page[1]}").text) for page in before}
    withdrawal = {"what": "withdraw", "run": "second", "sure": "yes"}
    assert judge.post(f"{olga}/people/run", data=withdrawal).status_code == 303
    [topic, page], *_ = sorted(before - {(item.topic, item.page) for item in queue(store, "Ada")})
    answer = judge.post(f"{ada}/{topic}/{page}", data={**shown[topic, page], "answer": "1"})
    assert answer.status_code == 303
    assert [(vote.topic, vote.page) for vote in all_votes(store)] == [(topic, page)]
    left = next(item for item in queue(store, "Ada") if item.outcome is None)
    store.connection.execute("DELETE FROM assignment WHERE assessor = 'Ada' AND page = ?", (left.page,))
    gone = judge.post(f"{ada}/{left.topic}/{left.page}", data={**shown[left.topic, left.page], "answer": "1"})
    assert gone.status_code == 404
    assert "given to somebody else meanwhile" in gone.text


def test_a_corrected_topic_is_a_new_version_while_the_server_runs(
    generated: Collection, judging: JudgingFiles, tmp_path: Path
) -> None:
    settings = judging.settings(replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    state = open_state(generated.path, settings)
    opened = open_judging(state)
    assert opened is not None
    topic = judging.topics[0]
    opened.stems(topic)
    corrected = [
        replace(one, scope="Only what is said here counts.") if one.id == topic else one for one in generated.topics
    ]
    fresh = opened.renewed(replace(state, collection=generated.with_topics(corrected)))
    assert (fresh.version(topic), fresh.topic(topic).scope) == (2, "Only what is said here counts.")
    assert not fresh._stems, "words to mark are those of the new text"
    opened.close()
    state.close()


def test_answers_on_an_earlier_text_of_a_topic_are_listed(
    judge: TestClient, olga: str, store: Store, generated: Collection
) -> None:
    judge_everything(store, {"Ada": 0})
    assert "earlier text" not in judge.get(olga).text
    topic = next(topic for topic in generated.topics if topic.split == "eval")
    revise_topics(store, [replace(topic, scope="Only what is said here counts.")])
    n_pages = sum(one == topic.id for one, _ in pooled(store))
    assert f"{n_pages} pages were answered on an earlier text of their topic" in judge.get(olga).text
    assert f"of {n_pages}<" in judge.get(f"{olga}/pages?state=earlier").text


def test_open_pages_of_somebody_without_a_link_are_pointed_out(judge: TestClient, olga: str, store: Store) -> None:
    assert "has no link" not in judge.get(olga).text
    withdraw_link(store, "Ben")
    shown = judge.get(olga).text
    assert f"Ben has no link, but {len(pooled(store))} open pages." in shown
    assert f"{olga}/people#hand-over" in shown


def test_an_organiser_is_not_offered_as_a_taker_of_pages(judge: TestClient, olga: str, judging: JudgingFiles) -> None:
    takers = re.search(r'<select id="to".*?</select>', judge.get(f"{olga}/people").text)
    assert takers is not None
    assert re.findall(r"<option>(\w+)", takers[0]) == ["Ada", "Ben"]
    topic = judging.topics[0]
    refused = judge.post(f"{olga}/people/hand-over", data={"topic": topic, "from": "Ada", "to": "Olga"})
    assert refused.status_code == 400
    assert "Olga is no assessor with a link" in refused.text


def test_the_download_of_everything_has_remarks_and_programs(
    judge: TestClient, olga: str, store: Store, tmp_path: Path
) -> None:
    judge_everything(store, {"Ada": 0, "Ben": 1})
    topic, page = pooled(store)[0]
    said = "Why is it relevant?"
    for _ in range(2):  # sent twice, kept and logged once
        judge.post(f"{olga}/settle/{topic}/{page}/remarks", data={"nonce": "a" * 16, "remark": said})
    (tmp_path / "model").write_text(f"{topic} 0 {page} 1\n")
    import_machine_judgments(store, tmp_path / "model", "model 1")
    with zipfile.ZipFile(io.BytesIO(judge.get(f"{olga}/export/all").content)) as packed:
        files = {
            name.removeprefix("judgments/"): packed.read(name).decode(errors="ignore") for name in packed.namelist()
        }
    [remark] = map(json.loads, files["remarks.jsonl"].splitlines())
    assert (remark["topic"], remark["page_id"], remark["author"], remark["text"]) == (topic, page, "Olga", said)
    assert json.loads(files["machine.jsonl"])["source"] == "model 1"
    [entry] = [entry for entry in log_entries(store) if entry.action == "remark"]
    assert entry.details == {"topic": topic, "page": page, "sha256": hashlib.sha256(said.encode()).hexdigest()}
    assert said not in files["log.jsonl"]
    shown = judge.get(f"{olga}/log").text
    assert f"{entry.details['sha256'][:12]}…" in shown
    assert entry.details["sha256"] not in shown


# Gold pages, the order of the work, who judges what, programs.


def test_a_wrong_answer_on_a_gold_page_shows_the_ruling(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    topic, page = pooled(store)[0]
    here, ada, ben = f"{olga}/settle/{topic}/{page}", *(f"/judge/{judging.secrets[name]}" for name in ("Ada", "Ben"))
    assert judge.post(f"{here}/gold", data={"what": "mark"}).status_code == 400, "there is no ruling"
    ask = lambda address: form_of(judge.get(address).text)  # noqa: E731
    cast_vote(store, Vote("skip", topic, page, "Ben", "skipped", seconds=3.0))
    judge.post(here, data={**ask(here), "answer": "1", "comment": "It is about chess."})
    assert "Make it a gold page" in judge.get(here).text
    assert judge.post(f"{here}/gold", data={"what": "mark"}).status_code == 303
    assert "This is a gold page" in judge.get(here).text
    for address in (f"{ada}/{topic}/{page}", f"{ada}/{topic}?gold={topic}-{page}"):
        assert "It is about chess." not in judge.get(address).text, "nobody sees the ruling before an answer"
    wrong = judge.post(f"{ada}/{topic}/{page}", data={**ask(f"{ada}/{topic}/{page}"), "answer": "0"})
    told = judge.get(wrong.headers["location"]).text
    assert "organisers’ answer to" in told
    assert "It is about chess." in told
    right = judge.post(f"{ben}/{topic}/{page}", data={**ask(f"{ben}/{topic}/{page}"), "answer": "1"})
    assert "organisers’ answer" not in judge.get(right.headers["location"]).text
    work = judge.get(olga).text
    assert "Gold pages right" in work
    assert "0 of 1" in work
    assert "made gold pages" in judge.get(f"{olga}/log").text
    assert judge.post(f"{here}/gold", data={"what": "unmark"}).status_code == 303
    assert "Gold pages right" not in judge.get(olga).text


def test_organisers_choose_the_order_and_who_judges_a_topic(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    fields = {"order": "model", "recall": "80"}
    assert judge.post(f"{olga}/people/order", data=fields).status_code == 303
    assert "A model orders the work" in judge.get(f"{olga}/people").text
    assert judge.post(f"{olga}/people/order", data={"order": "model", "recall": "7"}).status_code == 400
    assert judge.post(f"{olga}/people/order", data={"order": "tier"}).status_code == 303
    assert "Tier by tier over all topics." in judge.get(f"{olga}/people").text
    topic = str(judging.topics[0])
    assert judge.post(f"{olga}/people/topic", data={"topic": topic, "names": "Ada, Zoe"}).status_code == 400
    assert judge.post(f"{olga}/people/topic", data={"topic": topic, "names": "Ada"}).status_code == 303
    assert actions(store)[-3:] == ["order-by-model", "order-by-tier", "choose-assessors"]


def test_the_model_is_fitted_again_after_a_batch_of_answers(
    generated: Collection, judging: JudgingFiles, store: Store, tmp_path: Path
) -> None:
    state = open_state(generated.path, judging.settings(replace(UNLIMITED, store=tmp_path / "desk.sqlite")))
    opened = open_judging(state)
    assert opened is not None
    order_work(store, generated, state.source.model().engine, OrderSettings(batch=3))
    for n, item in enumerate(list(queue(store, "Ada"))[:3], 1):
        cast_vote(store, Vote(f"an-answer-{n}", item.topic, item.page, "Ada", "graded", 1, seconds=9.0))
        opened.order_again()
    with opened._ordering:  # until the thread has done its work
        assert actions(store).count("order-by-model") == 2
    opened.close()
    state.close()


def test_all_topics_of_somebody_are_handed_over_at_once(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store
) -> None:
    add_assessor(store, "Cleo")
    fields = {"topic": "all", "from": "Ada", "to": "Cleo"}
    n_pages = len(list(queue(store, "Ada")))
    done = judge.post(f"{olga}/people/hand-over", data=fields).headers["location"]
    assert f"n={n_pages}&" in done
    assert not list(queue(store, "Ada"))
    assert len({item.topic for item in queue(store, "Cleo")}) == len(judging.topics)


def test_two_organisers_who_add_one_name_at_once_make_one_link(judge: TestClient, olga: str, store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: judge.post(f"{olga}/people/add", data={"name": "Zoe"}).status_code, range(4)))
    assert sorted(codes) == [200, 400, 400, 400]
    assert actions(store).count("add-person") == 4, "Ada, Ben, Olga and Zoe"
    assert "replace-link" not in actions(store)


def test_programs_stand_beside_people_and_agreement_is_by_topic(
    judge: TestClient, judging: JudgingFiles, olga: str, store: Store, tmp_path: Path
) -> None:
    judge_everything(store, {"Ada": 0, "Ben": 0})
    rows = [f"{topic} 0 {page} {int(page % 3 > 0)}\n" for topic, page in pooled(store)]
    (tmp_path / "model.txt").write_text("".join(rows), "utf-8")
    before = judged_topics(store)
    import_machine_judgments(store, tmp_path / "model.txt", "model 1")
    assert [topic.rel_docs.tolist() for topic in judged_topics(store)] == [topic.rel_docs.tolist() for topic in before]
    scores = judge.get(f"{olga}/scores").text
    assert "Judgments of programs" in scores
    assert "between people and model 1" in scores
    assert "imported judgments of a program" in judge.get(f"{olga}/log").text
    agreement = judge.get(f"{olga}/agreement").text
    assert "Ada and Ben, first answers" in agreement
    assert agreement.count("first answers") >= 2 + 2 * len(judging.topics)
