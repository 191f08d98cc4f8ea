"""Which wiki is asked, by whom, how much of an answer is accepted, and what can go wrong."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

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


@dataclass(frozen=True)
class WikiSettings:
    """One wiki. The operator chooses it; no part of an address ever comes from a visitor."""

    api_url: str
    """Address of `api.php`, e.g. `https://en.wikipedia.org/w/api.php`."""
    contact: str
    """E-mail or web address of whoever runs this program; it is part of the User-Agent."""
    connect_seconds: float = 5.0
    """Longest wait for a connection."""
    answer_seconds: float = 30.0
    """Longest wait for one complete answer, however slowly it trickles in."""
    max_answer_bytes: int = 32 * 1024 * 1024
    """Longest answer, after decompression."""
    max_waiting: int = 8
    """Threads that may wait for their turn; a slow wiki must not hold all threads of a server."""
    max_requests: int = 250
    """Requests that one function may make before it gives up."""
    maxlag: int | None = 5
    """Asks the wiki to refuse when its replicas are this many seconds behind; None never asks."""
    max_retries: int = 3
    """Times that a request is repeated when the wiki is busy."""
    max_wait_seconds: float = 10.0
    """Longest pause before a repeated request, whatever the wiki asks for."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.api_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise WikiError(
                "%(address)s: not the address of an api.php (http or https, a host, no user, no '?')",
                address=self.api_url,
            )
        if not self.contact.strip() or not self.contact.isprintable():
            raise WikiError("a wiki wants to know whom to write to: give an e-mail or web address as the contact")


def api_of(site: str) -> str:
    """The usual address of the API of a site such as `https://en.wikipedia.org/`."""
    return f"{site.rstrip('/')}/w/api.php"
