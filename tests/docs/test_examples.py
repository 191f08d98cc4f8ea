"""Examples in README and docs are executed: commands must succeed, and print what the page shows."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MADE = {ROOT / "docs" / "reference" / folder for folder in ("policies", "measures")}
"""Pages whose examples are run where the pages are made (`test_reference`)."""
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent not in MADE)]
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
    "how-to/install.md",
    "how-to/your-data.md",
    "how-to/campaigns.md",
    "how-to/python.md",
    "how-to/interop.md",
    "how-to/runs.md",
    "how-to/report.md",
    "how-to/trust.md",
    "how-to/uncertainty.md",
    "how-to/pool-and-judge.md",
    "how-to/your-collection.md",
    "how-to/search.md",
    "how-to/publish.md",
    "how-to/import.md",
    "how-to/updates.md",
    "how-to/rank.md",
    "how-to/experiment.md",
    "how-to/reproduce.md",
    "how-to/run-a-server.md",
    "how-to/annotate.md",
    "how-to/topics.md",
    "how-to/extend.md",
    "how-to/work-lists.md",
    "explanation/files.md",
)
"""Pages with examples. `…` in a line stands for a time, a size, a path or a secret; alone, for lines left out."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


NEEDS = {
    "how-to/real-wiki.md": ROOT.parent / "shared/data/ltgwiki/ltgwiki-201709-pages-articles.xml.bz2",
    "how-to/stream.md": ROOT.parent / "shared/golden-2019/data",
    "decisions/measurements/real-articles.md": ROOT.parent / "shared/data/wikipedia-sample",
}
"""Pages that need a file or folder which is not part of the project: they are run where it is at hand."""


BESIDE = {"how-to/campaigns.md": ("golden_2019", "golden_2020", "golden_fairweb")}
"""Folders of `tests/` that the commands of a page find beside them."""


@pytest.mark.parametrize("name", [*COMPLETE, *NEEDS])
def test_page_shows_what_comes_out(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        if not NEEDS[name].exists():
            pytest.skip(f"{NEEDS[name].name} is not here")
        (tmp_path / NEEDS[name].name).symlink_to(NEEDS[name])
    for folder in BESIDE.get(name, ()):
        (tmp_path / folder).symlink_to(ROOT / "tests" / folder)
    session, pages = examples.Session(tmp_path), [name, *examples.CONTINUED.get(name, ())]
    found = [one for page in pages for one in examples.differences((ROOT / "docs" / page).read_text("utf-8"), session)]
    renew = " ".join(f"docs/{page}" for page in pages)
    assert not found, "\n\n".join(
        [*found, f"run: python docs/fill_examples.py {'--together ' * bool(pages[1:])}{renew}"]
    )


def test_every_page_with_examples_is_run() -> None:
    names = (*COMPLETE, *NEEDS, *(page for pages in examples.CONTINUED.values() for page in pages))
    assert {(ROOT / "docs" / name).resolve() for name in names} == set(WITH_EXAMPLES)


EXTRAS = {
    "pandas": r"import pandas|to_pandas\(|run_to_frame|qrels_frame",
    "polars": r"import polars|to_polars\(",
    "interop": r"import pyterrier|import ir_measures|pyterrier_transformer|ir_measures_objects",
    "ranx": r"import ranx|ranx_runs",
    "lenskit": r"from lenskit|lenskit_lists",
}
"""Extra → what needs it. `make demo` installs `report` and `web`; other extras are named where they are needed."""


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_pages_name_the_extras_that_their_examples_need(page: Path) -> None:
    text = page.read_text("utf-8")
    code = "\n".join(block for kind, block, _ in examples.BLOCK.findall(text) if kind == "python")
    named = {one for names in re.findall(r"pip install '\.\[([\w,]+)\]'", text) for one in names.split(",")}
    user_articles = {"pandas"} if "interop" in named else set()
    missing = [extra for extra, uses in EXTRAS.items() if re.search(uses, code) and extra not in named | user_articles]
    assert missing == [], f"say on the page: pip install '.[{','.join(missing)}]'"
    assert not re.search(r"testclient|httpx", code), "examples use what the extras bring"


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
        ("a\n…\nd", "a\nb\nc\nd", True),
        ("a\n…\nd", "a\nd", False),
        ("a\n…\nd", "a\nb\nc", False),
        ("a\n…", "a\nb\nc", True),
        ("a\n…", "b\nc", False),
    ],
)
def test_numbers_are_compared_with_tolerance_and_words_exactly(shown: str, printed: str, is_same: bool) -> None:
    assert examples._same(shown, printed) is is_same


def test_a_page_that_leaves_lines_out_shows_what_its_example_is_about() -> None:
    bare = [
        (name, code)
        for name in COMPLETE
        for kind, block, printed in examples.BLOCK.findall((ROOT / "docs" / name).read_text("utf-8"))
        for code, shown in ([(block, printed)] if kind == "python" else examples.commands(block))
        if examples.REST in (lines := shown.strip("\n").split("\n")) and len(lines) < 3
    ]
    assert bare == []


def test_renewing_a_page_keeps_what_it_leaves_out() -> None:
    shown = "\n".join(("run  0.5000", "at … s", "…", "last  0.9000"))
    output = "\n".join(("run  0.5001", "at 3 s", "one", "two", "last  0.9001"))
    renewed = "\n".join(("run  0.5001", "at … s", "…", "last  0.9001"))
    assert examples.merged(shown, output) == renewed


def test_the_user_guides_have_examples() -> None:
    guides = [page for page in PAGES if page.parent.name in ("tutorial", "how-to") or page.name == "README.md"]
    without = {page.name for page in guides if page not in WITH_EXAMPLES}
    assert without == {"deploy.md", "fleet.md"}, "a guide shows what it explains, where no server is needed"


def test_every_command_is_in_a_guide() -> None:
    from evenrank.cli.main import COMMANDS

    text = "\n".join(page.read_text("utf-8") for page in PAGES if page.parent.name != "reference")
    assert [name for name in COMMANDS if f"evenrank {name}" not in text] == []
