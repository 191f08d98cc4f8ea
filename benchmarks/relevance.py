"""How well pages of a topic are found: the 57 real training topics inside their judged windows, in several forms.

    python benchmarks/relevance.py [--no-dense] [--cross [--device cuda]] [--repeats 3]
    python benchmarks/relevance.py --collection categories|tags|vaswani|cranfield

One table: P@10/R-precision of peers, of the untrained models and of the learned ones (five folds over topics, so no
topic is scored by a line that saw it in any form), with each topic's keywords as given, cut to 0, 1 and 3, and
lengthened to 30 with words drawn from two relevant pages; these leave the judgments and rankings of every column but
the first. The last column is recall at 100 and 1000 over the whole corpus, of the relevant pages that are known. Below
it, the first column with its standard error over topics, and its difference from `hybrid`, paired.

`--collection` measures collections that anybody can get instead (`collections_elsewhere.py`).
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
from collections_elsewhere import show_collections
from evenrank.retrieval.encode.cross_encoder import CrossEncoder, PageReader
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.encode.models import E5, find_model
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.features import N_READ, FeatureExtractor, Features, HybridModel
from evenrank.retrieval.learn.cross_validation import CrossFit, LearningSettings, cross_fit
from evenrank.retrieval.learn.training import make_examples
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.query.feedback import FeedbackSettings
from evenrank.retrieval.query.topic_query import QuerySettings
from evenrank.retrieval.relevance import LexicalModel, RelevanceModel, SearchSettings
from real_sample import JudgedTopic, cache_folder, has_sample, load_articles, load_topics, sample_engine
from topic_forms import N_SOURCES, FormedTopic, form_topics

DEPTH = 300
"""Candidates by words, and as many by vectors."""
CORPUS_DEPTH = 1000
"""The same, for recall over the whole corpus."""
FORMS = ("as given", "0", "1", "3", "30")
Ranker = Callable[[JudgedTopic], Sequence[int]]
Table = NDArray[np.float64]


@dataclass(frozen=True)
class Arm:
    """A way of ranking: a name, and the pages of topics in order."""

    name: str
    rank: Ranker
    """The pages of a topic inside its window."""
    rank_corpus: Ranker
    """The first 1000 pages of the whole corpus."""


def measures(pages: Sequence[int], judged: JudgedTopic, left_out: Sequence[int] = ()) -> tuple[float, float, float]:
    """P@10, R-precision and recall@50 of one ranking without some pages."""
    kept = [page for page in pages if page not in left_out]
    relevant = set(judged.relevant.tolist()) - set(left_out)
    hits = [len(relevant & set(kept[:depth])) for depth in (10, len(relevant), 50)]
    return hits[0] / 10, hits[1] / len(relevant), hits[2] / len(relevant)


def recalls(pages: Sequence[int], judged: JudgedTopic) -> tuple[float, float]:
    """Shares of the known relevant pages among the first 100 and 1000 of the whole corpus."""
    shares = [float(np.isin(judged.relevant, list(pages)[:depth]).mean()) for depth in (100, 1000)]
    return shares[0], shares[1]


def lexical_model(
    engine: Engine, query: QuerySettings | None = None, feedback: FeedbackSettings | None = None
) -> LexicalModel:
    candidates = CandidateSettings(n_per_group=0)
    return LexicalModel(engine, SearchSettings(query or QuerySettings(), feedback or FeedbackSettings(), candidates))


def untrained_arms(engine: Engine) -> list[Arm]:
    """The untrained search by words, part by part."""
    full, feedback = QuerySettings(), FeedbackSettings()
    subject = replace(full, people_bonus=0.0)
    text = replace(subject, fields={"text": 1.0}, phrase_fields={}, scope_weight=0.0)
    off = replace(feedback, n_pages=0)
    steps = [
        ("tantivy BM25 on text, stemmed", text, off),
        ("+ unstemmed lead, phrases, scope", subject, off),
        ("+ feedback", subject, feedback),
        ("+ biographies = untrained (words)", full, feedback),
    ]
    return [model_arm(name, lexical_model(engine, query, widening)) for name, query, widening in steps]


def model_arm(name: str, model: RelevanceModel) -> Arm:
    return Arm(
        name,
        lambda j: model.score(j.topic, DEPTH, j.up_to_page_id).page_ids.tolist(),
        lambda j: model.score(j.topic, CORPUS_DEPTH).page_ids.tolist(),
    )


def peer_arms(peer: Bm25Peer, last_page_id: int) -> list[Arm]:
    def corpus(rank: Ranker) -> Ranker:
        return lambda j: rank(replace(j, up_to_page_id=last_page_id))

    rankers = {
        "bm25s, k1 0.9, b 0.4, title × 3, 10 keywords": peer.plain,
        "the same + 20 words of the first 10 pages": peer.with_feedback,
    }
    return [Arm(name, rank, corpus(rank)) for name, rank in rankers.items()]


def learned_arms(name: str, extractor: FeatureExtractor, topics: Sequence[JudgedTopic], n_repeats: int) -> list[Arm]:
    """The learned model, once for each division into folds."""
    examples = [
        e for j in topics for e in make_examples(extractor, j.topic, LearningSettings(), DEPTH, j.up_to_page_id)
    ]
    samples = [example.sample() for example in examples if example.labels.any()]
    kept: dict[tuple[int, tuple[str, ...], int | None], tuple[Features, NDArray[np.int32]]] = {}

    def features(judged: JudgedTopic, depth: int, up_to: int | None) -> tuple[Features, NDArray[np.int32]]:
        key = (judged.topic.id, judged.topic.keywords, up_to)
        if key not in kept:
            found = extractor.candidates(judged.topic, depth, up_to)
            kept[key] = extractor.features(judged.topic, found), found.page_ids
        return kept[key]

    def ranked(model: CrossFit, judged: JudgedTopic, depth: int, up_to: int | None) -> list[int]:
        of_pages, pages = features(judged, depth, up_to)
        order = np.lexsort((pages, -model.scores(judged.topic.id, of_pages)))
        ordered: list[int] = pages[order].tolist()
        return ordered

    arms = []
    for seed in range(n_repeats):
        model = cross_fit(samples, extractor.names, LearningSettings(seed=seed))
        if not seed:
            slopes = zip(extractor.names, model.folds[0].line.slopes, strict=True)
            print(f"{name}, weights of a fold:", ", ".join(f"{key} {value:.2f}" for key, value in slopes))
        arms.append(
            Arm(
                name,
                lambda j, m=model: ranked(m, j, DEPTH, j.up_to_page_id),
                lambda j, m=model: ranked(m, j, CORPUS_DEPTH, None),
            )
        )
    return arms


def topic_rows(arms: Sequence[Arm], formed: Sequence[FormedTopic], form: str, *, is_unsourced: bool) -> Table:
    """Topic by (P@10, R-precision), the mean over arms that differ in their folds only."""
    tables = []
    for arm in arms:
        rows = [
            measures(list(arm.rank(topic.forms[form])), topic.forms[form], topic.sources if is_unsourced else ())
            for topic in formed
        ]
        tables.append(rows)
    return np.asarray(np.mean(tables, axis=0))


def show_table(rows: Sequence[Sequence[Arm]], formed: Sequence[FormedTopic]) -> dict[str, Table]:
    """The table; returns the topics as given of each row."""
    unsourced = [topic for topic in formed if topic.sources]
    print(f"\n{len(formed)} topics as given, {len(unsourced)} without {N_SOURCES} relevant pages each, by keywords")
    print(f"{'':48s}{'as given':15s}" + "".join(f"{form:15s}" for form in (*FORMS, "R@100/R@1000, whole corpus")))
    given = {}
    for arms in rows:
        name = arms[0].name
        given[name] = topic_rows(arms, formed, "as given", is_unsourced=False)
        cells = [given[name], *(topic_rows(arms, unsourced, form, is_unsourced=True) for form in FORMS)]
        corpus = [[recalls(arm.rank_corpus(topic.judged), topic.judged) for topic in formed] for arm in arms]
        means = [*(cell.mean(axis=0) for cell in cells), np.mean(corpus, axis=(0, 1))]
        print(f"{name:48s}" + "".join(f"{mean[0]:.3f}/{mean[1]:.3f}    " for mean in means), flush=True)
    return given


def show_errors(given: dict[str, Table]) -> None:
    """Standard errors of the first column, and the gain over `hybrid`, topic by topic."""
    print("\ntopics as given, mean ± standard error over topics; difference from hybrid")
    base = given.get("hybrid, untrained")
    for name, table in given.items():
        cells = [table] if base is None else [table, table - base]
        parts = [
            "  ".join(f"{m:+.3f} ±{e:.3f}" for m, e in zip(cell.mean(axis=0)[:2], error(cell)[:2], strict=True))
            for cell in cells
        ]
        print(f"{name:48s}{'   |   '.join(parts)}")


def error(table: Table) -> Table:
    return np.asarray(table.std(axis=0, ddof=1) / np.sqrt(len(table)))


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
    parser.add_argument("--device", choices=["cpu", "cuda", "cpu-float"], default="cpu", help="for the cross-encoder")
    parser.add_argument("--repeats", type=int, default=3, help="divisions into folds that are averaged")
    parser.add_argument(
        "--collection", choices=["categories", "tags", "vaswani", "cranfield"], help="instead of the topics"
    )
    options = parser.parse_args()
    if options.collection:
        show_collections(options.collection)
        return
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    started = time.perf_counter()
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    engine = sample_engine(articles)
    peer = Bm25Peer(articles, engine)
    rows = [[arm] for arm in (*peer_arms(peer, max(page.page_id for page in articles)), *untrained_arms(engine))]
    extractors = {"learned on words": FeatureExtractor(lexical_model(engine))}
    if not options.no_dense:
        dense = DenseScorer.open(engine, Encoder(), cache_folder())
        dense.encode(engine.page_ids())
        usual = FeatureExtractor(lexical_model(engine), dense)
        untrained = {"hybrid, untrained": usual}
        if find_model(E5) is not None:
            second = DenseScorer.open(engine, Encoder(EncoderSettings(E5)), cache_folder())
            second.encode(engine.page_ids())
            usual = replace(usual, second=second)
            untrained |= {"hybrid, e5 alone": replace(usual, dense=second, second=None), "hybrid, two encoders": usual}
        extractors["learned with vectors"] = usual
        if options.cross:
            reader = PageReader.open(engine, CrossEncoder(options.device), cache_folder())
            untrained |= {
                f"{name}, first {N_READ} read": replace(extractor, reader=reader, n_read=N_READ)
                for name, extractor in untrained.items()
            }
            extractors["learned with vectors and cross-encoder"] = replace(usual, reader=reader)
        rows += [[model_arm(name, HybridModel(extractor))] for name, extractor in untrained.items()]
    rows += [learned_arms(name, extractor, topics, options.repeats) for name, extractor in extractors.items()]
    show_errors(show_table(rows, form_topics(topics, articles, engine)))
    if not options.no_dense:
        candidate_rows(extractors["learned with vectors"], topics)
        print(f"\nvectors: {dense.encoder.settings}\n{dense.cost}")
    print("settings:", {**asdict(QuerySettings()), **asdict(FeedbackSettings()), **asdict(LearningSettings())})
    print(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
