"""What `evenrank.score` gives: means by system, scores by query, attention by group; tables, frames and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.errors import EvenrankError, MissingExtraError, UnknownNameError
from evenrank.scoring.tables.html import html_of
from evenrank.scoring.tables.table import Column, Table, text_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LOWER_IS_BETTER = ("EE-L", "EE-D", "unfairness", "disparity", "difference")
ROWS_AT_ONCE = 10_000
"""Queries that are looked up together."""
SCHEMA = "evenrank.score/1"
"""Name and version of the JSON form."""


class QueryScores(Mapping[str | int, dict[str, float]]):
    """Scores by query and measure, kept as arrays: a dict for each of a million queries would fill the memory."""

    def __init__(self, names: Sequence[str | int], query: NDArray[np.intp], columns: Mapping[str, Floats]) -> None:
        self._names, self._query, self._columns = names, query, columns

    @cached_property
    def _row(self) -> dict[str | int, int]:
        return {name: row for row, name in enumerate(self)}

    def __getitem__(self, query: str | int) -> dict[str, float]:
        return self._at(self._row[query])

    def _at(self, row: int) -> dict[str, float]:
        return {name: float(column[row]) for name, column in self._columns.items()}

    def pairs(self) -> Iterator[tuple[str | int, dict[str, float]]]:
        """Queries with their scores; `items` looks every query up in a dict, which takes memory."""
        return ((query, self._at(row)) for row, query in enumerate(self))

    def __iter__(self) -> Iterator[str | int]:
        parts = (self._query[start : start + ROWS_AT_ONCE] for start in range(0, len(self._query), ROWS_AT_ONCE))
        return (self._names[query] for part in parts for query in part.tolist())

    def __len__(self) -> int:
        return len(self._query)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True)
class SystemScores:
    """The scores of one system."""

    system: str
    scores: dict[str, float]
    """Means over queries, by measure."""
    queries: QueryScores
    """Scores by query and measure."""


@dataclass(frozen=True)
class GroupShare:
    """The attention that a group gets and should get, in the mean over queries."""

    system: str
    grouping: str
    group: str
    attention: float
    """Share of the attention that known groups get."""
    target: float


@dataclass(frozen=True)
class ItemScores:
    """Scores of one or several systems."""

    systems: tuple[SystemScores, ...]
    measures: tuple[str, ...]
    shares: tuple[GroupShare, ...]
    """Attention and target of each group; empty without groups."""
    notes: tuple[str, ...] = ()
    """What was left out."""
    protocol: Mapping[str, Any] | None = None
    """Name and settings of a campaign's protocol."""

    @property
    def scores(self) -> dict[str, float]:
        """Means over queries of the only system."""
        if len(self.systems) > 1:
            names = ", ".join(one.system for one in self.systems)
            raise EvenrankError(f"scores of several systems (choose one: results['NAME'].scores, of {names})")
        return self.systems[0].scores

    def __getitem__(self, system: str) -> SystemScores:
        by_name = {one.system: one for one in self.systems}
        if system not in by_name:
            raise UnknownNameError("system", system, by_name)
        return by_name[system]

    def to_json(self, with_queries: bool = True) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            **({} if self.protocol is None else {"protocol": dict(self.protocol)}),
            "systems": [
                {"system": one.system, "n_queries": len(one.queries), "scores": one.scores} for one in self.systems
            ],
            "queries": list(self.query_entries()) if with_queries else [],
            "groups": [asdict(share) for share in self.shares],
            "notes": list(self.notes),
        }

    def query_entries(self) -> Iterator[dict[str, Any]]:
        """The scores of each query of each system, as the JSON form has them."""
        return (
            {"system": one.system, "query": query, "scores": scores}
            for one in self.systems
            for query, scores in one.queries.pairs()
        )

    def to_pandas(self, per_query: bool = False) -> pd.DataFrame:
        """A pandas frame: a row per system, or per system and query."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("a data frame", "pandas") from error
        return pd.DataFrame(list(self._rows(per_query)))

    def to_polars(self, per_query: bool = False) -> Any:
        """A polars frame: a row per system, or per system and query."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("a polars frame", "polars") from error
        return pl.DataFrame(list(self._rows(per_query)))

    def _rows(self, per_query: bool) -> Iterator[dict[str, Any]]:
        if per_query:
            return ({"system": one["system"], "query": one["query"], **one["scores"]} for one in self.query_entries())
        return ({"system": one.system, "queries": len(one.queries), **one.scores} for one in self.systems)

    def table(self, per_query: bool = False) -> Table:
        """The scores as a table for readers, the best values marked."""
        return next(self.tables(per_query))

    def tables(self, per_query: bool = False, n_rows: int | None = None) -> Iterator[Table]:
        """The same in tables of up to so many rows: those of a million queries at once would fill the memory."""
        columns = [Column("system"), Column("query" if per_query else "queries")]
        columns += [Column(name, higher_is_better=_direction(name)) for name in self.measures]
        rows = (tuple(row.values()) for row in self._rows(per_query))
        while some := tuple(islice(rows, n_rows)):
            yield Table(tuple(columns), some)

    def group_table(self) -> Table:
        """Attention and target of each group, in the mean over queries."""
        names = ("system", "grouping", "group", "attention", "target")
        return Table(tuple(Column(name) for name in names), tuple(tuple(asdict(one).values()) for one in self.shares))

    def plot(self) -> Figure:
        """Attention beside target for each group, one panel per grouping; needs the extra `report`."""
        from evenrank.items.figure import share_figure

        return share_figure(self.shares)

    def __str__(self) -> str:
        parts = [text_of(self.table())]
        parts += [text_of(self.group_table())] if self.shares else []
        return "\n".join(parts) + "".join(f"note: {note}\n" for note in self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        parts = [html_of(self.table())]
        parts += [html_of(self.group_table())] if self.shares else []
        return "\n".join(parts) + "".join(f"<p>{escape(note)}</p>" for note in self.notes)


def _direction(measure: str) -> bool | None:
    return measure.partition(":")[0] not in LOWER_IS_BETTER
