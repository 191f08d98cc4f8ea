"""How well pages of a topic are found: the 57 real training topics inside their judged windows, in several forms.

    python benchmarks/relevance.py [--no-dense] [--cross] [--repeats 3]

Prints P@10, R-precision and recall@50 of peers, of the untrained models, and of the learned model (five folds over
topics, so no topic is scored by a line that saw it in any form), with the standard error over topics; then all of them
with each topic's keywords cut to 0, 1 and 3 and lengthened to 30 with words drawn from two relevant pages, which leave
the judgments of every column of that table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bm25_peer import Bm25Peer
from evenrank.search.encode.cross_encoder import CrossEncoder, PageReader
from evenrank.search.encode.dense import DenseScorer
from evenrank.search.encode.encoder import Encoder
from evenrank.search.engine.protocol import Engine
from evenrank.search.features import FeatureExtractor
from evenrank.search.hybrid import HybridModel
from evenrank.search.learn.cross_validation import CrossFit, cross_fit
from evenrank.search.learn.training import Example, make_example, make_examples
from evenrank.search.learn.training_data import LearningSettings
from evenrank.search.query.candidates import CandidateSettings
from evenrank.search.query.feedback import FeedbackSettings
from evenrank.search.query.topic_query import QuerySettings
from evenrank.search.relevance import LexicalModel, SearchSettings
from real_sample import JudgedTopic, cache_folder, has_sample, load_articles, load_topics, sample_engine
from topic_forms import FormedTopic, form_topics

DEPTH = 300
"""Candidates by words, and as many by vectors."""
FORMS = ("as given", "0", "1", "3", "30")
Ranker = Callable[[JudgedTopic], Sequence[int]]
Table = NDArray[np.float64]


@dataclass(frozen=True)
class Arm:
    """A way of ranking: a name, and the pages of a topic in order."""

    name: str
    rank: Ranker


def measures(pages: Sequence[int], judged: JudgedTopic, left_out: Sequence[int] = ()) -> tuple[float, float, float]:
    """P@10, R-precision and recall@50 of one ranking without some pages."""
    kept = [page for page in pages if page not in left_out]
    relevant = set(judged.relevant.tolist()) - set(left_out)
    hits = [len(relevant & set(kept[:depth])) for depth in (10, len(relevant), 50)]
    return hits[0] / 10, hits[1] / len(relevant), hits[2] / len(relevant)


def evaluate(rank: Ranker, topics: Sequence[JudgedTopic]) -> Table:
    """Topic by measure."""
    return np.array([measures(list(rank(judged)), judged) for judged in topics])


def show(name: str, table: Table) -> None:
    mean, error = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(table))
    cells = "  ".join(f"{m:.3f} ±{e:.3f}" for m, e in zip(mean, error, strict=True))
    print(f"{name:52s}{cells}", flush=True)


def lexical_model(
    engine: Engine, query: QuerySettings | None = None, feedback: FeedbackSettings | None = None
) -> LexicalModel:
    candidates = CandidateSettings(n_per_group=0)
    return LexicalModel(engine, SearchSettings(query or QuerySettings(), feedback or FeedbackSettings(), candidates))


def untrained_arms(engine: Engine) -> list[Arm]:
    """The untrained search by words, part by part."""
    full, feedback = QuerySettings(), FeedbackSettings()
    text = replace(full, fields={"text": 1.0}, phrase_fields={}, scope_weight=0.0)
    off = replace(feedback, n_pages=0)
    steps = [
        ("tantivy BM25 on text, stemmed", text, off),
        ("+ unstemmed lead, phrases, scope", full, off),
        ("+ feedback = untrained (words)", full, feedback),
    ]
    models = [(name, lexical_model(engine, query, widening)) for name, query, widening in steps]
    return [
        Arm(name, lambda j, m=model: m.score(j.topic, DEPTH, j.up_to_page_id).page_ids.tolist())
        for name, model in models
    ]


def hybrid_arm(extractor: FeatureExtractor) -> Arm:
    model = HybridModel(extractor)
    return Arm("hybrid, untrained", lambda j: model.score(j.topic, DEPTH, j.up_to_page_id).page_ids.tolist())


class LearnedArms:
    """The learned model, over several divisions into folds."""

    def __init__(self, extractor: FeatureExtractor, topics: Sequence[JudgedTopic], n_repeats: int) -> None:
        self.extractor = extractor
        forms = LearningSettings()
        examples = [e for j in topics for e in make_examples(extractor, j.topic, forms, DEPTH, j.up_to_page_id)]
        samples = [e.sample() for e in examples if e.labels.any()]
        settings = [LearningSettings(seed=seed) for seed in range(n_repeats)]
        self.models: list[CrossFit] = [cross_fit(samples, extractor.names, each) for each in settings]

    def tables(self, topics: Sequence[JudgedTopic], left_out: Sequence[Sequence[int]]) -> Table:
        """Topic by measure, the mean over divisions."""
        found = [self._example(judged) for judged in topics]
        tables = []
        for model in self.models:
            rows = []
            for judged, out, (example, pages) in zip(topics, left_out, found, strict=True):
                order = np.argsort(-model.scores(example.topic_id, example.features), kind="stable")
                rows.append(measures(pages[order].tolist(), judged, out))
            tables.append(rows)
        return np.mean(tables, axis=0)

    def _example(self, judged: JudgedTopic) -> tuple[Example, NDArray[np.int32]]:
        pages = self.extractor.candidates(judged.topic, DEPTH, judged.up_to_page_id).page_ids
        return make_example(self.extractor, judged.topic, DEPTH, judged.up_to_page_id), pages


def form_rows(formed: Sequence[FormedTopic], arms: Sequence[Arm], learned: dict[str, LearnedArms]) -> None:
    """P@10 and R-precision of every arm in every form, with the source pages left out."""
    kept = [topic for topic in formed if topic.sources]
    left_out = [topic.sources for topic in kept]
    print(f"\n{len(kept)} topics without {len(kept[0].sources)} relevant pages each: P@10/R-precision by keywords")
    print(f"{'':52s}" + "".join(f"{form:15s}" for form in FORMS))
    for arm in arms:
        cells = []
        for form in FORMS:
            topics = [topic.forms[form] for topic in kept]
            rows = [measures(list(arm.rank(j)), j, out) for j, out in zip(topics, left_out, strict=True)]
            cells.append(np.mean(rows, axis=0))
        print(f"{arm.name:52s}" + "".join(f"{c[0]:.3f}/{c[1]:.3f}    " for c in cells), flush=True)
    for name, model in learned.items():
        means = [model.tables([topic.forms[form] for topic in kept], left_out).mean(axis=0) for form in FORMS]
        print(f"{name:52s}" + "".join(f"{m[0]:.3f}/{m[1]:.3f}    " for m in means), flush=True)


def candidate_rows(extractor: FeatureExtractor, topics: Sequence[JudgedTopic]) -> None:
    """How many relevant pages are among the candidates at all, by words and with vectors."""
    print("\nshare of the relevant pages among the first candidates of a window")
    for n in (50, 100, 300):
        shares = []
        for judged in topics:
            words = extractor.lexical.score(judged.topic, n, judged.up_to_page_id).page_ids
            half = extractor.lexical.score(judged.topic, n // 2, judged.up_to_page_id).page_ids[: n // 2]
            near = extractor.dense.nearest(judged.topic, n, judged.up_to_page_id)
            union = list(dict.fromkeys([*half.tolist(), *near.tolist()]))[:n]
            shares.append([np.isin(judged.relevant, found).mean() for found in (words[:n], near, union)])
        means = np.mean(shares, axis=0)
        print(f"  {n:4d}: words {means[0]:.3f}, vectors {means[1]:.3f}, half and half {means[2]:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-dense", action="store_true", help="leave out text vectors")
    parser.add_argument("--cross", action="store_true", help="let a cross-encoder read the best pages too (slow)")
    parser.add_argument("--repeats", type=int, default=3, help="divisions into folds that are averaged")
    options = parser.parse_args()
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    started = time.perf_counter()
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    engine = sample_engine(articles)
    peer = Bm25Peer(articles, engine)
    arms = [
        Arm("bm25s, k1 0.9, b 0.4, title × 3, 10 keywords", peer.plain),
        Arm("the same + 20 words of the first 10 pages", peer.with_feedback),
        *untrained_arms(engine),
    ]
    extractors = {"learned on words": FeatureExtractor(lexical_model(engine))}
    if not options.no_dense:
        dense = DenseScorer.open(engine, Encoder(), cache_folder())
        dense.encode(engine.page_ids())
        extractors["learned with vectors"] = FeatureExtractor(lexical_model(engine), dense)
        arms.append(hybrid_arm(extractors["learned with vectors"]))
        if options.cross:
            reader = PageReader.open(engine, CrossEncoder(), cache_folder())
            extractors["learned with vectors and cross-encoder"] = FeatureExtractor(
                lexical_model(engine), dense, reader
            )
    print(f"{len(articles):,} articles, {len(topics)} topics as given; mean ± standard error over topics")
    print(f"{'':52s}P@10          R-precision   recall@50")
    for arm in arms:
        show(arm.name, evaluate(arm.rank, topics))
    learned = {name: LearnedArms(extractor, topics, options.repeats) for name, extractor in extractors.items()}
    for name, model in learned.items():
        show(f"{name}, five folds", model.tables(topics, [()] * len(topics)))
        slopes = dict(zip(extractors[name].names, model.models[0].folds[0].line.slopes, strict=True))
        print("    weights of the first fold:", ", ".join(f"{key} {value:.2f}" for key, value in slopes.items()))
    form_rows(form_topics(topics, articles, engine), arms, learned)
    if not options.no_dense:
        candidate_rows(extractors["learned with vectors"], topics)
        print(f"\nvectors: {dense.encoder.settings}\n{dense.cost}")
    print("settings:", {**asdict(QuerySettings()), **asdict(FeedbackSettings()), **asdict(LearningSettings())})
    print(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
