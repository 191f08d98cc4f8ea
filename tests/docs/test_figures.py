"""The figures of the documentation are drawn from the code: what is checked in is what the script draws."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
DOCS = Path(__file__).parents[2] / "docs"
SPEC = importlib.util.spec_from_file_location("figures", DOCS / "figures.py")
assert SPEC is not None
assert SPEC.loader is not None
figures = importlib.util.module_from_spec(SPEC)
sys.modules["figures"] = figures
SPEC.loader.exec_module(figures)


def drawing(path: Path) -> str:
    """The drawing without what another version of matplotlib names or rounds differently."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.1f}", path.read_text("utf-8"))


def test_every_figure_is_checked_in_and_no_other() -> None:
    assert {path.stem for path in figures.FOLDER.glob("*.svg")} == set(figures.figures())


@pytest.mark.parametrize("name", sorted(figures.figures()))
def test_figure_is_what_the_script_draws(name: str, tmp_path: Path) -> None:
    (drawn,) = figures.draw([name], tmp_path)
    assert drawing(drawn) == drawing(figures.FOLDER / drawn.name), f"run: python docs/figures.py {name}"
