"""Errors reach the caller whole, even from another process."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenrank
from evenrank.errors import (
    MAX_FOUND,
    EvenrankError,
    Fault,
    InputError,
    MissingExtraError,
    StoreUnavailableError,
    UnknownNameError,
    input_error,
    reason_of,
)

ERRORS = {
    EvenrankError("no run to score"): "no run to score",
    UnknownNameError("policy", "fair", iter(["relevance", "mmr"])): "unknown policy 'fair'; choose from relevance, mmr",
    UnknownNameError("setting", "x", []): "unknown setting 'x'; choose from (none)",
    MissingExtraError("a figure", "report"): (
        "a figure needs the extra 'report': pip install 'evenrank[report]' (in the sources: pip install '.[report]')"
    ),
    StoreUnavailableError("desk.sqlite", "the disk is full"): (
        "desk.sqlite: not stored: the disk is full (nothing was changed: make room or wait, then try again)"
    ),
    InputError([Fault("a.tsv", 3, "no rank", "add it")], 1200): (
        "a.tsv:3: no rank (add it)\n… and 1,200 more faults of these kinds"
    ),
}


@pytest.mark.parametrize("error,text", ERRORS.items(), ids=[type(error).__name__ for error in ERRORS])
def test_text_survives_pickling(error: EvenrankError, text: str) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(error) == str(copy) == text
    assert getattr(copy, "faults", None) == getattr(error, "faults", None)


def test_reasons_are_words() -> None:
    assert reason_of(FileNotFoundError(2, "No such file or directory", "a.tsv")) == "No such file or directory"
    assert reason_of(OSError("timed out")) == "timed out"
    assert reason_of(ValueError("no connection: [Errno 111] Connection refused")) == "no connection: Connection refused"
    assert reason_of(KeyError("format")) == "'format' is missing"
    assert reason_of(MemoryError()) == "MemoryError"


def shown_errors(handler: ast.ExceptHandler) -> Iterator[int]:
    """Lines on which the text of the error itself becomes part of a message: `{error}`, `str(error)`."""
    for node in ast.walk(handler):
        texts = [node.value] if isinstance(node, ast.FormattedValue) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
            texts = node.args
        yield from (text.lineno for text in texts if isinstance(text, ast.Name) and text.id == handler.name)


def test_no_message_has_the_number_of_an_error_of_the_system() -> None:
    """The text of an OSError is `[Errno 2] …`: `reason_of` says it in words."""
    raw = []
    for path in Path(evenrank.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_system = isinstance(node, ast.ExceptHandler) and node.type and "OSError" in ast.unparse(node.type)
            if is_system and path.name not in ("spark.py",):  # whose errors come as OSError without a number
                raw += [f"{path.name}:{line}" for line in shown_errors(node)]
    assert raw == []


def test_what_was_found_is_quoted_in_part() -> None:
    long = str(Fault("page.json", 3, "<" * 300_000, "give a number"))
    assert long == f"page.json:3: {'<' * MAX_FOUND}… (give a number)"
    assert str(Fault("page.json", 3, "<" * MAX_FOUND)) == f"page.json:3: {'<' * MAX_FOUND}"


@pytest.mark.parametrize(
    "text, shown",
    [
        ("postgresql://me:hidden@host/lists", "postgresql://me@host/lists"),
        ("postgresql://me:hi/d?d#e@n@host/lists: away", "postgresql://me@host/lists: away"),
        ("postgresql://me:hi dden hidden@host/lists: away", "postgresql://me@host/lists: away"),
        ("opensearch:me:hidden@host", "opensearch:me@host"),
        ("http://localhost:8000/ is away; ask me@example.org", "http://localhost:8000/ is away; ask me@example.org"),
        ("opensearch+https://:hidden@a:9200,b:9200/x", "opensearch+https://@a:9200,b:9200/x"),
        ("host=x password=hidden dbname=y", "host=x password=… dbname=y"),
        ("postgresql://host/lists?user=me&password=hidden&sslmode=require", None),
        ("http://localhost:8000/lists", "http://localhost:8000/lists"),
    ],
)
def test_no_error_shows_the_password_of_an_address(text: str, shown: str | None) -> None:
    for error in (EvenrankError(text), input_error(text, 0, text), UnknownNameError("engine", text, ("tantivy",))):
        assert "hidden" not in f"{error} {error!r}"
    if shown is not None:
        assert str(EvenrankError(text)) == shown
