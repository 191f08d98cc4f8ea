"""What is saved of every question, be it a work list or a saved search: the pages found, their goal, a secret link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_type_hints

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.collection_view import Corrections
from evenrank.app.articles.user_articles import (
    SourceReport,
    importance_from_json,
    left_out_from_json,
    reports_from_json,
)
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.question import Question, question_from_json
from evenrank.app.storage.store import limit_of, new_token, now
from evenrank.database.database import Database, Turn
from evenrank.retrieval.model_choice import ModelChoice
from evenrank.retrieval.query.evidence import Reasons

WORDS = {
    "untrained": "words",
    "dph": "words",
    "bm25": "words",
    "hybrid": "words and text vectors",
    "learned": "a learned model",
}
"""What each kind of model goes by, for visitors."""


@dataclass(frozen=True)
class ModelUsed:
    """A model by what identifies it. The paths that `ModelChoice.describe` has are not for visitors."""

    kind: str
    fingerprint: str | None = None
    """Of the model file; None for a model without one."""
    encoder: str | None = None
    """Fingerprint of the text encoder; None without text vectors."""
    cross_encoder: str | None = None
    """Fingerprint of the cross-encoder; None without one."""

    @property
    def words(self) -> str:
        """The model in words."""
        return WORDS.get(self.kind, self.kind)

    @property
    def label(self) -> str:
        """The model in words, with its fingerprints."""
        marks = {"model": self.fingerprint, "encoder": self.encoder, "cross-encoder": self.cross_encoder}
        facts = [self.kind, *(f"{name} {mark}" for name, mark in marks.items() if mark)]
        return f"{self.words} ({', '.join(facts)})"


def describe_model(choice: ModelChoice) -> ModelUsed:
    """What is saved of the model that was chosen."""
    encoder = choice.encoder.fingerprint if choice.encoder else None
    return ModelUsed(choice.kind, choice.fingerprint or None, encoder, choice.cross_encoder)


def model_from_json(text: str) -> ModelUsed:
    """A stored model."""
    return ModelUsed(**orjson.loads(text))


PAGE_BYTES = 40
"""About what is kept of one page: id, relevance, words, class, title."""
Table = Literal["work_list", "saved_search"]
TABLES: tuple[Table, ...] = ("work_list", "saved_search")
SHARED_BY: dict[Table, str] = {"work_list": "series", "saved_search": "number"}
"""Column of the number under which each is shared, marked and removed: all versions of a list have the same."""


@dataclass(frozen=True)
class StoredColumn:
    """Where a field is stored, and how its value is written and read; NULL is the default of the field."""

    name: str
    write: Callable[[Any], bytes | str | int | None] = lambda value: value or None
    read: Callable[[Any], Any] = lambda value: value
    is_given: bool = True
    """Whether a new row is given the value; else the store has it."""


def array_column(name: str, dtype: str) -> StoredColumn:
    """A column that holds an array of numbers."""
    return StoredColumn(name, lambda values: pack(values, dtype), lambda blob: np.frombuffer(blob, dtype))


def set_column(name: str) -> StoredColumn:
    """A column that the store sets."""
    return StoredColumn(name, is_given=False)


def to_json(value: Any) -> str:
    """A value, or a data object with arrays in it, as JSON text."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()


@dataclass(frozen=True, kw_only=True)
class SavedRequest:
    """A question and what was found for it; number, tokens and time come with the saving."""

    table: ClassVar[Table]
    """Where it is kept."""
    area: ClassVar[str]
    """Where its pages are."""
    question: Annotated[Question, StoredColumn("question", Question.to_json, question_from_json)]
    page_ids: Annotated[NDArray[np.int32], array_column("pages", "<i4")]
    relevance: Annotated[NDArray[np.float64], array_column("relevance", "<f8")]
    reasons: Reasons
    """Stored in two columns, `words` and `matches`."""
    target: Annotated[NDArray[np.float64], array_column("target", "<f8")]
    """Wanted share of each group."""
    certificate: Annotated[dict[str, float], StoredColumn("certificate", to_json, orjson.loads)]
    """What the policy proves."""
    model: Annotated[ModelUsed | None, StoredColumn("model", to_json, model_from_json)] = None
    """The relevance model that found the pages; None in what was saved before models were recorded."""
    user_articles: Annotated[str | None, StoredColumn("brought")] = None
    """What became of the articles that people brought, as JSON; None when they brought none."""
    data: Annotated[str, StoredColumn("data")] = ""
    """Which data it was made from; empty in what was saved before that was recorded."""
    number: Annotated[int, set_column("number")] = 0
    """Number in the store; the topic number in run files."""
    token: Annotated[str, set_column("token")] = ""
    """Token of the link to it: the one to work on it, or for readers the one that can only read."""
    reader: Annotated[str, set_column("reader")] = ""
    """Token of the link that can only read."""
    owner: Annotated[str, set_column("owner")] = ""
    created: Annotated[str, set_column("created")] = ""
    name: Annotated[str, StoredColumn("name")] = ""
    """Title given later; empty for that of the question."""
    archived: Annotated[str, set_column("archived")] = ""
    """When it was archived; empty when it was not."""
    is_private: Annotated[bool, StoredColumn("is_private", int, bool)] = False
    """Whether only its owner, and those it is shared with, may see it."""
    is_read_only: Annotated[bool, StoredColumn("is_read_only", read=bool, is_given=False)] = False
    """Whether it was opened by the link that can only read."""

    @property
    def turn(self) -> Turn:
        """What writes about it queue by."""
        raise NotImplementedError

    @property
    def is_made_by_marks(self) -> bool:
        """Whether marks or corrections decided which articles it has."""
        return False

    @property
    def regions_corrected(self) -> Corrections:
        """The regions that count for it in place of those of the data."""
        return ()

    @property
    def title(self) -> str:
        return self.name or self.question.title

    @property
    def path(self) -> str:
        """The path of its page, by the link that the visitor has."""
        return f"/{self.area}/{self.token}"

    @property
    def size_bytes(self) -> int:
        """About what it takes in the store: the question with the lists in it, and what is kept of each page."""
        texts = len(self.question.to_json().encode()) + len((self.user_articles or "").encode())
        return texts + PAGE_BYTES * len(self.page_ids)

    @property
    def shared_number(self) -> int:
        """The number under which it is shared."""
        return self.number

    def for_reader(self) -> Self:
        """The same as its reading link gives it: without the token of the link to work on it."""
        return replace(self, token=self.reader, is_read_only=True)

    @cached_property
    def reports(self) -> tuple[SourceReport, ...]:
        """What became of each source."""
        return reports_from_json(self.user_articles)

    @cached_property
    def left_out(self) -> tuple[int, dict[str, int]]:
        """How many articles were brought, and how many of them are not listed, by reason."""
        return left_out_from_json(self.user_articles)

    @cached_property
    def importance(self) -> Mapping[int, str]:
        """Importance by page id, where a banner gives it."""
        return importance_from_json(self.user_articles)


S = TypeVar("S", bound=SavedRequest)


def save_request(store: Database, made: SavedRequest, owner: str, **others: int) -> str:
    """Store a new request, with columns that no field has; gives the token of its link."""
    token, table = new_token(), made.table
    row = {"token": token, "reader": new_token(), "owner": owner, "created": now(), **others}
    row |= {"words": to_json(made.reasons.words), "matches": pack(made.reasons.bits, "<u2")}
    for name, column in columns_of(type(made)).items():
        if column.is_given:
            value = getattr(made, name)
            row[column.name] = None if value is None else column.write(value)
    places = ", ".join(f":{name}" for name in row)
    with store.transaction(("owner", owner)) as connection:
        (n_kept,) = connection.execute(f"SELECT count(*) FROM {table} WHERE owner = ?", (owner,)).fetchone()
        if n_kept >= limit_of(store, "max_kept"):
            raise BadRequestError(
                Message("You keep %(n)s of them already, which is the most that one visitor may keep.", n=n_kept)
            )
        connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", row)
        if table == "work_list":
            connection.execute("UPDATE work_list SET series = number WHERE token = ? AND series IS NULL", (token,))
    return token


_COLUMNS: dict[Table, dict[str, StoredColumn]] = {}


def columns_of(kind: type[SavedRequest]) -> dict[str, StoredColumn]:
    """The columns of a kind of request, by field."""
    if kind.table not in _COLUMNS:
        hints = {name: get_args(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}
        found = {name: parts[-1] for name, parts in hints.items() if parts and isinstance(parts[-1], StoredColumn)}
        _COLUMNS[kind.table] = found
    return _COLUMNS[kind.table]


def load_request(store: Database, kind: type[S], token: str) -> S | None:
    """The request behind a link, be it the full one or the one that can only read; None when there is none."""
    query = f"SELECT *, token <> ? AS is_read_only FROM {kind.table} WHERE token = ? OR reader = ?"
    row = store.connection.execute(query, (token, token, token)).fetchone()
    return None if row is None else request_from_row(kind, row)


def request_from_row(kind: type[S], row: Any) -> S:
    """A request from its row, as the link by which it was found gives it."""
    columns = columns_of(kind)
    found = {name: column.read(row[column.name]) for name, column in columns.items() if row[column.name] is not None}
    made = kind(reasons=Reasons(tuple(orjson.loads(row["words"])), np.frombuffer(row["matches"], "<u2")), **found)
    return made.for_reader() if made.is_read_only else made


def delete_request(store: Database, table: Table, number: int) -> None:
    """Remove a list with all its versions, or a search with its draws; marks and shares go with it.

    `number` is that under which it is shared: the series of a list, the number of a search.
    """
    with store.transaction() as connection:
        for part in ("share", "correction"):
            connection.execute(f"DELETE FROM {part} WHERE thing = ? AND number = ?", (table, number))
        if table == "work_list":
            versions = "SELECT number FROM work_list WHERE series = ?"
            connection.execute(f"DELETE FROM trade_off WHERE work_list IN ({versions})", (number,))
            for part in ("list_mark", "wiki_count", "publication"):
                connection.execute(f"DELETE FROM {part} WHERE series = ?", (number,))
            connection.execute("DELETE FROM work_list WHERE series = ?", (number,))
        else:
            for part in ("mark", "draw"):
                connection.execute(f"DELETE FROM {part} WHERE search = ?", (number,))
            connection.execute("DELETE FROM saved_search WHERE number = ?", (number,))


def pack(values: NDArray[np.generic] | list[int], dtype: str) -> bytes:
    """The bytes of an array."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def int32(blob: bytes) -> NDArray[np.int32]:
    return np.frombuffer(blob, "<i4")


def float64(blob: bytes) -> NDArray[np.float64]:
    return np.frombuffer(blob, "<f8")
