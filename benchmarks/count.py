"""How many pages of a topic are relevant: estimates from a few judged pages, where the number is known.

    python benchmarks/count.py [--seeds 11 12 13 14 15] [--pages 4000]

Generated collections, the 57 real topics inside their judged windows (each window a collection of its own), and topics
whose number of articles is known, once with what makes articles relevant in the index as categories and once without:
categories of two wikis, and what the first sentences of articles say that something is ("Polish footballer"), in
random parts of the real articles, which then lose that sentence. Pages are judged one by one, where the estimate asks
for it, by the truth. Prints, for 0 to 20 marks, the ratio of estimate and truth (quantiles .1, .5, .9), how often the
80 % interval covers the truth, and its median width; at last, all topics of either condition together.
Settings were chosen on generated seeds 1 and 2, on every second topic of Latgalian categories and of the windows, and
on half of the topics of first sentences in other parts of the real articles.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collections_elsewhere import index_of, load_collections
from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.engine.protocol import Engine, IndexPage
from evenrank.retrieval.learn.judged_count import JudgedRanking, count_matching
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from real_sample import has_sample, load_articles, load_topics, sample_engine
from relevance import lexical_model

MARKS = (0, 10, 15, 20)
PARTS = (1000, 6000, 25_000)
"""Real articles that are drawn at random for topics made from first sentences."""
FEWEST, N_ALIKE = 5, 7
"""Articles that a topic made from first sentences has at least, and topics of about the same size."""
SENTENCE = re.compile(r".{20,}?\.(?=\s|$)", re.DOTALL)
WHAT = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the)\s+([^,.;:()\n]+)")
AFTER = re.compile(
    r"\b(who|that|which|from|of|in|and|or|at|for|by|on|to|with|best|located|known|native|formed|based|written|directed"
    r"|published|released|named|born|is|was|are|were|the|as|where|held|played|under|since|between|near)\b"
)


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


def first_sentence(page: IndexPage) -> str:
    found = SENTENCE.match(page.text)
    return found.group() if found else page.text[:200]


def kinds(page: IndexPage) -> list[str]:
    """What the first sentence says that something is, in its last one, two and three words."""
    found = WHAT.search(first_sentence(page))
    words = AFTER.split(found.group(1))[0].split() if found else []
    return [" ".join(words[-n:]) for n in range(1, min(len(words), 3) + 1)] if len(words) <= 6 else []


def part_of(articles: list[IndexPage], size: int) -> tuple[list[Topic], list[IndexPage], list[IndexPage]]:
    """Topics made from the first sentences of some articles; these with the topics as categories, and without them."""
    rng = derive(0, "part", size)
    drawn = [articles[at] for at in np.sort(rng.choice(len(articles), size, replace=False)).tolist()]
    under = defaultdict(list)
    for page in drawn:
        for kind in kinds(page):
            under[kind].append(page.page_id)
    known = {kind: pages for kind, pages in under.items() if FEWEST <= len(pages) < size / 10 and len(kind) > 3}

    def doublings(kind: str) -> int:
        return int(np.log2(len(known[kind]) / FEWEST))

    chosen: list[str] = []
    for _, alike in groupby(sorted(known, key=lambda kind: (doublings(kind), kind)), doublings):
        chosen += rng.permutation(list(alike))[:N_ALIKE].tolist()
    topics = [Topic(at, kind, rel_docs=np.array(sorted(known[kind]), np.int32)) for at, kind in enumerate(chosen, 1)]
    filed = [page._replace(categories="\n".join(kinds(page))) for page in drawn]
    rest = [page.text.removeprefix(first_sentence(page)).strip() for page in drawn]
    hidden = [page._replace(lead=text[:300], text=text) for page, text in zip(drawn, rest, strict=True)]
    return topics, filed, hidden


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
    made = [(wiki.name, wiki.language, wiki.topics, wiki.filed, wiki.pages) for wiki in load_collections("categories")]
    if has_sample():
        articles = load_articles()
        made += [(f"first sentences of {size:,} articles", "en", *part_of(articles, size)) for size in PARTS]
    together: dict[str, list[Ranking]] = defaultdict(list)
    for name, language, topics, filed, hidden in made:
        for label, pages in (("in the index", filed), ("not in the index", hidden)):
            rankings = list(of_topics(topics, index_of(pages, language)))
            together[label] += rankings
            show(f"{name}, {label}", rankings)
    for label, rankings in together.items():
        show(f"all that is {label}", rankings)


if __name__ == "__main__":
    main()
