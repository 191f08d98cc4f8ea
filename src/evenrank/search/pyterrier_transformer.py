"""A PyTerrier transformer over our index: queries in, results out, as data frames. PyTerrier is not needed to import.

retrieve = EvenrankRetrieve(LexicalModel(open_index(Collection.open("collection"))))
retrieve.transform(topics)      # or: pt.Experiment([retrieve >> …], …)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenrank.records import Topic
from evenrank.search.relevance import RelevanceModel

if TYPE_CHECKING:
    import pandas as pd

try:
    from pyterrier import Transformer as _Base
except ImportError:
    _Base = object


class EvenrankRetrieve(_Base):  # type: ignore[misc]
    """Retrieves with a relevance model. Columns in: qid, query, optionally title and keywords."""

    def __init__(self, model: RelevanceModel, n_pages: int = 1000) -> None:
        super().__init__()
        self.model, self.n_pages = model, n_pages

    def transform(self, queries: pd.DataFrame) -> pd.DataFrame:
        """Columns qid, query, docno, score, rank (from 0), probability; one row per page found."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for record in queries.to_dict("records"):
            found = self.model.score(_topic(record), self.n_pages).first(self.n_pages)
            columns = (found.page_ids.tolist(), found.scores.tolist(), found.probabilities.tolist())
            for rank, (page_id, score, probability) in enumerate(zip(*columns, strict=True)):
                rows.append(
                    {"qid": str(record["qid"]), "query": record.get("query", ""), "docno": str(page_id)}
                    | {"score": score, "rank": rank, "probability": probability}
                )
        return pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank", "probability"])


def _topic(record: dict[Any, Any]) -> Topic:
    """A row of a frame as a topic: its title if there is one, else its query."""
    keywords = record.get("keywords", ())
    listed = tuple(keywords.split(",")) if isinstance(keywords, str) else tuple(keywords)
    return Topic(0, str(record.get("title") or record.get("query") or ""), listed)
