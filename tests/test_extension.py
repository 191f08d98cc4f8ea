"""What docs/how-to/extend.md promises: one file and one line, tried in a copy of the source."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-to" / "extend.md").read_text("utf-8")
FILES = dict(re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```$", PAGE, re.M | re.S))
LINES = {
    "measures/registry.py": (
        "measures/reciprocal_rank.py",
        "RECIPROCAL_RANK",
        "    RECIPROCAL_RANK,\n",
        "    PRECISION,\n",
    ),
    "policies/registry.py": ("policies/shuffle.py", "Shuffle", "    Shuffle,\n", "    Optimal,\n"),
    "trec/dimensions.py": (
        "trec/period.py",
        "PERIOD",
        "        PERIOD,\n",
        "        TOPIC_AGE,\n",
    ),
    "retrieval/engine/engines.py": (
        "retrieval/engine/elsewhere.py",
        "create_elsewhere, open_elsewhere",
        '        EngineKind("elsewhere", "a folder of your choice", create_elsewhere, open_elsewhere),\n',
        "for kind in (",
    ),
    "app/exports/formats.py": (
        "app/exports/markdown.py",
        "markdown_text",
        '        Format("md", "Markdown", "text/markdown", markdown_text),\n',
        '        Format("csv", "CSV", "text/csv", csv_text),\n',
    ),
}
"""List → (file, what it imports from it, the line, the line of the list that it follows)."""
EXPORT = """
import sys
from starlette.testclient import TestClient
from evenrank.app.app import create_app
site = "http://127.0.0.1"
with TestClient(create_app(sys.argv[1]), base_url=site, follow_redirects=False) as client:
    form = {"title": "Rivers", "keywords": "river, lake, water"}
    where = client.post("/lists", data=form, headers={"Origin": site}).headers["location"].removeprefix(site)
    for address in ("", ".md", "/fairness"):
        found = client.get(where + address)
        assert found.status_code == 200, found.text[:500]
        print(found.text)
"""


class Scratch:
    """A copy of the source with the six new things, and a collection to try them on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "src" / "evenrank"
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))

    def python(self, *arguments: object) -> str:
        """Standard output of Python with the copied package."""
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def evenrank(self, *arguments: object) -> str:
        return self.python("-c", "from evenrank.cli.main import main; main()", *arguments)

    def names(self, command: str) -> list[str]:
        return [row["name"] for row in json.loads(self.evenrank(command, "--format", "json"))]

    def reference(self, page: str) -> str:
        """A page of the reference, made from the copy."""
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import make_reference;"
            "print(make_reference.pages()[sys.argv[2]])"
        )
        return self.python("-c", code, ROOT / "docs", page)

    def invariants(self, tests: str, name: str) -> int:
        """How many tests of the repository run over a new entry of a list; all of them pass."""
        said = self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ROOT, ROOT / tests, "-k", name)
        found = re.search(r"(\d+) passed", said)
        assert found, said
        return int(found[1])


def add(scratch: Scratch) -> None:
    """One file and one line (with its import) for each."""
    for listing, (file, imported, line, after) in LINES.items():
        (scratch.package / file).write_text(FILES[file], "utf-8")
        path = scratch.package / listing
        text = path.read_text("utf-8")
        assert text.count(after) == 1, f"{listing}: {after!r}"
        module = "evenrank." + file.removesuffix(".py").replace("/", ".")
        first_import = text.index("\nfrom evenrank.") + 1
        text = text.replace(after, after + line)
        path.write_text(f"{text[:first_import]}from {module} import {imported}\n{text[first_import:]}", "utf-8")
    (block,) = re.findall(r"^PAPER_TOP_10 = .*?^\)\n", PAGE, re.M | re.S)
    path = scratch.package / "protocol.py"
    text = path.read_text("utf-8").replace("PROTOCOLS: dict", f"{block}PROTOCOLS: dict")
    text = text.replace(
        "(OFFICIAL_2021, PAPER_2021, OFFICIAL_2022)", "(OFFICIAL_2021, PAPER_2021, OFFICIAL_2022, PAPER_TOP_10)"
    )
    path.write_text(text.replace("import asdict, dataclass", "import asdict, dataclass, replace"), "utf-8")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = Scratch(tmp_path_factory.mktemp("scratch"))
    add(made)
    made.evenrank("collection", "generate", "made", "--pages", 2000, "--topics", 6, "--seed", 5)
    source = made.folder / "made" / "source"
    metadata = next(source.glob("*metadata*"))
    periods = ("before 1900", "since 1900", None)
    records = [json.loads(line) for line in gzip.decompress(metadata.read_bytes()).splitlines()]
    for number, record in enumerate(records):
        record["period"] = periods[number % 3]
    with_period = made.folder / "metadata.json.gz"
    with_period.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    found = {path.name: path for path in source.iterdir()}
    options = ["--metadata", with_period, "--corpus", next(p for name, p in found.items() if "corpus" in name)]
    options += ["--topics", next(p for name, p in found.items() if name.startswith("trec_topics"))]
    options += [part for name, p in found.items() if "eval" in name for part in ("--eval-topics", p)]
    made.evenrank("collection", "import", "c", *options)
    made.evenrank("index", "c", "--engine", f"elsewhere://{made.folder}/far", "--threads", 1)
    return made


def test_the_page_has_a_file_for_every_list() -> None:
    assert set(FILES) == {file for file, *_ in LINES.values()}
    for _, _, line, _ in LINES.values():
        assert f"`{line.strip()}`" in PAGE.replace("\n", " ")


def test_measure(scratch: Scratch) -> None:
    scratch.evenrank("run", "oracle", "c", "--task", 1, "--precision", 0.5, "-o", "oracle.tsv")
    scratch.evenrank("run", "oracle", "c", "--task", 1, "--precision", 0.2, "-o", "worse.tsv")
    scored = json.loads(scratch.evenrank("evaluate", "c", "oracle.tsv", "--format", "json"))
    assert 0.0 < scored["runs"][0]["scores"]["RR"] <= 1.0
    assert "RR" in scratch.names("metrics")
    assert "## RR (Task 1)" in scratch.reference("metrics.md")
    options = ("--baseline", "worse", "--measure", "RR", "--format", "json")
    [compared] = json.loads(scratch.evenrank("compare", "c", "oracle.tsv", "worse.tsv", *options))["comparisons"]
    assert compared["measure"] == "RR"
    assert {"low", "high"} <= set(compared["interval"])
    assert scratch.invariants("tests/measures", "RR") > 0


def test_policy(scratch: Scratch) -> None:
    for task in (1, 2):
        scratch.evenrank("rank", "c", "--task", task, "--policy", "shuffle", "--workers", 1, "-o", f"shuffle{task}.tsv")
        scratch.evenrank("run", "check", "c", f"shuffle{task}.tsv")
    assert "shuffle" in scratch.names("policies")
    assert "| `n_pages` | `2000` | Pages that take part. (from 1 to 100,000,000) |" in scratch.reference("policies.md")
    assert scratch.invariants("tests/policies/test_registry.py", "shuffle") > 0


def test_dimension(scratch: Scratch) -> None:
    assert "period" in json.loads(scratch.evenrank("collection", "describe", "c", "--format", "json"))["dimensions"]
    targets = scratch.evenrank("targets", "c", "--groups", "period", "--format", "tsv")
    assert targets.splitlines()[0].split("\t")[1:] == ["before 1900", "since 1900"]
    hits = scratch.evenrank("search", "c", "river", "--period", "before 1900", "--format", "tsv").splitlines()[1:]
    assert hits
    options = ("--task", 1, "--policy", "optimal", "--set", "information=period", "--workers", 1, "-o", "period.tsv")
    scratch.evenrank("rank", "c", *options)
    scored = json.loads(scratch.evenrank("evaluate", "c", "period.tsv", "--groups", "period", "--format", "json"))
    assert scored["runs"][0]["scores"]["AWRF"] > 0.8
    scratch.evenrank("report", "c", "period.tsv", "--groups", "geography,period", "-o", "report")
    assert "before 1900" in (scratch.folder / "report" / "index.html").read_text("utf-8")
    assert "## period" in scratch.reference("dimensions.md")


def test_engine(scratch: Scratch) -> None:
    assert (scratch.folder / "far" / "meta.json").exists()
    assert "river" in scratch.evenrank("search", "c", "river", "-k", 3).casefold()


def test_export_format_and_the_fairness_page(scratch: Scratch) -> None:
    pages = scratch.python("-c", EXPORT, scratch.folder / "c")
    assert "# Rivers\n\n1. [" in pages
    assert ">Markdown</a>" in pages
    assert "Period" in pages
    assert "before 1900" in pages


def test_protocol(scratch: Scratch) -> None:
    assert "paper-top-10" in scratch.names("protocols")
    scratch.evenrank("run", "oracle", "c", "--task", 1, "--precision", 0.9, "-o", "short.tsv")
    scored = json.loads(
        scratch.evenrank("evaluate", "c", "short.tsv", "--protocol", "paper-top-10", "--format", "json")
    )
    assert scored["protocol"]["task1_depth"] == 10
    assert scratch.evenrank("targets", "c", "--protocol", "paper-top-10")
    assert "`paper-top-10`" in scratch.reference("protocols.md")
