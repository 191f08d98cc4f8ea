"""How many pages of a topic are relevant: estimates from a few judged pages, where the number is known.

    python benchmarks/count.py [--seeds 11 12 13 14 15] [--pages 4000]

Generated collections, the 57 real topics inside their judged windows (each window a collection of its own), and topics
made from categories of two wikis, whose number of articles is known, once with the categories in the index and once
without. Pages are judged one by one, where the estimate asks for it, by the truth. Prints, for 0 to 20 marks, the ratio
of estimate and truth (quantiles .1, .5, .9), how often the 80 % interval covers the truth, and its median width.
Settings were chosen on generated seeds 1 and 2 and on every second topic of Latgalian categories and of the windows;
their other halves and the other seeds were not used.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collections_elsewhere import index_of, load_collections
from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.learn.judged_count import JudgedRanking, count_matching
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from real_sample import has_sample, load_articles, load_topics, sample_engine
from relevance import lexical_model

MARKS = (0, 10, 15, 20)


class Ranking(NamedTuple):
    """All pages of a collection in the order of a topic, those that were not found last in random order."""

    is_relevant: NDArray[np.bool_]
    scores: NDArray[np.float64]
    """Of the pages that were found."""


def rank_all(engine: Engine, topic: Topic, relevant: NDArray[np.int32], up_to: int | None = None) -> Ranking:
    page_ids = engine.page_ids()
    allowed = page_ids if up_to is None else page_ids[page_ids <= up_to]
    found = lexical_model(engine).score(topic, len(allowed), up_to)
    rest = np.setdiff1d(allowed, found.page_ids)
    order = np.append(found.page_ids, derive(0, "rest", topic.id).permutation(rest))
    return Ranking(np.isin(order, relevant), found.scores)


def generated(seed: int, n_pages: int) -> Iterator[Ranking]:
    with tempfile.TemporaryDirectory() as folder:
        made = generate_collection(folder, GenerateSettings(n_pages, n_train_topics=25, n_eval_topics=1, seed=seed))
        yield from of_topics(made.topics, build_index(made, FaultLog()))


def of_topics(topics: Iterable[Topic], engine: Engine) -> Iterator[Ranking]:
    for topic in topics:
        yield rank_all(engine, topic, topic.rel_docs)


def windows() -> Iterator[Ranking]:
    articles = load_articles()
    engine = sample_engine(articles)
    for judged in load_topics({page.page_id for page in articles}):
        yield rank_all(engine, judged.topic, judged.relevant, judged.up_to_page_id)


def show(name: str, rankings: list[Ranking]) -> None:
    truth = np.array([ranking.is_relevant.sum() for ranking in rankings])
    print(f"\n{name}: {len(rankings)} topics with {truth.min()} to {truth.max()} relevant pages")
    estimates = {n: np.empty((len(rankings), 3)) for n in MARKS}
    for at, (is_relevant, scores) in enumerate(rankings):
        judged: dict[int, bool] = {}
        for n in range(max(MARKS) + 1):
            ranking = JudgedRanking(len(is_relevant), dict(judged), count_matching(scores))
            if n in estimates:
                estimates[n][at] = ranking.estimate()
            if (rank := ranking.next_rank(len(scores))) is not None:
                judged[rank] = bool(is_relevant[rank - 1])
    for n, (median, low, high) in ((n, found.T) for n, found in estimates.items()):
        ratios = np.quantile((median + 0.5) / (truth + 0.5), [0.1, 0.5, 0.9])
        covered = ((low <= truth) & (truth <= high)).mean()
        width = np.median((high + 0.5) / (low + 0.5))
        print(f"  {n:2d} marks: ratio {ratios[1]:.2f} ({ratios[0]:.2f} to {ratios[2]:.2f}), ", end="")
        print(f"interval covers {covered:.0%}, a factor of {width:.1f} wide", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14, 15])
    parser.add_argument("--pages", type=int, default=4000)
    options = parser.parse_args()
    show("generated", [one for seed in options.seeds for one in generated(seed, options.pages)])
    if has_sample():
        show("real topics inside their windows", list(windows()))
    for wiki in load_collections("categories"):
        for label, pages in (("in the index", wiki.filed), ("not in the index", wiki.pages)):
            show(f"{wiki.name}, {label}", list(of_topics(wiki.topics, index_of(pages, wiki.language))))


if __name__ == "__main__":
    main()
