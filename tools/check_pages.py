"""Runs every example of README and docs as a newcomer would: a clean clone, `make demo`, then page after page.

    python tools/check_pages.py [--folder FOLDER] [PAGE …]

Pages run in the environment that `make demo` makes. Those that name an extra (`pip install '.[pandas]'`) come last,
after it has been installed as they say. What a page shows is compared with what comes out, as in the tests of the docs;
pages with an example that fails or prints something else are listed, and the exit code is then 1. FOLDER keeps the
clone and its environment for the next time. A page that needs a file of `../shared` gets it if it is there.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from fill_examples import CONTINUED  # noqa: E402

EXAMPLE = re.compile(r"^```(?:console|python)$", re.M)
EXTRAS = re.compile(r"pip install '\.\[([\w,]+)\]'")
IN_DEMO = {"report", "web"}
"""Extras that `make demo` installs."""
NOT_RUN = {"ranx", "lenskit"}
"""Extras whose examples are run by the tests of distributions alone."""
NEEDS = {"docs/how-to/real-wiki.md": ROOT.parent / "shared/data/ltgwiki/ltgwiki-201709-pages-articles.xml.bz2"}
"""Pages that need a file which is not part of the project."""
NOT_INSTALLED = {"docs/how-to/install.md", "docs/how-to/annotate.md", "docs/how-to/publish.md", "docs/how-to/fleet.md"}
"""Pages that name extras for what they do not run."""


def prepare(folder: Path) -> Path:
    """The Python of a clean clone after `make demo`."""
    if not (folder / ".git").exists():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
        subprocess.run(["make", "demo"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / ".venv" / "bin" / "python"


def extras_of(folder: Path, page: str) -> set[str]:
    """The extras that a page asks for beyond those of the demo."""
    if page in NOT_INSTALLED:
        return set()
    named = EXTRAS.findall((folder / page).read_text("utf-8"))
    return {extra for names in named for extra in names.split(",")} - IN_DEMO - NOT_RUN


def check(python: Path, folder: Path, page: str) -> str:
    """What is wrong with the examples of a page; empty when nothing is."""
    with tempfile.TemporaryDirectory() as place:
        needed = NEEDS.get(page)
        if needed is not None:
            (Path(place) / needed.name).symlink_to(needed)
        rest = (f"docs/{one}" for one in CONTINUED.get(page.removeprefix("docs/"), ()))
        command = [str(python), "docs/fill_examples.py", "--check", "--together", "--in", place, page, *rest]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch) / "evenrank").resolve()
        python = prepare(folder)
        every = ["README.md", *sorted(str(page.relative_to(folder)) for page in (folder / "docs").rglob("*.md"))]
        pages = options.pages or [page for page in every if EXAMPLE.search((folder / page).read_text("utf-8"))]
        continuing = {f"docs/{one}" for rest in CONTINUED.values() for one in rest}
        n_failed = 0
        for page in sorted(set(pages) - continuing, key=lambda page: (len(extras_of(folder, page)) > 0, page)):
            if page in NEEDS and not NEEDS[page].exists():
                print(f"left out  {page}: {NEEDS[page].name} is not here", flush=True)
                continue
            if extras := extras_of(folder, page):
                wanted = f".[{','.join(sorted(extras))}]"
                subprocess.run([str(python), "-m", "pip", "install", "-q", wanted], cwd=folder, check=True)
            wrong = check(python, folder, page)
            n_failed += bool(wrong)
            print(f"{'FAILED' if wrong else 'ok':<8}  {page}" + (f"\n{wrong}" if wrong else ""), flush=True)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
