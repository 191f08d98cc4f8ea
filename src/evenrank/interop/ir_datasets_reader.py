"""A collection in the manner of ir_datasets: documents, queries and qrels, without depending on it.

dataset = ir_datasets.Dataset(CollectionDataset(Collection.open("collection")))
ir_datasets.registry.register("my-collection", dataset)      # then also: pt.get_dataset("irds:my-collection")
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from evenrank.core.records import Split
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.trec.collection import Collection


class Doc(NamedTuple):
    """An article."""

    doc_id: str
    title: str
    text: str
    url: str

    def default_text(self) -> str:
        return f"{self.title} {self.text}"


class TopicQuery(NamedTuple):
    """A topic."""

    query_id: str
    title: str
    keywords: tuple[str, ...]
    scope: str

    def default_text(self) -> str:
        return " ".join([self.title, *self.keywords])


class Qrel(NamedTuple):
    """A judgment, with the fields of a TREC qrels file."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class CollectionDataset:
    """One split of a collection; a handler of documents, queries and qrels for `ir_datasets.Dataset`."""

    def __init__(self, collection: Collection, split: Split = "eval") -> None:
        self.collection = collection
        self.topics = [topic for topic in collection.topics if topic.split == split]

    def docs_handler(self) -> CollectionDataset:
        return self

    queries_handler = qrels_handler = docs_handler

    def docs_iter(self) -> Iterator[Doc]:
        """Articles in the order of the corpus; broken records are skipped."""
        for article in read_articles(self.collection.open_corpus(), FaultLog()):
            yield Doc(article.key or str(article.page_id), article.title, article.text, article.url)

    def docs_count(self) -> int:
        """Number of articles; the first call reads the corpus."""
        return self._n_docs

    @cached_property
    def _n_docs(self) -> int:
        return sum(1 for _ in self.docs_iter())

    def docs_cls(self) -> type[Doc]:
        return Doc

    def docs_lang(self) -> None:
        """Unknown: a collection does not say."""

    def docs_namespace(self) -> None:
        """None: page ids are those of the wiki that the corpus comes from."""

    def queries_iter(self) -> Iterator[TopicQuery]:
        """Topics in the order of the collection."""
        for topic in self.topics:
            yield TopicQuery(str(topic.id), topic.title, topic.keywords, topic.scope)

    def queries_count(self) -> int:
        return len(self.topics)

    def queries_dict(self) -> dict[str, TopicQuery]:
        return {query.query_id: query for query in self.queries_iter()}

    def queries_cls(self) -> type[TopicQuery]:
        return TopicQuery

    queries_lang, queries_namespace = docs_lang, docs_namespace

    def qrels_iter(self) -> Iterator[Qrel]:
        """Relevant pages, and those judged not relevant where that is known."""
        for topic in self.topics:
            relevant = set(topic.rel_docs.tolist())
            judged = topic.rel_docs if topic.assessed_docs is None else topic.assessed_docs
            for page_id in judged.tolist():
                yield Qrel(str(topic.id), str(self.collection.shown_id(page_id)), int(page_id in relevant))

    def qrels_dict(self) -> dict[str, dict[str, int]]:
        """Relevance by topic and page."""
        found: dict[str, dict[str, int]] = {query_id: {} for query_id in self.queries_dict()}
        for qrel in self.qrels_iter():
            found[qrel.query_id][qrel.doc_id] = qrel.relevance
        return found

    def qrels_cls(self) -> type[Qrel]:
        return Qrel

    def qrels_defs(self) -> dict[int, str]:
        """What the levels of relevance mean."""
        return {1: "belongs to the topic", 0: "judged, and does not belong to it"}
