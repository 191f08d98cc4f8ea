"""What `evenrank.rerank` gives: rankings and certificates by query, as numbers, dicts, rows, frames and a table."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.frames import pandas_frame, polars_frame
from evenrank.core.types import Floats
from evenrank.policies.optimal.sequence import loss_in_words

if TYPE_CHECKING:
    import pandas as pd


Id = str | int
T = TypeVar("T")
ROWS_AT_ONCE = 4096
"""Certificates that are packed together."""


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
    """Rankings by query, kept as numbers of items."""

    def __init__(self, queries: Sequence[Id], items: NDArray[np.object_]) -> None:
        super().__init__(queries)
        self._items, self._numbers, self._starts, self._n_rankings = items, array("i"), array("q", [0]), array("i")

    def append(self, items: NDArray[np.intp]) -> None:
        """The rankings of the next query: numbers of items, ranking by rank."""
        self._numbers.frombytes(np.ascontiguousarray(items, np.intc).tobytes())
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


@dataclass
class PackedRows:
    """Rows of numbers with the same names. Blocks of rows are packed column by column, a column that repeats once.

    Most columns of a block are constant or equal to another: the certificates of short rankings shrink to a tenth.
    """

    names: tuple[str, ...]
    blocks: list[list[bytes]] = field(default_factory=list)
    """The packed columns of each full block."""
    latest: array[float] = field(default_factory=lambda: array("d"))
    """The rows behind the last full block."""
    _opened: tuple[int, Floats] = field(default_factory=lambda: (-1, np.empty((0, 0))))
    """The block that was last read, by number, unpacked."""

    def append(self, values: Iterable[float]) -> int:
        """Adds a row, and gives its place."""
        self.latest.extend(values)
        n_latest = len(self.latest) // len(self.names)
        place = len(self.blocks) * ROWS_AT_ONCE + n_latest - 1
        if n_latest == ROWS_AT_ONCE:
            self.blocks.append(_packed(np.frombuffer(self.latest).reshape(n_latest, -1)))
            self.latest = array("d")
        return place

    def row(self, place: int) -> list[float]:
        number, at = divmod(place, ROWS_AT_ONCE)
        if number == len(self.blocks):
            return self.latest[at * len(self.names) : (at + 1) * len(self.names)].tolist()
        if self._opened[0] != number:
            columns = [np.frombuffer(zlib.decompress(one)) for one in self.blocks[number]]
            self._opened = number, np.stack(columns, axis=1)
        row: list[float] = self._opened[1][at].tolist()
        return row

    def column(self, name: str) -> Floats:
        """The numbers of one name, row after row."""
        at = self.names.index(name)
        parts = [np.frombuffer(zlib.decompress(block[at])) for block in self.blocks]
        return np.concatenate([*parts, np.array(self.latest[at :: len(self.names)])])


def _packed(rows: Floats) -> list[bytes]:
    """Columns, packed; those that are equal are the same object."""
    packed: dict[bytes, bytes] = {}
    columns = [column.tobytes() for column in rows.T]
    for column in columns:
        if column not in packed:
            packed[column] = zlib.compress(column, 1)
    return [packed[column] for column in columns]


class QueryCertificates(ByQuery[dict[str, float]]):
    """Certificates by query, kept as numbers."""

    def __init__(self, queries: Sequence[Id]) -> None:
        super().__init__(queries)
        self._number_of: dict[tuple[str, ...], int] = {}
        self._forms: list[PackedRows] = []
        """Certificates with the same names."""
        self._form, self._place = array("i"), array("i")

    def append(self, certificate: Mapping[str, float]) -> None:
        """The certificate of the next query."""
        names = tuple(certificate)
        form = self._number_of.setdefault(names, len(self._forms))
        if form == len(self._forms):
            self._forms.append(PackedRows(names))
        self._form.append(form)
        self._place.append(self._forms[form].append(certificate.values()) if names else 0)

    def at(self, row: int) -> dict[str, float]:
        form = self._forms[self._form[row]]
        return dict(zip(form.names, form.row(self._place[row]), strict=True)) if form.names else {}

    def mean(self) -> dict[str, float]:
        """The mean over queries of each number that every certificate has, but for empty ones."""
        filled = [number for number, one in enumerate(self._forms) if one.names]
        if not filled:
            return {}
        shared = set(self._forms[filled[0]].names).intersection(*(self._forms[number].names for number in filled))
        form = np.array(self._form)
        return {name: self._mean(name, filled, form) for name in self._forms[filled[0]].names if name in shared}

    def _mean(self, name: str, filled: Sequence[int], form: NDArray[np.intc]) -> float:
        """In the order of the queries, so that the sum is always the same to the last bit."""
        values = np.zeros(len(form))
        for number in filled:
            values[form == number] = self._forms[number].column(name)
        return float(np.mean(values[np.isin(form, filled)]))


SHOWN_FIGURES = (
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
        return pandas_frame(self.rows())

    def to_polars(self) -> Any:
        """A polars frame: a row per ranked item."""
        return polars_frame(self.rows())

    def __repr__(self) -> str:
        n_rankings = self.rankings.n_rankings
        shown = {name: value for name, value in self.certificate.items() if name in SHOWN_FIGURES}
        proof = ", ".join(f"{name} {round(value, 15) + 0.0:.4g}" for name, value in shown.items())
        queries = "1 query" if len(self.rankings) == 1 else f"{len(self.rankings):,} queries"
        rankings = "1 ranking" if n_rankings == 1 else f"{n_rankings:,} rankings"
        text = f"<Reranked by {self.policy}: {queries}, {rankings}"
        if n_notes := len(self.notes):
            text += f"; {n_notes} note{'s' * (n_notes > 1)} in .notes"
        return text + (f"; certificate: {proof}>" if proof else ">")

    def _repr_html_(self) -> str:
        from html import escape

        rows = [map(escape, map(str, row.values())) for row in islice(self.each_row(), SHOWN_ROWS)]
        heading = "".join(f"<th>{name}</th>" for name in ("query", "ranking", "rank", "item"))
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
        table = f"<table>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
        n_more = self.rankings.n_items - SHOWN_ROWS
        more = f"<p>… and {n_more:,} more rows</p>" if n_more > 0 else ""
        return f"<p>{escape(repr(self).strip('<>'))}</p>\n{table}{more}"
