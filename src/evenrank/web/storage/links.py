"""Secret links: the form of their tokens, and addresses made of them."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


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
