"""What visitors send: forms and JSON, read once, then handled off the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from evenrank.web.pages.errors import BadRequestError

MAX_FIELDS = 50
Fields = Mapping[str, str]
FormHandler = Callable[[Request, Fields], Response]
JsonHandler = Callable[[Request, dict[str, Any]], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def with_form(handler: FormHandler) -> Endpoint:
    """An endpoint that gives the posted form fields to `handler`, in a thread."""

    @wraps(handler)
    async def endpoint(request: Request) -> Response:
        fields = parse_form(await request.body())
        return await run_in_threadpool(handler, request, fields)

    return endpoint


def with_json(handler: JsonHandler) -> Endpoint:
    """An endpoint that gives the posted JSON object to `handler`, in a thread."""

    @wraps(handler)
    async def endpoint(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "Send the body as application/json.")
        record = parse_json(await request.body())
        return await run_in_threadpool(handler, request, record)

    return endpoint


def parse_form(body: bytes) -> dict[str, str]:
    """The fields of an URL-encoded form; of a repeated field, the last value."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError as error:
        raise BadRequestError("The form could not be read.") from error
    return dict(pairs)


def parse_json(body: bytes) -> dict[str, Any]:
    """The posted object."""
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"The body is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise BadRequestError("The body must be a JSON object.")
    return record
