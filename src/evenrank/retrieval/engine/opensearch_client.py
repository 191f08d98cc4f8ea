"""Requests to an OpenSearch cluster: connections, patience while it is busy or away, and its errors as ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.retrieval.engine.opensearch_index import Address
from evenrank.retrieval.engine.protocol import EngineUnavailableError

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

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
    hosts = [f"http://{host}" if "://" not in host else host for host in address.hosts]
    try:
        return OpenSearch(
            hosts,
            timeout=TIMEOUT_SECONDS,
            max_retries=MOST_TRIES,
            retry_on_timeout=True,
            dead_timeout=HOST_PAUSE_SECONDS,
            timeout_cutoff=1,
        )
    except ValueError as error:
        raise EvenrankError(f"{', '.join(address.hosts)}: not a host and port: {error}") from error


def check_cluster(address: Address) -> None:
    """Nothing when a cluster that can hold an index answers at the address; EvenrankError otherwise."""
    client = connect_cluster(address)
    try:
        with translated(address):
            health = client.cluster.health()
        if not isinstance(health, dict) or not health.get("number_of_data_nodes"):
            raise EvenrankError(f"no OpenSearch cluster that holds data answers at {', '.join(address.hosts)}")
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
    except exceptions.ConnectionError as error:
        raise EngineUnavailableError(f"OpenSearch does not answer at {', '.join(address.hosts)}") from error
    except exceptions.TransportError as error:
        if error.status_code in BUSY:
            raise EngineUnavailableError(f"OpenSearch is busy or incomplete: {error.error}") from error
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
