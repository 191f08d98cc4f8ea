"""What can go wrong between us and a wiki."""

from __future__ import annotations

from evenrank.errors import EvenrankError


class WikiError(EvenrankError):
    """The root of everything that a wiki, or the way to it, can do wrong.

    Text and values are kept apart, so that pages can show the text in the visitor's language.
    """

    def __init__(self, template: str, **values: object) -> None:
        self.template = template
        """The text in English, with `%(name)s` where a value goes."""
        self.values = values
        written = {name: f"{value:,}" if isinstance(value, int) else value for name, value in values.items()}
        super().__init__(template % written)


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
        super().__init__("the wiki refused: %(text)s (%(code)s)", text=text, code=code)
