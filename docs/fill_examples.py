"""Runs the examples of documentation pages, and writes into the pages what they print.

    python docs/fill_examples.py docs/tutorial/score-a-run.md …
    python docs/fill_examples.py --check docs/how-to/interop.md …    # only say what differs; exit code 1

Console blocks hold commands after `$ ` and their output; a `text` block right after a `python` block is what that
prints. What is shown is what a terminal shows: standard output and standard error. The test of the examples runs the
same code and compares, with numbers rounded. A line with `…` in the page is kept as it is where the output matches it:
it stands for a path, a secret or a time. A line `…` alone stands for one or more lines that are left out.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

CONTINUED = {"how-to/pool-and-judge.md": ("how-to/judgments.md",)}
"""Page → pages that continue it, with the files that it made."""
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.M | re.S)
REST = "…"
"""A line that stands for one or more lines of the output."""
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
RELATIVE = 0.05
"""Fractions in pages may differ from the output by this part, or by `ABSOLUTE`: libraries and processors differ."""
ABSOLUTE = 0.02


def commands(block: str) -> list[tuple[str, str]]:
    """(command, output shown) of a console block."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        lines = part.split("\n")
        length = 1
        while lines[length - 1].endswith("\\"):
            length += 1
        found.append(("\n".join(lines[:length]), "\n".join(lines[length:]).strip("\n")))
    return found


@dataclass
class Session:
    """A folder in which the examples of one page run, one after the other."""

    folder: Path
    module: ModuleType = field(default_factory=lambda: ModuleType("example"))
    """Holds the names of Python blocks; classes defined there can be found again."""

    def run_command(self, command: str) -> str:
        """What a command prints on standard output and standard error; an error when it fails."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {{ {command}\n}} 2>&1"],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 141):
            raise AssertionError(f"$ {command}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.rstrip().lstrip("\n")

    def run_python(self, code: str) -> str:
        """What Python prints; names stay for the next block."""
        before = Path.cwd()
        printed = io.StringIO()
        os.chdir(self.folder)
        sys.modules["example"] = self.module
        try:
            with redirect_stdout(printed):
                exec(compile(code, "example", "exec"), self.module.__dict__)
        finally:
            os.chdir(before)
        return printed.getvalue().strip("\n")


def filled(text: str, session: Session) -> str:
    """The page with the outputs of its examples as they are now."""

    def replace(match: re.Match[str]) -> str:
        kind, block, shown = match.groups()
        if kind == "python":
            output = session.run_python(block)
            return f"```python\n{block}```\n" + (f"\n```text\n{merged(shown or '', output)}\n```\n" if output else "")
        parts = [f"$ {line}\n{_ended(merged(old, session.run_command(line)))}" for line, old in commands(block)]
        return f"```console\n{''.join(parts)}```\n"

    return BLOCK.sub(replace, text)


def _ended(text: str) -> str:
    return f"{text}\n" if text else ""


def merged(shown: str, output: str) -> str:
    """The output as the page shows it: lines with `…` stay where they match, and lines left out stay left out."""
    old, new = shown.split("\n"), output.split("\n")
    if REST in old and (found := aligned(old, new)) is not None:
        pairs: Iterable[tuple[str | None, str]] = found
    else:
        kept = [line for line in old if "…" in line and line != REST]
        pairs = ((next((one for one in kept if line_matches(one, line)), None), line) for line in new)
    return "\n".join(_shown(*pair).rstrip() for pair in pairs)


def _shown(old: str | None, line: str) -> str:
    return old if old is not None and "…" in old else line


def aligned(shown: Sequence[str], output: Sequence[str]) -> list[tuple[str | None, str]] | None:
    """(line shown, line of output) pairs of a page that leaves lines out; None where they do not fit together."""
    if REST not in shown:
        fits = len(shown) == len(output) and all(map(line_matches, shown, output))
        return list(zip(shown, output, strict=True)) if fits else None
    start = shown.index(REST)
    if start >= len(output) or not all(map(line_matches, shown[:start], output)):
        return None
    for resumed in range(start + 1, len(output) + 1):
        rest = aligned(shown[start + 1 :], output[resumed:])
        if rest is not None:
            return [*zip(shown[:start], output, strict=False), (REST, REST), *rest]
    return None


def line_matches(shown: str, line: str) -> bool:
    """Whether a line of output is the one shown; `…` stands for anything, fractions are compared with tolerance."""
    if "…" in shown:
        return re.fullmatch(".*?".join(re.escape(part) for part in shown.split("…")), line) is not None
    left, right = NUMBER.split(_squeezed(shown)), NUMBER.split(_squeezed(line))
    numbers = list(zip(NUMBER.findall(shown), NUMBER.findall(line), strict=False))
    return left == right and all(_is_near(one, other) for one, other in numbers)


def _squeezed(line: str) -> str:
    return re.sub(r"[ ─]+", " ", line).strip()


def _is_near(shown: str, found: str) -> bool:
    if "." not in shown and "." not in found:
        return shown == found
    one, other = (float(text.replace(",", "")) for text in (shown, found))
    return abs(one - other) <= max(ABSOLUTE, RELATIVE * abs(one))


def differences(text: str, session: Session) -> list[str]:
    """What the examples of a page print that it does not show."""
    found = []
    for kind, block, shown in BLOCK.findall(text):
        pairs = [(block, shown.strip("\n"))] if kind == "python" else commands(block)
        for code, expected in pairs:
            output = session.run_python(code) if kind == "python" else session.run_command(code)
            if not _same(expected, output):
                found.append(f"{code.strip()}\nprinted:\n{output}\nnot:\n{expected}")
    return found


def _same(shown: str, output: str) -> bool:
    return aligned(shown.split("\n"), output.split("\n")) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say what differs")
    parser.add_argument("--together", action="store_true", help="pages continue each other, with the same files")
    parser.add_argument("--in", dest="place", type=Path, help="run the examples in this folder")
    parser.add_argument("pages", nargs="+", type=Path)
    options = parser.parse_args()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, page in enumerate(options.pages):
            if number == 0 or not options.together:
                place = options.place or Path(folder) / str(number)
                place.mkdir(exist_ok=True)
                session = Session(place)
            if options.check:
                found += differences(page.read_text("utf-8"), session)
            else:
                page.write_text(filled(page.read_text("utf-8"), session), "utf-8")
    if found:
        sys.exit("\n\n".join(found))


if __name__ == "__main__":
    main()
