"""What `evenrank.rerank` gives: rankings and certificates by query, as dicts, rows, frames and a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from evenrank.errors import MissingExtraError
from evenrank.items.query_results import Id, QueryCertificates, QueryRankings
from evenrank.policies.optimal.sequence import loss_in_words

if TYPE_CHECKING:
    import pandas as pd

SHOWN = (
    "score",
    "upper_bound",
    "objective",
    "lower_bound",
    "gap",
    "EE-L",
    "EE-L_lower_bound",
    "EE-L_restricted_lower_bound",
    "relevance_share",
    "AWRF",
)
"""Numbers of a certificate that the short form names."""
SHOWN_ROWS = 20
"""Rows of rankings that a notebook shows."""


@dataclass(frozen=True)
class Reranked:
    """Fair rankings by query."""

    rankings: QueryRankings
    """Query → its rankings, best item first; a mapping."""
    certificates: QueryCertificates
    """Query → what the policy proves of its rankings; a mapping to dicts, empty for policies that prove nothing."""
    policy: str
    notes: tuple[str, ...] = ()

    @property
    def certificate(self) -> dict[str, float]:
        """The mean over queries of each number that every certificate has."""
        return self.certificates.mean()

    def in_words(self) -> str:
        """What the policy proves of several rankings of a query, as a sentence; empty where there is nothing to say."""
        said = loss_in_words(self.certificate, "these items")
        return f"mean over queries: {said}" if said and len(self.rankings) > 1 else said

    def to_dict(self) -> dict[Id, list[Any]]:
        """Query → items; query → lists of items where there are several rankings."""
        return {query: lists[0] if len(lists) == 1 else lists for query, lists in self.rankings.pairs()}

    def rows(self) -> list[dict[str, Any]]:
        """A row per ranked item: query, ranking, rank, item."""
        return list(self.each_row())

    def each_row(self) -> Iterator[dict[str, Any]]:
        """The rows of `rows`, one after the other."""
        return (
            {"query": query, "ranking": number, "rank": rank, "item": item}
            for query, lists in self.rankings.pairs()
            for number, items in enumerate(lists, 1)
            for rank, item in enumerate(items, 1)
        )

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame: a row per ranked item."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("a data frame", "pandas") from error
        return pd.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """A polars frame: a row per ranked item."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("a polars frame", "polars") from error
        return pl.DataFrame(self.rows())

    def __repr__(self) -> str:
        n_rankings = self.rankings.n_rankings
        shown = {name: value for name, value in self.certificate.items() if name in SHOWN}
        proof = ", ".join(f"{name} {value:.4g}" for name, value in shown.items())
        queries = "1 query" if len(self.rankings) == 1 else f"{len(self.rankings):,} queries"
        rankings = "1 ranking" if n_rankings == 1 else f"{n_rankings:,} rankings"
        text = f"<Reranked by {self.policy}: {queries}, {rankings}"
        return text + (f"; certificate: {proof}>" if proof else ">")

    def _repr_html_(self) -> str:
        from html import escape

        from evenrank.scoring.tables.html import html_of
        from evenrank.scoring.tables.table import Column, Table

        rows = [tuple(row.values()) for row in islice(self.each_row(), SHOWN_ROWS)]
        n_rows = self.rankings.n_items
        columns = tuple(Column(name) for name in ("query", "ranking", "rank", "item"))
        table = html_of(Table(columns, tuple(rows)))
        more = f"<p>… and {n_rows - SHOWN_ROWS:,} more rows</p>" if n_rows > SHOWN_ROWS else ""
        return f"<p>{escape(repr(self).strip('<>'))}</p>\n{table}{more}"
