"""What `evenrank.rerank` gives: rankings and certificates by query, as dicts, rows, frames and a table."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import MissingExtraError

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
    "relevance_share",
    "AWRF",
)
"""Numbers of a certificate that the short form names."""
SHOWN_ROWS = 20
"""Rows of rankings that a notebook shows."""


Id = str | int
T = TypeVar("T")


class ByQuery(Mapping[Id, T]):
    """Values by query, each made when it is asked for."""

    def __init__(self, queries: Sequence[Id]) -> None:
        self._queries = queries

    @abstractmethod
    def at(self, row: int) -> T:
        """The value of a query by its place."""

    def pairs(self) -> Iterator[tuple[Id, T]]:
        """Queries with their values; `items` looks every query up in a dict, which takes memory."""
        return ((query, self.at(row)) for row, query in enumerate(self._queries))

    @cached_property
    def _row(self) -> dict[Id, int]:
        return {query: row for row, query in enumerate(self._queries)}

    def __getitem__(self, query: Id) -> T:
        return self.at(self._row[query])

    def __iter__(self) -> Iterator[Id]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __repr__(self) -> str:
        return repr(dict(self.pairs()))


class QueryRankings(ByQuery[list[list[Id]]]):
    """Rankings by query, kept as numbers of items: lists for each of a million queries would fill the memory."""

    def __init__(self, queries: Sequence[Id], items: NDArray[np.object_]) -> None:
        super().__init__(queries)
        self._items, self._numbers, self._starts, self._n_rankings = items, array("q"), array("q", [0]), array("q")

    def append(self, items: NDArray[np.intp]) -> None:
        """The rankings of the next query: numbers of items, ranking by rank."""
        self._numbers.frombytes(np.ascontiguousarray(items, np.int64).tobytes())
        self._starts.append(len(self._numbers))
        self._n_rankings.append(len(items))

    @property
    def n_rankings(self) -> int:
        """Rankings of all queries together."""
        return sum(self._n_rankings)

    @property
    def n_items(self) -> int:
        """Items in all rankings together."""
        return len(self._numbers)

    def at(self, row: int) -> list[list[Id]]:
        numbers = np.array(self._numbers[self._starts[row] : self._starts[row + 1]], np.intp)
        found: list[list[Id]] = self._items[numbers].reshape(self._n_rankings[row], -1).tolist()
        return found


class QueryCertificates(ByQuery[dict[str, float]]):
    """Certificates by query, kept as numbers: a dict for each of a million queries would fill the memory."""

    def __init__(self, queries: Sequence[Id]) -> None:
        super().__init__(queries)
        self._forms: dict[tuple[str, ...], int] = {}
        self._form, self._values, self._starts = array("q"), array("d"), array("q", [0])

    def append(self, certificate: Mapping[str, float]) -> None:
        """The certificate of the next query."""
        self._form.append(self._forms.setdefault(tuple(certificate), len(self._forms)))
        self._values.extend(certificate.values())
        self._starts.append(len(self._values))

    def at(self, row: int) -> dict[str, float]:
        names = list(self._forms)[self._form[row]]
        return dict(zip(names, self._values[self._starts[row] : self._starts[row + 1]], strict=True))

    def mean(self) -> dict[str, float]:
        """The mean over queries of each number that every certificate has, but for empty ones."""
        forms, starts = list(self._forms), np.array(self._starts)
        form, values = np.array(self._form), np.array(self._values)
        shared = [name for name in next(filter(None, forms), ()) if all(name in one for one in forms if one)]
        kept = np.flatnonzero([bool(forms[one]) for one in form.tolist()])
        place = {name: np.array([one.index(name) if name in one else 0 for one in forms]) for name in shared}
        return {name: float(np.mean(values[starts[kept] + place[name][form[kept]]])) for name in shared}


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

        from evenrank.evaluation.tables.html import html_of
        from evenrank.evaluation.tables.table import Column, Table

        rows = [tuple(row.values()) for row in islice(self.each_row(), SHOWN_ROWS)]
        n_rows = self.rankings.n_items
        columns = tuple(Column(name) for name in ("query", "ranking", "rank", "item"))
        table = html_of(Table(columns, tuple(rows)))
        more = f"<p>… and {n_rows - SHOWN_ROWS:,} more rows</p>" if n_rows > SHOWN_ROWS else ""
        return f"<p>{escape(repr(self).strip('<>'))}</p>\n{table}{more}"
