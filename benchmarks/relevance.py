"""How well pages of a topic are found: the 57 real training topics inside their judged windows.

    python benchmarks/relevance.py [--no-dense] [--repeats 3]

Prints P@10, R-precision and recall@50 of peers, of the untrained search part by part, and of the learned model
(five folds over topics, so no topic is scored by a model that saw it), with the standard error over topics.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import NDArray

from bm25_peer import Bm25Peer
from evenrank.search.encode.cross_encoder import CrossEncoder
from evenrank.search.encode.dense import DenseScorer
from evenrank.search.encode.encoder import Encoder
from evenrank.search.encode.hybrid import HybridModel
from evenrank.search.engine.tantivy_engine import TantivyEngine
from evenrank.search.learn.features import FeatureExtractor, standardised
from evenrank.search.learn.learned_model import make_sample
from evenrank.search.learn.ranker import out_of_fold_scores
from evenrank.search.learn.training_data import LearningSettings, Sample
from evenrank.search.query.candidates import CandidateSettings
from evenrank.search.query.feedback import FeedbackSettings
from evenrank.search.query.topic_query import QuerySettings
from evenrank.search.query.words import lines_of
from evenrank.search.relevance import LexicalModel, SearchSettings
from real_sample import JudgedTopic, cache_folder, has_sample, load_articles, load_topics, sample_engine

DEPTH = 300
"""Pages that vectors and the learned model look at."""
VECTORS = ("dense", "dense_z", "dense_part_z", "dense_contrast_z", "dense_feedback_z")
PARTS = {
    "BM25 of single fields": ("text", "lead", "title", "categories", "infobox"),
    "phrases": ("phrase",),
    "feedback": ("feedback", "feedback_z"),
    "DPH": ("dph",),
    "biographies": ("is_biography", "wanted_biography"),
    "shape of title and text": ("is_list", "is_part", "title_length", "opening_length"),
    "contrast and feedback of vectors": ("dense_contrast_z", "dense_feedback_z"),
    "the cross-encoder": ("cross_z",),
    "cross-encoder and text vectors": (*VECTORS, "cross_z"),
}
"""Groups of features that the ablation of the learned model leaves out."""
Row = tuple[str, NDArray[np.float64]]


def measures(pages: Sequence[int], judged: JudgedTopic) -> tuple[float, float, float]:
    """P@10, R-precision and recall@50 of one ranking."""
    relevant = set(judged.relevant.tolist())
    r = len(relevant)
    hits = [len(relevant & set(pages[:depth])) for depth in (10, r, 50)]
    return hits[0] / 10, hits[1] / r, hits[2] / r


def evaluate(ranker: Callable[[JudgedTopic], Iterable[int]], topics: Sequence[JudgedTopic]) -> NDArray[np.float64]:
    """Topic by measure."""
    return np.array([measures(list(ranker(judged)), judged) for judged in topics])


def show(name: str, table: NDArray[np.float64]) -> None:
    mean, error = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(table))
    cells = "  ".join(f"{m:.3f} ±{e:.3f}" for m, e in zip(mean, error, strict=True))
    print(f"{name:58s}{cells}", flush=True)


def untrained_rows(engine: TantivyEngine, topics: Sequence[JudgedTopic]) -> None:
    full, feedback = QuerySettings(), FeedbackSettings()
    text = replace(full, fields={"text": 1.0}, phrase_fields={}, scope_weight=0.0)
    lead = replace(text, fields=full.fields)
    phrases = replace(lead, phrase_fields=full.phrase_fields)
    off = replace(feedback, n_pages=0)
    steps: list[tuple[str, QuerySettings, FeedbackSettings]] = [
        ("tantivy BM25 on text, stemmed", text, off),
        ("+ unstemmed lead", lead, off),
        ("+ phrases in the lead", phrases, off),
        ("+ scope", full, off),
        ("+ feedback = untrained default", full, feedback),
        ("default without the lead", replace(full, fields={"text": 1.0}, phrase_fields={}), feedback),
        ("default without phrases", replace(full, phrase_fields={}), feedback),
        ("default without scope", replace(full, scope_weight=0.0), feedback),
    ]
    for name, query, widening in steps:
        model = lexical_model(engine, query, widening)
        show(name, evaluate(lambda j, m=model: m.score(j.topic, DEPTH, j.up_to_page_id).page_ids.tolist(), topics))


def lexical_model(
    engine: TantivyEngine, query: QuerySettings | None = None, feedback: FeedbackSettings | None = None
) -> LexicalModel:
    candidates = CandidateSettings(n_per_group=0)
    return LexicalModel(engine, SearchSettings(query or QuerySettings(), feedback or FeedbackSettings(), candidates))


def dense_rows(model: LexicalModel, dense: DenseScorer, topics: Sequence[JudgedTopic]) -> None:
    def cosine(judged: JudgedTopic) -> list[int]:
        found = model.score(judged.topic, DEPTH, judged.up_to_page_id)
        near = dense.page_vectors(found.page_ids) @ (dense.topic_vectors(judged.topic)[0] + dense._background)
        fused = standardised(found.scores) + standardised(near.astype(np.float64))
        return [int(page) for page in found.page_ids[np.argsort(-fused, kind="stable")]]

    show("default + plain cosine of vectors", evaluate(cosine, topics))
    hybrid = HybridModel(model, dense, n_rescored=DEPTH)
    rows = evaluate(lambda j: hybrid.score(j.topic, DEPTH, j.up_to_page_id).page_ids.tolist(), topics)
    show("default + vectors against broad subjects, untrained", rows)


def learned_row(
    samples: Sequence[Sample],
    pages: Sequence[NDArray[np.int32]],
    topics: Sequence[JudgedTopic],
    names: Sequence[str],
    n_repeats: int,
    line_weight: float = LearningSettings().line_weight,
) -> NDArray[np.float64]:
    """Topic by measure, mean over repeated divisions into five folds."""
    tables = []
    for seed in range(n_repeats):
        scores = out_of_fold_scores(samples, names, LearningSettings(seed=seed, line_weight=line_weight))
        rankings = [p[np.argsort(-s, kind="stable")].tolist() for p, s in zip(pages, scores, strict=True)]
        tables.append([measures(ranking, judged) for ranking, judged in zip(rankings, topics, strict=True)])
    return np.mean(tables, axis=0)


def learned_rows(model: LexicalModel, dense: DenseScorer | None, topics: Sequence[JudgedTopic], n_repeats: int) -> None:
    extractor = FeatureExtractor(model, dense, CrossEncoder() if dense else None)
    samples = [make_sample(extractor, judged.topic, DEPTH, judged.up_to_page_id) for judged in topics]
    pages = [model.score(judged.topic, DEPTH, judged.up_to_page_id).page_ids[:DEPTH] for judged in topics]
    names = list(samples[0].features)
    show("learned, five folds", learned_row(samples, pages, topics, names, n_repeats))
    show("  trees without a line", learned_row(samples, pages, topics, names, n_repeats, line_weight=0.0))
    show("  almost only the line", learned_row(samples, pages, topics, names, n_repeats, line_weight=1e6))
    for part, left_out in PARTS.items():
        kept = [name for name in names if name not in left_out]
        if len(kept) < len(names):
            show(f"  without {part}", learned_row(samples, pages, topics, kept, n_repeats))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-dense", action="store_true", help="leave out text vectors")
    parser.add_argument("--repeats", type=int, default=3, help="divisions into folds that are averaged")
    options = parser.parse_args()
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    started = time.perf_counter()
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    engine = sample_engine(articles)
    print(f"{len(articles):,} articles, {len(topics)} topics; mean ± standard error over topics")
    print(f"{'':58s}P@10          R-precision   recall@50")
    peer = Bm25Peer(articles, engine)
    show("bm25s, k1 0.9, b 0.4, title × 3, 10 keywords", evaluate(peer.plain, topics))
    show("the same + 20 words of the first 10 pages", evaluate(peer.with_feedback, topics))
    untrained_rows(engine, topics)
    model = lexical_model(engine)
    dense = None if options.no_dense else DenseScorer.open(engine, Encoder(), cache_folder())
    if dense:
        dense_rows(model, dense, topics)
    learned_rows(model, dense, topics, options.repeats)
    print("\nsettings:", {**asdict(QuerySettings()), **asdict(FeedbackSettings()), **asdict(LearningSettings())})
    if dense:
        print(f"vectors: {dense.encoder.settings}\n{dense.cost}; {len(lines_of('subjects'))} broad subjects")
    print(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
