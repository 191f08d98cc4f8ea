"""Names that nobody would choose, where they are shown: terminal, log, LaTeX, spreadsheet, figure."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from evenrank.cli.talk import say, warn
from evenrank.core.safe_text import cell_text, figure_text, latex_text, terminal_text, visible_line
from evenrank.scoring.tables.delimited import tsv_of
from evenrank.scoring.tables.latex import latex_of
from evenrank.scoring.tables.table import Column, Table, text_of

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


def test_the_log_has_no_codes_for_terminals() -> None:
    formatter = pytest.importorskip("evenrank.app.server").SafeFormatter("%(message)s")
    record = logging.LogRecord("evenrank", logging.INFO, "", 0, "%s", ("\x1b[2J postgresql://me:hidden@host/x",), None)
    assert formatter.format(record) == "\\x1b[2J postgresql://me@host/x"


def test_ctrl_c_while_the_command_line_is_loaded_shows_no_traceback() -> None:
    code = """
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from evenrank.__main__ import start
start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
