"""How many pages people judge before most relevant ones are found: in the order of a model, or in the usual one.

    python -m benchmarks.judging_order [--worlds 3] [--sample 0.1]

Each topic's pool is judged with its true judgments, batch by batch. Real articles: the 57 training topics of
`../shared/data/wikipedia-sample` inside their judged window, about eight relevant pages each. Generated collections
have topics with many relevant pages, on which stopping is tested: pages judged, the recall that was reached, and how
often it was at least the promised one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.real_sample import has_sample, load_articles, load_topics, sample_engine
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.engine.protocol import Engine, Restriction
from evenrank.retrieval.judging_order import OrderSettings, TopicState, features_of
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings

REACHED = 0.8
POOL = 300


@dataclass(frozen=True)
class Judged:
    """One topic judged to the end."""

    n_pages: int
    n_relevant: int
    n_usual: int
    """Pages judged in shuffled order until `REACHED` of the relevant ones are found."""
    n_by_search: int
    """In the order of the relevance model."""
    n_by_model: int
    """The random sample first, then in the order of the model that learns."""
    n_at_stop: int | None
    """Pages judged when the topic stopped; None: it never did."""
    recall_at_stop: float


def judge(engine: Engine, topic: Topic, pages: NDArray[np.int32], settings: OrderSettings, seed: int) -> Judged:
    """Judge a pool in each order."""
    is_relevant = np.isin(pages, topic.rel_docs)
    needed = int(np.ceil(REACHED * is_relevant.sum()))
    features = features_of(engine, topic, pages)
    rng = derive(seed, "benchmark", topic.id)

    def n_until(order: NDArray[np.int64]) -> int:
        return int(np.searchsorted(np.cumsum(is_relevant[order]), needed)) + 1

    is_sampled = rng.random(len(pages)) < settings.sample
    judged = list(np.flatnonzero(is_sampled))
    stop: tuple[int, float] | None = None
    while len(judged) < len(pages):
        state = _state(pages, is_relevant, is_sampled, judged)
        scores, held_out = state.scores(features, seed)
        low = state.recall(held_out)[1]
        if stop is None and settings.recall is not None and low is not None and low >= settings.recall:
            stop = len(judged), float(is_relevant[judged].sum() / is_relevant.sum())
        left = np.setdiff1d(np.arange(len(pages)), judged)
        judged += left[np.argsort(-scores[left], kind="stable")][: settings.batch].tolist()
    usual = int(np.mean([n_until(rng.permutation(len(pages))) for _ in range(20)]))
    by_search = n_until(np.argsort(-features[:, 1], kind="stable"))
    by_model = n_until(np.array(judged))
    at_stop, reached = stop if stop else (None, 1.0)
    return Judged(len(pages), int(is_relevant.sum()), usual, by_search, by_model, at_stop, reached)


def _state(
    pages: NDArray[np.int32], is_relevant: NDArray[np.bool_], is_sampled: NDArray[np.bool_], judged: list[int]
) -> TopicState:
    is_decided = np.zeros(len(pages), bool)
    is_decided[judged] = True
    labels = np.where(is_decided, is_relevant, -1).astype(np.int8)
    return TopicState(pages, labels, is_decided, is_sampled)


def real_topics(settings: OrderSettings) -> Iterator[Judged]:
    """The real topics, on the pages of their window that a search finds first."""
    articles = load_articles()
    engine = sample_engine(articles)
    for judged in load_topics({page.page_id for page in articles}):
        window = Restriction(up_to_page_id=judged.up_to_page_id)
        pages = np.sort(LexicalModel(engine).search(judged.topic, POOL, window).page_ids)
        if np.isin(judged.relevant, pages).sum() >= 3:
            yield judge(engine, judged.topic, pages, settings, 1)


def generated_topics(seed: int, settings: OrderSettings) -> Iterator[Judged]:
    """The evaluation topics of a generated collection: judged pages, half of them relevant or fewer."""
    with tempfile.TemporaryDirectory() as folder:
        made = GenerateSettings(n_pages=6000, n_train_topics=2, n_eval_topics=12, seed=seed, eval_relevant=80)
        collection = generate_collection(Path(folder) / "collection", made)
        build_index(collection)
        engine = open_index(collection)
        for topic in collection.topics:
            if topic.split == "eval":
                found = LexicalModel(engine).search(topic, POOL, Restriction()).page_ids
                yield judge(engine, topic, np.sort(found), settings, seed)
        engine.close()


def show(name: str, found: list[Judged]) -> None:
    total = {field: sum(getattr(one, field) for one in found) for field in ("n_pages", "n_relevant")}
    usual, search, model = (
        sum(getattr(one, f"n_{kind}") for one in found) for kind in ("usual", "by_search", "by_model")
    )
    print(f"{name}: {len(found)} topics, {total['n_pages']:,} pages, {total['n_relevant']:,} relevant")
    print(f"  pages judged until {REACHED:.0%} are found: {usual:,} shuffled, {search:,} by search, {model:,} by model")
    stopped = [one for one in found if one.n_at_stop is not None]
    if stopped:
        recalls = sorted(one.recall_at_stop for one in stopped)
        n_judged = sum(one.n_at_stop or 0 for one in stopped)
        n_kept = sum(recall >= REACHED for recall in recalls)
        print(
            f"  {len(stopped)} topics stopped, after {n_judged:,} of {sum(one.n_pages for one in stopped):,} pages: "
            f"recall {recalls[0]:.2f} to {recalls[-1]:.2f}, at least {REACHED} in {n_kept}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--sample", type=float, default=0.1)
    given = parser.parse_args()
    settings = OrderSettings(sample=given.sample, recall=REACHED)
    if has_sample():
        show("real articles", list(real_topics(settings)))
    for seed in range(1, given.worlds + 1):
        show(f"generated, seed {seed}", list(generated_topics(seed, settings)))


if __name__ == "__main__":
    main()
