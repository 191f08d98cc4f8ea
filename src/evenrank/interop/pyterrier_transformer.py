"""A PyTerrier transformer over our index: queries in, results out, as data frames. PyTerrier is not needed to import.

retrieve = EvenrankRetrieve(LexicalModel(open_index(Collection.open("collection"))))
retrieve.transform(topics)      # or: pt.Experiment([retrieve, retrieve % 10 >> …], …)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any, ClassVar

from evenrank.core.frames import DataFrame
from evenrank.core.records import Topic
from evenrank.core.text_ids import TextIds
from evenrank.errors import EvenrankError
from evenrank.retrieval.relevance import RelevanceModel

try:
    _Base: Any = import_module("pyterrier").Transformer
except ImportError:
    _Base = object

RESULTS = ("docno", "score", "rank", "probability")
"""Columns that retrieval adds."""


class EvenrankRetrieve(_Base):  # type: ignore[misc]
    """Retrieves with a relevance model. Columns in: qid, and query or title (which goes first); optionally keywords."""

    transform_inputs: ClassVar[list[list[str]]] = [["qid", "query"], ["qid", "title"]]
    """Columns that are needed; PyTerrier checks pipelines with them."""

    def __init__(self, model: RelevanceModel, n_pages: int = 1000, ids: TextIds | None = None) -> None:
        """`ids` are those of a collection whose page ids are text (`Collection.text_ids`)."""
        super().__init__()
        self.model, self.n_pages, self.ids = model, n_pages, ids

    def __repr__(self) -> str:
        return f"EvenrankRetrieve({type(self.model).__name__}, n_pages={self.n_pages})"

    def transform(self, queries: DataFrame) -> DataFrame:
        """The columns of the queries, then docno, score, rank (from 0), probability; one row per page found."""
        import pandas as pd

        columns = _check_columns(list(queries.columns))
        rows = [row for query in queries.to_dict("records") for row in self._results(query)]
        return pd.DataFrame(rows, columns=[*columns, *RESULTS])

    def _results(self, query: dict[Hashable, Any]) -> list[dict[Hashable, Any]]:
        found = self.model.score(_topic(query), self.n_pages).first(self.n_pages)
        common = query | {"qid": str(query["qid"]), "query": query.get("query", query.get("title", ""))}
        pages = found.page_ids.tolist()
        docnos = map(str, pages if self.ids is None else self.ids.texts(pages))
        columns = (docnos, found.scores.tolist(), range(len(found)), found.probabilities.tolist())
        return [common | dict(zip(RESULTS, values, strict=True)) for values in zip(*columns, strict=True)]


def _check_columns(columns: list[str]) -> list[str]:
    """The columns of queries, with `query` among them; an error if they are not those of queries."""
    if "qid" not in columns or not {"query", "title"} & set(columns):
        raise EvenrankError(f"a frame with the columns {columns} (give queries: qid, and query or title)")
    if taken := set(RESULTS) & set(columns):
        fix = "give queries: this transformer retrieves, and cannot score the documents of another one"
        raise EvenrankError(f"a frame of results, with the columns {sorted(taken)} ({fix})")
    return columns if "query" in columns else [*columns, "query"]


def _topic(query: Mapping[Hashable, Any]) -> Topic:
    """A row of a frame as a topic: its title if there is one, else its query."""
    keywords: Any = query.get("keywords")
    listed = keywords.split(",") if isinstance(keywords, str) else () if _is_missing(keywords) else keywords
    texts = [str(query[name]) for name in ("title", "query") if not _is_missing(query.get(name))]
    return Topic(0, next(filter(None, texts), ""), tuple(map(str, listed)))


def _is_missing(cell: object) -> bool:
    """Whether a cell is empty, which a frame may say by a float that is no number."""
    return cell is None or (isinstance(cell, float) and cell != cell)
