"""Settings of the web app, and of the provider of accounts, which are in a file that only the operator can read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from evenrank.core.protocol import DEFAULT_PROTOCOL
from evenrank.database.database import Location
from evenrank.errors import EvenrankError, Fault, InputError, input_error, reason_of
from evenrank.io.small_files import read_toml
from evenrank.ranking.subject import RELEVANCE_FLOOR
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice

MEDIAWIKI = {
    "authorize_url": "/oauth2/authorize",
    "token_url": "/oauth2/access_token",  # no password # nosec B105
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


@dataclass(frozen=True)
class Option:
    """How `evenrank serve` names a setting. Type and default are those of the field, the help is the line under it."""

    flag: str
    metavar: str | None = None
    least: float | None = None
    """Smallest value of a number."""
    exists: bool = True
    """Whether what it names must be there already."""
    read: Callable[[Path], Any] | None = None
    """What makes the value of a file, where the value is not the file itself."""


@dataclass(frozen=True)
class WebSettings:
    """Everything that decides how the app answers, apart from the collection."""

    public_url: Annotated[str, Option("--public-url", "URL")] = ""
    """Address under which others reach the app, for links; by default that of each request."""
    store: Annotated[Location | None, Option("--store", "FILE|URL", exists=False)] = None
    """SQLite file or PostgreSQL address of lists and draws; by default desk.sqlite in the collection's folder."""
    facts_folder: Path | None = None
    """Where counts of what articles have, and what was learned on training topics, are kept; None for the collection's
    folder."""
    max_counted: int = 200_000
    """Up to this many articles, what each of them has is counted when the server starts."""
    wiki_site: Annotated[str, Option("--wiki", "URL")] = "https://en.wikipedia.org/"
    """Site that titles, talk pages and histories link to."""
    wiki_url: str = "https://en.wikipedia.org/wiki/"
    """What the addresses of articles begin with."""
    wiki_contact: Annotated[str, Option("--contact", "TEXT")] = ""
    """Your e-mail or web address, for the wiki's operators; lets people read from the wiki."""
    wiki_api: Annotated[str, Option("--wiki-api", "URL")] = ""
    """Address of the wiki's api.php, for categories, banners and links; with a contact, w/api.php below --wiki."""
    sign_in: Annotated[SignInSettings | None, Option("--sign-in", "FILE", read=read_sign_in)] = None
    """Settings of sign-in with an account of a wiki; by default a server has no accounts."""
    subjects: Annotated[Path | None, Option("--subjects", "FILE")] = None
    """Subjects without an article (item, label), for lists of red links."""
    admins: Annotated[tuple[str, ...], Option("--admin", "NAME")] = ()
    """An account that may administer the server."""
    has_admin_link: Annotated[bool, Option("--admin-link")] = False
    """Print a secret link to the administration page, for servers without accounts."""
    shows_totals: Annotated[bool, Option("--gender-totals")] = False
    """Show totals by gender, also of articles that visitors choose, who can then read off the gender of a person; pages
    say so. By default nothing but coarse bands is shown, and only of articles that the wiki chose."""
    renews_admin_link: Annotated[bool, Option("--new-admin-link")] = False
    """Like --admin-link, with a new link: the old one, and browsers that opened it, are refused from now on."""
    data_of: Annotated[str, Option("--data-of", "TEXT")] = ""
    """Age of the data in words; by default the date of the dump."""
    allowed_hosts: Annotated[tuple[str, ...], Option("--allow-host", "NAME")] = ("localhost", "127.0.0.1", "[::1]")
    """Another name of this server, besides that of its public address."""
    allows_addresses: bool = False
    """Whether the server may be asked by its address in numbers; no other site's name can lead there."""
    reload_seconds: float = 5.0
    """How often the server looks for a new import or index of its collection; 0 never looks."""
    writes_per_second: Annotated[float, Option("--rate", "NUMBER", least=0.1)] = 10.0
    """Changes per second from one address in the long run, which include new lists; five times as many at once."""
    reads_per_second: float = 100.0
    """The same for requests that only read."""
    max_body_bytes: int = 2 * 1024 * 1024
    """Longest request body: about 50,000 titles."""
    bytes_per_hour: float = 128 * 1024 * 1024
    """What new lists and searches from one network may take in the store in an hour."""
    n_expensive: int = 2
    """Expensive requests (previews, new lists and searches, trade-offs) that each worker answers at once."""
    n_waiting: int = 128
    """Expensive requests that may wait for their turn; further ones are asked to come back."""
    judgments: Annotated[Location | None, Option("--judgments", "FILE|URL")] = None
    """Judgments: adds pages of assessors and organisers."""
    pool: Annotated[Path | None, Option("--pool", "FILE")] = None
    """Pool behind judgments that were made before they kept which runs brought a page."""
    runs: Annotated[tuple[Path, ...], Option("--run", "RUN")] = ()
    """A run that organisers see scored."""
    protocol: Annotated[str, Option("--protocol", "NAME")] = DEFAULT_PROTOCOL
    """Protocol of the scores that organisers see."""
    guidelines: Annotated[Path | None, Option("--guidelines", "FILE")] = None
    """Text on what counts as relevant, for assessors."""
    list_length: int = 1000
    """Articles in a work list."""
    rows_per_page: int = 100
    """Articles on one page of a list."""
    draw_length: int = 50
    """Articles in one draw of a saved search."""
    n_planned_draws: int = 100
    """Draws that are balanced together; after them the plan starts over."""
    model: ModelChoice = UNTRAINED
    """The relevance model behind lists and searches."""
    relevance_floor: float = RELEVANCE_FLOOR
    """A list ends where pages match less than this share of the best match, or have no keyword in the lead (twice the
    share: in the text); 0 fills it."""
    n_candidates: int = 2000
    """Pages of the plain search; those that the groups need come on top."""
