"""What can go wrong between us and a wiki."""

from __future__ import annotations

from evenrank.errors import EvenrankError


class WikiError(EvenrankError):
    """The root of everything that a wiki, or the way to it, can do wrong."""


class WikiUnreachableError(WikiError):
    """No answer: no connection, a time limit, or a wiki that asks us to come back later."""


class WikiAnswerError(WikiError):
    """An answer that cannot be used: not JSON, too long, a redirect, or other fields than the API documents."""


class WikiApiError(WikiError):
    """The wiki refused a request and named the reason."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        """The reason as the API names it, e.g. `protectedpage`."""
        self.text = text
        """What the wiki says about it."""
        super().__init__(f"the wiki refused: {text} ({code})")
