"""What visitors send: forms and JSON, read once, then handled off the event loop; and the texts in them, cleaned."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.budget import check_fields
from evenrank.app.request.capacity import run_expensive
from evenrank.app.request.visitor import person_of

MAX_FIELDS = 100
MAX_FILES = 10
MAX_PART_BYTES = 4 * 1024 * 1024
"""Longest field of a form with files; the limit on request bodies comes first."""
_SEPARATORS = re.compile(r"[,;\n]")
_SIGNED_IN = ThreadPoolExecutor(8, thread_name_prefix="signed-in")
NOT_TEXT = r"\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
"""Control characters, and marks that turn the direction of text, as part of a regular expression."""
_NOT_TEXT = re.compile(rf"[{NOT_TEXT}\ud800-\udfff]+")
"""The same with half characters, which JSON does not have."""
_UTF8 = re.compile(r';\s*charset="?utf-8"?\s*(?=;|$)')
"""The one encoding of forms; browsers name none."""
Fields = Mapping[str, str]
FormHandler = Callable[[Request, Fields], Response]
JsonHandler = Callable[[Request, dict[str, Any]], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def with_form(
    handler: FormHandler, admit: Callable[[Request], None] | None = None, *, is_expensive: bool = False
) -> Endpoint:
    """An endpoint that gives the posted form fields to `handler`, in a thread; an expensive one when it is its turn.

    `admit` refuses a request before its form is read, so that a malformed form is answered like any other.
    """

    @wraps(handler)
    async def endpoint(request: Request) -> Response:
        if admit is not None:
            await run_in_threadpool(admit, request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        parts = await read_parts(request) if kind == "multipart/form-data" else None
        body = b"" if parts is not None else await request.body()

        def make() -> Response:  # not in the event loop: a long form takes a while to parse
            fields = parse_form(body) if parts is None else parts
            if any("\0" in value for value in fields.values()):  # which PostgreSQL cannot store
                raise BadRequestError("The form could not be read.")
            check_fields(fields)
            return handler(request, fields)

        return await _run(request, make, is_expensive=is_expensive)

    return endpoint


def with_json(handler: JsonHandler, *, is_expensive: bool = False) -> Endpoint:
    """An endpoint that gives the posted JSON object to `handler`, in a thread; an expensive one when it is its turn."""

    @wraps(handler)
    async def endpoint(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "Send the body as application/json.")
        body = await request.body()

        def make() -> Response:
            record = parse_json(body)
            check_fields(record)
            return handler(request, record)

        return await _run(request, make, is_expensive=is_expensive)

    return endpoint


async def _run(request: Request, make: Callable[[], Response], *, is_expensive: bool) -> Response:
    """What `make` gives. What people who signed in do has threads of its own, which strangers cannot keep busy."""
    if is_expensive:
        return await run_expensive(request, make)
    if person_of(request) is None:
        return await run_in_threadpool(make)
    return await asyncio.get_running_loop().run_in_executor(_SIGNED_IN, copy_context().run, make)


def query_fields(request: Request) -> dict[str, str]:
    """The fields in the address of a request, as a form has them."""
    fields = dict(request.query_params)
    check_fields(fields)
    return fields


def number_in(text: str) -> int | None:
    """A whole number from a form or an address; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def whole_number(text: str) -> int:
    """A whole number from a form or an address, which must be there."""
    found = number_in(text)
    if found is None:
        raise BadRequestError("The form could not be read.")
    return found


def clean_text(value: object) -> str:
    """Text without control characters and superfluous blanks; empty for anything that is not text."""
    return " ".join(_NOT_TEXT.sub(" ", value).split()) if isinstance(value, str) else ""


def split_keywords(value: object) -> tuple[str, ...]:
    """Keywords from a list or from text with commas or lines, without repetition."""
    parts = _SEPARATORS.split(value) if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return tuple(dict.fromkeys(filter(None, map(clean_text, parts))))


def parse_form(body: bytes) -> dict[str, str]:
    """The fields of an URL-encoded form; of a repeated field, the last value."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError as error:
        raise BadRequestError("The form could not be read.") from error
    return dict(pairs)


async def read_parts(request: Request) -> dict[str, str]:
    """The fields of a form with files: of a file its text, and its name as `NAME-file`; an empty file is no field."""
    fields: dict[str, str] = {}
    kind = request.headers.get("content-type", "").lower()
    if kind.count("charset") != len(_UTF8.findall(kind)):  # punycode takes minutes for 2 MB, and stops everything
        raise BadRequestError("The form could not be read.")
    try:
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS, max_part_size=MAX_PART_BYTES) as form:
            for name, value in form.multi_items():
                if isinstance(value, str):
                    fields[name] = value
                elif value.filename:
                    fields[name] = decode_file(value.filename, await value.read())
                    fields[f"{name}-file"] = value.filename
    except UnicodeError as error:  # an encoding that is none, such as charset=undefined
        raise BadRequestError("The form could not be read.") from error
    return fields


def decode_file(name: str, content: bytes) -> str:
    """The text of a file that was sent."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequestError(
            Message("%(name)s is not a text file in UTF-8; save it as UTF-8 and send it again.", name=name)
        ) from error


def parse_json(body: bytes) -> dict[str, Any]:
    """The posted object."""
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"The body is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise BadRequestError("The body must be a JSON object.")
    return record
