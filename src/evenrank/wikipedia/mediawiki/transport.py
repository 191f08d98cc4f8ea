"""One exchange with the configured wiki: bounded in time and size, never redirected, its content never logged."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from evenrank.errors import reason_of
from evenrank.wikipedia.mediawiki.settings import WikiAnswerError, WikiSettings, WikiUnreachableError

LOG = logging.getLogger("evenrank.wikipedia.mediawiki")
CHUNK = 64 * 1024
MAX_COOKIES = 50
MAX_COOKIE = 4096
"""Characters of the longest cookie that is kept; browsers have the same limits."""


@dataclass(frozen=True)
class WikiResponse:
    """What came back."""

    status: int
    content_type: str
    retry_after: float | None
    """Seconds that the wiki asks us to wait."""
    body: bytes


class Transport:
    """Posts forms to one address, one at a time, with the cookies that the wiki set."""

    def __init__(self, settings: WikiSettings) -> None:
        self.settings = settings
        self.headers: dict[str, str] = {}
        """Headers beside our own, e.g. `Authorization`; never logged."""
        self._cookies: dict[str, str] = {}
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(settings.max_waiting)
        timeout = urllib3.Timeout(connect=settings.connect_seconds, read=settings.answer_seconds)
        self._pool = urllib3.PoolManager(num_pools=1, maxsize=1, retries=False, timeout=timeout)
        self._pool.pool_classes_by_scheme = _watched_pools(self._connected)
        self._connection: HTTPConnection | None = None
        self._is_late = False

    def post(self, fields: Mapping[str, str]) -> WikiResponse:
        """The answer to a form."""
        return self._exchange("POST", fields)

    def get(self) -> WikiResponse:
        """The answer to a request without a form."""
        return self._exchange("GET", {})

    def _exchange(self, method: str, fields: Mapping[str, str]) -> WikiResponse:
        """One request at a time, as wikis ask of their clients; where many wait already, another one is refused."""
        with self._turn():
            start = time.monotonic()
            try:
                with self._time_limit():
                    answer = self._ask(method, fields, start)
                if self._is_late:  # a head that was cut off may look like a whole one
                    raise self._late()
            except (HTTPError, OSError) as error:
                raise (
                    self._late()
                    if self._is_late
                    else WikiUnreachableError(
                        "%(host)s does not answer: %(reason)s", host=self.host, reason=_reason(error)
                    )
                ) from None
            except ValueError:  # what it says may hold a token that is no header
                raise WikiAnswerError("%(host)s sent a value that cannot be sent back to it", host=self.host) from None
            LOG.info(
                "%s %d %d bytes %.0f ms",
                fields.get("action", method),
                answer.status,
                len(answer.body),
                (time.monotonic() - start) * 1000,
            )
            return answer

    def _ask(self, method: str, fields: Mapping[str, str], start: float) -> WikiResponse:
        response = self._pool.request(
            method,
            self.settings.api_url,
            body=urlencode(fields).encode() if fields else None,
            headers=self._own_headers(),
            redirect=False,
            preload_content=False,
        )
        try:
            return self._read(response, start + self.settings.answer_seconds)
        except BaseException:
            response.close()  # a connection with half an answer in it is of no use
            raise

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
        """Ends the connection when an exchange takes too long: time limits of sockets begin anew with every byte."""
        self._is_late = False
        timer = threading.Timer(self.settings.connect_seconds + self.settings.answer_seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _connected(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def _cut(self) -> None:
        self._is_late = True
        opened = getattr(self._connection, "sock", None)
        if opened is not None:
            with suppress(OSError):
                socket.socket.shutdown(opened, socket.SHUT_RDWR)

    def _late(self) -> WikiUnreachableError:
        seconds = f"{self.settings.answer_seconds:g}"
        return WikiUnreachableError(
            "%(host)s took longer than %(seconds)s seconds for one answer", host=self.host, seconds=seconds
        )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise WikiUnreachableError(
                "too many requests to %(host)s are waiting; try again in a moment", host=self.host
            )
        try:
            with self._lock:
                yield
        finally:
            self._places.release()

    @property
    def host(self) -> str:
        return urlsplit(self.settings.api_url).netloc

    def close(self) -> None:
        self._pool.clear()

    def _own_headers(self) -> dict[str, str]:
        agent = f"Evenrank/{version('evenrank')} ({self.settings.contact}) urllib3/{version('urllib3')}"
        headers = {
            "User-Agent": agent,
            "Accept-Encoding": "gzip",
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
            **self.headers,
        }
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        return headers

    def _read(self, response: urllib3.BaseHTTPResponse, deadline: float) -> WikiResponse:
        if 300 <= response.status < 400:
            raise self._redirected(response.headers.get("Location", ""))
        self._keep_cookies(response)
        body = bytearray()
        while chunk := response.read1(CHUNK):
            body += chunk
            if len(body) > self.settings.max_answer_bytes:
                raise WikiAnswerError(
                    "%(host)s sent more than %(n)s bytes at once", host=self.host, n=self.settings.max_answer_bytes
                )
            if time.monotonic() > deadline:
                raise self._late()
        retry_after = response.headers.get("Retry-After", "")
        return WikiResponse(
            response.status,
            response.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
            float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else None,
            bytes(body),
        )

    def _redirected(self, location: str) -> WikiAnswerError:
        try:
            to = urlsplit(urljoin(self.settings.api_url, location))
        except ValueError:
            return WikiAnswerError("%(host)s redirects to an invalid address", host=self.host)
        address = f"{to.scheme}://{to.netloc}{to.path}"[:200]
        if to.netloc != self.host:
            return WikiAnswerError(
                "%(host)s redirects to another host (%(address)s), which is not followed",
                host=self.host,
                address=address,
            )
        return WikiAnswerError(
            "%(host)s redirects to another address (%(address)s), which is not followed",
            host=self.host,
            address=address,
        )

    def _keep_cookies(self, response: urllib3.BaseHTTPResponse) -> None:
        """All requests go to one address, so a cookie is a name and a value; an expired one is dropped."""
        for line in response.headers.getlist("Set-Cookie"):
            try:
                found = SimpleCookie(line)
            except CookieError:
                continue
            for name, morsel in found.items():
                if morsel.value == "deleted" or morsel["max-age"] == "0":
                    self._cookies.pop(name, None)
                elif len(morsel.value) <= MAX_COOKIE and (name in self._cookies or len(self._cookies) < MAX_COOKIES):
                    self._cookies[name] = morsel.value


def _watched_pools(on_connect: Callable[[HTTPConnection], None]) -> dict[str, Any]:
    """Pools whose connections tell when they connect."""

    class Plain(HTTPConnection):
        def connect(self) -> None:
            on_connect(self)
            super().connect()

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            on_connect(self)
            super().connect()

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


def _reason(error: HTTPError | OSError) -> str:
    """The reason in a few words; urllib3 puts addresses of objects in front of it."""
    return reason_of(error).rpartition(": ")[2][:200]
