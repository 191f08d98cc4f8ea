"""Names that nobody would choose, where they are shown: terminal, log, LaTeX, spreadsheet, figure."""

from __future__ import annotations

import io
import logging
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from evenrank import oracle_run, write_run
from evenrank.cli.talk import say, warn
from evenrank.core.safe_text import TerminalOutput, cell_text, figure_text, latex_text, terminal_text, visible_line
from evenrank.scoring.tables import Column, Table, latex_of, text_of, tsv_of
from evenrank.trec.collection import Collection

NAMES = ("$\\frac{1}{$", "\udcff", "two\nlines", "\x1b]0;title\x07", "\u202egnp", "a\tb", "=1+1")
"""A formula that is none, a byte that is no text, a line feed, a code for terminals, a turn of direction, a tab."""


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_a_terminal_obeys_is_left(name: str) -> None:
    for made in (
        visible_line(name),
        figure_text(name),
        latex_text(name),
        text_of(Table((Column("run", "run"),), ((name,),))),
    ):
        made.encode("utf-8")
        assert not set(made.rstrip("\n").replace("\n─", "").replace("─\n", "")) & set("\x1b\x07\u202e\t")
    assert "\n" not in visible_line(name)


def test_what_is_shown_tells_names_apart() -> None:
    shown = [visible_line(name) for name in (*NAMES, "\xff", "\udcfe")]
    assert shown[1:5] == ["\\xff", "two\\nlines", "\\x1b]0;title\\x07", "\\u202egnp"]
    assert len(set(shown)) == len(shown)
    assert terminal_text("two\nlines") == "two\nlines"
    assert cell_text(" =1+1") == "'=1+1"


@pytest.mark.parametrize("name", NAMES)
def test_tables_take_any_name(name: str) -> None:
    table = Table((Column("run", "run"), Column("score", "score")), ((name, 0.5), ("other", 0.25)))
    for make in (latex_of, tsv_of, text_of):
        lines = make(table).encode("utf-8").splitlines()
        assert len(lines) == len(make(Table(table.columns, (("plain", 0.5), ("other", 0.25)))).splitlines())


def test_figures_take_any_name() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    for place, name in enumerate(NAMES):
        axes.text(0.1, place / 10, figure_text(name))
    figure.canvas.draw()


def test_notes_and_warnings_have_no_codes_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    say("run \x1b]0;title\x07 is \udcff")
    warn("run \x1b[2J")
    assert capsys.readouterr().err == "run \\x1b]0;title\\x07 is \\xff\nwarning: run \\x1b[2J\n"


HOSTILE_FILES = (b"$\\frac{1}{$.tsv", b"\xff.tsv", b"\x1b]0;title\x07.tsv", b"\xe2\x80\xaegnp.tsv")


@pytest.fixture
def hostile_runs(golden_collection: Collection, tmp_path: Path) -> list[bytes]:
    write_run(oracle_run(golden_collection, 1, 0.9).run, tmp_path / "run.tsv")
    paths = [os.fsencode(tmp_path / "runs") + b"/" + name for name in HOSTILE_FILES]
    (tmp_path / "runs").mkdir()
    for path in paths:
        shutil.copy(os.fsencode(tmp_path / "run.tsv"), path)
    return paths


COMMANDS = (
    ("evaluate", "--format", "json"),
    ("evaluate",),
    ("trust", "--topics-only"),
    ("trust", "--topics-only", "--format", "json"),
    ("run check",),
    ("run check", "--format", "json"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_take_files_of_any_name(
    command: tuple[str, ...], golden_collection: Collection, hostile_runs: list[bytes]
) -> None:
    """JSON of a name that is no text was a traceback; `trust` printed names as they are."""
    words = [*command[0].split(), str(golden_collection.path), *command[1:], "--", *hostile_runs]
    done = subprocess.run([sys.executable, "-m", "evenrank", *words], capture_output=True)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr
    text = done.stdout.decode()
    assert "\\xff" in text
    assert not set(text) & set("\x1b\x07" if "json" in command else "\x1b\x07\u202e")


def test_a_report_takes_files_of_any_name(
    golden_collection: Collection, hostile_runs: list[bytes], tmp_path: Path
) -> None:
    """The figure of scores by depth took `$\\frac{1}{$` for a formula."""
    pytest.importorskip("matplotlib")
    words = ["report", str(golden_collection.path), "-o", str(tmp_path / "report"), "--", *hostile_runs]
    done = subprocess.run([sys.executable, "-m", "evenrank", *words], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "\\xff" in page
    assert not set(page) & set("\x1b\x07")


def test_nothing_that_a_command_prints_is_obeyed_by_a_terminal(
    golden_collection: Collection, hostile_runs: list[bytes]
) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    words = ["run", "check", str(golden_collection.path), *hostile_runs]
    done = subprocess.Popen([sys.executable, "-m", "evenrank", *words], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # how a terminal ends
        while piece := os.read(ours, 65536):
            shown += piece
    os.close(ours)
    done.wait()
    assert b"title" in shown
    assert b"Traceback" not in shown
    assert not set(shown.decode()) & set("\x1b\x07\u202e")


def test_bold_is_the_only_code_that_reaches_a_terminal() -> None:
    written = io.BytesIO()
    output = TerminalOutput(written, "utf-8", write_through=True)
    output.write("\x1b[1mbest\x1b[0m \x1b[2J\x1b[31m\n")
    assert written.getvalue() == b"\x1b[1mbest\x1b[0m \\x1b[2J\\x1b[31m\n"


def test_the_log_has_no_codes_for_terminals() -> None:
    formatter = pytest.importorskip("evenrank.app.server").SafeFormatter("%(message)s")
    record = logging.LogRecord("evenrank", logging.INFO, "", 0, "%s", ("\x1b[2J postgresql://me:hidden@host/x",), None)
    assert formatter.format(record) == "\\x1b[2J postgresql://me@host/x"


@pytest.mark.parametrize("module", ["click", "evenrank.cli.evaluate"])
def test_ctrl_c_while_the_command_line_is_loaded_shows_no_traceback(module: str) -> None:
    """Ctrl-C in the middle of a class statement is a RuntimeError before Python 3.12."""
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start the tests with the signal ignored
class Named:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            class Owner:
                named = Named()
sys.meta_path.insert(0, Interrupt())
from evenrank.__main__ import start
sys.argv = ["evenrank", "evaluate", "--help"]
start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
