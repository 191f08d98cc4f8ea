"""Room for expensive requests: a few run at once, some wait in turn, the rest are asked to come back.

Everything else (the state of the server, static files, lists that are only shown) has threads of its own, and so is
answered however many ask for what is expensive. Visitors take turns by network: whoever asks for much waits for
their own requests, not everybody for theirs. A request that waits for another server leaves its place meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from typing import NamedTuple, cast

from starlette.requests import Request
from starlette.responses import Response

from evenrank.app.request.visitor import network_of

WAIT_SECONDS = 10.0
"""Who has waited this long is asked to come back: most visitors have gone by then."""
MAX_ELSEWHERE = 8
"""Requests that may wait for another server at once."""


class BusyError(Exception):
    """There is no room for an expensive request now."""


class Waiting(NamedTuple):
    """A request that waits for its turn."""

    answer: Future[Response]
    make: Callable[[], Response]
    since: float


class Capacity:
    """Threads for expensive requests, and the queue in front of them; thread-safe."""

    def __init__(self, n_at_once: int, n_waiting: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.n_waiting, self.clock = n_waiting, clock
        self._threads = ThreadPoolExecutor(n_at_once + MAX_ELSEWHERE, thread_name_prefix="expensive")
        """Started when they are needed: without requests that wait elsewhere there are `n_at_once`."""
        self._elsewhere = threading.Semaphore(MAX_ELSEWHERE)
        self._queues: OrderedDict[str, deque[Waiting]] = OrderedDict()
        """Requests that wait, by the network they came from; the network whose turn it is comes first."""
        self._changed = threading.Condition()
        """Guards the queues and the two numbers below."""
        self._n_free = n_at_once
        """Places that nobody has."""
        self._n_returning = 0
        """Requests that have been elsewhere, and need a place to continue."""

    def submit(self, network: str, make: Callable[[], Response]) -> Future[Response]:
        """The answer to come; BusyError when as many wait as may, or half as many from one network."""
        waiting = Waiting(Future(), make, self.clock())
        with self._changed:
            queue = self._queues.get(network, ())
            if sum(map(len, self._queues.values())) >= self.n_waiting or len(queue) >= (self.n_waiting + 1) // 2:
                raise BusyError("too many expensive requests wait")
            self._queues.setdefault(network, deque()).append(waiting)
            if self._n_free > 0:
                self._n_free -= 1
                self._threads.submit(self._answer_all)
        return waiting.answer

    def _answer_all(self) -> None:
        """With a place: answer one request after the other, until none waits or one that returns needs the place."""
        while True:
            with self._changed:
                if self._n_returning > self._n_free or not self._queues:
                    self._n_free += 1
                    self._changed.notify()
                    return
                network, queue = next(iter(self._queues.items()))
                waiting = queue.popleft()
                if queue:
                    self._queues.move_to_end(network)
                else:
                    del self._queues[network]
            self._answer(waiting)

    def _answer(self, waiting: Waiting) -> None:
        if not waiting.answer.set_running_or_notify_cancel():
            return
        try:
            if self.clock() - waiting.since > WAIT_SECONDS:
                raise BusyError("an expensive request waited too long")
            waiting.answer.set_result(waiting.make())
        except BaseException as error:
            waiting.answer.set_exception(error)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """While a request that has a place waits for another server, the next one gets it."""
        if not self._elsewhere.acquire(blocking=False):
            raise BusyError("too many requests wait for another server")
        self._threads.submit(self._answer_all)
        try:
            yield
        finally:
            self._elsewhere.release()
            with self._changed:
                self._n_returning += 1
                self._changed.wait_for(lambda: self._n_free > 0)
                self._n_returning -= 1
                self._n_free -= 1


_CAPACITY: ContextVar[Capacity | None] = ContextVar("capacity", default=None)
"""Where the request that is answered has a place."""


@contextmanager
def waiting_elsewhere() -> Iterator[None]:
    """Around every question to another server: one that is slow holds up nobody else's expensive requests."""
    capacity = _CAPACITY.get()
    if capacity is None:
        yield
        return
    with capacity.elsewhere():
        yield


async def run_expensive(request: Request, make: Callable[[], Response]) -> Response:
    """What `make` gives, made when it is this visitor's turn; BusyError when there is no room."""
    capacity, context = cast(Capacity, request.app.state.capacity), copy_context()
    context.run(_CAPACITY.set, capacity)
    answer = capacity.submit(network_of(request), partial(context.run, make))
    return await asyncio.wrap_future(answer)


def expensive(handler: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint whose handler runs among the expensive ones."""

    @wraps(handler)
    async def endpoint(request: Request) -> Response:
        return await run_expensive(request, partial(handler, request))

    return endpoint
