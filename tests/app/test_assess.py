"""The assessment pages over HTTP: links, queues, answers, what assessors may see, what organisers may do."""

from __future__ import annotations

import gzip
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")

from starlette.testclient import TestClient

from evenrank.app.state import open_state
from evenrank.trec.assessment.assessors import add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import Store, Vote, all_votes, cast_vote, create_store, current_votes
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of
from tests.judging_files import JudgingFiles, make_judging

GONE = 2_000_000_001
"""A page that the collection does not have."""
FORM = re.compile('class="answers"')
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
NONCE = re.compile(r'name="nonce" value="([^"]+)"')


@pytest.fixture
def judging(generated: Collection, tmp_path: Path) -> JudgingFiles:
    return make_judging(tmp_path, generated, missing=GONE)


def start(client: TestClient, link: str) -> str:
    """The address of the first open article."""
    return str(client.get(f"{link}/next").headers["location"])


def answer(client: TestClient, address: str, key: str, **fields: str) -> str:
    """Where an answer on the page leads."""
    shown = client.get(address).text
    hidden = dict(HIDDEN.findall(FORM.split(shown)[-1]))
    found = client.post(address, data={**hidden, "answer": key, **fields})
    assert found.status_code == 303, found.text
    return str(found.headers["location"])


def judge_all(client: TestClient, link: str, keys: str) -> list[str]:
    """Answers everything with `keys` in turn; the addresses judged."""
    judged: list[str] = []
    while (address := start(client, link)) != link:
        answer(client, address, keys[len(judged) % len(keys)])
        judged.append(address)
    return judged


def test_an_unknown_link_is_not_found(judge: TestClient) -> None:
    found = judge.get(f"/judge/{'a' * 32}")
    assert (found.status_code, "ask your organiser" in found.text) == (404, True)


def test_a_server_without_judgments_says_so(client: TestClient) -> None:
    assert "--judgments" in client.get(f"/judge/{'a' * 32}").text


def test_links_of_assessors_do_not_open_the_organisers_pages(judge: TestClient, judging: JudgingFiles) -> None:
    for path in ("", "/agreement", "/settle", "/scores", "/export/qrels", "/settle/1/1"):
        assert judge.get(f"/organise/{judging.secrets['Ada']}{path}").status_code == 404
    olga = judge.get(f"/judge/{judging.secrets['Olga']}")
    assert olga.headers["location"] == f"/organise/{judging.secrets['Olga']}"


def test_both_judge_everything_in_an_order_of_their_own(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    orders = {}
    for name in ("Ada", "Ben"):
        link = f"/judge/{judging.secrets[name]}"
        orders[name] = [address.removeprefix(link) for address in judge_all(judge, link, "10x")]
    assert sorted(orders["Ada"]) == sorted(orders["Ben"])
    assert orders["Ada"] != orders["Ben"]
    assert len(list(current_votes(store))) == 2 * len(orders["Ada"])


def test_counts_and_end_of_a_topic(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    link, topic = f"/judge/{judging.secrets['Ada']}", judging.topics[0]
    pages = [item.page for item in queue(store, "Ada", topic)]
    address = f"{link}/{topic}/{pages[0]}"
    for number, page in enumerate(pages):
        assert address == f"{link}/{topic}/{page}"
        n_skipped = min(number, 2)
        assert f"Judged {number - n_skipped} of {len(pages)} · {n_skipped} skipped" in judge.get(address).text
        address = answer(judge, address, "s" if number < 2 else "1")
    assert address == f"{link}/{topic}"
    assert "Look again at the 2 skipped" in judge.get(address).text

    address = str(judge.get(f"{link}/{topic}/next?skipped=1").headers["location"])
    assert address == f"{link}/{topic}/{pages[0]}?skipped=1"
    address = answer(judge, address, "s")  # skipped once more: the second look goes on, and ends
    assert address == f"{link}/{topic}/{pages[1]}?skipped=1"
    assert answer(judge, address, "0") == f"{link}/{topic}"
    assert f"Judged {len(pages) - 1} of {len(pages)} · 1 skipped" in judge.get(f"{link}/{topic}").text


def test_pages_of_others_are_not_found(judge: TestClient, judging: JudgingFiles) -> None:
    link = f"/judge/{judging.secrets['Ada']}"
    for path in (f"/{judging.topics[0]}/999999", "/999/1", "/999", "/999/next"):
        assert judge.get(link + path).status_code == 404
    fields = {"answer": "1", "nonce": "n" * 16}
    assert judge.post(f"{link}/{judging.topics[0]}/999999", data=fields).status_code == 404


@pytest.mark.parametrize("fields", [{"answer": "2"}, {}, {"answer": "1", "nonce": "x"}, {"comment": "a" * 5000}])
def test_a_broken_form_stores_nothing(
    judge: TestClient, judging: JudgingFiles, store: Store, fields: dict[str, str]
) -> None:
    address = start(judge, f"/judge/{judging.secrets['Ada']}")
    sent = {"answer": "1", "nonce": "n" * 16} | fields if "comment" in fields else {"nonce": "n" * 16} | fields
    assert judge.post(address, data=sent).status_code == 400
    assert list(all_votes(store)) == []


def test_an_answer_sent_again_is_stored_once(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    address = start(judge, f"/judge/{judging.secrets['Ada']}")
    fields = {"answer": "1", "nonce": "n" * 16, "seconds": "12.34"}
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: judge.post(address, data=fields), range(24)))
    assert {found.status_code for found in answers} == {303}
    [vote] = all_votes(store)
    assert (vote.outcome, vote.grade, vote.seconds, vote.method) == ("graded", 1, 12.3, "web")


def test_a_page_kept_by_the_browser_takes_a_change_of_mind(
    judge: TestClient, judging: JudgingFiles, store: Store
) -> None:
    address = start(judge, f"/judge/{judging.secrets['Ada']}")
    for key in "1011":
        judge.post(address, data={"answer": key, "nonce": "n" * 16})
    assert [vote.grade for vote in all_votes(store)] == [1, 0, 1]
    assert [vote.grade for vote in current_votes(store)] == [1]


def test_two_tabs_on_one_article(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    """Both answers are kept, the last one counts, and the page says so."""
    address = start(judge, f"/judge/{judging.secrets['Ada']}")
    tabs = [NONCE.search(judge.get(address).text)[1] for _ in range(2)]  # type: ignore[index]
    first = judge.post(address, data={"answer": "1", "nonce": tabs[0], "seen": ""}).headers["location"]
    second = judge.post(address, data={"answer": "0", "nonce": tabs[1], "seen": ""}).headers["location"]
    assert second == f"{first}?changed=1"
    assert "in another window" in judge.get(second).text
    assert "in another window" not in judge.get(first).text
    assert [vote.grade for vote in all_votes(store)] == [1, 0]
    assert [vote.grade for vote in current_votes(store)] == [0]


def test_undo_goes_back_and_brings_back(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    link = f"/judge/{judging.secrets['Ada']}"
    first = start(judge, link)
    second = answer(judge, first, "1", comment="clear")
    answer(judge, second, "0")
    fields = {"nonce": "u" * 16}
    for _ in range(2):  # the same undo, sent again
        assert judge.post(f"{link}/undo", data=fields).headers["location"] == f"{second}?undone=1"
    undone = judge.get(f"{second}?undone=1").text
    assert re.findall(r'id="saved">([^<]*)', undone) == ["Undone"]
    assert "Before that: <strong>Relevant</strong>" in undone
    assert "Saved:" not in undone
    assert [vote.grade for vote in current_votes(store)] == [1]
    assert judge.post(f"{link}/undo", data={"nonce": "v" * 16}).headers["location"] == f"{first}?undone=1"
    assert list(current_votes(store)) == []
    assert judge.post(f"{link}/undo", data={"nonce": "w" * 16}).headers["location"] == link


def test_pages_outside_the_pool_are_said_to_count_in_some_figures_only(
    judge: TestClient, judging: JudgingFiles, store: Store
) -> None:
    work = f"/organise/{judging.secrets['Olga']}"
    assert "not in the pool" not in judge.get(work).text
    topic = next(iter(queue(store, "Ada"))).topic
    cast_vote(store, Vote("outside-the-pool-1", topic, GONE + 1, "Ada", "graded", grade=1))
    shown = judge.get(work).text
    assert "1 judged page is not in the pool: agreement and downloads count it, coverage does not." in shown
    assert str(GONE + 1) in judge.get(f"{work}/export/qrels").text


def test_a_comment_comes_back_with_its_answer(judge: TestClient, judging: JudgingFiles) -> None:
    address = start(judge, f"/judge/{judging.secrets['Ada']}")
    answer(judge, address, "x", comment=" <b>why</b>\r\nso ")
    shown = judge.get(address).text
    assert "&lt;b&gt;why&lt;/b&gt;\nso</textarea>" in shown
    assert "You answered: <strong>Cannot judge</strong>" in shown


def test_a_page_deleted_from_the_collection(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    link, topic = f"/judge/{judging.secrets['Ada']}", judging.topics[0]
    shown = judge.get(f"{link}/{topic}/{GONE}").text
    assert "no longer in the collection" in shown
    assert re.findall(r'name="answer" value="(.)"', shown) == ["x", "s"]
    answer(judge, f"{link}/{topic}/{GONE}", "x")
    [vote] = current_votes(store)
    assert (vote.page, vote.outcome) == (GONE, "unassessable")


def test_assessors_see_no_run_rank_tier_group_or_quality(judge: TestClient, judging: JudgingFiles) -> None:
    link = f"/judge/{judging.secrets['Ada']}"
    pages = [judge.get(address).text for address in (link, start(judge, link), f"{link}/{judging.topics[0]}")]
    telling = re.compile(
        r"\b(?:first\.tsv|second\.tsv|tier|rank|stub|FA|GA|female|non-?binary|overlap|primary)\b", re.I
    )
    for text in pages:
        own = re.sub(r"<article>.*</article>|<[^>]*>", "", text, flags=re.S)
        assert telling.findall(own) == []


def test_topic_words_are_marked_in_the_text_and_nothing_breaks_out(judge: TestClient, judging: JudgingFiles) -> None:
    shown = judge.get(start(judge, f"/judge/{judging.secrets['Ada']}")).text
    assert "<mark>" in shown
    assert "what counts" in shown.lower()


def test_an_answer_that_cannot_be_stored_says_so_without_paths(
    judge: TestClient, judging: JudgingFiles, store: Store
) -> None:
    full = "CREATE TRIGGER full BEFORE INSERT ON vote BEGIN SELECT RAISE (ABORT, 'database or disk is full'); END"
    store.connection.execute(full)
    address = start(judge, f"/judge/{judging.secrets['Ada']}")
    found = judge.post(address, data={"answer": "1", "nonce": "n" * 16})
    assert found.status_code == 503
    assert "could not store it" in found.text
    assert str(judging.judgments) not in found.text
    store.connection.execute("DROP TRIGGER full")
    assert judge.post(address, data={"answer": "1", "nonce": "n" * 16}).status_code == 303
    assert len(list(all_votes(store))) == 1


def test_the_log_has_no_secret(judge: TestClient, judging: JudgingFiles, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    link = f"/judge/{judging.secrets['Ada']}"
    answer(judge, start(judge, link), "1")
    judge.get(f"{link}/999/1")
    logged = "\n".join(record.getMessage() for record in caplog.records if record.name == "evenrank.app")
    assert "save_answer 303" in logged
    assert judging.secrets["Ada"] not in logged


def test_answers_from_other_sites_are_refused(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    address = start(judge, f"/judge/{judging.secrets['Ada']}")
    fields = {"answer": "1", "nonce": "n" * 16}
    found = judge.post(address, data=fields, headers={"Sec-Fetch-Site": "cross-site"})
    assert found.status_code == 403
    assert list(all_votes(store)) == []


def test_hostile_titles_texts_and_comments_stay_text(hostile: Collection, tmp_path: Path) -> None:
    with create_store(tmp_path / "judgments.sqlite") as store:
        pages = tuple(PooledPage(1, 1, int(page), ()) for page in hostile.page_ids)
        load_pool(store, Pool(pages=pages), {1: "<script>alert(1)</script> river"})
        link = f"/judge/{add_assessor(store, 'Ada <script>')}"
        assign_pages(store, ["Ada <script>"])
    settings = replace(UNLIMITED, store=tmp_path / "desk.sqlite", judgments=tmp_path / "judgments.sqlite")
    with client_of(open_state(hostile.path, settings)) as client:
        texts = [client.get(f"{link}/1/{page}").text for page in hostile.page_ids]
        for page in hostile.page_ids:
            answer(client, f"{link}/1/{page}", "1", comment="</textarea><script>alert(1)</script>")
        texts += [client.get(path).text for path in (link, f"{link}/1", f"{link}/1/1")]
    for text in texts:
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "<b>" not in text


def test_disagreements_are_settled_and_rulings_undone(judge: TestClient, judging: JudgingFiles, store: Store) -> None:
    for name, keys in (("Ada", "1"), ("Ben", "0")):
        judge_all(judge, f"/judge/{judging.secrets[name]}", keys)
    link = f"/organise/{judging.secrets['Olga']}"
    first = str(judge.get(f"{link}/settle").headers["location"])
    assert "<strong>Ada</strong>: Relevant" in judge.get(first).text
    assert judge.post(first, data={"answer": "s", "nonce": "n" * 16}).status_code == 400
    second = answer(judge, first, "1", comment="the scope names it")
    assert second != first
    assert "settled" in judge.get(f"{link}/agreement").text
    qrels = judge.get(f"{link}/export/qrels").text.splitlines()
    assert qrels == [f"{first.split('/')[-2]} 0 {first.split('/')[-1]} 1"]
    assert judge.post(f"{link}/undo", data={"nonce": "u" * 16}).headers["location"] == f"{first}?undone=1"
    assert 'id="saved">Undone<' in judge.get(f"{first}?undone=1").text
    assert judge.get(f"{link}/export/qrels").text == ""
    address = first
    while "/settle/" in address:
        address = answer(judge, address, "x")
    assert address == f"{link}/agreement"
    assert "All are settled" in judge.get(address).text


def test_skipped_unassessable_and_disputed_are_no_0_in_any_export(
    judge: TestClient, judging: JudgingFiles, store: Store
) -> None:
    judge_all(judge, f"/judge/{judging.secrets['Ada']}", "xs1")
    link = f"/organise/{judging.secrets['Olga']}"
    graded = {(vote.topic, vote.page) for vote in current_votes(store) if vote.grade is not None}
    assert graded
    qrels = [line.split() for line in judge.get(f"{link}/export/qrels").text.splitlines()]
    assert {(int(topic), int(page), grade) for topic, _, page, grade in qrels} == {(*key, "1") for key in graded}
    topics = gzip.decompress(judge.get(f"{link}/export/topics").content).decode()
    undecided = [vote.page for vote in current_votes(store) if vote.grade is None]
    assert undecided
    assert not any(re.search(rf"\b{page}\b", topics) for page in set(undecided) - {page for _, page in graded})
    votes = gzip.decompress(judge.get(f"{link}/export/votes").content).decode().splitlines()
    assert not any('"grade":0' in vote.replace(" ", "") for vote in votes)


def test_the_organiser_sees_coverage_pace_agreement_and_scores(judge: TestClient, judging: JudgingFiles) -> None:
    link = f"/organise/{judging.secrets['Olga']}"
    for path in ("", "/agreement", "/scores"):  # before anybody judged
        assert judge.get(link + path).status_code == 200
    for name, keys in (("Ada", "110"), ("Ben", "1100")):
        judge_all(judge, f"/judge/{judging.secrets[name]}", keys)
    work, agreement, scores = (judge.get(link + path).text for path in ("", "/agreement", "/scores"))
    assert "pages decided" in work
    assert "Ada" in work
    assert "Cohen’s κ" in agreement
    assert re.search(r"<strong>−?\d\.\d{3}</strong></td><td class=\"number\"[^>]*>−?\d\.\d{3} to", agreement)
    assert "judged@5" in scores
    assert "Leave one run out" in scores


def work_left(judge: TestClient, link: str) -> str:
    """What the organisers' page says of the hours that are left."""
    [found] = re.findall(
        r"<strong>([^<]*)</strong> <span>of work left at the present pace([^<]*)<", judge.get(link).text
    )
    return "".join(found)


def test_work_left_counts_everybody_and_is_never_nothing(
    judge: TestClient, judging: JudgingFiles, store: Store
) -> None:
    """Ben has not begun: his pages count with Ada's pace, and the page says so."""
    link = f"/organise/{judging.secrets['Olga']}"
    assert work_left(judge, link) == "–"
    waiting = "; who has no pace yet counts with the mean of the others"
    pages = [(topic, item.page) for topic in judging.topics for item in queue(store, "Ada", topic)]
    votes = [Vote(f"vote-{at}", *page, "Ada", "graded", 1, seconds=0.2) for at, page in enumerate(pages)]
    for vote in votes:
        cast_vote(store, vote)
    assert work_left(judge, link) == f"under 0.1 h{waiting}"
    for at, page in enumerate(pages):
        cast_vote(store, Vote(f"again-{at}", *page, "Ada", "graded", 1, seconds=360.0))
    assert work_left(judge, link) == f"{len(pages) / 10:.1f} h{waiting}"
    cast_vote(store, Vote("ben", *pages[0], "Ben", "graded", 1, seconds=360.0))
    assert work_left(judge, link) == f"{(len(pages) - 1) / 10:.1f} h"


def test_an_interval_that_cannot_be_given_is_said_to_be_unknown(judge: TestClient, judging: JudgingFiles) -> None:
    link = f"/organise/{judging.secrets['Olga']}"
    for path in ("/agreement", "/scores"):
        assert "– to –" not in judge.get(link + path).text
    assert "not known yet" in judge.get(f"{link}/agreement").text


def test_texts_are_taken_once_and_anew_after_the_collection_changed(
    generated: Collection, judging: JudgingFiles, tmp_path: Path
) -> None:
    from evenrank.app.assess.texts import Absence, ArticleContent, open_texts

    page = int(generated.page_ids[0])
    path = tmp_path / "texts.sqlite"
    for pages in ([page], [page, GONE]):
        with open_texts(path, generated, pages).store as store:
            assert [known for (known,) in store.connection.execute("SELECT page FROM text ORDER BY page")] == pages
    sources = {name: source for name, source in generated.manifest.sources.items() if name != "corpus"}
    without = replace(generated, manifest=replace(generated.manifest, sources=sources))
    texts = open_texts(path, without, [page])
    assert texts.find(page) is Absence.UNREAD
    texts.close()
    texts = open_texts(path, generated, [page, GONE])
    assert isinstance(texts.find(page), ArticleContent)
    assert texts.find(GONE) is Absence.GONE
    texts.close()


@pytest.mark.parametrize(("language", "key", "shown"), [("en", "ArrowRight", "→"), ("ar", "ArrowLeft", "←")])
def test_the_arrow_for_the_next_article_points_where_the_language_goes(
    judge: TestClient, judging: JudgingFiles, language: str, key: str, shown: str
) -> None:
    page = judge.get(start(judge, f"/judge/{judging.secrets['Ada']}"), headers={"Accept-Language": language}).text
    link = re.search(rf'data-key="{key}">[^<]*<kbd>(.)</kbd>', page)
    assert link is not None
    assert link[1] == shown


def test_french_colons_have_their_space(judge: TestClient, judging: JudgingFiles) -> None:
    page = judge.get(start(judge, f"/judge/{judging.secrets['Ada']}"), headers={"Accept-Language": "fr"}).text
    assert "<strong>Pertinent</strong>\u00a0: l’article relève du sujet" in page
