"""How far a reader has to walk: files, functions and package switches behind five commands, counted by a profiler.

    python benchmarks/code_walks.py [--against CHECKOUT] [--steps evaluate]

Each walk runs in a process of its own, on one worker. A function counts at its first call; what runs while a module is
imported does not. A switch is a step from a function to one of another package, in the order of first calls. With
`--against`, the same walks run in another checkout of this project, and the table has a column for the ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import orjson

HERE = Path(__file__).parents[1]
SMALL = ["--pages", "2000", "--topics", "6", "--seed", "5"]


class Walk:
    """The functions of the package in the order of their first calls."""

    def __init__(self) -> None:
        import evenrank

        self.root = str(Path(evenrank.__file__).parent) + os.sep
        self.steps: dict[CodeType, str] = {}
        self.importing = threading.local()

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """What `sys.setprofile` calls: keeps functions that are called outside of imports."""
        code = frame.f_code
        depth = getattr(self.importing, "depth", 0)
        if code.co_name == "<module>":
            self.importing.depth = depth + (event == "call") - (event == "return")
        elif event == "call" and not depth and code.co_filename.startswith(self.root) and code.co_name[0] != "<":
            self.steps.setdefault(code, f"{code.co_filename.removeprefix(self.root)}:{code.co_qualname}")

    def run(self, work: Callable[[], object]) -> list[str]:
        """The steps of some work, in this thread and in those it starts."""
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return list(self.steps.values())


def evenrank(*arguments: object) -> None:
    """A command of the package in this process."""
    from evenrank.cli.main import cli

    cli([str(argument) for argument in arguments], standalone_mode=False)


def evaluate(folder: Path) -> Callable[[], object]:
    run = folder / "run.tsv"
    evenrank("rank", folder / "c", "--task", "1", "--policy", "relevance", "--workers", "1", "-o", run)
    return lambda: evenrank("evaluate", folder / "c", run)


def rank(folder: Path) -> Callable[[], object]:
    options = ("--task", "2", "--policy", "optimal", "--workers", "1", "-o", folder / "task2.tsv")
    return lambda: evenrank("rank", folder / "c", *options)


def annotate(folder: Path) -> Callable[[], object]:
    sys.path.insert(0, str(HERE / "tests" / "wikipedia" / "annotate"))
    import dump_sample

    files = zip(("--dump", "--wikidata", "--wikidata-ids"), dump_sample.write_sample(folder), strict=True)
    options = [part for option in files for part in option]
    return lambda: evenrank("annotate", folder / "metadata.json.gz", *options, "--workers", "1")


def index(folder: Path) -> Callable[[], object]:
    evenrank("collection", "generate", folder / "plain", *SMALL)
    return lambda: evenrank("index", folder / "plain", "--threads", "1")


def post_lists(folder: Path) -> Callable[[], object]:
    """A coordinator's request for a work list, answered by the app."""
    from starlette.testclient import TestClient

    from evenrank.app.app import create_app

    client = TestClient(create_app(folder / "c"), base_url="http://127.0.0.1", follow_redirects=False)
    form = {"title": "Rivers", "keywords": "river, lake, water"}

    def post() -> None:
        response = client.post("/lists", data=form, headers={"Origin": "http://127.0.0.1"})
        assert response.status_code == 303, response.text[:500]

    return post


WALKS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "evaluate": evaluate,
    "rank": rank,
    "POST /lists": post_lists,
    "annotate": annotate,
    "index": index,
}


def package(step: str) -> str:
    """The package of a step; of a module at the root, its name."""
    return step.partition(":")[0].removesuffix(".py").partition(os.sep)[0]


def count(steps: list[str]) -> dict[str, int]:
    return {
        "files": len({step.partition(":")[0] for step in steps}),
        "functions": len(steps),
        "switches": sum(package(one) != package(next_one) for one, next_one in pairwise(steps)),
    }


def walk(checkout: Path, name: str, folder: Path) -> list[str]:
    """The steps of a walk through the code of a checkout, in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    arguments = [sys.executable, __file__, "--child", name, str(folder)]
    done = subprocess.run(arguments, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    steps: list[str] = orjson.loads(done.stdout.splitlines()[-1])
    return steps


def prepare(folder: Path) -> None:
    """A small collection with its index, made once for all walks."""
    evenrank("collection", "generate", folder / "c", *SMALL)
    evenrank("index", folder / "c")


def measure(checkout: Path) -> dict[str, list[str]]:
    """The steps of every walk."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        walk(checkout, "prepare", folder)
        return {name: walk(checkout, name, folder) for name in WALKS}


def print_table(found: dict[str, list[str]], before: dict[str, list[str]] | None) -> None:
    heading = f"{'walk':<14}{'files':>7}{'functions':>11}{'switches':>10}"
    print(heading + ("   files and switches before, ratio" if before else ""))
    for name, steps in found.items():
        now = count(steps)
        line = f"{name:<14}{now['files']:>7}{now['functions']:>11}{now['switches']:>10}"
        if before:
            was = count(before[name])
            ratios = [now[key] / was[key] for key in ("files", "switches")]
            line += f"   {was['files']:>5} {was['switches']:>4}   {ratios[0]:.2f} {ratios[1]:.2f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="compare with this checkout of the project")
    parser.add_argument("--steps", choices=list(WALKS), help="print the steps of one walk, too")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, folder = options.child[0], Path(options.child[1])
        steps: list[Any] = []
        if name == "prepare":
            prepare(folder)
        else:
            steps = Walk().run(WALKS[name](folder))
        print("\n" + orjson.dumps(steps).decode())
        return
    found = measure(HERE)
    print_table(found, measure(options.against) if options.against else None)
    for step in found[options.steps] if options.steps else ():
        print(step)


if __name__ == "__main__":
    main()
