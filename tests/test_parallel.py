"""A parallel map: in order, bounded, and gone when its parent is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from multiprocessing import parent_process
from pathlib import Path

import pytest

from evenrank.errors import EvenrankError
from evenrank.parallel import SMALL_WORK_SECONDS, map_batches, n_cores
from evenrank.plugins import PluginWarning

SCRIPT = """
import sys, time
from evenrank.parallel import map_batches

def slow(number):
    time.sleep(0.2)
    return number

if __name__ == "__main__":
    for result in map_batches(slow, range(1000), n_workers=2):
        print(result, flush=True)
"""


def late_square(number: int) -> int:
    time.sleep(0.02 * (number % 3))
    return number * number


def fail_at_three(number: int) -> int:
    if number == 3:
        raise EvenrankError("three")
    return number


def die(_number: int) -> int:
    """Ends a worker, but not the process of the tests."""
    if parent_process() is None:
        time.sleep(SMALL_WORK_SECONDS)
        return 0
    os._exit(9)


def worker_id(_number: int) -> int:
    time.sleep(0.3)
    return os.getpid()


@pytest.mark.parametrize("n_workers", [1, 2])
def test_results_come_in_order(n_workers: int) -> None:
    assert list(map_batches(late_square, range(20), n_workers)) == [number**2 for number in range(20)]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_few_batches_are_read_ahead(n_workers: int) -> None:
    n_read = 0

    def batches() -> Iterator[int]:
        nonlocal n_read
        for number in range(100):
            n_read += 1
            yield number

    results = map_batches(late_square, batches(), n_workers)
    for n_done, _ in enumerate(results, 1):
        assert n_read <= n_done + 2 * n_workers
        if n_done == 10:
            break


@pytest.mark.parametrize("n_workers", [1, 2])
def test_an_error_of_the_function_arrives(n_workers: int) -> None:
    with pytest.raises(EvenrankError, match="three"):
        list(map_batches(fail_at_three, range(10), n_workers))


def test_a_dead_worker_is_said() -> None:
    with pytest.raises(EvenrankError, match="worker process died"):
        list(map_batches(die, range(4), 2))


@pytest.mark.parametrize("n_workers", [None, 1])
def test_no_process_is_started_unless_asked(n_workers: int | None) -> None:
    assert set(map_batches(worker_id, range(5), n_workers)) == {os.getpid()}


def test_processes_are_started_for_what_remains_after_a_second() -> None:
    assert set(map_batches(worker_id, range(2), 2)) == {os.getpid()}
    found = list(map_batches(worker_id, range(12), 2))
    n_here = found.count(os.getpid())
    assert found[:n_here] == [os.getpid()] * n_here
    assert 1 <= n_here < 12


def test_there_is_a_core() -> None:
    assert n_cores() >= 1


def hear_ctrl_c() -> None:
    """A shell starts what runs in the background with Ctrl-C ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for left processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "mapping.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )
    assert process.stdout is not None
    for _ in range(8):  # workers are started after a second
        process.stdout.readline()
    assert len(_session(process.pid)) > 2
    process.send_signal(how)
    process.wait(60)
    for _ in range(600):
        if not _session(process.pid):
            break
        time.sleep(0.05)
    assert _session(process.pid) == []


def _session(leader: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.append(int(stat.parent.name))
    return found


SCRIPT_WITHOUT_GUARD = """
import logging

import evenrank
from evenrank import parallel

log = logging.getLogger(__name__)
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
log.info("once")
parallel.SMALL_WORK_SECONDS = 0.0
items = {f"q{n}": {"a": 0.9, "b": 0.5} for n in range(40)}
found = evenrank.rerank(items, {"a": "x", "b": "y"}, workers=WORKERS)
print(len(found.rankings))
"""


@pytest.mark.parametrize("workers", [None, 2])
def test_a_script_with_a_logger_and_without_a_guard_runs_once(tmp_path: Path, workers: int | None) -> None:
    """Workers would import the script, which is its whole work again; so it is done in one process."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT_WITHOUT_GUARD.replace("WORKERS", str(workers)), "utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "40\n", "__main__: once\n")


def _warn_of_plug_in(number: int) -> int:
    time.sleep(0.6)
    warnings.warn("plug-in 'gone' is ignored", PluginWarning, stacklevel=1)
    return number


def test_workers_leave_warnings_of_plug_ins_to_their_parent(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(map_batches(_warn_of_plug_in, range(4), 2)) == [0, 1, 2, 3]
    assert "plug-in" not in capfd.readouterr().err
