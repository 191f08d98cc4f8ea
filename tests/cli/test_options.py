"""Options that all commands share: standard input and output, --quiet, --verbose, --force, names, suggestions."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenrank.trec.collection import Collection


def evenrank(*words: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    line = [sys.executable, "-m", "evenrank.cli.main", *map(str, words)]
    return subprocess.run(line, input=stdin, capture_output=True, check=False)


@pytest.fixture(scope="module")
def run(golden_collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("options") / "run.gz"
    made = evenrank("run", "oracle", golden_collection.path, "--task", 1, "-o", path)
    assert made.returncode == 0, made.stderr
    return path


def test_runs_go_through_pipes(golden_collection: Collection, run: Path, tmp_path: Path) -> None:
    trec = evenrank("run", "convert", "-", "-", stdin=run.read_bytes())
    assert trec.stdout.split(b"\n")[0].split()[1] == b"Q0"
    back = evenrank("run", "convert", "-", "-", stdin=trec.stdout)
    assert back.stdout.count(b"\n") == trec.stdout.count(b"\n")
    checked = evenrank("run", "check", golden_collection.path, "-", stdin=run.read_bytes())
    assert (checked.returncode, checked.stdout) == (0, b"-: valid\n")
    with (tmp_path / "redirected").open("wb") as file:
        line = [sys.executable, "-m", "evenrank.cli.main", "run", "convert", str(run), "-"]
        subprocess.run(line, stdout=file, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "redirected").read_bytes().split(b"\n")[0] != b""


def test_rank_reads_and_writes_pipes(golden_collection: Collection, run: Path) -> None:
    options = ["--task", 1, "--policy", "relevance", "--topics", "101", "--topics", "103", "--workers", 1]
    made = evenrank("rank", golden_collection.path, *options, "--from", "-", "-o", "-", stdin=run.read_bytes())
    assert made.returncode == 0, made.stderr
    assert {line.split(b"\t")[0] for line in made.stdout.splitlines()} == {b"101", b"103"}


def test_what_is_read_twice_may_come_from_a_pipe(golden_collection: Collection, run: Path, tmp_path: Path) -> None:
    """Standard input is kept until the command ends, packed or not; it can be named once."""
    pool = evenrank(
        "pool", "build", golden_collection.path, "-", "-o", "-", "--quiet", "--despite", "short", stdin=run.read_bytes()
    ).stdout
    stats = evenrank("pool", "stats", "-", stdin=pool)
    assert b"judged twice" in stats.stdout, stats.stderr
    judgments = tmp_path / "judgments.sqlite"
    assert evenrank("judgments", "create", judgments, "--pool", "-", stdin=pool).returncode == 0
    topic, page = run_page(pool)
    qrels = f"{topic} 0 {page} 1\n".encode()
    assert evenrank("judgments", "import", judgments, "-", stdin=qrels).returncode == 0
    assert evenrank("judgments", "export", judgments, "-o", "-").stdout == qrels
    metadata = gzip.compress(b'{"page_id": 1, "quality_score_disc": "B", "geographic_locations": ["Africa"]}\n')
    imported = evenrank("collection", "import", tmp_path / "c", "--metadata", "-", stdin=metadata)
    assert b"1 page," in imported.stdout, imported.stderr
    refused = evenrank("collection", "import", tmp_path / "d", "--metadata", "-", "--topics", "-", stdin=metadata)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"standard input (-) is named twice" in refused.stderr


def run_page(pool: bytes) -> tuple[int, int]:
    """Topic and page of the first pooled page."""
    entry = json.loads(pool.splitlines()[1])
    return entry["topic"], entry["page_id"]


def test_quiet_and_verbose(golden_collection: Collection, run: Path) -> None:
    plain = evenrank("evaluate", golden_collection.path, run)
    assert b"log_base" not in plain.stderr
    assert b"log_base=2 " in evenrank("evaluate", golden_collection.path, run, "-v").stderr
    assert evenrank("evaluate", golden_collection.path, run, "--quiet").stderr == b""
    assert evenrank("run", "convert", run, "-", "--quiet").stderr == b""


def test_existing_files_and_folders_are_kept_without_force(golden_collection: Collection, run: Path) -> None:
    before = run.read_bytes()
    for line in (
        ["run", "oracle", golden_collection.path, "--task", 1, "-o", run],
        ["run", "convert", run, run],
        ["rank", golden_collection.path, "--task", 1, "--policy", "relevance", "--from", run, "-o", run],
        ["collection", "generate", golden_collection.path],
    ):
        refused = evenrank(*line)
        assert (refused.returncode, b"--force" in refused.stderr) == (2, True)
    assert run.read_bytes() == before
    assert evenrank("run", "oracle", golden_collection.path, "--task", 1, "-o", run, "--force").returncode == 0
    assert run.read_bytes() == before


def test_runs_of_equal_names_get_names(golden_collection: Collection, run: Path, tmp_path: Path) -> None:
    other = tmp_path / run.name
    other.write_bytes(run.read_bytes())
    refused = evenrank("evaluate", golden_collection.path, run, other)
    assert b"give one a name of its own: NAME=" in refused.stderr
    named = evenrank("evaluate", golden_collection.path, run, f"again={other}", "--format", "json")
    found = json.loads(named.stdout)
    assert found["schema_version"] == 1
    assert sorted(one["run"] for one in found["runs"]) == ["again", "run"]
    compared = evenrank("compare", golden_collection.path, run, f"again={other}", "--baseline", "again")
    assert compared.returncode == 0, compared.stderr


def test_show_names_titles_and_totals(run: Path, golden_collection: Collection) -> None:
    shown = evenrank("run", "show", golden_collection.path, run, "--topics", "101", "-k", 2)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.decode().splitlines()
    assert lines[0].startswith("101 ")
    assert lines[0].endswith("1,000 pages")
    assert [line.split(":")[0].strip() for line in lines[3:6]] == ["quality", "geography", "gender"]
    found = json.loads(evenrank("run", "show", golden_collection.path, run, "--format", "json").stdout)
    assert sum(found[0]["quality"].values()) == found[0]["n_pages"] == 1000
    assert not [page for topic in found for page in topic["pages"] if "gender" in page]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["evalate"], "unknown command 'evalate'; choose from demo, .*did you mean 'evaluate'"),
        (["evaluate", "x", "y", "--protcol", "z"], "No such option:? '?--protcol'?.*Did you mean.*--protocol"),
        (["search"], r"Missing argument 'DIR' \(see evenrank search --help\)"),
    ],
)
def test_mistakes_are_errors_in_one_style(words: list[str], text: str) -> None:
    import re

    result = evenrank(*words)
    assert result.returncode == 2
    assert re.match(f"error: .*{text}", result.stderr.decode().replace("\n", " ")), result.stderr.decode()


def test_subject_that_is_in_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    assert evenrank("collection", "generate", folder, "--pages", 500, "--topics", 2).returncode == 0
    assert evenrank("index", folder).returncode == 0
    line = ["rank", folder, "--task", 1, "--policy", "optimal", "--query", "river harbour", "--title", "Rivers"]
    made = evenrank(*line, "-o", tmp_path / "rivers.tsv")
    assert made.returncode == 0, made.stderr
    topics = {row.split("\t")[0] for row in (tmp_path / "rivers.tsv").read_text().splitlines()}
    assert topics == {"102"}
    assert evenrank("rank", folder, "--task", 1, "--policy", "optimal", "--title", "x", "-o", "-").returncode == 2
    line[3:4] = [2, "--set", "reach=0", "--set", "keep_relevance=0.95", "--set", "keep_to_subject=false"]
    made = evenrank(*line, "-o", tmp_path / "draws.tsv")  # what staying on topic costs is said
    certificate = json.loads((tmp_path / "draws.tsv.json").read_text())["topics"][0]["certificate"]
    assert certificate["EE-L"] > certificate["EE-L_without_floor"]
    cost = f'"Rivers" ({certificate["EE-L"]:.2f} instead of {certificate["EE-L_without_floor"]:.2f})'
    assert cost in " ".join(made.stderr.decode().split())
