"""The command line as a whole: every command loads, errors are said, exit codes mean what they should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evenrank.cli.main import CLOSED_PIPE, COMMANDS, ONE_THREAD, LazyGroup, cli
from evenrank.garbage import YOUNG_OBJECTS


def evenrank(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenrank.cli.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage:" in result.output


def test_no_command_module_is_unlisted() -> None:
    folder = Path(__file__).parents[2] / "src" / "evenrank" / "cli"
    with_command = {path.stem for path in folder.glob("*.py") if "\ndef command(" in path.read_text("utf-8")}
    assert with_command == set(COMMANDS)
    assert isinstance(cli, LazyGroup)
    assert isinstance(cli.get_command(click.Context(cli), "run"), click.Group)
    assert cli.get_command(click.Context(cli), "nothing") is None


def test_exit_codes(tmp_path: Path) -> None:
    assert evenrank("metrics").returncode == 0
    assert evenrank("nothing").returncode == 2
    assert evenrank("evaluate").returncode == 2
    missing = evenrank("collection", "describe", tmp_path / "none")
    assert missing.returncode == 2
    assert "no such folder" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_bad_import_exits_2_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("x\n{}\n")
    result = evenrank("collection", "import", tmp_path / "c", "--metadata", tmp_path / "m.json")
    assert result.returncode == 2
    assert "m.json:1" in result.stderr
    assert "m.json:2" in result.stderr
    assert not (tmp_path / "c").exists()


def test_check_exits_1_on_faults_and_convert_goes_both_ways(golden_collection, golden_runs, tmp_path: Path) -> None:
    assert evenrank("run", "check", golden_collection.path, golden_runs[0]).returncode == 1
    oracle = tmp_path / "oracle.gz"
    made = evenrank("run", "oracle", golden_collection.path, "--task", 2, "--seed", 4, "-o", oracle)
    assert made.returncode == 0, made.stderr
    good = evenrank("run", "check", golden_collection.path, oracle)
    assert (good.returncode, "valid" in good.stdout) == (0, True)
    for source, target in ((oracle, tmp_path / "o.trec"), (tmp_path / "o.trec", tmp_path / "back.gz")):
        assert evenrank("run", "convert", source, target).returncode == 0
    assert (tmp_path / "back.gz").read_bytes() == oracle.read_bytes()


def test_starting_to_evaluate_imports_nothing_heavy() -> None:
    code = "import sys, evenrank.cli.main, evenrank.cli.evaluate, evenrank.scoring.evaluate; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    heavy = {"scipy", "pandas", "matplotlib", "tantivy", "altair", "lightgbm", "onnxruntime", "tqdm", "starlette"}
    assert not loaded & heavy


def test_a_process_searches_rarely_for_cycles_and_never_at_its_end() -> None:
    """That is a sixth of the processor time of scoring one run."""
    code = (
        "import atexit, gc; from evenrank.__main__ import start; "
        "atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 0)); start()"
    )
    done = subprocess.run([sys.executable, "-c", code, "protocols"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{YOUNG_OBJECTS} True"


def test_a_full_disk_and_a_closed_pipe_are_no_traceback(golden_collection, tmp_path: Path) -> None:
    result = evenrank("run", "oracle", golden_collection.path, "--task", 1, "-o", "/dev/null/run")
    assert result.returncode == 2
    assert "could not be written" in result.stderr
    script = (
        f"{sys.executable} -m evenrank.cli.main collection describe {golden_collection.path} --format json | head -1"
    )
    piped = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in piped.stderr
    full = subprocess.run(["bash", "-c", script.replace("| head -1", "> /dev/full")], capture_output=True, text=True)
    assert (full.returncode, "No space left" in full.stderr, "Traceback" in full.stderr) == (2, True, False)
    closed = subprocess.run(["bash", "-c", script.replace("| head -1", ">&-")], capture_output=True, text=True)
    assert "Traceback" not in closed.stderr


@pytest.mark.parametrize("words", [("--help",), ("metrics",), ("rank", "--help"), ("run", "oracle", "DIR", "-o", "-")])
@pytest.mark.parametrize("both", [False, True])
def test_output_that_nobody_reads_is_no_error(golden_collection, words: tuple[str, ...], both: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    given = [str(golden_collection.path) if word == "DIR" else word for word in words]
    options = ["--task", "1"] if "oracle" in words else []
    command = [sys.executable, "-m", "evenrank.cli.main", *given, *options]
    try:
        done = subprocess.run(command, stdout=writing, stderr=writing if both else subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert done.returncode == CLOSED_PIPE
    assert not done.stderr


def test_an_error_that_nobody_reads_is_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([sys.executable, "-m", "evenrank.cli.main", "nothing"], stderr=writing, check=False)
    finally:
        os.close(writing)
    assert done.returncode == CLOSED_PIPE


@pytest.mark.parametrize(
    "arguments",
    [
        ("collection", "generate", "FILE", "--pages", 100),
        ("collection", "generate", "new", "--pages", 100, "--seed", 10**30),
        ("collection", "download", "FILE", "--source", "http://127.0.0.1:9/"),
        ("collection", "download", "new", "--source", "http://[bad/"),
        ("collection", "download", "new", "--source", "http://"),
        ("collection", "download", "new", "--source", "http://127.0.0.1:99999/"),
    ],
)
def test_places_and_addresses_that_cannot_be(tmp_path: Path, arguments: tuple[object, ...]) -> None:
    (tmp_path / "FILE").write_text("mine")
    result = evenrank(*(tmp_path / a if a in ("FILE", "new") else a for a in arguments))
    assert (result.returncode, "Traceback" in result.stderr) == (2, False), result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]


@pytest.mark.parametrize("given", [None, "3"])
def test_sums_are_made_on_one_thread_unless_it_is_said_otherwise(given: str | None) -> None:
    """The number of threads counts only if it is set before numpy is loaded."""
    code = (
        "import os, sys; from evenrank.cli import main; sys.argv = ['evenrank', '--version']\n"
        "print('numpy' in sys.modules)\n"
        "try: main.main()\n"
        "finally: print(*(os.environ[name] for name in main.ONE_THREAD))"
    )
    without = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    environment = without | ({"OPENBLAS_NUM_THREADS": given} if given else {})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    told = done.stdout.splitlines()
    assert told[0] == "False"
    assert told[-1] == f"{given or 1} 1 1"
