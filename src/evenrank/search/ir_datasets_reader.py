"""A collection in the manner of ir_datasets: `docs_iter`, `queries_iter`, `qrels_iter`, without depending on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.formats.articles import read_articles
from evenrank.formats.faults import FaultLog
from evenrank.records import Split


class Doc(NamedTuple):
    """An article."""

    doc_id: str
    title: str
    text: str
    url: str


class Query(NamedTuple):
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
    """One split of a collection."""

    def __init__(self, collection: Collection, split: Split = "eval") -> None:
        self.collection = collection
        self.topics = [topic for topic in collection.topics if topic.split == split]

    def docs_iter(self) -> Iterator[Doc]:
        """Articles in the order of the corpus; broken records are skipped."""
        if self.collection.corpus is None:
            raise EvenrankError(f"{self.collection.path}: no corpus (import the collection with --corpus)")
        for article in read_articles(self.collection.corpus, FaultLog()):
            yield Doc(str(article.page_id), article.title, article.text, article.url)

    def queries_iter(self) -> Iterator[Query]:
        """Topics in the order of the collection."""
        for topic in self.topics:
            yield Query(str(topic.id), topic.title, topic.keywords, topic.scope)

    def qrels_iter(self) -> Iterator[Qrel]:
        """Relevant pages, and those judged not relevant where that is known."""
        for topic in self.topics:
            relevant = set(topic.rel_docs.tolist())
            judged = topic.rel_docs if topic.assessed_docs is None else topic.assessed_docs
            for page_id in judged.tolist():
                yield Qrel(str(topic.id), str(page_id), int(page_id in relevant))
