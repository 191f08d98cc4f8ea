"""Fairness over a stream of queries: one ranking at a time, without knowing the future.

stream = evenrank.Stream(policy="fairco", groups={"a": "north", "b": "south"})
ranking = stream.rank("lighthouse", {"a": 0.9, "b": 0.8})
"""

from __future__ import annotations

import math
import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.exposure import GivenAttention, parse_attention
from evenrank.core.settings import setting_texts
from evenrank.errors import (
    EvenrankError,
    Fault,
    ReplayError,
    UnknownNameError,
    WrongTypeError,
    input_error,
    listed,
    reason_of,
)
from evenrank.policies.policy import settings_of
from evenrank.policies.stream_policies import UNIT, StreamPolicy, StreamRequest, make_stream_policy
from evenrank.ranking.stream_log import (
    LARGEST_TIME,
    LOG_SCHEMA,
    Candidate,
    GroupSource,
    Item,
    Items,
    LogWriter,
    StreamRanking,
    check_groups,
    check_items,
    check_text,
    group_lookup,
    is_amount,
    is_time,
    read_log,
)
from evenrank.ranking.stream_state import (
    KINDS,
    LARGEST_SUM,
    Accounting,
    Exposure,
    RunningTotals,
    ServerPart,
    StreamState,
    TimeSlice,
    fixed,
)

TARGETS = ("relevant", "population", "equal")
"""Words for targets: shares by the relevance of candidates so far, by their number, or the same for every group."""
MAX_PENDING = 10_000
"""Latest rankings of which clicks can be reported."""


class ServedShare(NamedTuple):
    """How a group is served."""

    exposure: float
    """Its share of the exposure so far."""
    target: float
    """The share that it should have."""


class _Counted(NamedTuple):
    """What a ranking, or its clicks, add to the sums of groups."""

    ranking: StreamRanking
    number: int
    """Of the slice of time."""
    groups: list[str]
    sums: NDArray[np.int64]
    """Kind by group."""
    n_requests: int
    offered: int


class Stream:
    """Ranks requests one at a time and remembers what each group was given, so that exposure is fair over all of them.

    Any thread may call any method. Several servers exchange `state` objects and `absorb` those of the others.
    """

    def __init__(
        self,
        policy: str | StreamPolicy = "optimal",
        groups: GroupSource = None,
        target: str | Mapping[str, float] = "relevant",
        window: float | None = None,
        *,
        half_life: float | None = None,
        attention: GivenAttention = "log",
        exposure: Exposure = "position",
        settings: Mapping[str, object] | None = None,
        seed: int = 0,
        server: str = "main",
        state: StreamState | str | os.PathLike[str] | None = None,
        log: str | os.PathLike[str] | None = None,
        fsync: bool = False,
    ) -> None:
        """A stream that begins empty, at a saved `state`, or where its `log` ends.

        `groups` maps items to a group, a list of groups or weights by group (or is a function, or a CSV file); items
        may also bring their own. With `log`, every answer is written before it is given, and a stream that is opened
        with an existing log continues where that ends; with `fsync` this survives a power cut, too.
        """
        self.policy = make_stream_policy(policy, setting_texts(settings or {}))
        self.target = check_stream_target(target)
        self.accounting = Accounting(str(parse_attention(attention)), exposure, window, half_life)
        if isinstance(seed, bool) or not isinstance(seed, int) or not -(2**63) <= seed < 2**63:
            raise WrongTypeError(seed, "seed", "a whole number of at most 64 bits")
        self.seed = seed
        self.server = check_text(server, "server")
        if not self.server:
            raise EvenrankError("server: the name is empty (give each server its own)")
        self._groups_of = group_lookup(groups)
        self._lock = threading.RLock()
        self._pending: OrderedDict[int, StreamRanking] = OrderedDict()
        self._state = StreamState(self.accounting)
        self._log: LogWriter | None = None
        self._is_closed = False
        if state is not None:
            self._state.absorb(state if isinstance(state, StreamState) else StreamState.load(state))
        self._state.servers.setdefault(self.server, ServerPart())
        self._totals = RunningTotals(self._state, self.target)
        if log is not None:
            self._open_log(Path(log), fsync=fsync)

    def __repr__(self) -> str:
        return f"<Stream {self.policy.name} on {self.server!r}: {self._part.n_requests:,} requests>"

    @property
    def _part(self) -> ServerPart:
        return self._state.servers[self.server]

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the log; a stream that had one ranks no more, because nothing would be logged."""
        with self._lock:
            if self._log is not None:
                self._log.close()
                self._log, self._is_closed = None, True

    def rank(self, query: str, items: Items, *, time: float | None = None) -> StreamRanking:
        """The ranking of one request; what it gives to groups is counted, and logged, before it is returned.

        `items` are relevance by item, or tuples (item, relevance) or (item, relevance, groups). `time` is any clock
        that all servers share, in the unit of the window; without it, each server counts its requests, and one that has
        fewer than others counts on from where these are.
        """
        text = check_text(query, "query")
        candidates = check_items(items, self._groups_of)
        if time is not None and not is_time(time):
            raise EvenrankError(f"time is {str(time)[:40]!r}, but must be a number within {LARGEST_TIME:,.0f} of 0")
        with self._lock:
            number = self._part.n_requests + 1
            moment = self._next_moment(number) if time is None else float(time)
            order = self._decide(number, candidates)
            ranking = StreamRanking(number, moment, text, candidates, order)
            counted = self._counted(ranking)
            self._write(ranking.to_json)
            self._add(counted)
            return ranking

    def _next_moment(self, number: int) -> float:
        """The time of a request that came without one: its number, or the newest slice if other servers are ahead."""
        length = self.accounting.slice_length
        if length is None or self.accounting.slice_of(number) >= self._state.newest:
            return float(number)
        return (self._state.newest + 0.5) * length

    def observe(self, number: int, clicks: Mapping[Item, float] | Iterable[Item]) -> None:
        """Count observed clicks of ranking `number`: items that were clicked, or numbers of clicks by item."""
        if self.accounting.exposure != "clicks":
            raise EvenrankError(
                f"exposure is counted by {self.accounting.exposure} (make a stream with exposure='clicks')"
            )
        counts = _click_counts(clicks)
        with self._lock:
            ranking = self._pending.get(number) if isinstance(number, int) else None
            if ranking is None:
                raise EvenrankError(f"ranking {number} is not one of the last {MAX_PENDING:,} rankings of this server")
            by_item = {one.item: one for one in ranking.candidates}
            if wrong := [item for item in counts if item not in by_item]:
                raise EvenrankError(f"ranking {number} has no item {listed(wrong, 3)}")
            if wrong := [item for item, count in counts.items() if not is_amount(count)]:
                raise EvenrankError(f"clicks of {listed(wrong, 3)} are not numbers from 0 on")
            values = np.zeros((len(KINDS), len(counts)))
            values[0] = list(counts.values())
            counted = self._summed(ranking, [by_item[item] for item in counts], values)
            self._write(lambda: {"clicks": number, "items": [[item, float(n)] for item, n in counts.items()]})
            self._add(counted)

    def absorb(self, state: StreamState | bytes) -> None:
        """Take over what other servers have counted; what this server has counted itself stays as it is."""
        given = StreamState.from_bytes(state) if isinstance(state, bytes) else state
        if not isinstance(given, StreamState):
            raise WrongTypeError(state, "state", "a StreamState or its bytes")
        with self._lock:
            newer = self._state.newer_parts(given, except_server=self.server)
            if newer.servers:
                self._write(lambda: {"absorbed": orjson.Fragment(newer.to_bytes())})
                self._state.absorb(newer)
                self._totals.refresh(self._state)

    def replace_groups(self, groups: GroupSource) -> None:
        """Use other groups from now on. Exposure stays with the groups that items had when they were shown."""
        lookup = group_lookup(groups)
        with self._lock:
            self._groups_of = lookup

    @property
    def state(self) -> StreamState:
        """A copy of everything counted so far, to save or to send to other servers."""
        with self._lock:
            return self._state.copy()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, complete or not at all."""
        self.state.save(path)

    def checkpoint(self) -> None:
        """Replace the log by one that begins with the present state, so that it does not grow for ever."""
        with self._lock:
            if self._log is None:
                raise EvenrankError("the stream has no log (open it with log=FILE)")
            self._log.replace(self._records())

    def shares(self) -> dict[str, ServedShare]:
        """Share of exposure and of the target of every group that has either."""
        with self._lock:
            totals = self._totals
            totals.make_room(len(self._state.groups))
            exposure = totals.exposure / max(totals.total_exposure, 1)
            target = totals.claims / max(totals.total_claims, 1)
            names = list(self._state.groups)
        pairs = zip(exposure.tolist(), target.tolist(), strict=True)
        return {name: ServedShare(*pair) for name, pair in sorted(zip(names, pairs, strict=True)) if any(pair)}

    @classmethod
    def replay(cls, log: str | os.PathLike[str], policy: str | StreamPolicy | None = None) -> Stream:
        """The stream that a log describes, with every ranking made again; ReplayError where one comes out differently.

        `policy` is needed only where the stream had a policy object of its own.
        """
        stream: Stream | None = None
        for line, record in read_log(log):
            if stream is None:
                stream = cls._from_header(record, policy, log)
            else:
                stream._apply(record, line, log, decide=True, policy=policy)
        if stream is None:
            raise input_error(log, 0, "empty", "give the log of a stream")
        return stream

    def _decide(self, number: int, candidates: tuple[Candidate, ...]) -> tuple[int, ...]:
        """Positions of the candidates, rank 1 first."""
        relevance = np.array([one.relevance for one in candidates], np.float64)
        rows, names, shares = _memberships(candidates)
        places = self._state.positions(names)
        self._totals.make_room(len(self._state.groups))
        request = StreamRequest(
            relevance=relevance,
            weights=self.accounting.attention_of(np.sort(relevance)[::-1]),
            per_attention=self.accounting.per_attention(relevance),
            item_of=rows,
            group_of=places,
            share=shares,
            totals=self._totals,
            rng_ids=(self.seed, number, self.server),
        )
        order = tuple(np.asarray(self.policy.order(request)).tolist())
        if sorted(order) != list(range(len(candidates))):
            raise EvenrankError(
                f"policy {self.policy.name} did not return an order of the {len(candidates)} candidates"
            )
        return order

    def _write(self, record: Callable[[], object]) -> None:
        """Log a record, where there is a log."""
        if self._is_closed:
            raise EvenrankError("the stream was closed (open it again with its log)")
        if self._log is not None:
            self._log.write(record())

    def _counted(self, ranking: StreamRanking) -> _Counted:
        """What a ranking adds to the sums."""
        ranked = ranking.ranked()
        relevance = np.array([one.relevance for one in ranked], np.float64)
        per_attention = self.accounting.per_attention(relevance)
        ideal = self.accounting.attention_of(np.sort(relevance)[::-1]) * np.sort(per_attention)[::-1]
        is_given = self.accounting.exposure != "clicks"
        given = self.accounting.attention_of(relevance) * per_attention if is_given else np.zeros(len(ranked))
        values = np.stack([given, relevance, np.ones(len(ranked))])
        return self._summed(ranking, ranked, values, n_requests=1, offered=round(math.fsum(ideal.tolist()) * UNIT))

    def _summed(
        self,
        ranking: StreamRanking,
        items: Sequence[Candidate],
        values: NDArray[np.float64],
        n_requests: int = 0,
        offered: int = 0,
    ) -> _Counted:
        """Values (kind by item) as sums of the items' groups; EvenrankError where these could not be kept."""
        rows, names, shares = _memberships(items)
        places: dict[str, int] = {}
        at = np.array([places.setdefault(name, len(places)) for name in names], np.intp)
        sums = np.stack([np.bincount(at, shares * row[rows], minlength=len(places)) for row in values])
        if float(sums.max(initial=0.0)) * UNIT >= LARGEST_SUM:
            raise EvenrankError("relevance or weights of groups are too large to be summed (divide them all)")
        number = self.accounting.slice_of(ranking.time)
        counted = _Counted(ranking, number, list(places), fixed(sums), n_requests, offered)
        if number in self._part.slices:
            groups = self._state.positions(counted.groups)
            self._part.slices[number].refuse_overflow(groups, counted.sums, offered)
        return counted

    def _add(self, counted: _Counted) -> None:
        """Count what was summed, in its slice of time of this server."""
        newest, number = self._state.newest, counted.number
        part = self._part
        part.version += 1
        part.n_requests += counted.n_requests
        part.newest = number if part.newest is None else max(number, part.newest)
        if counted.n_requests and self.accounting.exposure == "clicks":
            self._pending[counted.ranking.number] = counted.ranking
            while len(self._pending) > MAX_PENDING:
                self._pending.popitem(last=False)
        if self._state.newest != newest:
            self._state.forget_old()
        if number <= self._state.newest - self.accounting.n_slices:
            return
        groups = self._state.positions(counted.groups)
        time_slice = self._part.slices.setdefault(number, TimeSlice())
        time_slice.add(groups, counted.sums, counted.n_requests, counted.offered)
        if self._state.newest != newest or self.accounting.weight(newest - number) != 1.0:
            self._totals.refresh(self._state)
            return
        self._totals.make_room(len(self._state.groups))
        self._totals.add(groups, counted.sums)
        self._totals.n_requests += counted.n_requests
        self._totals.offered += counted.offered

    def _records(self) -> Iterator[object]:
        """The first records of a log: how the stream is set up, its state, and rankings that may still be clicked."""
        state = orjson.Fragment(self._state.to_bytes())
        yield {"schema": LOG_SCHEMA, "server": self.server, "setup": self._setup(), "state": state}
        for ranking in self._pending.values():
            yield {"pending": ranking.to_json()}

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that decides rankings, beside what came before."""
        return {**self._setup(), **asdict(self.accounting), "server": self.server}

    def _setup(self) -> dict[str, Any]:
        """What decides how a request is ranked, beside the state."""
        policy = {"name": self.policy.name, "settings": setting_texts(settings_of(self.policy))}
        return {"policy": policy, "target": self.target, "seed": self.seed}

    def _open_log(self, path: Path, *, fsync: bool) -> None:
        """Continue an existing log, or begin one."""
        log = LogWriter(path, fsync=fsync)
        try:
            if log.is_empty:
                log.replace(self._records())
            else:
                self._recover(path, log)
        except BaseException:
            log.close()
            raise
        self._log = log

    def _recover(self, path: Path, log: LogWriter) -> None:
        """Count everything that a log says; where the stream is now set up otherwise, the log says that, too."""
        if self._part.version or len(self._state.servers) > 1:
            raise EvenrankError(f"{path}: exists, and holds the state already (leave out state=, or name another log)")
        setup: object = None
        for line, record in read_log(path):
            setup = record.get("setup", setup)
            if line > 1:
                self._apply(record, line, path)
                continue
            if record.get("server") != self.server:
                raise EvenrankError(f"{path}: is the log of server {record.get('server')!r}, not of {self.server!r}")
            self._state.absorb(StreamState.from_bytes(orjson.dumps(record.get("state")), path))
            self._state.servers.setdefault(self.server, ServerPart())
            self._totals.refresh(self._state)
        if setup != self._setup():
            log.write({"setup": self._setup()})

    @classmethod
    def _from_header(cls, header: dict[str, Any], policy: str | StreamPolicy | None, path: object) -> Stream:
        """A stream as a log's header describes it."""
        try:
            state = StreamState.from_json(header["state"])
            stream = cls("relevance", server=header["server"], state=state, **asdict(state.accounting))
            stream._set_up(header["setup"], policy)
        except (KeyError, TypeError, ValueError) as error:
            fault = f"not the header of a log: {reason_of(error)}"
            raise input_error(path, 1, fault, "give what `log=` wrote") from None
        return stream

    def _set_up(self, setup: dict[str, Any], policy: str | StreamPolicy | None = None) -> None:
        """Rank as a log's record says, or with the policy given."""
        used = setup["policy"]
        self.policy = (
            make_stream_policy(used["name"], used["settings"]) if policy is None else make_stream_policy(policy)
        )
        self.target = check_stream_target(setup["target"])
        self.seed = setup["seed"]
        self._totals = RunningTotals(self._state, self.target)

    def _apply(
        self,
        record: dict[str, Any],
        line: int,
        path: object,
        *,
        decide: bool = False,
        policy: str | StreamPolicy | None = None,
    ) -> None:
        """Count what a record of a log says; with `decide`, its ranking must come out again."""
        try:
            if "setup" in record:
                if decide:
                    self._set_up(record["setup"], policy)
            elif "absorbed" in record:
                self._state.absorb(StreamState.from_json(record["absorbed"]))
                self._totals.refresh(self._state)
            elif "clicks" in record:
                self.observe(record["clicks"], dict(record["items"]))
            elif "pending" in record:
                ranking = StreamRanking.from_json(record["pending"])
                self._pending[ranking.number] = ranking
            else:
                ranking = StreamRanking.from_json(record)
                order = self._decide(ranking.number, ranking.candidates) if decide else ranking.order
                if order != ranking.order:
                    found = f"ranks {listed(order)}, where the log has {listed(ranking.order)}"
                    raise ReplayError(
                        [Fault(str(path), line, found, "the policy, its settings or the log was changed")]
                    )
                self._add(self._counted(ranking))
        except ReplayError:
            raise
        except (KeyError, TypeError, ValueError, EvenrankError) as error:
            raise input_error(path, line, reason_of(error), "the log cannot be read from here on") from None


def check_stream_target(target: object) -> str | dict[str, float]:
    """A word of `TARGETS`, or shares by group, checked."""
    if isinstance(target, str):
        if target not in TARGETS:
            raise UnknownNameError("target", target, TARGETS, "or give shares by group")
        return target
    if not isinstance(target, Mapping):
        raise WrongTypeError(target, "target", f"{', '.join(TARGETS)}, or shares by group")
    shares = check_groups(target)
    if not shares:
        raise EvenrankError("target: every share is 0 (give at least one group a share)")
    return shares


def _click_counts(clicks: Mapping[Item, float] | Iterable[Item]) -> dict[Item, float]:
    """Numbers of clicks by item."""
    try:
        if isinstance(clicks, Mapping):
            return dict(clicks)
        if not isinstance(clicks, str | bytes):
            return dict(Counter(iter(clicks)))
    except TypeError:
        pass
    raise WrongTypeError(clicks, "clicks", "a list of items, or numbers of clicks by item")


def _memberships(items: Sequence[Candidate]) -> tuple[NDArray[np.intp], list[str], NDArray[np.float64]]:
    """Item, group and weight of every membership."""
    names = [name for one in items for name in one.groups]
    shares = np.array([weight for one in items for weight in one.groups.values()], np.float64)
    rows = np.repeat(np.arange(len(items)), [len(one.groups) for one in items])
    return rows, names, shares
