"""The OAuth 2 client, and sessions: who signed in in which browser. The store has digests of cookies, and tokens that
only a cookie opens."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import orjson

from evenrank.app.request.visitor import Person
from evenrank.app.settings import SignInSettings
from evenrank.app.storage.shares import PREFIX, transfer_ownership
from evenrank.app.storage.store import now
from evenrank.database.database import Database
from evenrank.wikipedia.mediawiki.settings import WikiAnswerError, WikiError, WikiSettings
from evenrank.wikipedia.mediawiki.transport import Transport, WikiResponse

MAX_NAME = 255
MAX_TOKEN = 16_384
MAX_SECONDS = 10 * 365 * 86_400
"""Longest time that a token is taken to be valid."""
LIFETIME = timedelta(days=30)
_NONCE_BYTES = 16


class SignInError(WikiError):
    """The provider did not confirm who signs in."""


@dataclass(frozen=True)
class OAuthTokens:
    """What lets us act for somebody on the wiki."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    expires: float = 0.0
    """When the access token ends, in seconds since 1970; 0 when it does not say."""

    @property
    def is_stale(self) -> bool:
        return bool(self.expires) and time.time() > self.expires - 30


def challenge_of(verifier: str) -> str:
    """The PKCE challenge (S256) of a verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@dataclass(frozen=True)
class Provider:
    """A provider of accounts."""

    settings: SignInSettings

    def authorize_url(self, state: str, verifier: str, redirect_uri: str) -> str:
        """Where a browser agrees that we learn its account's name."""
        fields = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in self.settings.authorize_url else "?"
        return f"{self.settings.authorize_url}{joint}{urlencode(fields)}"

    def exchange(self, code: str, verifier: str, redirect_uri: str) -> OAuthTokens:
        """The tokens for a code, which only the holder of the verifier gets."""
        fields = {"code": code, "code_verifier": verifier, "redirect_uri": redirect_uri}
        return self._tokens({"grant_type": "authorization_code", **fields})

    def renew(self, tokens: OAuthTokens) -> OAuthTokens:
        """Fresh tokens for those that have ended."""
        if not tokens.refresh:
            raise SignInError("the sign-in has ended; sign in again")
        return self._tokens({"grant_type": "refresh_token", "refresh_token": tokens.refresh})

    def name_of(self, tokens: OAuthTokens) -> str:
        """The name of the account that tokens belong to."""
        transport = self._transport(self.settings.profile_url)
        transport.headers["Authorization"] = f"Bearer {tokens.access}"
        try:
            record = _record(transport.get())
        finally:
            transport.close()
        name = record.get("username")
        if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
            raise SignInError("the provider did not say whose account it is")
        if record.get("blocked") is True:
            raise SignInError(f"the account {name} is blocked on {self.settings.name}")
        return name.strip()

    def _tokens(self, fields: dict[str, str]) -> OAuthTokens:
        transport = self._transport(self.settings.token_url)
        secret = {"client_id": self.settings.client_id, "client_secret": self.settings.client_secret}
        try:
            record = _record(transport.post({**fields, **secret}))
        finally:
            transport.close()
        access, refresh, seconds = (record.get(key) for key in ("access_token", "refresh_token", "expires_in"))
        if not isinstance(access, str) or not _is_token(access) or str(record.get("token_type")).lower() != "bearer":
            raise SignInError("the provider gave no token")
        expires = time.time() + min(max(seconds, 0), MAX_SECONDS) if isinstance(seconds, int | float) else 0.0
        return OAuthTokens(access, refresh if isinstance(refresh, str) else "", expires)

    def _transport(self, address: str) -> Transport:
        return Transport(WikiSettings(address, self.settings.contact, answer_seconds=10, max_answer_bytes=256 * 1024))


def _is_token(text: str) -> bool:
    """Whether a text can be sent as a token: visible characters of ASCII, not too many."""
    return 0 < len(text) <= MAX_TOKEN and text.isascii() and text.isprintable() and " " not in text


def _record(answer: WikiResponse) -> dict[str, object]:
    """The JSON object in an answer; an error that names what the provider says is wrong."""
    try:
        record = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise WikiAnswerError("the provider of accounts answered with something other than JSON") from None
    if not isinstance(record, dict) or answer.status != 200:
        reason = record.get("error") if isinstance(record, dict) else None
        raise SignInError(f"the provider of accounts refused: {str(reason or answer.status)[:100]}")
    return record


def person_key(name: str) -> str:
    """What identifies an account in the store."""
    return f"{PREFIX}{name}"


def start_session(store: Database, name: str, tokens: OAuthTokens, browser: str) -> str:
    """Begin a session and give its cookie; what the browser made before belongs to the person from now on."""
    cookie, key = secrets.token_urlsafe(32), person_key(name)
    expires = (datetime.now(UTC) + LIFETIME).strftime("%Y-%m-%d %H:%M:%S")
    with store.transaction(("person", key)) as connection:
        connection.execute("DELETE FROM session WHERE expires < ?", (now(),))
        connection.execute(
            "INSERT INTO person VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET last_seen = excluded.last_seen",
            (key, name, now(), now()),
        )
        row = (digest(cookie), key, now(), expires, seal(cookie, tokens))
        connection.execute("INSERT INTO session (digest, person, created, expires, access) VALUES (?, ?, ?, ?, ?)", row)
    transfer_ownership(store, browser, key)
    return cookie


def find_person(store: Database, cookie: str) -> Person | None:
    """Who has this cookie; None for a cookie that was never given, has ended, or was signed out."""
    query = "SELECT key, name FROM session JOIN person ON key = person WHERE digest = ? AND expires > ?"
    row = store.connection.execute(query, (digest(cookie), now())).fetchone()
    return None if row is None else Person(row["key"], row["name"])


def tokens_of(store: Database, cookie: str) -> OAuthTokens | None:
    """The tokens of a session."""
    row = store.connection.execute(
        "SELECT access FROM session WHERE digest = ? AND expires > ?", (digest(cookie), now())
    ).fetchone()
    return None if row is None or not row["access"] else unseal(cookie, row["access"])


def keep_tokens(store: Database, cookie: str, tokens: OAuthTokens) -> None:
    """Replace the tokens of a session."""
    with store.transaction() as connection:
        connection.execute("UPDATE session SET access = ? WHERE digest = ?", (seal(cookie, tokens), digest(cookie)))


def end_session(store: Database, cookie: str) -> None:
    """Sign out in this browser."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM session WHERE digest = ?", (digest(cookie),))


def end_sessions_of(store: Database, key: str) -> None:
    """Sign somebody out everywhere."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM session WHERE person = ?", (key,))


def digest(cookie: str) -> bytes:
    """What the store has of a cookie: whoever reads the store cannot sign in with it."""
    return hashlib.sha256(f"session {cookie}".encode()).digest()


def seal(cookie: str, tokens: OAuthTokens) -> str:
    """Tokens that can be read only with the cookie, which the store does not have."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    plain = orjson.dumps(asdict(tokens))
    return (nonce + _mask(cookie, nonce, plain)).hex()


def unseal(cookie: str, sealed: str) -> OAuthTokens | None:
    """The tokens under a seal; None when it is damaged or another cookie's."""
    try:
        content = bytes.fromhex(sealed)
        return OAuthTokens(**orjson.loads(_mask(cookie, content[:_NONCE_BYTES], content[_NONCE_BYTES:])))
    except (ValueError, TypeError):
        return None


def _mask(cookie: str, nonce: bytes, content: bytes) -> bytes:
    """Content XOR a stream that is different for every cookie (256 random bits) and nonce."""
    stream = hashlib.shake_256(b"tokens " + nonce + cookie.encode()).digest(len(content))
    return bytes(a ^ b for a, b in zip(content, stream, strict=True))
