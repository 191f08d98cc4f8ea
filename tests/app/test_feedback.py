"""What people mark as not their topic changes the next draw, the next version of a list, and what can be learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from evenrank.app.lists.work_list import list_feedback, load_list
from evenrank.app.searches.draws import relevance_given_marks
from evenrank.app.searches.saved_search import SavedSearch, load_search
from evenrank.app.state import AppState
from evenrank.app.storage.marked_topics import marked_topics
from evenrank.cli.learn import command as learn
from evenrank.retrieval.engine.protocol import Hits
from evenrank.retrieval.query.feedback import FeedbackSettings, feedback_terms
from tests.app.conftest import posted
from tests.desk_collections import QUESTION


def mark(client: TestClient, path: str, page_id: int, kind: str, **more: str) -> None:
    fields = {"page_id": str(page_id), "mark": kind, **more}
    assert client.post(f"{path}/marks", data=fields).status_code == 303


def likeness(state: AppState, page_ids: list[int], others: np.ndarray) -> np.ndarray:
    """How much other pages share of the words of some pages; 0 where nothing is shared."""
    engine = state.source.model().engine
    pages = Hits(np.array(page_ids, np.int32), np.ones(len(page_ids)))
    terms = feedback_terms(engine, pages, FeedbackSettings(n_pages=len(page_ids)))
    hits = engine.search(terms, 2000)
    scores = dict(zip(hits.page_ids.tolist(), hits.scores.tolist(), strict=True))
    return np.array([scores.get(int(page), 0.0) for page in others])


def saved(state: AppState, path: str) -> SavedSearch:
    found = load_search(state.store, path.rpartition("/")[2])
    assert found is not None
    return found


def test_what_resembles_off_topic_articles_is_drawn_less(state: AppState, client: TestClient, search_path: str) -> None:
    search = saved(state, search_path)
    draw = posted(client, f"{search_path}/draws")
    drawn = [article["page_id"] for article in client.get(f"/api{draw}").json()["articles"]]
    before = relevance_given_marks(state, search)
    assert np.array_equal(before, search.relevance)
    for page_id in drawn[:5]:
        mark(client, search_path, page_id, "off-topic", draw="1")
    after = relevance_given_marks(state, saved(state, search_path))
    assert sorted(after) == pytest.approx(sorted(before))
    alike = likeness(state, drawn[:5], search.page_ids)
    rose, fell = alike[after > before], alike[after < before]
    assert rose.mean() < fell.mean()
    again = posted(client, f"{search_path}/draws")
    next_pages = [article["page_id"] for article in client.get(f"/api{again}").json()["articles"]]
    assert not set(drawn[:5]) & set(next_pages)


def test_the_next_version_of_a_list_leaves_off_topic_articles_out(state: AppState, client: TestClient) -> None:
    path = posted(client, "/lists", QUESTION)
    articles = client.get(f"{path}.json").json()["articles"]
    off_topic, claimed = [article["page_id"] for article in articles[:3]], articles[-1]["page_id"]
    for page_id in off_topic:
        mark(client, path, page_id, "off-topic")
    mark(client, path, claimed, "claimed")
    work_list = load_list(state.store, path.rpartition("/")[2])
    assert work_list is not None
    feedback = list_feedback(state.store, work_list)
    assert (feedback.relevant, set(feedback.not_relevant)) == ((claimed,), set(off_topic))
    assert "3 articles were marked as not our topic" in client.get(f"{path}/refresh").text
    newer = posted(client, f"{path}/refresh").removesuffix("/changes")
    pages = [article["page_id"] for article in client.get(f"{newer}.json").json()["articles"]]
    assert not set(off_topic) & set(pages)
    assert claimed in pages


def test_learning_takes_marks_of_both_kinds_and_no_private_ones(
    state: AppState, client: TestClient, search_path: str, tmp_path: Path
) -> None:
    def marked(title: str, kinds: tuple[str, ...]) -> str:
        path = posted(client, "/lists", {**QUESTION, "title": title})
        articles = client.get(f"{path}.json").json()["articles"]
        for article, kind in zip(articles, kinds, strict=False):
            mark(client, path, article["page_id"], kind)
        return path

    marked("Both kinds of chess", ("off-topic", "off-topic", "done", "claimed"))
    marked("One kind of chess", ("off-topic",))
    client.post(f"{marked('Private chess', ('off-topic', 'done'))}/manage", data={"action": "private"})
    topics = {topic.title: topic for topic in marked_topics(state.store.path)}
    assert "One kind of chess" not in topics
    assert "Private chess" not in topics
    topic = topics["Both kinds of chess"]
    assert topic.id < 0
    assert topic.assessed_docs is not None
    assert (len(topic.rel_docs), len(topic.assessed_docs)) == (2, 4)
    models = [tmp_path / "without.json", tmp_path / "with.json"]
    for model, options in zip(models, ([], ["--marks", str(state.store.path)]), strict=True):
        done = CliRunner().invoke(learn, [str(state.collection.path), "--set", "n_forms=2", "-o", str(model), *options])
        assert done.exit_code == 0, done.output
    assert models[0].read_bytes() != models[1].read_bytes()
