"""Addresses of the pages of the app: below the path under which it is served, with secret links as tokens."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse


def root_of(request: Request) -> str:
    """The path under which the app is served, without a slash at the end; empty for a server of its own."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def own(request: Request, path: str) -> str:
    """A path of the app as browsers must ask for it."""
    return root_of(request) + path


def see_other(request: Request, path: str) -> RedirectResponse:
    """Go to a path of the app, with GET."""
    return RedirectResponse(own(request, path), 303)


class TokenConvertor(Convertor[str]):
    """A token in an address; anything that does not look like one is not found."""

    regex = "[A-Za-z0-9_-]{22}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class AreaConvertor(TokenConvertor):
    """Lists or searches, where an address is the same for both."""

    regex = "lists|searches"


class NumberConvertor(Convertor[int]):
    """A number in an address, of no more digits than any of ours has; a longer one is not found."""

    regex = "[0-9]{1,10}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("token", TokenConvertor())
register_url_convertor("number", NumberConvertor())
register_url_convertor("area", AreaConvertor())


def list_path(token: str) -> str:
    return f"/lists/{token}"


def search_path(token: str) -> str:
    return f"/searches/{token}"


def draw_path(token: str, number: int) -> str:
    return f"/searches/{token}/draws/{number}"
