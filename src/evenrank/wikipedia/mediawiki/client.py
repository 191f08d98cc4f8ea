"""Calls of a MediaWiki's API: errors by code, continuation, patience with a busy wiki, sign-in of a bot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from evenrank.wikipedia.mediawiki.settings import WikiAnswerError, WikiApiError, WikiSettings, WikiUnreachableError
from evenrank.wikipedia.mediawiki.transport import Transport, WikiResponse

Record = dict[str, Any]
_ALWAYS = {"format": "json", "formatversion": "2", "errorformat": "plaintext", "utf8": "1"}
_BUSY_STATUS = frozenset({429, 503})
DEFAULT_WAIT = 5.0
"""Seconds before a repeated request when the wiki does not say how long."""


class WikiClient:
    """A conversation with one wiki; safe to share between threads, which then wait for each other."""

    def __init__(self, settings: WikiSettings, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self.n_requests = 0
        """Requests made so far."""
        self._transport = Transport(settings)
        self._sleep = sleep

    def __enter__(self) -> WikiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def authorize(self, access_token: str) -> None:
        """Act as the account that an OAuth 2 access token belongs to."""
        self._transport.headers["Authorization"] = f"Bearer {access_token}"

    def log_in(self, name: str, bot_password: str) -> None:
        """Sign in with a bot password (`Special:BotPasswords`); the name has the form `Account@purpose`."""
        token = self.token("login")
        record = self.call(action="login", lgname=name, lgpassword=bot_password, lgtoken=token).get("login")
        outcome = record.get("result") if isinstance(record, dict) else None
        if outcome != "Success":
            reason = record.get("reason", {}) if isinstance(record, dict) else {}
            text = reason.get("text", "") if isinstance(reason, dict) else str(reason)
            raise WikiApiError("loginfailed", f"sign-in as {name} failed: {text or outcome}")

    def token(self, kind: str = "csrf") -> str:
        """A fresh token; it is never kept, shown or logged."""
        tokens = object_at(self.call(action="query", meta="tokens", type=kind), "query", "tokens")
        token = tokens.get(f"{kind}token")
        if not isinstance(token, str):
            raise WikiAnswerError("%(host)s gave no %(kind)s token", host=self._transport.host, kind=kind)
        return token

    def call(self, **fields: str) -> Record:
        """One call; an error of the API is raised with its code, and a busy wiki is asked again."""
        asked = {**_ALWAYS, **fields}
        if self.settings.maxlag is not None:
            asked.setdefault("maxlag", str(self.settings.maxlag))
        for n_left in reversed(range(self.settings.max_retries + 1)):
            self.n_requests += 1
            answer = self._transport.post(asked)
            if answer.status not in _BUSY_STATUS:
                record = self._record(answer)
                error = _error_of(record)
                if error is None:
                    return record
                if error.code != "maxlag" and not (error.code == "ratelimited" and n_left):
                    raise error
            if n_left:
                self._sleep(min(answer.retry_after or DEFAULT_WAIT, self.settings.max_wait_seconds))
        raise WikiUnreachableError("%(host)s is busy; try again later", host=self._transport.host)

    def query(self, **fields: str) -> Iterator[Record]:
        """The `query` part of every answer until nothing is left; ends with an error when there is no end."""
        resume: dict[str, str] = {}
        for _ in range(self.settings.max_requests):
            record = self.call(action="query", **{**fields, **resume})
            yield object_at(record, "query", optional=True)
            following = record.get("continue")
            if following is None:
                return
            if not isinstance(following, dict) or following == resume:
                raise WikiAnswerError("%(host)s never ends its answer", host=self._transport.host)
            resume = {str(name): str(value) for name, value in following.items()}
        raise WikiAnswerError(
            "%(host)s has more than %(n)s requests can read; ask for less",
            host=self._transport.host,
            n=self.settings.max_requests,
        )

    def _record(self, answer: WikiResponse) -> Record:
        host = self._transport.host
        if answer.status >= 400:
            raise WikiAnswerError("%(host)s answered with HTTP status %(status)s", host=host, status=str(answer.status))
        try:
            record = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            kind = answer.content_type or "something unnamed"
            raise WikiAnswerError(
                "%(host)s answered with %(kind)s instead of JSON; is it the address of an api.php?",
                host=host,
                kind=kind,
            ) from None
        if not isinstance(record, dict):
            raise WikiAnswerError("%(host)s answered with JSON that is not an object", host=host)
        return record


def _error_of(record: Record) -> WikiApiError | None:
    """The first error in an answer; MediaWiki sends it with HTTP status 200."""
    errors = record.get("errors") or ([record["error"]] if "error" in record else [])
    if not errors:
        return None
    first = errors[0] if isinstance(errors, list) and isinstance(errors[0], dict) else {}
    return WikiApiError(
        str(first.get("code", "unknown")), str(first.get("text", first.get("info", "no reason given")))[:500]
    )


def object_at(record: Record, *path: str, optional: bool = False) -> Record:
    """The object at a path of an answer."""
    found: Any = record
    for name in path:
        found = found.get(name, {} if optional else None) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise WikiAnswerError("the wiki's answer has no object '%(name)s'", name=".".join(path))
    return found


def records(part: Record, name: str) -> list[Record]:
    """The list of objects of that name in a part of an answer; empty when it is not there."""
    found = part.get(name, [])
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise WikiAnswerError("the wiki's answer has no list of objects '%(name)s'", name=name)
    return found


NEWEST_TEXT = {"prop": "revisions", "rvprop": "ids|content", "rvslots": "main"}
"""What `newest_text` needs of a page."""


def newest_text(record: Record) -> str | None:
    """The wikitext of a page's newest revision; None in the parts of an answer that do not have it."""
    revisions = records(record, "revisions")
    slot = object_at(revisions[0], "slots", "main", optional=True) if revisions else {}
    return text(slot, "content") if "content" in slot else None


def record_number(record: Record, name: str) -> int:
    """A number of a record."""
    value = record.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise WikiAnswerError("the wiki's answer has no number '%(name)s'", name=name)
    return value


def text(record: Record, name: str) -> str:
    """A text of a record."""
    value = record.get(name)
    if not isinstance(value, str):
        raise WikiAnswerError("the wiki's answer has no text '%(name)s'", name=name)
    return value
