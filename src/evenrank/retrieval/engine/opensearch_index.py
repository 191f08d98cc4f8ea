"""An index on OpenSearch: its address, its mapping, how pages become documents and requests that add them."""

from __future__ import annotations

import hashlib
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

import orjson

from evenrank.errors import EvenrankError, MissingExtraError, first_line, reason_of
from evenrank.retrieval.engine.analysis import Analyser, analyse, analyser_for, field_texts
from evenrank.retrieval.engine.engines import PASSWORD_VARIABLE
from evenrank.retrieval.engine.protocol import (
    POSITION_FIELDS,
    SHOWN_FIELDS,
    TEXT_FIELDS,
    EngineUnavailableError,
    IndexLayout,
    IndexPage,
    set_bits,
    shown_texts,
)

if TYPE_CHECKING:
    from opensearchpy import OpenSearch


SCHEMES = {"opensearch": False, "opensearch+http": False, "opensearch+https": True}
"""Schemes of an address, and whether each asks for TLS."""
ADDRESS_FORM = "opensearch[+https]://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/NAME][?shards=N&tls=true&ca=FILE]"
SWITCH = {"true": True, "false": False}
UNAUTHORISED = 401
PAGES_PER_REQUEST = 500
MOST_HITS = 200_000
"""Pages that one search may ask for."""
PAGES_PER_SHARD = 500_000
"""A search costs less on few shards; articles of this number take about 2 GB."""
MOST_TERMS = 65_536
"""Page ids that one clause of a restriction may name."""


@dataclass(frozen=True)
class Address:
    """Where an index lives."""

    hosts: tuple[str, ...]
    name: str
    """Alias under which the finished index is found; indexes of builds are named after it."""
    n_shards: int | None
    """Primary shards; None for `shards_for` the number of pages."""
    uses_tls: bool = False
    ca_file: str | None = None
    """Certificates that the cluster's are checked against; None for those that the system trusts."""
    login: tuple[str, str] | None = field(default=None, repr=False)
    """User and password, the same for all hosts."""

    @classmethod
    def parse(cls, text: str, folder: Path) -> Address:
        """The address that a user wrote; without a name, one is derived from the index's folder."""
        scheme, _, rest = text.partition("://")
        place, _, options = rest.partition("?")
        authority, _, name = place.partition("/")
        user, _, hosts = authority.rpartition("@")
        listed = tuple(host.strip() for host in hosts.split(",") if host.strip())
        faults = [f"{host!r} is not HOST:PORT" for host in listed if not _HOST.fullmatch(host)]
        faults += [] if listed else ["it names no host"]
        if listed and listed[0] in ("http:", "https:"):
            faults = [f"write opensearch+{listed[0]}//HOST:PORT instead of opensearch://{listed[0]}//HOST:PORT"]
        if "@" in name or "@" in options:  # what stands for a host is part of a password, and must not be shown
            faults, options = ["characters such as / and ? are written %2F and %3F in a password"], ""
        elif name and not _NAME.fullmatch(name):
            faults.append(f"{name!r} is no name of an index (lower-case letters, digits, '.', '_' and '-')")
        known = dict(parse_qsl(options, keep_blank_values=True))
        shards, tls, ca_file = known.pop("shards", "1"), known.pop("tls", None), known.pop("ca", None)
        if not (shards.isdecimal() and int(shards) > 0):
            faults.append(f"shards={shards} is not a number from 1")
        if tls is not None and (tls not in SWITCH or (SCHEMES.get(scheme) and not SWITCH[tls])):
            faults.append(f"tls={tls} is not true, or contradicts {scheme}://")
        uses_tls = SCHEMES.get(scheme, False) or SWITCH.get(tls or "", False)
        if ca_file is not None and not uses_tls:
            faults.append("ca= is for addresses with TLS (opensearch+https://…)")
        elif ca_file is not None and not (Path(ca_file).is_absolute() and Path(ca_file).is_file()):
            faults.append(f"ca={ca_file}: no such file (its path must be absolute: the index remembers the address)")
        faults += [f"unknown option {option!r}" for option in known]
        if scheme not in SCHEMES or faults:
            reasons = "; ".join(faults or [f"unknown scheme {scheme!r}"])
            raise EvenrankError(f"{text!r} is not the address of an index: {reasons} (write: {ADDRESS_FORM})")
        n_shards = int(shards) if "shards=" in options else None
        return cls(listed, name or _derived_name(folder), n_shards, uses_tls, ca_file, _login(user))


_HOST = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")
"""Names with which a request means one index: no pattern, no list, none of the cluster's own."""


def _login(user: str) -> tuple[str, str] | None:
    """User and password; a password that the address does not have is in the environment."""
    name, has_password, password = user.partition(":")
    if not user:
        return None
    return unquote(name), unquote(password) if has_password else os.environ.get(PASSWORD_VARIABLE, "")


def _derived_name(folder: Path) -> str:
    """The same name for all builds of a collection, whose folders lie side by side."""
    digest = hashlib.sha256(str(folder.resolve().with_name("index")).encode()).hexdigest()[:16]
    return f"evenrank-{digest}"


def shards_for(n_pages: int) -> int:
    """Primary shards of an index for so many pages."""
    return max(1, math.ceil(n_pages / PAGES_PER_SHARD))


def index_settings(n_shards: int) -> dict[str, Any]:
    """Settings of a new index: words arrive analysed, every shard has a copy, refreshing is left to commits."""
    return {
        "index": {
            "number_of_shards": n_shards,
            "number_of_replicas": 1,
            "replication.type": "SEGMENT",
            "refresh_interval": "-1",
            "max_result_window": MOST_HITS,
            "max_terms_count": MOST_TERMS,
            "similarity.default": {"type": "BM25", "k1": 1.2, "b": 0.75},
        }
    }


def mapping_of(layout: IndexLayout) -> dict[str, Any]:
    """The fields of an index. Of a document only what people are shown is kept as it was."""
    properties: dict[str, Any] = {
        name: {
            "type": "text",
            "analyzer": "whitespace",
            "index_options": "positions" if name in POSITION_FIELDS else "freqs",
        }
        for name in TEXT_FIELDS
    }
    number = {"type": "long", "index": False}
    properties |= {"page_id": {"type": "long"}, "quality_class": number}
    properties["quality_score"] = {"type": "double", "index": False}
    properties |= {name: {"type": "keyword", "index": False, "doc_values": False} for name in SHOWN_FIELDS}
    for dimension in layout.groups:
        properties[dimension] = number
        properties[f"{dimension}_group"] = {"type": "long"}
    return {
        "dynamic": False,
        "_source": {"includes": list(SHOWN_FIELDS)},
        "_meta": {"mark": "", "language": layout.language},
        "properties": properties,
    }


def index_document(page: IndexPage, layout: IndexLayout, analyser: Analyser) -> dict[str, Any]:
    """The document of a page, its texts as words joined by spaces."""
    document: dict[str, Any] = {
        name: " ".join(analyse(analyser, name, text)) for name, text in field_texts(page, analyser).items()
    }
    document["page_id"] = page.page_id
    document |= {name: text.decode() for name, text in shown_texts(page).items()}
    for name in layout.groups:
        mask = int(page.masks.get(name, 1))
        document |= {name: mask, f"{name}_group": list(set_bits(mask))}
    document["quality_class"] = page.quality_class
    if not math.isnan(page.quality_score):
        document["quality_score"] = page.quality_score
    return document


def bulk_bodies(pages: Iterable[IndexPage], layout: IndexLayout) -> Iterator[bytes]:
    """Requests that add pages, each for some hundred of them; a pure function, for any machine."""
    analyser = analyser_for(layout.language)
    remaining = iter(pages)
    while batch := list(islice(remaining, PAGES_PER_REQUEST)):
        pairs = (({"index": {"_id": str(page.page_id)}}, index_document(page, layout, analyser)) for page in batch)
        yield bulk_lines(line for pair in pairs for line in pair)


def bulk_lines(records: Iterable[Any]) -> bytes:
    """Records as the bulk interface takes them, one a line."""
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


TIMEOUT_SECONDS = 60
MOST_TRIES = 4
HOST_PAUSE_SECONDS = 2
"""How long a host that failed is left alone before it is asked again."""
BUSY = frozenset({429, 502, 503, 504})
"""Statuses of answers after which another try may succeed."""
PATIENCE_SECONDS = 300.0
"""How long a build waits for a cluster that is busy or away, before it ends and has to be resumed."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds between two tries of a build, twice as long each time."""


def connect_cluster(address: Address) -> OpenSearch:
    """A client of the cluster's hosts, which asks another one when one is away."""
    try:
        from opensearchpy import OpenSearch
    except ImportError:
        raise MissingExtraError("an index on OpenSearch", "fleet") from None
    scheme = "https" if address.uses_tls else "http"
    tls: dict[str, Any] = (
        {"use_ssl": True, "verify_certs": True, "ca_certs": address.ca_file} if address.uses_tls else {}
    )
    try:
        return OpenSearch(
            [f"{scheme}://{host}" for host in address.hosts],
            http_auth=address.login,
            timeout=TIMEOUT_SECONDS,
            max_retries=MOST_TRIES,
            retry_on_timeout=True,
            dead_timeout=HOST_PAUSE_SECONDS,
            timeout_cutoff=1,
            **tls,
        )
    except (ValueError, OSError) as error:
        raise EvenrankError(f"{', '.join(address.hosts)}: no connection can be made: {reason_of(error)}") from error


INDEX_GONE = "index_not_found_exception"
"""What the cluster calls it when an index was removed."""


class IndexGoneError(EngineUnavailableError):
    """The index of a build was removed, because later ones have been published."""


def check_cluster(address: Address) -> None:
    """Nothing when a cluster that can hold an index answers at the address; EvenrankError otherwise."""
    client = connect_cluster(address)
    try:
        with translated(address):
            health = client.cluster.health()
        if not isinstance(health, dict) or not health.get("number_of_data_nodes"):
            raise EvenrankError(f"no OpenSearch cluster that holds data answers at {', '.join(address.hosts)}")
        with translated(address):
            is_taken = client.indices.exists(index=address.name) and not client.indices.exists_alias(name=address.name)
        if is_taken:
            found = f"{address.name} at {', '.join(address.hosts)} is an index that Evenrank did not make"
            raise EvenrankError(f"{found} (choose another name)")
    finally:
        client.close()


def patiently(call: Callable[[], None]) -> None:
    """Call, again and again while the engine is unavailable; its last error when that takes too long."""
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, FIRST_PAUSE
    while True:
        try:
            return call()
        except EngineUnavailableError:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(2.0 * pause, LONGEST_PAUSE)


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Errors of the client as ours: the engine is away, or it refused what was asked."""
    from opensearchpy import exceptions

    try:
        yield
    except exceptions.SSLError as error:
        fix = "name the file of its certificate authority: ?ca=FILE"
        found = f"the certificate at {', '.join(address.hosts)} is not trusted, or it does not speak TLS"
        raise EvenrankError(f"{found}: {first_line(error)[:200]} ({fix})") from error
    except exceptions.ConnectionError as error:
        raise EngineUnavailableError(f"OpenSearch does not answer at {', '.join(address.hosts)}") from error
    except exceptions.TransportError as error:
        if error.error == INDEX_GONE:
            raise IndexGoneError(f"OpenSearch at {', '.join(address.hosts)} has no such index any more") from error
        if error.status_code in BUSY:
            raise EngineUnavailableError(f"OpenSearch is busy or incomplete: {error.error}") from error
        if error.status_code == UNAUTHORISED:
            found = f"OpenSearch at {', '.join(address.hosts)} does not accept this user and password"
            raise EvenrankError(f"{found} (an index keeps no password: set {PASSWORD_VARIABLE})") from error
        raise EvenrankError(f"OpenSearch refused a request: {error.error}") from error
    except exceptions.SerializationError as error:
        raise EvenrankError(f"what answers at {', '.join(address.hosts)} is not OpenSearch") from error


def send_changes(client: OpenSearch, address: Address, index: str, body: bytes) -> None:
    """Send changes, again while the cluster is busy or away: a page is known by its id, so none is added twice."""
    patiently(lambda: _send(client, address, index, body))


def _send(client: OpenSearch, address: Address, index: str, body: bytes) -> None:
    with translated(address):
        answer = client.bulk(body=body, index=index)
    if not answer["errors"]:
        return
    for item in answer["items"]:
        ((action, result),) = item.items()
        if result["status"] >= 300 and not (action == "delete" and result["status"] == 404):
            reason = result.get("error", {}).get("reason", result["status"])
            kind = EngineUnavailableError if result["status"] in BUSY else EvenrankError
            raise kind(f"{index}: page {result['_id']} was not taken: {reason}")


def count_data_nodes(client: OpenSearch) -> int:
    """Nodes of the cluster that hold data."""
    return max(1, int(client.cluster.health()["number_of_data_nodes"]))


def failure_reason(answer: dict[str, Any]) -> str:
    """Why a search, or one of its shards, failed."""
    error = answer.get("error", answer.get("_shards", {}))
    causes = error.get("root_cause") or error.get("failures") or [{}]
    return str(causes[0].get("reason") or error.get("reason") or error)
