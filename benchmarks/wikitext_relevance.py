"""What categories and infoboxes are worth: relevance on real wikitext, the articles of the dump that gensim carries.

    python benchmarks/wikitext_relevance.py

106 articles of 2016 with page ids up to 775, and those of the 57 training topics that have a relevant page among them
inside their judged window. Mean average precision, part by part; few pages and topics, so differences below 0.03 mean
little.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from evenrank.core.records import Article
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.engine.indexing import page_fields
from evenrank.retrieval.engine.protocol import IndexPage
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.features import UNTRAINED_WEIGHTS, FeatureExtractor, HybridModel
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.query.topic_query import QuerySettings
from evenrank.retrieval.relevance import LexicalModel, SearchSettings
from evenrank.wikipedia.annotate.wikitext import parse_wikitext
from real_sample import JudgedTopic, load_topics

DUMP = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
FILED = ("categories", "infobox", "kind")


def load_dump() -> tuple[Article, ...]:
    spec = find_spec("gensim")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("skipped: gensim, which carries the dump, is not installed")
    return tuple(read_articles(Path(next(iter(spec.submodule_search_locations))) / DUMP, FaultLog()))


def load_pages(articles: tuple[Article, ...]) -> list[IndexPage]:
    return [IndexPage(*fields) for fields in page_fields(articles)]


def with_more_filed(pages: Sequence[IndexPage], texts: Mapping[int, Sequence[str]]) -> list[IndexPage]:
    """Pages with further texts among their categories."""
    return [page._replace(categories="\n".join([page.categories, *texts[page.page_id]])) for page in pages]


def make_engine(pages: Sequence[IndexPage]) -> TantivyEngine:
    engine = TantivyEngine.create(Path(tempfile.mkdtemp(prefix="evenrank-wikitext-")) / "index")
    engine.add(pages)
    engine.commit()
    engine.close()
    engine.refresh()
    return engine


def average_precision(pages: Sequence[int], relevant: set[int]) -> float:
    hits = np.array([page in relevant for page in pages])
    precision = np.cumsum(hits) / (np.arange(len(hits)) + 1)
    return float(precision[hits].sum() / len(relevant))


def mean(rank: Callable[[JudgedTopic], Sequence[int]], topics: Sequence[JudgedTopic]) -> float:
    return float(np.mean([average_precision(rank(judged), set(judged.relevant.tolist())) for judged in topics]))


def lexical(engine: TantivyEngine, query: QuerySettings) -> LexicalModel:
    return LexicalModel(engine, SearchSettings(query, candidates=CandidateSettings(n_per_group=0)))


def main() -> None:
    articles = load_dump()
    pages = load_pages(articles)
    known = [judged for judged in load_topics({page.page_id for page in pages}) if len(judged.relevant)]
    last = max(page.page_id for page in pages)
    topics = [replace(judged, up_to_page_id=min(judged.up_to_page_id, last)) for judged in known]
    filed = make_engine(pages)
    unfiled = make_engine([page._replace(categories="", infobox="", kind="") for page in pages])
    print(f"{len(pages)} articles, {len(topics)} topics; mean average precision")
    full = QuerySettings()
    words = replace(
        full,
        fields={name: weight for name, weight in full.fields.items() if name not in FILED},
        phrase_fields={"lead": 1.0},
    )
    settings = {"words": words, "+ categories, infobox and its name": full}
    settings["+ categories only"] = replace(words, fields={**words.fields, "categories": 1.0})
    for name, query in settings.items():
        model = lexical(filed, query)
        found = mean(lambda j, m=model: m.score(j.topic, 200, j.up_to_page_id).page_ids.tolist(), topics)
        print(f"{name:75s}{found:.3f}")
    parsed = {article.page_id: parse_wikitext(article.text) for article in articles}
    tried = {
        "+ titles of sections, as categories (not used)": {
            page_id: [section.title for section in page.sections] for page_id, page in parsed.items()
        },
        "+ texts of links, as categories (not used)": {page_id: page.anchors for page_id, page in parsed.items()},
    }
    for name, texts in tried.items():
        model = lexical(make_engine(with_more_filed(pages, texts)), full)
        found = mean(lambda j, m=model: m.score(j.topic, 200, j.up_to_page_id).page_ids.tolist(), topics)
        print(f"{name:75s}{found:.3f}")
    with tempfile.TemporaryDirectory() as folder:
        for name, engine, query in (
            ("words and vectors of first sentences", unfiled, words),
            ("all fields, vectors of first sentences", filed, full),
            ("all fields, vectors of first sentences and categories = hybrid", filed, full),
        ):
            scorer = DenseScorer.open(unfiled if name.endswith("sentences") else filed, Encoder(), Path(folder) / name)
            scorer.encode(engine.page_ids())
            extractor = FeatureExtractor(lexical(engine, query), scorer)
            for weight in (0.0, 1.0):
                model = HybridModel(extractor, {**UNTRAINED_WEIGHTS, "filed": weight})
                found = mean(lambda j, m=model: m.score(j.topic, 200, j.up_to_page_id).page_ids.tolist(), topics)
                print(f"{name + (' + filed' if weight else ''):75s}{found:.3f}", flush=True)


if __name__ == "__main__":
    main()
