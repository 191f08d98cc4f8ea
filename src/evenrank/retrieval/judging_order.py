"""The order of judging by a model that learns from the judgments so far: likely relevant pages first.

Continuous active learning (G. V. Cormack, M. R. Grossman, SIGIR 2014): a logistic regression on the words of the pooled
pages, with the score of the relevance model beside them, is fitted again after every batch. A random sample of each
topic is judged before anything else. It shows what is left, whatever the model believes, so that a topic can stop
when enough of its relevant pages are found.

Pages found in this way resemble those that were found before: that is a bias, and everything made from the judgments
says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.protocol import Engine, Restriction
from evenrank.retrieval.learn.linear import logistic_fit
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.assessment.campaign import TopicRecall, WorkOrder, keep_work_order
from evenrank.trec.assessment.files import settled_pages
from evenrank.trec.assessment.votes import Store, pages_in, seed_of
from evenrank.trec.collection import Collection

N_COMPONENTS = 50
"""Directions of the words of a topic's pages that the model learns on."""
RIDGE = 0.1
"""How far the model is held back from what few judgments suggest."""
N_FOLDS = 5
"""Parts of the judged pages: each is scored by a model that has not seen it."""
SURE = 0.95


@dataclass(frozen=True)
class OrderSettings:
    """How the work is ordered."""

    sample: float = 0.1
    """Chance of a page to be in the random sample, which is judged first."""
    batch: int = 20
    """Pages of a topic between two fits of the model."""
    recall: float | None = None
    """Stop a topic when its estimated recall is at least this, 95 % sure; None: never."""

    def __post_init__(self) -> None:
        if not 0 <= self.sample <= 1 or self.batch < 1 or not (self.recall is None or 0 < self.recall <= 1):
            raise EvenrankError("sample and recall are shares between 0 and 1, batch is a number of pages from 1 up")


def order_work(
    store: Store, collection: Collection, engine: Engine, settings: OrderSettings | None = None, by: str | None = None
) -> WorkOrder:
    """Order what is left to judge by a model of this moment, topic by topic; the log says what it estimates.

    The first batch of every topic comes before the second of any.
    """
    setting = settings or OrderSettings()
    with store.snapshot():
        number, settled, seed = pages_in(store, collection.text_ids), settled_pages(store), seed_of(store)
        (n_votes,) = store.connection.execute("SELECT count(*) FROM vote").fetchone()
        items = store.connection.execute("SELECT topic, page FROM item WHERE is_withdrawn = 0 ORDER BY 1, 2").fetchall()
        titles = dict(store.connection.execute("SELECT id, title FROM topic").fetchall())
    urgency: dict[tuple[int, int], int] = {}
    set_aside: list[tuple[int, int]] = []
    found: list[TopicRecall] = []
    for topic in sorted({topic for topic, _ in items}):
        pages = [page for of, page in items if of == topic]
        grades = [settled[topic, page].grade if (topic, page) in settled else None for page in pages]
        states = [settled[topic, page].status if (topic, page) in settled else "" for page in pages]
        queue = TopicState(
            np.array([page if number is None else number[page] for page in pages], np.int32),
            np.array([-1 if grade is None else grade > 0 for grade in grades], np.int8),
            np.array([state in ("graded", "unassessable") for state in states], bool),
            np.array([derive(seed, "recall", topic, page).random() < setting.sample for page in pages], bool),
        )
        known = collection.topic_by_id.get(topic) or Topic(topic, titles.get(topic) or f"Topic {topic}")
        scores, held_out = queue.scores(features_of(engine, known, queue.pages), seed)
        recall = queue.recall(held_out)
        is_waiting = ~queue.is_decided & ~queue.is_sampled
        is_enough = setting.recall is not None and recall[1] is not None and recall[1] >= setting.recall
        stops = is_enough and not (queue.is_sampled & np.array([state == "" for state in states], bool)).any()
        place = np.empty(len(pages), np.int64)
        place[np.lexsort((queue.pages, -scores, ~is_waiting))] = np.arange(len(pages))
        for at, page in enumerate(pages):
            urgency[topic, page] = 0 if queue.is_sampled[at] else 1 + int(place[at]) // setting.batch
            if stops and is_waiting[at]:
                set_aside.append((topic, page))
        n_open = int((~queue.is_decided).sum())
        found.append(TopicRecall(topic, n_open, *recall, int(is_waiting.sum()) if stops else 0))
    order = WorkOrder(setting.sample, setting.batch, setting.recall, int(n_votes), tuple(found))
    keep_work_order(store, order, urgency, set_aside, by)
    return order


@dataclass(frozen=True)
class TopicState:
    """The pooled pages of a topic and what is known about them; arrays run beside each other."""

    pages: NDArray[np.int32]
    labels: NDArray[np.int8]
    """1 relevant, 0 not, −1 not known."""
    is_decided: NDArray[np.bool_]
    """Whether nobody is to be asked any more: graded, or it cannot be judged."""
    is_sampled: NDArray[np.bool_]
    """Whether the page is in the random sample."""

    def scores(self, features: Floats, seed: int) -> tuple[Floats, Floats]:
        """Log-odds of relevance of all pages, and those of judged pages by models that have not seen them.

        As long as only one kind of page is judged, both are the score of the relevance model.
        """
        judged = np.flatnonzero(self.labels >= 0)
        base = features[:, 1]
        if len(np.unique(self.labels[judged])) < 2:
            return base, base
        scores = features @ _fit(features[judged], self.labels[judged])
        held_out = scores.copy()
        fold = derive(seed, "folds", len(judged)).permutation(len(judged)) % N_FOLDS
        for number in range(N_FOLDS):
            seen, unseen = judged[fold != number], judged[fold == number]
            if len(np.unique(self.labels[seen])) == 2:
                held_out[unseen] = features[unseen] @ _fit(features[seen], self.labels[seen])
        return scores, held_out

    def recall(self, scores: Floats) -> tuple[float | None, float | None]:
        """Estimated recall, and its lower end with 95 % confidence; None where the sample says nothing yet.

        Of the pages outside the sample, the model left some share open. The same share of the sample, with the
        lowest scores by models that have not seen them, stands for them.
        """
        is_outside = ~self.is_sampled
        n_found = int((self.labels == 1).sum())
        n_open = int((is_outside & ~self.is_decided).sum())
        if n_open == 0:
            return 1.0, 1.0
        sampled = np.flatnonzero(self.is_sampled & (self.labels >= 0))
        n_like = round(len(sampled) * n_open / int(is_outside.sum()))
        if n_like == 0 or n_found == 0:
            return None, None
        from scipy.stats import beta  # a quarter of a second to import

        like = sampled[np.argsort(scores[sampled], kind="stable")[:n_like]]
        n_missed = int((self.labels[like] == 1).sum())
        most = 1.0 if n_missed == n_like else float(beta.ppf(SURE, n_missed + 1, n_like - n_missed))
        return n_found / (n_found + n_open * n_missed / n_like), n_found / (n_found + n_open * most)


def _fit(rows: Floats, labels: NDArray[np.int8]) -> Floats:
    return logistic_fit(rows, labels.astype(np.float64), np.ones(len(labels)), RIDGE)


def features_of(engine: Engine, topic: Topic, pages: NDArray[np.int32]) -> Floats:
    """What the model learns on: a constant, the score of the relevance model, and directions of the pages' words."""
    hits = LexicalModel(engine).search(topic, len(pages), Restriction(page_ids=pages.tolist()))
    order = np.argsort(pages)
    base = np.zeros(len(pages))
    base[order[np.searchsorted(pages[order], hits.page_ids)]] = hits.scores
    spread = base.std()
    directions = word_directions(engine, pages)
    return np.column_stack([np.ones(len(pages)), (base - base.mean()) / (spread if spread > 0 else 1.0), directions])


def word_directions(engine: Engine, pages: NDArray[np.int32]) -> Floats:
    """The pages' title, opening and categories by weighted words, on the directions that explain most."""
    texts = [
        [] if page is None else [page.title, page.opening, *page.categories] for page in engine.stored(pages.tolist())
    ]
    words = [{word for text in found for word in engine.analyse("text", text)} for found in texts]
    n_with = Counter(word for found in words for word in found)
    column = {word: place for place, word in enumerate(sorted(word for word, n in n_with.items() if n >= 2))}
    n_components = min(N_COMPONENTS, len(pages) - 1, len(column) - 1)
    if n_components < 1:
        return np.zeros((len(pages), 0))
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    rarity = np.log((len(pages) + 1) / (np.array([n_with[word] for word in column]) + 0.5))
    places = [[column[word] for word in sorted(found) if word in column] for found in words]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in places])])
    columns = np.array([place for row in places for place in row], np.int64)
    values = rarity[columns]
    lengths = np.sqrt(np.add.reduceat(np.append(values**2, 0.0), np.minimum(starts[:-1], len(values))))
    lengths[np.diff(starts) == 0] = 1.0
    values = values / np.repeat(lengths, np.diff(starts))
    rows = csr_array((values, columns, starts), shape=(len(pages), len(column)))
    left, sizes, _ = svds(rows, k=n_components, v0=np.ones(min(rows.shape)))
    return np.asarray(left * sizes)
