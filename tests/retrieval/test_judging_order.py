"""The order of judging by a model: likely relevant pages first, recall from a random sample, a stop that holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.judging_order import OrderSettings, TopicState, features_of, order_work
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.campaign import campaign_runs, keep_work_order, work_order
from evenrank.trec.assessment.coverage import coverage, pace
from evenrank.trec.assessment.files import export_judgments, import_qrels, with_judgments
from evenrank.trec.assessment.log import check_log, log_entries
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.queues import next_after, next_item, queue
from evenrank.trec.assessment.votes import Store, Vote, cast_or_change, create_store
from evenrank.trec.collection import Collection
from tests.desk_collections import shared_generated

N_PAGES = 120


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return shared_generated(tmp_path_factory)


@pytest.fixture
def engine(collection: Collection) -> Iterator[Engine]:
    with open_index(collection) as opened:  # type: ignore[attr-defined]
        yield opened


@pytest.fixture
def store(collection: Collection, tmp_path: Path) -> Iterator[Store]:
    """Two topics with 120 pages each, 20 of them relevant or fewer; Ada judges both."""
    with create_store(tmp_path / "judgments.sqlite", seed=5) as opened:
        load_pool(opened, Pool(pages=tuple(pooled(collection))), {})
        add_assessor(opened, "Ada")
        assign_pages(opened, ["Ada"], Overlap(0.0))
        yield opened


def pooled(collection: Collection) -> Iterator[PooledPage]:
    for topic in collection.topics:
        if topic.split == "eval":
            relevant = topic.rel_docs[:20]
            others = np.setdiff1d(collection.page_ids, topic.rel_docs)
            others = derive(1, topic.id).permutation(others)[: N_PAGES - len(relevant)]
            for place, page in enumerate([*relevant.tolist(), *others.tolist()]):
                yield PooledPage(topic.id, 1 + place % 2, page, ())


def judge(store: Store, collection: Collection, n_answers: int) -> int:
    """Number of relevant pages among the next answers, given as the collection has them."""
    relevant = {topic.id: set(topic.rel_docs.tolist()) for topic in collection.topics}
    n_found = 0
    for _ in range(n_answers):
        item = next_item(store, "Ada")
        if item is None:
            break
        grade = int(item.page in relevant[item.topic])
        cast_or_change(store, Vote(f"{item.topic}-{item.page}", item.topic, item.page, "Ada", "graded", grade))
        n_found += grade
    return n_found


def test_relevant_pages_come_early(store: Store, collection: Collection, engine: Engine) -> None:
    order_work(store, collection, engine, OrderSettings(sample=0.1, batch=10))
    judge(store, collection, 24)  # the random sample
    found = 0
    for _ in range(4):
        order_work(store, collection, engine, OrderSettings(sample=0.1, batch=10))
        found += judge(store, collection, 20)
    n_relevant = sum(min(20, len(topic.rel_docs)) for topic in collection.topics if topic.split == "eval")
    assert found >= 0.7 * n_relevant, "80 of 240 pages in the usual order would hold a third"
    assert check_log(store) == []
    assert [entry.action for entry in log_entries(store)].count("order-by-model") == 5


def test_the_same_judgments_give_the_same_order(store: Store, collection: Collection, engine: Engine) -> None:
    judge(store, collection, 60)
    orders = []
    for _ in range(2):
        order_work(store, collection, engine)
        orders.append([(item.topic, item.page) for item in queue(store, "Ada")])
    assert orders[0] == orders[1]


def test_a_topic_stops_and_goes_on(store: Store, collection: Collection, engine: Engine) -> None:
    settings = OrderSettings(sample=0.3, batch=10, recall=0.6)
    order_work(store, collection, engine, settings)
    for _ in range(24):
        judge(store, collection, 10)
        order_work(store, collection, engine, settings)
    order = work_order(store)
    assert order is not None
    stopped = [topic for topic in order.topics if topic.n_set_aside]
    assert stopped, "the model finds these pages well"
    assert next_item(store, "Ada") is None
    assert sum(entry.n_open for entry in pace(store)) == 0
    assert sum(tier.n_untouched for tier in coverage(store)) == sum(topic.n_set_aside for topic in stopped)
    for topic in stopped:
        relevant = set(collection.topic_by_id[topic.topic].rel_docs[:20].tolist())
        found = {item.page for item in queue(store, "Ada", topic.topic) if item.grade}
        assert len(found & relevant) >= 0.6 * len(relevant)
    keep_work_order(store, None, {}, (), None)
    assert next_item(store, "Ada") is not None
    assert work_order(store) is None


def test_the_bias_is_recorded_and_stays_with_exports(
    store: Store, collection: Collection, engine: Engine, tmp_path: Path
) -> None:
    judge(store, collection, 240)
    assert campaign_runs(store).bias == ""
    order_work(store, collection, engine)
    assert "in the order of a model" in campaign_runs(store).bias
    export_judgments(store, "qrels", tmp_path / "qrels.txt")
    with create_store(tmp_path / "other.sqlite") as other:
        import_qrels(other, tmp_path / "qrels.txt", "Ada")
        assert campaign_runs(other).bias == campaign_runs(store).bias
    runs = [oracle_run(collection, 1, 0.5, name="alpha").run]
    results = evaluate(with_judgments(collection, store), runs, n_resamples=9)
    assert any("in the order of a model" in note for note in results.notes)


def test_a_batch_comes_before_the_next_of_any_topic(store: Store, collection: Collection, engine: Engine) -> None:
    order_work(store, collection, engine, OrderSettings(sample=0.1, batch=5))
    urgency = {(t, p): u for t, p, u in store.connection.execute("SELECT topic, page, urgency FROM item")}
    met = []
    item = next_item(store, "Ada")
    while item is not None and len(met) < 60:
        met.append(urgency[item.topic, item.page])
        cast_or_change(store, Vote(f"v{len(met)}", item.topic, item.page, "Ada", "graded", 0))
        item = next_after(store, "Ada", item.topic, item.page)
    assert met == sorted(met)


def test_recall_counts_what_a_random_sample_has_missed() -> None:
    n = 100
    is_sampled = np.arange(n) < 40
    labels = np.full(n, -1, np.int8)
    labels[:40] = np.arange(40) % 4 == 0  # 10 relevant
    labels[40:70] = 1
    is_decided = labels >= 0
    state = TopicState(np.arange(n, dtype=np.int32), labels, is_decided, is_sampled)
    recall, low = state.recall(-np.arange(n, dtype=float))
    # 30 of 60 pages outside are open, so half of the sample stands for them: 5 of 20 relevant, 7.5 of 30 expected.
    assert recall == pytest.approx(40 / (40 + 7.5))
    assert low is not None
    assert low < recall
    done = TopicState(state.pages, np.maximum(labels, 0), np.ones(n, bool), is_sampled)
    assert done.recall(np.zeros(n)) == (1.0, 1.0)
    nobody = TopicState(state.pages, labels, is_decided, np.zeros(n, bool))
    assert nobody.recall(np.zeros(n)) == (None, None)


def test_the_bound_of_recall_holds_as_often_as_it_says(collection: Collection, engine: Engine) -> None:
    topic = next(topic for topic in collection.topics if topic.split == "eval")
    pages = np.sort(np.array([entry.page for entry in pooled(collection) if entry.topic == topic.id], np.int32))
    is_relevant = np.isin(pages, topic.rel_docs)
    features = features_of(engine, topic, pages)
    n_held = n_said = 0
    for seed in range(40):
        rng = derive(seed, "bound")
        is_sampled = rng.random(len(pages)) < 0.25
        is_decided = is_sampled.copy()
        state = TopicState(pages, np.where(is_decided, is_relevant, -1).astype(np.int8), is_decided, is_sampled)
        scores, _ = state.scores(features, seed)
        left = np.flatnonzero(~is_decided)
        is_decided[left[np.argsort(-scores[left])][:15]] = True
        state = TopicState(pages, np.where(is_decided, is_relevant, -1).astype(np.int8), is_decided, is_sampled)
        low = state.recall(state.scores(features, seed)[1])[1]
        if low is not None:
            n_said += 1
            n_held += bool(low <= is_relevant[is_decided].sum() / is_relevant.sum())
    assert n_said >= 35
    assert n_held >= 0.9 * n_said


def test_settings_are_checked() -> None:
    with pytest.raises(EvenrankError, match="shares between 0 and 1"):
        OrderSettings(sample=2.0)
