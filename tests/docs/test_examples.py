"""Examples in README and docs are executed: commands must succeed, and print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.M | re.S)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]


def commands(block: str) -> list[tuple[str, str]]:
    """(command, output shown) of a console block; `…` in an output matches anything."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        lines = part.split("\n")
        length = 1
        while lines[length - 1].endswith("\\"):
            length += 1
        found.append(("\n".join(lines[:length]), "\n".join(lines[length:]).strip()))
    return found


def shown_pattern(shown: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in shown.split("…")), re.S)


def run(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    for kind, block in BLOCK.findall(page.read_text("utf-8")):
        if kind == "python":
            exec(compile(block, str(page), "exec"), module.__dict__)
            continue
        for command, shown in commands(block):
            output = run(command, tmp_path)
            assert shown_pattern(shown).search(output), f"{command} printed:\n{output}\nnot:\n{shown}"


def test_the_user_guides_have_examples() -> None:
    guides = [page for page in PAGES if page.parent.name in ("tutorial", "how-to") or page.name == "README.md"]
    assert [page.name for page in guides if page not in WITH_EXAMPLES] == []


def test_every_command_is_in_a_guide() -> None:
    from evenrank.cli.main import COMMANDS

    text = "\n".join(page.read_text("utf-8") for page in PAGES if page.parent.name != "reference")
    assert [name for name in COMMANDS if f"evenrank {name}" not in text] == []
