"""What is kept of every question, be it a work list or a saved search: the pages found, their goal, a secret link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.question import Question, question_from_json
from evenrank.app.sources.brought import SourceReport, importance_from_json, reports_from_json
from evenrank.app.storage.store import limit_of, new_token, now
from evenrank.database.database import Database
from evenrank.retrieval.model_choice import ModelChoice
from evenrank.retrieval.query.evidence import Reasons

WORDS = {"untrained": "words", "dph": "words", "hybrid": "words and text vectors", "learned": "a learned model"}
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

    def to_json(self) -> str:
        return orjson.dumps(asdict(self)).decode()


def model_used(choice: ModelChoice) -> ModelUsed:
    """What is kept of the model that was chosen."""
    encoder = choice.encoder.fingerprint if choice.encoder else None
    return ModelUsed(choice.kind, choice.fingerprint or None, encoder, choice.cross_encoder)


def model_from_json(text: str | None) -> ModelUsed | None:
    """A stored model; None for a list from before models were recorded."""
    return None if text is None else ModelUsed(**orjson.loads(text))


Table = Literal["work_list", "saved_search"]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A question and what was found for it; number, tokens and time come with the saving."""

    question: Question
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    reasons: Reasons
    target: NDArray[np.float64]
    """Wanted share of each group."""
    certificate: dict[str, float]
    """What the policy proves."""
    model: ModelUsed | None = None
    """The relevance model that brought the pages; None in what was kept before models were recorded."""
    brought: str | None = None
    """What became of the sources that people brought, as JSON; None when they brought none."""
    data: str = ""
    """Which data it was made from; empty in what was kept before that was recorded."""
    number: int = 0
    """Number in the store; the topic number in run files."""
    token: str = ""
    """Token of the link to it: the one to work on it, or for readers the one that can only read."""
    reader: str = ""
    """Token of the link that can only read."""
    owner: str = ""
    created: str = ""
    name: str = ""
    """Title given later; empty for that of the question."""
    archived: str = ""
    """When it was archived; empty when it was not."""
    is_private: bool = False
    """Whether only its owner, and those it is shared with, may see it."""
    is_read_only: bool = False
    """Whether it was opened by the link that can only read."""

    @property
    def title(self) -> str:
        return self.name or self.question.title

    def for_reader(self) -> Self:
        """The same as its reading link gives it: without the token of the link to work on it."""
        return replace(self, token=self.reader, is_read_only=True)

    @cached_property
    def reports(self) -> tuple[SourceReport, ...]:
        """What became of each source."""
        return reports_from_json(self.brought)

    @cached_property
    def importance(self) -> Mapping[int, str]:
        """Importance by page id, where a banner gives it."""
        return importance_from_json(self.brought)


def keep(store: Database, table: Table, made: Kept, owner: str, **own: bytes | int | str | None) -> str:
    """Keep a new row with the columns that only its table has; gives the token of its link."""
    token = new_token()
    row = {"token": token, "reader": new_token(), "owner": owner, "created": now(), **_columns(made), **own}
    places = ", ".join(f":{name}" for name in row)
    with store.transaction(("owner", owner)) as connection:
        (n_kept,) = connection.execute(f"SELECT count(*) FROM {table} WHERE owner = ?", (owner,)).fetchone()
        if n_kept >= limit_of(store, "max_kept"):
            raise BadRequestError(
                Message("You keep %(n)s of them already, which is the most that one visitor may keep.", n=n_kept)
            )
        connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", row)
        if table == "work_list" and own.get("series") is None:
            connection.execute("UPDATE work_list SET series = number WHERE token = ?", (token,))
    return token


def delete_kept(store: Database, table: Table, number: int) -> None:
    """Remove a list with all its versions, or a search with its draws; marks and shares go with it.

    `number` is that under which it is shared: the series of a list, the number of a search.
    """
    with store.transaction() as connection:
        connection.execute("DELETE FROM share WHERE thing = ? AND number = ?", (table, number))
        if table == "work_list":
            versions = "SELECT number FROM work_list WHERE series = ?"
            connection.execute(f"DELETE FROM trade_off WHERE work_list IN ({versions})", (number,))
            connection.execute("DELETE FROM list_mark WHERE series = ?", (number,))
            connection.execute("DELETE FROM publication WHERE series = ?", (number,))
            connection.execute("DELETE FROM work_list WHERE series = ?", (number,))
        else:
            for part in ("mark", "draw"):
                connection.execute(f"DELETE FROM {part} WHERE search = ?", (number,))
            connection.execute("DELETE FROM saved_search WHERE number = ?", (number,))


def find_kept(store: Database, table: Table, token: str) -> Any:
    """The row behind a link, be it the full one or the one that can only read; None when there is none."""
    query = f"SELECT *, token <> ? AS is_read_only FROM {table} WHERE token = ? OR reader = ?"
    return store.connection.execute(query, (token, token, token)).fetchone()


def fields_of(row: Any) -> dict[str, Any]:
    """The fields of `Kept` in a row."""
    return {
        "question": question_from_json(row["question"]),
        "page_ids": int32(row["pages"]),
        "relevance": float64(row["relevance"]),
        "reasons": Reasons(tuple(orjson.loads(row["words"])), uint16(row["matches"])),
        "target": float64(row["target"]),
        "certificate": orjson.loads(row["certificate"]),
        "model": model_from_json(row["model"]),
        "brought": row["brought"],
        "data": row["data"] or "",
        "number": row["number"],
        "token": row["reader"] if row["is_read_only"] else row["token"],
        "reader": row["reader"],
        "owner": row["owner"],
        "created": row["created"],
        "name": row["name"] or "",
        "archived": row["archived"] or "",
        "is_private": bool(row["is_private"]),
        "is_read_only": bool(row["is_read_only"]),
    }


def _columns(made: Kept) -> dict[str, bytes | str | int | None]:
    return {
        "question": made.question.to_json().decode(),
        "pages": pack(made.page_ids, "<i4"),
        "relevance": pack(made.relevance, "<f8"),
        "words": orjson.dumps(made.reasons.words).decode(),
        "matches": pack(made.reasons.bits, "<u2"),
        "target": pack(made.target, "<f8"),
        "certificate": orjson.dumps(made.certificate).decode(),
        "model": made.model.to_json() if made.model else None,
        "brought": made.brought,
        "data": made.data or None,
        "name": made.name or None,
        "is_private": int(made.is_private),
    }


def pack(values: NDArray[np.generic] | list[int], dtype: str) -> bytes:
    """The bytes of an array."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def int32(blob: bytes) -> NDArray[np.int32]:
    return np.frombuffer(blob, "<i4")


def uint16(blob: bytes) -> NDArray[np.uint16]:
    return np.frombuffer(blob, "<u2")


def float64(blob: bytes) -> NDArray[np.float64]:
    return np.frombuffer(blob, "<f8")


def uint8(blob: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(blob, np.uint8)
