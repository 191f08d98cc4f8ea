"""A stream: what it counts, that it can be saved, replayed, shared by threads and killed."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import evenrank
from evenrank import Stream, StreamState
from evenrank.errors import EvenrankError, InputError, ReplayError
from evenrank.policies.stream_policies import UNIT, StreamRequest
from evenrank.ranking.stream import MAX_PENDING
from evenrank.ranking.stream_log import read_log

GROUPS = {f"i{number}": f"g{number % 5}" for number in range(60)}
POLICIES = sorted(evenrank.STREAM_POLICIES)
SETUPS: tuple[dict[str, Any], ...] = (
    {},
    {"window": 20},
    {"half_life": 10},
    {"exposure": "impact", "attention": "gerr:0.5,0.7"},
    {"target": "population"},
    {"target": "equal", "window": 16},
    {"target": {"g0": 3, "g1": 1}, "attention": "rbp:0.9"},
)


def requests(n_requests: int, seed: int = 0) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [
        {f"i{item}": round(float(rng.random()), 3) for item in rng.choice(60, 8, replace=False)}
        for _ in range(n_requests)
    ]


def test_one_request_is_counted_as_worked_by_hand() -> None:
    stream = Stream("relevance", {"a": "x", "b": "y"}, attention="reciprocal")
    ranking = stream.rank("tea", {"b": 0.25, "a": 0.75, "c": 0.5})
    assert ranking[:] == ["a", "c", "b"]
    assert (len(ranking), ranking[0], ranking.number, ranking.query) == (3, "a", 1, "tea")
    shares = stream.shares()
    assert shares["x"].exposure == pytest.approx(1 / (1 + 1 / 3), rel=1e-6)
    assert shares["x"].target == pytest.approx(0.75)
    document = evenrank.StreamState.from_bytes(stream.state.to_bytes())
    (part,) = document.servers.values()
    assert part.slices[0].sums[:, document.groups["y"]].tolist() == [round(UNIT / 3), UNIT // 4, UNIT]
    assert part.slices[0].offered == round(math.fsum([1, 1 / 2, 1 / 3]) * UNIT)


def test_groups_may_repeat_have_weights_be_a_function_or_come_with_the_item() -> None:
    stream = Stream("relevance", {"a": ["x", "x"], "b": {"x": 0.5, "y": 0.5}}, target="population")
    stream.rank("q", [("a", 1.0), ("b", 0.5), ("c", 0.2, "z"), ("d", 0.1)])
    assert {group: share.target for group, share in stream.shares().items()} == {"x": 0.625, "y": 0.125, "z": 0.25}
    own = Stream("relevance", str, target="population")
    own.rank("q", {7: 1.0, 8: 0.5})
    assert own.shares()["7"].target == 0.5


def test_items_may_be_numbers_of_numpy_or_a_series() -> None:
    pandas = pytest.importorskip("pandas")
    assert Stream().rank("q", [(np.int64(5), np.float32(0.5)), ("ø", 1)])[:] == ["ø", 5]
    assert Stream().rank("q", pandas.Series({"a": 0.1, "b": 0.2}))[:] == ["b", "a"]
    for time in (math.nan, math.inf, 1e300, 10**400, "noon", True):
        with pytest.raises(EvenrankError, match="time is"):
            Stream(window=5).rank("q", {"a": 1.0}, time=time)  # type: ignore[arg-type]


def test_attention_may_be_a_file_for_a_stream_and_never_for_a_state(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("1\n0.5\n")
    assert Stream(attention=f"table:{tmp_path}/weights").accounting.attention == "table:1.0,0.5"
    document = Stream().state.to_bytes().replace(b'"log"', f'"table:{tmp_path}/weights"'.encode())
    with pytest.raises(InputError, match="this is not a list of weights"):
        StreamState.from_bytes(document)


def test_names_of_numpy_whole_numbers_and_sets_are_logged_as_they_are_counted(tmp_path: Path) -> None:
    groups = {"a": [1, 1], "b": np.str_("x"), "c": {"z", "y", "x"}}
    with Stream("relevance", groups, window=np.int64(50), log=tmp_path / "log") as stream:
        ranking = stream.rank(np.str_("q"), {np.str_("a"): 1.0, "b": 0.5, "c": 0.4}, time=np.float32(3))
    assert [one.groups for one in ranking.candidates] == [{"1": 2.0}, {"x": 1.0}, {"x": 1.0, "y": 1.0, "z": 1.0}]
    assert list(ranking.candidates[2].groups) == ["x", "y", "z"]
    assert Stream.replay(tmp_path / "log").state == stream.state


def test_windows_of_one_length_are_one_setting() -> None:
    states = [Stream(server=name, window=length).state for name, length in (("a", 5), ("b", 5.0))]
    assert states[0].merge(states[1]).to_bytes() == states[1].merge(states[0]).to_bytes()


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    for read in (Stream.replay, StreamState.load, evenrank.measure_stream):
        with pytest.raises(InputError, match=r"nowhere: No such file or directory"):
            read(tmp_path / "nowhere")
        with pytest.raises(InputError, match="a folder, where a file was expected"):
            read(tmp_path)


def test_groups_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("item,group,share\na,x,1\na,y,0.5\na,x,1\n7,ünïcødé,1\n", "utf-8")
    stream = Stream("relevance", path, target="population")
    stream.rank("q", {"a": 1.0, 7: 0.5})
    assert {group: share.target for group, share in stream.shares().items()} == {
        "x": pytest.approx(2 / 3.5),
        "y": pytest.approx(0.5 / 3.5),
        "ünïcødé": pytest.approx(1 / 3.5),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "columns \\(none\\)"),
        ("item,group\na\n\nb,x,y\n", "1 cells, where 2(.|\\n)*:4: 3 cells"),
        ("item,group,share\na,x,-1\n,x,1\n", "share '-1'(.|\\n)*no item"),
        ("item,group\n\xff,x\n", "not CSV in UTF-8"),
    ],
)
def test_faults_of_a_groups_file_name_their_lines(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "groups.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=said):
        Stream(groups=path)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("abc", "items are a str"),
        (7, "items are a int"),
        ({"a": math.nan, "b": -1, "c": "x", "d": True, "e": 1e300}, "item 5: 'e' has relevance 1e\\+300"),
        ([("a", 1.0), ("a", 0.5)], "item 2: item 'a' comes twice"),
        ([("a",)], "not a pair"),
        ([(None, 1.0)], "item is a NoneType"),
        ([("\ud800", 1.0)], "surrogate"),
        ([(1 << 70, 1.0)], "too large a number"),
        ([(True, 1.0)], "item is a bool"),
        ([("a", 1.0, {"x": -1})], "group weights 'x': -1"),
        ([("a", 1.0, 5)], "groups are a int"),
    ],
)
def test_bad_requests_are_refused_with_every_fault_and_nothing_is_counted(items: Any, said: str) -> None:
    stream = Stream("fairco", GROUPS)
    with pytest.raises(EvenrankError, match=said):
        stream.rank("q", items)
    assert stream.state == Stream("fairco", GROUPS).state


def test_bad_set_up_is_refused() -> None:
    for options, said in (
        ({"policy": "fairko"}, "did you mean 'fairco'"),
        ({"policy": "fairco:gain=x"}, "gain=x: not a number"),
        ({"policy": "fairco", "settings": {"gain": -1}}, "gain is -1"),
        ({"policy": 7}, "no method `order`"),
        ({"target": "fair"}, "unknown target 'fair'"),
        ({"target": {}}, "every share is 0"),
        ({"target": 3}, "target: a value of type int"),
        ({"window": 0}, "window is 0"),
        ({"window": 1e-300}, "window is 1e-300"),
        ({"window": 10**400}, "window is 10000"),
        ({"half_life": math.inf}, "half_life is inf"),
        ({"seed": 1 << 70}, "seed"),
        ({"window": 5, "half_life": 5}, "not both"),
        ({"exposure": "sight"}, "unknown kind of exposure"),
        ({"attention": "table:1,2"}, "more than rank"),
        ({"seed": "x"}, "seed"),
        ({"groups": 5}, "groups: int"),
        ({"server": ""}, "server: the name is empty"),
    ):
        with pytest.raises(EvenrankError, match=said):
            Stream(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_empty_and_groupless_requests_are_ranked(policy: str) -> None:
    stream = Stream(policy)
    assert stream.rank("", {})[:] == []
    assert set(stream.rank("q", {"a": 0.0, "b": 0.0})) == {"a", "b"}
    assert stream.rank("q", {"a": 0.5})[:] == ["a"]
    assert stream.shares() == {}


@pytest.mark.parametrize("setup", SETUPS, ids=str)
@pytest.mark.parametrize("policy", POLICIES)
def test_replays_recoveries_and_continued_states_are_equal_byte_by_byte(
    policy: str, setup: dict[str, Any], tmp_path: Path
) -> None:
    log = tmp_path / "stream.log"
    other = Stream("relevance", GROUPS, server="other", **setup)
    for items in requests(30, seed=1):
        other.rank("q", items)
    with Stream(policy, GROUPS, log=log, **setup) as stream:
        for number, items in enumerate(requests(60)):
            stream.rank(f"q{number % 7}", items)
            if number == 30:
                stream.absorb(other.state.to_bytes())
        state = stream.state.to_bytes()
    assert Stream.replay(log).state.to_bytes() == state
    recovered = Stream(policy, GROUPS, log=log, **setup)
    assert recovered.state.to_bytes() == state
    loaded = Stream(policy, GROUPS, state=StreamState.from_bytes(state), **setup)
    for items in requests(20, seed=2):
        assert recovered.rank("q", items) == loaded.rank("q", items)
    assert recovered.state == loaded.state
    recovered.checkpoint()
    recovered.rank("q", requests(1, seed=3)[0])
    recovered.close()
    assert len(list(read_log(log))) == 2
    assert Stream.replay(log).state == recovered.state


def test_a_closed_stream_ranks_no_more_and_old_states_are_not_logged(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    other = Stream("relevance", GROUPS, server="other")
    other.rank("q", {"i1": 0.5})
    with Stream("relevance", GROUPS, log=log) as stream:
        for _ in range(3):
            stream.absorb(other.state)
    assert len(list(read_log(log))) == 2
    with pytest.raises(EvenrankError, match="the stream was closed"):
        stream.rank("q", {"i1": 0.5})
    assert set(stream.shares()) == {"g1"}


def test_two_runs_write_the_same_log(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with Stream("random", GROUPS, log=tmp_path / name, seed=7) as stream:
            for items in requests(20):
                stream.rank("q", items)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_changed_log_does_not_replay(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    with Stream("relevance", GROUPS, log=log) as stream:
        stream.rank("q", {"i1": 0.9, "i2": 0.1})
    log.write_bytes(log.read_bytes().replace(b'"order":[0,1]', b'"order":[1,0]'))
    with pytest.raises(ReplayError, match=r"stream.log:2: ranks 0, 1, where the log has 1, 0"):
        Stream.replay(log)
    log.write_bytes(log.read_bytes().replace(b'"order":[1,0]', b'"order":[1,1]'))
    with pytest.raises(InputError, match=r"stream.log:2: the order is not one of its items"):
        Stream(groups=GROUPS, log=log)


def test_a_policy_that_changes_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    for policy in ("relevance", "fairco:gain=1", "optimal"):
        with Stream(policy, GROUPS, log=log) as stream:
            for items in requests(10):
                stream.rank("q", items)
            state = stream.state
    assert Stream.replay(log).state == state


def test_a_log_belongs_to_one_server_one_way_of_counting_and_one_process(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    with Stream("relevance", GROUPS, log=log) as stream:
        stream.rank("q", {"i1": 0.5})
        with pytest.raises(EvenrankError, match="another evenrank process"):
            Stream("relevance", GROUPS, log=log)
    with pytest.raises(EvenrankError, match="is the log of server 'main'"):
        Stream("relevance", GROUPS, log=log, server="b")
    with pytest.raises(EvenrankError, match=r"window is 5\.0 and None"):
        Stream("relevance", GROUPS, log=log, window=5)
    with pytest.raises(EvenrankError, match="holds the state already"):
        Stream("relevance", GROUPS, log=log, state=stream.state)
    for text in ("{}\n", "a line of a letter", '{"schema":"evenrank.stream'):
        (tmp_path / "foreign").write_text(text)
        with pytest.raises(InputError, match="not the log of a stream"):
            Stream(log=tmp_path / "foreign")
        assert (tmp_path / "foreign").read_text() == text


def test_threads_share_a_stream(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    with Stream("fairco", GROUPS, log=log) as stream:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda items: stream.rank("q", items), requests(200)))
        assert sorted(answer.number for answer in answers) == list(range(1, 201))
        state = stream.state
    assert Stream.replay(log).state == state


def test_clicks_are_exposure_when_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    with Stream("optimal", {"a": "x", "b": "y"}, exposure="clicks", log=log) as stream:
        first = stream.rank("q", {"a": 0.6, "b": 0.5})
        assert stream.shares()["x"].exposure == 0.0
        stream.observe(first.number, ["a", "a"])
        stream.observe(first.number, {"b": 1})
        assert stream.shares()["x"].exposure == pytest.approx(2 / 3)
        second = stream.rank("q", {"a": 0.6, "b": 0.5})
        assert second[:] == ["b", "a"]
        for clicks, said in (({"c": 1}, "no item c"), ({"a": -1}, "not numbers")):
            with pytest.raises(EvenrankError, match=said):
                stream.observe(1, clicks)  # type: ignore[arg-type]
        for wrong in ("a", None, 3, [["a"]]):
            with pytest.raises(EvenrankError, match=r"clicks: .*give a list of items"):
                stream.observe(1, wrong)  # type: ignore[arg-type]
        with pytest.raises(EvenrankError, match=r"ranking \[1\] is not one"):
            stream.observe([1], ["a"])  # type: ignore[arg-type]
        with pytest.raises(EvenrankError, match=f"ranking 9 is not one of the last {MAX_PENDING:,}"):
            stream.observe(9, ["a"])
        stream.checkpoint()
        stream.observe(second.number, ["b"])
        state = stream.state
    assert Stream.replay(log).state == state
    assert Stream("optimal", exposure="clicks", log=log).state == state
    with pytest.raises(EvenrankError, match="exposure is counted by position"):
        Stream().observe(1, ["a"])


def test_a_window_forgets_and_a_half_life_fades() -> None:
    window = Stream("relevance", str, "population", 16)
    fading = Stream("relevance", str, "population", half_life=4)
    for stream in (window, fading):
        stream.rank("q", {"old": 1.0}, time=0)
        stream.rank("q", {"new": 1.0}, time=4)
    assert window.shares()["old"].target == 0.5
    assert fading.shares()["old"].target == pytest.approx(1 / 3)
    window.rank("q", {"new": 1.0}, time=16)
    assert "old" not in window.shares()
    window.rank("q", {"late": 1.0}, time=0)
    assert "late" not in window.shares()
    late = Stream("relevance", str, "population", half_life=4)
    for item, time in (("new", 4), ("old", 0)):
        late.rank("q", {item: 1.0}, time=time)
    assert late.shares() == fading.shares()


@pytest.mark.parametrize("setup", [{"window": 100}, {"half_life": 10}], ids=str)
def test_a_server_with_fewer_requests_than_others_is_counted(setup: dict[str, Any], tmp_path: Path) -> None:
    busy = Stream("relevance", str, "population", server="busy", **setup)
    for _ in range(500):
        busy.rank("q", {"old": 1.0})
    log = tmp_path / "stream.log"
    with Stream("relevance", str, "population", server="new", log=log, **setup) as stream:
        stream.absorb(busy.state)
        stream.rank("q", {"new": 1.0})
        assert stream.shares()["new"].target > 0.0
        busy.absorb(stream.state)
        assert busy.shares() == stream.shares()
    assert Stream.replay(log).state == stream.state


def test_a_late_request_is_recovered_and_not_counted(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    for _ in range(2):
        with Stream("relevance", str, window=16, log=log) as stream:
            stream.rank("q", {"new": 1.0}, time=100)
            stream.rank("q", {"late": 1.0}, time=1)
    with Stream("relevance", str, window=16, log=log) as again:
        assert again.shares() == stream.shares()
        assert set(again.shares()) == {"new"}
        assert again.state == stream.state


def test_changed_groups_count_from_then_on() -> None:
    stream = Stream("relevance", {"a": "x"}, target="population")
    stream.rank("q", {"a": 1.0})
    stream.replace_groups({"a": "y"})
    stream.rank("q", {"a": 1.0})
    assert {group: share.exposure for group, share in stream.shares().items()} == {"x": 0.5, "y": 0.5}


def test_a_new_provider_starts_without_debt_or_credit() -> None:
    for policy in ("optimal", "fairco:prior=1"):
        stream = Stream(policy, str)
        for items in requests(40):
            stream.rank("q", dict.fromkeys(items, 0.5))
        order = stream.rank("q", {"newcomer": 0.5, "worse": 0.1, "better": 0.9})
        assert order[:] == ["better", "newcomer", "worse"]


def test_a_policy_of_ones_own_is_an_object_with_an_order() -> None:
    class Backwards:
        name = "backwards"
        citation = "none"

        def order(self, request: StreamRequest) -> NDArray[np.intp]:
            return np.arange(len(request))[::-1]

    assert Stream(Backwards()).rank("q", {"a": 1.0, "b": 0.5})[:] == ["b", "a"]  # type: ignore[arg-type]
    Backwards.order = lambda self, request: [0, 0]  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(EvenrankError, match="did not return an order of the 2 candidates"):
        Stream(Backwards()).rank("q", {"a": 1.0, "b": 0.5})  # type: ignore[arg-type]


SERVER = """
import sys
import evenrank
stream = evenrank.Stream("fairco", str, log=sys.argv[1], fsync=True)
while True:
    ranking = stream.rank("q", {"a": 0.9, "b": 0.8, "c": 0.7})
    print(ranking.number, flush=True)
"""


def test_a_killed_server_has_lost_nothing_that_it_answered(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    answered = 0
    for round_ in range(3):
        process = subprocess.Popen([sys.executable, "-c", SERVER, str(log)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(20 + round_):
            answered = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        answered = max([answered, *map(int, process.stdout.read().split("\n")[:-1])])
        process.wait()
        with Stream("fairco", str, log=log) as stream:
            n_logged = stream.state.servers["main"].n_requests
        assert answered <= n_logged <= answered + 1
    assert Stream.replay(log).state == stream.state


def test_a_line_that_was_not_finished_is_cut_off(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    with Stream("relevance", str, log=log) as stream:
        stream.rank("q", {"a": 0.9})
        state = stream.state
    whole = log.read_bytes()
    for cut in (1, 20, len(whole.split(b"\n")[1])):
        log.write_bytes(whole + whole.split(b"\n")[1][:cut])
        with Stream("relevance", str, log=log) as stream:
            assert stream.state == state
        assert log.read_bytes() == whole
    log.write_bytes(whole + b"not JSON\n")
    with pytest.raises(InputError, match=r":3: not JSON"):
        Stream("relevance", str, log=log)


FULL_DISK = """
import resource, sys
import evenrank
stream = evenrank.Stream("relevance", str, log=sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    while True:
        stream.rank("q", {"a": 0.9, "b": 0.8})
except evenrank.EvenrankError as error:
    print(error)
stream.save(sys.argv[2])
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are POSIX")
def test_a_full_disk_refuses_the_request_and_keeps_the_log_whole(tmp_path: Path) -> None:
    log, saved = tmp_path / "stream.log", tmp_path / "state.json"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(log), str(saved)], capture_output=True, text=True, check=True
    )
    assert "nothing was counted" in done.stdout
    assert StreamState.load(saved).servers["main"].n_requests > 3
    assert Stream.replay(log).state == StreamState.load(saved)
