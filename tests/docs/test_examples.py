"""Examples in README and docs are executed: commands must succeed, and print what the page shows."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SPEC = importlib.util.spec_from_file_location("fill_examples", ROOT / "docs" / "fill_examples.py")
assert SPEC is not None
assert SPEC.loader is not None
examples = importlib.util.module_from_spec(SPEC)
sys.modules["fill_examples"] = examples
SPEC.loader.exec_module(examples)
WITH_EXAMPLES = [page for page in PAGES if examples.BLOCK.search(page.read_text("utf-8"))]
COMPLETE = (
    "../README.md",
    "tutorial/score-a-run.md",
    "tutorial/fair-list.md",
    "how-to/install.md",
    "how-to/your-data.md",
    "how-to/python.md",
    "how-to/interop.md",
    "how-to/runs.md",
    "how-to/report.md",
    "how-to/pool-and-judge.md",
    "how-to/your-collection.md",
    "how-to/search.md",
    "how-to/publish.md",
    "how-to/import.md",
    "how-to/rank.md",
    "how-to/run-a-server.md",
    "how-to/annotate.md",
    "how-to/with-ranx.md",
    "how-to/with-pyterrier.md",
    "how-to/with-ir-measures.md",
    "how-to/with-ir-datasets.md",
    "explanation/reliability.md",
)
"""Pages that show every line that a terminal shows; elsewhere outputs may be left out, or elided with `…`."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def elided_pattern(shown: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in shown.split("…")), re.S)


NEEDS = {"how-to/real-wiki.md": ROOT.parent / "shared/data/ltgwiki/ltgwiki-201709-pages-articles.xml.bz2"}
"""Pages that need a file which is not part of the project: they are run where it is at hand."""


COMPILED = "how-to/with-ranx.md"
"""A page whose package compiles itself for a minute when it is first used."""
EVERY = [pytest.param(name, marks=[pytest.mark.long] * (name == COMPILED)) for name in (*COMPLETE, *NEEDS)]


@pytest.mark.parametrize("name", EVERY)
def test_page_shows_what_comes_out(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        if not NEEDS[name].exists():
            pytest.skip(f"{NEEDS[name].name} is not here")
        (tmp_path / NEEDS[name].name).symlink_to(NEEDS[name])
    text = (ROOT / "docs" / name).read_text("utf-8")
    found = examples.differences(text, examples.Session(tmp_path))
    assert not found, "\n\n".join([*found, f"run: python docs/fill_examples.py docs/{name}"])


OTHER = [
    page for page in WITH_EXAMPLES if page not in [(ROOT / "docs" / name).resolve() for name in (*COMPLETE, *NEEDS)]
]


@pytest.mark.parametrize("page", OTHER, ids=name_of)
def test_examples_of_a_page(page: Path, tmp_path: Path) -> None:
    session = examples.Session(tmp_path)
    for kind, block, _ in examples.BLOCK.findall(page.read_text("utf-8")):
        if kind == "python":
            session.run_python(block)
            continue
        for command, shown in examples.commands(block):
            output = session.run_command(command)
            assert elided_pattern(shown).search(output), f"{command} printed:\n{output}\nnot:\n{shown}"


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        ("run  0.8120  8", "run   0.8125   8", True),
        ("run  0.8120  8", "run   0.9125   8", False),
        ("run  0.8120  8", "run   0.8120   9", False),
        ("c: 3,000 articles, … MB", "c: 3,000 articles, 4.1 MB", True),
        ("c: 3,000 articles, … MB", "c: 3,001 articles, 4.1 MB", False),
        ("better", "worse", False),
        ("a\n──\nb", "a\n────\nb", True),
    ],
)
def test_numbers_are_compared_with_tolerance_and_words_exactly(shown: str, printed: str, is_same: bool) -> None:
    assert examples._same(shown, printed) is is_same


@pytest.mark.parametrize("name", COMPLETE)
def test_complete_pages_leave_no_line_out(name: str) -> None:
    text = (ROOT / "docs" / name).read_text("utf-8")
    shown = [line for _, block, printed in examples.BLOCK.findall(text) for line in f"{block}{printed}".split("\n")]
    assert [line for line in shown if "…" in line and not line.strip("… ")] == []


def test_the_user_guides_have_examples() -> None:
    guides = [page for page in PAGES if page.parent.name in ("tutorial", "how-to") or page.name == "README.md"]
    without = {page.name for page in guides if page not in WITH_EXAMPLES}
    assert without == {"fleet.md", "troubleshooting.md", "with-lenskit.md"}, (
        "a guide shows what it explains; servers are needed for fleet.md, an environment with LensKit for its page"
    )


def test_every_command_is_in_a_guide() -> None:
    from evenrank.cli.main import COMMANDS

    text = "\n".join(page.read_text("utf-8") for page in PAGES if page.parent.name != "reference")
    assert [name for name in COMMANDS if f"evenrank {name}" not in text] == []
