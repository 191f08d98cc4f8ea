"""The tests on every Python at hand, with the oldest and the newest dependencies that are allowed.

    python tools/test_matrix.py [--python PATH]... [--tests PATH]...

makes an environment for each pair in a temporary folder and prints a table. Oldest are the lower bounds in
pyproject.toml, where that Python has them; newest is what the package index has today.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13")
EXTRAS = ("report", "web")
TESTS = ("tests/io", "tests/scoring", "tests/policies", "tests/retrieval/learn", "tests/database/test_sqlite.py")
TOOLS = ("pytest<9", "pytest-timeout", "pytest-xdist", "hypothesis", "hatchling", "editables", "pandas")
CLIENTS = ("httpx", "httpx2")
"""What the test client of the oldest web framework speaks, and that of the newest."""


def pythons() -> list[str]:
    """Interpreters on the path, and those of pyenv; a name on the path may stand for one that is switched off."""
    found = [path for name in PYTHONS if (path := shutil.which(name)) and version_of(path)]
    known = {version_of(path) for path in found}
    for path in sorted(Path.home().glob(".pyenv/versions/3.1[1-9]*/bin/python")):
        if version_of(str(path)) not in known:
            known.add(version_of(str(path)))
            found.append(str(path))
    return found


def version_of(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def requirements(*, oldest: bool) -> list[str]:
    """Dependencies and extras, at their lower bounds or free."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    texts = [*project["dependencies"], *(text for name in EXTRAS for text in project["optional-dependencies"][name])]
    return [re.sub(r">=", "~=", text) if oldest else re.split(r"[<>=~]", text)[0] for text in texts]


def lower_bound(text: str) -> str:
    """`numpy~=2.0` → `numpy>=2.0,<2.1`: the oldest series, of which each Python takes what it has."""
    name, _, version = text.partition("~=")
    before, _, last = version.rpartition(".")
    return f"{name}>={version},<{before}.{int(last) + 1}" if before else text


def run_one(python: str, *, oldest: bool, tests: list[str]) -> tuple[bool, str]:
    """Whether all tests passed, and the last lines of pytest, or where it failed before."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = f"{folder}/bin/python"
        wanted = [lower_bound(text) for text in requirements(oldest=oldest)]
        install = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        install += [*TOOLS, *CLIENTS]
        made = subprocess.run([*install, *wanted], capture_output=True, text=True)
        if made.returncode and oldest:  # the oldest series of some package has no wheel for this Python
            made = subprocess.run([*install, *requirements(oldest=False)], capture_output=True, text=True)
            note = "newest (the oldest has no wheels) "
        else:
            note = ""
        if made.returncode:
            return False, f"not installed: {made.stderr.strip().splitlines()[-1]}"
        editable = ["--no-deps", "--no-build-isolation", "-e", str(HERE)]
        subprocess.run([inside, "-m", "pip", "install", "--quiet", *editable], check=True, capture_output=True)
        words = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        ended = subprocess.run(words, cwd=HERE, capture_output=True, text=True)
        last = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR")) or " in " in line]
        shown = " | ".join(last[-4:]) or ended.stderr.strip().rpartition("\n")[2]
        return ended.returncode == 0, note + shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append")
    parser.add_argument("--tests", action="append")
    chosen = parser.parse_args()
    is_green = True
    for python in chosen.python or pythons():
        for oldest in (True, False):
            has_passed, outcome = run_one(python, oldest=oldest, tests=chosen.tests or list(TESTS))
            print(f"{version_of(python)}  {'oldest' if oldest else 'newest'}  {outcome}", flush=True)
            is_green &= has_passed
    return int(not is_green)


if __name__ == "__main__":
    sys.exit(main())
