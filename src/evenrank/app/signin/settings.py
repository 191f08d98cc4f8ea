"""Where people sign in, from a file that only the operator can read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from evenrank.errors import EvenrankError, Fault, InputError, input_error, reason_of
from evenrank.io.small_files import read_toml

MEDIAWIKI = {
    "authorize_url": "/oauth2/authorize",
    "token_url": "/oauth2/access_token",
    "profile_url": "/oauth2/resource/profile",
}
"""Paths of MediaWiki's OAuth extension below `rest.php`."""
_KEYS = {"rest", "name", "client_id", "client_secret", "contact", *MEDIAWIKI}


@dataclass(frozen=True)
class SignInSettings:
    """One provider of accounts; the operator chooses it, never a visitor."""

    authorize_url: str
    """Where browsers are sent to agree."""
    token_url: str
    """Where a code is exchanged for a token."""
    profile_url: str
    """Where the name of the account is read."""
    client_id: str
    client_secret: str = field(repr=False)
    contact: str
    """E-mail or web address of the operator."""
    name: str = "the wiki"
    """What visitors know the provider as."""

    def __post_init__(self) -> None:
        for address in (self.authorize_url, self.token_url, self.profile_url):
            if not _is_safe(address):
                raise EvenrankError(f"{address}: sign-in needs an https address")


def _is_safe(address: str) -> bool:
    """Whether nobody between the server and the provider can read what is sent."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    return bool(parts.hostname) and (parts.scheme == "https" or is_local)


def read_sign_in(path: Path) -> SignInSettings:
    """The settings in a TOML file; an error when others can read it, because it holds a secret."""
    try:
        if path.stat().st_mode & 0o077:
            raise input_error(path, 0, "others can read the client secret in it", f"chmod 600 {path}")
    except OSError as error:
        raise input_error(path, 0, f"cannot be read: {reason_of(error)}", "give a TOML file") from error
    _, record = read_toml(path, "give a TOML file")
    faults = [Fault(str(path), 0, f"unknown setting '{key}'") for key in record if key not in _KEYS]
    faults += [
        Fault(str(path), 0, f"'{key}' is not text") for key, value in record.items() if not isinstance(value, str)
    ]
    rest = str(record.get("rest", "")).rstrip("/")
    given = {key: record.get(key) or (rest and rest + tail) for key, tail in MEDIAWIKI.items()}
    given |= {key: record.get(key, "") for key in ("client_id", "client_secret", "contact")}
    faults += [Fault(str(path), 0, f"'{key}' is missing") for key, value in given.items() if not value]
    if faults:
        raise InputError(faults)
    return SignInSettings(**given, **({"name": record["name"]} if "name" in record else {}))
