"""Sessions: who signed in in which browser. The store has digests of cookies, and tokens that only a cookie opens."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import orjson

from evenrank.app.request.visitor import Person
from evenrank.app.signin.provider import OAuthTokens
from evenrank.app.storage.shares import PREFIX, hand_to
from evenrank.app.storage.store import now
from evenrank.database.database import Database

LIFETIME = timedelta(days=30)
_NONCE_BYTES = 16


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
    hand_to(store, browser, key)
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
