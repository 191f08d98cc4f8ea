"""What vectors cost: finding the nearest of 63,576 pages, a topic with vectors kept and without, reading, encoding.

    python benchmarks/dense_cost.py

Processor time, because other work on the machine does not count in it; median over the 57 real topics, with the groups
that the metadata of the sample give its pages. Two encoders where both are on this machine. The peer of the exact
search is numpy's product with a matrix of floats, which needs four times the memory. Ten topics are read.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from evenrank.retrieval.encode.cross_encoder import CrossEncoder, PageReader
from evenrank.retrieval.encode.dense import DenseScorer, title_and_sentence, usual_encoders
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.encode.vector_cache import TextVectors, unpack_vectors
from evenrank.retrieval.features import N_READ, FeatureExtractor, HybridModel
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.relevance import LexicalModel, SearchSettings
from real_sample import cache_folder, has_sample, load_articles, load_topics, sample_engine, with_groups

N_ENCODED = 1000


def cost(work: Callable[[object], object], items: Iterable[object]) -> str:
    """Median and largest processor time of some work, in milliseconds."""
    times = []
    for item in items:
        started = time.process_time()
        work(item)
        times.append(1000.0 * (time.process_time() - started))
    return f"median {np.median(times):7.1f} ms   most {max(times):7.1f} ms"


def forgetful(scorer: DenseScorer, folder: Path) -> DenseScorer:
    """The same scorer without the vectors of topics' words."""
    fresh = TextVectors(folder / scorer.cache.path.name, scorer.encoder.n_dimensions)
    made = DenseScorer(scorer.engine, scorer.encoder, scorer.cache, fresh)
    made.__dict__["_background"] = scorer._background
    return made


def main() -> None:
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    articles = load_articles()
    topics = [judged.topic for judged in load_topics({page.page_id for page in articles})]
    engine = sample_engine(with_groups(articles))
    scorers = [DenseScorer.open(engine, Encoder(settings), cache_folder()) for settings in usual_encoders(None)]
    for scorer in scorers:
        scorer.encode(engine.page_ids())
    dense, second = scorers[0], dict(enumerate(scorers)).get(1)
    vectors = [dense.topic_vectors(topic).topic for topic in topics]
    dense.cache.nearest(vectors[0], 1000)
    print(f"{len(dense.cache):,} vectors, {dense.cache.path.stat().st_size / 1e6:.0f} MB on disk")
    print("nearest 1000, exact          ", cost(lambda v: dense.cache.nearest(v, 1000), vectors))
    matrix = unpack_vectors(dense.cache._records.values)
    print("peer: numpy product and sort ", cost(lambda v: np.argsort(-(matrix @ v.astype(np.float32)))[:1000], vectors))
    lexical = LexicalModel(engine)
    print(f"text encoders: {', '.join(scorer.encoder.name for scorer in scorers)}")
    hybrid = HybridModel(FeatureExtractor(lexical, dense, second=second))
    hybrid.score(topics[0], 1000)
    print("words, 1000 pages + groups   ", cost(lambda t: lexical.score(t, 1000), topics))
    print("hybrid, vectors kept         ", cost(lambda t: hybrid.score(t, 1000), topics))
    plain = LexicalModel(engine, SearchSettings(candidates=CandidateSettings(n_per_group=0)))
    print("words without groups         ", cost(lambda t: plain.score(t, 1000), topics))
    alone = HybridModel(FeatureExtractor(plain, dense, second=second))
    print("hybrid without groups, kept  ", cost(lambda t: alone.score(t, 1000), topics))
    with tempfile.TemporaryDirectory() as folder:
        unkept, *further = (forgetful(scorer, Path(folder)) for scorer in scorers)
        first = HybridModel(FeatureExtractor(lexical, unkept, None, *further))
        print("hybrid, keywords not kept    ", cost(lambda t: first.score(t, 1000), topics))
        reader = PageReader.open(engine, CrossEncoder(), Path(folder))
        pages = {topic.id: hybrid.score(topic, N_READ).page_ids[:N_READ] for topic in topics[:10]}
        reader.scores(topics[10], pages[topics[0].id])
        print(f"{N_READ} pages read                ", cost(lambda t: reader.scores(t, pages[t.id]), topics[:10]))
    texts = [(title_and_sentence(page.title, page.lead),) for page in articles[:: len(articles) // N_ENCODED]]
    started, wall = time.process_time(), time.perf_counter()
    n = sum(1 for _ in dense.encoder.encode_pages(texts))
    cpu, wall = time.process_time() - started, time.perf_counter() - wall
    print(f"encoding: {1000 * cpu / n:.1f} ms of a core for each first sentence; {n / wall:.0f} a second by the clock")


if __name__ == "__main__":
    main()
