"""States of a stream merge in any order, any grouping and any number of times to the same bytes."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank import Stream, StreamState
from evenrank.errors import EvenrankError, InputError
from evenrank.policies.stream_policies import GroupTotals
from evenrank.ranking.stream_state import LARGEST_SUM, RunningTotals, TimeSlice

SETUPS: tuple[dict[str, Any], ...] = ({}, {"window": 12}, {"half_life": 6}, {"exposure": "impact"})


def server_states(setup: dict[str, Any], n_servers: int = 4) -> list[StreamState]:
    rng = np.random.default_rng(n_servers)
    states = []
    for server in range(n_servers):
        stream = Stream("fairco", str, server=f"server-{server}", **setup)
        for number in range(10 + 7 * server):
            items = {f"ä{at}": float(rng.random()) for at in rng.choice(30, 5, replace=False)}
            stream.rank("q", items, time=number / 2 + server)
        states.append(stream.state)
    return states


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_four_servers_merge_in_any_order_to_the_same_bytes(setup: dict[str, Any]) -> None:
    states = server_states(setup)
    merged = states[0].merge(*states[1:]).to_bytes()
    for a, b, c, d in permutations(states):
        assert a.merge(b, c, d).to_bytes() == merged
        assert a.merge(b).merge(c.merge(d)).to_bytes() == merged
        assert a.merge(b.merge(c.merge(d.merge(a)))).to_bytes() == merged
    assert StreamState.from_bytes(merged).to_bytes() == merged


def test_what_one_server_counts_alone_is_what_four_count_together() -> None:
    rng = np.random.default_rng(5)
    requests = [{f"i{at}": float(rng.random()) for at in rng.choice(9, 4, replace=False)} for _ in range(80)]
    alone = Stream("relevance", str)
    servers = [Stream("relevance", str, server=f"s{number}") for number in range(4)]
    for number, items in enumerate(requests):
        alone.rank("q", items)
        servers[number % 4].rank("q", items)
    together = Stream("relevance", str, state=servers[0].state.merge(*(one.state for one in servers)))
    assert together.shares() == alone.shares()


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, int, int, str]]:
    """Steps of three servers: one ranks an item at a time, or absorbs the state of another."""
    step = st.tuples(st.integers(0, 2), st.integers(-1, 2), st.integers(0, 40), st.sampled_from(["x", "y", "ż", ""]))
    return draw(st.lists(step, min_size=1, max_size=25))


@settings(max_examples=60)
@given(histories(), st.sampled_from(SETUPS), st.randoms(use_true_random=False))
def test_any_exchange_between_servers_ends_in_one_state(
    steps: list[tuple[int, int, int, str]], setup: dict[str, Any], random: Any
) -> None:
    servers = [Stream("optimal", str, server=str(number), **setup) for number in range(3)]
    snapshots = []
    for server, other, time, item in steps:
        if other < 0:
            servers[server].rank("q", {item: 0.5, "z": 0.25}, time=time)
        else:
            servers[server].absorb(servers[other].state)
        snapshots.append(servers[server].state)
    final = [one.state for one in servers]
    merged = final[0].merge(final[1], final[2]).to_bytes()
    mixed = [*final, *snapshots]
    random.shuffle(mixed)
    assert mixed[0].merge(*mixed[1:]).to_bytes() == merged
    for one in servers:
        for state in mixed:
            one.absorb(state)
        assert one.state.to_bytes() == merged
        assert one.shares() == Stream("optimal", str, state=one.state, **setup).shares()


@settings(max_examples=60)
@given(histories(), st.sampled_from(SETUPS), st.sampled_from(["relevant", "population", "equal", "given"]))
def test_running_totals_are_those_of_the_state(
    steps: list[tuple[int, int, int, str]], setup: dict[str, Any], target: Any
) -> None:
    wanted = {"x": 1.0, "new": 2.0} if target == "given" else target
    stream = Stream("fairco", str, wanted, **setup)
    for number, _, time, item in steps:
        stream.rank("q", {item: number / 4, "z": 0.25}, time=time)
        fresh = RunningTotals(stream.state, wanted)
        for name in ("total_exposure", "total_claims", "cross", "square", "total_relevance", "offered", "n_requests"):
            assert getattr(stream._totals, name) == getattr(fresh, name)
        assert stream._totals.highest_ratio() == fresh.highest_ratio() == GroupTotals.highest_ratio(fresh)


def test_states_that_count_differently_are_refused() -> None:
    with pytest.raises(EvenrankError, match=r"attention is log and rbp:0\.8, window is None and 5"):
        Stream().state.merge(Stream(attention="rbp:0.8", window=5).state)
    stream = Stream()
    with pytest.raises(EvenrankError, match="exposure is position and impact"):
        stream.absorb(Stream(exposure="impact").state)
    with pytest.raises(EvenrankError, match="state: a value of type int"):
        stream.absorb(3)  # type: ignore[arg-type]


def test_two_servers_of_one_name_are_refused() -> None:
    one, other = Stream("relevance", str), Stream("relevance", str)
    one.rank("q", {"a": 0.5})
    other.rank("q", {"a": 0.75})
    for first, second in ((one, other), (other, one)):
        with pytest.raises(EvenrankError, match="two servers are called 'main'"):
            first.state.merge(second.state)
    other.rank("q", {"a": 0.75})
    one.absorb(Stream("relevance", str, server="b").state)
    before = one.state
    with pytest.raises(EvenrankError, match="others have seen 2 changes of server 'main', which itself has made 1"):
        one.absorb(other.state)
    assert one.state == before
    other.absorb(before)
    assert set(other.state.servers) == {"main", "b"}


def test_a_server_takes_its_own_part_back_from_one_that_has_forgotten_old_slices() -> None:
    early, late = (Stream("relevance", str, window=16, server=server) for server in ("early", "late"))
    for time in (1, 10):
        early.rank("q", {"a": 0.5}, time=time)
    late.rank("q", {"b": 0.5}, time=20)
    late.absorb(early.state)
    early.absorb(late.state)
    assert early.state == late.state


def test_save_and_load(tmp_path: Path) -> None:
    state = server_states({})[0]
    state.save(tmp_path / "state.json")
    assert StreamState.load(tmp_path / "state.json") == state
    assert "1 servers, 10 requests" in repr(state)
    assert Stream(state=tmp_path / "state.json").state.servers.keys() == {"server-0", "main"}


def damaged(change: Any) -> bytes:
    document = orjson.loads(server_states({}, 1)[0].to_bytes())
    change(document, document["servers"]["server-0"], document["servers"]["server-0"]["slices"]["0"])
    return orjson.dumps(document)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        damaged(lambda d, p, s: d.update(schema="other")),
        damaged(lambda d, p, s: d.update(accounting={"attention": "sideways"})),
        damaged(lambda d, p, s: d["accounting"].update(more=1)),
        damaged(lambda d, p, s: d.update(servers=[])),
        damaged(lambda d, p, s: p.pop("version")),
        damaged(lambda d, p, s: p.update(newest="x")),
        damaged(lambda d, p, s: s.update(offered=-1)),
        damaged(lambda d, p, s: s.update(offered=1.5)),
        damaged(lambda d, p, s: s["groups"].append("more")),
        damaged(lambda d, p, s: s["groups"].__setitem__(0, s["groups"][1])),
        damaged(lambda d, p, s: s["exposure"].__setitem__(0, LARGEST_SUM)),
        damaged(lambda d, p, s: s["exposure"].__setitem__(0, True)),
        damaged(lambda d, p, s: p["slices"].update(x=s)),
    ],
)
def test_damaged_states_are_refused_without_a_traceback(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(data)
    with pytest.raises(InputError, match=r"state.json: .*\(give what `save` wrote\)"):
        StreamState.load(tmp_path / "state.json")


def test_sums_that_would_overflow_are_refused() -> None:
    time_slice = TimeSlice()
    groups, sums = np.array([0]), np.array([[LARGEST_SUM - 1], [0], [0]])
    time_slice.add(groups, sums)
    time_slice.refuse_overflow(groups, np.zeros((3, 1), np.int64), 0)
    with pytest.raises(EvenrankError, match="use a window"):
        time_slice.refuse_overflow(groups, np.ones((3, 1), np.int64), 0)
    stream = Stream("relevance", lambda _: {"x": 1e6})
    with pytest.raises(EvenrankError, match="too large to be summed"):
        stream.rank("q", {"a": 1e6})
    assert stream.state == Stream().state


def test_sums_of_many_servers_that_would_overflow_are_refused() -> None:
    states = []
    for number in range(17):
        state = Stream("relevance", str, server=str(number)).state
        part = state.servers[str(number)]
        part.version, part.newest, part.slices[0] = 1, 0, TimeSlice()
        part.slices[0].add(state.positions(["x"]), np.full((3, 1), LARGEST_SUM - 1))
        states.append(state)
    stream = Stream("relevance", str, state=states[0].merge(*states[1:16]))
    assert stream.shares()["x"].exposure == 1.0
    with pytest.raises(EvenrankError, match="the sums of all servers exceed"):
        stream.absorb(states[16])
    assert "16" not in stream.state.servers


def test_a_window_forgets_the_names_of_providers_that_left() -> None:
    stream = Stream("optimal", str, {"wanted": 1}, window=16)
    for number in range(2500):
        stream.rank("q", {f"provider-{number}": 0.5, "wanted": 0.5})
    assert len(stream._state.groups) < 1100
    assert set(stream.shares()) == {"wanted", *(f"provider-{number}" for number in range(2484, 2500))}
    assert stream.shares() == Stream("optimal", str, {"wanted": 1}, window=16, state=stream.state).shares()
