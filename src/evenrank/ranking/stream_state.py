"""What a stream remembers: exact sums per server, slice of time and group, which servers can exchange and merge.

Each server only ever changes its own part. A merge keeps of each server the part with the most changes, so it is
associative, commutative and idempotent: states may arrive in any order, late or twice. Sums are whole numbers (of
1/`UNIT`), and the same content is always the same bytes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from numbers import Real
from operator import mul
from typing import Any, Literal, get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.exposure import Attention, Cascade, check_attention, parse_attention
from evenrank.errors import EvenrankError, InputError, UnknownNameError, input_error, listed
from evenrank.io.atomic import atomic_file
from evenrank.io.compressed import open_compressed
from evenrank.policies.stream_policies import UNIT, GroupTotals

SCHEMA = "evenrank.stream-state/1"
WINDOW_SLICES = 16
"""Slices of a window: the oldest is forgotten as a whole, so a window is exact to a sixteenth."""
SLICES_PER_HALF_LIFE = 4
MAX_HALF_LIVES = 12
"""What is older than so many half-lives, and counts for less than 1/4000, is forgotten."""
LARGEST_SUM = 1 << 58
"""Largest sum of a group on one server, and in one slice of time: a billion candidates, for example."""
LARGEST_TOTAL = 1 << 62
"""Largest sum of a group over the servers of a state; totals are kept in 64 bits."""
KINDS = ("exposure", "relevance", "appearances")
"""What is summed for each group: exposure given, relevance of its candidates, and how often they were candidates."""
MIN_FORGOTTEN = 1000
"""Groups that are out of the window are forgotten when there are so many more of them than of others."""
LEAST_TIME, MOST_TIME = 1e-3, 1e12
"""Shortest and longest window or half-life."""
CHECKED_RANKS = 1000
"""Ranks over which attention must not rise."""

Exposure = Literal["position", "impact", "clicks"]


@dataclass(frozen=True)
class Accounting:
    """What is counted as exposure, and for how long; states can only be merged where this is equal."""

    attention: str = "log"
    """Attention by rank, as for `evenrank score --attention`."""
    exposure: Exposure = "position"
    """`position`: attention; `impact`: attention × relevance, the clicks to expect; `clicks`: those observed."""
    window: float | None = None
    """Time after which a request no longer counts; None: never. Without times, one request is one unit."""
    half_life: float | None = None
    """Time in which the weight of a request halves; None: it does not."""

    def __post_init__(self) -> None:
        faults = []
        if self.exposure not in get_args(Exposure):
            faults.append(str(UnknownNameError("kind of exposure", self.exposure, get_args(Exposure))))
        for name, length in (("window", self.window), ("half_life", self.half_life)):
            if length is not None and not _is_length(length):
                faults.append(f"{name} is {length!r:.40}, but must be a number from {LEAST_TIME:g} to {MOST_TIME:,.0f}")
            elif length is not None:
                object.__setattr__(self, name, float(length))
        if self.window is not None and self.half_life is not None:
            faults.append("a stream has a window or a half-life, not both")
        try:
            object.__setattr__(self, "attention", check_attention(self.attention, CHECKED_RANKS, may_read=False))
        except EvenrankError as error:
            faults.append(str(error))
        if faults:
            raise EvenrankError("\n".join(faults))

    @property
    def slice_length(self) -> float | None:
        """Time of one slice; None where nothing is forgotten and all time is one slice."""
        if self.window is not None:
            return self.window / WINDOW_SLICES
        return None if self.half_life is None else self.half_life / SLICES_PER_HALF_LIFE

    @property
    def n_slices(self) -> int:
        """Slices that are kept."""
        if self.window is not None:
            return WINDOW_SLICES
        return 1 if self.half_life is None else SLICES_PER_HALF_LIFE * MAX_HALF_LIVES

    def slice_of(self, time: float) -> int:
        """The slice in which a time lies."""
        return 0 if self.slice_length is None else math.floor(time / self.slice_length)

    def weight(self, age: int) -> float:
        """How much a slice counts that began `age` slices before the newest."""
        return 1.0 if self.half_life is None else 0.5 ** (age / SLICES_PER_HALF_LIFE)

    def attention_of(self, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Attention of each rank of a ranking whose items have this relevance, rank 1 first."""
        model = _model(self.attention)
        if isinstance(model, Cascade):
            return model.expected_weights(np.minimum(relevance, 1.0))
        return _weights(self.attention, len(relevance))

    def per_attention(self, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Exposure that a candidate is expected to get from one unit of attention."""
        return np.ones(len(relevance)) if self.exposure == "position" else relevance


@lru_cache(maxsize=64)
def _model(attention: str) -> Attention:
    return parse_attention(attention, may_read=False)


@lru_cache(maxsize=1024)
def _weights(attention: str, n_ranks: int) -> NDArray[np.float64]:
    weights = np.asarray(_model(attention).weights(n_ranks), np.float64)
    weights.flags.writeable = False
    return weights


def _is_length(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(LEAST_TIME <= value <= MOST_TIME)


@dataclass(slots=True)
class TimeSlice:
    """Sums of one server over one slice of time."""

    n_requests: int = 0
    offered: int = 0
    sums: NDArray[np.int64] = field(default_factory=lambda: np.zeros((len(KINDS), 0), np.int64))
    """Kind by group; groups after the last one are zero."""

    def fingerprint(self) -> tuple[int, ...]:
        """Totals over groups, which differ where other requests were counted."""
        return self.n_requests, self.offered, *self.sums.sum(axis=1).tolist()

    def add(self, groups: NDArray[np.intp], sums: NDArray[np.int64], n_requests: int = 0, offered: int = 0) -> None:
        """Add sums (kind by group) to groups, each of which comes once."""
        self.sums = grown(self.sums, int(groups.max(initial=-1)) + 1)
        self.sums[:, groups] += sums
        self.n_requests += n_requests
        self.offered += offered

    def refuse_overflow(self, groups: NDArray[np.intp], sums: NDArray[np.int64], offered: int) -> None:
        """EvenrankError where sums would become larger than what can be kept."""
        known = groups < self.sums.shape[1]
        largest = int((self.sums[:, groups[known]] + sums[:, known]).max(initial=0))
        if max(largest, self.offered + offered) >= LARGEST_SUM:
            raise EvenrankError("the sums of a group exceed what can be kept (use a window or a half-life)")


def grown(sums: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """The array with room for `n_groups`, and for as many again when it had to be moved."""
    if n_groups <= sums.shape[-1]:
        return sums
    larger = np.zeros((*sums.shape[:-1], max(2 * sums.shape[-1], n_groups, 16)), np.int64)
    larger[..., : sums.shape[-1]] = sums
    return larger


@dataclass(slots=True)
class ServerPart:
    """What one server has counted."""

    version: int = 0
    """Changes so far; of two parts of one server, the one with more changes is the newer."""
    n_requests: int = 0
    newest: int | None = None
    """Newest slice so far; None before the first request."""
    slices: dict[int, TimeSlice] = field(default_factory=dict)

    def largest_sum(self) -> int:
        """At least the sum over slices of any group."""
        return sum(int(one.sums.max(initial=0)) for one in self.slices.values())


class StreamState:
    """The sums of all servers that are known here."""

    def __init__(self, accounting: Accounting | None = None) -> None:
        self.accounting = accounting or Accounting()
        self.groups: dict[str, int] = {}
        """Group → its position in the arrays."""
        self.servers: dict[str, ServerPart] = {}

    def __repr__(self) -> str:
        n_requests = sum(part.n_requests for part in self.servers.values())
        return f"<StreamState: {len(self.servers)} servers, {n_requests:,} requests, {len(self.groups):,} groups>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamState) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    @property
    def newest(self) -> int:
        """Newest slice of any server."""
        return max((part.newest for part in self.servers.values() if part.newest is not None), default=0)

    def positions(self, names: list[str]) -> NDArray[np.intp]:
        """Positions of groups, new ones added."""
        groups = self.groups
        return np.array([groups.setdefault(name, len(groups)) for name in names], np.intp)

    def forget_old(self) -> None:
        """Drop slices that have left the window."""
        first = self.newest - self.accounting.n_slices + 1
        old = [(part, number) for part in self.servers.values() for number in part.slices if number < first]
        for part, number in old:
            del part.slices[number]
        if old:
            self._forget_groups()

    def _forget_groups(self) -> None:
        """Drop groups that no slice knows any longer, where they are the most."""
        used = np.zeros(len(self.groups), np.bool_)
        for part in self.servers.values():
            for one in part.slices.values():
                n_known = min(len(used), one.sums.shape[1])
                used[:n_known] |= one.sums[:, :n_known].any(axis=0)
        if len(used) > 2 * int(used.sum()) + MIN_FORGOTTEN:
            names = list(self.groups)
            self.groups = {}
            self.servers = {server: _moved(part, names, self) for server, part in self.servers.items()}

    def merge(self, *others: StreamState) -> StreamState:
        """A new state with the newest part of every server of all the states."""
        merged = StreamState(self.accounting)
        for state in (self, *others):
            merged.absorb(state)
        return merged

    def absorb(self, other: StreamState) -> None:
        """Take over parts of servers that are newer than those known here."""
        newer = self.newer_parts(other)
        names = list(newer.groups)
        for server, part in newer.servers.items():
            self.servers[server] = _moved(part, names, self)
        self.forget_old()

    def newer_parts(self, other: StreamState, *, except_server: str | None = None) -> StreamState:
        """What another state has newer than this one, which keeps the part of `except_server` itself.

        EvenrankError where the other state counts exposure differently, has a part that no server with this name can
        have counted, or has sums that are too large to be added.
        """
        here, there = asdict(self.accounting), asdict(other.accounting)
        if different := [f"{name} is {here[name]} and {there[name]}" for name in here if here[name] != there[name]]:
            raise EvenrankError(f"states that count differently cannot be merged: {listed(different)}")
        newer = StreamState(self.accounting)
        newer.groups = other.groups
        for server, part in other.servers.items():
            mine = self.servers.get(server)
            if mine is not None and _are_of_different_servers(mine, part):
                raise EvenrankError(
                    f"two servers are called {server!r}: one of them would not count (give each server its own name)"
                )
            if server == except_server:
                n_made = 0 if mine is None else mine.version
                if part.version > n_made:
                    raise EvenrankError(
                        f"others have seen {part.version:,} changes of server {server!r}, which itself has made "
                        f"{n_made:,}: it lost its log, or another server has its name (begin with the last state, or "
                        "with a new name)"
                    )
            elif mine is None or _age(part) > _age(mine):
                newer.servers[server] = part
        if sum(part.largest_sum() for part in {**self.servers, **newer.servers}.values()) >= LARGEST_TOTAL:
            raise EvenrankError("the sums of all servers exceed what can be kept (use a window or a half-life)")
        return newer

    def to_bytes(self) -> bytes:
        """The state as JSON; equal states give equal bytes, whatever their history."""
        names = list(self.groups)
        by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.intp)
        document = {
            "schema": SCHEMA,
            "accounting": asdict(self.accounting),
            "servers": {server: _part_json(part, names, by_name) for server, part in self.servers.items()},
        }
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)

    @classmethod
    def from_bytes(cls, data: bytes, source: object = "state") -> StreamState:
        """The state that `to_bytes` wrote; InputError for anything else."""
        try:
            return cls.from_json(orjson.loads(data))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            fault = f"not a state of a stream: {type(error).__name__} {str(error)[:200]}"
            raise input_error(source, 0, fault, "give what `save` wrote") from None
        except InputError:
            raise
        except EvenrankError as error:
            raise input_error(source, 0, str(error), "give what `save` wrote") from None

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> StreamState:
        """The state of a parsed document; ValueError or KeyError for a wrong one."""
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"the schema is not {SCHEMA}")
        state = cls(Accounting(**document["accounting"]))
        for server, part in document["servers"].items():
            state.servers[server] = _part_from_json(part, state)
        state.forget_old()
        return state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, complete or not at all."""
        with atomic_file(path) as file:
            file.write(self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StreamState:
        """The state of a file that `save` wrote."""
        with open_compressed(path) as file:
            return cls.from_bytes(file.read(), path)

    def only(self, server: str) -> StreamState:
        """The part of one server, which is all that the others need of it."""
        state = StreamState(self.accounting)
        if server in self.servers:
            state.servers[server] = _moved(self.servers[server], list(self.groups), state)
        return state

    def copy(self) -> StreamState:
        """A state that no longer changes with this one."""
        return self.merge()


def _age(part: ServerPart) -> tuple[int, int]:
    """By which the newer part of a server is told: more changes or, where equal, more slices forgotten since."""
    return part.version, -len(part.slices)


def _are_of_different_servers(one: ServerPart, other: ServerPart) -> bool:
    """Whether two parts with the same number of changes differ in what one server cannot have counted twice."""
    if one.version != other.version:
        return False
    if (one.n_requests, one.newest) != (other.n_requests, other.newest):
        return True
    both = one.slices.keys() & other.slices.keys()
    return any(one.slices[at].fingerprint() != other.slices[at].fingerprint() for at in both)


def _moved(part: ServerPart, names: list[str], state: StreamState) -> ServerPart:
    """A copy of a part whose groups have their positions in `state`."""
    copied = ServerPart(part.version, part.n_requests, part.newest)
    for number, time_slice in part.slices.items():
        used = np.flatnonzero(time_slice.sums.any(axis=0))
        places = state.positions([names[at] for at in used.tolist()])
        copied.slices[number] = TimeSlice()
        copied.slices[number].add(places, time_slice.sums[:, used], time_slice.n_requests, time_slice.offered)
    return copied


def _part_json(part: ServerPart, names: list[str], by_name: NDArray[np.intp]) -> dict[str, Any]:
    slices = {}
    for number, time_slice in part.slices.items():
        known = by_name[by_name < time_slice.sums.shape[1]]
        order = known[time_slice.sums[:, known].any(axis=0)]
        slices[str(number)] = {
            "n_requests": time_slice.n_requests,
            "offered": time_slice.offered,
            "groups": [names[at] for at in order.tolist()],
            **{kind: time_slice.sums[row, order].tolist() for row, kind in enumerate(KINDS)},
        }
    return {"version": part.version, "n_requests": part.n_requests, "newest": part.newest, "slices": slices}


def _part_from_json(document: dict[str, Any], state: StreamState) -> ServerPart:
    newest = document["newest"]
    part = ServerPart(_count(document["version"]), _count(document["n_requests"]))
    part.newest = None if newest is None else int(newest)
    for number, entry in document["slices"].items():
        names = entry["groups"]
        if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            raise ValueError("groups are not different texts")
        sums = np.array([[_count(amount) for amount in entry[kind]] for kind in KINDS], np.int64)
        if sums.shape != (len(KINDS), len(names)):
            raise ValueError(f"{len(names)} groups, and other numbers of sums")
        part.slices[int(number)] = TimeSlice()
        part.slices[int(number)].add(
            state.positions(names), sums, _count(entry["n_requests"]), _count(entry["offered"])
        )
    return part


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < LARGEST_SUM:
        raise ValueError(f"{str(value)[:40]} is not a sum")
    return value


def fixed(values: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers as whole numbers of 1/`UNIT`, rounded to the nearest."""
    return np.asarray(np.rint(values * UNIT), np.int64)


class RunningTotals(GroupTotals):
    """The totals over all servers and slices of a state, kept up to date as requests are counted.

    They are a function of the state alone, whatever its history, because every sum is exact.
    """

    def __init__(self, state: StreamState, target: str | Mapping[str, float]) -> None:
        """`target` is a word of `Stream`, or shares by group."""
        self._target = target
        self._wanted = {} if isinstance(target, str) else dict(target)
        self._buffer = np.zeros((2, 0), np.int64)
        self._highest: float | None = None
        self.refresh(state)

    def refresh(self, state: StreamState) -> None:
        """Sum up everything anew."""
        wanted = state.positions(list(self._wanted))
        n_groups = len(state.groups)
        sums = np.zeros((len(KINDS), n_groups))
        n_requests = offered = 0.0
        whole = np.zeros((len(KINDS), n_groups), np.int64)
        for number in sorted({number for part in state.servers.values() for number in part.slices}):
            weight = state.accounting.weight(max(0, state.newest - number))
            slices = [part.slices[number] for part in state.servers.values() if number in part.slices]
            here = np.zeros((len(KINDS), n_groups), np.int64)
            for one in slices:
                here[:, : one.sums.shape[1]] += one.sums[:, :n_groups]
            n_requests += weight * sum(one.n_requests for one in slices)
            offered += weight * sum(one.offered for one in slices)
            if weight == 1.0:
                whole += here
            else:
                sums += weight * here
        whole += np.asarray(np.rint(sums), np.int64)
        self._buffer = np.zeros((2, n_groups), np.int64)
        self._buffer[0] = whole[0]
        self._buffer[1] = self._claims(whole, wanted)
        self.exposure, self.claims = self._buffer[0], self._buffer[1]
        exposure, claims = self.exposure.tolist(), self.claims.tolist()
        self.total_exposure, self.total_claims = sum(exposure), sum(claims)
        self.cross = sum(map(mul, exposure, claims))
        self.square = sum(map(mul, claims, claims))
        self.total_relevance = sum(whole[1].tolist())
        self.offered, self.n_requests = round(offered), round(n_requests)
        self._highest = None

    def _claims(self, sums: NDArray[np.int64], wanted: NDArray[np.intp]) -> NDArray[np.int64]:
        """What each group claims under the target."""
        if self._target == "relevant":
            return np.asarray(sums[1], np.int64)
        if self._target == "population":
            return np.asarray(sums[2], np.int64)
        if self._target == "equal":
            return np.where(sums[2] > 0, UNIT, 0)
        claims = np.zeros(sums.shape[1], np.int64)
        claims[wanted] = fixed(np.array(list(self._wanted.values()), np.float64))
        return claims

    def highest_ratio(self) -> float:
        """As in `GroupTotals`; all groups are looked at only after the best served one has fallen back."""
        if self._highest is None:
            self._highest = super().highest_ratio()
        return self._highest

    def _ratios(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        exposure, claims = self.exposure[groups], self.claims[groups]
        return np.divide(exposure, claims, out=np.zeros(len(groups)), where=claims > 0)

    def make_room(self, n_groups: int) -> None:
        """Zeros for groups that are new."""
        if n_groups > len(self.exposure):
            self._buffer = grown(self._buffer, n_groups)
            self.exposure, self.claims = self._buffer[0, :n_groups], self._buffer[1, :n_groups]

    def add(self, groups: NDArray[np.intp], sums: NDArray[np.int64]) -> None:
        """Count amounts (kind by group) that count fully; each group comes once."""
        before = zip(self.exposure[groups].tolist(), self.claims[groups].tolist(), strict=True)
        highest_before = float(self._ratios(groups).max(initial=0.0))
        self.exposure[groups] += sums[0]
        if self._target == "equal":
            self.claims[groups] = np.where(sums[2] > 0, UNIT, self.claims[groups])
        elif not self._wanted:
            self.claims[groups] += sums[1 if self._target == "relevant" else 2]
        highest = float(self._ratios(groups).max(initial=0.0))
        if self._highest is not None:
            self._highest = None if highest_before == self._highest > highest else max(self._highest, highest)
        after = zip(self.exposure[groups].tolist(), self.claims[groups].tolist(), strict=True)
        for (old_exposure, old_claim), (exposure, claim) in zip(before, after, strict=True):
            self.total_exposure += exposure - old_exposure
            self.total_claims += claim - old_claim
            self.cross += exposure * claim - old_exposure * old_claim
            self.square += claim * claim - old_claim * old_claim
        self.total_relevance += int(sums[1].sum())
