"""What programs ask for: whether the server lives, whether it can answer, counts of requests, robots.txt, an icon.

Anybody may ask, so answers never say why something is away or where it is: that is for the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from evenrank.app.middleware.limits import RequestCounts
from evenrank.app.pages.templating import static_url
from evenrank.app.request.visitor import own
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.store import check_collection
from evenrank.errors import EvenrankError

ROBOTS = "User-agent: *\nDisallow: /\n"
"""Links are secrets, so nothing is crawled."""
READY_SECONDS = 5.0
"""What does not answer within this time counts as away."""
SOME_WORD = "a"
LOG = logging.getLogger("evenrank.app")


async def health(_: Request) -> Response:
    """200 while the process answers at all; whether it can serve is the question of `/readyz`."""
    return JSONResponse({"status": "ok"})


def ask_store(state: AppState) -> None:
    """An error unless the store can be read, and is that of the collection."""
    check_collection(state.store, state.collection)


def ask_engine(state: AppState) -> None:
    """An error unless the index can be searched."""
    engine = state.source.model().engine
    engine.statistics()
    engine.document_frequencies("title", [SOME_WORD])


def ask_goals(state: AppState) -> None:
    """Waits until the training topics of a new version have been learned from: lists need their goals."""
    state.learned()


PARTS: Mapping[str, Callable[[AppState], None]] = {"store": ask_store, "engine": ask_engine, "goals": ask_goals}
"""What the server needs for its answers, and how each is asked."""


class Readiness:
    """Asks the parts of a server, each once at a time: probes of one that hangs do not pile up.

    It has threads of its own, so that a server with much to do is not taken for one that is away.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[bool]] = {}
        self._threads = ThreadPoolExecutor(len(PARTS), thread_name_prefix="ready")
        self.last: dict[str, str] = {}
        """What was found when somebody last asked."""

    async def ask(self, state: AppState) -> dict[str, str]:
        """`ok` or `away` for each part."""
        for name in PARTS:
            if name not in self._running or self._running[name].done():
                loop = asyncio.get_running_loop()
                self._running[name] = loop.run_in_executor(self._threads, answers, name, state)
        tasks = dict(self._running)
        await asyncio.wait(tasks.values(), timeout=READY_SECONDS)
        self.last = {name: "ok" if task.done() and task.result() else "away" for name, task in tasks.items()}
        return self.last


def answers(name: str, state: AppState) -> bool:
    """Whether a part of the server answers; the log says why it does not."""
    try:
        PARTS[name](state)
    except (EvenrankError, OSError, ValueError) as error:
        LOG.warning("not ready: %s: %s", name, error)
        return False
    return True


async def ready(request: Request) -> Response:
    """200 when store and engine answer and goals are learned, else 503; with the number and age of the articles."""
    state = state_of(request)
    readiness: Readiness = request.app.state.readiness
    parts = await readiness.ask(state)
    is_ready = set(parts.values()) == {"ok"}
    about = {"articles": len(state.collection), "data": state.age.text}
    return JSONResponse({"status": "ready" if is_ready else "not ready", **parts, **about}, 200 if is_ready else 503)


class ServerNumbers:
    """For Prometheus: requests so far, the age of the data, and what the last `/readyz` of this worker found."""

    def __init__(self, state: AppState, counts: RequestCounts, readiness: Readiness) -> None:
        self.state, self.counts, self.readiness = state, counts, readiness

    def collect(self) -> Iterator[Metric]:
        labels = ("method", "route", "status")
        requests = CounterMetricFamily("evenrank_requests", "Requests answered.", labels=labels)
        spent = CounterMetricFamily("evenrank_request_seconds", "Time spent on them.", labels=labels)
        for route, (n_requests, seconds) in self.counts.requests():
            requests.add_metric(route, n_requests)
            spent.add_metric(route, seconds)
        name = "evenrank_request_duration_seconds"
        durations = HistogramMetricFamily(name, "Time from a request to its answer.", labels=("route",))
        for asked, n_up_to, seconds in self.counts.histograms():
            durations.add_metric((asked,), n_up_to, seconds)
        yield from (requests, spent, durations)
        yield GaugeMetricFamily("evenrank_articles", "Articles of the collection.", len(self.state.collection))
        if self.state.age.date is not None:
            day = datetime.fromisoformat(f"{self.state.age.date}-01"[: len("2021-10-01")]).replace(tzinfo=UTC)
            about = "Date of the data, in seconds since 1970; absent where it is unknown."
            yield GaugeMetricFamily("evenrank_data_timestamp_seconds", about, day.timestamp())
        for part, word in self.readiness.last.items():
            about = f"1 when the last /readyz of this worker found the {part} ready, else 0; absent before the first."
            yield GaugeMetricFamily(f"evenrank_{part}_up", about, float(word == "ok"))
        about = "When the server started, in seconds since 1970."
        yield GaugeMetricFamily("evenrank_start_time_seconds", about, self.counts.started)


def metrics(request: Request) -> Response:
    """The numbers of this server, over all its workers, for Prometheus."""
    registry = CollectorRegistry()
    registry.register(ServerNumbers(state_of(request), request.app.state.counts, request.app.state.readiness))
    return PlainTextResponse(generate_latest(registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def robots(_: Request) -> Response:
    return PlainTextResponse(ROBOTS, headers={"Cache-Control": "public, max-age=86400"})


def favicon(request: Request) -> Response:
    """The icon, for programs that ask for it without reading a page."""
    return RedirectResponse(own(request, static_url("icon.svg")), 308, {"Cache-Control": "public, max-age=86400"})


def routes() -> list[BaseRoute]:
    return [
        Route("/healthz", health),
        Route("/readyz", ready),
        Route("/metrics", metrics),
        Route("/robots.txt", robots),
        Route("/favicon.ico", favicon),
    ]
