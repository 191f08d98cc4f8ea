"""What docs/how-to/extend.md promises: the package of that page is built, installed and used, part by part."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-to" / "extend.md").read_text("utf-8")
FILES = dict(re.findall(r"^```(?:python|toml)\n# (\S+\.(?:py|toml))\n(.*?)^```$", PAGE, re.M | re.S))
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
OBJECTS = """
import evenrank
from my_plugin.measures import groups_shown
from my_plugin.policies import shuffle
rankings = {"q": {"a": 0.9, "b": 0.8, "c": 0.4}}
groups = {"a": "x", "b": "x", "c": "y"}
fair = evenrank.rerank(rankings, groups, policy=shuffle)
print(len(fair.to_pandas()))
print(evenrank.score(rankings, groups, target="equal", measures=[groups_shown, "GroupsShown@1"]).scores)
"""

STUDY = """
title = "With a plug-in"
seed = 1
[tuning]
budget = 1
[measures]
task1 = ["Score", "FirstRelevant"]
task2 = ["EE-L", "FirstRelevant"]
[[data]]
name = "usual"
world = "usual"
pages = 1500
topics = 6
seeds = [7]
tasks = [1, 2]
[[policies]]
name = "relevance"
[[policies]]
name = "round-robin"
"""


def install(package: Path, site: Path) -> None:
    """Build a package and put it, with its entry points, into a folder of its own; nothing is downloaded."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--target", str(site)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(package)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


class Scratch:
    """A folder with the plug-in installed beside Evenrank, and a collection to try it on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "site"

    def python(self, *arguments: object) -> str:
        """Standard output of Python with the plug-in installed."""
        paths = [str(self.site), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
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


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    pytest.importorskip("hatchling")
    made = Scratch(tmp_path_factory.mktemp("scratch"))
    package = made.folder / "package"
    for name, text in FILES.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (package / "my_plugin" / "__init__.py").touch()
    install(package, made.site)
    install(ROOT / "examples" / "plugin", made.site)
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


def test_the_example_package_is_small() -> None:
    """The promise of the page: a policy and a measure in about fifty lines, tables of the project included."""
    files = [path for path in (ROOT / "examples" / "plugin").rglob("*") if path.suffix in (".py", ".toml")]
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) < 60


def test_measure(scratch: Scratch) -> None:
    scratch.evenrank("run", "oracle", "c", "--task", 1, "--precision", 0.5, "-o", "oracle.tsv")
    scratch.evenrank("run", "oracle", "c", "--task", 1, "--precision", 0.2, "-o", "worse.tsv")
    options = ("--measures", "GroupsShown,GroupsShown@3", "--format", "json")
    scored = json.loads(scratch.evenrank("evaluate", "c", "oracle.tsv", *options))
    assert 0.0 < scored["runs"][0]["scores"]["GroupsShown"] <= 1.0
    assert "GroupsShown@3" in scored["runs"][0]["scores"]
    assert "GroupsShown" in scratch.names("metrics")
    options = ("--baseline", "worse", "--measure", "GroupsShown", "--format", "json")
    [compared] = json.loads(scratch.evenrank("compare", "c", "oracle.tsv", "worse.tsv", *options))["comparisons"]
    assert compared["measure"] == "GroupsShown"
    assert {"low", "high"} <= set(compared["interval"])


def test_policy(scratch: Scratch) -> None:
    for task in (1, 2):
        scratch.evenrank("rank", "c", "--task", task, "--policy", "shuffle", "--workers", 1, "-o", f"shuffle{task}.tsv")
        scratch.evenrank("run", "check", "c", f"shuffle{task}.tsv")
    scratch.evenrank("rank", "c", "--task", 1, "--policy", "shuffle", "--set", "n_pages=1000", "-o", "fewer.tsv")
    record = json.loads((scratch.folder / "fewer.tsv.json").read_text("utf-8"))
    assert "n_pages" in json.dumps(record)
    assert {"shuffle", "round-robin"} <= set(scratch.names("policies"))
    scratch.evenrank("rank", "c", "--task", 2, "--policy", "round-robin", "--workers", 1, "-o", "turns.tsv")


def test_objects_are_taken_where_names_are(scratch: Scratch) -> None:
    n_rows, scores = scratch.python("-c", OBJECTS).splitlines()
    assert n_rows == "3"
    assert scores == "{'GroupsShown': 1.0, 'GroupsShown@1': 0.5}"


def test_the_checks_of_the_page_pass(scratch: Scratch) -> None:
    code = "from my_plugin.policies import shuffle; from my_plugin.measures import groups_shown\n"
    code += "from evenrank_example import first_relevant, round_robin\n"
    code += "from evenrank.testing import check_measure, check_policy\n"
    code += (
        "check_policy(shuffle); check_policy(round_robin); check_measure(groups_shown); check_measure(first_relevant)"
    )
    scratch.python("-c", code)


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


def test_a_collection_with_the_dimension_of_a_missing_plug_in_says_so(scratch: Scratch) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evenrank.cli.main", "collection", "describe", str(scratch.folder / "c")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "has the dimension period of a plug-in that is not installed" in done.stderr


def test_engine(scratch: Scratch) -> None:
    assert (scratch.folder / "far" / "meta.json").exists()
    assert "river" in scratch.evenrank("search", "c", "river", "-k", 3).casefold()


def test_protocol(scratch: Scratch) -> None:
    scratch.evenrank("run", "oracle", "c", "--task", 1, "--precision", 0.4, "-o", "again.tsv")
    scored = json.loads(
        scratch.evenrank("evaluate", "c", "again.tsv", "--protocol", "paper-top-10", "--format", "json")
    )
    assert scored["protocol"]["name"] == "paper-top-10"
    assert scored["protocol"]["task1_depth"] == 10
    assert "paper-top-10" in scratch.names("protocols")


def test_export_format_and_the_fairness_page(scratch: Scratch) -> None:
    pages = scratch.python("-c", EXPORT, scratch.folder / "c")
    assert "# Rivers\n\n1. " in pages
    assert ">Markdown</a>" in pages
    assert "Period" in pages


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_example_works_from_a_wheel_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """Both packages as wheels in a new environment; dependencies come from the registry that pip is set up for."""
    wheels, environment = tmp_path / "wheels", tmp_path / "environment"
    for package in (ROOT, ROOT / "examples" / "plugin"):
        subprocess.run([sys.executable, "-m", "build", "-q", "--wheel", "-o", wheels, package], check=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *wheels.glob("*.whl")], check=True)
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def said(*arguments: object) -> str:
        command = [str(environment / "bin" / "evenrank"), *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "round-robin" in said("policies")
    assert "FirstRelevant" in said("metrics")
    said("collection", "generate", "c", "--pages", 1500, "--topics", 4, "--seed", 5)
    said("index", "c", "--threads", 1)
    for task in (1, 2):
        said("rank", "c", "--task", task, "--policy", "round-robin", "-o", f"turns{task}.tsv")
        said("rank", "c", "--task", task, "--policy", "relevance", "-o", f"plain{task}.tsv")
        runs = (f"turns{task}.tsv", f"plain{task}.tsv")
        said("run", "check", "c", *runs)
        scored = json.loads(said("evaluate", "c", *runs, "--measures", "FirstRelevant@5", "--format", "json"))
        assert all("FirstRelevant@5" in run["scores"] for run in scored["runs"])
        options = ("--baseline", f"plain{task}", "-m", "FirstRelevant", "--format", "json")
        assert len(json.loads(said("compare", "c", *runs, *options))["comparisons"]) == 1
    rankings, groups, qrels = tmp_path / "rankings.csv", tmp_path / "groups.csv", tmp_path / "qrels.csv"
    rankings.write_text("query,item,score\nq,a,0.9\nq,b,0.8\nq,c,0.4\n")
    groups.write_text("item,group\na,x\nb,x\nc,y\n")
    qrels.write_text("query,item,grade\nq,c,1\n")
    fair = tmp_path / "fair.csv"
    said("rerank", "--run", rankings, "--groups", groups, "--policy", "round-robin", "-o", fair)
    with fair.open(newline="") as lines:
        assert {row["item"] for row in csv.DictReader(lines)} == {"a", "b", "c"}
    options = ("--groups", groups, "--qrels", qrels, "--measures", "FirstRelevant", "--format", "json")
    systems = json.loads(said("score", "--run", rankings, "--run", fair, *options))["systems"]
    assert [one["scores"]["FirstRelevant"] > 0.0 for one in systems] == [True, True]
    (tmp_path / "study.toml").write_text(STUDY)
    said("experiment", "study.toml", "-o", "results")
    page = (tmp_path / "results" / "report.html").read_text("utf-8")
    assert "round-robin" in page
    assert "FirstRelevant" in page
